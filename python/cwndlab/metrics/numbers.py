"""One number per metric, in one pass over a run's columns.

The metrics of this package answer tables, which costs some milliseconds each; a sweep of short runs would spend more
time on them than on the runs. Here the same formulas are sums over numpy arrays. The files of the metrics are what
defines them; a test holds the two together.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cwndlab.metrics import window
from cwndlab.metrics.convergence import SHARE
from cwndlab.metrics.fairness import jain
from cwndlab.metrics.sharing import competing

if TYPE_CHECKING:
    import polars as pl
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
    span = window.bounds(records, start_s, end_s)
    sampled = set(np.unique(records.link_samples["link"].to_numpy()).tolist())
    ranked = _ranked(records.links.rows(named=True), sampled)
    return _of_flows(records, span, ranked) | _of_bottleneck(records, span, ranked) | _of_transfers(records, span)


def _of_flows(records: Records, span: window.Span, ranked: list[dict[str, Any]]) -> dict[str, float | None]:
    flows = records.flows.rows(named=True)
    samples = _Samples(records.samples, len(flows), span)
    gained = _gained_by_flows(records, flows, samples, span)
    begin = np.maximum(_column(flows, "start_ns"), span.start_ns)
    end = np.fmin(_column(flows, "end_ns"), span.end_ns)
    lived = end > begin
    # Bits per second of what is counted in bytes; not a number where the flow did not live.
    rate = np.where(lived, 8e9 / np.where(lived, end - begin, 1.0), np.nan)
    sent, first = gained["sent_bytes"], gained["sent_bytes"] - gained["retransmitted_bytes"]
    total, wire = _column(flows, "sent_bytes"), _column(flows, "wire_bytes")
    headers = np.divide(wire, total, out=np.ones_like(wire), where=total > 0)
    goodputs = gained["delivered_bytes"] * rate
    rivals = [flow for flow in competing(records, [int(link["link"]) for link in ranked]) if lived[flow]]
    mss = _column(flows, "mss_bytes")
    found = {
        "goodput_bps": float(gained["delivered_bytes"].sum() * 8 / span.seconds),
        "sent_goodput_bps": float(first.sum() * 8 / span.seconds),
        "throughput_bps": float((sent * headers).sum() * 8 / span.seconds),
        "jain": jain([float(value) for value in goodputs[rivals]]),
        "convergence_s": _convergence(flows, samples),
        "mean_rtt_ms": _mean(samples.rtt() if samples.any else _column(flows, "mean_rtt_ns"), 1e-6),
        "srtt_ms": _mean(samples.mean("srtt_ns"), 1e-6),
        "min_rtt_ms": _least(_column(flows, "min_rtt_ns"), 1e-6),
        "mean_cwnd_segments": _mean(samples.mean("cwnd_bytes", until=_column(flows, "end_ns")) / mss),
    }
    for name in ("congestion_events", "retransmitted_packets", "timeouts"):
        found[name] = float(gained[name].sum())
    return found


def _gained_by_flows(
    records: Records, flows: list[dict[str, Any]], samples: _Samples, span: window.Span
) -> dict[str, Numbers]:
    """What each flow's counters gained within the interval."""
    gained = {}
    whole = span.end_ns == int(records.rows("runs")[0]["duration_ns"])
    for name in _FLOW_COUNTERS:
        if not whole:
            until = samples.at(span.end_ns, name)
        elif name == "congestion_events":
            until = sum((_column(flows, part) for part in ("recoveries", "timeouts", "ecn_reductions")), np.zeros(1))
        else:
            until = _column(flows, name)
        gained[name] = until - samples.at(span.start_ns, name)
    return gained


class _Samples:
    """The samples of flows as arrays, sums by flow."""

    def __init__(self, frame: pl.DataFrame, flows: int, span: window.Span) -> None:
        self.flows = flows
        self.any = len(frame) > 0
        self.time = _array(frame, "time_ns")
        self.flow = frame["flow"].to_numpy().astype(np.intp)
        self._frame = frame
        self._inside = (self.time > span.start_ns) & (self.time <= span.end_ns)
        self._start = span.start_ns
        self.end = span.end_ns

    def column(self, name: str) -> Numbers:
        """A column."""
        return _array(self._frame, name)

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
        return _ratio(self._sum(values, inside), self._sum(np.ones_like(values), inside))

    def rtt(self) -> Numbers:
        """Sum of the RTT samples over their number, from the start to the last sampling instant of the interval."""
        return _ratio(self._last_gain("rtt_sum_ns"), self._last_gain("rtt_count"))

    def _last_gain(self, name: str) -> Numbers:
        last = np.zeros(self.flows)
        # The last one of each flow stays: rows are in the order of time.
        last[self.flow[self._inside]] = self.column(name)[self._inside]
        return last - np.where(self._counted, self.at(self._start, name), 0.0)

    @property
    def _counted(self) -> NDArray[np.bool_]:
        return np.bincount(self.flow[self._inside], minlength=self.flows) > 0

    def _sum(self, values: Numbers, rows: NDArray[np.bool_]) -> Numbers:
        return np.bincount(self.flow[rows], weights=values[rows], minlength=self.flows).astype(np.float64)


def _convergence(flows: list[dict[str, Any]], samples: _Samples) -> float | None:
    if len(flows) < 2:
        return None
    first, second = sorted(range(len(flows)), key=lambda one: (flows[one]["start_ns"], one))[:2]
    begin = flows[second]["start_ns"]
    last = min(_or(flows[one]["end_ns"], np.inf) for one in (first, second))
    inside = (samples.time > begin) & (samples.time <= last) & (samples.time <= samples.end)
    cwnd = samples.column("cwnd_bytes")
    mine, other = (inside & (samples.flow == one) for one in (first, second))
    times, at_first, at_second = np.intersect1d(
        samples.time[mine], samples.time[other], assume_unique=True, return_indices=True
    )
    windows = (cwnd[mine][at_first] / flows[first]["mss_bytes"], cwnd[other][at_second] / flows[second]["mss_bytes"])
    reached = np.flatnonzero(windows[1] >= SHARE * windows[0])
    return float(times[reached[0]] - begin) / 1e9 if len(reached) else None


def _of_bottleneck(records: Records, span: window.Span, ranked: list[dict[str, Any]]) -> dict[str, float | None]:
    names = ("utilisation", "drops_per_s", "loss_ratio", "queue_ms", "queue_packets")
    samples = records.link_samples
    if not ranked:
        return dict.fromkeys(names)
    link = ranked[0]
    duration = int(records.rows("runs")[0]["duration_ns"])
    of_link = samples["link"].to_numpy() == link["link"]
    time = _array(samples, "time_ns")

    def at(time_ns: int, name: str) -> float:
        return float(_array(samples, name)[of_link & (time == time_ns)].sum())

    totals = {
        "queue_packet_ns": link["mean_queue_packets"] * duration,
        "queue_byte_ns": link["mean_queue_bytes"] * duration,
        **{name: float(link[name]) for name in _LINK_COUNTERS[:3]},
    }
    gained = {}
    varies = link["carriable_bytes"] is not None
    totals["carriable_bytes"] = float(link["carriable_bytes"] or 0)
    for name in (*_LINK_COUNTERS, *(["carriable_bytes"] if varies else [])):
        until = totals[name] if span.end_ns == duration else at(span.end_ns, name)
        gained[name] = until - (at(span.start_ns, name) if span.start_ns else 0.0)
    length_ns = span.end_ns - span.start_ns
    arrived, dropped = gained["arrived_packets"], gained["dropped_packets"]
    carriable = gained["carriable_bytes"] if varies else link["rate_bps"] * span.seconds / 8
    return {
        "utilisation": min(gained["sent_bytes"] / carriable, 1.0) if carriable > 0 else 0.0,
        "drops_per_s": dropped / span.seconds,
        "loss_ratio": dropped / arrived if arrived > 0 else 0.0,
        "queue_ms": 8e3 * (gained["queue_byte_ns"] / length_ns) / link["rate_bps"],
        "queue_packets": gained["queue_packet_ns"] / length_ns,
    }


def _ranked(links: list[dict[str, Any]], sampled: set[int]) -> list[dict[str, Any]]:
    """The bottlenecks in the order of `window.bottlenecks`."""
    rated = [link for link in links if link["rate_bps"] is not None]
    finite = [link for link in rated if link["capacity_packets"] is not None or link["capacity_bytes"] is not None]
    found = [link for link in finite if not sampled or link["link"] in sampled] or rated

    def rank(link: dict[str, Any]) -> tuple[int, float, int]:
        name = link["name"]
        place = 0 if name == "bottleneck" else 1 if name.startswith("bottleneck") else 2
        return place, -link["utilisation"], link["link"]

    return sorted(found, key=rank)


def _of_transfers(records: Records, span: window.Span) -> dict[str, float | None]:
    begin, end = (_array(records.transfers, name) for name in ("start_ns", "end_ns"))
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


def _array(frame: pl.DataFrame, name: str) -> Numbers:
    """A column as floats: whole numbers are exact up to 2^53, which is 104 days in ns and 9 PB; null is NaN."""
    return frame[name].to_numpy().astype(np.float64)


def _column(rows: list[dict[str, Any]], name: str) -> Numbers:
    return np.array([_or(row[name], np.nan) for row in rows], dtype=np.float64)


def _or(value: Any, other: float) -> float:
    return other if value is None else float(value)


def _ratio(total: Numbers, count: Numbers) -> Numbers:
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
