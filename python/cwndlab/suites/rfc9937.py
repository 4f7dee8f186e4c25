"""Statements of RFC 9937 on proportional rate reduction: they judge the transport under an algorithm.

Sections are those of the RFC; amounts are in segments. What was delivered is computed from SND.UNA and the SACKed
segments, independently of the transport's variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, NamedTuple

from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup, Suite
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import acks, event, is_model_based, packet_at, scenario, with_recovery
from cwndlab.suites.statements import Statement, at_least, at_most, between, equals, unseen
from cwndlab.suites.trace import Trace

PATH = Path("10 Mbit/s, 100 ms", 10e6, 0.1)


def _run(bench: Bench, duration_s: float, **options: Any) -> dict[str, Any]:
    stack = {"initial_ssthresh": 60, "undo": False, "pacing": "off", **options.pop("stack", {})}
    algorithm = with_recovery(bench, "rack")
    return scenario(
        bench,
        duration_s,
        profile="rfc",
        buffer_segments=2000,
        stack=stack,
        algorithm=algorithm,
        packets=True,
        **options,
    )


def _lose(bench: Bench, share: float) -> Setup:
    """One segment at least, and a share of the window, are lost in one burst."""
    base = bench.shared(_run(bench, 5.0))
    first = packet_at(base, 3.0)
    count = max(int(share * base.at("transport.cwnd_segments", 3.0)), 1)
    return Setup(scenario=_run(bench, 5.0, lost=range(first, first + count)))


def _one(bench: Bench) -> Setup:
    return _lose(bench, 0)


def _most(bench: Bench) -> Setup:
    return _lose(bench, 0.7)


class _Ack(NamedTuple):
    """An ACK in recovery, as RFC 9937, section 6, sees it."""

    at_s: float
    delivered: float
    """DeliveredData."""
    advanced: bool
    """SND.UNA advanced."""
    lost: float
    """Newly marked lost."""
    in_flight: float
    """Before anything is sent."""
    sent: float


def _of_recovery(trace: Trace) -> tuple[float, float, list[_Ack]]:
    begun = event(trace, "recovery", "section 6")
    ended = event(trace, "recovered", "section 6", begun)
    made = []
    times = sorted({one.arrival_s for one in acks(trace, begun, ended)})
    for at in times:
        if at >= ended - 1e-9:
            break

        def step(name: str, at: float = at) -> float:
            return trace.at(f"transport.{name}", at) - trace.before(f"transport.{name}", at)

        sent = step("sent_packets")
        made.append(
            _Ack(
                at_s=at,
                delivered=step("una_segments") + step("sacked_segments"),
                advanced=step("una_segments") > 0,
                lost=step("lost_segments"),
                in_flight=trace.at("transport.in_flight_segments", at) - sent,
                sent=sent,
            )
        )
    if not made:
        raise unseen("section 6", "ACKs in recovery", "none", begun)
    return begun, ended, made


def _recover_fs(trace: Trace, begun: float) -> float:
    """RecoverFS: SND.NXT − SND.UNA less what was SACKed before, plus what the ACK newly delivers (section 6)."""
    flight = trace.before("transport.flight_size_segments", begun)
    return flight - trace.before("transport.sacked_segments", begun) + 1


def _proportional(trace: Trace) -> Iterator[Statement]:
    begun, ended, recovery = _of_recovery(trace)
    ssthresh = int(trace.at("transport.ssthresh_segments", begun))
    total, delivered, out, worst, at = _recover_fs(trace, begun), 0.0, 0.0, 0.0, begun
    for one in recovery:
        delivered += one.delivered
        if one.in_flight > ssthresh:
            # RecoverFS may count a segment more or less, by the moment at which it is taken.
            allowed = ceil(delivered * ssthresh / (total - 2)) - out
            if one is not recovery[0] and one.sent - max(allowed, 0) > worst:
                worst, at = one.sent - max(allowed, 0), one.at_s
        out += one.sent
    yield at_most(
        "section 6: SndCnt = CEIL(prr_delivered * ssthresh / RecoverFS) − prr_out while inflight > ssthresh",
        "segments sent beyond SndCnt by an ACK",
        worst,
        0,
        at_s=at,
    )
    yield between(
        "section 6.2: the window is reduced in proportion over the recovery",
        "segments sent over segments delivered",
        out / max(delivered, 1),
        0.8 * ssthresh / total,
        1.2 * ssthresh / total + 2 / max(delivered, 1),
        at_s=ended,
    )


def _first_ack(trace: Trace) -> Iterator[Statement]:
    begun, _, recovery = _of_recovery(trace)
    yield equals(
        "section 6: force a fast retransmit upon entering recovery", "segments", recovery[0].sent, 1, at_s=begun
    )


def _exit(trace: Trace) -> Iterator[Statement]:
    begun, ended, recovery = _of_recovery(trace)
    ssthresh = trace.at("transport.ssthresh_segments", begun)
    yield between(
        "section 6: at the end of the recovery cwnd = ssthresh",
        "cwnd",
        trace.at("transport.cwnd_segments", ended),
        ssthresh - 1,
        ssthresh + 1,
        at_s=ended,
    )
    yield between(
        "section 3: the flight size at the end is as close as possible to ssthresh",
        "segments in flight",
        recovery[-1].in_flight + recovery[-1].sent,
        ssthresh - 3,
        ssthresh + 2,
        at_s=ended,
    )


def _bounded(trace: Trace) -> Iterator[Statement]:
    begun, _, recovery = _of_recovery(trace)
    ssthresh = int(trace.at("transport.ssthresh_segments", begun))
    low = [one for one in recovery if one.in_flight <= ssthresh]
    if not low:
        raise unseen("section 6", "inflight ≤ ssthresh", "never in this recovery", begun)
    delivered = out = worst = 0.0
    at = begun
    for one in recovery:
        delivered += one.delivered
        if one.in_flight <= ssthresh and one is not recovery[0]:
            safe = 1.0 if one.advanced and one.lost == 0 else 0.0
            allowed = min(ssthresh - one.in_flight, max(delivered - out, one.delivered) + safe)
            if one.sent - max(allowed, 0) > worst:
                worst, at = one.sent - allowed, one.at_s
        out += one.sent
    yield at_most(
        "section 6: SndCnt = MIN(ssthresh − inflight, MAX(prr_delivered − prr_out, DeliveredData) + 1 on a safe ACK)",
        "segments sent beyond SndCnt by an ACK",
        worst,
        0,
        at_s=at,
    )
    largest = max(recovery[1:], key=lambda one: one.sent - one.delivered)
    yield at_most(
        "section 4: no burst after heavy losses: SSRB sends at most a segment more than was delivered",
        "segments sent beyond those delivered by an ACK",
        largest.sent - largest.delivered,
        # Segments that earlier ACKs allowed and that were not sent remain (prr_delivered − prr_out).
        max(1, 1 + _unused(recovery)),
        at_s=largest.at_s,
    )


def _unused(recovery: list[_Ack]) -> float:
    """The largest number of segments delivered but not sent for, before an ACK."""
    delivered = out = largest = 0.0
    for one in recovery:
        largest = max(largest, delivered - out)
        delivered, out = delivered + one.delivered, out + one.sent
    return largest


def _safe(trace: Trace) -> Iterator[Statement]:
    _, _, recovery = _of_recovery(trace)
    advanced = [one for one in recovery[1:] if one.advanced and one.lost == 0]
    yield at_least("section 6: SafeACK", "ACKs that advance SND.UNA without further losses", len(advanced), 1)
    grown = [one for one in advanced if one.sent > one.delivered]
    yield at_least(
        "sections 5, 6: a safe ACK lets one segment more be sent (slow start reduction bound)",
        "safe ACKs with more segments sent than delivered",
        len(grown),
        1,
        at_s=advanced[0].at_s if advanced else None,
    )
    unsafe = [one for one in recovery[1:] if not one.advanced and one.in_flight <= 1e9 and one.sent > one.delivered + 1]
    yield equals("section 5: conservative reduction bound", "other ACKs that send more", len(unsafe), 0)


def _reduces(bench: Bench) -> str:
    return "a model sets the window" if is_model_based(bench) else ""


def _case(name: str, title: str, source: str, make: Any, check: Any) -> Case:
    return Case(name=name, title=title, source=source, scenario=make, check=check, paths=(PATH,), applies=_reduces)


CASES = (
    _case("proportional", "Proportional reduction", "section 6", _one, _proportional),
    _case("first-retransmission", "The fast retransmit", "section 6", _one, _first_ack),
    _case("exit", "End of the recovery", "section 6", _one, _exit),
    _case("bound", "Reduction bound after heavy losses", "section 6", _most, _bounded),
    _case("safe-ack", "Safe ACKs", "sections 5, 6", _most, _safe),
)

SUITE = Suite(name="rfc9937", title="Proportional rate reduction", source="RFC 9937", cases=CASES, reference="reno")
