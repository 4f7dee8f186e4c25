"""Goodput: payload delivered in order for the first time, per time (RFC 5166, section 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def goodput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``goodput_bps`` = 8 × delivered / time since its start within the interval.

    ``sent_goodput_bps`` is the papers' form: 8 × (sent − retransmitted) / time.
    """
    start, end = window.bounds(records, start_s, end_s)
    counters = ["delivered_bytes", "sent_bytes", "retransmitted_bytes"]
    gained = window.gains(records.samples, "flow", counters, start, end)
    rate = 8 / pl.col("alive_s")
    return (
        window.alive(records, start, end)
        .join(gained, on="flow", how="left")
        .select(
            "flow",
            "algorithm",
            (pl.col("delivered_bytes").fill_null(0) * rate).alias("goodput_bps"),
            ((pl.col("sent_bytes") - pl.col("retransmitted_bytes")).fill_null(0) * rate).alias("sent_goodput_bps"),
        )
    )
