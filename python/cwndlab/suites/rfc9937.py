"""Statements of RFC 9937 on proportional rate reduction: they judge the transport under an algorithm.

Sections are those of the RFC; amounts are in segments. What was delivered is computed from SND.UNA and the SACKed
segments, independently of the transport's variables.
"""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

from cwndlab.suites.case import cases
from cwndlab.suites.rfc import PATH, packet_at, reduces, scenario
from cwndlab.suites.statements import NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial

CASES, case = cases((PATH,))


class _Ack(NamedTuple):
    """An ACK in recovery, as RFC 9937, section 6, sees it."""

    at_s: float
    delivered: float
    """DeliveredData."""
    is_safe: bool
    """SND.UNA advanced, and nothing was newly marked lost."""
    advanced: bool
    in_flight: float
    """Before anything is sent."""
    sent: float
    prr_delivered: float
    """With this ACK."""
    prr_out: float
    """Before this ACK."""


def _run(t: Trial, **options: Any) -> dict[str, Any]:
    stack = {"initial_ssthresh": 60, "undo": False, "pacing": "off"}
    return scenario(t, 5.0, recovery="rack", stack=stack, **options)


def _recovery(t: Trial, share: float = 0.0) -> tuple[Trace, float, float, list[_Ack]]:
    """A run in which a segment at least, and a share of the window, are lost in one burst: the times at which the
    recovery begins and ends, and the ACKs in it."""
    reduces(t)
    base = t.shared(_run(t))
    first, count = packet_at(base, 3.0), max(int(share * base.at("cwnd", 3.0)), 1)
    run = t.run(_run(t, lost=range(first, first + count)))
    begun, ended = run.recovery("section 6")
    made: list[_Ack] = []
    delivered = out = 0.0
    for at in sorted({one.arrival_s for one in run.acks(begun, ended)}):
        if at >= ended - 1e-9:
            break
        sent, una = run.step("sent", at), run.step("una", at)
        safe, flight = una > 0 and run.step("lost", at) == 0, run.at("in_flight", at) - sent
        now = una + run.step("sacked", at)
        delivered += now
        made.append(_Ack(at, now, safe, una > 0, flight, sent, delivered, out))
        out += sent
    if not made:
        raise NotObservedError("section 6", "ACKs in recovery", "none", begun)
    return run, begun, ended, made


@case("proportional", "Proportional reduction", "section 6")
def _proportional(t: Trial) -> None:
    run, begun, ended, recovery = _recovery(t)
    ssthresh = int(run.at("ssthresh", begun))
    # RecoverFS: SND.NXT − SND.UNA less what was SACKed before, plus what the ACK newly delivers (section 6).
    total = run.before("flight_size", begun) - run.before("sacked", begun) + 1
    # RecoverFS may count a segment more or less, by the moment at which it is taken.
    excess = [
        (one.sent - max(ceil(one.prr_delivered * ssthresh / (total - 2)) - one.prr_out, 0), one.at_s)
        for one in recovery[1:]
        if one.in_flight > ssthresh
    ]
    worst, at = max([(0.0, begun), *excess], key=lambda one: one[0])
    source = "section 6: SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) − prr_out while inflight > ssthresh"
    t.expect(source, "segments sent beyond SndCnt by an ACK", worst, high=0, at=at)
    last = recovery[-1]
    delivered, share = max(last.prr_delivered, 1), ssthresh / total
    ratio = (last.prr_out + last.sent) / delivered
    source = "section 6.2: the window is reduced in proportion over the recovery"
    text = "segments sent over segments delivered"
    t.expect(source, text, ratio, 0.8 * share, 1.2 * share + 2 / delivered, at=ended)


@case("first-retransmission", "The fast retransmit", "section 6")
def _first_ack(t: Trial) -> None:
    _, begun, _, recovery = _recovery(t)
    source = "section 6: force a fast retransmit upon entering recovery"
    t.equals(source, "segments", recovery[0].sent, 1, at=begun)


@case("exit", "End of the recovery", "section 6")
def _exit(t: Trial) -> None:
    run, begun, ended, recovery = _recovery(t)
    ssthresh, cwnd = run.at("ssthresh", begun), run.at("cwnd", ended)
    flight = recovery[-1].in_flight + recovery[-1].sent
    source = "section 6: at the end of the recovery cwnd = ssthresh"
    t.expect(source, "cwnd", cwnd, ssthresh - 1, ssthresh + 1, at=ended)
    source = "section 3: the flight size at the end is as close as possible to ssthresh"
    t.expect(source, "segments in flight", flight, ssthresh - 3, ssthresh + 2, at=ended)


@case("bound", "Reduction bound after heavy losses", "section 6")
def _bounded(t: Trial) -> None:
    run, begun, _, recovery = _recovery(t, 0.7)
    ssthresh = int(run.at("ssthresh", begun))
    if not any(one.in_flight <= ssthresh for one in recovery):
        raise NotObservedError("section 6", "inflight ≤ ssthresh", "never in this recovery", begun)
    worst, at = 0.0, begun
    for one in recovery[1:]:
        limit = max(one.prr_delivered - one.prr_out, one.delivered) + float(one.is_safe)
        allowed = min(ssthresh - one.in_flight, limit)
        if one.in_flight <= ssthresh and one.sent - max(allowed, 0) > worst:
            worst, at = one.sent - allowed, one.at_s
    source = (
        "section 6: SndCnt = MIN(ssthresh − inflight, MAX(prr_delivered − prr_out, DeliveredData) + 1 on a safe ACK)"
    )
    t.expect(source, "segments sent beyond SndCnt by an ACK", worst, high=0, at=at)
    largest = max(recovery[1:], key=lambda one: one.sent - one.delivered)
    # Segments that earlier ACKs allowed and that were not sent remain (prr_delivered − prr_out).
    unused = max(one.prr_delivered - one.delivered - one.prr_out for one in recovery)
    source = "section 4: no burst after heavy losses: SSRB sends at most a segment more than was delivered"
    text, got = "segments sent beyond those delivered by an ACK", largest.sent - largest.delivered
    t.expect(source, text, got, high=max(1, 1 + unused), at=largest.at_s)


@case("safe-ack", "Safe ACKs", "sections 5, 6")
def _safe(t: Trial) -> None:
    _, _, _, recovery = _recovery(t, 0.7)
    safe = [one for one in recovery[1:] if one.is_safe]
    text = "ACKs that advance SND.UNA without further losses"
    t.expect("section 6: SafeACK", text, len(safe), 1)
    grown = [one for one in safe if one.sent > one.delivered]
    source = "sections 5, 6: a safe ACK lets one segment more be sent (slow start reduction bound)"
    text = "safe ACKs with more segments sent than delivered"
    t.expect(source, text, len(grown), 1, at=safe[0].at_s if safe else None)
    unsafe = [one for one in recovery[1:] if not one.advanced and one.sent > one.delivered + 1]
    t.equals("section 5: conservative reduction bound", "other ACKs that send more", len(unsafe), 0)
