"""Percentiles of the queueing delay at the bottleneck (RFC 5166, section 2.1.2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.metrics.core import MeasuredRun, Metric
from cwndlab.metrics.interval import Span

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The percentiles that are told.
PERCENTILES = (50, 95, 99)

_SCHEMA = {"link": pl.String, **{f"p{p}_queue_ms": pl.Float64 for p in PERCENTILES}, "of": pl.String}


def queueing_delay(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per bottleneck, the first one first: ``p50_queue_ms``, ``p95_queue_ms``, ``p99_queue_ms``, and ``of`` what.

    Of ``packets`` where the run recorded them: departure − arrival − 8 × size / rate of each packet that arrived within
    the interval and was sent, so that every packet counts once. Else over ``time``: 8 × bytes waiting / rate at the
    sampling instants, which are equally apart, so that every moment counts alike; it knows nothing between them. Where
    the rate varies, a packet waits until the one before it has left, and a moment counts with the time for which the
    oldest packet of the queue has waited (``link_samples.queue_age_ns``), as on an 802.11 medium.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> table = cwndlab.metrics.queueing_delay(records)
    >>> table["link"][0], round(table["p95_queue_ms"][0], 1), table["of"][0]
    ('bottleneck', 19.1, 'time')
    """
    run = MeasuredRun(records, start_s, end_s)
    rows = []
    for link, varies in zip(run.bottlenecks, run.varies, strict=True):
        delays, of = _of_packets(records, link, run.span, varies), "packets"
        if len(delays) == 0:
            delays, of = _over_time(records, link, run.span, varies), "time"
        values = {f"p{p}_queue_ms": delays.quantile(p / 100, "linear") for p in PERCENTILES}
        rows.append({"link": link["name"], **values, "of": of if len(delays) else None})
    return pl.DataFrame(rows, schema=_SCHEMA)


def _of_packets(records: Records, link: Mapping[str, Any], span: Span, varies: bool) -> pl.Series:
    time, service = pl.col("time_ns"), pl.col("size_bytes").cast(pl.Int64) * 8e9 / pl.lit(link["rate_bps"])
    sent = records.packets.filter((pl.col("link") == link["link"]) & pl.col("departure_ns").is_not_null())
    if varies:
        # Service begins when the packet before has left; simultaneous departures are in the order of arrival.
        sent = sent.sort("departure_ns", "time_ns", maintain_order=True)
        waited = (pl.col("departure_ns").shift(1) - time).fill_null(0).cast(pl.Float64)
    else:
        waited = pl.col("departure_ns") - time - service
    waits = sent.select(time, (waited / 1e6).clip(lower_bound=0.0).alias("ms"))
    return waits.filter((time >= span.start_ns) & (time < span.end_ns))["ms"]


def _over_time(records: Records, link: Mapping[str, Any], span: Span, varies: bool) -> pl.Series:
    time = pl.col("time_ns")
    inside = (pl.col("link") == link["link"]) & (time > span.start_ns) & (time <= span.end_ns)
    waiting = pl.col("queue_age_ns") / 1e6 if varies else pl.col("queue_bytes") * 8e3 / pl.lit(link["rate_bps"])
    return records.link_samples.filter(inside).select(waiting.alias("ms"))["ms"]


QUEUEING_DELAY = tuple(
    Metric(
        f"p{p}_queue_ms",
        f"queue, {title}",
        "ms",
        direction=-1,
        formula=f"{title.capitalize()} of the waiting times at the bottleneck, over packets, else over time",
        source="RFC 5166, section 2.1.2",
        one=partial(MeasuredRun.first, table=queueing_delay, column=f"p{p}_queue_ms"),
    )
    for p, title in zip(PERCENTILES, ("median", "95th percentile", "99th percentile"), strict=True)
)
