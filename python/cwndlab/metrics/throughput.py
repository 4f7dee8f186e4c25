"""Throughput: all payload and headers put on the wire, per time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def throughput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``throughput_bps`` = 8 × bytes put on the wire / time since its start within the interval.

    Header bytes within an interval follow from the flow's mean packet size over its life.
    """
    start, end = window.bounds(records, start_s, end_s)
    gained = window.gains(records.samples, "flow", ["sent_bytes"], start, end)
    share = records.flows.select(
        "flow", (pl.col("wire_bytes") / pl.col("sent_bytes").clip(lower_bound=1)).alias("per_byte")
    )
    return (
        window.alive(records, start, end)
        .join(gained, on="flow", how="left")
        .join(share, on="flow")
        .select(
            "flow",
            "algorithm",
            (pl.col("sent_bytes").fill_null(0) * pl.col("per_byte") * 8 / pl.col("alive_s")).alias("throughput_bps"),
        )
    )
