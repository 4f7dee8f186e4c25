"""The trace of a run: its named values over time, and its events."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.suites.paths import Path

if TYPE_CHECKING:
    from cwndlab.records import Records


class Point(NamedTuple):
    """A value and its time."""

    at_s: float
    value: float


class Span(NamedTuple):
    """A period in which a value did not change."""

    value: float
    start_s: float
    end_s: float
    """The time of the next value; the end of the run for the last one."""


@dataclass(frozen=True)
class Packet:
    """A packet on a link."""

    at_s: float
    kind: int
    """0 data, 1 ACK."""
    number: int
    """Number of the segment, or of the next expected one."""
    retransmission: bool
    sack: str
    lost: bool
    """It was dropped by the queue or lost on the wire."""
    arrival_s: float
    """Time at which it reached the far end of the link; NaN for a packet that did not."""
    echo_s: float
    """Timestamp that an ACK echoes; NaN without one."""


class Trace:
    """The first flow of a run."""

    def __init__(self, records: Records, path: Path, moments: Mapping[str, float] | None = None) -> None:
        self.records = records
        self.path = path
        self.moments = dict(moments or {})
        self.earlier: dict[str, Trace] = {}

    @cached_property
    def _values(self) -> dict[str, tuple[list[float], list[float]]]:
        import polars as pl

        frame = self.records.frame("named_values").filter(pl.col("flow") == 0)
        tables = frame.partition_by("name", as_dict=True)
        # Divided as in `events`, so that equal times are equal.
        return {
            str(name): ([time / 1e9 for time in one["time_ns"].to_list()], one["value"].to_list())
            for (name,), one in tables.items()
        }

    @property
    def names(self) -> frozenset[str]:
        """The names of the values."""
        return frozenset(self._values)

    @cached_property
    def end_s(self) -> float:
        """The end of the run, seconds."""
        return float(self.records.rows("runs")[0]["duration_ns"]) / 1e9

    def at(self, name: str, time_s: float) -> float:
        """The value at a time; the first one before its first row, NaN where there is none."""
        times, values = self._values.get(name, ([], []))
        if not times:
            return nan
        return values[max(bisect_right(times, time_s) - 1, 0)]

    def before(self, name: str, time_s: float) -> float:
        """The value before the events of a time."""
        times, values = self._values.get(name, ([], []))
        if not times:
            return nan
        return values[max(bisect_left(times, time_s) - 1, 0)]

    def points(self, name: str, start_s: float = 0.0, end_s: float | None = None) -> list[Point]:
        """The changes of a value from ``start_s`` to ``end_s``, both included; the value at the start comes first."""
        times, values = self._values.get(name, ([], []))
        end = self.end_s if end_s is None else end_s
        low, high = bisect_right(times, start_s), bisect_right(times, end)
        first = [Point(start_s, self.at(name, start_s))] if times and times[0] <= start_s else []
        return first + [Point(times[index], values[index]) for index in range(low, high)]

    def spans(self, name: str, start_s: float = 0.0) -> list[Span]:
        """The periods of a value."""
        points = self.points(name, start_s)
        ends = [point.at_s for point in points[1:]] + [self.end_s]
        return [Span(point.value, point.at_s, end) for point, end in zip(points, ends, strict=True)]

    def first(self, name: str, when: Callable[[float], bool], after_s: float = 0.0) -> Point | None:
        """The first value, from ``after_s`` on, for which ``when`` is true."""
        return next((point for point in self.points(name, after_s) if when(point.value)), None)

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The rows of the table ``events``, with ``at_s``."""
        rows = [row for row in self.records.rows("events") if row["flow"] == 0]
        return [{**row, "at_s": row["time_ns"] / 1e9} for row in rows]

    def events_of(self, *kinds: str, after_s: float = 0.0) -> list[dict[str, Any]]:
        """The events of these kinds, from ``after_s`` on."""
        return [row for row in self.events if row["kind"] in kinds and row["at_s"] >= after_s]

    def packets(self, link: str = "bottleneck") -> list[Packet]:
        """The packets of the flow on a link, in the order of their arrival at its queue."""
        index = next(int(row["link"]) for row in self.records.rows("links") if row["name"] == link)
        return list(_packets(self.records, index))

    @cached_property
    def _samples(self) -> tuple[list[int], list[dict[str, Any]]]:
        rows = [row for row in self.records.rows("samples") if row["flow"] == 0]
        return [row["time_ns"] for row in rows], rows

    def sample(self, column: str, time_s: float) -> float:
        """The last sample of a column at or before a time, NaN where there is none."""
        times, rows = self._samples
        index = bisect_right(times, time_s * 1e9) - 1
        return nan if index < 0 or rows[index][column] is None else float(rows[index][column])

    @property
    def flow(self) -> dict[str, Any]:
        """The row of the table ``flows``."""
        return self.records.rows("flows")[0]


def _packets(records: Records, link: int) -> Iterator[Packet]:
    import polars as pl

    mss = int(records.rows("flows")[0]["mss_bytes"])
    frame = records.frame("packets").filter((pl.col("link") == link) & (pl.col("flow") == 0))
    for row in frame.iter_rows(named=True):
        arrival, echo = row["arrival_ns"], row["echo_ns"]
        yield Packet(
            at_s=row["time_ns"] / 1e9,
            kind=row["kind"],
            number=row["sequence_bytes"] // mss,
            retransmission=row["retransmission"],
            sack=row["sack"],
            lost=row["fate"] in (1, 2),
            arrival_s=nan if arrival is None else arrival / 1e9,
            echo_s=nan if echo is None else echo / 1e9,
        )


def last(points: Sequence[Point]) -> Point | None:
    """The last of some points; none where there are none."""
    return points[-1] if points else None
