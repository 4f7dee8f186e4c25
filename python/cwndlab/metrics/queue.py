"""Average queue at the bottleneck: time-weighted and exact, since links record the integral of their backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def queue(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per bottleneck, the first one first: ``queue_packets`` = ∫ packets waiting dt / time; ``queue_ms`` = 8 × ∫ bytes
    waiting dt / (time × rate).

    The packet in service does not wait.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.queue(records).filter(link="bottleneck")["queue_packets"].round(1).to_list()
    [63.4]
    """
    span = interval.bounds(records, start_s, end_s)
    length_ns = span.end_ns - span.start_ns
    return interval.link_gains(records, ["queue_packet_ns", "queue_byte_ns"], span).select(
        pl.col("name").alias("link"),
        (pl.col("queue_packet_ns") / length_ns).alias("queue_packets"),
        (8e3 * (pl.col("queue_byte_ns") / length_ns) / pl.col("rate_bps")).alias("queue_ms"),
    )
