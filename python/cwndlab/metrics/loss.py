"""Packet loss: bottleneck drops per second (the CCM-SS paper), and drops over packets sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def loss(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``drops``, ``drops_per_s`` = queue drops at the bottleneck / time, ``loss_ratio`` = drops / packets
    offered."""
    start, end = window.bounds(records, start_s, end_s)
    gained = window.link_gains(records, ["dropped_packets", "arrived_packets"], start, end)
    drops, arrived = gained["dropped_packets"], gained["arrived_packets"]
    return pl.DataFrame(
        {"drops": [drops], "drops_per_s": [drops / (end - start)], "loss_ratio": [drops / arrived if arrived else 0.0]}
    )
