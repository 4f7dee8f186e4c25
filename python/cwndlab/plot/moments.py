"""Moments at which the path changes: hand-overs of a cell, and steps of the links' schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.plot.description import Moments
from cwndlab.plot.panels import end_s
from cwndlab.scenario.units import duration_s

if TYPE_CHECKING:
    from cwndlab.records import Records

# More steps of schedules than this hide the lines.
_MOST_STEPS = 40


def moments(records: Records) -> list[Moments]:
    """Hand-overs, and the steps of all schedules unless there are many.

    Examples
    --------
    A handover each 15 s:

    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("satellite").with_(duration="40 s"), seed=1)
    >>> [(one.label, list(one.x)) for one in moments(records)]
    [('step of a schedule', [15.0, 30.0])]
    """
    handovers = records.link_events.filter(pl.col("kind") == "handover")["time_ns"].unique().sort()
    times = [round(time / 1e9, 4) for time in handovers.to_list()]
    last = end_s([records])
    steps = {round(time, 4) for link in _links(records.document) for time in _steps(link, last)} - set(times)
    made = [Moments("hand-over", times)] if times else []
    return [*made, Moments("step of a schedule", sorted(steps))] if 0 < len(steps) <= _MOST_STEPS else made


def _links(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from document.get("link", ())
    yield from document.get("parking_lot", {}).get("hops", ())
    dumbbell = document.get("dumbbell", {})
    yield from (dumbbell[key] for key in ("bottleneck", "reverse") if key in dumbbell)


def _steps(link: Mapping[str, Any], last: float) -> Iterator[float]:
    """The times of the steps after the start and before the end, in seconds."""
    period = duration_s(link["repeat"], "repeat") if "repeat" in link else last
    for step in link.get("schedule", ()):
        time = duration_s(step["at"], "at")
        for _ in range(_MOST_STEPS + 1):
            if 0 < time < last:
                yield time
            time += period
