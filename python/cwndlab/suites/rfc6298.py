"""Statements of RFC 6298 on TCP's retransmission timer: they judge the transport under an algorithm.

Sections and rules are those of the RFC; times are in seconds. Without timestamps, as in the RFC's rules. SRTT and
RTTVAR are computed here from the packets, independently of the transport's variables.
"""

from __future__ import annotations

import itertools
from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import PATH, scenario
from cwndlab.suites.statements import NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, steps

CASES, case = cases((PATH,))
_BOTH = (PATH, Path("10 Mbit/s, 500 ms", 10e6, 0.5))
#: Granularity of the clock in the profile `rfc`, s.
_G = 1e-3


def _run(t: Trial, duration_s: float, **options: Any) -> Trace:
    stack = {"sack": False, "initial_ssthresh": 40, "undo": False, "tail_loss_probe": False}
    return t.run(scenario(t, duration_s, recovery="newreno", stack=stack, **options))


def _plain(t: Trial) -> Trace:
    return _run(t, 10 + 10 * t.path.rtt_s)


def _outage(t: Trial) -> Trace:
    return _run(t, 25.0, link=steps((3, {"loss": 1.0}), (12, {"loss": 0.0})))


def _expirations(run: Trace) -> list[float]:
    times = run.times("timeout", after_s=3.0)
    if len(times) < 3:
        text = "the retransmission timer expires three times"
        raise NotObservedError("section 5", text, f"{len(times)} times", 3.0)
    return times


@case("first-measurement", "The first measurement", "section 2, rule 2.2", paths=_BOTH)
def _first(t: Trial) -> None:
    run = _plain(t)
    opened = run.event("established", "section 2, rule 2.2")
    first, rto = run.at("srtt", opened), run.at("rto", opened)
    t.equals("section 2, rule 2.2: SRTT = R", "SRTT after the handshake", first, opened, within=1e-6, at=opened)
    source = "section 2, rules 2.2, 2.4: RTTVAR = R / 2, RTO = SRTT + max (G, 4 RTTVAR), at least 1 s"
    t.equals(source, "RTO after the handshake", rto, max(3 * first, 1.0), within=_G, at=opened)


@case("smoothing", "Further measurements", "section 2, rule 2.3", paths=_BOTH)
def _smooths(t: Trial) -> None:
    """A sample of each ACK, of the oldest segment that it covers."""
    run = _plain(t)
    opened = run.event("established", "section 2, rule 2.3")
    sent = {one.number: one.at_s for one in reversed(run.data())}
    srtt, rttvar, una, at = opened, opened / 2, 0, opened
    for one in run.acks(opened + 1e-9):
        if one.number > una:
            sample = one.arrival_s - sent[una]
            rttvar = 0.75 * rttvar + 0.25 * abs(srtt - sample)
            srtt = 0.875 * srtt + 0.125 * sample
            una, at = one.number, one.arrival_s
    t.equals("section 2, rule 2.3: SRTT = 7/8 SRTT + 1/8 R'", "SRTT", run.at("srtt", at), srtt, within=_G, at=at)
    source = "section 2, rules 2.3, 2.4: RTO = SRTT + max (G, 4 RTTVAR), with RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|"
    t.equals(source, "RTO", run.at("rto", at), max(srtt + max(_G, 4 * rttvar), 1.0), within=2 * _G, at=at)


@case("minimum", "The minimum of the RTO", "section 2, rule 2.4")
def _minimum(t: Trial) -> None:
    run = _plain(t)
    least = run.least("rto", run.event("established", "section 2, rule 2.4"))
    t.expect("section 2, rule 2.4: at least 1 s", "the least RTO", least.value, 1, at=least.at_s)


@case("late-original", "Karn's algorithm: a late original", "section 3")
def _ambiguous(t: Trial) -> None:
    """Packets of 100 ms arrive 2 s late, in order: the timer expires, and the ACKs of the originals arrive after it."""
    run = _run(t, 10.0, link=steps((3, {"delay": "2050 ms"}), (3.1, {"delay": "50 ms"})))
    at = run.event("timeout", "section 3", 3.0)
    t.expect("section 3", "retransmissions of segments that arrive late", len(run.again(at)), 1, at=at)
    least = run.least("rtt", at)
    source = "section 3: RTT samples MUST NOT be made using segments that were retransmitted"
    t.expect(source, "the least sample, on a path with an RTT of 0.1 s", least.value, t.path.rtt_s, at=least.at_s)


@case("lost-original", "Karn's algorithm: a lost original", "section 3")
def _lost(t: Trial) -> None:
    run = _outage(t)
    largest = max(run.points("rtt", run.event("timeout", "section 3", 3.0)), key=lambda point: point.value)
    # Nine seconds pass between the first transmission of the lost segments and their last one.
    source = "section 3: RTT samples MUST NOT be made using segments that were retransmitted"
    t.expect(source, "the largest sample after an outage of 9 s", largest.value, high=3, at=largest.at_s)


@case("restart", "Restart and expiry of the timer", "section 5, rules 5.3, 5.4")
def _restarts(t: Trial) -> None:
    run = _outage(t)
    first = _expirations(run)[0]
    una, rto = run.before("una", first), run.before("rto", first)
    waited = first - next(one.arrival_s for one in run.acks(0, first) if one.number >= una)
    source = "section 5, rule 5.3: an ACK of new data restarts the timer, which expires after RTO seconds"
    text = "seconds from the last ACK of new data to the expiry"
    t.equals(source, text, waited, rto, within=2 * _G, at=first)
    again = next(iter(run.again(first - 1e-9)), None)
    if again is None:
        raise NotObservedError("section 5, rule 5.4", "a retransmission", "none", first)
    source = "section 5, rule 5.4: retransmit the earliest segment"
    t.equals(source, "its number", again.number, una, at=again.at_s)


@case("back-off", "Back-off of the timer", "section 5, rules 5.5, 5.6")
def _doubles(t: Trial) -> None:
    run = _outage(t)
    times = _expirations(run)
    rto, end = run.before("rto", times[0]), run.end_s
    for count, (earlier, later) in enumerate(itertools.pairwise(times), 1):
        text, ratio = f"seconds from expiry {count} to the next one over the first RTO", (later - earlier) / rto
        t.expect("section 5, rules 5.5, 5.6: RTO = RTO * 2", text, ratio, 0.99 * 2**count, 1.01 * 2**count, at=later)
    source = "section 5: a new sample ends the back-off"
    t.expect(source, "RTO at the end", run.at("rto", end), high=rto + 1, at=end)
