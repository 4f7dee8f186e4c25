"""Mean congestion window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def cwnd(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_cwnd_segments`` = mean of the windows at the sampling instants, while the flow lived, / SMSS.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.cwnd(records)["mean_cwnd_segments"].round(1).to_list()
    [140.7]
    """
    span = interval.bounds(records, start_s, end_s)
    time = pl.col("time_ns")
    flows = records.flows.select("flow", "name", "algorithm", "mss_bytes", "end_ns")
    living = records.samples.join(flows.select("flow", "end_ns"), on="flow").filter(
        (time > span.start_ns) & (time <= span.end_ns) & (pl.col("end_ns").is_null() | (time <= pl.col("end_ns")))
    )
    mean = living.group_by("flow").agg(pl.col("cwnd_bytes").mean())
    return flows.join(mean, on="flow", how="left", maintain_order="left").select(
        "flow", "name", "algorithm", (pl.col("cwnd_bytes") / pl.col("mss_bytes")).alias("mean_cwnd_segments")
    )
