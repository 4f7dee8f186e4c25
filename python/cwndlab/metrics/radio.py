"""What an 802.11 station lost, and why: on the air, or in its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.interval import bounds

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records

_CAUSES = {"hidden": "hidden_failures", "same_slot": "same_slot_failures", "noise": "noise_failures"}
_COUNTERS = (
    *("attempts", "failures", "given_up_packets", "sent_packets", "dropped_packets", "airtime_ns", "queue_packet_ns"),
    *_CAUSES.values(),
    *("overheard_ns", "energy_ns"),
)


def radio(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per station of a medium with a channel: what the air lost and what the queue lost.

    Returns
    -------
    polars.DataFrame
        ``medium``, ``station``, ``sent_packets``; ``failed``, the share of transmissions without a response, and its
        parts by cause: ``hidden`` (a frame that began before or after, of a station that was not heard),
        ``same_slot`` (a station that was heard began at the same time), ``noise``; ``lost_on_air`` and
        ``lost_in_queue``, shares of the packets; ``lost_by_radio``, the part of all lost packets that was lost on the
        air; ``wait_ms``, the mean time in queue and contention; ``radio_ms``, the part of it that an empty queue would
        leave: the airtime of an exchange with its repetitions, longer by the time in which others held the channel;
        ``air_ms``, the airtime per packet; ``others``, the share of the time in which the station sensed others. Values
        are between the samples next to the interval.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("hidden").with_({"duration": "2 s"}), seed=1)
    >>> found = cwndlab.metrics.radio(records)
    >>> found["station"].to_list(), found["hidden"].max() > found["noise"].max()
    (['ap', 'west', 'east'], True)
    """
    import polars as pl

    span = bounds(records, start_s, end_s)
    rows = records.stations.filter(pl.col("hidden_failures").is_not_null()).sort("time_ns")
    if rows.is_empty():
        return pl.DataFrame(schema={"medium": pl.String, "station": pl.String})
    inside = rows.filter(pl.col("time_ns").is_between(span.start_ns, span.end_ns))
    # No sample is taken at the start of a run, where all counters are zero.
    before = [pl.col(name).first() if span.start_ns else pl.lit(0) for name in _COUNTERS]
    counted = inside.group_by("medium", "station", maintain_order=True).agg(
        *(pl.col(name).last() - first for name, first in zip(_COUNTERS, before, strict=True)),
        span_ns=pl.col("time_ns").last() - span.start_ns,
    )
    carried = pl.col("sent_packets") + pl.col("given_up_packets")
    shares = [_ratio(pl.col(column), pl.col("attempts"), name) for name, column in _CAUSES.items()]
    return counted.select(
        "medium",
        "station",
        "sent_packets",
        _ratio(pl.col("failures"), pl.col("attempts"), "failed"),
        *shares,
        _ratio(pl.col("given_up_packets"), carried, "lost_on_air"),
        _ratio(pl.col("dropped_packets"), carried + pl.col("dropped_packets"), "lost_in_queue"),
        _ratio(pl.col("given_up_packets"), pl.col("given_up_packets") + pl.col("dropped_packets"), "lost_by_radio"),
        _ratio(pl.col("queue_packet_ns") / 1e6, carried, "wait_ms"),
        _radio_ms(),
        _ratio(pl.col("airtime_ns") / 1e6, carried, "air_ms"),
        _ratio(pl.col("overheard_ns") + pl.col("energy_ns"), pl.col("span_ns"), "others"),
    )


def _radio_ms() -> pl.Expr:
    """The mean airtime of an exchange until it succeeds, over the share of the time in which others left the channel,
    and at most the wait. It overestimates where a station senses others that do not delay it."""
    import polars as pl

    done = pl.col("attempts") - pl.col("failures")
    free = 1 - (pl.col("overheard_ns") + pl.col("energy_ns")) / pl.col("span_ns")
    carried = pl.col("sent_packets") + pl.col("given_up_packets")
    exchange = pl.col("airtime_ns") / done / free / 1e6
    wait = pl.col("queue_packet_ns") / carried / 1e6
    known = (done > 0) & (carried > 0) & (free > 0)
    return pl.when(known).then(pl.min_horizontal(exchange, wait)).alias("radio_ms")


def _ratio(part: pl.Expr, whole: pl.Expr, name: str) -> pl.Expr:
    import polars as pl

    return pl.when(whole > 0).then(part / whole).alias(name)
