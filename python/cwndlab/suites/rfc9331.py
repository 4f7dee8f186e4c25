"""Statements of RFC 9331, section 4, on senders that use the low latency service (the "Prague L4S requirements").

A control of media (`SUITES["rfc9331"].media`) runs in calls whose rate has no other limit than the line's.

The RFC has rules in words and few numbers. Limits that are this suite's own say so in their source: "(limit of this
suite)". The sender under test has the ECN that its algorithm needs, and none if it needs none.

Rates and RTTs are those of the second half of a run. Beside classic senders the other flow is Reno.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import polars as pl

from cwndlab.records import Records
from cwndlab.suites.case import cases
from cwndlab.suites.listing import SUITES
from cwndlab.suites.paths import MSS_BYTES, PACKET_BYTES, Path
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, duration, rate

_OURS = "(limit of this suite)"
_L4S = {"kind": "dualpi2"}

_TEN = Path("10 Mbit/s, 25 ms", 10e6, 0.025)
_HUNDRED = Path("100 Mbit/s, 25 ms", 100e6, 0.025)
_LOSSES = Path("10 Mbit/s, 40 ms", 10e6, 0.04)
_FIFTY = Path("50 Mbit/s, 20 ms", 50e6, 0.02)
_FOUR_80 = Path("4 Mbit/s, 80 ms", 4e6, 0.08)
_FOUR_15 = Path("4 Mbit/s, 15 ms", 4e6, 0.015)
_SMALL = Path("4 Mbit/s, 1 ms", 4e6, 0.001)
_FAST = Path("100 Mbit/s, 5 ms", 100e6, 0.005)

#: Largest ratio of the sender's rate to that of a classic one in a shared queue with classic ECN (section 4.3.1).
_YARDSTICKS = {_FIFTY: 25.0, _FOUR_80: 10.0, _FOUR_15: 5.0}

CASES, case = cases((_TEN,))


@dataclass(frozen=True)
class _Run:
    """What the statements compare, in the second half of a run."""

    trace: Trace
    duration_s: float

    @property
    def records(self) -> Records:
        """The tables of the run."""
        return self.trace.records

    @cached_property
    def data(self) -> pl.DataFrame:
        """The data packets of the first flow at the bottleneck."""
        links = {row["name"]: row["link"] for row in self.records.rows("links")}
        of_flow = (pl.col("link") == links["bottleneck"]) & (pl.col("flow") == 0) & (pl.col("kind") == 0)
        return self.records.frame("packets").filter(of_flow)

    @cached_property
    def late_data(self) -> pl.DataFrame:
        """Those of the second half."""
        return self.data.filter(pl.col("time_ns") >= round(self.duration_s / 2 * 1e9))

    def bps(self, flow: int) -> float:
        """The rate of a flow's payload."""
        rows = self._half(flow)["delivered_bytes"]
        return 8 * (int(rows[-1]) - int(rows[0])) / (self.duration_s / 2)

    def ratio(self, first: int, second: int) -> float:
        """The rate of a flow over that of another."""
        return self.bps(first) / max(self.bps(second), 1.0)

    def rtt_s(self, flow: int = 0) -> float:
        """The mean of a flow's smoothed RTT; of a call, the base RTT and what its datagrams waited in the mean."""
        mean = self._half(flow)["srtt_ns"].mean()
        if isinstance(mean, int | float):
            return float(mean) / 1e9
        row = self.records.rows("flows")[flow]
        return float(row["mean_delay_ns"] + row["base_rtt_ns"] / 2) / 1e9

    def _half(self, flow: int) -> pl.DataFrame:
        late = pl.col("time_ns") >= round(self.duration_s / 2 * 1e9)
        return self.records.samples.filter((pl.col("flow") == flow) & late)


def _flow(t: Trial, rtt_s: float | None = None, algorithm: str = "", **stack: Any) -> dict[str, Any]:
    """A flow of the algorithm under test, or of another one."""
    made: dict[str, Any] = {"rtt": duration(t.path.rtt_s if rtt_s is None else rtt_s)}
    if not algorithm and _is_media(t):
        workload = {"kind": "adaptive-video", "control": t.subject.algorithm, "ecn": "l4s"}
        most = f"{t.path.rate_bps:.0f} bps"
        return {**made, "transport": "udp", "workload": {**workload, "feedback": "40 ms", "max_rate": most}}
    made["algorithm"] = algorithm or t.subject.algorithm
    return {**made, "stack": stack} if stack else made


def _is_media(t: Trial) -> bool:
    """Whether the subject is a congestion control of media."""
    return t.subject.algorithm in SUITES["rfc9331"].media


def _run(
    t: Trial,
    duration_s: float,
    flows: Sequence[Mapping[str, Any]],
    queue: Mapping[str, Any] = _L4S,
    *,
    reverse: Mapping[str, Any] | None = None,
    packets: bool = False,
    names: Sequence[str] = (),
    **link: Any,
) -> _Run:
    """A run of long transfers through one bottleneck."""
    bottleneck = {**rate(t.path.rate_bps), "queue": dict(queue), **link}
    document = {
        "schema_version": 1,
        "duration": duration(duration_s),
        "sample_interval": duration(duration_s / 400),
        "dumbbell": {"bottleneck": bottleneck, "reverse": {"rate": "none", **(reverse or {})}},
        "flow": [dict(one) for one in flows],
        **({"packets": True} if packets else {}),
        **({"named_values": {"names": list(names), "interval": duration(duration_s / 400)}} if names else {}),
    }
    return _Run(t.run(document), duration_s)


@case("codepoint", "ECT(1) on every packet", "section 4.1")
def _codepoint(t: Trial) -> None:
    lost = {"kind": "list", "indices": list(range(500, 700, 20)), "counts": "payload"}
    run = _run(t, 10, [_flow(t)], packets=True, loss=lost)
    source = "section 4.1: a sender that wishes L4S treatment MUST set the ECN field to ECT(1)"
    kinds = {"data packets": False} if _is_media(t) else {"data packets": False, "retransmissions": True}
    for text, again in kinds.items():
        # The record of a packet that the wire lost has the mark of the queue.
        sent = run.data.filter((pl.col("retransmission") == again) & (pl.col("fate") != 2))["ecn"]
        if not len(sent):
            raise NotObservedError(source, text, "none")
        t.equals(source, f"share of {text} with ECT(1)", float((sent == 1).sum()) / len(sent), 1.0)


@case("feedback", "Accurate feedback of marks", "section 4.2", values="alpha", paths=(_FIFTY,))
def _feedback(t: Trial) -> None:
    source = "section 4.2: MUST have feedback of the extent of CE marks; " + _OURS
    for lost in (0.0, 0.1):
        reverse = {"loss": {"kind": "bernoulli", "p": lost}} if lost else {}
        run = _run(t, 20, [_flow(t)], reverse=reverse, packets=True, names=["alpha"])
        marked = float((run.late_data["fate"] == 3).sum()) / max(len(run.late_data), 1)
        if not marked:
            raise NotObservedError(source, "marks of the queue", "none")
        alpha = sum(one.value * (one.end_s - one.start_s) for one in run.trace.spans("alpha", 10)) / 10
        text = f"alpha over the share of marked packets, with {100 * lost:g} % of the ACKs lost"
        t.equals(source, text, alpha / marked, 1.0, relative=0.15)


@case("scalable", "Marks per round trip as the rate grows", "section 4.3")
def _scalable(t: Trial) -> None:
    source = "section 4.3: SHOULD not have fewer marks per time as the rate grows"
    per_round = []
    for path in (_TEN, _HUNDRED):
        run = _run(t.on(path), 40, [_flow(t)], packets=True)
        per_round.append(float((run.late_data["fate"] == 3).sum()) * run.rtt_s() / (run.duration_s / 2))
    t.expect(f"{source}; {_OURS}", "marks per round trip at 10 Mbit/s", per_round[0], 0.5)
    text = "marks per round trip at 100 Mbit/s over those at 10 Mbit/s"
    t.expect(f"{source}; {_OURS}", text, per_round[1] / per_round[0] if per_round[0] else 0.0, 0.8)


@case("replaceable", "Replaceable by a classic congestion control", "section 4.3, item 1")
def _replaceable(t: Trial) -> None:
    raise NotApplicableError("every flow names its algorithm: no run can show the lack of a choice")


@case("loss", "Response to loss beside Reno", "section 4.3, item 2", paths=(_LOSSES,))
def _loss(t: Trial) -> None:
    source = "section 4.3, item 2: MUST react to packet loss in a way that coexists safely with Reno; " + _OURS
    for bdps in (0.5, 2):
        queue = {"kind": "droptail", "capacity": f"{max(round(bdps * t.path.bdp_segments), 2)} packets"}
        run = _run(t, 120, [_flow(t), _flow(t, algorithm="reno", ecn="off")], queue)
        t.expect(source, f"rate over Reno's, with a queue of {bdps:g} BDP", run.ratio(0, 1), high=3.0)


@case("classic-aqm", "Shared queue with classic ECN", "section 4.3, item 3; section 4.3.1", paths=tuple(_YARDSTICKS))
def _classic(t: Trial) -> None:
    most = _YARDSTICKS[t.path]
    run = _run(t, 120, [_flow(t), _flow(t, algorithm="reno", ecn="classic")], {"kind": "pie", "ecn": True})
    got = run.ratio(0, 1)
    t.expect(f"section 4.3.1: imbalance without detection, at most {most:g}:1", "rate over Reno's", got, high=most)
    source = "section 4.3, item 3: detection SHOULD adapt the response in real time to coexist safely with Reno"
    t.expect(f"{source}; {_OURS}", "rate over Reno's, with adaptation", got, high=3.0)


@case("rtt-independence", "Rates of flows with different RTTs", "section 4.3, item 4", paths=(_FIFTY,))
def _rtts(t: Trial) -> None:
    source = "section 4.3, item 4: MUST converge towards a rate that is as independent of RTT as possible; " + _OURS
    for short, long in ((5, 10), (10, 20), (5, 20)):
        run = _run(t, 60, [_flow(t, short / 1e3), _flow(t, long / 1e3)])
        exponent = log(max(run.ratio(0, 1), 1e-6)) / log(long / short)
        t.expect(source, f"exponent of the RTT, {short} and {long} ms", exponent, -0.5, 0.5)


@case("small-rtt", "Ten flows at a small RTT", "section 4.3, item 5", paths=(_SMALL,))
def _small(t: Trial) -> None:
    source = "section 4.3, item 5: SHOULD remain responsive to congestion at small RTTs; " + _OURS
    count = 10
    run = _run(t, 60, [_flow(t) for _ in range(count)])
    waits = [run.rtt_s(flow) - t.path.rtt_s for flow in range(count)]
    packets = sum(waits) / count * t.path.segments_per_s
    t.expect(source, "packets of a flow in the queue, of ten flows", packets / count, high=1.5)
    rates = [run.bps(flow) for flow in range(count)]
    t.expect(source, "least rate over the mean", min(rates) * count / max(sum(rates), 1.0), 1 / 3)
    utilisation = sum(rates) / t.path.rate_bps * PACKET_BYTES / MSS_BYTES
    t.expect(source, "utilisation", utilisation, 0.8)


@case("reordering", "Reordering by a quarter of the RTT", "section 4.3, item 6", paths=(_LOSSES,))
def _reordering(t: Trial) -> None:
    source = "section 4.3, item 6: loss detection SHOULD be resilient to reordering over an adaptive time; " + _OURS
    still = _run(t, 60, [_flow(t)])
    run = _run(t, 60, [_flow(t)], jitter={"spread": duration(t.path.rtt_s / 4), "reorder": True})
    row = run.records.rows("flows")[0]
    spurious = row["retransmitted_packets"] - row["queue_drops"] - row["wire_losses"]
    share = max(spurious, 0) / max(row["sent_packets"], 1)
    t.expect(source, "share of packets retransmitted without a loss", share, high=0.01)
    t.expect(source, "rate over that without reordering", run.bps(0) / max(still.bps(0), 1.0), 0.8)


@case("bursts", "Bursts of packets", "section 4.3, item 7", paths=(_FAST,))
def _bursts(t: Trial) -> None:
    run = _run(t, 10, [_flow(t)], packets=True)
    spacing = 1 / t.path.segments_per_s
    bursts: list[list[float]] = []
    for at in (run.data["sent_ns"] / 1e9).to_list():
        # Packets of a burst follow each other in less than a tenth of the time that the bottleneck takes for one.
        if bursts and at - bursts[-1][-1] < spacing / 10:
            bursts[-1].append(at)
        else:
            bursts.append([at])
    queues = [(len(burst) - 1) * spacing for burst in bursts]
    source = "section 4.3, item 7: expected to limit the queue of a burst, not below 10 % of the RTT (no requirement)"
    most = 0.1 * t.path.rtt_s
    t.expect(source, "queue of the first burst, s", queues[0], high=most)
    t.expect(source, "longest queue of a later burst, s", max(queues[1:], default=0.0), high=most)
    source = "section 4.3, item 7: roughly 250 µs for the public Internet; " + _OURS
    share = sum(len(one) for one, queue in zip(bursts, queues, strict=True) if queue > 250e-6) / len(run.data)
    t.expect(source, "share of packets in longer bursts", share, high=0.01)
