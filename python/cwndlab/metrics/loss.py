"""Packet loss at the bottleneck: drops per second (the CCM-SS paper's packet loss rate), and drops over packets
sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def loss(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per bottleneck, the first one first: ``drops`` of its queue, ``drops_per_s`` = drops / time, ``loss_ratio`` =
    drops / packets sent to it. ``wire_losses``, packets that left the queue and were lost on the wire, count in
    neither.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.loss(records).select("link", "drops").row(0)
    ('bottleneck', 235)
    """
    span = interval.bounds(records, start_s, end_s)
    drops, offered = pl.col("dropped_packets"), pl.col("arrived_packets")
    return interval.link_gains(records, ["dropped_packets", "arrived_packets", "lost_packets"], span).select(
        pl.col("name").alias("link"),
        drops.alias("drops"),
        (drops / span.seconds).alias("drops_per_s"),
        pl.when(offered > 0).then(drops / offered).otherwise(0.0).alias("loss_ratio"),
        pl.col("lost_packets").alias("wire_losses"),
    )
