"""Average queue at the bottleneck, time-weighted and exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def queue(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``queue_packets`` = integral of the packets waiting / time; ``queue_ms`` = mean backlog in bytes × 8
    / rate."""
    start, end = window.bounds(records, start_s, end_s)
    gained = window.link_gains(records, ["queue_packet_ns", "queue_byte_ns"], start, end)
    index, _ = window.bottleneck(records)
    rate = records.links.filter(pl.col("link") == index)["rate_bps"][0]
    span_ns = (end - start) * 1e9
    return pl.DataFrame(
        {
            "queue_packets": [gained["queue_packet_ns"] / span_ns],
            "queue_ms": [gained["queue_byte_ns"] / span_ns * 8e3 / rate],
        }
    )
