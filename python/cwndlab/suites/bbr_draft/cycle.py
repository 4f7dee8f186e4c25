"""Cases of the phases of ProbeBW, and of ProbeRTT."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from cwndlab.suites.bbr_draft.common import (
    BASIC,
    CRUISE,
    DOWN,
    PATHS,
    PROBE_BW,
    PROBE_RTT,
    REFILL,
    UP,
    below,
    drained,
    enters,
    follows,
    goes_down,
    in_probe_bw,
    inflight_target,
    line,
    long_run,
    long_s,
    name_of,
    next_state,
    scenario,
    states,
    steps,
    uninterrupted,
    with_headroom,
    writes,
)
from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup
from cwndlab.suites.statements import NotApplicableError, Statement, at_least, at_most, between, equals, holds, unseen
from cwndlab.suites.trace import Span, Trace

_TINY = "DOWN ends with min(BDP, 63) rounds (line 2332), before the inflight falls"


def _whole(bench: Bench) -> Setup:
    return Setup(scenario=long_run(bench))


def _up(trace: Trace, source: str) -> Span:
    """The first ProbeBW_UP of three rounds or more that ProbeRTT does not end."""
    enters(trace, UP, source)
    for span in states(trace):
        rounds = trace.at("round_count", span.end_s) - trace.at("round_count", span.start_s)
        if span.value == UP and span.end_s < trace.end_s and rounds >= 3 and next_state(trace, span) != PROBE_RTT:
            return span
    for span in states(trace):
        if span.value == UP:
            uninterrupted(trace, span)
    raise unseen(source, "the flow is in ProbeBW_UP for three rounds", "shorter periods only")


def _up_plateau(trace: Trace) -> Iterator[Statement]:
    span = _up(trace, line(3984, "step 1"))
    at = span.end_s
    yield equals(line(2088), "pacing_gain is 1.25", trace.at("pacing_gain", span.start_s), 1.25, at_s=span.start_s)
    yield equals(line(2089), "cwnd_gain is 2.25", trace.at("cwnd_gain", span.start_s), 2.25, at_s=span.start_s)
    lost = trace.at("transport.lost_segments", at) - trace.at("transport.lost_segments", span.start_s)
    yield equals(line(3986, "step 2"), "nothing is lost", lost, 0, at_s=at)
    yield equals(line(3990, "step 4"), "full_bw_count reaches 3", trace.at("full_bw_count", at), 3, at_s=at)
    yield equals(line(3988, "step 4"), "full_bw_now is true", trace.at("full_bw_now", at), 1, at_s=at)
    rounds = trace.at("round_count", at) - trace.at("round_count", span.start_s)
    yield at_least(line(3989, "step 4"), "after three rounds at least", rounds, 3, at_s=at)
    yield goes_down(line(3991, "step 5"), trace, span)


def _limited_up(bench: Bench, *, lossy: bool) -> Setup:
    """The application is limited from the start of UP; two rounds later packets are lost for a round."""
    path = bench.path
    base = bench.shared(long_run(bench))
    at = enters(base, UP, line(3995, "step 1")).start_s
    loss = at + 2.5 * path.round_s
    link = {"schedule": steps((loss, {"loss": 0.25}), (loss + path.round_s, {"loss": 0.0}))} if lossy else {}
    work = writes((0, None), (at, 0.5 * path.rate_bps))
    end = at + (8 * path.round_s if lossy else min(40 * path.round_s, 4.5))
    return Setup(scenario=scenario(bench, end, workload=work, link=link), moments={"up": at, "loss": loss})


def _limited_up_with_loss(bench: Bench) -> Setup:
    return _limited_up(bench, lossy=True)


def _limited_up_without_loss(bench: Bench) -> Setup:
    return _limited_up(bench, lossy=False)


def _up_loss(trace: Trace) -> Iterator[Statement]:
    up, loss = trace.moments["up"], trace.moments["loss"]
    span = uninterrupted(trace, next(one for one in states(trace) if one.value == UP and one.start_s >= up))
    at = span.end_s
    yield equals(
        line(3997, "step 2"), "the flow is application-limited", trace.before("transport.app_limited", loss), 1
    )
    yield at_least(line(4000, "step 4"), "UP ends after the loss", at, loss, at_s=at)
    late = loss + 4 * trace.path.round_s
    yield at_most(line(4000, "step 4"), "UP ends within rounds of the loss", at, late, at_s=at)
    yield goes_down(line(4001, "step 5"), trace, span)
    yield equals(line(3162), "prev_probe_too_high is set", trace.at("prev_probe_too_high", at), 1, at_s=at)
    yield at_most(
        line(4002, "step 5"),
        "inflight_longterm is updated",
        trace.at("inflight_longterm_segments", at),
        1e12,
        at_s=at,
        contradicts="line 3164: HandleInflightTooHigh leaves inflight_longterm unless !RS.is_app_limited",
    )


def _stays_up(trace: Trace) -> Iterator[Statement]:
    up = trace.moments["up"]
    span = next(one for one in states(trace) if one.value == UP and one.start_s >= up)
    after = "ProbeBW_UP" if span.end_s >= trace.end_s else name_of(next_state(trace, span))
    yield equals(line(4008, "step 3"), "nothing is lost", trace.at("transport.lost_segments", span.end_s), 0)
    yield at_least(
        line(4006, "step 2"),
        "the flow is application-limited",
        trace.at("transport.app_limited", min(up + 3 * trace.path.round_s, trace.end_s)),
        1,
    )
    yield holds(
        line(4009, "step 3"),
        "the flow stays in ProbeBW_UP",
        span.end_s >= trace.end_s or after == "ProbeRTT",
        expected="ProbeBW_UP to the end of the run, or to ProbeRTT (line 2653)",
        got=after,
        at_s=span.end_s,
    )


def _shallow(bench: Bench) -> Setup:
    """A buffer of a third of the BDP, in which probes lose packets and so set inflight_longterm."""
    document = scenario(bench, long_s(bench.path), buffer_segments=max(0.3 * bench.path.bdp_segments, 4))
    return Setup(scenario=document, earlier={"deep buffer": bench.shared(long_run(bench))})


def _down_inflight(trace: Trace) -> Iterator[Statement]:
    yield from _down_to_cruise(trace.earlier["deep buffer"], None)
    longterm = trace.first("inflight_longterm_segments", lambda value: value < inf)
    if longterm is None:
        raise NotApplicableError("no probe lost enough packets to set inflight_longterm")
    yield from _down_to_cruise(trace, longterm.at_s)


def _down_to_cruise(trace: Trace, after_s: float | None) -> Iterator[Statement]:
    up = _up(trace, line(4013, "step 1")) if after_s is None else None
    start = up.start_s if up is not None else after_s or 0.0
    span = uninterrupted(trace, enters(trace, DOWN, line(4013, "step 1"), start))
    # The gain changes at the end of the ACK, after the state.
    yield equals(line(4014, "step 2"), "pacing_gain is 0.9", trace.at("pacing_gain", span.start_s), 0.9)
    at = span.end_s
    if next_state(trace, span) == REFILL:
        raise NotApplicableError("the time for a probe comes before the inflight falls (line 2403)")
    yield follows(line(4018, "step 5"), trace, span, CRUISE)
    yield drained(line(4016, "step 4"), trace, at, "max_bw_segments_per_s")
    limit = with_headroom(trace, at)
    inflight = trace.at("inflight_segments", at)
    yield at_most(line(4016, "step 4"), "C.inflight ≤ InflightWithHeadroom()", inflight, limit + 1, at_s=at)
    points = trace.points("inflight_segments", span.start_s, at)[1:-1]
    early = [
        one
        for one in points
        if one.value
        < min(inflight_target(trace, one.at_s, "max_bw_segments_per_s"), with_headroom(trace, one.at_s)) - 1
    ]
    yield holds(
        line(4017, "step 4"),
        "DOWN ends with the first ACK at which both hold",
        not early,
        expected="no such ACK before the end of DOWN",
        got=f"{len(early)} snapshots" if early else "none",
        at_s=early[0].at_s if early else at,
    )


def _slow_down(bench: Bench) -> Setup:
    base = bench.shared(long_run(bench))
    up = _up(base, line(4022, "step 1"))
    at, path = up.end_s, bench.path
    end = at + min(300 * path.round_s, 5.0) + 4 * path.round_s

    def slowed(share: float) -> dict[str, object]:
        link = {"schedule": steps((at, {"rate": f"{share * path.rate_bps:.0f} bps"}))}
        return scenario(bench, end, link=link)

    return Setup(scenario=slowed(0.6), moments={"down": at}, earlier={"as in the draft": bench.run(slowed(0.9))})


def _down_time(trace: Trace) -> Iterator[Statement]:
    at = trace.moments["down"]
    draft = trace.earlier["as in the draft"]
    span = next(one for one in states(draft) if one.value == DOWN and one.start_s >= at - 1e-9)
    uninterrupted(draft, span)
    yield holds(
        line(4023, "step 2"),
        "with 10 % less bandwidth C.inflight stays too high for CRUISE",
        next_state(draft, span) == REFILL,
        expected="ProbeBW_REFILL",
        got=name_of(next_state(draft, span)),
        at_s=span.end_s,
        contradicts="lines 2000 and 2436: DOWN paces at 0.9 of a max_bw of before, so that C.inflight falls below "
        "max_bw · min_rtt, which is a tenth above the new bandwidth-delay product",
    )
    span = next(one for one in states(trace) if one.value == DOWN and one.start_s >= at - 1e-9)
    uninterrupted(trace, span)
    waited = span.end_s - trace.at("cycle_stamp_s", span.start_s)
    wait = trace.before("bw_probe_wait_s", span.end_s)
    rounds = trace.before("rounds_since_probe_up", span.end_s)
    by_rounds = rounds + 1 >= min(trace.at("bdp_segments", span.end_s), trace.at("transport.cwnd_segments", at), 63)
    yield holds(
        line(4025, "step 3"),
        "DOWN lasts bw_probe_wait, or the rounds of Reno (line 2312)",
        waited >= wait or by_rounds,
        expected=f"{wait:.4g} s, or min(BDP, 63) rounds",
        got=f"{waited:.4g} s, {rounds:g} rounds",
        at_s=span.end_s,
    )
    yield at_most(
        line(4025, "step 3"), "DOWN lasts no longer than bw_probe_wait", waited, wait + trace.path.round_s * 2
    )
    yield between(line(2327), "bw_probe_wait is drawn from 2 to 3 s", wait, 2, 3, at_s=span.end_s)
    yield follows(line(4027, "step 4"), trace, span, REFILL)


def _limited_refill(bench: Bench) -> Setup:
    base = bench.shared(long_run(bench))
    path = bench.path
    at = enters(base, REFILL, line(4158, "step 1")).start_s
    work = writes((0, None), (at, 0.1 * path.rate_bps), (at + path.round_s, None))
    return Setup(scenario=scenario(bench, at + 15 * path.round_s + 0.1, workload=work), moments={"refill": at})


def _refill(trace: Trace) -> Iterator[Statement]:
    at = trace.moments["refill"]
    span = uninterrupted(trace, next(one for one in states(trace) if one.value == REFILL and one.start_s >= at - 1e-9))
    before = trace.at("max_bw_segments_per_s", at)
    limited = [one for one in trace.points("transport.app_limited", span.start_s, span.end_s) if one.value == 1]
    yield at_least(line(4160, "step 2"), "the flow is application-limited", len(limited), 1, at_s=span.start_s)
    lowest = min(one.value for one in trace.points("max_bw_segments_per_s", span.start_s, span.end_s))
    yield at_least(line(4166, "step 3"), "max_bw does not fall", lowest, before, at_s=span.end_s)
    rounds = trace.at("round_count", span.end_s) - trace.at("round_count", span.start_s)
    yield equals(line(4168, "step 4"), "REFILL lasts one round", rounds, 1, at_s=span.end_s)
    yield follows(line(4168, "step 4"), trace, span, UP)
    after = next((one for one in states(trace, span.end_s) if one.value == UP), None)
    yield holds(
        line(4169, "step 4"),
        "the probe that follows ends as usual",
        after is not None and (after.end_s >= trace.end_s or next_state(trace, after) in (DOWN, PROBE_RTT)),
        expected="ProbeBW_DOWN",
        got="no ProbeBW_UP" if after is None else name_of(next_state(trace, after)),
        at_s=span.end_s,
    )


def _probe_rtt(trace: Trace) -> Iterator[Statement]:
    first = in_probe_bw(trace, line(4032, "step 1"))
    span = enters(trace, PROBE_RTT, line(4035, "step 3"), first.start_s)
    stamp = trace.before("probe_rtt_min_stamp_s", span.start_s)
    age = span.start_s - stamp
    yield between(
        line(4033, "step 2"),
        "ProbeRTT begins 5 s after the last update of probe_rtt_min_delay",
        age,
        5,
        5 + 2 * max(trace.path.round_s, trace.at("transport.srtt_s", span.start_s)),
        at_s=span.start_s,
    )
    yield equals(line(4036, "step 3"), "cwnd_gain is 0.5", trace.at("cwnd_gain", span.start_s), 0.5, at_s=span.start_s)
    yield equals(line(2667), "pacing_gain is 1", trace.at("pacing_gain", span.start_s), 1, at_s=span.start_s)
    cap = max(0.5 * trace.at("bdp_segments", span.start_s), 4) + 1
    yield at_most(line(3733), "cwnd ≤ ProbeRTTCwnd()", trace.at("transport.cwnd_segments", span.start_s), cap)
    low = trace.first("inflight_segments", lambda value: value <= cap, span.start_s)
    since = inf if low is None else span.end_s - low.at_s
    # The snapshot of the first such ACK may be the next one.
    slack = trace.end_s / 2000 + 2 * trace.path.round_s
    yield at_least(
        line(4037, "step 4"), "ProbeRTT lasts 200 ms with that inflight", since, 0.2 - slack, at_s=span.end_s
    )
    rounds = trace.at("round_count", span.end_s) - trace.at("round_count", low.at_s if low else span.start_s)
    yield at_least(line(4037, "step 4"), "ProbeRTT lasts a round with that inflight", rounds, 1, at_s=span.end_s)
    after = next_state(trace, span)
    reached = trace.at("full_bw_reached", span.end_s)
    yield equals(line(4039, "step 5"), "full_bw_reached is true", reached, 1, at_s=span.end_s)
    yield holds(
        line(4038, "step 5"),
        "ProbeRTT is followed by ProbeBW",
        after in PROBE_BW,
        expected="ProbeBW",
        got=name_of(after),
        at_s=span.end_s,
    )
    start = trace.at("transport.una_segments", span.end_s)
    end = min(span.end_s + 8 * trace.path.round_s + 0.5, trace.end_s)
    sent = trace.at("transport.una_segments", end) - start
    yield at_least(
        line(4039, "step 5"),
        "the flow resumes sending at half of the bandwidth at least",
        sent,
        0.5 * trace.path.segments_per_s * (end - span.end_s - 2 * trace.path.round_s),
        at_s=end,
    )


def _idle(bench: Bench) -> Setup:
    base = bench.shared(long_run(bench))
    path = bench.path
    at = in_probe_bw(base, line(4043, "step 1")).end_s
    back = at + 7 + 3 * path.round_s
    work = writes((0, None), (at, 0), (back, None))
    return Setup(scenario=scenario(bench, back + 6 * path.round_s + 0.3, workload=work), moments={"back": back})


def _idle_restart(trace: Trace) -> Iterator[Statement]:
    back = trace.moments["back"]
    yield equals(line(4045, "step 2"), "C.inflight is 0", trace.sample("in_flight_bytes", back - 1e-6), 0, at_s=back)
    restart = trace.first("idle_restart", lambda value: value == 1, back - 1e-9)
    yield holds(
        line(4047, "step 4"),
        "idle_restart is set with the first packet",
        restart is not None and restart.at_s <= back + 1e-6,
        expected=f"at {back:.6g} s",
        got="never" if restart is None else f"at {restart.at_s:.6g} s",
        at_s=back,
    )
    # The next one is due 5 s later.
    left = trace.first("state", lambda value: value == PROBE_RTT, back - 1e-9)
    left = left if left is not None and left.at_s < back + 4.9 else None
    yield holds(
        line(4049, "step 5"),
        "ProbeRTT is skipped",
        left is None,
        expected="no ProbeRTT after the idle period",
        got="none" if left is None else "ProbeRTT",
        at_s=back if left is None else left.at_s,
    )


CASES = (
    Case(
        name="up-plateau",
        title="Exiting PROBE_UP on bandwidth plateau",
        source=line(3982),
        scenario=_whole,
        check=_up_plateau,
        paths=PATHS,
        values=(*BASIC, "full_bw_count", "full_bw_now", "cwnd_gain"),
    ),
    Case(
        name="up-loss",
        title="Exiting PROBE_UP on loss when application-limited",
        source=line(3993),
        scenario=_limited_up_with_loss,
        check=_up_loss,
        paths=PATHS,
        unsuited=below(30, "a limited flow has too few packets in flight to lose some of them in a round"),
        values=(*BASIC, "inflight_longterm_segments", "prev_probe_too_high"),
    ),
    Case(
        name="app-limited-up",
        title="Never exiting PROBE_UP when application-limited with no loss",
        source=line(4004),
        scenario=_limited_up_without_loss,
        check=_stays_up,
        paths=PATHS,
        unsuited=below(4, "half of the bandwidth leaves nothing in flight"),
        values=BASIC,
    ),
    Case(
        name="down-inflight",
        title="Exiting PROBE_DOWN on inflight",
        source=line(4011),
        scenario=_shallow,
        check=_down_inflight,
        paths=PATHS,
        unsuited=below(8, _TINY),
        values=(*BASIC, "inflight_segments", "inflight_longterm_segments", "max_bw_segments_per_s"),
    ),
    Case(
        name="down-time",
        title="Exiting PROBE_DOWN after max time",
        source=line(4020),
        scenario=_slow_down,
        check=_down_time,
        paths=PATHS,
        unsuited=below(8, "min(BDP, 63) rounds (line 2332) are over with the first"),
        values=(*BASIC, "bw_probe_wait_s", "cycle_stamp_s", "rounds_since_probe_up"),
    ),
    Case(
        name="probe-rtt",
        title="Entering and exiting PROBE_RTT",
        source=line(4030),
        scenario=_whole,
        check=_probe_rtt,
        paths=PATHS,
        values=(*BASIC, "cwnd_gain", "probe_rtt_min_stamp_s", "bdp_segments", "inflight_segments"),
    ),
    Case(
        name="probe-rtt-idle",
        title="Skipping PROBE_RTT due to application-limited sending",
        source=line(4041),
        scenario=_idle,
        check=_idle_restart,
        paths=PATHS,
        values=(*BASIC, "idle_restart"),
    ),
    Case(
        name="app-limited-refill",
        title="Handling application-limited sending during PROBE_REFILL",
        source=line(4156),
        scenario=_limited_refill,
        check=_refill,
        paths=PATHS,
        unsuited=below(4, "a tenth of the bandwidth leaves nothing in flight"),
        values=(*BASIC, "max_bw_segments_per_s"),
    ),
)
