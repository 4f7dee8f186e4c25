"""What all metrics share and is not a metric itself: the interval that is measured, counters over it, the bottlenecks.

Counters are cumulative and known at the sampling instants, at the start of the run (zero) and at its end (totals). So
an interval begins and ends at such an instant: one that does not is moved to the last instant before it, and rates
are over the interval that was counted.

A *bottleneck* is a link whose finite queue is sampled (any link with a rate where none is). The first one is the link
called ``bottleneck``, else the most used one of those whose name begins so, else the most used one of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from cwndlab.errors import Fault, ScenarioError

if TYPE_CHECKING:
    from cwndlab.records import Records

# Totals of a run, under the names of the counters that samples have.
_FLOW_TOTALS = {"congestion_events": pl.col("recoveries") + pl.col("timeouts") + pl.col("ecn_reductions")}
_LINK_INTEGRALS = {"queue_packet_ns": "mean_queue_packets", "queue_byte_ns": "mean_queue_bytes"}


class Span(NamedTuple):
    """An interval of the run's clock."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end_ns - self.start_ns) / 1e9


def bounds(records: Records, start_s: float | None, end_s: float | None) -> Span:
    """The interval from ``start_s`` (the scenario's ``measure_from``) to ``end_s`` (the run's end), moved to instants
    at which counters are known."""
    run = records.rows("runs")[0]
    duration, step = int(run["duration_ns"]), int(run["sample_interval_ns"])
    start = int(run["measure_from_ns"]) if start_s is None else round(start_s * 1e9)
    end = duration if end_s is None else round(end_s * 1e9)
    if not 0 <= start < end <= duration:
        raise ScenarioError(
            Fault(
                "start_s, end_s",
                f"{start / 1e9:g} s to {end / 1e9:g} s is not an interval of the run",
                f"name one between 0 s and {duration / 1e9:g} s",
            )
        )
    if step:
        span = Span(start - start % step, end if end == duration else end - end % step)
    else:
        span = Span(0 if start == 0 else -1, duration if end == duration else -1)
    if span.start_ns < 0 or span.end_ns < 0 or span.start_ns >= span.end_ns:
        raise ScenarioError(
            Fault(
                "sample_interval",
                f"no samples tell {start / 1e9:g} s to {end / 1e9:g} s apart",
                "sample more often, or measure the whole run",
            )
        )
    return span


def gains(records: Records, counters: Sequence[str], span: Span) -> pl.DataFrame:
    """What the ``counters`` of each flow gained within ``span``: a row for every flow."""
    if span.end_ns == _duration(records):
        totals = [_FLOW_TOTALS.get(name, pl.col(name)).alias(name) for name in counters]
        until = records.flows.select("flow", *totals)
    else:
        until = _at(records.samples, "flow", counters, span.end_ns)
    before = _at(records.samples, "flow", counters, span.start_ns)
    return _gained(records.flows.select("flow"), "flow", counters, until, before)


def link_gains(records: Records, counters: Sequence[str], span: Span) -> pl.DataFrame:
    """What the ``counters`` of each bottleneck gained within ``span``, the first one first, with its ``rate_bps``."""
    links = bottlenecks(records)
    duration = _duration(records)
    if span.end_ns == duration:
        totals = [
            (pl.col(_LINK_INTEGRALS[name]) * duration if name in _LINK_INTEGRALS else pl.col(name)).alias(name)
            for name in counters
        ]
        until = links.select("link", *totals)
    else:
        until = _at(records.link_samples, "link", counters, span.end_ns)
    before = _at(records.link_samples, "link", counters, span.start_ns)
    gained = _gained(links.select("link"), "link", counters, until, before)
    return links.select("link", "name", "rate_bps").join(gained, on="link", how="left", maintain_order="left")


def alive(records: Records, span: Span) -> pl.DataFrame:
    """Per flow ``alive_s``, how long it lived within ``span``: from its start until all was acknowledged; null where it
    did not."""
    begin = pl.max_horizontal(pl.col("start_ns"), pl.lit(span.start_ns))
    end = pl.min_horizontal(pl.col("end_ns"), pl.lit(span.end_ns))
    lived = pl.when(end > begin).then((end - begin) / 1e9).alias("alive_s")
    return records.flows.select("flow", "name", "algorithm", lived)


def varying(records: Records) -> pl.Series:
    """Links whose waiting times do not follow from the bytes in the queue and the rate: the rate varies, or they are
    sampled on an 802.11 medium, which they share with others."""
    by_line = records.links.filter(pl.col("carriable_bytes").is_not_null())["link"]
    by_age = records.link_samples.filter(pl.col("queue_age_ns").is_not_null())["link"]
    return pl.concat([by_line, by_age]).unique()


def bottlenecks(records: Records) -> pl.DataFrame:
    """Rows of ``links`` that are bottlenecks, the first one first."""
    finite = pl.col("capacity_packets").is_not_null() | pl.col("capacity_bytes").is_not_null()
    sampled = records.link_samples["link"].unique()
    links = records.links.filter(pl.col("rate_bps").is_not_null())
    found = links.filter(finite & (pl.col("link").is_in(sampled.implode()) | (len(sampled) == 0)))
    name = pl.col("name")
    rank = pl.when(name == "bottleneck").then(0).when(name.str.starts_with("bottleneck")).then(1).otherwise(2)
    return (
        (found if len(found) else links)
        .with_columns(rank.alias("rank"))
        .sort("rank", "utilisation", "link", descending=[False, True, False])
        .drop("rank")
    )


def _duration(records: Records) -> int:
    return int(records.rows("runs")[0]["duration_ns"])


def _at(samples: pl.DataFrame, key: str, counters: Sequence[str], time_ns: int) -> pl.DataFrame:
    """Counters at the sampling instant ``time_ns``; what has no sample there counts from zero."""
    return samples.filter(pl.col("time_ns") == time_ns).select(key, *counters)


def _gained(
    keys: pl.DataFrame, key: str, counters: Sequence[str], until: pl.DataFrame, before: pl.DataFrame
) -> pl.DataFrame:
    joined = keys.join(until, on=key, how="left", maintain_order="left").join(
        before, on=key, how="left", suffix="_before", maintain_order="left"
    )
    return joined.select(
        key,
        *((pl.col(name).fill_null(0) - pl.col(f"{name}_before").fill_null(0)).alias(name) for name in counters),
    )
