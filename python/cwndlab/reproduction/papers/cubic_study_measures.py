"""What is measured of the runs of the CUBIC study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.reproduction.cases import kept_as
from cwndlab.reproduction.papers.window_growth import measure_bic, measure_cubic, window_over_time

if TYPE_CHECKING:
    from cwndlab.records import Records

__all__ = [
    "goodput_over_rtt",
    "measure_bic",
    "measure_cell",
    "measure_cubic",
    "measure_fairness",
    "measure_goodput",
    "window_over_time",
]

#: Of the air.
_RATE_BPS = 54e6


def _forward(records: Records) -> list[str]:
    """Names of the flows that are measured."""
    return [name for name in records.flows["name"].to_list() if name.startswith("forward")]


@kept_as("cwndlab.reproduction.cubic_study.measures.measure_goodput")
def measure_goodput(records: Records) -> dict[str, float | None]:
    """Goodput of the forward flows together, as delivered and as the papers define it, over the bottleneck's rate; mean
    queueing delay both ways."""
    flows = metrics.goodput(records).filter(records.flows["name"].is_in(_forward(records)))
    rate = float(records.links["rate_bps"][0])
    queues = metrics.queue(records)
    ways = {name: queues.filter(queues["link"] == name) for name in ("bottleneck", "bottleneck-reverse")}
    delays = {name: float(table["queue_ms"][0]) if len(table) else None for name, table in ways.items()}
    return {
        "goodput_share": float(flows["sent_goodput_bps"].sum()) / rate,
        "delivered_share": float(flows["goodput_bps"].sum()) / rate,
        "queue_ms": delays["bottleneck"],
        "reverse_queue_ms": delays["bottleneck-reverse"],
        "timeouts": float(records.flows.filter(records.flows["name"].is_in(_forward(records)))["timeouts"].sum()),
    }


@kept_as("cwndlab.reproduction.cubic_study.measures.measure_fairness")
def measure_fairness(records: Records) -> dict[str, float | None]:
    """Jain's index of the forward flows' goodputs over the whole run, and the bottleneck's use."""
    return {
        "jain": metrics.fairness(records, flows=_forward(records))["jain"][0],
        "utilisation": float(metrics.utilisation(records)["utilisation"][0]),
        "loss_ratio": float(metrics.loss(records)["loss_ratio"][0]),
    }


def goodput_over_rtt(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Goodput of each forward flow over its base RTT."""
    names = _forward(records)
    flows = records.flows.filter(records.flows["name"].is_in(names))
    rates = metrics.goodput(records).filter(records.flows["name"].is_in(names))
    return {"goodput": ((flows["base_rtt_ns"] / 1e6).to_list(), (rates["goodput_bps"] / 1e6).to_list())}


@kept_as("cwndlab.reproduction.cubic_study.wireless.measure")
def measure_cell(records: Records) -> dict[str, float | None]:
    """Goodput of the downloads together over the rate of the air, as the papers define it and as delivered, and Jain's
    index of theirs."""
    names = [name for name in records.flows["name"].to_list() if name.startswith("down")]
    flows = metrics.goodput(records).filter(records.flows["name"].is_in(names))
    uploads = metrics.goodput(records).filter(~records.flows["name"].is_in(names))
    chosen = records.flows.filter(records.flows["name"].is_in(names))
    return {
        "goodput_share": float(flows["sent_goodput_bps"].sum()) / _RATE_BPS,
        "delivered_share": float(flows["goodput_bps"].sum()) / _RATE_BPS,
        "upload_share": float(uploads["goodput_bps"].sum()) / _RATE_BPS,
        "goodput_per_user": float(flows["sent_goodput_bps"].sum()) / _RATE_BPS / len(names),
        "jain": metrics.jain(flows["goodput_bps"].drop_nulls().to_list()),
        "timeouts": float(chosen["timeouts"].sum()) / len(names),
        "retransmitted_ratio": float(chosen["retransmitted_packets"].sum()) / max(1, int(chosen["sent_packets"].sum())),
    }
