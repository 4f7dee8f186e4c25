"""Timeouts, retransmissions and congestion events per flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def timeouts(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow over the interval: ``timeouts`` (expired retransmission timers), ``retransmitted_packets``,
    ``congestion_events`` (recoveries, timeouts, ECN reductions)."""
    start, end = window.bounds(records, start_s, end_s)
    counters = ["timeouts", "retransmitted_packets", "congestion_events"]
    gained = window.gains(records.samples, "flow", counters, start, end)
    return (
        records.flows.select("flow", "algorithm")
        .join(gained, on="flow", how="left")
        .with_columns(pl.col(counters).fill_null(0.0))
    )
