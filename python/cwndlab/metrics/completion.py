"""Completion times of transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from cwndlab.records import Records


def completion(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``transfers``, ``mean_s``, ``median_s``, ``p95_s`` from request to the last byte at the
    application, of the
    transfers that began in the interval."""
    low, high = round((start_s or 0.0) * 1e9), round((end_s or 1e9) * 1e9)
    times = records.transfers.filter(pl.col("start_ns").is_between(low, high))
    span = (pl.col("end_ns").cast(pl.Float64) - pl.col("start_ns").cast(pl.Float64)) / 1e9
    return times.group_by("flow", maintain_order=True).agg(
        pl.len().alias("transfers"),
        span.mean().alias("mean_s"),
        span.median().alias("median_s"),
        span.quantile(0.95).alias("p95_s"),
    )
