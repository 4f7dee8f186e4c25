"""Packet loss at the bottleneck: drops per second (the CCM-SS paper's packet loss rate), and drops over packets
sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import MeasuredRun, Numbers, link_table, of_links

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_links("drops", "packets", counts=True)
def drops(run: MeasuredRun) -> Numbers:
    """Packets dropped by the queue of the bottleneck."""
    return run.link_gained("dropped_packets")


@of_links("wire losses", "packets", counts=True)
def wire_losses(run: MeasuredRun) -> Numbers:
    """Packets that left the queue of the bottleneck and were lost on the wire."""
    return run.link_gained("lost_packets")


@of_links("drops", "1/s", direction=-1, source="the CCM-SS paper")
def drops_per_s(run: MeasuredRun) -> Numbers:
    """Packets dropped by the queue of the bottleneck / time."""
    return run.link_gained("dropped_packets") / run.span.seconds


@of_links("loss ratio", "%", 100.0, direction=-1, source="RFC 5166, section 2.1.3")
def loss_ratio(run: MeasuredRun) -> Numbers:
    """Packets dropped by the queue of the bottleneck / packets sent to it."""
    offered = run.link_gained("arrived_packets")
    return np.divide(run.link_gained("dropped_packets"), offered, out=np.zeros(len(offered)), where=offered > 0)


LOSS = (drops_per_s, loss_ratio)


def loss(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per bottleneck, the first one first: ``drops`` of its queue, ``drops_per_s`` = drops / time, ``loss_ratio`` =
    drops / packets sent to it. ``wire_losses``, packets that left the queue and were lost on the wire, count in
    neither.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.loss(records).select("link", "drops").row(0)
    ('bottleneck', 234)
    """
    return link_table(MeasuredRun(records, start_s, end_s), (drops, *LOSS, wire_losses))
