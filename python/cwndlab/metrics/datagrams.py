"""One-way delay, jitter and loss of flows over UDP (RFC 3550, sections 6.4.1 and A.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records

_COUNTERS = ("delay_sum_ns", "delay_count", "queue_drops", "wire_losses")


def datagrams(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Delay, jitter and loss of each flow over UDP.

    Parameters
    ----------
    records
        A run.
    start_s, end_s
        The interval, in seconds of the run's clock. Counters end with its last sampling instant. A run without samples
        has the values of each flow's whole life.

    Returns
    -------
    polars.DataFrame
        A row per flow over UDP: ``one_way_delay_ms`` = sum of the delays from sending to arrival, queues included, /
        their number; ``jitter_ms`` = mean over the sampling instants of the interarrival jitter J, which every arrival
        moves by (|D| − J) / 16, where D is the difference of the transit times of two packets in the order of their
        arrival (RFC 3550, section 6.4.1); ``datagram_loss_ratio`` = packets dropped by queues or lost by wires / (these
        + packets received), so that packets in flight do not count as lost. Null where nothing arrived.
    """
    span = interval.bounds(records, start_s, end_s)
    flows = records.flows.filter(pl.col("profile") == "udp")
    if len(flows) == 0 or len(records.samples) == 0:
        lost = pl.col("queue_drops") + pl.col("wire_losses")
        return flows.select(
            "flow",
            "name",
            "algorithm",
            (pl.col("mean_delay_ns") / 1e6).alias("one_way_delay_ms"),
            (pl.col("jitter_ns") / 1e6).alias("jitter_ms"),
            pl.when(pl.col("sent_packets") > 0).then(lost / pl.col("sent_packets")).alias("datagram_loss_ratio"),
        )
    time = pl.col("time_ns")
    inside = records.samples.filter((time > span.start_ns) & (time <= span.end_ns))
    until = inside.group_by("flow", maintain_order=True).agg(
        pl.col(*_COUNTERS).last(),
        # Until two packets have arrived there is no difference to learn from.
        pl.col("jitter_ns").filter(pl.col("delay_count") > 1).mean().alias("jitter_mean_ns"),
    )
    before = records.samples.filter(time == span.start_ns).select("flow", *_COUNTERS)
    joined = (
        flows.select("flow", "name", "algorithm")
        .join(until, on="flow", how="left", maintain_order="left")
        .join(before, on="flow", how="left", suffix="_before", maintain_order="left")
    )
    gained = {name: pl.col(name) - pl.col(f"{name}_before").fill_null(0) for name in _COUNTERS}
    received, lost = gained["delay_count"], gained["queue_drops"] + gained["wire_losses"]
    return joined.select(
        "flow",
        "name",
        "algorithm",
        pl.when(received > 0).then(gained["delay_sum_ns"] / received / 1e6).alias("one_way_delay_ms"),
        (pl.col("jitter_mean_ns") / 1e6).alias("jitter_ms"),
        pl.when(received + lost > 0).then(lost / (received + lost)).alias("datagram_loss_ratio"),
    )
