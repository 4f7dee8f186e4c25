"""Completion times of transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records

_SPAN_S = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
_STATISTICS = (
    pl.len().alias("transfers"),
    _SPAN_S.mean().alias("mean_completion_s"),
    _SPAN_S.median().alias("median_completion_s"),
    _SPAN_S.quantile(0.95, "linear").alias("p95_completion_s"),
)


def completion(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``transfers``, and mean, median and 95th percentile of ``end − start``, from the request to the last
    byte at the receiving application.

    Of the transfers that began within the interval and were completed in the run; flows without any have no row.
    """
    found = began(records, start_s, end_s).group_by("flow").agg(*_STATISTICS)
    return records.flows.select("flow", "name", "algorithm").join(found, on="flow", maintain_order="left")


def total_completion(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: the same over the transfers of all flows; the times are null where there are none."""
    return began(records, start_s, end_s).select(*_STATISTICS)


def began(records: Records, start_s: float | None, end_s: float | None) -> pl.DataFrame:
    """The transfers that began within the interval and were completed in the run."""
    span = window.bounds(records, start_s, end_s)
    return records.transfers.filter((pl.col("start_ns") >= span.start_ns) & (pl.col("start_ns") < span.end_ns))
