"""Estimates the cost of runs before they start: some points are run briefly.

A bottleneck that is never idle carries rate × time / 1500 bytes packets: a point's size. Points are sorted by their
algorithms and their size, and cut into groups of about equal total size. The middle point of each group is run twice:
briefly, and for half of that time. The two runs give a line, CPU = a + b × packets, and the packets that are sent
after them. Every point of the group has that line, and packets in proportion to its size.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from cwndlab.scenario.reader import check
from cwndlab.simulate import run, run_text
from cwndlab.study.executor import Task, threads
from cwndlab.study.spec import Job, Measure, Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]

_PACKET_BITS = 1500 * 8
#: Stands for a line without serialisation time.
_NO_RATE_BPS = 1e9
# Packets of a sweep's calibration run at full rate, and its duration after the start of the last flow.
_PACKETS = 120_000
_SETTLED_S = 4.0
#: Fixed cost of a run, in packets, so that small points count by their number.
_RUN_PACKETS = 3_000
#: A run that took less time is repeated: the smaller of two costs is closer to the undisturbed one.
_SHORT_S = 0.02


class Calibration(NamedTuple):
    """A calibration run: the part of the cell's size that it covers, its packets, its CPU in seconds."""

    size: float
    packets: float
    cpu_s: float


class Line(NamedTuple):
    """The cost of a cell, from calibration runs of it or of another cell of its group."""

    share: float
    """Packets sent, over the size of the cell."""
    run_s: float
    """CPU seconds of a run without packets."""
    packet_s: float
    """CPU seconds of a packet."""

    @classmethod
    def through(cls, half: Calibration, complete: Calibration, size: float) -> Line:
        """From two runs of different length of a cell of ``size``. Beyond the longer one, packets are sent at the rate
        of its second half, in which slow start is over.

        >>> Line.through(Calibration(50, 20, 0.375), Calibration(100, 60, 1.0), 200)
        Line(share=0.7, run_s=0.0625, packet_s=0.015625)
        """
        packets = complete.packets
        if size > complete.size > half.size:
            packets += max(0.0, complete.packets - half.packets) / (complete.size - half.size) * (size - complete.size)
        more = complete.packets - half.packets
        packet_s = (complete.cpu_s - half.cpu_s) / more if more > 0 else 0.0
        # The line goes through the longer run and crosses zero packets between zero and that run's time.
        packet_s = min(max(packet_s, 0.0), complete.cpu_s / max(complete.packets, 1.0))
        return cls(packets / size, complete.cpu_s - packet_s * complete.packets, packet_s)


def samples(kinds: Sequence[str], sizes: Sequence[float], hashes: Sequence[str], most: int) -> NDArray[np.intp]:
    """For each cell, the cell that is run for it: the middle one of its group. The at ``most`` so many groups have like
    ``kinds`` and ``sizes``, and about equal totals. The ``hashes`` order equal cells, so that no field is preferred.

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


class Trial:
    """The calibration runs of a point.

    Parameters
    ----------
    point
        The scenario.
    canonical
        Its canonical form.
    metrics
        What is measured of each run. The interval of the metrics may lie beyond a short run; their cost does not
        depend on it.
    classes
        Custom algorithms by the names that the scenario uses.
    packets, settled_s
        Packets of the longer run at full rate, and its duration after the last start.
    most_packets
        The longer run ends before the path can have carried this many, if necessary before the last start.
    """

    def __init__(
        self,
        point: Point,
        canonical: dict[str, Any],
        *,
        metrics: Iterable[str] = (),
        classes: Mapping[str, type] | None = None,
        packets: float = _PACKETS,
        settled_s: float = _SETTLED_S,
        most_packets: float = inf,
    ) -> None:
        self._document, self._canonical, self._classes = point.document, canonical, classes or {}
        self.measure = Measure(tuple(sorted(metrics)))
        self.duration_s = canonical["duration_ns"] / 1e9
        begins = [flow["start_ns"] + flow.get("start_step_ns", 0) * (flow["count"] - 1) for flow in canonical["flow"]]
        start_s = (max(begins, default=0) + canonical.get("start_jitter_ns", 0)) / 1e9
        settled_s = max(settled_s, packets * self.duration_s / max(size(canonical), 1.0))
        most_s = most_packets * self.duration_s / size(canonical)
        self.longer_s = min(self.duration_s, start_s + settled_s, most_s)
        # Half of the time after the starts, if it is long enough.
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
            return self._document, size(self._canonical)
        changes = [("duration", f'"{length_s:.6f} s"')]
        if self._canonical["measure_from_ns"] / 1e9 >= length_s:
            changes.append(("measure_from", '"0 s"'))
        checked = check(self._document, "json", changes=changes, classes=self._classes)
        return checked.document, size(json.loads(checked.canonical))

    def _point(self, text: str, carried: float) -> Calibration:
        packets, took_s = self._once(text)
        if took_s < _SHORT_S:
            took_s = min(took_s, self._once(text)[1])
        return Calibration(carried, packets, took_s)

    def _once(self, text: str) -> tuple[float, float]:
        before = cpu_s()
        if classes := self._classes:
            row = self.measure(run(json.loads(text), seed=0, algorithms=classes))
        else:
            row = self.measure(run_text(text, seed=0))
        return float(row["packets"]), cpu_s() - before


def together(trials: Iterable[Trial], workers: int, classes: Mapping[str, type] | None = None) -> tuple[float, float]:
    """CPU and wall-clock seconds of the longer runs on ``workers`` threads, the longest first."""
    waiting: Iterator[Trial] = iter(sorted(trials, key=lambda one: one.size, reverse=True))

    def take() -> Task | None:
        trial = next(waiting, None)
        return None if trial is None else Task(Job(0, 0, "", ""), trial.text, trial.measure)

    before, began = cpu_s(), time.perf_counter()
    for _, row in threads(workers, classes)(take):
        if isinstance(row, Exception):
            raise row
    return cpu_s() - before, time.perf_counter() - began


def cpu_s() -> float:
    """CPU time of this process so far, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def algorithms(canonical: Mapping[str, Any]) -> str:
    """The algorithms of a scenario in canonical form, as one string."""
    return " ".join(sorted({flow.get("algorithm", "udp") for flow in canonical["flow"]}))


def size(canonical: Mapping[str, Any]) -> float:
    """Packets that the slowest link shared by all flows could carry while they send; if there is no such link, those of
    a graph's fastest link."""
    starts = [flow["start_ns"] for flow in canonical["flow"]]
    seconds = max(0, canonical["duration_ns"] - min(starts, default=0)) / 1e9
    return max(1.0, float(_rate_bps(canonical) * seconds / _PACKET_BITS))


def _rate_bps(canonical: Mapping[str, Any]) -> float:
    if path := canonical.get("dumbbell"):
        ways = {flow.get("direction") == "reverse" for flow in canonical["flow"]}
        return sum(_line_bps(path["reverse" if way else "bottleneck"]) or _NO_RATE_BPS for way in ways)
    links = [*canonical.get("parking_lot", {}).get("hops", ()), *canonical.get("link", ()), canonical.get("wlan", {})]
    return max((rate for link in links if (rate := _line_bps(link))), default=_NO_RATE_BPS)


def _line_bps(link: dict[str, Any]) -> float | None:
    """Mean rate of a link in canonical form, for any kind of line; ``None`` if it has no serialisation time."""
    rate = link.get("rate_bps") or link.get("token_bucket", {}).get("rate_bps") or link.get("trace", {}).get("mean_bps")
    steps = [step["rate_bps"] for step in link.get("schedule", ()) if "rate_bps" in step]
    rate = rate or max(steps, default=0)
    return float(rate) if rate else None


def expected_cpu_s(
    points: Sequence[Point],
    counts: Sequence[Sequence[int]],
    *,
    most: int,
    packets: float = _PACKETS,
    settled_s: float = _SETTLED_S,
    most_packets: float = inf,
) -> list[float]:
    """CPU seconds of several numbers of runs of the same points.

    Parameters
    ----------
    points
        The scenarios, which use no custom class.
    counts
        Runs of each point; one entry for each result.
    most
        The maximum number of points that are run briefly.
    packets, settled_s, most_packets
        As in `Trial`.
    """
    if not points:
        return [0.0] * len(counts)
    canonical = [json.loads(check(point.document, "json").canonical) for point in points]
    sizes = [size(one) for one in canonical]
    kinds = [algorithms(one) for one in canonical]
    sampled = samples(kinds, sizes, [point.hash for point in points], most).tolist()
    lines: dict[int, Line] = {}
    for index in dict.fromkeys(sampled):
        trial = Trial(points[index], canonical[index], packets=packets, settled_s=settled_s, most_packets=most_packets)
        longer = trial.longer()
        lines[index] = Line.through(trial.shorter(), longer, sizes[index])
    return [total(lines, sampled, sizes, runs)[1] for runs in counts]
