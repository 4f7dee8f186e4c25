"""Utilisation: bits that left the bottleneck over what it could carry (RFC 5166, section 2.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def utilisation(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per bottleneck, the first one first (`cwndlab.metrics.window` says which): ``utilisation`` = 8 × bytes sent /
    (rate × time)."""
    span = window.bounds(records, start_s, end_s)
    share = 8 * pl.col("sent_bytes") / (pl.col("rate_bps") * span.seconds)
    return window.link_gains(records, ["sent_bytes"], span).select(
        pl.col("name").alias("link"), share.alias("utilisation")
    )
