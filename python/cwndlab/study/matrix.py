"""Every algorithm in the same settings: fairness, utilisation and standing queues.

The path: 20 Mbit/s, base RTT 50 ms, drop-tail of 0.1, 1 or 4 BDP, loss on the wire of 0, 10⁻⁴ or 10⁻², 60 s. Metrics
are measured from 20 s on; the late comer starts at 20 s and is measured from 30 s on. For router-assisted algorithms,
every router has their agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.catalogue import algorithms as entries
from cwndlab.catalogue import entries_of
from cwndlab.custom import described, validate_classes
from cwndlab.errors import ScenarioError
from cwndlab.files import json_text
from cwndlab.scenario.reader import check
from cwndlab.simulate import check_first_seed
from cwndlab.study.arguments import unknown
from cwndlab.study.executor import Plan, execute, threads
from cwndlab.study.header import Header
from cwndlab.study.rendering import Table
from cwndlab.study.result import Result
from cwndlab.study.spec import Measure, Point, Progress, Row, Study
from cwndlab.study.store import Store

if TYPE_CHECKING:
    from cwndlab.custom import Classes
    from cwndlab.records import Records

BUFFERS = (0.1, 1.0, 4.0)
LOSSES = (0.0, 1e-4, 1e-2)
_DURATION_S, _FROM_S, _LATE_S, _LATE_FROM_S = 60, 20, 20, 30

#: The labels of an algorithm's runs.
_LABELS = ("algorithm", "setting", "buffer_bdp", "loss")
#: Columns of a row, and those with another name as metrics.
COLUMNS = (
    *_LABELS,
    *("utilisation", "share", "jain", "queue_ms", "min_queue_ms", "drop_ratio", "anomalies", "findings"),
)
_METRICS = {"share": "share@flow0", "drop_ratio": "loss_ratio"}


@dataclass(frozen=True)
class Setting:
    """Two flows: the RTT of each, the start of the second, and its algorithm (the same if empty)."""

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
        "measure_from": f"{_LATE_FROM_S if setting.late else _FROM_S} s",
        "perturb": perturb,
        "dumbbell": {"bottleneck": bottleneck, "access": {"rate": "200 Mbps"}},
        "flow": flows,
    }


def matrix(
    algorithms: Sequence[str] | None = None,
    *,
    seed: int = 1,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    classes: Classes | None = None,
    perturb: bool = False,
) -> Result:
    """Runs algorithms in all settings.

    Parameters
    ----------
    algorithms
        Their names, by default those of `everything`.
    seed
        The seed of every run.
    out
        A folder, or any URL that fsspec supports, for the rows; what it has is not run again.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all.
    classes
        Custom algorithms by the names in ``algorithms``.
    perturb
        As in `cwndlab.run`. All algorithms have the same perturbation.

    Returns
    -------
    Result
        A cell per algorithm, setting, buffer and loss, in that order. ``table()`` has a row per algorithm, and its
        ``values`` are the rows of all cells. On Ctrl-C it has the finished runs.

    Raises
    ------
    ScenarioError
        Every unknown algorithm, before anything runs.
    RunError
        A run failed. Finished runs are kept in ``out``.
    """
    check_first_seed(seed, 1)
    names = list(algorithms or everything())
    if faults := unknown(names, described(validate_classes(classes))):
        raise ScenarioError(*faults)
    study = _study(names, seed, classes, perturb)
    with Store(out, write=True) as store:
        result = execute(Plan(study, store), store, executor=threads(workers, classes), progress=progress)
    if not len(result.runs):
        raise KeyboardInterrupt
    return result


def _study(names: Sequence[str], seed: int, classes: Classes | None, perturb: bool) -> Study:
    points: list[Point] = []
    for name in names:
        for setting in SETTINGS:
            for buffer in BUFFERS:
                for loss in LOSSES:
                    text = document(name, setting, buffer, loss, classes or (), perturb=perturb)
                    checked = check(json_text(text), "json", classes=classes)
                    labels = dict(zip(_LABELS, (name, setting.name, buffer, loss), strict=True))
                    points.append(Point(len(points), labels, checked.hash, checked.document))
    header = Header(
        kind="matrix",
        title="Every algorithm in the same settings",
        scenario=json.loads(points[0].document) | {"title": "Two flows over 20 Mbit/s and 50 ms"},
        seeds=[seed],
        columns=_LABELS,
        metrics=["utilisation", _METRICS["share"], "jain", "queue_ms", "loss_ratio"],
    )
    measure = Measure((_METRICS["share"],), columns=_min_queue)
    return Study(points=points, seeds=[seed], measure=measure, classes=dict(classes or {}), header=header)


def _min_queue(records: Records) -> dict[str, float]:
    """The smallest queue at a sampling instant."""
    after = pl.col("time_ns") > records.runs["measure_from_ns"][0]
    samples = records.link_samples.filter((pl.col("link") == 0) & after)
    return {"min_queue_ms": 8e3 * min(samples["queue_bytes"], default=0) / float(records.links["rate_bps"][0])}


def rows(result: Result) -> list[Row]:
    """A row per run, with `COLUMNS`: ``share`` is the first flow's part of both goodputs, ``queue_ms`` the mean
    queueing delay, ``min_queue_ms`` the smallest one at a sampling instant, ``drop_ratio`` the part of the packets
    dropped by the queue, ``anomalies`` observations to explain, ``findings`` the codes of the run's findings."""
    made = []
    for run in result.runs.iter_rows(named=True):
        row = {name: run.get(_METRICS.get(name, name)) for name in COLUMNS}
        codes = dict.fromkeys(one["code"] for one in json.loads(run["findings"]))
        made.append({**row, "anomalies": "; ".join(_anomalies(row)), "findings": ", ".join(codes)})
    return made


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


def _percent(value: float) -> str:
    return f"{100 * value:.0f}"


Places = tuple[tuple[float, float], ...]
_CLEAN: Places = tuple((buffer, 0.0) for buffer in BUFFERS)
#: The columns of the digest: the value, the setting, the buffers and losses, and the format.
_DIGEST: dict[str, tuple[str, str, Places, Callable[[float], str]]] = {
    "utilisation %": ("utilisation", "equal", _CLEAN, _percent),
    "at loss 1e-4/1e-2 %": ("utilisation", "equal", ((1.0, 1e-4), (1.0, 1e-2)), _percent),
    "jain": ("jain", "equal", ((1.0, 0.0),), "{:.2f}".format),
    "late comer": ("jain", "late comer", ((1.0, 0.0),), "{:.2f}".format),
    "20 of 20+200 ms %": ("share", "20 and 200 ms", _CLEAN, _percent),
    "beside cubic %": ("share", "beside cubic", _CLEAN, _percent),
    "beside reno %": ("share", "beside reno", _CLEAN, _percent),
    "queue ms": ("queue_ms", "equal", _CLEAN, "{:.0f}".format),
    "drops %": ("drop_ratio", "equal", _CLEAN, lambda value: f"{100 * value:.2f}"),
}


def digest(rows: Sequence[Row]) -> Table:
    """A row per algorithm with its most important cells; the values are the rows of all cells."""
    lines = []
    for name in dict.fromkeys(row["algorithm"] for row in rows):
        mine = [row for row in rows if row["algorithm"] == name]
        at = {(row["setting"], row["buffer_bdp"], row["loss"]): row for row in mine}
        line = [name]
        for metric, setting, places, written in _DIGEST.values():
            values = [at.get((setting, *place), {}).get(metric) for place in places]
            line.append("/".join("–" if value is None else written(value) for value in values))
        lines.append([*line, str(sum(bool(row["anomalies"]) for row in mine))])
    caption = "Two flows; three values are those of buffers of 0.1, 1 and 4 BDP; n = 1 run of each"
    return Table(caption, ["algorithm", *_DIGEST, "anomalies"], lines, 1, rows)


def unusual(rows: Sequence[Row]) -> Table:
    """The cells with anomalies or findings."""
    titles = (*_LABELS, "utilisation", "share", "queue_ms", "anomalies", "findings")
    digits = {"utilisation": ".3f", "share": ".3f", "queue_ms": ".1f", "buffer_bdp": "g", "loss": "g"}
    found = [row for row in rows if row["anomalies"] or row["findings"]]

    def written(row: Row, name: str) -> str:
        return "–" if row[name] is None else format(row[name], digits.get(name, ""))

    lines = [[written(row, name) for name in titles] for row in found]
    return Table("Cells with anomalies or findings", titles, lines, 2, found, words=("anomalies", "findings"))
