"""What is measured of the CUBIC study's shared links. Alone in its file, since kept runs hang on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import metrics

if TYPE_CHECKING:
    from cwndlab.records import Records


def forward(records: Records) -> list[str]:
    """Names of the flows that are measured."""
    return [name for name in records.flows["name"].to_list() if name.startswith("forward")]


def measure_goodput(records: Records) -> dict[str, float | None]:
    """Goodput of the forward flows together, as delivered and as the papers define it, over the bottleneck's rate; mean
    queueing delay both ways."""
    flows = metrics.goodput(records).filter(records.flows["name"].is_in(forward(records)))
    rate = float(records.links["rate_bps"][0])
    queues = metrics.queue(records)
    ways = {name: queues.filter(queues["link"] == name) for name in ("bottleneck", "bottleneck-reverse")}
    delays = {name: float(table["queue_ms"][0]) if len(table) else None for name, table in ways.items()}
    return {
        "goodput_share": float(flows["sent_goodput_bps"].sum()) / rate,
        "delivered_share": float(flows["goodput_bps"].sum()) / rate,
        "queue_ms": delays["bottleneck"],
        "reverse_queue_ms": delays["bottleneck-reverse"],
        "timeouts": float(records.flows.filter(records.flows["name"].is_in(forward(records)))["timeouts"].sum()),
    }


def measure_fairness(records: Records) -> dict[str, float | None]:
    """Jain's index of the forward flows' goodputs over the whole run, and the bottleneck's use."""
    return {
        "jain": metrics.fairness(records, flows=forward(records))["jain"][0],
        "utilisation": float(metrics.utilisation(records)["utilisation"][0]),
        "loss_ratio": float(metrics.loss(records)["loss_ratio"][0]),
    }


def trace_fairness(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Goodput of each forward flow over its base RTT."""
    names = forward(records)
    flows = records.flows.filter(records.flows["name"].is_in(names))
    rates = metrics.goodput(records).filter(records.flows["name"].is_in(names))
    return {"goodput": ((flows["base_rtt_ns"] / 1e6).to_list(), (rates["goodput_bps"] / 1e6).to_list())}
