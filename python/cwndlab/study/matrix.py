"""Every algorithm in the same settings: fairness, utilisation and standing queues.

The path: 20 Mbit/s, base RTT 50 ms, drop-tail of 0.1, 1 or 4 BDP, loss on the wire of 0, 10⁻⁴ or 10⁻², 60 s. Metrics
are measured from 20 s on; the late comer starts at 20 s and is measured from 30 s on. For router-assisted algorithms,
every router has their agent.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import metrics
from cwndlab.catalogue import algorithms as entries
from cwndlab.catalogue import entries_of
from cwndlab.errors import RunError
from cwndlab.files import json_text
from cwndlab.scenario.reader import check
from cwndlab.study.executor import Plan, results, threads
from cwndlab.study.spec import Measure, Point, Progress, Study
from cwndlab.study.store import Store

if TYPE_CHECKING:
    from cwndlab.custom import Classes
    from cwndlab.records import Records

BUFFERS = (0.1, 1.0, 4.0)
LOSSES = (0.0, 1e-4, 1e-2)
_DURATION_S, _FROM_S, _LATE_S, _LATE_FROM_S = 60, 20, 20, 30

#: Columns of a full row.
COLUMNS = (
    "algorithm",
    "setting",
    "buffer_bdp",
    "loss",
    "utilisation",
    "share",
    "jain",
    "queue_ms",
    "min_queue_ms",
    "drop_ratio",
    "anomalies",
    "findings",
)


@dataclass(frozen=True)
class Setting:
    """Two flows: the RTT of each, the start of the second, and its algorithm (the same where empty)."""

    name: str
    rtts_ms: tuple[int, int] = (50, 50)
    late: bool = False
    rival: str = ""


SETTINGS = (
    Setting("equal"),
    Setting("late comer", late=True),
    Setting("20 and 200 ms", rtts_ms=(20, 200)),
    Setting("beside cubic", rival="cubic"),
    Setting("beside reno", rival="reno"),
)


def everything() -> list[str]:
    """Every congestion avoidance, complete algorithm and router-assisted scheme that can send."""
    kinds = ("growth", "whole", "router")
    return [entry.name for entry in entries() if entry.kind in kinds and entry.name != "sirens"]


def document(
    algorithm: str,
    setting: Setting,
    buffer_bdp: float,
    loss: float,
    classes: Collection[str] = (),
    *,
    perturb: bool = False,
) -> dict[str, Any]:
    """The scenario of one cell; ``classes`` are names of custom algorithms."""
    is_custom = algorithm.partition("(")[0].partition("+")[0].partition("/")[0] in classes
    agents = [] if is_custom else sorted({agent for entry in entries_of(algorithm) for agent in entry.agents})
    bottleneck: dict[str, Any] = {
        "rate": "20 Mbps",
        "delay": f"{min(setting.rtts_ms) / 4} ms",
        "queue": {"capacity": f"{buffer_bdp} bdp(50 ms)"},
        "agents": agents,
    }
    if loss:
        bottleneck["loss"] = {"kind": "bernoulli", "p": loss}
    second = setting.rival or algorithm
    starts = ("0 s", f"{_LATE_S} s" if setting.late else "0.1 s")
    flows = [
        {"algorithm": name, "rtt": f"{rtt} ms", "start": start}
        for name, rtt, start in zip((algorithm, second), setting.rtts_ms, starts, strict=True)
    ]
    return {
        "schema_version": 1,
        "title": f"{algorithm}, {setting.name}, {buffer_bdp} BDP, loss {loss}",
        "duration": f"{_DURATION_S} s",
        "perturb": perturb,
        "dumbbell": {"bottleneck": bottleneck, "access": {"rate": "200 Mbps"}},
        "flow": flows,
    }


def matrix(
    algorithms: Sequence[str] | None = None,
    *,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    classes: Classes | None = None,
    perturb: bool = False,
) -> Iterator[dict[str, Any]]:
    """Runs algorithms in all settings.

    Parameters
    ----------
    algorithms
        Their texts, by default all of `everything`.
    seed
        The seed of every run.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all.
    classes
        Custom algorithms by the names in ``algorithms``.
    perturb
        As in `cwndlab.run`. All algorithms have the same perturbation.

    Yields
    ------
    dict
        One row per algorithm, setting, buffer and loss, in that order, as soon as all before it are finished:
        ``share`` is the first flow's part of both goodputs, ``queue_ms`` the mean queueing delay, ``min_queue_ms`` the
        smallest one at a sampling instant, ``drop_ratio`` the part of the packets that the queue dropped, ``anomalies``
        what needs an explanation, ``findings`` the codes of the run's findings.

    Raises
    ------
    RunError
        A run failed.
    """
    cells = [
        {"algorithm": name, "setting": setting.name, "buffer_bdp": buffer, "loss": loss}
        for name in (algorithms or everything())
        for setting in SETTINGS
        for buffer in BUFFERS
        for loss in LOSSES
    ]
    store = Store(None)
    plan = Plan(_study(cells, seed, classes, perturb), store)
    finished: dict[int, dict[str, Any]] = {}
    done = following = 0
    if progress is not None:
        progress(0, plan.total)
    with closing(results(plan, store, threads(workers, classes))) as ended:
        for job, values in ended:
            if isinstance(values, RunError):
                raise values
            row = {name: values.get(name, cells[job.point].get(name)) for name in COLUMNS}
            codes = dict.fromkeys(one["code"] for one in json.loads(values["findings"]))
            finished[job.point] = {**row, "anomalies": "; ".join(_anomalies(row)), "findings": ", ".join(codes)}
            done += 1
            if progress is not None:
                progress(done, plan.total)
            while following in finished:
                yield finished.pop(following)
                following += 1


def _study(cells: Sequence[dict[str, Any]], seed: int, classes: Classes | None, perturb: bool) -> Study:
    settings = {setting.name: setting for setting in SETTINGS}
    points = []
    for number, cell in enumerate(cells):
        setting = settings[cell["setting"]]
        names = list(classes or ())
        text = document(cell["algorithm"], setting, cell["buffer_bdp"], cell["loss"], names, perturb=perturb)
        checked = check(json_text(text), "json", classes=classes)
        points.append(Point(number, cell, checked.hash, checked.document))
    late, other = (Measure(None, columns=partial(_values, start_s)) for start_s in (_LATE_FROM_S, _FROM_S))

    def measure_of(point: Point, _seed: int) -> Measure:
        return late if settings[point.labels["setting"]].late else other

    return Study(points=points, seeds=[seed], measure=measure_of, classes=dict(classes or {}))


def _values(start_s: float, records: Records) -> dict[str, float | None]:
    """The numbers of a run."""
    goodputs = metrics.goodput(records, start_s=start_s)["goodput_bps"].to_list()
    link = metrics.per_link(records, start_s=start_s).row(0, named=True)
    samples = records.link_samples.filter((pl.col("link") == 0) & (pl.col("time_ns") > start_s * 10**9))
    min_queue_bytes = min(samples["queue_bytes"].to_list(), default=0)
    total = sum(goodputs)
    return {
        "utilisation": link["utilisation"],
        "share": goodputs[0] / total if total else None,
        "jain": metrics.jain(goodputs),
        "queue_ms": link["queue_ms"],
        "min_queue_ms": 8e3 * min_queue_bytes / float(records.links["rate_bps"][0]),
        "drop_ratio": link["loss_ratio"],
    }


def _anomalies(row: Mapping[str, Any]) -> Iterator[str]:
    """Observations that are faults unless they are known properties."""
    if row["loss"] == 0 and row["utilisation"] < 0.5:
        yield "fills less than half of a clean path"
    share = row["share"]
    if share is None:
        yield "nothing arrives"
    elif not 0.05 <= share <= 0.95:
        yield "the first flow starves" if share < 0.05 else "the second flow starves"
    # Halving a window of one path and four such paths of buffer leaves a queue of 1.5 of them: no standing queue.
    if row["min_queue_ms"] > max(25, 0.8 * row["queue_ms"]):
        yield "standing queue"


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per algorithm with its most important cells."""

    def value(of: Sequence[Mapping[str, Any]], column: str, setting: str, buffer: float, loss: float = 0.0) -> Any:
        for row in of:
            if (row["setting"], row["buffer_bdp"], row["loss"]) == (setting, buffer, loss):
                return row[column]
        return None

    def percent(number: float | None) -> str:
        return "–" if number is None else f"{100 * number:.0f}"

    lines = []
    for name in dict.fromkeys(row["algorithm"] for row in rows):
        mine = [row for row in rows if row["algorithm"] == name]
        used = [value(mine, "utilisation", "equal", buffer) for buffer in BUFFERS]
        lossy = [value(mine, "utilisation", "equal", 1.0, loss) for loss in LOSSES[1:]]
        shares = {
            rival: [value(mine, "share", rival, buffer) for buffer in BUFFERS]
            for rival in ("beside cubic", "beside reno", "20 and 200 ms")
        }
        lines.append(
            {
                "algorithm": name,
                "utilisation %": "/".join(map(percent, used)),
                "at loss 1e-4/1e-2 %": "/".join(map(percent, lossy)),
                "jain": f"{value(mine, 'jain', 'equal', 1.0) or 0:.2f}",
                "late comer": f"{value(mine, 'jain', 'late comer', 1.0) or 0:.2f}",
                "20 of 20+200 ms %": "/".join(map(percent, shares["20 and 200 ms"])),
                "beside cubic %": "/".join(map(percent, shares["beside cubic"])),
                "beside reno %": "/".join(map(percent, shares["beside reno"])),
                "queue ms": "/".join(f"{value(mine, 'queue_ms', 'equal', buffer):.0f}" for buffer in BUFFERS),
                "drops %": "/".join(f"{100 * value(mine, 'drop_ratio', 'equal', buffer):.2f}" for buffer in BUFFERS),
                "anomalies": sum(bool(row["anomalies"]) for row in mine),
            }
        )
    return lines
