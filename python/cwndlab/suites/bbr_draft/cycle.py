"""Cases of the phases of ProbeBW, and of ProbeRTT."""

from __future__ import annotations

from math import inf

from cwndlab.suites.bbr_draft import common as bbr
from cwndlab.suites.case import cases
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Span, Trace
from cwndlab.suites.trial import Trial, rate, steps

CASES, case = cases(bbr.PATHS, *bbr.BASIC)
_MAX_BW, _LONGTERM = "max_bw_segments_per_s", "inflight_longterm_segments"


def _up(run: Trace, source: str) -> Span:
    """The first ProbeBW_UP of three rounds or more that ProbeRTT does not end."""
    bbr.enters(run, bbr.UP, source)
    ups = bbr.states(run, 0.0, bbr.UP)
    for span in ups:
        rounds = run.grown("round_count", span.start_s, span.end_s)
        if span.end_s < run.end_s and rounds >= 3 and bbr.next_state(run, span) != bbr.PROBE_RTT:
            return span
    for span in ups:
        bbr.uninterrupted(run, span)
    raise NotObservedError(source, "the flow is in ProbeBW_UP for three rounds", "shorter periods only")


def _from(run: Trace, state: int, start_s: float) -> Span:
    """The first period in a state from a time on."""
    return next(span for span in bbr.states(run, 0.0, state) if span.start_s >= start_s)


@case("up-plateau", "Exiting PROBE_UP on bandwidth plateau", "line 3982", values="full_bw_count full_bw_now cwnd_gain")
def _up_plateau(t: Trial) -> None:
    run = t.run(bbr.long_run(t))
    span = _up(run, "step 1, line 3984")
    start, at = span.start_s, span.end_s
    t.equals("line 2088", "pacing_gain is 1.25", run.at("pacing_gain", start), 1.25, at=start)
    t.equals("line 2089", "cwnd_gain is 2.25", run.at("cwnd_gain", start), 2.25, at=start)
    t.equals("step 2, line 3986", "nothing is lost", run.grown("lost", start, at), 0, at=at)
    t.equals("step 4, line 3990", "full_bw_count reaches 3", run.at("full_bw_count", at), 3, at=at)
    t.equals("step 4, line 3988", "full_bw_now is true", run.at("full_bw_now", at), 1, at=at)
    t.expect("step 4, line 3989", "after three rounds at least", run.grown("round_count", start, at), 3, at=at)
    bbr.goes_down(t, "step 5, line 3991", run, span)


def _limited_up(t: Trial, lossy: bool) -> tuple[Trace, float, float]:
    """The application is limited from the start of UP; two rounds later packets are lost for a round."""
    each = t.path.round_s
    up = bbr.enters(t.shared(bbr.long_run(t)), bbr.UP, "step 1, line 3995").start_s
    loss = up + 2.5 * each
    link = steps((loss, {"loss": 0.25}), (loss + each, {"loss": 0.0})) if lossy else {}
    work = bbr.writes((0, None), (up, 0.5 * t.path.rate_bps))
    end = up + (8 * each if lossy else min(40 * each, 4.5))
    return t.run(bbr.scenario(t, end, workload=work, link=link)), up, loss


@case(
    "up-loss",
    "Exiting PROBE_UP on loss when application-limited",
    "line 3993",
    values="inflight_longterm_segments prev_probe_too_high",
    unsuited=bbr.below(30, "a limited flow has too few packets in flight to lose some of them in a round"),
)
def _up_loss(t: Trial) -> None:
    run, up, loss = _limited_up(t, lossy=True)
    span = bbr.uninterrupted(run, _from(run, bbr.UP, up))
    at = span.end_s
    t.equals("step 2, line 3997", "the flow is application-limited", run.before("app_limited", loss), 1)
    t.expect("step 4, line 4000", "UP ends after the loss", at, loss, at=at)
    t.expect("step 4, line 4000", "UP ends within rounds of the loss", at, high=loss + 4 * t.path.round_s, at=at)
    bbr.goes_down(t, "step 5, line 4001", run, span)
    t.equals("line 3162", "prev_probe_too_high is set", run.at("prev_probe_too_high", at), 1, at=at)
    but = "line 3164: HandleInflightTooHigh leaves inflight_longterm unless !RS.is_app_limited"
    longterm = run.at(_LONGTERM, at)
    t.expect("step 5, line 4002", "inflight_longterm is updated", longterm, high=1e12, at=at, but=but)


@case(
    "app-limited-up",
    "Never exiting PROBE_UP when application-limited with no loss",
    "line 4004",
    unsuited=bbr.below(4, "half of the bandwidth leaves nothing in flight"),
)
def _stays_up(t: Trial) -> None:
    run, up, _ = _limited_up(t, lossy=False)
    span, end = _from(run, bbr.UP, up), run.end_s
    after = "ProbeBW_UP" if span.end_s >= end else bbr.name_of(bbr.next_state(run, span))
    t.equals("step 3, line 4008", "nothing is lost", run.at("lost", span.end_s), 0)
    limited = run.at("app_limited", min(up + 3 * t.path.round_s, end))
    t.expect("step 2, line 4006", "the flow is application-limited", limited, 1)
    expected = "ProbeBW_UP to the end of the run, or to ProbeRTT (line 2653)"
    good = span.end_s >= end or after == "ProbeRTT"
    t.holds("step 3, line 4009", "the flow stays in ProbeBW_UP", good, expected, after, at=span.end_s)


@case(
    "down-inflight",
    "Exiting PROBE_DOWN on inflight",
    "line 4011",
    values="inflight_segments inflight_longterm_segments max_bw_segments_per_s",
    unsuited=bbr.below(8, "DOWN ends with min(BDP, 63) rounds (line 2332), before the inflight falls"),
)
def _down_inflight(t: Trial) -> None:
    """With a deep buffer, and with one of a third of the BDP, in which probes lose packets and so set
    inflight_longterm."""
    deep = t.shared(bbr.long_run(t))
    run = t.run(bbr.scenario(t, bbr.long_s(t.path), buffer_segments=max(0.3 * t.path.bdp_segments, 4)))
    _down_to_cruise(t, deep, _up(deep, "step 1, line 4013").start_s)
    longterm = run.first(_LONGTERM, lambda value: value < inf)
    if longterm is None:
        raise NotApplicableError("no probe lost enough packets to set inflight_longterm")
    _down_to_cruise(t, run, longterm.at_s)


def _down_to_cruise(t: Trial, run: Trace, start_s: float) -> None:
    span = bbr.uninterrupted(run, bbr.enters(run, bbr.DOWN, "step 1, line 4013", start_s))
    at = span.end_s
    # The gain changes at the end of the ACK, after the state.
    t.equals("step 2, line 4014", "pacing_gain is 0.9", run.at("pacing_gain", span.start_s), 0.9)
    if bbr.next_state(run, span) == bbr.REFILL:
        raise NotApplicableError("the time for a probe comes before the inflight falls (line 2403)")
    bbr.follows(t, "step 5, line 4018", run, span, bbr.CRUISE)
    bbr.drained(t, "step 4, line 4016", run, at, _MAX_BW)
    inflight, limit = run.at("inflight_segments", at), bbr.with_headroom(run, at) + 1
    t.expect("step 4, line 4016", "C.inflight ≤ InflightWithHeadroom()", inflight, high=limit, at=at)
    early = [
        one.at_s
        for one in run.points("inflight_segments", span.start_s, at)[1:-1]
        if one.value < min(bbr.inflight_target(run, one.at_s, _MAX_BW), bbr.with_headroom(run, one.at_s)) - 1
    ]
    bbr.none_before(t, "step 4, line 4017", "DOWN ends with the first ACK at which both hold", "DOWN", early, at)


@case(
    "down-time",
    "Exiting PROBE_DOWN after max time",
    "line 4020",
    values="bw_probe_wait_s cycle_stamp_s rounds_since_probe_up",
    unsuited=bbr.below(8, "min(BDP, 63) rounds (line 2332) are over with the first"),
)
def _down_time(t: Trial) -> None:
    each = t.path.round_s
    at = _up(t.shared(bbr.long_run(t)), "step 1, line 4022").end_s
    end = at + min(300 * each, 5.0) + 4 * each

    def slowed(share: float) -> Trace:
        return t.run(bbr.scenario(t, end, link=steps((at, rate(share * t.path.rate_bps)))))

    draft, run = slowed(0.9), slowed(0.6)
    span = bbr.uninterrupted(draft, _from(draft, bbr.DOWN, at - 1e-9))
    after, text = bbr.next_state(draft, span), "with 10 % less bandwidth C.inflight stays too high for CRUISE"
    but = (
        "lines 2000 and 2436: DOWN paces at 0.9 of a max_bw of before, so that C.inflight falls below max_bw · "
        "min_rtt, which is a tenth above the new bandwidth-delay product"
    )
    good, got = after == bbr.REFILL, bbr.name_of(after)
    t.holds("step 2, line 4023", text, good, "ProbeBW_REFILL", got, at=span.end_s, but=but)
    span = bbr.uninterrupted(run, _from(run, bbr.DOWN, at - 1e-9))
    end = span.end_s
    waited, wait = end - run.at("cycle_stamp_s", span.start_s), run.before("bw_probe_wait_s", end)
    rounds = run.before("rounds_since_probe_up", end)
    by_rounds = rounds + 1 >= min(run.at("bdp_segments", end), run.at("cwnd", at), 63)
    text, good = "DOWN lasts bw_probe_wait, or the rounds of Reno (line 2312)", waited >= wait or by_rounds
    expected, got = f"{wait:.4g} s, or min(BDP, 63) rounds", f"{waited:.4g} s, {rounds:g} rounds"
    t.holds("step 3, line 4025", text, good, expected, got, at=end)
    t.expect("step 3, line 4025", "DOWN lasts no longer than bw_probe_wait", waited, high=wait + each * 2)
    t.expect("line 2327", "bw_probe_wait is drawn from 2 to 3 s", wait, 2, 3, at=end)
    bbr.follows(t, "step 4, line 4027", run, span, bbr.REFILL)


@case(
    "probe-rtt",
    "Entering and exiting PROBE_RTT",
    "line 4030",
    values="cwnd_gain probe_rtt_min_stamp_s bdp_segments inflight_segments",
)
def _probe_rtt(t: Trial) -> None:
    run, each = t.run(bbr.long_run(t)), t.path.round_s
    span = bbr.enters(run, bbr.PROBE_RTT, "step 3, line 4035", bbr.in_probe_bw(run, "step 1, line 4032").start_s)
    start, end = span.start_s, span.end_s
    age, late = start - run.before("probe_rtt_min_stamp_s", start), 5 + 2 * max(each, run.at("srtt", start))
    text = "ProbeRTT begins 5 s after the last update of probe_rtt_min_delay"
    t.expect("step 2, line 4033", text, age, 5, late, at=start)
    t.equals("step 3, line 4036", "cwnd_gain is 0.5", run.at("cwnd_gain", start), 0.5, at=start)
    t.equals("line 2667", "pacing_gain is 1", run.at("pacing_gain", start), 1, at=start)
    cap = max(0.5 * run.at("bdp_segments", start), 4) + 1
    t.expect("line 3733", "cwnd ≤ ProbeRTTCwnd()", run.at("cwnd", start), high=cap)
    low = run.first("inflight_segments", lambda value: value <= cap, start)
    lasted, begun = (inf, start) if low is None else (end - low.at_s, low.at_s)
    # The snapshot of the first such ACK may be the next one.
    least = 0.2 - (run.end_s / 2000 + 2 * each)
    t.expect("step 4, line 4037", "ProbeRTT lasts 200 ms with that inflight", lasted, least, at=end)
    rounds = run.grown("round_count", begun, end)
    t.expect("step 4, line 4037", "ProbeRTT lasts a round with that inflight", rounds, 1, at=end)
    t.equals("step 5, line 4039", "full_bw_reached is true", run.at("full_bw_reached", end), 1, at=end)
    bbr.becomes_probe_bw(t, "step 5, line 4038", "ProbeRTT", run, span)
    stop = min(end + 8 * each + 0.5, run.end_s)
    least = 0.5 * t.path.segments_per_s * (stop - end - 2 * each)
    text = "the flow resumes sending at half of the bandwidth at least"
    t.expect("step 5, line 4039", text, run.grown("una", end, stop), least, at=stop)


@case("probe-rtt-idle", "Skipping PROBE_RTT due to application-limited sending", "line 4041", values="idle_restart")
def _idle_restart(t: Trial) -> None:
    each = t.path.round_s
    at = bbr.in_probe_bw(t.shared(bbr.long_run(t)), "step 1, line 4043").end_s
    back = at + 7 + 3 * each
    run = t.run(bbr.scenario(t, back + 6 * each + 0.3, workload=bbr.writes((0, None), (at, 0), (back, None))))
    t.equals("step 2, line 4045", "C.inflight is 0", run.sample("in_flight_bytes", back - 1e-6), 0, at=back)
    restart = run.first("idle_restart", lambda value: value == 1, back - 1e-9)
    good, got = restart is not None and restart.at_s <= back + 1e-6, "never"
    if restart is not None:
        got = f"at {restart.at_s:.6g} s"
    t.holds("step 4, line 4047", "idle_restart is set with the first packet", good, f"at {back:.6g} s", got, at=back)
    # The next one is due 5 s later.
    left = run.first("state", lambda value: value == bbr.PROBE_RTT, back - 1e-9)
    got, at = ("none", back) if left is None or left.at_s >= back + 4.9 else ("ProbeRTT", left.at_s)
    expected = "no ProbeRTT after the idle period"
    t.holds("step 5, line 4049", "ProbeRTT is skipped", got == "none", expected, got, at=at)


@case(
    "app-limited-refill",
    "Handling application-limited sending during PROBE_REFILL",
    "line 4156",
    values="max_bw_segments_per_s",
    unsuited=bbr.below(4, "a tenth of the bandwidth leaves nothing in flight"),
)
def _refill(t: Trial) -> None:
    each = t.path.round_s
    at = bbr.enters(t.shared(bbr.long_run(t)), bbr.REFILL, "step 1, line 4158").start_s
    work = bbr.writes((0, None), (at, 0.1 * t.path.rate_bps), (at + each, None))
    run = t.run(bbr.scenario(t, at + 15 * each + 0.1, workload=work))
    span = bbr.uninterrupted(run, _from(run, bbr.REFILL, at - 1e-9))
    start, end = span.start_s, span.end_s
    limited = [one for one in run.points("app_limited", start, end) if one.value == 1]
    t.expect("step 2, line 4160", "the flow is application-limited", len(limited), 1, at=start)
    lowest, before = run.least(_MAX_BW, start, end).value, run.at(_MAX_BW, at)
    t.expect("step 3, line 4166", "max_bw does not fall", lowest, before, at=end)
    t.equals("step 4, line 4168", "REFILL lasts one round", run.grown("round_count", start, end), 1, at=end)
    bbr.follows(t, "step 4, line 4168", run, span, bbr.UP)
    after = next(iter(bbr.states(run, end, bbr.UP)), None)
    got = "no ProbeBW_UP" if after is None else bbr.name_of(bbr.next_state(run, after))
    good = after is not None and (after.end_s >= run.end_s or bbr.next_state(run, after) in (bbr.DOWN, bbr.PROBE_RTT))
    t.holds("step 4, line 4169", "the probe that follows ends as usual", good, "ProbeBW_DOWN", got, at=end)
