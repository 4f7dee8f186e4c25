"""Fairness: Jain's index (R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window
from cwndlab.metrics.goodput import goodput

if TYPE_CHECKING:
    from cwndlab.records import Records


def jain(values: list[float]) -> float | None:
    """(Σx)² / (n Σx²); nothing where all are zero.

    >>> jain([58, 72, 68])
    0.992...
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else None


def fairness(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``jain`` of the flows' goodputs over the interval."""
    table = goodput(records, start_s=start_s, end_s=end_s)
    return pl.DataFrame({"jain": [jain(table["goodput_bps"].to_list())]}, schema={"jain": pl.Float64})


def fairness_over_time(
    records: Records, *, window_s: float = 1.0, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """One row per window of ``window_s``: ``time_s`` (its end) and ``jain`` of the goodputs in it."""
    start, end = window.bounds(records, start_s, end_s)
    rows = []
    time = start + window_s
    while time <= end + 1e-9:
        gained = window.gains(records.samples, "flow", ["delivered_bytes"], time - window_s, time)
        rows.append({"time_s": time, "jain": jain(gained["delivered_bytes"].to_list())})
        time += window_s
    return pl.DataFrame(rows, schema={"time_s": pl.Float64, "jain": pl.Float64})
