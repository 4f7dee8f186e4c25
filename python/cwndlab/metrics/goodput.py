"""Goodput: payload delivered in order for the first time, per time (RFC 5166, section 2.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records

_COUNTERS = ("delivered_bytes", "sent_bytes", "retransmitted_bytes")
_SENT = pl.col("sent_bytes") - pl.col("retransmitted_bytes")


def goodput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``goodput_bps`` = 8 × delivered / time, ``sent_goodput_bps`` = 8 × (sent − retransmitted) / time, the
    form of the papers.

    The time is what the flow lived of the interval, from its start until all was acknowledged (the papers' transfer
    time). Null where it did not live in it.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> (cwndlab.metrics.goodput(records)["goodput_bps"] / 1e6).round(1).to_list()
    [44.6]
    """
    span = interval.bounds(records, start_s, end_s)
    gained = interval.gains(records, _COUNTERS, span)
    rate = 8 / pl.col("alive_s")
    return (
        interval.alive(records, span)
        .join(gained, on="flow", maintain_order="left")
        .select(
            "flow",
            "name",
            "algorithm",
            (pl.col("delivered_bytes") * rate).alias("goodput_bps"),
            (_SENT * rate).alias("sent_goodput_bps"),
        )
    )


def total_goodput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``goodput_bps`` and ``sent_goodput_bps`` of all flows together, over the whole interval.

    It is not a sum of the flows' goodputs, which are over the time that each one lived.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> (cwndlab.metrics.total_goodput(records, start_s=6)["goodput_bps"] / 1e6).round(1).to_list()
    [96.5]
    """
    span = interval.bounds(records, start_s, end_s)
    rate = 8 / span.seconds
    return interval.gains(records, _COUNTERS, span).select(
        (pl.col("delivered_bytes").sum() * rate).alias("goodput_bps"),
        (_SENT.sum() * rate).alias("sent_goodput_bps"),
    )
