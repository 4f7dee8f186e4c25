"""The metrics of a run side by side: one row per flow, one per bottleneck, and one number each for comparisons."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.metrics.aggressiveness import aggressiveness
from cwndlab.metrics.completion import completion, completion_by_size
from cwndlab.metrics.cwnd import cwnd
from cwndlab.metrics.datagrams import NAMES as DATAGRAM_NAMES
from cwndlab.metrics.datagrams import datagrams
from cwndlab.metrics.delta_fairness import delta_fairness
from cwndlab.metrics.fill import fill
from cwndlab.metrics.goodput import goodput
from cwndlab.metrics.load_latency import load_latency
from cwndlab.metrics.loss import loss
from cwndlab.metrics.numbers import NAMES, numbers
from cwndlab.metrics.of_flow import NAMES as FLOW_NAMES
from cwndlab.metrics.of_flow import of_flow, parse
from cwndlab.metrics.oscillation import oscillation
from cwndlab.metrics.power import power
from cwndlab.metrics.queue import queue
from cwndlab.metrics.queueing_delay import queueing_delay
from cwndlab.metrics.responsiveness import responsiveness
from cwndlab.metrics.rtt import rtt
from cwndlab.metrics.rtt_fairness import rtt_fairness
from cwndlab.metrics.sharing import share
from cwndlab.metrics.smoothness import smoothness
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


class Columns(dict[str, Column]):
    """How each metric is shown, by its name. ``METRIC@FLOW``, a metric of one flow (`cwndlab.metrics.of_flow`), is in
    it for any flow, and in none of its lists."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and parse(name) is not None)

    def __missing__(self, name: str) -> Column:
        one = parse(name)
        if one is None:
            raise KeyError(name)
        base = FLOW_COLUMNS.get(one.metric) or self[one.metric]
        # More for one flow is less for another.
        direction = 0 if one.metric in _ZERO_SUM else base.direction
        flow = f"flow {one.flow}" if one.flow.isdecimal() else one.flow
        return base._replace(title=f"{base.title.removesuffix(' of UDP')} of {flow}", direction=direction)


_ZERO_SUM = ("goodput_bps", "sent_goodput_bps", "throughput_bps", "share")

#: What only single flows have.
FLOW_COLUMNS = {"share": Column("share", "%", 100.0)}

#: What `summary` answers, and `per_flow` and `per_link` beside it.
COLUMNS: Columns = Columns(
    {
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
        "min_rtt_ms": Column("minimum RTT", "ms", 1.0),
        "mean_cwnd_segments": Column("cwnd", "segments", 1.0),
        "congestion_events": Column("congestion events", "", 1.0),
        "retransmitted_packets": Column("resent", "packets", 1.0, -1),
        "timeouts": Column("timeouts", "", 1.0, -1),
        "convergence_s": Column("convergence", "s", 1.0, -1),
        "mean_completion_s": Column("completion", "s", 1.0, -1),
        "p95_completion_s": Column("completion, 95th percentile", "s", 1.0, -1),
        "median_completion_s": Column("completion, median", "s", 1.0, -1),
        "p99_completion_s": Column("completion, 99th percentile", "s", 1.0, -1),
        "p95_short_completion_s": Column("completion to 100 kB, 95th percentile", "s", 1.0, -1),
        "p95_medium_completion_s": Column("completion to 10 MB, 95th percentile", "s", 1.0, -1),
        "p95_long_completion_s": Column("completion over 10 MB, 95th percentile", "s", 1.0, -1),
        "p50_queue_ms": Column("queue, median", "ms", 1.0, -1),
        "p95_queue_ms": Column("queue, 95th percentile", "ms", 1.0, -1),
        "p99_queue_ms": Column("queue, 99th percentile", "ms", 1.0, -1),
        "load_latency_ms": Column("latency under load", "ms", 1.0, -1),
        "responsiveness_rpm": Column("responsiveness under load", "1/min", 1.0, 1),
        "power": Column("power", "", 1.0, 1),
        "time_to_full_utilisation_s": Column("time to full utilisation", "s", 1.0, -1),
        "delta_fair_s": Column("δ-fair convergence", "s", 1.0, -1),
        "rtt_exponent": Column("RTT exponent", "", 1.0),
        "aggressiveness_segments": Column("aggressiveness", "segments/RTT", 1.0),
        "halving_rtts": Column("responsiveness", "RTTs", 1.0),
        "largest_cut": Column("largest cut in an RTT", "%", 100.0, -1),
        "cov_1s": Column("variation over 1 s", "%", 100.0, -1),
        "cov_10s": Column("variation over 10 s", "%", 100.0, -1),
        "one_way_delay_ms": Column("one-way delay of UDP", "ms", 1.0, -1),
        "p50_one_way_delay_ms": Column("p50 delay of UDP", "ms", 1.0, -1),
        "p95_one_way_delay_ms": Column("p95 delay of UDP", "ms", 1.0, -1),
        "p99_one_way_delay_ms": Column("p99 delay of UDP", "ms", 1.0, -1),
        "jitter_ms": Column("jitter of UDP", "ms", 1.0, -1),
        "datagram_loss_ratio": Column("loss of UDP", "%", 100.0, -1),
    }
)


def per_flow(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row per flow: `goodput`, `share`, `throughput`, `rtt`, `cwnd`, `timeouts`; `datagrams` where there are flows
    over UDP, and `completion` where there are transfers.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> table = cwndlab.metrics.per_flow(records)
    >>> table.select("name", "retransmitted_packets", "timeouts").rows()
    [('flow0', 573, 0), ('flow1', 155, 0)]
    """
    metrics = (goodput, share, throughput, rtt, cwnd, timeouts)
    tables = [metric(records, start_s=start_s, end_s=end_s) for metric in metrics]
    tables += [
        table for metric in (datagrams, completion) if len(table := metric(records, start_s=start_s, end_s=end_s))
    ]
    found, *others = tables
    for other in others:
        found = found.join(other.drop("name", "algorithm"), on="flow", how="left", maintain_order="left")
    return found


def per_link(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row per bottleneck, the first one first: `utilisation`, `queue`, `loss`.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> table = cwndlab.metrics.per_link(records)
    >>> table.select("link", "drops").row(0)
    ('bottleneck', 235)
    """
    found, *others = (metric(records, start_s=start_s, end_s=end_s) for metric in (utilisation, queue, loss))
    for other in others:
        found = found.join(other, on="link", maintain_order="left")
    return found


def summary(
    records: Records,
    *,
    only: Collection[str] | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> dict[str, float | None]:
    """One number per metric of `COLUMNS`, or of ``only``, which computes no others: goodput, throughput and completion
    of all flows together; sums over flows of timeouts, retransmissions, congestion events; the minimum of the flows'
    minimum RTTs; means over flows of what else a flow has; the first bottleneck's values.

    ``only`` may name metrics of single flows, ``METRIC@FLOW`` (`cwndlab.metrics.of_flow`). Null where there is none.
    Raises ``KeyError`` for a name that is not a metric.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> values = cwndlab.metrics.summary(records, only=["utilisation", "timeouts"])
    >>> round(values["utilisation"], 2), values["timeouts"]
    (0.93, 0.0)
    """
    names = list(COLUMNS if only is None else only)
    at = {"start_s": start_s, "end_s": end_s}
    single = [name for name in names if parse(name)]
    found: dict[str, object] = dict(of_flow(records, single, **at)) if single else {}
    for name in names:
        if name not in found:
            found |= _SOURCES[name](records, at)
    return {name: _float(found[name]) for name in names}


_At = dict[str, float | None]
_Source = Callable[["Records", _At], dict[str, object]]


def _in_one_pass(records: Records, at: _At) -> dict[str, object]:
    return dict(numbers(records, **at))


def _one(metric: Callable[..., pl.DataFrame]) -> _Source:
    """The first row: of all flows together, or of the first bottleneck."""

    def source(records: Records, at: _At) -> dict[str, object]:
        table = metric(records, **at)
        return dict(table.row(0, named=True)) if len(table) else dict.fromkeys(table.columns)

    return source


def _mean(metric: Callable[..., pl.DataFrame]) -> _Source:
    """The mean over flows; those without a value do not count."""

    def source(records: Records, at: _At) -> dict[str, object]:
        table = metric(records, **at)
        return {name: table[name].mean() for name in table.columns if name in COLUMNS}

    return source


def _by_size(records: Records, at: _At) -> dict[str, object]:
    rows = completion_by_size(records, start_s=at["start_s"], end_s=at["end_s"]).iter_rows(named=True)
    return {f"p95_{row['size']}_completion_s": row["p95_completion_s"] for row in rows}


def _by_scale(records: Records, at: _At) -> dict[str, object]:
    table = oscillation(records, scales_s=(1.0, 10.0), start_s=at["start_s"], end_s=at["end_s"])
    return {f"cov_{scale:g}s": table.filter(scale_s=scale)["cov"].mean() for scale in (1.0, 10.0)}


# Where each number comes from; what several come from is computed once.
_SOURCES: dict[str, _Source] = {
    name: source
    for source, names in (
        (_in_one_pass, NAMES),
        (_one(queueing_delay), ("p50_queue_ms", "p95_queue_ms", "p99_queue_ms")),
        (_mean(load_latency), ("load_latency_ms", "responsiveness_rpm")),
        (_one(power), ("power",)),
        (_one(fill), ("time_to_full_utilisation_s",)),
        (_one(delta_fairness), ("delta_fair_s",)),
        (_one(rtt_fairness), ("rtt_exponent",)),
        (_mean(aggressiveness), ("aggressiveness_segments",)),
        (_mean(responsiveness), ("halving_rtts",)),
        (_mean(smoothness), ("largest_cut",)),
        (_mean(datagrams), DATAGRAM_NAMES),
        (_by_scale, ("cov_1s", "cov_10s")),
        (_by_size, ("p95_short_completion_s", "p95_medium_completion_s", "p95_long_completion_s")),
    )
    for name in names
}


def listing() -> list[dict[str, object]]:
    """Every metric of `COLUMNS`: ``name``, ``title``, ``unit`` as it is shown, and what is ``wanted``: more, less, or
    neither; then the metrics of single flows, as ``METRIC@FLOW``.

    Examples
    --------
    >>> import cwndlab
    >>> cwndlab.metrics.listing()[0]
    {'name': 'goodput_bps', 'title': 'goodput', 'unit': 'Mbit/s', 'wanted': 'more'}
    """
    wanted = {1: "more", -1: "less", 0: None}
    shown = [*COLUMNS.items(), *((f"{name}@FLOW", COLUMNS[f"{name}@FLOW"]) for name in FLOW_NAMES)]
    return [
        {"name": name, "title": one.title, "unit": one.unit, "wanted": wanted[one.direction]} for name, one in shown
    ]


def _float(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]
