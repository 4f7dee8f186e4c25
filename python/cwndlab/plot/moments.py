"""Moments at which the path changes: hand-overs of a cell or a satellite link, and steps of the links' schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.plot.description import Moments

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
    times = sorted({*times, *records.hand_over_times_s})
    made = [Moments("hand-over", times)] if times else []
    steps = sorted(set(records.step_times_s) - set(times))
    return [*made, Moments("step of a schedule", steps)] if 0 < len(steps) <= _MOST_STEPS else made
