"""One number per metric, in one pass over a run's columns.

The metrics of this package answer tables, which costs some milliseconds each; a sweep of short runs would spend more
time on them than on the runs. Here the same formulas are sums over numpy arrays. The files of the metrics are what
defines them; a test holds the two together. A frame costs more than a short run's few rows: those are read as plain
rows, and only long tables become frames.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cwndlab.metrics import interval
from cwndlab.metrics.convergence import SHARE
from cwndlab.metrics.fairness import jain
from cwndlab.metrics.sharing import media, together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cwndlab.records import Records

    Numbers: TypeAlias = NDArray[np.float64]

_FLOW_COUNTERS = (
    "delivered_bytes",
    "sent_bytes",
    "retransmitted_bytes",
    "retransmitted_packets",
    "congestion_events",
    "timeouts",
)
_LINK_COUNTERS = ("sent_bytes", "dropped_packets", "arrived_packets", "queue_packet_ns", "queue_byte_ns")

# What is read of the tables.
_OF_FLOWS = (
    "start_ns",
    "end_ns",
    "mss_bytes",
    "delivered_bytes",
    "sent_bytes",
    "wire_bytes",
    "retransmitted_bytes",
    "retransmitted_packets",
    "recoveries",
    "timeouts",
    "ecn_reductions",
    "min_rtt_ns",
    "mean_rtt_ns",
)
_OF_SAMPLES = ("time_ns", "flow", *_FLOW_COUNTERS, "srtt_ns", "cwnd_bytes", "rtt_sum_ns", "rtt_count")
_OF_LINK_SAMPLES = ("time_ns", "link", *_LINK_COUNTERS, "carriable_bytes", "queue_age_ns")
# A table of up to so many rows is read as rows: a frame costs as much as some hundred of them.
_FEW_ROWS = 256


#: What `numbers` answers.
NAMES = (
    "goodput_bps",
    "sent_goodput_bps",
    "throughput_bps",
    "utilisation",
    "drops_per_s",
    "loss_ratio",
    "jain",
    "queue_ms",
    "queue_packets",
    "mean_rtt_ms",
    "srtt_ms",
    "min_rtt_ms",
    "mean_cwnd_segments",
    "congestion_events",
    "retransmitted_packets",
    "timeouts",
    "convergence_s",
    "mean_completion_s",
    "median_completion_s",
    "p95_completion_s",
    "p99_completion_s",
)


@cache
def metrics_version() -> str:
    """Changes whenever a formula does: the head of the SHA-256 of this package's files."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def numbers(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> dict[str, float | None]:
    """The metrics of ``NAMES``, as `cwndlab.metrics.summary` answers them."""
    duration_ns = int(records.rows("runs")[0]["duration_ns"])
    span = interval.bounds(records, start_s, end_s)
    links, link_samples = records.rows("links"), _read(records, "link_samples", _OF_LINK_SAMPLES)
    ranked = _ranked(links, set(link_samples["link"].tolist()))
    return (
        _of_flows(records, span, duration_ns, links, ranked)
        | _of_bottleneck(link_samples, span, duration_ns, ranked)
        | _of_transfers(records, span)
    )


def _rivals(
    records: Records, routes: Sequence[str], links: Sequence[Mapping[str, Any]], ranked: Sequence[Mapping[str, Any]]
) -> list[int]:
    """`cwndlab.metrics.sharing.competing`."""
    if len(routes) < 2:
        return []
    if not links:
        return list(range(len(routes)))
    medium = media(records.document, [(link["link"], link["name"]) for link in links])
    return together(routes, medium, [link["link"] for link in ranked])


def _of_flows(
    records: Records,
    span: interval.Span,
    duration_ns: int,
    links: Sequence[Mapping[str, Any]],
    ranked: Sequence[Mapping[str, Any]],
) -> dict[str, float | None]:
    rows = records.rows("flows")
    flows = _columns(rows, _OF_FLOWS)
    samples = _Samples(_read(records, "samples", _OF_SAMPLES), len(flows["start_ns"]), span)
    gained = _gained_by_flows(flows, samples, span, duration_ns)
    begin = np.maximum(flows["start_ns"], span.start_ns)
    end = np.fmin(flows["end_ns"], span.end_ns)
    lived = end > begin
    # Bits per second of what is counted in bytes; not a number where the flow did not live.
    rate = np.where(lived, 8e9 / np.where(lived, end - begin, 1.0), np.nan)
    sent, first = gained["sent_bytes"], gained["sent_bytes"] - gained["retransmitted_bytes"]
    total, wire = flows["sent_bytes"], flows["wire_bytes"]
    headers = np.divide(wire, total, out=np.ones_like(wire), where=total > 0)
    rivals = _rivals(records, [row["route"] for row in rows], links, ranked)
    goodputs = (gained["delivered_bytes"] * rate).tolist()
    found = {
        "goodput_bps": float(gained["delivered_bytes"].sum() * 8 / span.seconds),
        "sent_goodput_bps": float(first.sum() * 8 / span.seconds),
        "throughput_bps": float((sent * headers).sum() * 8 / span.seconds),
        "jain": jain([goodputs[flow] for flow in rivals if lived[flow]]),
        "convergence_s": _convergence(flows, samples),
        "mean_rtt_ms": _mean(samples.rtt() if samples.any else flows["mean_rtt_ns"], 1e-6),
        "srtt_ms": _mean(samples.mean("srtt_ns"), 1e-6),
        "min_rtt_ms": _least(flows["min_rtt_ns"], 1e-6),
        "mean_cwnd_segments": _mean(samples.mean("cwnd_bytes", until=flows["end_ns"]) / flows["mss_bytes"]),
    }
    for name in ("congestion_events", "retransmitted_packets", "timeouts"):
        found[name] = float(gained[name].sum())
    return found


def _gained_by_flows(
    flows: Mapping[str, Numbers], samples: _Samples, span: interval.Span, duration_ns: int
) -> dict[str, Numbers]:
    """What each flow's counters gained within the interval."""
    gained = {}
    for name in _FLOW_COUNTERS:
        if span.end_ns != duration_ns:
            until = samples.at(span.end_ns, name)
        elif name == "congestion_events":
            until = flows["recoveries"] + flows["timeouts"] + flows["ecn_reductions"]
        else:
            until = flows[name]
        gained[name] = until - samples.at(span.start_ns, name)
    return gained


class _Samples:
    """The samples of flows as arrays, sums by flow."""

    def __init__(self, columns: Mapping[str, Numbers], flows: int, span: interval.Span) -> None:
        self.flows = flows
        self.time = columns["time_ns"]
        self.any = len(self.time) > 0
        self.flow = columns["flow"].astype(np.intp)
        self._columns = columns
        self._inside = (self.time > span.start_ns) & (self.time <= span.end_ns)
        self._start = span.start_ns
        self.end = span.end_ns

    def column(self, name: str) -> Numbers:
        """A column."""
        return self._columns[name]

    def at(self, time_ns: int, name: str) -> Numbers:
        """A counter of every flow at a sampling instant; zero where it has no sample."""
        found = np.zeros(self.flows)
        # No sample is taken at the beginning.
        if time_ns > 0:
            now = self.time == time_ns
            found[self.flow[now]] = self.column(name)[now]
        return found

    def mean(self, name: str, *, until: Numbers | None = None) -> Numbers:
        """Mean of the samples within the interval, and up to ``until`` of each flow, that have a value."""
        values = self.column(name)
        inside = self._inside & ~np.isnan(values)
        if until is not None:
            inside &= ~(self.time > until[self.flow])
        flow = self.flow[inside]
        total = np.bincount(flow, weights=values[inside], minlength=self.flows)
        return _ratio(total, np.bincount(flow, minlength=self.flows))

    def rtt(self) -> Numbers:
        """Sum of the RTT samples over their number, from the start to the last sampling instant of the interval."""
        return _ratio(self._last_gain("rtt_sum_ns"), self._last_gain("rtt_count"))

    def _last_gain(self, name: str) -> Numbers:
        last = np.zeros(self.flows)
        # The last one of each flow stays: rows are in the order of time.
        flow = self.flow[self._inside]
        last[flow] = self.column(name)[self._inside]
        counted = np.bincount(flow, minlength=self.flows) > 0
        return last - np.where(counted, self.at(self._start, name), 0.0)


def _convergence(flows: Mapping[str, Numbers], samples: _Samples) -> float | None:
    starts = flows["start_ns"]
    if len(starts) < 2:
        return None
    first, second = np.argsort(starts, kind="stable")[:2]
    begin = starts[second]
    last = np.fmin(flows["end_ns"][first], flows["end_ns"][second])
    inside = (samples.time > begin) & (samples.time <= samples.end)
    if not np.isnan(last):
        inside &= samples.time <= last
    mine, other = (inside & (samples.flow == one) for one in (first, second))
    times, cwnd = samples.time[mine], samples.column("cwnd_bytes")
    at_first, at_second = cwnd[mine], cwnd[other]
    if not np.array_equal(times, samples.time[other]):
        times, one, two = np.intersect1d(times, samples.time[other], assume_unique=True, return_indices=True)
        at_first, at_second = at_first[one], at_second[two]
    mss = flows["mss_bytes"]
    reached = np.flatnonzero(at_second / mss[second] >= SHARE * (at_first / mss[first]))
    return float(times[reached[0]] - begin) / 1e9 if len(reached) else None


def _of_bottleneck(
    samples: Mapping[str, Numbers], span: interval.Span, duration_ns: int, ranked: list[dict[str, Any]]
) -> dict[str, float | None]:
    names = ("utilisation", "drops_per_s", "loss_ratio", "queue_ms", "queue_packets")
    if not ranked:
        return dict.fromkeys(names)
    link = ranked[0]

    def at(time_ns: int, name: str) -> float:
        return float(samples[name][(samples["link"] == link["link"]) & (samples["time_ns"] == time_ns)].sum())

    totals = {
        "queue_packet_ns": link["mean_queue_packets"] * duration_ns,
        "queue_byte_ns": link["mean_queue_bytes"] * duration_ns,
        **{name: float(link[name]) for name in _LINK_COUNTERS[:3]},
    }
    gained = {}
    varies = link["carriable_bytes"] is not None
    totals["carriable_bytes"] = float(link["carriable_bytes"] or 0)
    for name in (*_LINK_COUNTERS, *(["carriable_bytes"] if varies else [])):
        until = totals[name] if span.end_ns == duration_ns else at(span.end_ns, name)
        gained[name] = until - (at(span.start_ns, name) if span.start_ns else 0.0)
    length_ns = span.end_ns - span.start_ns
    arrived, dropped = gained["arrived_packets"], gained["dropped_packets"]
    carriable = gained["carriable_bytes"] if varies else link["rate_bps"] * span.seconds / 8
    if varies or not np.isnan(samples["queue_age_ns"][samples["link"] == link["link"]]).all():
        # Little's law: the mean waiting time of the packets that joined the queue.
        joined = arrived - dropped
        queue_ms = gained["queue_packet_ns"] / joined / 1e6 if joined > 0 else None
    else:
        queue_ms = 8e3 * (gained["queue_byte_ns"] / length_ns) / link["rate_bps"]
    return {
        "utilisation": min(gained["sent_bytes"] / carriable, 1.0) if carriable > 0 else 0.0,
        "drops_per_s": dropped / span.seconds,
        "loss_ratio": dropped / arrived if arrived > 0 else 0.0,
        "queue_ms": queue_ms,
        "queue_packets": gained["queue_packet_ns"] / length_ns,
    }


def _ranked(links: list[dict[str, Any]], sampled: set[int]) -> list[dict[str, Any]]:
    """The bottlenecks in the order of `interval.bottlenecks`."""
    rated = [link for link in links if link["rate_bps"] is not None]
    finite = [link for link in rated if link["capacity_packets"] is not None or link["capacity_bytes"] is not None]
    found = [link for link in finite if not sampled or link["link"] in sampled] or rated

    def rank(link: dict[str, Any]) -> tuple[int, float, int]:
        name = link["name"]
        place = 0 if name == "bottleneck" else 1 if name.startswith("bottleneck") else 2
        return place, -link["utilisation"], link["link"]

    return sorted(found, key=rank)


def _of_transfers(records: Records, span: interval.Span) -> dict[str, float | None]:
    columns = _read(records, "transfers", ("start_ns", "end_ns"))
    begin, end = columns["start_ns"], columns["end_ns"]
    times = (end - begin)[(begin >= span.start_ns) & (begin < span.end_ns)] / 1e9
    times = times[~np.isnan(times)]
    if len(times) == 0:
        return dict.fromkeys(("mean_completion_s", "median_completion_s", "p95_completion_s", "p99_completion_s"))
    return {
        "mean_completion_s": float(times.mean()),
        "median_completion_s": float(np.median(times)),
        "p95_completion_s": float(np.quantile(times, 0.95)),
        "p99_completion_s": float(np.quantile(times, 0.99)),
    }


def _read(records: Records, table: str, names: Sequence[str]) -> dict[str, Numbers]:
    """Columns as floats: whole numbers are exact up to 2^53, which is 104 days in ns and 9 PB; null is NaN."""
    height = records.height(table)
    if height == 0:
        return dict.fromkeys(names, np.zeros(0))
    if height <= _FEW_ROWS:
        return _columns(records.rows(table), names)
    frame = records.frame(table)
    return {name: frame[name].to_numpy().astype(np.float64) for name in names}


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Numbers]:
    """Columns of plain rows, of which there is at least one, as floats."""
    values = np.array(list(map(itemgetter(*names), rows)), dtype=np.float64)
    return dict(zip(names, np.ascontiguousarray(values.T), strict=True))


def _ratio(total: NDArray[Any], count: NDArray[Any]) -> Numbers:
    found: Numbers = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return found


def _mean(values: Numbers, factor: float = 1.0) -> float | None:
    """Mean of what there is."""
    there = values[~np.isnan(values)]
    return float(there.mean() * factor) if len(there) else None


def _least(values: Numbers, factor: float) -> float | None:
    """The smallest of what there is."""
    there = values[~np.isnan(values)]
    return float(there.min() * factor) if len(there) else None
