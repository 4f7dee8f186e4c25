"""Statements of RFC 6298 on TCP's retransmission timer: they judge the transport under an algorithm.

Sections and rules are those of the RFC; times are in seconds. Without timestamps, as in the RFC's rules. SRTT and
RTTVAR are computed here from the packets, independently of the transport's variables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup, Suite
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import acks, data, event, scenario, with_recovery
from cwndlab.suites.statements import Statement, at_least, at_most, between, equals, unseen
from cwndlab.suites.trace import Trace

SHORT = Path("10 Mbit/s, 100 ms", 10e6, 0.1)
LONG = Path("10 Mbit/s, 500 ms", 10e6, 0.5)
#: Granularity of the clock in the profile `rfc`, s.
_G = 1e-3


def _run(bench: Bench, duration_s: float, **options: Any) -> dict[str, Any]:
    stack = {"sack": False, "initial_ssthresh": 40, "undo": False, "tail_loss_probe": False}
    algorithm = with_recovery(bench, "newreno")
    options = {"profile": "rfc", "buffer_segments": 2000, "stack": stack, "packets": True, **options}
    return scenario(bench, duration_s, algorithm=algorithm, **options)


def _plain(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 10 + 10 * bench.path.rtt_s))


def _outage(bench: Bench) -> Setup:
    link = {"schedule": [{"at": "3 s", "loss": 1.0}, {"at": "12 s", "loss": 0.0}]}
    return Setup(scenario=_run(bench, 25.0, link=link))


def _late(bench: Bench) -> Setup:
    """Packets of 100 ms arrive 2 s late, in order: the timer expires, and the ACKs of the originals arrive after it."""
    link = {"schedule": [{"at": "3 s", "delay": "2050 ms"}, {"at": "3.1 s", "delay": "50 ms"}]}
    return Setup(scenario=_run(bench, 10.0, link=link))


def _first(trace: Trace) -> Iterator[Statement]:
    opened = event(trace, "established", "section 2, rule 2.2")
    first = trace.at("transport.srtt_s", opened)
    yield equals("section 2, rule 2.2: SRTT = R", "SRTT after the handshake", first, opened, within=1e-6, at_s=opened)
    yield equals(
        "section 2, rules 2.2, 2.4: RTTVAR = R / 2, RTO = SRTT + max (G, 4 RTTVAR), at least 1 s",
        "RTO after the handshake",
        trace.at("transport.rto_s", opened),
        max(3 * first, 1.0),
        within=_G,
        at_s=opened,
    )


def _estimates(trace: Trace, opened: float) -> tuple[float, float, float]:
    """The time of the last ACK, SRTT and RTTVAR there: a sample of each ACK, of the oldest segment that it covers."""
    sent = {one.number: one.at_s for one in reversed(data(trace))}
    srtt = opened
    rttvar, una, at = srtt / 2, 0, opened
    for one in acks(trace, opened + 1e-9, trace.end_s):
        if one.number > una:
            sample = one.arrival_s - sent[una]
            rttvar = 0.75 * rttvar + 0.25 * abs(srtt - sample)
            srtt = 0.875 * srtt + 0.125 * sample
            una, at = one.number, one.arrival_s
    return at, srtt, rttvar


def _smooths(trace: Trace) -> Iterator[Statement]:
    opened = event(trace, "established", "section 2, rule 2.3")
    at, srtt, rttvar = _estimates(trace, opened)
    yield equals(
        "section 2, rule 2.3: SRTT = 7/8 SRTT + 1/8 R'",
        "SRTT",
        trace.at("transport.srtt_s", at),
        srtt,
        within=_G,
        at_s=at,
    )
    yield equals(
        "section 2, rules 2.3, 2.4: RTO = SRTT + max (G, 4 RTTVAR), with RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|",
        "RTO",
        trace.at("transport.rto_s", at),
        max(srtt + max(_G, 4 * rttvar), 1.0),
        within=2 * _G,
        at_s=at,
    )


def _minimum(trace: Trace) -> Iterator[Statement]:
    opened = event(trace, "established", "section 2, rule 2.4")
    least = min(trace.points("transport.rto_s", opened), key=lambda point: point.value)
    yield at_least("section 2, rule 2.4: at least 1 s", "the least RTO", least.value, 1, at_s=least.at_s)


def _ambiguous(trace: Trace) -> Iterator[Statement]:
    at = event(trace, "timeout", "section 3", 3.0)
    again = [one for one in data(trace, at) if one.retransmission]
    yield at_least("section 3", "retransmissions of segments that arrive late", len(again), 1, at_s=at)
    least = min(trace.points("transport.rtt_s", at), key=lambda point: point.value)
    yield at_least(
        "section 3: RTT samples MUST NOT be made using segments that were retransmitted",
        "the least sample, on a path with an RTT of 0.1 s",
        least.value,
        trace.path.rtt_s,
        at_s=least.at_s,
    )


def _lost(trace: Trace) -> Iterator[Statement]:
    at = event(trace, "timeout", "section 3", 3.0)
    largest = max(trace.points("transport.rtt_s", at), key=lambda point: point.value)
    # Nine seconds pass between the first transmission of the lost segments and their last one.
    yield at_most(
        "section 3: RTT samples MUST NOT be made using segments that were retransmitted",
        "the largest sample after an outage of 9 s",
        largest.value,
        3,
        at_s=largest.at_s,
    )


def _expirations(trace: Trace) -> list[float]:
    times = [float(one["at_s"]) for one in trace.events_of("timeout", after_s=3.0)]
    if len(times) < 3:
        raise unseen("section 5", "the retransmission timer expires three times", f"{len(times)} times", 3.0)
    return times


def _restarts(trace: Trace) -> Iterator[Statement]:
    first = _expirations(trace)[0]
    una = trace.before("transport.una_segments", first)
    last = next(one for one in acks(trace, 0, first) if one.number >= una)
    yield equals(
        "section 5, rule 5.3: an ACK of new data restarts the timer, which expires after RTO seconds",
        "seconds from the last ACK of new data to the expiry",
        first - last.arrival_s,
        trace.before("transport.rto_s", first),
        within=2 * _G,
        at_s=first,
    )
    again = next((one for one in data(trace, first - 1e-9) if one.retransmission), None)
    if again is None:
        raise unseen("section 5, rule 5.4", "a retransmission", "none", first)
    yield equals(
        "section 5, rule 5.4: retransmit the earliest segment", "its number", again.number, una, at_s=again.at_s
    )


def _doubles(trace: Trace) -> Iterator[Statement]:
    times = _expirations(trace)
    rto = trace.before("transport.rto_s", times[0])
    for count, (earlier, later) in enumerate(itertools.pairwise(times), 1):
        yield between(
            "section 5, rules 5.5, 5.6: RTO = RTO * 2",
            f"seconds from expiry {count} to the next one over the first RTO",
            (later - earlier) / rto,
            0.99 * 2**count,
            1.01 * 2**count,
            at_s=later,
        )
    end = trace.at("transport.rto_s", trace.end_s)
    yield at_most("section 5: a new sample ends the back-off", "RTO at the end", end, rto + 1, at_s=trace.end_s)


def _case(name: str, title: str, source: str, make: Any, check: Any, *paths: Path) -> Case:
    return Case(name=name, title=title, source=source, scenario=make, check=check, paths=paths)


CASES = (
    _case("first-measurement", "The first measurement", "section 2, rule 2.2", _plain, _first, SHORT, LONG),
    _case("smoothing", "Further measurements", "section 2, rule 2.3", _plain, _smooths, SHORT, LONG),
    _case("minimum", "The minimum of the RTO", "section 2, rule 2.4", _plain, _minimum, SHORT),
    _case("late-original", "Karn's algorithm: a late original", "section 3", _late, _ambiguous, SHORT),
    _case("lost-original", "Karn's algorithm: a lost original", "section 3", _outage, _lost, SHORT),
    _case("restart", "Restart and expiry of the timer", "section 5, rules 5.3, 5.4", _outage, _restarts, SHORT),
    _case("back-off", "Back-off of the timer", "section 5, rules 5.5, 5.6", _outage, _doubles, SHORT),
)

SUITE = Suite(name="rfc6298", title="Retransmission timer", source="RFC 6298", cases=CASES, reference="reno")
