"""Estimates how long a sweep takes before it starts: some of its cells are run for a moment.

A bottleneck that is never idle carries rate × time / 1500 bytes packets: a cell's size. Cells are sorted by their
algorithms and their size, and cut into groups of about equal size in all; the middle cell of each group is run twice,
for a moment and for half of that. The two runs give a line, CPU = a + b × packets, and the packets that are sent after
them; every cell of the group has that line, and packets in proportion to its size. Finally the longer ones of these
runs are repeated together, on as many threads as the sweep has: the estimate grows by what that takes more than one
after another.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from cwndlab.engine import available_cores
from cwndlab.scenario.reader import check
from cwndlab.simulate import run, run_text
from cwndlab.study.executor import Task, threads
from cwndlab.study.spec import Job, Measure, Point
from cwndlab.study.sweeps.spec import Sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]

_PACKET_BITS = 1500 * 8
#: Stands for a line that serialises in no time.
_NO_RATE_BPS = 1e9
_CELLS = 48
# A calibration run is so long: this many packets at full rate, and this long after the last flow has started.
_PACKETS = 120_000
_SETTLED_S = 4.0
#: What a run costs beside its packets, in packets: so small cells count by their number.
_RUN_PACKETS = 3_000
#: A run that took less is repeated, because the smaller of two is closer to its undisturbed cost.
_SHORT_S = 0.02


@dataclass(frozen=True)
class Estimate:
    """The size of a sweep and the time that its remaining runs will take."""

    cells: int
    runs: int
    left: int
    packets: float
    cpu_s: float
    workers: int
    calibrated: int
    calibration_s: float
    crowding: float
    """Wall-clock time over what free cores would take, while the cells were run: above 1 where others compute here."""

    @property
    def hours(self) -> float:
        """On so many workers that have a core each."""
        return self.cpu_s / self.workers / 3600

    def as_dict(self) -> dict[str, float]:
        """For programs."""
        names = ("cells", "runs", "left", "packets", "cpu_s", "workers")
        return {name: getattr(self, name) for name in names} | {"hours": self.hours}


class Calibration(NamedTuple):
    """A calibration run: the part of the cell's size that it covers, its packets, its CPU in seconds."""

    size: float
    packets: float
    cpu_s: float


class Line(NamedTuple):
    """What a cell takes, from calibration runs of it or of another one of its group."""

    share: float
    """Packets sent, over the size of the cell."""
    run_s: float
    """CPU seconds of a run without packets."""
    packet_s: float
    """CPU seconds of a packet."""

    @classmethod
    def through(cls, half: Calibration, complete: Calibration, size: float) -> Line:
        """From two runs of different length of a cell of ``size``. What is beyond the longer one is sent at the rate
        of its second half, where slow start is over.

        >>> Line.through(Calibration(50, 20, 0.375), Calibration(100, 60, 1.0), 200)
        Line(share=0.7, run_s=0.0625, packet_s=0.015625)
        """
        packets = complete.packets
        if size > complete.size > half.size:
            packets += max(0.0, complete.packets - half.packets) / (complete.size - half.size) * (size - complete.size)
        more = complete.packets - half.packets
        packet_s = (complete.cpu_s - half.cpu_s) / more if more > 0 else 0.0
        # The line leads through the longer run and crosses zero packets between zero and what that run took.
        packet_s = min(max(packet_s, 0.0), complete.cpu_s / max(complete.packets, 1.0))
        return cls(packets / size, complete.cpu_s - packet_s * complete.packets, packet_s)


def samples(kinds: Sequence[str], sizes: Sequence[float], hashes: Sequence[str], most: int) -> NDArray[np.intp]:
    """For each cell the one that is run for it: of groups of like ``kinds`` and ``sizes``, about equal in all, the
    middle one; at ``most`` so many. Equal cells are in the order of their ``hashes``, so that no field is preferred.

    >>> samples(["cubic"] * 4, [3e5, 1e5, 2e5, 4e5], ["a", "b", "c", "d"], 2).tolist()
    [2, 2, 2, 3]
    """
    count = len(sizes)
    if count <= most:
        return np.arange(count, dtype=np.intp)
    order = np.array(sorted(range(count), key=lambda one: (kinds[one], sizes[one], hashes[one])), dtype=np.intp)
    weights = np.asarray(sizes, dtype=np.float64)[order] + _RUN_PACKETS
    upto = np.cumsum(weights)
    group = np.minimum(((upto - weights / 2) / upto[-1] * most).astype(np.intp), most - 1)
    middle = np.searchsorted(upto, (np.arange(most) + 0.5) / most * upto[-1])
    chosen = np.empty(count, dtype=np.intp)
    chosen[order] = order[np.minimum(middle, count - 1)[group]]
    return chosen


def total(
    lines: dict[int, Line], sampled: Sequence[int], sizes: Sequence[float], left: Sequence[float]
) -> tuple[float, float]:
    """Packets and CPU seconds of ``left`` runs of each cell.

    >>> total({0: Line(0.5, 0.25, 0.125)}, [0, 0], [100, 200], [1, 2])
    (250.0, 32.0)
    """
    packets = cpu_s = 0.0
    for cell, size, runs in zip(sampled, sizes, left, strict=True):
        line = lines[cell]
        packets += runs * line.share * size
        cpu_s += runs * (line.run_s + line.packet_s * line.share * size)
    return packets, cpu_s


def estimate(spec: Sweep, cells: Sequence[Point], left: Sequence[int], *, workers: int) -> Estimate:
    """Runs some dozens of cells for a moment; of each cell ``left`` runs are still to be done."""
    began = time.perf_counter()
    canonical = [json.loads(spec.checked(cell.number).canonical) for cell in cells]
    sizes = [_size(one) for one in canonical]
    kinds = [" ".join(sorted({flow.get("algorithm", "udp") for flow in one["flow"]})) for one in canonical]
    of = samples(kinds, sizes, [cell.hash for cell in cells], _CELLS).tolist()
    trials = {index: _Trial(spec, cells[index], canonical[index]) for index in dict.fromkeys(of)}
    next(iter(trials.values())).shorter()  # imports are not part of the cost of a run
    lines: dict[int, Line] = {}
    alone_s = 0.0
    for index, trial in trials.items():
        longer = trial.longer()
        lines[index] = Line.through(trial.shorter(), longer, sizes[index])
        alone_s += longer.cpu_s
    threads = min(workers, available_cores())
    together_s, wall_s = _together(spec, list(trials.values()), threads)
    packets, cpu_s = total(lines, of, sizes, left)
    return Estimate(
        len(cells),
        len(cells) * len(spec.seeds),
        sum(left),
        packets,
        cpu_s * together_s / alone_s,
        workers,
        len(trials),
        time.perf_counter() - began,
        max(1.0, wall_s * threads / together_s),
    )


class _Trial:
    """The calibration runs of a cell."""

    def __init__(self, spec: Sweep, cell: Point, canonical: dict[str, Any]) -> None:
        self._spec, self._document, self._canonical = spec, cell.document, canonical
        # The interval of the metrics may lie beyond a short run; their cost does not depend on it.
        self.measure = Measure(tuple(sorted(spec.metrics)))
        self.duration_s = canonical["duration_ns"] / 1e9
        begins = [flow["start_ns"] + flow.get("start_step_ns", 0) * (flow["count"] - 1) for flow in canonical["flow"]]
        start_s = max(begins, default=0) / 1e9
        settled_s = max(_SETTLED_S, _PACKETS * self.duration_s / max(_size(canonical), 1.0))
        self.longer_s = min(self.duration_s, start_s + settled_s)
        # Half of what follows the starts, where there is that much.
        self.shorter_s = (start_s + self.longer_s) / 2 if start_s < 0.9 * self.longer_s else self.longer_s / 2
        self.text, self.size = self._short(self.longer_s)

    def longer(self) -> Calibration:
        """The longer run."""
        return self._point(self.text, self.size)

    def shorter(self) -> Calibration:
        """The shorter one."""
        return self._point(*self._short(self.shorter_s))

    def _short(self, length_s: float) -> tuple[str, float]:
        """The scenario cut off at ``length_s``, and its size."""
        if length_s >= self.duration_s:
            return self._document, _size(self._canonical)
        changes = [("duration", f'"{length_s:.6f} s"')]
        if self._canonical["measure_from_ns"] / 1e9 >= length_s:
            changes.append(("measure_from", '"0 s"'))
        checked = check(self._document, "json", changes=changes, classes=self._spec.base.classes)
        return checked.document, _size(json.loads(checked.canonical))

    def _point(self, text: str, size: float) -> Calibration:
        packets, cpu_s = self._once(text)
        if cpu_s < _SHORT_S:
            cpu_s = min(cpu_s, self._once(text)[1])
        return Calibration(size, packets, cpu_s)

    def _once(self, text: str) -> tuple[float, float]:
        before = _cpu_s()
        if classes := self._spec.base.classes:
            row = self.measure(run(json.loads(text), seed=0, algorithms=classes))
        else:
            row = self.measure(run_text(text, seed=0))
        return float(row["packets"]), _cpu_s() - before


def _together(spec: Sweep, trials: list[_Trial], workers: int) -> tuple[float, float]:
    """CPU and wall-clock seconds of the longer runs on ``workers`` threads, the longest first."""
    waiting: Iterator[_Trial] = iter(sorted(trials, key=lambda one: one.size, reverse=True))

    def take() -> Task | None:
        trial = next(waiting, None)
        return None if trial is None else Task(Job(0, 0, "", ""), trial.text, trial.measure)

    before, began = _cpu_s(), time.perf_counter()
    for _, row in threads(workers, spec.base.classes)(take):
        if isinstance(row, Exception):
            raise row
    return _cpu_s() - before, time.perf_counter() - began


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
