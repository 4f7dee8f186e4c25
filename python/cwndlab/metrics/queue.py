"""Average queue at the bottleneck: exact, since links record the integral of their backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import MeasuredRun, Numbers, link_table, of_links, ratio

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_links("queue", "ms", direction=-1, source="J. Little, Operations Research 9(3), 1961")
def queue_ms(run: MeasuredRun) -> Numbers:
    """8 × ∫ bytes waiting dt / (time × rate); where the rate varies, ∫ packets waiting dt / packets (Little's law)."""
    joined = run.link_gained("arrived_packets") - run.link_gained("dropped_packets")
    waited = ratio(run.link_gained("queue_packet_ns"), joined) / 1e6
    by_rate = 8e3 * (run.link_gained("queue_byte_ns") / run.span.length_ns) / run.of_links("rate_bps")
    return np.where(run.varies, waited, by_rate)


@of_links("queue", "packets", direction=-1)
def queue_packets(run: MeasuredRun) -> Numbers:
    """∫ packets waiting at the bottleneck dt / time."""
    return run.link_gained("queue_packet_ns") / run.span.length_ns


QUEUE = (queue_ms, queue_packets)


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
    [52.9]
    """
    return link_table(MeasuredRun(records, start_s, end_s), QUEUE[::-1])
