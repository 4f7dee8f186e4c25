"""Timeouts, retransmissions and congestion events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def timeouts(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow over the interval: ``timeouts`` (expired retransmission timers), ``retransmitted_packets``,
    ``congestion_events`` (recoveries, timeouts, ECN reductions: one per window, RFC 9438).

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.timeouts(records).select("timeouts", "retransmitted_packets").row(0)
    (0, 235)
    """
    span = interval.bounds(records, start_s, end_s)
    gained = interval.gains(records, ["timeouts", "retransmitted_packets", "congestion_events"], span)
    return records.flows.select("flow", "name", "algorithm").join(gained, on="flow", maintain_order="left")
