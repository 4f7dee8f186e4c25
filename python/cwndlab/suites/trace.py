"""The trace of a run: its named values over time, its events and its packets."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.suites.paths import Path
from cwndlab.suites.statements import NotObservedError

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Values of the transport that the cases of the RFCs compare.
_TRANSPORT = """\
cwnd_segments ssthresh_segments flight_size_segments in_flight_segments ca_state sent_packets retransmitted_packets
lost_segments sacked_segments una_segments next_segments srtt_s rtt_s min_rtt_s rto_s app_limited round"""
TRANSPORT = tuple(f"transport.{name}" for name in _TRANSPORT.split())
#: The names of the transport's values, without unit: `cwnd` is ``transport.cwnd_segments``.
_SHORT = {
    re.sub(r"transport\.|_(segments|packets|s|bps)$", "", name): name
    for name in (*TRANSPORT, "transport.pacing_rate_bps", "transport.delivery_rate_bps")
}


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


class Trace:
    """The first flow of a run. Names are those of named values; for the transport's, ``cwnd`` and the like suffice."""

    def __init__(self, records: Records, path: Path) -> None:
        self.records = records
        self.path = path

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

    def _of(self, name: str) -> tuple[list[float], list[float]]:
        return self._values.get(_SHORT.get(name, name), ([], []))

    @property
    def names(self) -> frozenset[str]:
        """The names of the values."""
        return frozenset(self._values)

    @cached_property
    def end_s(self) -> float:
        """The end of the run, seconds."""
        return float(self.records.rows("runs")[0]["duration_ns"]) / 1e9

    @property
    def flow(self) -> dict[str, Any]:
        """The row of the table ``flows``."""
        return self.records.rows("flows")[0]

    # Values.

    def at(self, name: str, time_s: float) -> float:
        """The value at a time; the first one before its first row, NaN where there is none."""
        times, values = self._of(name)
        return values[max(bisect_right(times, time_s) - 1, 0)] if times else nan

    def before(self, name: str, time_s: float) -> float:
        """The value before the events of a time."""
        times, values = self._of(name)
        return values[max(bisect_left(times, time_s) - 1, 0)] if times else nan

    def grown(self, name: str, start_s: float, end_s: float) -> float:
        """The change of a value from a time to another one."""
        return self.at(name, end_s) - self.at(name, start_s)

    def step(self, name: str, time_s: float) -> float:
        """The change of a value by the events of a time."""
        return self.at(name, time_s) - self.before(name, time_s)

    def points(self, name: str, start_s: float = 0.0, end_s: float | None = None) -> list[Point]:
        """The changes of a value from ``start_s`` to ``end_s``, both included; the value at the start comes first."""
        times, values = self._of(name)
        end = self.end_s if end_s is None else end_s
        low, high = bisect_right(times, start_s), bisect_right(times, end)
        first = [Point(start_s, self.at(name, start_s))] if times and times[0] <= start_s else []
        return first + [Point(times[index], values[index]) for index in range(low, high)]

    def least(self, name: str, start_s: float = 0.0, end_s: float | None = None) -> Point:
        """The first of the least values between two times."""
        return min(self.points(name, start_s, end_s), key=lambda point: point.value)

    def spans(self, name: str, start_s: float = 0.0) -> list[Span]:
        """The periods of a value."""
        points = self.points(name, start_s)
        ends = [point.at_s for point in points[1:]] + [self.end_s]
        return [Span(point.value, point.at_s, end) for point, end in zip(points, ends, strict=True)]

    def first(self, name: str, when: Callable[[float], bool], after_s: float = 0.0) -> Point | None:
        """The first value, from ``after_s`` on, for which ``when`` is true."""
        return next((point for point in self.points(name, after_s) if when(point.value)), None)

    # Events.

    @cached_property
    def events(self) -> list[tuple[str, float]]:
        """Kind and time of the rows of the table ``events``."""
        return [(row["kind"], row["time_ns"] / 1e9) for row in self.records.rows("events") if row["flow"] == 0]

    def times(self, *kinds: str, after_s: float = 0.0) -> list[float]:
        """The times of the events of these kinds, from ``after_s`` on."""
        return [at for kind, at in self.events if kind in kinds and at >= after_s]

    def event(self, kind: str, source: str, after_s: float = 0.0) -> float:
        """The time of the first event of a kind."""
        found = self.times(kind, after_s=after_s)
        if not found:
            raise NotObservedError(source, f"the transport's event '{kind}'", "no such event", after_s)
        return found[0]

    def recovery(self, source: str, ended: str = "", after_s: float = 0.0) -> tuple[float, float]:
        """The times at which the first recovery after a time begins and ends, with the source of both, or each."""
        begun = self.event("recovery", source, after_s)
        return begun, self.event("recovered", ended or source, begun)

    # Packets.

    def packets(self, link: str = "bottleneck") -> list[Packet]:
        """The packets of the flow on a link, in the order of their arrival at its queue."""
        import polars as pl

        index = next(int(row["link"]) for row in self.records.rows("links") if row["name"] == link)
        frame = self.records.frame("packets").filter((pl.col("link") == index) & (pl.col("flow") == 0))
        mss = int(self.flow["mss_bytes"])
        return [
            Packet(
                at_s=row["time_ns"] / 1e9,
                kind=row["kind"],
                number=row["sequence_bytes"] // mss,
                retransmission=row["retransmission"],
                sack=row["sack"],
                lost=row["fate"] in (1, 2),
                arrival_s=nan if row["arrival_ns"] is None else row["arrival_ns"] / 1e9,
            )
            for row in frame.iter_rows(named=True)
        ]

    def data(self, start_s: float = 0.0, end_s: float | None = None) -> list[Packet]:
        """The data packets sent between two times."""
        end = self.end_s if end_s is None else end_s
        return [one for one in self.packets() if one.kind == 0 and start_s <= one.at_s <= end]

    def again(self, start_s: float = 0.0) -> list[Packet]:
        """The retransmissions from a time on."""
        return [one for one in self.data(start_s) if one.retransmission]

    def acks(self, start_s: float = 0.0, end_s: float | None = None) -> list[Packet]:
        """The ACKs that reach the sender between two times, in order."""
        end = self.end_s if end_s is None else end_s
        packets = [one for one in self.packets("bottleneck-reverse") if one.kind == 1]
        return sorted((one for one in packets if start_s <= one.arrival_s <= end), key=lambda one: one.arrival_s)

    def sample(self, column: str, time_s: float) -> float:
        """The last sample of a column at or before a time, NaN where there is none."""
        rows = [row for row in self.records.rows("samples") if row["flow"] == 0 and row["time_ns"] <= time_s * 1e9]
        return nan if not rows or rows[-1][column] is None else float(rows[-1][column])
