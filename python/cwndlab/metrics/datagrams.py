"""One-way delay, jitter and loss of flows over UDP (RFC 3550, sections 6.4.1 and A.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval
from cwndlab.metrics.core import Metric, by_flow

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Percentiles of the one-way delay.
PERCENTILES = (50, 95, 99)

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
        their number; ``p50_one_way_delay_ms``, ``p95_one_way_delay_ms``, ``p99_one_way_delay_ms`` = percentiles over
        the sampling instants, up to the flow's last arrival, of the latest packet's delay; ``jitter_ms`` = mean over
        these of the interarrival jitter J, which every arrival moves by (abs(D) − J) / 16, where D is the difference of
        the transit times of two packets in the order of their arrival (RFC 3550, section 6.4.1);
        ``datagram_loss_ratio`` = packets
        dropped by queues or lost by wires / (these + packets received), so that packets in flight do not count as
        lost. Null where nothing arrived; in a run without samples percentiles are null, and the loss of packets of
        different sizes is.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario.workloads import Cbr
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> call = cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="1 Mbit/s"), name="call")
    >>> records = cwndlab.run(cwndlab.Scenario(duration="2 s", dumbbell=path, flows=[call]), seed=1)
    >>> row = cwndlab.metrics.datagrams(records).row(0, named=True)
    >>> row["name"], round(row["p95_one_way_delay_ms"], 1), row["datagram_loss_ratio"]
    ('call', 21.2, 0.0)
    """
    span = interval.bounds(records, start_s, end_s)
    # Not `export.wire.is_udp`: the metrics of a hosted stack are those of flows with a congestion control.
    flows = records.flows.filter(pl.col("profile") == "udp")
    if len(flows) == 0 or len(records.samples) == 0:
        lost = pl.col("queue_drops") + pl.col("wire_losses")
        # Totals have no count of arrivals; of packets of one size the bytes that arrived tell it.
        arrived = pl.when(pl.col("sent_bytes") == pl.col("sent_packets") * pl.col("mss_bytes")).then(
            pl.col("delivered_bytes") / pl.col("mss_bytes")
        )
        return flows.select(
            "flow",
            "name",
            "algorithm",
            (pl.col("mean_delay_ns") / 1e6).alias("one_way_delay_ms"),
            *(pl.lit(None, pl.Float64).alias(f"p{p}_one_way_delay_ms") for p in PERCENTILES),
            (pl.col("jitter_ns") / 1e6).alias("jitter_ms"),
            pl.when(arrived + lost > 0).then(lost / (arrived + lost)).alias("datagram_loss_ratio"),
        )
    time = pl.col("time_ns")
    # Later samples repeat the delay of the last packet.
    arrives = pl.col("delay_count").shift(1).fill_null(0) < pl.col("delay_count").last()
    delay, jitter = (pl.col(name).filter("arrives") for name in ("delay_ns", "jitter_ns"))
    until = (
        records.samples.with_columns(arrives.over("flow").alias("arrives"))
        .filter((time > span.start_ns) & (time <= span.end_ns))
        .group_by("flow", maintain_order=True)
        .agg(
            pl.col(*_COUNTERS).last(),
            *((delay.quantile(p / 100, "linear") / 1e6).alias(f"p{p}_one_way_delay_ms") for p in PERCENTILES),
            # Until two packets have arrived there is no difference to learn from.
            jitter.filter(pl.col("delay_count").filter("arrives") > 1).mean().alias("jitter_mean_ns"),
        )
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
        *(pl.when(received > 0).then(pl.col(f"p{p}_one_way_delay_ms")).name.keep() for p in PERCENTILES),
        pl.when(received > 0).then(pl.col("jitter_mean_ns") / 1e6).alias("jitter_ms"),
        pl.when(received + lost > 0).then(lost / (received + lost)).alias("datagram_loss_ratio"),
    )


def _metric(name: str, title: str, formula: str, unit: str = "ms", factor: float = 1.0) -> Metric:
    source = "RFC 3550, section 6.4.1" if name == "jitter_ms" else ""
    flows = by_flow(datagrams, name)
    return Metric(name, f"{title} of UDP", unit, factor, direction=-1, formula=formula, source=source, flows=flows)


DATAGRAMS = (
    _metric("one_way_delay_ms", "one-way delay", "Mean of the delays from sending to arrival"),
    *(_metric(f"p{p}_one_way_delay_ms", f"p{p} delay", f"Percentile {p} over time of the delays") for p in PERCENTILES),
    _metric("jitter_ms", "jitter", "Mean of the interarrival jitter J at the sampling instants"),
    _metric("datagram_loss_ratio", "loss", "Packets lost / (packets lost + packets received)", "%", 100.0),
)
