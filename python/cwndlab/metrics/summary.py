"""All metrics of a run that are one number, in one row: what comparisons gather."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.convergence import convergence
from cwndlab.metrics.cwnd import cwnd
from cwndlab.metrics.fairness import fairness
from cwndlab.metrics.goodput import goodput
from cwndlab.metrics.loss import loss
from cwndlab.metrics.queue import queue
from cwndlab.metrics.rtt import rtt
from cwndlab.metrics.timeouts import timeouts
from cwndlab.metrics.utilisation import utilisation

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Column, title, unit, factor from the column's unit to the printed one, and whether more is what users look for.
COLUMNS: dict[str, tuple[str, str, float]] = {
    "goodput_bps": ("goodput", "Mbit/s", 1e-6),
    "sent_goodput_bps": ("sent − retransmitted", "Mbit/s", 1e-6),
    "utilisation": ("utilisation", "%", 100.0),
    "drops_per_s": ("drops", "1/s", 1.0),
    "loss_ratio": ("loss ratio", "%", 100.0),
    "jain": ("Jain index", "", 1.0),
    "queue_ms": ("queue", "ms", 1.0),
    "queue_packets": ("queue", "packets", 1.0),
    "mean_rtt_ms": ("RTT", "ms", 1.0),
    "mean_cwnd_segments": ("cwnd", "segments", 1.0),
    "congestion_events": ("congestion events", "", 1.0),
    "retransmitted_packets": ("retransmissions", "packets", 1.0),
    "timeouts": ("timeouts", "", 1.0),
    "convergence_s": ("convergence", "s", 1.0),
}


def summary(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> dict[str, float | None]:
    """One number per metric: sums over flows (goodput, events), means over flows (RTT, window), the bottleneck's
    values."""
    at = {"start_s": start_s, "end_s": end_s}
    flows, events, lost, waiting = (
        goodput(records, **at),
        timeouts(records, **at),
        loss(records, **at),
        queue(records, **at),
    )
    return {
        "goodput_bps": _float(flows["goodput_bps"].sum()),
        "sent_goodput_bps": _float(flows["sent_goodput_bps"].sum()),
        "utilisation": _float(utilisation(records, **at)["utilisation"][0]),
        "drops_per_s": _float(lost["drops_per_s"][0]),
        "loss_ratio": _float(lost["loss_ratio"][0]),
        "jain": _float(fairness(records, **at)["jain"][0]),
        "queue_ms": _float(waiting["queue_ms"][0]),
        "queue_packets": _float(waiting["queue_packets"][0]),
        "mean_rtt_ms": _float(rtt(records, **at)["mean_rtt_ms"].mean()),
        "mean_cwnd_segments": _float(cwnd(records, **at)["mean_cwnd_segments"].mean()),
        "congestion_events": _float(events["congestion_events"].sum()),
        "retransmitted_packets": _float(events["retransmitted_packets"].sum()),
        "timeouts": _float(events["timeouts"].sum()),
        "convergence_s": _float(convergence(records, **at)["convergence_s"][0]),
    }


def _float(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]
