"""The metrics of a run side by side: one row per flow, one per bottleneck, and one number each for comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cwndlab.metrics.completion import completion
from cwndlab.metrics.cwnd import cwnd
from cwndlab.metrics.goodput import goodput
from cwndlab.metrics.loss import loss
from cwndlab.metrics.numbers import numbers
from cwndlab.metrics.queue import queue
from cwndlab.metrics.rtt import rtt
from cwndlab.metrics.throughput import throughput
from cwndlab.metrics.timeouts import timeouts
from cwndlab.metrics.utilisation import utilisation

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


class Column(NamedTuple):
    """How a metric is shown: its title, its unit, and the factor that leads from the column's unit to it."""

    title: str
    unit: str
    factor: float

    @property
    def heading(self) -> str:
        """Title and unit in one line."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


#: What `summary` answers, and `per_flow` and `per_link` beside it.
COLUMNS: dict[str, Column] = {
    "goodput_bps": Column("goodput", "Mbit/s", 1e-6),
    "sent_goodput_bps": Column("sent − retransmitted", "Mbit/s", 1e-6),
    "throughput_bps": Column("throughput", "Mbit/s", 1e-6),
    "utilisation": Column("utilisation", "%", 100.0),
    "drops_per_s": Column("drops", "1/s", 1.0),
    "loss_ratio": Column("loss ratio", "%", 100.0),
    "jain": Column("Jain index", "", 1.0),
    "queue_ms": Column("queue", "ms", 1.0),
    "queue_packets": Column("queue", "packets", 1.0),
    "mean_rtt_ms": Column("RTT", "ms", 1.0),
    "srtt_ms": Column("smoothed RTT", "ms", 1.0),
    "min_rtt_ms": Column("smallest RTT", "ms", 1.0),
    "mean_cwnd_segments": Column("cwnd", "segments", 1.0),
    "congestion_events": Column("congestion events", "", 1.0),
    "retransmitted_packets": Column("resent", "packets", 1.0),
    "timeouts": Column("timeouts", "", 1.0),
    "convergence_s": Column("convergence", "s", 1.0),
    "mean_completion_s": Column("completion", "s", 1.0),
    "p95_completion_s": Column("completion, 95th percentile", "s", 1.0),
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
    found = numbers(records, start_s=start_s, end_s=end_s)
    return {name: found[name] for name in COLUMNS}
