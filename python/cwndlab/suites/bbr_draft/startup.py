"""Cases of Startup and Drain."""

from __future__ import annotations

from typing import Any

from cwndlab.suites.bbr_draft import common as bbr
from cwndlab.suites.case import cases
from cwndlab.suites.statements import NotApplicableError
from cwndlab.suites.trace import Span, Trace
from cwndlab.suites.trial import Trial, rate, steps

CASES, case = cases(bbr.PATHS, *bbr.BASIC)
#: The least delay of a delayed ACK in Linux (TCP_DELACK_MIN).
_DELAYED_ACK_S = 0.04
#: Share of the bandwidth that a limited application uses.
_LIMITED = 0.3


def _limited(t: Trial, share: float, rounds: float, least_s: float = 0.0, **options: Any) -> dict[str, Any]:
    """A scenario of an application that limits its flow to a share of the bandwidth, for some rounds."""
    rates = bbr.ramp(t.path, share)
    each = max(t.path.round_s, 1 / (share * t.path.segments_per_s))
    return bbr.scenario(t, rates[-1][0] + max(rounds * each, least_s), workload=bbr.writes(*rates), **options)


def _drain(run: Trace, source: str) -> Span:
    if bbr.leaves_startup(run, source).value != bbr.DRAIN:
        raise NotApplicableError("Drain begins and ends with the same ACK")
    return bbr.uninterrupted(run, bbr.enters(run, bbr.DRAIN, source))


@case(
    "startup-plateau",
    "Exiting STARTUP on bandwidth plateau",
    "line 3939",
    values="max_bw_segments_per_s full_bw_count full_bw_now full_bw_reached",
)
def _plateau(t: Trial) -> None:
    run = t.run(bbr.long_run(t))
    after = bbr.leaves_startup(run, "step 5, line 3950")
    at, link = after.start_s, t.path.segments_per_s
    # Where segments arrive further apart than a delayed ACK waits, a sample of a round may end with an ACK that waits
    # less than the one with which it began.
    delayed = _DELAYED_ACK_S / t.path.rtt_s if t.path.rtt_s > 2 / link > 2 * _DELAYED_ACK_S else 0.0
    text, max_bw = (
        f"max_bw is within {100 * (0.02 + delayed):.0f} % of the bandwidth",
        run.at("max_bw_segments_per_s", at),
    )
    t.equals("step 3, line 3944", text, max_bw, link, relative=0.02 + delayed, at=at)
    t.equals("step 4, line 3947", "full_bw_count reaches 3", run.at("full_bw_count", at), 3, at=at)
    counted = [point for point in run.points("full_bw_count", 0, at) if point.value > 0][-3:]
    values, rounds = [point.value for point in counted], [run.at("round_count", point.at_s) for point in counted]
    # Rounds in ProbeRTT are application-limited (line 2672) and do not count.
    start = counted[0].at_s if counted else at
    paused = any(start < span.end_s <= at for span in bbr.states(run, 0.0, bbr.PROBE_RTT))
    good = values == [1, 2, 3] and (paused or rounds[2] - rounds[0] == 2)
    expected = "1, 2, 3 in three consecutive rounds, ProbeRTT apart"
    got = ", ".join(f"{one:g} in round {count:g}" for one, count in zip(values, rounds, strict=True))
    t.holds("step 4, line 3947", "full_bw_count rises in three consecutive rounds", good, expected, got, at=at)
    for flag in ("full_bw_now", "full_bw_reached"):
        t.equals("step 4, line 3949", f"{flag} is true", run.at(flag, at), 1, at=at)
    # With little in flight Drain ends with the ACK that begins it (lines 1778 and 1779).
    at_once = after.value in bbr.PROBE_BW and run.at("inflight_segments", at) <= bbr.inflight_target(run, at)
    text, good = "Startup is followed by Drain", after.value == bbr.DRAIN or at_once
    t.holds("step 5, line 3950", text, good, "Drain", bbr.name_of(after.value), at=at)


@case(
    "startup-loss",
    "Exiting STARTUP on loss when application-limited",
    "line 3950",
    values="full_bw_count full_bw_now full_bw_reached inflight_longterm_segments",
    unsuited=bbr.below(30, "six ranges within a round take 30 segments in flight"),
)
def _startup_loss(t: Trial) -> None:
    lossy = bbr.ramp(t.path, 0.8)[-1][0] + 5 * t.path.round_s
    # Six ranges in a round, but no more loss than retransmissions leave the flow application-limited.
    loss = min(max(10 / t.path.bdp_segments, 0.05), 0.3)
    run = t.run(_limited(t, 0.8, 30, 1, link=steps((lossy, {"loss": loss}))))
    after = bbr.leaves_startup(run, "step 5, line 3957")
    at = after.start_s
    t.expect("step 3, line 3955", "losses end Startup, not the rounds before", at, lossy, at=at)
    t.equals("step 2, line 3954", "the flow is application-limited", run.before("app_limited", lossy), 1)
    t.expect("step 5, line 3958", "no plateau was seen", run.before("full_bw_count", at), high=2, at=at)
    t.expect("line 1924", "at least six sequence ranges were lost", run.grown("lost", lossy, at), 6, at=at)
    t.equals("step 5, line 3957", "full_bw_reached is true", run.at("full_bw_reached", at), 1, at=at)
    but = "lines 1932 to 1939: CheckStartupHighLoss sets full_bw_reached, not full_bw_now"
    t.equals("step 5, line 3957", "full_bw_now is true", run.at("full_bw_now", at), 1, at=at, but=but)
    longterm, limit = run.at("inflight_longterm_segments", at), run.at("cwnd", at) + run.at("max_inflight_segments", at)
    t.expect("line 1936", "inflight_longterm = max(bdp, inflight_latest) is set", longterm, high=limit, at=at)
    text, good = "Startup is followed by Drain", after.value in (bbr.DRAIN, *bbr.PROBE_BW)
    t.holds("step 5, line 3958", text, good, "Drain", bbr.name_of(after.value), at=at)


@case(
    "drain-inflight",
    "Exiting DRAIN based on inflight",
    "line 3961",
    values="inflight_segments bw_segments_per_s min_rtt_s",
)
def _drain_inflight(t: Trial) -> None:
    run = t.run(bbr.long_run(t))
    span = _drain(run, "step 1, line 3963")
    start, end = span.start_s, span.end_s
    t.equals("step 2, line 3964", "pacing_gain is 0.5", run.at("pacing_gain", start), 0.5, at=start)
    bbr.drained(t, "step 4, line 3967", run, end)
    points = run.points("inflight_segments", start, end)[:-1]
    early = [point.at_s for point in points if point.value <= bbr.inflight_target(run, point.at_s) - 1]
    text = "Drain ends with the first ACK at which C.inflight ≤ Inflight(1.0)"
    bbr.none_before(t, "step 4, line 3967", text, "Drain", early, end)
    bbr.becomes_probe_bw(t, "step 4, line 3968", "Drain", run, span)


@case(
    "drain-time",
    "Exiting DRAIN based on time",
    "line 3970",
    values="inflight_segments drain_start_round",
    unsuited=bbr.below(8, "the least window exceeds the inflight that Drain waits for"),
)
def _drain_time(t: Trial) -> None:
    """With the step of the draft, and with one below the rate of Drain."""
    at = _drain(t.shared(bbr.long_run(t)), "step 1, line 3972").start_s
    end = at + 12 * t.path.round_s + 0.5

    def slowed(share: float) -> tuple[Trace, Span, float]:
        run = t.run(bbr.scenario(t, end, link=steps((at, rate(share * t.path.rate_bps)))))
        span = bbr.states(run, at, bbr.DRAIN)[0]
        return run, span, run.at("round_count", span.end_s) - run.at("drain_start_round", span.start_s)

    (_, _, draft), (run, span, rounds) = slowed(0.9), slowed(0.4)
    but = (
        "line 1958: at a pacing gain of 0.5 the queue shrinks by 0.4 of the old bandwidth, so that Drain ends on "
        "inflight (line 1975)"
    )
    text = "with 10 % less bandwidth C.inflight stays above Inflight(1.0) for three rounds"
    t.expect("step 3, line 3976", text, draft, 3, but=but)
    end = bbr.uninterrupted(run, span).end_s
    text = "with 60 % less bandwidth C.inflight is above Inflight(1.0) at the end of Drain"
    t.expect("step 3, line 3976", text, run.at("inflight_segments", end), bbr.inflight_target(run, end), at=end)
    text = "Drain ends in the first round with round_count > drain_start_round + 3"
    t.equals("line 1976", text, rounds, 4, at=end)
    but = "line 1976: round_count > drain_start_round + 3, which is after 4 rounds"
    t.equals("step 5, line 3979", "Drain ends after 3 rounds", rounds, 3, at=end, but=but)
    bbr.becomes_probe_bw(t, "step 5, line 3980", "Drain", run, span)


@case(
    "app-limited-startup",
    "Never exiting STARTUP when application-limited with no loss",
    "line 4004",
    values="full_bw_count",
)
def _stays_in_startup(t: Trial) -> None:
    run = t.run(_limited(t, _LIMITED, 60, 0.5))
    end = run.end_s
    t.equals("step 3, line 4008", "nothing is lost", run.at("lost", end), 0)
    t.expect("step 2, line 4006", "the flow runs for rounds", run.at("round_count", end), 20)
    left = next(
        (span for span in bbr.states(run) if span.value not in (bbr.STARTUP, bbr.PROBE_RTT)),
        Span(bbr.STARTUP, end, end),
    )
    text = "the flow stays in Startup, ProbeRTT apart"
    bbr.becomes(t, "step 3, line 4009", text, left.value, bbr.STARTUP, left.start_s)
    t.equals("step 3, line 4008", "full_bw_count stays 0", run.at("full_bw_count", end), 0)


@case(
    "probe-rtt-in-startup",
    "Entering and exiting PROBE_RTT during STARTUP",
    "line 4134",
    values="full_bw_reached",
    unsuited=bbr.below(4, "each packet of a limited application restarts from idle (line 2748)"),
)
def _probe_rtt_in_startup(t: Trial) -> None:
    run = t.run(_limited(t, _LIMITED, 12, 8))
    span = bbr.enters(run, bbr.PROBE_RTT, "step 1, line 4137")
    start, end = span.start_s, span.end_s
    t.equals("step 1, line 4136", "full_bw_reached is false", run.at("full_bw_reached", start), 0, at=start)
    bbr.becomes(t, "step 1, line 4136", "ProbeRTT follows Startup", run.before("state", start), bbr.STARTUP, start)
    t.expect("step 2, line 4139", "ProbeRTT lasts 200 ms", end - start, 0.2, at=end)
    bbr.becomes(t, "step 3, line 4140", "ProbeRTT is followed by Startup", bbr.next_state(run, span), bbr.STARTUP, end)
    text = "the flow goes on searching: the gain of Startup"
    t.expect("step 3, line 4141", text, run.at("pacing_gain", end), 2.77, 2.78, at=end)
