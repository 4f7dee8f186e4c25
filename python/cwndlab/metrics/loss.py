"""Packet loss at the bottleneck: drops per second (the CCM-SS paper's packet loss rate), and drops over packets
sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import Measured, Metric, Numbers, link_table

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


def _ratio(run: Measured) -> Numbers:
    offered = run.link_gained("arrived_packets")
    return np.divide(run.link_gained("dropped_packets"), offered, out=np.zeros(len(offered)), where=offered > 0)


LOSS = (
    Metric(
        "drops_per_s",
        "drops",
        "1/s",
        direction=-1,
        formula="packets dropped by the queue of the bottleneck / time",
        source="the CCM-SS paper",
        links=lambda run: run.link_gained("dropped_packets") / run.span.seconds,
    ),
    Metric(
        "loss_ratio",
        "loss ratio",
        "%",
        100.0,
        direction=-1,
        formula="packets dropped by the queue of the bottleneck / packets sent to it",
        source="RFC 5166, section 2.1.3",
        links=_ratio,
    ),
)
# What the table has beside the metrics.
DROPS = Metric("drops", "drops", "packets", links=lambda run: run.link_gained("dropped_packets"), counts=True)
WIRE_LOSSES = Metric(
    "wire_losses", "wire losses", "packets", links=lambda run: run.link_gained("lost_packets"), counts=True
)


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
    return link_table(Measured(records, start_s, end_s), (DROPS, *LOSS, WIRE_LOSSES))
