"""What all metrics share and is not a metric itself: the interval that is measured, and the bottlenecks.

Counters are cumulative and known at the sampling instants, at the start of the run (zero) and at its end (totals). So
an interval begins and ends at such an instant: one that does not is moved to the last instant before it, and rates
are over the interval that was counted.

A *bottleneck* is a link whose finite queue is sampled (any link with a rate where none is). The first one is the link
called ``bottleneck``, else the most used one of those whose name begins so, else the most used one of all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.errors import ArgumentError, Fault, ScenarioError, parameter_fault

if TYPE_CHECKING:
    from cwndlab.records import Records


class Span(NamedTuple):
    """An interval of the run's clock."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.length_ns / 1e9


def run_of(records: Records) -> Mapping[str, Any]:
    """The row of a run; raises ``ArgumentError`` where what is measured is not the records of one."""
    if not hasattr(records, "rows"):
        what = f"a value of type {type(records).__name__} is not the records of a run"
        raise ArgumentError(parameter_fault("records", what, hint="hand over what `cwndlab.run` returns"))
    return records.rows("runs")[0]


def time_faults(start_s: object, end_s: object) -> list[Fault]:
    """The faults of times that are not numbers."""
    return [
        parameter_fault(name, f"'{time_s}' is not a time", hint="write seconds from 0 on, such as 5.0")
        for name, time_s in (("start_s", start_s), ("end_s", end_s))
        if time_s is not None
        and (isinstance(time_s, bool) or not isinstance(time_s, Real) or not math.isfinite(time_s))
    ]


def check_number(
    name: str, value: object, *, example: object, least: float = 0.0, most: float = math.inf, is_least: bool = True
) -> None:
    """Raises ``ArgumentError`` where a parameter is not a finite number from ``least``, which ``is_least`` includes, to
    ``most``."""
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if is_number and least <= value <= most and (is_least or value != least):  # type: ignore[operator]
        return
    bound = f"{'from' if is_least else 'above'} {least:g}" + (f" to {most:g}" if math.isfinite(most) else "")
    raise ArgumentError(parameter_fault(name, f"'{value}' is not a number {bound}", example=example))


def asked(records: Records, start_s: float | None, end_s: float | None) -> Span:
    """The interval from ``start_s`` (the scenario's ``measure_from``) to ``end_s`` (the run's end)."""
    run = run_of(records)
    if faults := time_faults(start_s, end_s):
        raise ArgumentError(*faults)
    duration = int(run["duration_ns"])
    start = int(run["measure_from_ns"]) if start_s is None else round(start_s * 1e9)
    end = duration if end_s is None else round(end_s * 1e9)
    if not 0 <= start < end <= duration:
        raise ScenarioError(
            Fault(
                "start_s, end_s",
                f"{start / 1e9:g} s to {end / 1e9:g} s is not an interval of the run",
                f"name one between 0 s and {duration / 1e9:g} s",
            )
        )
    return Span(start, end)


def bounds(records: Records, start_s: float | None, end_s: float | None) -> Span:
    """The interval of `asked`, moved to instants at which counters are known."""
    start, end = asked(records, start_s, end_s)
    run = run_of(records)
    duration, step = int(run["duration_ns"]), int(run["sample_interval_ns"])
    if step:
        span = Span(start - start % step, end if end == duration else end - end % step)
    else:
        span = Span(0 if start == 0 else -1, duration if end == duration else -1)
    if span.start_ns < 0 or span.end_ns < 0 or span.start_ns >= span.end_ns:
        raise ScenarioError(
            Fault(
                "sample_interval",
                f"no samples tell {start / 1e9:g} s to {end / 1e9:g} s apart",
                "sample more often, or measure the whole run",
            )
        )
    return span


def bottlenecks(links: Sequence[Mapping[str, Any]], sampled: Collection[int]) -> list[Mapping[str, Any]]:
    """The rows of ``links`` that are bottlenecks, the first one first; ``sampled`` are the links that have samples."""
    rated = [link for link in links if link["rate_bps"] is not None]
    finite = [link for link in rated if link["capacity_packets"] is not None or link["capacity_bytes"] is not None]
    found = [link for link in finite if not sampled or link["link"] in sampled] or rated

    def rank(link: Mapping[str, Any]) -> tuple[int, float, int]:
        name = link["name"]
        place = 0 if name == "bottleneck" else 1 if name.startswith("bottleneck") else 2
        return place, -link["utilisation"], link["link"]

    return sorted(found, key=rank)
