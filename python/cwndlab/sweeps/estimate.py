"""How long a sweep takes, before it starts: a few of its cells are run for a moment.

A bottleneck that is never idle carries rate × time / 1500 bytes packets. Short runs of a few cells, spread over the
sizes and the algorithms of all, tell which part of that is sent and what a packet costs; in between, both follow the
size of a cell.
"""

from __future__ import annotations

import json
import resource
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cwndlab.run import check, run_text
from cwndlab.sweeps.question import Cell, Sweep
from cwndlab.sweeps.work import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]

_PACKET_BITS = 1500 * 8
#: Stands for a line that serialises in no time.
_NO_RATE_BPS = 1e9
_CELLS = 24
# A calibration run is so long: this many packets at full rate, and this long after the last flow has started.
_PACKETS = 60_000
_SETTLED_S = 2.0


@dataclass(frozen=True)
class Estimate:
    """What is to be done, and how long it will take."""

    cells: int
    runs: int
    left: int
    packets: float
    cpu_s: float
    workers: int
    calibrated: int
    calibration_s: float

    @property
    def hours(self) -> float:
        """On so many workers that have a core each."""
        return self.cpu_s / self.workers / 3600

    def as_dict(self) -> dict[str, float]:
        """For programs."""
        names = ("cells", "runs", "left", "packets", "cpu_s", "workers")
        return {name: getattr(self, name) for name in names} | {"hours": self.hours}


def estimate(question: Sweep, cells: list[Cell], left: int, *, workers: int) -> Estimate:
    """Runs some two dozen cells for a moment; ``left`` runs are still to be done."""
    began = time.perf_counter()
    canonical = [json.loads(question.checked(cell.number).canonical) for cell in cells]
    sizes = np.array([_size(one) for one in canonical])
    kinds: dict[str, list[int]] = {}
    for index, one in enumerate(canonical):
        kinds.setdefault(" ".join(sorted({flow.get("algorithm", "udp") for flow in one["flow"]})), []).append(index)
    packets, cpu = np.zeros(len(cells)), np.zeros(len(cells))
    calibrated = 0
    points = max(2, _CELLS // len(kinds))
    measured: dict[str, tuple[Numbers, Numbers, Numbers]] = {}
    for kind, members in kinds.items():
        if len(measured) < _CELLS:
            order = sorted(members, key=lambda one: sizes[one])
            chosen = dict.fromkeys(order[round(at)] for at in np.linspace(0, len(order) - 1, min(points, len(order))))
            found = [_calibrate(question, cells[one].number, float(sizes[one])) for one in chosen]
            known, shares, costs = (np.array(column) for column in zip(*found, strict=True))
            measured[kind] = (known, shares, costs)
            calibrated += len(found)
        else:
            # As many kinds as there are parameters of an algorithm: the last one measured stands for the rest.
            known, shares, costs = measured[next(reversed(measured))]
        packets[members] = sizes[members] * np.interp(sizes[members], known, shares)
        cpu[members] = packets[members] * np.interp(sizes[members], known, costs)
    part = left / len(cells)
    return Estimate(
        len(cells),
        len(cells) * len(question.seeds),
        left,
        float(packets.sum() * part),
        float(cpu.sum() * part),
        workers,
        calibrated,
        time.perf_counter() - began,
    )


def _calibrate(question: Sweep, index: int, size: float) -> tuple[float, float, float]:
    """Of a cell: its size, the share of it that is sent, CPU seconds per packet with all that a run costs."""
    checked = question.checked(index)
    canonical = json.loads(checked.canonical)
    duration_s = canonical["duration_ns"] / 1e9
    start_s = (
        max(
            (flow["start_ns"] + flow.get("start_step_ns", 0) * (flow["count"] - 1) for flow in canonical["flow"]),
            default=0,
        )
        / 1e9
    )
    short_s = min(duration_s, start_s + max(_SETTLED_S, _PACKETS * duration_s / max(size, 1.0)))
    changes = [("duration", f'"{short_s:.6f} s"')]
    if canonical["measure_from_ns"] / 1e9 >= short_s:
        changes.append(("measure_from", '"0 s"'))
    short = check(checked.document, "json", changes=changes, classes=question.base.classes)
    measure = Measure()
    before = _cpu_s()
    if question.base.classes:
        from cwndlab.run import run

        row = measure(run(json.loads(short.document), seed=0, algorithms=question.base.classes))
    else:
        row = measure(run_text(short.document, seed=0))
    spent = _cpu_s() - before
    packets = max(1, row["packets"])
    return size, packets / max(1.0, _size(json.loads(short.canonical))), spent / packets


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _size(canonical: dict[str, Any]) -> float:
    """Packets that the slowest link which all share could carry while flows send; a graph's fastest link stands for
    it where there is no such link."""
    starts = [flow["start_ns"] for flow in canonical["flow"]]
    seconds = max(0, canonical["duration_ns"] - min(starts, default=0)) / 1e9
    return max(1.0, float(_rate_bps(canonical) * seconds / _PACKET_BITS))


def _rate_bps(canonical: dict[str, Any]) -> float:
    if path := canonical.get("dumbbell"):
        ways = {flow.get("direction") == "reverse" for flow in canonical["flow"]}
        return sum(_line_bps(path["reverse" if way else "bottleneck"]) or _NO_RATE_BPS for way in ways)
    links = [*canonical.get("parking_lot", {}).get("hops", ()), *canonical.get("link", ()), canonical.get("wlan", {})]
    return max((rate for link in links if (rate := _line_bps(link))), default=_NO_RATE_BPS)


def _line_bps(link: dict[str, Any]) -> float | None:
    """Mean rate of a link in canonical form, whatever its line is; ``None`` where it serialises in no time."""
    rate = link.get("rate_bps") or link.get("token_bucket", {}).get("rate_bps") or link.get("trace", {}).get("mean_bps")
    steps = [step["rate_bps"] for step in link.get("schedule", ()) if "rate_bps" in step]
    rate = rate or max(steps, default=0)
    return float(rate) if rate else None
