"""Statements of RFC 5681 on TCP congestion control: the window of an algorithm, and the transport under it.

Sections, equations and steps are those of the RFC; windows are in segments. Without SACK, as in the RFC, losses are
detected by duplicate ACKs.
"""

from __future__ import annotations

import itertools
from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.rfc import PATH, is_of_catalogue, packet_at, reduces, scenario, writes
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, steps

CASES, case = cases((PATH,))
_START = 40


def _run(t: Trial, duration_s: float, stack: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    stack = {"sack": False, "initial_ssthresh": _START, "undo": False, **(stack or {})}
    return scenario(t, duration_s, recovery="newreno", stack=stack, **options)


def _one_loss(t: Trial) -> Trace:
    base = t.shared(_run(t, 5.0))
    return t.run(_run(t, 5.0, lost=[packet_at(base, 3.0)]))


def _is_reno(t: Trial) -> None:
    """The window rules of the RFC are those of Reno."""
    if not is_of_catalogue(t, "reno"):
        raise NotApplicableError(f"{t.subject.name} has a window of its own")


@case("initial-window", "Initial window", "section 3.1")
def _initial(t: Trial) -> None:
    run = t.run(_run(t, 5.0))
    opened = run.event("established", "section 3.1")
    count = len(run.data(0, opened + 0.5 * t.path.rtt_s - 1e-9))
    t.expect("section 3.1, with the bound of RFC 6928", "segments of the initial window", count, high=10)
    t.expect("section 3.1", "segments of the initial window", count, 1)


@case("slow-start", "Slow start", "section 3.1")
def _slow_start(t: Trial) -> None:
    reduces(t)
    if not is_of_catalogue(t, "reno") or "+" in t.subject.algorithm:
        raise NotApplicableError(f"{t.subject.algorithm} has a slow start with a limit of its own")
    run = t.run(_run(t, 0.9, stack={"initial_ssthresh": 100_000}))
    windows = [point.value for point in run.points("cwnd")]
    largest = max(later - earlier for earlier, later in itertools.pairwise(windows))
    equation = "section 3.1, equation 2"
    t.expect(f"{equation}: cwnd += min(N, SMSS)", "the largest growth by an ACK in slow start", largest, high=1)
    grown = windows[-1] - windows[0]
    t.equals(equation, "growth of cwnd by all ACKs", grown, len(run.acks()), within=2, at=run.end_s)


@case("congestion-avoidance", "Congestion avoidance", "section 3.1")
def _avoidance(t: Trial) -> None:
    _is_reno(t)
    run = t.run(_run(t, 5.0))
    begin = run.first("cwnd", lambda value: value >= _START)
    if begin is None:
        raise NotObservedError("section 3.1", "cwnd reaches ssthresh", "not in this run")
    start = begin.at_s + 2 * t.path.rtt_s
    rise = run.grown("cwnd", start, run.end_s) / max(run.grown("round", start, run.end_s), 1)
    source = "section 3.1: in congestion avoidance, cwnd grows by SMSS per RTT"
    t.equals(source, "segments per round trip", rise, 1, relative=0.1, at=run.end_s)


@case("fast-retransmit", "Fast retransmit", "section 3.2")
def _fast_retransmit(t: Trial) -> None:
    reduces(t)
    run = _one_loss(t)
    begun, _ = run.recovery("section 3.2, step 2")
    again = next(iter(run.again()), None)
    if again is None:
        raise NotObservedError("section 3.2, step 4", "a retransmission", "none")
    at = again.at_s
    duplicates = [one for one in run.acks(0, at + 1e-9) if one.number == again.number]
    source, text = "section 3.2: the arrival of 3 duplicate ACKs", "duplicate ACKs before the fast retransmit"
    t.equals(source, text, len(duplicates) - 1, 3, at=at)
    source = "section 3.2, step 3: the lost segment starting at SND.UNA"
    t.equals(source, "number of the segment", again.number, run.at("una", begun), at=at)
    third = duplicates[-1].arrival_s
    t.equals("section 3.2, step 3", "time of the retransmission", at, third, within=1e-6, at=third)


@case("limited-transmit", "The first two duplicate ACKs", "section 3.2")
def _limited_transmit(t: Trial) -> None:
    reduces(t)
    run = _one_loss(t)
    begun, _ = run.recovery("section 3.2, step 1")
    lost = run.at("una", begun)
    times = [one.arrival_s for one in run.acks(0, begun) if one.number == lost][1:3]
    for count, at in enumerate(times, 1):
        sent = [packet.retransmission for packet in run.data() if abs(packet.at_s - at) < 1e-9]
        source = "section 3.2, step 1: a segment of new data on the first and second duplicate ACK"
        text, got = f"segments sent on duplicate ACK {count}", f"{len(sent)}" + (", a retransmission" * any(sent))
        t.holds(source, text, sent == [False], "1 of new data", got, at=at)
    if times:
        before, after = run.before("cwnd", times[0]), run.at("cwnd", times[-1])
        t.equals("section 3.2, step 1: cwnd is unchanged", "cwnd", after, before, at=times[-1])


@case("fast-recovery", "Fast recovery", "section 3.2")
def _fast_recovery(t: Trial) -> None:
    _is_reno(t)
    run = _one_loss(t)
    begun, ended = run.recovery("section 3.2, step 2")
    flight, ssthresh, cwnd = run.before("flight_size", begun), run.at("ssthresh", begun), run.at("cwnd", begun)
    # Data sent by limited transmit does not count (section 3.2, step 2).
    source = "section 3.1, equation 4: ssthresh = max(FlightSize / 2, 2)"
    t.expect(source, "ssthresh", ssthresh, (flight - 3) / 2 - 1, flight / 2, at=begun)
    source = "section 3.2, step 3: cwnd = ssthresh + 3"
    t.equals(source, "cwnd at the fast retransmit", cwnd, int(ssthresh) + 3, within=1, at=begun)
    further = [one.arrival_s for one in run.acks(begun, ended) if begun < one.arrival_s < ended]
    if len(further) >= 2:
        source, grown = "section 3.2, step 4: cwnd += SMSS for each further duplicate ACK", run.at("cwnd", further[-1])
        t.equals(source, "growth of cwnd by them", grown - cwnd, len(further), within=1, at=further[-1])
    source, text = "section 3.2, step 6: cwnd = ssthresh", "cwnd after the ACK of new data"
    t.expect(source, text, run.at("cwnd", ended), ssthresh - 1, ssthresh + 1, at=ended)


@case("timeout", "Retransmission timeout", "section 3.1")
def _timeout(t: Trial) -> None:
    reduces(t)
    link = steps((3, {"loss": 1.0}), (9, {"loss": 0.0}))
    run = t.run(_run(t, 16.0, link=link, stack={"tail_loss_probe": False}))
    expired = run.times("timeout")
    if len(expired) < 2:
        raise NotObservedError("section 3.1", "the retransmission timer expires twice", f"{len(expired)} times")
    begun, again = expired[:2]
    flight, ssthresh = run.before("flight_size", begun), run.at("ssthresh", begun)
    if is_of_catalogue(t, "reno"):
        source = "section 3.1, equation 4: ssthresh = max(FlightSize / 2, 2)"
        t.expect(source, "ssthresh after a timeout", ssthresh, (flight - 1) / 2 - 1, flight / 2, at=begun)
    source = "section 3.1: cwnd is the loss window, 1 segment"
    t.equals(source, "cwnd after a timeout", run.at("cwnd", begun), 1, at=begun)
    source = "section 3.1: ssthresh is held constant where a segment that the timer retransmitted is lost again"
    t.equals(source, "ssthresh after the second expiry", run.at("ssthresh", again), ssthresh, at=again)
    ratio = (again - begun) / run.before("rto", begun)
    text = "time to the second expiry over that to the first"
    t.expect("RFC 6298, section 5.5: the timer backs off", text, ratio, 1.9, 2.1, at=again)
    end = run.first("cwnd", lambda value: value >= ssthresh, begun + 0.01)
    source, text = "section 3.1: slow start up to the new ssthresh", "cwnd reaches ssthresh again"
    got, at = ("not in this run", None) if end is None else (f"{end.value:g}", end.at_s)
    t.holds(source, text, end is not None, f"{ssthresh:g}", got, at=at)


@case("idle-restart", "Restarting idle connections", "section 4.1")
def _idle(t: Trial) -> None:
    reduces(t)
    run = t.run(_run(t, 12.0, workload=writes((0.0, 300), (8.0, 300))))
    burst = run.data(8.0, 8.0 + 0.5 * t.path.rtt_s)
    t.expect("section 4.1", "cwnd before the idle period", run.before("cwnd", 8.0), 12)
    source = "section 4.1: RW = min(IW, cwnd) where nothing was sent for more than an RTO"
    t.expect(source, "segments of the first burst after the idle period", len(burst), high=10, at=8.0)


@case("acknowledgments", "Generating acknowledgments", "section 4.2")
def _receiver(t: Trial) -> None:
    run = _one_loss(t)
    begun, ended = run.recovery("section 4.2")
    arrived = {one.number: one.arrival_s for one in run.packets() if one.kind == 0 and not one.lost}
    acks = [one for one in run.packets("bottleneck-reverse") if one.kind == 1]
    pairs = itertools.pairwise(run.acks())
    most = max(later.number - earlier.number for earlier, later in pairs if later.arrival_s < begun)
    t.expect("section 4.2: an ACK for at least every second full-sized segment", "segments", most, high=2)
    delays = [one.at_s - arrived[one.number - 1] for one in acks if one.number - 1 in arrived and one.at_s < begun]
    late = max((one for one in delays if one >= 0), default=0.0)
    t.expect("section 4.2: within 500 ms of the first unacknowledged segment", "seconds", late, high=0.5)
    lost = run.at("una", begun)
    duplicates = [one.at_s for one in acks if one.number == lost]
    beyond = [one.arrival_s for one in run.data() if one.number > lost and one.at_s < begun and not one.lost]
    prompt = all(
        any(abs(one - arrival) < 1e-9 for one in duplicates)
        for arrival in beyond
        if duplicates[0] - 1e-9 <= arrival < begun
    )
    source, text = "section 4.2: an immediate duplicate ACK for each out-of-order segment", "ACKs of the segments above"
    t.holds(source, f"{text} the hole", prompt, "at once", "at once" if prompt else "some later", at=begun)
    fills = next((one.arrival_s for one in run.again() if one.number == lost), None)
    filled = next((one.at_s for one in acks if one.number > lost), None)
    good = fills is not None and filled is not None and abs(filled - fills) < 1e-9
    wanted, got = ("none" if one is None else f"{one:.6f} s" for one in (fills, filled))
    t.holds("section 4.2: an immediate ACK where a segment fills a gap", "time of the ACK", good, wanted, got, at=ended)
