"""Throughput: all bytes that a flow put on the wire, headers and retransmissions included, per time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import window

if TYPE_CHECKING:
    from cwndlab.records import Records


def throughput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``throughput_bps`` = 8 × bytes put on the wire / time, over what the flow lived of the interval.

    Samples count payload only: headers within an interval follow from the flow's mean share of them over its life,
    which is exact for the whole run.
    """
    span = window.bounds(records, start_s, end_s)
    gained = window.gains(records, ["sent_bytes"], span)
    share = records.flows.select(
        "flow",
        pl.when(pl.col("sent_bytes") > 0).then(pl.col("wire_bytes") / pl.col("sent_bytes")).alias("wire_per_payload"),
    )
    sent = pl.col("sent_bytes") * pl.col("wire_per_payload").fill_null(1.0)
    return (
        window.alive(records, span)
        .join(gained, on="flow", maintain_order="left")
        .join(share, on="flow", maintain_order="left")
        .select("flow", "name", "algorithm", (8 * sent / pl.col("alive_s")).alias("throughput_bps"))
    )
