"""Statements of RFC 8985 on RACK and the tail loss probe: they judge the transport under an algorithm.

Sections and steps are those of the RFC; amounts are in segments.
"""

from __future__ import annotations

from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.rfc import PATH, packet_at, reduces, scenario, writes
from cwndlab.suites.statements import NotObservedError
from cwndlab.suites.trace import Packet, Trace
from cwndlab.suites.trial import Trial, duration, steps

CASES, case = cases((PATH,))
_MULT, _SEEN = "transport.rack_reo_wnd_mult", "transport.rack_reordering_seen"
#: The worst-case delayed-ACK timer (section 7.2).
_MAX_ACK_DELAY_S = 0.2
_EXPIRED = "expirations of the retransmission timer"


def _run(t: Trial, duration_s: float, ssthresh: int = 40, **options: Any) -> dict[str, Any]:
    stack = {"initial_ssthresh": ssthresh, "pacing": "off"}
    return scenario(t, duration_s, recovery="rack", stack=stack, values=(_MULT, _SEEN), **options)


def _tail(t: Trial, duration_s: float, lost: list[int], *amounts: tuple[float, int]) -> Trace:
    """Twenty segments give RTT samples; of the further ones some are lost."""
    return t.run(_run(t, duration_s, workload=writes((0.0, 20), *amounts), lost=lost))


def _late(t: Trial, times: tuple[float, ...], late_s: float) -> dict[str, Any]:
    """A packet arrives behind the next two, so that reordering is seen without a loss; then, from each time on, five
    packets arrive late. The line is busy, so that packets leave it at any time."""
    half, packet = t.path.rtt_s / 2, 1 / t.path.segments_per_s
    changes = []
    for at, count, late in [(3.5, 1, 2.5 * packet), *((at, 5, late_s) for at in times)]:
        changes += [(at, {"delay": duration(half + late)}), (at + count * packet, {"delay": duration(half)})]
    return {**steps(*changes), "jitter": {"spread": "1 ns", "reorder": True}}


def _sent(run: Trace, at: float) -> Packet | None:
    return next((one for one in run.data(at - 1e-9) if one.at_s <= at + 1e-6), None)


def _probe(run: Trace, source: str) -> tuple[float, Packet, float]:
    """The time of the probe, its packet, and the time of the last ACK before it."""
    at = run.event("loss-probe", source, 2.0)
    sent = _sent(run, at)
    if sent is None:
        raise NotObservedError(source, "the probe on the link", "no packet", at)
    return at, sent, max((one.arrival_s for one in run.acks(2.0, at)), default=at)


@case("dup-thresh", "Loss by DupThresh SACKed segments", "section 6.2, step 4")
def _threshold(t: Trial) -> None:
    first = packet_at(t.shared(_run(t, 4.0)), 3.0)
    run = t.run(_run(t, 4.0, lost=[first]))
    begun = run.event("recovery", "section 6.2, step 4")
    source = "section 6.2, step 4: RACK.reo_wnd is 0 with DupThresh SACKed segments while no reordering was seen"
    t.equals(source, "segments SACKed when the loss is detected", run.at("sacked", begun), 3, at=begun)
    again = run.again()
    good = [one.number for one in again] == [first] and abs(again[0].at_s - begun) < 1e-6
    got = ", ".join(f"{one.number} at {one.at_s:.6f} s" for one in again)
    text = "the lost segment is retransmitted at once, and no other"
    t.holds("section 6.2, step 5", text, good, f"{first:g} at {begun:.6f} s", got, at=begun)


@case("reordering-timer", "Loss by time", "sections 6.2, 6.3")
def _timer(t: Trial) -> None:
    run = _tail(t, 5.0, [20], (2.0, 3))
    sacks, again = [one for one in run.acks(2.0) if one.sack], run.again(2.0)
    if not sacks or not again:
        got = f"{len(sacks)} and {len(again)}"
        raise NotObservedError("section 6.3", "SACKs and a retransmission", got, 2.0)
    last, at = sacks[-1].arrival_s, again[0].at_s
    sent = {one.number: one.at_s for one in run.data(2.0) if not one.retransmission}
    # Overdue when the RTT of the last delivered segment and the reordering window have passed since it was sent.
    due = sent[20] + (last - sent[22]) + run.at("min_rtt", last) / 4
    source = "section 6.2, steps 4 and 5: lost after RACK.rtt + RACK.reo_wnd, which is min_RTT / 4"
    t.equals(source, "time of the retransmission after two SACKs", at, due, within=0.003, at=at)
    t.equals("section 6.2", _EXPIRED, run.flow["timeouts"], 0)


@case("lost-retransmission", "Loss of a retransmission", "section 6.2, step 5")
def _lost_again(t: Trial) -> None:
    """The retransmission is lost, too."""
    first = packet_at(t.shared(_run(t, 4.0)), 3.0)
    sent = t.run(_run(t, 4.0, lost=[first])).data()
    second = next(index for index, one in enumerate(sent) if one.retransmission)
    run = t.run(_run(t, 5.0, lost=[first, second]))
    again = [one.at_s for one in run.again() if one.number == first]
    t.expect("section 6.2, step 5: lost retransmissions are detected", "retransmissions", len(again), 2)
    t.equals("section 3.1", _EXPIRED, run.flow["timeouts"], 0)
    if len(again) >= 2:
        gap, rtt = again[1] - again[0], run.at("srtt", again[0])
        t.expect("section 6.2, step 5", "seconds between them", gap, 0.8 * rtt, 1.6 * rtt, at=again[1])


@case("reordering", "Reordering within the window", "section 6.2, step 4")
def _tolerates(t: Trial) -> None:
    reduces(t)
    run = t.run(_run(t, 7.0, 120, link=_late(t, (4.0, 5.0, 6.0), 0.012)))
    seen = run.first(_SEEN, lambda value: value == 1, 3.5)
    source = "section 6.2, step 3: detect data segment reordering"
    text, good = "RACK.reordering_seen after packets arrived out of order", seen is not None and seen.at_s < 4
    t.holds(source, text, good, "true", "false" if seen is None else f"true at {seen.at_s:.4g} s")
    again = run.again(3.5)
    source, text = "section 6.2, step 4: reordering within min_RTT / 4 is no loss", "retransmissions after reordering"
    t.equals(source, f"{text} was seen", len(again), 0, at=again[0].at_s if again else 3.5)


@case("dsack", "The window widens by DSACKs", "section 6.2, step 4")
def _widens(t: Trial) -> None:
    """Reordering beyond a quarter of min_RTT."""
    reduces(t)
    run = t.run(_run(t, 10.0, 120, link=_late(t, (4.0, 5.0, 6.0, 7.0, 8.0, 9.0), 0.06)))
    source = "section 6.2, step 4: RACK.reo_wnd_mult += 1 for a round trip with a DSACK"
    t.expect(source, "RACK.reo_wnd_mult", max(point.value for point in run.points(_MULT)), 2)
    first, last = [one for one in run.again(4.0) if one.at_s < 5.0], run.again(9.0)
    text = "spurious retransmissions of the {} reordering"
    t.expect("section 6.2, step 4", text.format("first"), len(first), 1)
    t.equals("section 6.2, step 4", text.format("sixth"), len(last), 0, at=9.0)


@case("probe-single", "Probe with one segment in flight", "section 7.2")
def _single(t: Trial) -> None:
    run = _tail(t, 6.0, [29], (2.0, 10), (4.0, 5))
    at, probe, last = _probe(run, "section 7.2")
    source = "section 7.2: PTO = 2 * SRTT + WCDelAckT with one segment in flight"
    pto = 2 * run.at("srtt", last) + _MAX_ACK_DELAY_S
    t.equals(source, "seconds from the last ACK to the probe", at - last, pto, within=0.004, at=at)
    t.equals("section 7.3: the probe is the last segment", "number of the probe", probe.number, 29, at=at)
    t.equals("section 7.3", _EXPIRED, run.flow["timeouts"], 0)


@case("probe-several", "Probe with several segments in flight", "section 7.2")
def _several(t: Trial) -> None:
    run = _tail(t, 6.0, [27, 28, 29], (2.0, 10))
    at, probe, last = _probe(run, "section 7.2")
    source = "section 7.2: PTO = 2 * SRTT with more than one segment in flight"
    pto = 2 * run.at("srtt", last)
    t.equals(source, "seconds from the last ACK to the probe", at - last, pto, within=0.004, at=at)
    t.equals("section 7.3: the probe is the last segment", "number of the probe", probe.number, 29, at=at)
    repaired = [one.number for one in run.again(at + 1e-6)]
    source, text = "section 7.1: the ACK of the probe lets RACK detect the other losses", "segments retransmitted"
    got = ", ".join(map(str, repaired))
    t.holds(source, f"{text} after the probe", repaired == [27, 28], "27, 28", got, at=at)
    t.equals("section 7.1", _EXPIRED, run.flow["timeouts"], 0)


@case("probe-new-data", "Probe with new data", "section 7.3")
def _new_data(t: Trial) -> None:
    """All packets of a flight are lost while the application has more to send."""
    run = t.run(_run(t, 5.0, link=steps((3, {"loss": 1.0}), (3.9, {"loss": 0.0}))))
    at = run.event("loss-probe", "section 7.3", 3.0)
    sent = _sent(run, at)
    got = "nothing" if sent is None else "a retransmission" if sent.retransmission else "new data"
    source = "section 7.3: the probe is a new segment where there is one"
    t.holds(source, "the probe", got == "new data", "new data", got, at=at)
    pto = 2 * run.before("srtt", at)
    t.expect("section 7.2: PTO is at most the RTO", "RTO − PTO", pto, high=run.before("rto", at))


@case("probe-once", "One probe per tail", "section 7.3")
def _only_one(t: Trial) -> None:
    run = _tail(t, 8.0, [29, 30], (2.0, 10))
    t.equals("section 7.3: one probe per tail", "probes", run.flow["loss_probes"], 1)
    at, _, last = _probe(run, "section 7.3")
    expired, rto = run.event("timeout", "section 7.3", at), run.at("rto", last)
    source = "section 7.3: after the probe the retransmission timer expires"
    t.expect(source, "seconds from the probe to the timeout", expired - at, 0.5 * rto, 2.1 * rto, at=expired)


@case("probe-response", "Response to a repaired loss", "section 7.4.2")
def _responds(t: Trial) -> None:
    reduces(t)
    run = _tail(t, 6.0, [29], (2.0, 10), (4.0, 5))
    at, _, _ = _probe(run, "section 7.4")
    cwnd, ssthresh = run.before("cwnd", at), run.before("ssthresh", at)
    after, lowered = run.at("cwnd", run.end_s), run.at("ssthresh", run.end_s)
    source = "section 7.4.2: a loss that the probe repaired counts as a congestion event"
    expected, got = f"cwnd below {cwnd:g} or ssthresh below {ssthresh:g}", f"cwnd {after:g}, ssthresh {lowered:g}"
    t.holds(source, "the window is reduced", after < cwnd or lowered < ssthresh, expected, got, at=at)
