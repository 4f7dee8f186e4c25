"""Round-trip time: mean over all samples of the interval, and the smallest of the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def rtt(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_rtt_ms`` = sum of RTT samples / their number over the interval, ``min_rtt_ms`` of its life."""
    start, end = window.bounds(records, start_s, end_s)
    gained = window.gains(records.samples, "flow", ["rtt_sum_ns", "rtt_count"], start, end)
    least = records.flows.select("flow", "algorithm", (pl.col("min_rtt_ns") / 1e6).alias("min_rtt_ms"))
    mean = pl.when(pl.col("rtt_count") > 0).then(pl.col("rtt_sum_ns") / pl.col("rtt_count") / 1e6).alias("mean_rtt_ms")
    return least.join(gained, on="flow", how="left").select("flow", "algorithm", mean, "min_rtt_ms")
