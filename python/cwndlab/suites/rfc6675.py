"""Statements of RFC 6675 on loss recovery by SACK: they judge the transport under an algorithm.

Sections, steps and rules are those of the RFC; amounts are in segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup, Suite
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import (
    acks,
    data,
    event,
    is_model_based,
    is_of_catalogue,
    packet_at,
    scenario,
    with_recovery,
    writes,
)
from cwndlab.suites.statements import Statement, at_least, at_most, between, equals, holds, unseen
from cwndlab.suites.trace import Trace

PATH = Path("10 Mbit/s, 100 ms", 10e6, 0.1)
#: The losses of a window, as distances from the first one.
_HOLES = (0, 2, 5, 6)


def _run(bench: Bench, duration_s: float, **options: Any) -> dict[str, Any]:
    stack = {"initial_ssthresh": 40, "undo": False, "tail_loss_probe": False, **options.pop("stack", {})}
    algorithm = with_recovery(bench, "sack")
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


def _several(bench: Bench) -> Setup:
    base = bench.shared(_run(bench, 5.0))
    first = packet_at(base, 3.0)
    lost = [first + hole for hole in _HOLES]
    return Setup(
        scenario=_run(bench, 5.0, lost=lost),
        moments={"first": float(first), "halves": float(is_of_catalogue(bench, "reno"))},
    )


def _recovery(trace: Trace) -> tuple[float, float]:
    begun = event(trace, "recovery", "section 5, step 4")
    return begun, event(trace, "recovered", "section 5", begun)


def _detects(trace: Trace) -> Iterator[Statement]:
    begun, _ = _recovery(trace)
    first = trace.moments["first"]
    sacked = trace.before("transport.sacked_segments", begun), trace.at("transport.sacked_segments", begun)
    yield at_most(
        "section 5, step 1: IsLost (SND.UNA), with a DupThresh of 3",
        "segments SACKed before the recovery",
        sacked[0],
        2,
        at_s=begun,
    )
    yield equals("section 5, step 1", "segments SACKed when it begins", sacked[1], 3, at_s=begun)
    again = next((one for one in data(trace) if one.retransmission), None)
    if again is None:
        raise unseen("section 5, step 4.3", "a retransmission", "none", begun)
    yield equals("section 5, step 4.3", "time of the first retransmission", again.at_s, begun, within=1e-6)
    yield equals(
        "section 5, step 4.3: the first data segment presumed dropped, at HighACK + 1",
        "its number",
        again.number,
        first,
        at_s=begun,
    )


def _limited(trace: Trace) -> Iterator[Statement]:
    begun, _ = _recovery(trace)
    first = trace.moments["first"]
    early = [one for one in acks(trace, begun - 0.2, begun) if one.number == first and one.sack][:2]
    for count, one in enumerate(early, 1):
        sent = [packet for packet in data(trace) if abs(packet.at_s - one.arrival_s) < 1e-9]
        at = one.arrival_s
        # The first SACK may acknowledge a segment that a delayed ACK held back.
        room = sum(
            trace.at(name, at) - trace.before(name, at)
            for name in ("transport.cwnd_segments", "transport.una_segments")
        )
        yield holds(
            "section 5, step 3: limited transmit",
            f"new segments sent on SACK {count}",
            1 <= len(sent) <= 1 + max(room, 0) and not any(packet.retransmission for packet in sent),
            expected="1, and what the window has room for",
            got=str(len(sent)),
            at_s=one.arrival_s,
        )


def _enters(trace: Trace) -> Iterator[Statement]:
    begun, ended = _recovery(trace)
    flight = trace.before("transport.flight_size_segments", begun)
    ssthresh = trace.at("transport.ssthresh_segments", begun)
    if trace.moments["halves"]:
        yield between(
            "section 5, step 4.2: ssthresh = cwnd = FlightSize / 2",
            "ssthresh",
            ssthresh,
            (flight - 3) / 2 - 1,
            flight / 2,
            at_s=begun,
        )
    yield between(
        "section 5, step 4.2: ssthresh = cwnd",
        "cwnd",
        trace.at("transport.cwnd_segments", begun),
        ssthresh - 1,
        ssthresh,
        at_s=begun,
    )
    point = trace.before("transport.next_segments", begun)
    yield at_least(
        "section 5, step 4.1: RecoveryPoint = HighData; the recovery ends with its acknowledgment",
        "SND.UNA at the end",
        trace.at("transport.una_segments", ended),
        point,
        at_s=ended,
    )
    before = trace.before("transport.una_segments", ended)
    yield at_most("section 5", "SND.UNA before the end", before, point - 1, at_s=ended)


def _repairs(trace: Trace) -> Iterator[Statement]:
    begun, _ = _recovery(trace)
    first = trace.moments["first"]
    again = [one for one in data(trace) if one.retransmission]
    wanted = [first + hole for hole in _HOLES]
    yield holds(
        "section 4, NextSeg, rule 1: the unSACKed segments that are lost",
        "retransmitted segments, in order",
        [float(one.number) for one in again] == wanted,
        expected=", ".join(f"{one:g}" for one in wanted),
        got=", ".join(str(one.number) for one in again),
        at_s=begun,
    )
    if again:
        took = again[-1].at_s - begun
        limit = 1.1 * trace.at("transport.rtt_s", begun)
        yield at_most("section 5: all holes of a window are repaired in a round trip", "seconds", took, limit)
    # With a smaller reduction there is room for new data before the SACKs tell that the last hole is lost.
    if trace.at("transport.cwnd_segments", begun) <= 0.75 * trace.before("transport.flight_size_segments", begun):
        new = [one for one in data(trace, begun) if not one.retransmission and one.at_s < again[-1].at_s]
        yield equals("section 4, NextSeg, rules 1 and 2", "new segments before the last retransmission", len(new), 0)


def _pipe(trace: Trace) -> Iterator[Statement]:
    begun, ended = _recovery(trace)
    worst, at = 0.0, begun
    for one in acks(trace, begun, ended):
        # The first retransmission is sent regardless of cwnd (step 4.3).
        if one.arrival_s <= begun + 1e-9 or one.arrival_s >= ended - 1e-9:
            continue
        now = one.arrival_s
        sent = trace.at("transport.sent_packets", now) - trace.before("transport.sent_packets", now)
        excess = trace.at("transport.in_flight_segments", now) - trace.at("transport.cwnd_segments", now)
        if sent > 0 and excess > worst:
            worst, at = excess, now
    yield at_most(
        "section 5, step C: segments are sent while cwnd − pipe ≥ 1 SMSS",
        "pipe above cwnd after an ACK that lets segments be sent",
        worst,
        0,
        at_s=at,
    )
    low = [
        one.arrival_s
        for one in acks(trace, begun, ended)
        if begun + 1e-9 < one.arrival_s < ended - 1e-9
        and trace.at("transport.cwnd_segments", one.arrival_s) - trace.at("transport.in_flight_segments", one.arrival_s)
        >= 1
    ]
    yield equals("section 5, step C", "ACKs that leave room for a segment", len(low), 0, at_s=low[0] if low else begun)


def _tail(bench: Bench) -> Setup:
    """A transfer of thirty segments, of which the 21st and the last two are lost."""
    work = writes((0.0, 20), (2.0, 30))
    return Setup(scenario=_run(bench, 6.0, workload=work, lost=[40, 48, 49]))


def _rescue(trace: Trace) -> Iterator[Statement]:
    begun, _ = _recovery(trace)
    again = [one for one in data(trace) if one.retransmission]
    expired = trace.events_of("timeout", after_s=begun)
    limit = float(expired[0]["at_s"]) if expired else trace.end_s
    before = [one.number for one in again if one.at_s < limit]
    yield holds(
        "section 4, NextSeg, rule 4: one rescue retransmission with the highest outstanding unSACKed segment",
        "retransmissions before a timeout",
        before[:2] == [40, 49],
        expected="40, 49",
        got=", ".join(map(str, before)),
        at_s=begun,
    )


def _reduces(bench: Bench) -> str:
    return "a model sets the window" if is_model_based(bench) else ""


def _case(name: str, title: str, source: str, check: Any, make: Any = _several, applies: Any = _reduces) -> Case:
    return Case(name=name, title=title, source=source, scenario=make, check=check, paths=(PATH,), applies=applies)


CASES = (
    _case("loss-detection", "Loss by DupThresh SACKed segments", "section 5, step 1", _detects),
    _case("limited-transmit", "The first two SACKs", "section 5, step 3", _limited),
    _case("recovery-point", "Entry and end of the recovery", "section 5, step 4", _enters),
    _case("next-segment", "Which segments are sent", "section 4, NextSeg", _repairs),
    _case("pipe", "How many segments are sent", "section 5, step C", _pipe),
    _case("rescue", "The rescue retransmission", "section 4, NextSeg, rule 4", _rescue, _tail),
)

SUITE = Suite(name="rfc6675", title="SACK-based loss recovery", source="RFC 6675", cases=CASES, reference="reno")
