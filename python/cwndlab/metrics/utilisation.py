"""Utilisation: bits that left the bottleneck over what it could carry (RFC 5166, section 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def utilisation(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``link``, ``utilisation`` = 8 × bytes sent / (rate × time)."""
    start, end = window.bounds(records, start_s, end_s)
    index, name = window.bottleneck(records)
    rate = records.links.filter(pl.col("link") == index)["rate_bps"][0]
    sent = window.link_gains(records, ["sent_bytes"], start, end)["sent_bytes"]
    return pl.DataFrame({"link": [name], "utilisation": [8 * sent / (rate * (end - start))]})
