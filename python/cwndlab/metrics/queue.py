"""Average queue at the bottleneck: exact, since links record the integral of their backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def queue(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per bottleneck, the first one first: ``queue_packets`` = ∫ packets waiting dt / time; ``queue_ms`` = 8 × ∫ bytes
    waiting dt / (time × rate).

    Where the rate varies, and on an 802.11 medium, ``queue_ms`` is the mean waiting time of the packets: ∫ packets
    waiting dt / packets that joined the queue (Little's law); null where none did. The packet in service does not wait;
    on an 802.11 medium it counts.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.queue(records).filter(link="bottleneck")["queue_packets"].round(1).to_list()
    [56.0]
    """
    span = interval.bounds(records, start_s, end_s)
    length_ns = span.end_ns - span.start_ns
    counters = ["queue_packet_ns", "queue_byte_ns", "arrived_packets", "dropped_packets"]
    joined = pl.col("arrived_packets") - pl.col("dropped_packets")
    own = pl.when(joined > 0).then(pl.col("queue_packet_ns") / joined / 1e6)
    by_rate = 8e3 * (pl.col("queue_byte_ns") / length_ns) / pl.col("rate_bps")
    varies = pl.col("link").is_in(interval.varying(records).implode())
    return interval.link_gains(records, counters, span).select(
        pl.col("name").alias("link"),
        (pl.col("queue_packet_ns") / length_ns).alias("queue_packets"),
        pl.when(varies).then(own).otherwise(by_rate).alias("queue_ms"),
    )
