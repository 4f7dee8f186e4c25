"""Mean congestion window over the samples of the interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def cwnd(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_cwnd_segments`` = mean of the sampled windows / MSS."""
    start, end = window.bounds(records, start_s, end_s)
    inside = records.samples.filter(pl.col("time_ns").is_between(round(start * 1e9), round(end * 1e9), closed="right"))
    mean = inside.group_by("flow").agg(pl.col("cwnd_bytes").mean())
    flows = records.flows.select("flow", "algorithm", "mss_bytes")
    return flows.join(mean, on="flow", how="left").select(
        "flow", "algorithm", (pl.col("cwnd_bytes") / pl.col("mss_bytes")).alias("mean_cwnd_segments")
    )
