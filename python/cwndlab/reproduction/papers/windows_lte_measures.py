"""What is measured of the runs of the Windows study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.cases import kept_as
from cwndlab.reproduction.papers.window_growth import measure_cubic, window_over_time

if TYPE_CHECKING:
    from cwndlab.records import Records

__all__ = [
    "measure_cubic",
    "measure_download",
    "measure_fairness",
    "measure_neighbours",
    "measure_overload",
    "measure_start",
    "throughput_over_time",
    "window_over_time",
]

#: A packet of a full segment, with its headers.
_PACKET_BYTES = 1500


@kept_as("cwndlab.reproduction.windows_lte.path.measure")
def measure_download(records: Records) -> dict[str, float | None]:
    """Throughput from the flow's start on, also as a share of the payload that the LTE line could have carried since
    then, and that line's use; what its queue held and dropped; timeouts, the mean RTT."""
    lte = records.links.filter(records.links["name"] == "lte").row(0, named=True)
    flow = records.flows.row(0, named=True)
    start_s = flow["start_ns"] / 1e9
    span_s = float(records.rows("runs")[0]["duration_ns"]) / 1e9 - start_s
    used = metrics.utilisation(records, start_s=start_s)
    use = float(used.filter(used["link"] == "lte")["utilisation"][0])
    sent_bps = float(lte["sent_bytes"]) * 8 / span_s
    goodput_bps = float(metrics.goodput(records)["goodput_bps"][0])
    return {
        "goodput_bps": goodput_bps,
        "delivered_share": use * goodput_bps / (sent_bps * flow["mss_bytes"] / _PACKET_BYTES),
        "lte_queue_packets": float(lte["mean_queue_packets"]),
        "lte_drops": float(lte["dropped_packets"]),
        "lte_utilisation": use,
        "losses": float(flow["wire_losses"]),
        "timeouts": float(flow["timeouts"]),
        "recoveries": float(flow["recoveries"]),
        "mean_rtt_ms": flow["mean_rtt_ns"] / 1e6 if flow["mean_rtt_ns"] else None,
    }


def throughput_over_time(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Throughput over time, in Mbit/s."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    flows = metrics.flows_over_time(records, window_s=duration / 120, start_s=0.0)
    return {"goodput": (flows["time_s"].to_list(), (flows["goodput_bps"] / 1e6).to_list())}


@kept_as("cwndlab.reproduction.windows_lte.others.measure_overload")
def measure_overload(records: Records) -> dict[str, float | None]:
    """The share of packets that the router drops, and its mean queue over its capacity."""
    loss = metrics.loss(records, start_s=0.0).row(0, named=True)
    return {
        "loss_ratio": loss["loss_ratio"],
        "queue_packets": float(metrics.queue(records, start_s=0.0)["queue_packets"][0]),
    }


@kept_as("cwndlab.reproduction.windows_lte.others.measure_fairness")
def measure_fairness(records: Records) -> dict[str, float | None]:
    """Jain's index of both flows, the long flow's share, the line's use, the mean RTT of both."""
    rates = metrics.goodput(records)["goodput_bps"].to_list()
    return {
        "jain": metrics.jain(rates),
        "share": rates[0] / sum(rates),
        "utilisation": float(metrics.utilisation(records)["utilisation"][0]),
    }


def measure_neighbours(records: Records) -> dict[str, float | None]:
    """Goodput and mean RTT of the download; of its access point the share of the transmissions without a response, and
    the share of the time in which it receives or senses others."""
    flow = records.flows.row(0, named=True)
    seconds = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    last = records.stations.filter(pl.col("station") == "ap").sort("time_ns").row(-1, named=True)
    others = last["overheard_ns"] + last["energy_ns"]
    return {
        "goodput_bps": float(flow["delivered_bytes"]) * 8 / seconds,
        "mean_rtt_ms": flow["mean_rtt_ns"] / 1e6 if flow["mean_rtt_ns"] else None,
        "failures": last["failures"] / last["attempts"] if last["attempts"] else None,
        "busy": others / 1e9 / seconds,
    }


@kept_as("cwndlab.reproduction.windows_lte.preflight.measure")
def measure_start(records: Records) -> dict[str, float | None]:
    """Segments of the first flight, and the smallest and the mean RTT."""
    data = records.packets.filter((pl.col("kind") == 0) & (pl.col("link") == pl.col("link").min()))
    flow = records.flows.row(0, named=True)
    start = data["sent_ns"].min()
    flight = data.filter(pl.col("sent_ns") < start + flow["base_rtt_ns"] // 2)
    return {
        "first_flight_segments": float(len(flight)),
        "min_rtt_ms": flow["min_rtt_ns"] / 1e6,
        "mean_rtt_ms": flow["mean_rtt_ns"] / 1e6,
    }
