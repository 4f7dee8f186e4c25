"""Statements of RFC 5681 on TCP congestion control: the window of an algorithm, and the transport under it.

Sections, equations and steps are those of the RFC; windows are in segments. Without SACK, as in the RFC, losses are
detected by duplicate ACKs.
"""

from __future__ import annotations

import itertools
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
_START = 40


def _run(bench: Bench, duration_s: float, **options: Any) -> dict[str, Any]:
    stack = {"sack": False, "initial_ssthresh": _START, "undo": False, **options.pop("stack", {})}
    algorithm = with_recovery(bench, "newreno")
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


def _plain(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 5.0))


def _no_loss(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 0.9, stack={"initial_ssthresh": 100_000}))


def _one_loss(bench: Bench) -> Setup:
    base = bench.shared(_run(bench, 5.0))
    return Setup(scenario=_run(bench, 5.0, lost=[packet_at(base, 3.0)]))


def _initial(trace: Trace) -> Iterator[Statement]:
    opened = event(trace, "established", "section 3.1")
    first = [one for one in data(trace) if one.at_s < opened + 0.5 * trace.path.rtt_s]
    yield at_most("section 3.1, with the bound of RFC 6928", "segments of the initial window", len(first), 10)
    yield at_least("section 3.1", "segments of the initial window", len(first), 1)


def _slow_start(trace: Trace) -> Iterator[Statement]:
    points = trace.points("transport.cwnd_segments")
    largest = max(later.value - earlier.value for earlier, later in itertools.pairwise(points))
    yield at_most(
        "section 3.1, equation 2: cwnd += min(N, SMSS)", "the largest growth by an ACK in slow start", largest, 1
    )
    count = len(acks(trace, 0, trace.end_s))
    yield equals(
        "section 3.1, equation 2",
        "growth of cwnd by all ACKs",
        points[-1].value - points[0].value,
        count,
        within=2,
        at_s=trace.end_s,
    )


def _avoidance(trace: Trace) -> Iterator[Statement]:
    begin = trace.first("transport.cwnd_segments", lambda value: value >= _START)
    if begin is None:
        raise unseen("section 3.1", "cwnd reaches ssthresh", "not in this run")
    start = begin.at_s + 2 * trace.path.rtt_s
    grown = trace.at("transport.cwnd_segments", trace.end_s) - trace.at("transport.cwnd_segments", start)
    rounds = trace.at("transport.round", trace.end_s) - trace.at("transport.round", start)
    yield equals(
        "section 3.1: in congestion avoidance, cwnd grows by SMSS per RTT",
        "segments per round trip",
        grown / max(rounds, 1),
        1,
        relative=0.1,
        at_s=trace.end_s,
    )


def _recovery(trace: Trace, source: str) -> tuple[float, float]:
    begun = event(trace, "recovery", source)
    return begun, event(trace, "recovered", source, begun)


def _fast_retransmit(trace: Trace) -> Iterator[Statement]:
    begun, _ = _recovery(trace, "section 3.2, step 2")
    again = next((one for one in data(trace) if one.retransmission), None)
    if again is None:
        raise unseen("section 3.2, step 4", "a retransmission", "none")
    duplicates = [one for one in acks(trace, 0, again.at_s + 1e-9) if one.number == again.number]
    yield equals(
        "section 3.2: the arrival of 3 duplicate ACKs",
        "duplicate ACKs before the fast retransmit",
        len(duplicates) - 1,
        3,
        at_s=again.at_s,
    )
    yield equals(
        "section 3.2, step 3: the lost segment starting at SND.UNA",
        "number of the segment",
        again.number,
        trace.at("transport.una_segments", begun),
        at_s=again.at_s,
    )
    third = duplicates[-1].arrival_s
    yield equals("section 3.2, step 3", "time of the retransmission", again.at_s, third, within=1e-6, at_s=third)


def _limited_transmit(trace: Trace) -> Iterator[Statement]:
    begun, _ = _recovery(trace, "section 3.2, step 1")
    lost = trace.at("transport.una_segments", begun)
    duplicates = [one for one in acks(trace, 0, begun) if one.number == lost][1:3]
    for count, one in enumerate(duplicates, 1):
        sent = [packet for packet in data(trace) if abs(packet.at_s - one.arrival_s) < 1e-9]
        yield holds(
            "section 3.2, step 1: a segment of new data on the first and second duplicate ACK",
            f"segments sent on duplicate ACK {count}",
            len(sent) == 1 and not sent[0].retransmission,
            expected="1 of new data",
            got=f"{len(sent)}" + (", a retransmission" if any(packet.retransmission for packet in sent) else ""),
            at_s=one.arrival_s,
        )
    if duplicates:
        before = trace.before("transport.cwnd_segments", duplicates[0].arrival_s)
        after = trace.at("transport.cwnd_segments", duplicates[-1].arrival_s)
        yield equals("section 3.2, step 1: cwnd is unchanged", "cwnd", after, before, at_s=duplicates[-1].arrival_s)


def _fast_recovery(trace: Trace) -> Iterator[Statement]:
    begun, ended = _recovery(trace, "section 3.2, step 2")
    flight = trace.before("transport.flight_size_segments", begun)
    ssthresh = trace.at("transport.ssthresh_segments", begun)
    # Data sent by limited transmit does not count (section 3.2, step 2).
    yield between(
        "section 3.1, equation 4: ssthresh = max(FlightSize / 2, 2)",
        "ssthresh",
        ssthresh,
        (flight - 3) / 2 - 1,
        flight / 2,
        at_s=begun,
    )
    yield equals(
        "section 3.2, step 3: cwnd = ssthresh + 3",
        "cwnd at the fast retransmit",
        trace.at("transport.cwnd_segments", begun),
        int(ssthresh) + 3,
        within=1,
        at_s=begun,
    )
    yield from _inflation(trace, begun, ended)
    yield between(
        "section 3.2, step 6: cwnd = ssthresh",
        "cwnd after the ACK of new data",
        trace.at("transport.cwnd_segments", ended),
        ssthresh - 1,
        ssthresh + 1,
        at_s=ended,
    )


def _inflation(trace: Trace, begun: float, ended: float) -> Iterator[Statement]:
    further = [one.arrival_s for one in acks(trace, begun, ended) if begun < one.arrival_s < ended]
    if len(further) >= 2:
        grown = trace.at("transport.cwnd_segments", further[-1]) - trace.at("transport.cwnd_segments", begun)
        yield equals(
            "section 3.2, step 4: cwnd += SMSS for each further duplicate ACK",
            "growth of cwnd by them",
            grown,
            len(further),
            within=1,
            at_s=further[-1],
        )


def _outage(bench: Bench) -> Setup:
    link = {"schedule": [{"at": "3 s", "loss": 1.0}, {"at": "9 s", "loss": 0.0}]}
    halves = float(is_of_catalogue(bench, "reno"))
    return Setup(scenario=_run(bench, 16.0, link=link, stack={"tail_loss_probe": False}), moments={"halves": halves})


def _timeout(trace: Trace) -> Iterator[Statement]:
    expired = [float(one["at_s"]) for one in trace.events_of("timeout")]
    if len(expired) < 2:
        raise unseen("section 3.1", "the retransmission timer expires twice", f"{len(expired)} times")
    begun = expired[0]
    flight = trace.before("transport.flight_size_segments", begun)
    ssthresh = trace.at("transport.ssthresh_segments", begun)
    if trace.moments["halves"]:
        yield between(
            "section 3.1, equation 4: ssthresh = max(FlightSize / 2, 2)",
            "ssthresh after a timeout",
            ssthresh,
            (flight - 1) / 2 - 1,
            flight / 2,
            at_s=begun,
        )
    cwnd = trace.at("transport.cwnd_segments", begun)
    yield equals("section 3.1: cwnd is the loss window, 1 segment", "cwnd after a timeout", cwnd, 1, at_s=begun)
    yield equals(
        "section 3.1: ssthresh is held constant where a segment that the timer retransmitted is lost again",
        "ssthresh after the second expiry",
        trace.at("transport.ssthresh_segments", expired[1]),
        ssthresh,
        at_s=expired[1],
    )
    yield between(
        "RFC 6298, section 5.5: the timer backs off",
        "time to the second expiry over that to the first",
        (expired[1] - begun) / trace.before("transport.rto_s", begun),
        1.9,
        2.1,
        at_s=expired[1],
    )
    end = trace.first("transport.cwnd_segments", lambda value: value >= ssthresh, begun + 0.01)
    yield holds(
        "section 3.1: slow start up to the new ssthresh",
        "cwnd reaches ssthresh again",
        end is not None,
        expected=f"{ssthresh:g}",
        got="not in this run" if end is None else f"{end.value:g}",
        at_s=None if end is None else end.at_s,
    )


def _idle(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 12.0, workload=writes((0.0, 300), (8.0, 300))))


def _restart(trace: Trace) -> Iterator[Statement]:
    before = trace.before("transport.cwnd_segments", 8.0)
    burst = list(data(trace, 8.0, 8.0 + 0.5 * trace.path.rtt_s))
    yield at_least("section 4.1", "cwnd before the idle period", before, 12)
    yield at_most(
        "section 4.1: RW = min(IW, cwnd) where nothing was sent for more than an RTO",
        "segments of the first burst after the idle period",
        len(burst),
        10,
        at_s=8.0,
    )


def _receiver(trace: Trace) -> Iterator[Statement]:
    sent = acks(trace, 0, trace.end_s)
    begun, ended = _recovery(trace, "section 4.2")
    before = [later.number - earlier.number for earlier, later in itertools.pairwise(sent) if later.arrival_s < begun]
    yield at_most("section 4.2: an ACK for at least every second full-sized segment", "segments", max(before), 2)
    arrived = {one.number: one.arrival_s for one in trace.packets() if one.kind == 0 and not one.lost}
    late = max(
        (
            one.at_s - arrived[one.number - 1]
            for one in trace.packets("bottleneck-reverse")
            if one.kind == 1 and one.number - 1 in arrived and one.at_s >= arrived[one.number - 1] and one.at_s < begun
        ),
        default=0.0,
    )
    yield at_most("section 4.2: within 500 ms of the first unacknowledged segment", "seconds", late, 0.5)
    lost = trace.at("transport.una_segments", begun)
    beyond = [
        one for one in trace.packets() if one.kind == 0 and one.number > lost and one.at_s < begun and not one.lost
    ]
    duplicates = [one for one in trace.packets("bottleneck-reverse") if one.kind == 1 and one.number == lost]
    arrivals = sorted(one.arrival_s for one in beyond if one.arrival_s >= duplicates[0].at_s - 1e-9)
    prompt = all(any(abs(one.at_s - arrival) < 1e-9 for one in duplicates) for arrival in arrivals if arrival < begun)
    yield holds(
        "section 4.2: an immediate duplicate ACK for each out-of-order segment",
        "ACKs of the segments above the hole",
        prompt,
        expected="at once",
        got="at once" if prompt else "some later",
        at_s=begun,
    )
    fills = next((one.arrival_s for one in data(trace) if one.retransmission and one.number == lost), None)
    filled = [one for one in trace.packets("bottleneck-reverse") if one.kind == 1 and one.number > lost]
    yield holds(
        "section 4.2: an immediate ACK where a segment fills a gap",
        "time of the ACK",
        fills is not None and bool(filled) and abs(filled[0].at_s - fills) < 1e-9,
        expected="none" if fills is None else f"{fills:.6f} s",
        got=f"{filled[0].at_s:.6f} s" if filled else "none",
        at_s=ended,
    )


def _is_reno(bench: Bench) -> str:
    """The window rules of the RFC are those of Reno."""
    if is_of_catalogue(bench, "reno"):
        return ""
    return f"{bench.subject.name} has a window of its own"


def _uses_slow_start(bench: Bench) -> str:
    if is_model_based(bench):
        return "a model sets the window"
    if is_of_catalogue(bench, "reno") and "+" not in bench.subject.algorithm:
        return ""
    return f"{bench.subject.algorithm} has a slow start with a limit of its own"


def _always(_: Bench) -> str:
    return ""


def _reduces(bench: Bench) -> str:
    return "a model sets the window" if is_model_based(bench) else ""


def _case(name: str, title: str, source: str, make: Any, check: Any, applies: Any = _reduces) -> Case:
    return Case(name=name, title=title, source=source, scenario=make, check=check, paths=(PATH,), applies=applies)


CASES = (
    _case("initial-window", "Initial window", "section 3.1", _plain, _initial, _always),
    _case("slow-start", "Slow start", "section 3.1", _no_loss, _slow_start, _uses_slow_start),
    _case("congestion-avoidance", "Congestion avoidance", "section 3.1", _plain, _avoidance, _is_reno),
    _case("fast-retransmit", "Fast retransmit", "section 3.2", _one_loss, _fast_retransmit),
    _case("limited-transmit", "The first two duplicate ACKs", "section 3.2", _one_loss, _limited_transmit),
    _case("fast-recovery", "Fast recovery", "section 3.2", _one_loss, _fast_recovery, _is_reno),
    _case("timeout", "Retransmission timeout", "section 3.1", _outage, _timeout),
    _case("idle-restart", "Restarting idle connections", "section 4.1", _idle, _restart),
    _case("acknowledgments", "Generating acknowledgments", "section 4.2", _one_loss, _receiver, _always),
)

SUITE = Suite(name="rfc5681", title="TCP congestion control", source="RFC 5681", cases=CASES, reference="reno")
