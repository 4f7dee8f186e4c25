"""The metrics of a run side by side: one row per flow, one per bottleneck, and one number each for comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cwndlab.metrics.completion import completion, total_completion
from cwndlab.metrics.convergence import convergence
from cwndlab.metrics.cwnd import cwnd
from cwndlab.metrics.fairness import fairness
from cwndlab.metrics.goodput import goodput, total_goodput
from cwndlab.metrics.loss import loss
from cwndlab.metrics.queue import queue
from cwndlab.metrics.rtt import rtt
from cwndlab.metrics.throughput import throughput
from cwndlab.metrics.timeouts import timeouts
from cwndlab.metrics.utilisation import utilisation

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


class Column(NamedTuple):
    """How a metric is shown: its title, its unit, and the factor that leads from the column's unit to it.
    ``direction`` is 1 where more of it is wanted, −1 where less, 0 where neither."""

    title: str
    unit: str
    factor: float
    direction: int = 0

    @property
    def heading(self) -> str:
        """Title and unit in one line."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


#: What `summary` answers, and `per_flow` and `per_link` beside it.
COLUMNS: dict[str, Column] = {
    "goodput_bps": Column("goodput", "Mbit/s", 1e-6, 1),
    "sent_goodput_bps": Column("sent − retransmitted", "Mbit/s", 1e-6, 1),
    "throughput_bps": Column("throughput", "Mbit/s", 1e-6),
    "utilisation": Column("utilisation", "%", 100.0, 1),
    "drops_per_s": Column("drops", "1/s", 1.0, -1),
    "loss_ratio": Column("loss ratio", "%", 100.0, -1),
    "jain": Column("Jain index", "", 1.0, 1),
    "queue_ms": Column("queue", "ms", 1.0, -1),
    "queue_packets": Column("queue", "packets", 1.0, -1),
    "mean_rtt_ms": Column("RTT", "ms", 1.0, -1),
    "srtt_ms": Column("smoothed RTT", "ms", 1.0, -1),
    "min_rtt_ms": Column("smallest RTT", "ms", 1.0),
    "mean_cwnd_segments": Column("cwnd", "segments", 1.0),
    "congestion_events": Column("congestion events", "", 1.0),
    "retransmitted_packets": Column("resent", "packets", 1.0, -1),
    "timeouts": Column("timeouts", "", 1.0, -1),
    "convergence_s": Column("convergence", "s", 1.0, -1),
    "mean_completion_s": Column("completion", "s", 1.0, -1),
    "p95_completion_s": Column("completion, 95th percentile", "s", 1.0, -1),
}


def per_flow(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row per flow: `goodput`, `throughput`, `rtt`, `cwnd`, `timeouts`, and `completion` where there are
    transfers."""
    tables = [metric(records, start_s=start_s, end_s=end_s) for metric in (goodput, throughput, rtt, cwnd, timeouts)]
    times = completion(records, start_s=start_s, end_s=end_s)
    if len(times):
        tables.append(times)
    found, *others = tables
    for other in others:
        found = found.join(other.drop("name", "algorithm"), on="flow", how="left", maintain_order="left")
    return found


def per_link(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row per bottleneck, the first one first: `utilisation`, `queue`, `loss`."""
    found, *others = (metric(records, start_s=start_s, end_s=end_s) for metric in (utilisation, queue, loss))
    for other in others:
        found = found.join(other, on="link", maintain_order="left")
    return found


def summary(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> dict[str, float | None]:
    """One number per metric: goodput and completion of all flows together; sums over flows of throughput, timeouts,
    retransmissions, congestion events; means over flows of RTT and window; the first bottleneck's values.

    Null where there is none.
    """
    at = {"start_s": start_s, "end_s": end_s}
    flows, links, total = per_flow(records, **at), per_link(records, **at), total_goodput(records, **at)
    times = total_completion(records, **at)
    found: dict[str, object] = {
        "goodput_bps": total["goodput_bps"][0],
        "sent_goodput_bps": total["sent_goodput_bps"][0],
        "throughput_bps": flows["throughput_bps"].sum(),
        "jain": fairness(records, start_s=start_s, end_s=end_s)["jain"][0],
        "convergence_s": convergence(records, **at)["convergence_s"][0],
        "mean_completion_s": times["mean_completion_s"][0],
        "p95_completion_s": times["p95_completion_s"][0],
    }
    for name in ("utilisation", "drops_per_s", "loss_ratio", "queue_ms", "queue_packets"):
        found[name] = links[name][0] if len(links) else None
    for name in ("mean_rtt_ms", "srtt_ms", "min_rtt_ms", "mean_cwnd_segments"):
        found[name] = flows[name].mean()
    for name in ("congestion_events", "retransmitted_packets", "timeouts"):
        found[name] = flows[name].sum()
    return {name: _float(found[name]) for name in COLUMNS}


def _float(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]
