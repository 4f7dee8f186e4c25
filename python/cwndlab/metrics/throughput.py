"""Throughput: all bytes that a flow put on the wire, headers and retransmissions included, per time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records


def throughput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``throughput_bps`` = 8 × bytes put on the wire / time, over what the flow lived of the interval.

    Samples count payload only: headers within an interval follow from the flow's mean share of them over its life,
    which is exact for the whole run.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> (cwndlab.metrics.throughput(records)["throughput_bps"] / 1e6).round(1).to_list()
    [50.0]
    """
    span = interval.bounds(records, start_s, end_s)
    return (
        interval.alive(records, span)
        .join(_wire_bytes(records, span), on="flow", maintain_order="left")
        .select("flow", "name", "algorithm", (8 * pl.col("bytes") / pl.col("alive_s")).alias("throughput_bps"))
    )


def total_throughput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``throughput_bps`` of all flows together, over the whole interval, as `total_goodput` is.

    It is not a sum of the flows' throughputs, which are over the time that each one lived.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> (cwndlab.metrics.total_throughput(records, start_s=6)["throughput_bps"] / 1e6).round(1).to_list()
    [100.5]
    """
    span = interval.bounds(records, start_s, end_s)
    return _wire_bytes(records, span).select((8 * pl.col("bytes").sum() / span.seconds).alias("throughput_bps"))


def _wire_bytes(records: Records, span: interval.Span) -> pl.DataFrame:
    """Per flow ``bytes`` put on the wire within the interval."""
    headers = pl.when(pl.col("sent_bytes") > 0).then(pl.col("wire_bytes") / pl.col("sent_bytes")).otherwise(1.0)
    gained = interval.gains(records, ["sent_bytes"], span)
    factors = records.flows.select("flow", headers.alias("wire_per_payload"))
    return gained.join(factors, on="flow", maintain_order="left").select(
        "flow", (pl.col("sent_bytes") * pl.col("wire_per_payload")).alias("bytes")
    )
