"""Statements of RFC 8985 on RACK and the tail loss probe: they judge the transport under an algorithm.

Sections and steps are those of the RFC; amounts are in segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cwndlab.suites.bench import Bench, duration
from cwndlab.suites.case import Case, Setup, Suite
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import acks, data, event, is_model_based, packet_at, scenario, with_recovery, writes
from cwndlab.suites.statements import Statement, at_least, at_most, between, equals, holds, unseen
from cwndlab.suites.trace import Packet, Trace

PATH = Path("10 Mbit/s, 100 ms", 10e6, 0.1)
_VALUES = ("transport.rack_reo_wnd_mult", "transport.rack_reordering_seen")
#: The worst-case delayed-ACK timer (section 7.2).
_MAX_ACK_DELAY_S = 0.2


def _run(bench: Bench, duration_s: float, **options: Any) -> dict[str, Any]:
    stack = {"initial_ssthresh": 40, "pacing": "off", **options.pop("stack", {})}
    algorithm = with_recovery(bench, "rack")
    return scenario(
        bench,
        duration_s,
        profile="rfc",
        buffer_segments=2000,
        stack=stack,
        algorithm=algorithm,
        packets=True,
        values=_VALUES,
        **options,
    )


def _again(trace: Trace, after_s: float = 0.0) -> list[Packet]:
    return [one for one in data(trace, after_s) if one.retransmission]


def _one_loss(bench: Bench) -> Setup:
    base = bench.shared(_run(bench, 4.0))
    first = packet_at(base, 3.0)
    return Setup(scenario=_run(bench, 4.0, lost=[first]), moments={"first": float(first)})


def _threshold(trace: Trace) -> Iterator[Statement]:
    begun = event(trace, "recovery", "section 6.2, step 4")
    sacked = trace.at("transport.sacked_segments", begun)
    yield equals(
        "section 6.2, step 4: RACK.reo_wnd is 0 with DupThresh SACKed segments while no reordering was seen",
        "segments SACKed when the loss is detected",
        sacked,
        3,
        at_s=begun,
    )
    again = _again(trace)
    yield holds(
        "section 6.2, step 5",
        "the lost segment is retransmitted at once, and no other",
        [float(one.number) for one in again] == [trace.moments["first"]] and abs(again[0].at_s - begun) < 1e-6,
        expected=f"{trace.moments['first']:g} at {begun:.6f} s",
        got=", ".join(f"{one.number} at {one.at_s:.6f} s" for one in again),
        at_s=begun,
    )


def _three(bench: Bench) -> Setup:
    """Twenty segments give RTT samples; of three further ones the first is lost."""
    return Setup(scenario=_run(bench, 5.0, workload=writes((0.0, 20), (2.0, 3)), lost=[20]))


def _timer(trace: Trace) -> Iterator[Statement]:
    sacks = [one for one in acks(trace, 2.0, trace.end_s) if one.sack]
    again = _again(trace, 2.0)
    if not sacks or not again:
        raise unseen("section 6.3", "SACKs and a retransmission", f"{len(sacks)} and {len(again)}", 2.0)
    window = trace.at("transport.min_rtt_s", sacks[-1].arrival_s) / 4
    sent = {one.number: one.at_s for one in data(trace, 2.0) if not one.retransmission}
    # Overdue when the RTT of the last delivered segment and the reordering window have passed since it was sent.
    rtt = sacks[-1].arrival_s - sent[22]
    yield equals(
        "section 6.2, steps 4 and 5: lost after RACK.rtt + RACK.reo_wnd, which is min_RTT / 4",
        "time of the retransmission after two SACKs",
        again[0].at_s,
        sent[20] + rtt + window,
        within=0.003,
        at_s=again[0].at_s,
    )
    yield equals("section 6.2", "expirations of the retransmission timer", trace.flow["timeouts"], 0)


def _lost_again(bench: Bench) -> Setup:
    """The retransmission is lost, too."""
    base = bench.shared(_run(bench, 4.0))
    first = packet_at(base, 3.0)
    once = bench.run(_run(bench, 4.0, lost=[first]))
    order = list(data(once))
    second = next(index for index, one in enumerate(order) if one.retransmission)
    return Setup(scenario=_run(bench, 5.0, lost=[first, second]), moments={"first": float(first)})


def _retransmission(trace: Trace) -> Iterator[Statement]:
    again = [one for one in _again(trace) if one.number == trace.moments["first"]]
    yield at_least("section 6.2, step 5: lost retransmissions are detected", "retransmissions", len(again), 2)
    yield equals("section 3.1", "expirations of the retransmission timer", trace.flow["timeouts"], 0)
    if len(again) >= 2:
        gap = again[1].at_s - again[0].at_s
        rtt = trace.at("transport.srtt_s", again[0].at_s)
        yield between("section 6.2, step 5", "seconds between them", gap, 0.8 * rtt, 1.6 * rtt, at_s=again[1].at_s)


def _late(bench: Bench, times: Sequence[float], late_s: float) -> dict[str, Any]:
    """A packet arrives behind the next two, so that reordering is seen without a loss; then, from each time on, five
    packets arrive late."""
    half, packet = bench.path.rtt_s / 2, 1 / bench.path.segments_per_s
    steps = []
    for at, count, late in [(3.5, 1, 2.5 * packet), *((at, 5, late_s) for at in times)]:
        steps.append({"at": duration(at), "delay": duration(half + late)})
        steps.append({"at": duration(at + count * packet), "delay": duration(half)})
    return {"schedule": steps, "jitter": {"spread": "1 ns", "reorder": True}}


def _reordered(bench: Bench) -> Setup:
    """The line is busy, so that packets leave it at any time."""
    link = _late(bench, (4.0, 5.0, 6.0), 0.012)
    return Setup(scenario=_run(bench, 7.0, link=link, stack={"initial_ssthresh": 120}))


def _tolerates(trace: Trace) -> Iterator[Statement]:
    seen = trace.first("transport.rack_reordering_seen", lambda value: value == 1, 3.5)
    yield holds(
        "section 6.2, step 3: detect data segment reordering",
        "RACK.reordering_seen after packets arrived out of order",
        seen is not None and seen.at_s < 4,
        expected="true",
        got="false" if seen is None else f"true at {seen.at_s:.4g} s",
    )
    again = _again(trace, 3.5)
    yield equals(
        "section 6.2, step 4: reordering within min_RTT / 4 is no loss",
        "retransmissions after reordering was seen",
        len(again),
        0,
        at_s=again[0].at_s if again else 3.5,
    )


def _far(bench: Bench) -> Setup:
    """Reordering beyond a quarter of min_RTT."""
    times = (4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
    return Setup(scenario=_run(bench, 10.0, link=_late(bench, times, 0.06), stack={"initial_ssthresh": 120}))


def _widens(trace: Trace) -> Iterator[Statement]:
    mult = [point.value for point in trace.points("transport.rack_reo_wnd_mult")]
    yield at_least(
        "section 6.2, step 4: RACK.reo_wnd_mult += 1 for a round trip with a DSACK",
        "RACK.reo_wnd_mult",
        max(mult),
        2,
    )
    first = len([one for one in _again(trace, 4.0) if one.at_s < 5.0])
    last = len(list(_again(trace, 9.0)))
    yield at_least("section 6.2, step 4", "spurious retransmissions of the first reordering", first, 1)
    yield equals("section 6.2, step 4", "spurious retransmissions of the sixth reordering", last, 0, at_s=9.0)


def _probe(trace: Trace, source: str) -> tuple[float, Packet]:
    at = event(trace, "loss-probe", source, 2.0)
    sent = next((one for one in data(trace, at - 1e-9) if one.at_s <= at + 1e-6), None)
    if sent is None:
        raise unseen(source, "the probe on the link", "no packet", at)
    return at, sent


def _last_lost(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 6.0, workload=writes((0.0, 20), (2.0, 10), (4.0, 5)), lost=[29]))


def _last_three_lost(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 6.0, workload=writes((0.0, 20), (2.0, 10)), lost=[27, 28, 29]))


def _probe_lost(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 8.0, workload=writes((0.0, 20), (2.0, 10)), lost=[29, 30]))


def _single(trace: Trace) -> Iterator[Statement]:
    at, probe = _probe(trace, "section 7.2")
    last = max(one.arrival_s for one in acks(trace, 2.0, at))
    yield equals(
        "section 7.2: PTO = 2 * SRTT + WCDelAckT with one segment in flight",
        "seconds from the last ACK to the probe",
        at - last,
        2 * trace.at("transport.srtt_s", last) + _MAX_ACK_DELAY_S,
        within=0.004,
        at_s=at,
    )
    yield equals("section 7.3: the probe is the last segment", "number of the probe", probe.number, 29, at_s=at)
    yield equals("section 7.3", "expirations of the retransmission timer", trace.flow["timeouts"], 0)


def _responds(trace: Trace) -> Iterator[Statement]:
    at, _ = _probe(trace, "section 7.4")
    before = trace.before("transport.cwnd_segments", at)
    after = trace.at("transport.cwnd_segments", trace.end_s)
    ssthresh = trace.before("transport.ssthresh_segments", at), trace.at("transport.ssthresh_segments", trace.end_s)
    yield holds(
        "section 7.4.2: a loss that the probe repaired counts as a congestion event",
        "the window is reduced",
        after < before or ssthresh[1] < ssthresh[0],
        expected=f"cwnd below {before:g} or ssthresh below {ssthresh[0]:g}",
        got=f"cwnd {after:g}, ssthresh {ssthresh[1]:g}",
        at_s=at,
    )


def _several(trace: Trace) -> Iterator[Statement]:
    at, probe = _probe(trace, "section 7.2")
    last = max(one.arrival_s for one in acks(trace, 2.0, at))
    yield equals(
        "section 7.2: PTO = 2 * SRTT with more than one segment in flight",
        "seconds from the last ACK to the probe",
        at - last,
        2 * trace.at("transport.srtt_s", last),
        within=0.004,
        at_s=at,
    )
    yield equals("section 7.3: the probe is the last segment", "number of the probe", probe.number, 29, at_s=at)
    repaired = [one.number for one in _again(trace, at + 1e-6)]
    yield holds(
        "section 7.1: the ACK of the probe lets RACK detect the other losses",
        "segments retransmitted after the probe",
        repaired == [27, 28],
        expected="27, 28",
        got=", ".join(map(str, repaired)),
        at_s=at,
    )
    yield equals("section 7.1", "expirations of the retransmission timer", trace.flow["timeouts"], 0)


def _only_one(trace: Trace) -> Iterator[Statement]:
    yield equals("section 7.3: one probe per tail", "probes", trace.flow["loss_probes"], 1)
    at, _ = _probe(trace, "section 7.3")
    expired = event(trace, "timeout", "section 7.3", at)
    last = max(one.arrival_s for one in acks(trace, 2.0, at))
    yield between(
        "section 7.3: after the probe the retransmission timer expires",
        "seconds from the probe to the timeout",
        expired - at,
        0.5 * trace.at("transport.rto_s", last),
        2.1 * trace.at("transport.rto_s", last),
        at_s=expired,
    )


def _outage(bench: Bench) -> Setup:
    """All packets of a flight are lost while the application has more to send."""
    link = {"schedule": [{"at": "3 s", "loss": 1.0}, {"at": "3.9 s", "loss": 0.0}]}
    return Setup(scenario=_run(bench, 5.0, link=link))


def _new_data(trace: Trace) -> Iterator[Statement]:
    at = event(trace, "loss-probe", "section 7.3", 3.0)
    sent = next((one for one in data(trace, at - 1e-9) if one.at_s <= at + 1e-6), None)
    yield holds(
        "section 7.3: the probe is a new segment where there is one",
        "the probe",
        sent is not None and not sent.retransmission,
        expected="new data",
        got="nothing" if sent is None else "a retransmission" if sent.retransmission else "new data",
        at_s=at,
    )
    rto = trace.before("transport.rto_s", at)
    yield at_most("section 7.2: PTO is at most the RTO", "RTO − PTO", 2 * trace.before("transport.srtt_s", at), rto)


def _reduces(bench: Bench) -> str:
    return "a model sets the window" if is_model_based(bench) else ""


def _always(_: Bench) -> str:
    return ""


def _case(name: str, title: str, source: str, make: Any, check: Any, applies: Any = _always) -> Case:
    return Case(name=name, title=title, source=source, scenario=make, check=check, paths=(PATH,), applies=applies)


CASES = (
    _case("dup-thresh", "Loss by DupThresh SACKed segments", "section 6.2, step 4", _one_loss, _threshold),
    _case("reordering-timer", "Loss by time", "sections 6.2, 6.3", _three, _timer),
    _case("lost-retransmission", "Loss of a retransmission", "section 6.2, step 5", _lost_again, _retransmission),
    _case("reordering", "Reordering within the window", "section 6.2, step 4", _reordered, _tolerates, _reduces),
    _case("dsack", "The window widens by DSACKs", "section 6.2, step 4", _far, _widens, _reduces),
    _case("probe-single", "Probe with one segment in flight", "section 7.2", _last_lost, _single),
    _case("probe-several", "Probe with several segments in flight", "section 7.2", _last_three_lost, _several),
    _case("probe-new-data", "Probe with new data", "section 7.3", _outage, _new_data),
    _case("probe-once", "One probe per tail", "section 7.3", _probe_lost, _only_one),
    _case("probe-response", "Response to a repaired loss", "section 7.4.2", _last_lost, _responds, _reduces),
)

SUITE = Suite(name="rfc8985", title="RACK-TLP", source="RFC 8985", cases=CASES, reference="reno")
