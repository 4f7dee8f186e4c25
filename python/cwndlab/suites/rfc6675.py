"""Statements of RFC 6675 on loss recovery by SACK: they judge the transport under an algorithm.

Sections, steps and rules are those of the RFC; amounts are in segments.
"""

from __future__ import annotations

from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.rfc import PATH, is_of_catalogue, packet_at, reduces, scenario, writes
from cwndlab.suites.statements import NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial

CASES, case = cases((PATH,))
#: The losses of a window, as distances from the first one.
_HOLES = (0, 2, 5, 6)


def _run(t: Trial, duration_s: float, **options: Any) -> dict[str, Any]:
    stack = {"initial_ssthresh": 40, "undo": False, "tail_loss_probe": False}
    return scenario(t, duration_s, recovery="sack", stack=stack, **options)


def _several(t: Trial) -> tuple[Trace, int, float, float]:
    """The run, the first lost segment, and the times at which the recovery begins and ends."""
    reduces(t)
    first = packet_at(t.shared(_run(t, 5.0)), 3.0)
    run = t.run(_run(t, 5.0, lost=[first + hole for hole in _HOLES]))
    return run, first, *run.recovery("section 5, step 4", "section 5")


@case("loss-detection", "Loss by DupThresh SACKed segments", "section 5, step 1")
def _detects(t: Trial) -> None:
    run, first, begun, _ = _several(t)
    before, after = run.before("sacked", begun), run.at("sacked", begun)
    source = "section 5, step 1: IsLost (SND.UNA), with a DupThresh of 3"
    t.expect(source, "segments SACKed before the recovery", before, high=2, at=begun)
    t.equals("section 5, step 1", "segments SACKed when it begins", after, 3, at=begun)
    again = next(iter(run.again()), None)
    if again is None:
        raise NotObservedError("section 5, step 4.3", "a retransmission", "none", begun)
    t.equals("section 5, step 4.3", "time of the first retransmission", again.at_s, begun, within=1e-6)
    source = "section 5, step 4.3: the first data segment presumed dropped, at HighACK + 1"
    t.equals(source, "its number", again.number, first, at=begun)


@case("limited-transmit", "The first two SACKs", "section 5, step 3")
def _limited(t: Trial) -> None:
    run, first, begun, _ = _several(t)
    early = [one.arrival_s for one in run.acks(begun - 0.2, begun) if one.number == first and one.sack][:2]
    for count, at in enumerate(early, 1):
        sent = [packet.retransmission for packet in run.data() if abs(packet.at_s - at) < 1e-9]
        # The first SACK may acknowledge a segment that a delayed ACK held back.
        room = 1 + max(run.step("cwnd", at) + run.step("una", at), 0)
        text, good = f"new segments sent on SACK {count}", 1 <= len(sent) <= room and not any(sent)
        expected = "1, and what the window has room for"
        t.holds("section 5, step 3: limited transmit", text, good, expected, str(len(sent)), at=at)


@case("recovery-point", "Entry and end of the recovery", "section 5, step 4")
def _enters(t: Trial) -> None:
    run, _, begun, ended = _several(t)
    flight, ssthresh, cwnd = run.before("flight_size", begun), run.at("ssthresh", begun), run.at("cwnd", begun)
    if is_of_catalogue(t, "reno"):
        source = "section 5, step 4.2: ssthresh = cwnd = FlightSize / 2"
        t.expect(source, "ssthresh", ssthresh, (flight - 3) / 2 - 1, flight / 2, at=begun)
    t.expect("section 5, step 4.2: ssthresh = cwnd", "cwnd", cwnd, ssthresh - 1, ssthresh, at=begun)
    point, after, before = run.before("next", begun), run.at("una", ended), run.before("una", ended)
    source = "section 5, step 4.1: RecoveryPoint = HighData; the recovery ends with its acknowledgment"
    t.expect(source, "SND.UNA at the end", after, point, at=ended)
    t.expect("section 5", "SND.UNA before the end", before, high=point - 1, at=ended)


@case("next-segment", "Which segments are sent", "section 4, NextSeg")
def _repairs(t: Trial) -> None:
    run, first, begun, _ = _several(t)
    again = run.again()
    wanted, got = [first + hole for hole in _HOLES], [one.number for one in again]
    source = "section 4, NextSeg, rule 1: the unSACKed segments that are lost"
    text = "retransmitted segments, in order"
    t.holds(source, text, got == wanted, ", ".join(map(str, wanted)), ", ".join(map(str, got)), at=begun)
    if again:
        source, took = "section 5: all holes of a window are repaired in a round trip", again[-1].at_s - begun
        t.expect(source, "seconds", took, high=1.1 * run.at("rtt", begun))
    # With a smaller reduction there is room for new data before the SACKs tell that the last hole is lost.
    if run.at("cwnd", begun) <= 0.75 * run.before("flight_size", begun):
        new = [one for one in run.data(begun) if not one.retransmission and one.at_s < again[-1].at_s]
        text = "new segments before the last retransmission"
        t.equals("section 4, NextSeg, rules 1 and 2", text, len(new), 0)


@case("pipe", "How many segments are sent", "section 5, step C")
def _pipe(t: Trial) -> None:
    run, _, begun, ended = _several(t)
    # The first retransmission is sent regardless of cwnd (step 4.3).
    times = [one.arrival_s for one in run.acks(begun, ended) if begun + 1e-9 < one.arrival_s < ended - 1e-9]
    excess = [(run.at("in_flight", at) - run.at("cwnd", at), at) for at in times]
    sending = [(value, at) for value, at in excess if run.step("sent", at) > 0]
    worst, at = max([(0.0, begun), *sending], key=lambda one: one[0])
    source = "section 5, step C: segments are sent while cwnd − pipe ≥ 1 SMSS"
    t.expect(source, "pipe above cwnd after an ACK that lets segments be sent", worst, high=0, at=at)
    low = [at for value, at in excess if value <= -1]
    text = "ACKs that leave room for a segment"
    t.equals("section 5, step C", text, len(low), 0, at=low[0] if low else begun)


@case("rescue", "The rescue retransmission", "section 4, NextSeg, rule 4")
def _rescue(t: Trial) -> None:
    """A transfer of thirty segments, of which the 21st and the last two are lost."""
    reduces(t)
    run = t.run(_run(t, 6.0, workload=writes((0.0, 20), (2.0, 30)), lost=[40, 48, 49]))
    begun, _ = run.recovery("section 5, step 4", "section 5")
    limit = next(iter(run.times("timeout", after_s=begun)), run.end_s)
    before = [one.number for one in run.again() if one.at_s < limit]
    source = "section 4, NextSeg, rule 4: one rescue retransmission with the highest outstanding unSACKed segment"
    got = ", ".join(map(str, before))
    t.holds(source, "retransmissions before a timeout", before[:2] == [40, 49], "40, 49", got, at=begun)
