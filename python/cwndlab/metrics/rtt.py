"""Round-trip time: mean over all samples, the sender's smoothed one, and the smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def rtt(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_rtt_ms`` = sum of the RTT samples / their number; ``srtt_ms`` = mean of the smoothed RTT
    (RFC 6298) at the sampling instants; ``min_rtt_ms`` of the flow's whole life. Null where there is none.

    The sum ends with the last sampling instant of the interval; a run without samples has the mean of its whole life.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.rtt(records)["min_rtt_ms"].round(1).to_list()
    [20.0]
    """
    span = interval.bounds(records, start_s, end_s)
    inside = records.samples.filter((pl.col("time_ns") > span.start_ns) & (pl.col("time_ns") <= span.end_ns))
    before = records.samples.filter(pl.col("time_ns") == span.start_ns).select("flow", "rtt_sum_ns", "rtt_count")
    until = inside.group_by("flow", maintain_order=True).agg(
        pl.col("rtt_sum_ns", "rtt_count").last(), pl.col("srtt_ns").mean()
    )
    total = pl.col("rtt_sum_ns") - pl.col("rtt_sum_ns_before").fill_null(0)
    count = pl.col("rtt_count") - pl.col("rtt_count_before").fill_null(0)
    mean: pl.Expr = pl.when(count > 0).then(total / count / 1e6)
    if len(records.samples) == 0:
        mean = pl.col("mean_rtt_ns") / 1e6
    return (
        records.flows.join(until, on="flow", how="left", maintain_order="left")
        .join(before, on="flow", how="left", suffix="_before", maintain_order="left")
        .select(
            "flow",
            "name",
            "algorithm",
            mean.alias("mean_rtt_ms"),
            (pl.col("srtt_ns") / 1e6).alias("srtt_ms"),
            (pl.col("min_rtt_ns") / 1e6).alias("min_rtt_ms"),
        )
    )
