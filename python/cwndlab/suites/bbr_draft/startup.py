"""Cases of Startup and Drain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cwndlab.suites.bbr_draft.common import (
    BASIC,
    DRAIN,
    PATHS,
    PROBE_BW,
    PROBE_RTT,
    STARTUP,
    below,
    drained,
    enters,
    inflight_target,
    leaves_startup,
    line,
    long_run,
    name_of,
    next_state,
    ramp,
    scenario,
    states,
    steps,
    uninterrupted,
    writes,
)
from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup
from cwndlab.suites.statements import NotApplicableError, Statement, at_least, at_most, between, equals, holds
from cwndlab.suites.trace import Span, Trace

#: The least delay of a delayed ACK in Linux (TCP_DELACK_MIN).
_DELAYED_ACK_S = 0.04


def _whole(bench: Bench) -> Setup:
    return Setup(scenario=long_run(bench))


def _plateau(trace: Trace) -> Iterator[Statement]:
    after = leaves_startup(trace, line(3950, "step 5"))
    at = after.start_s
    link = trace.path.segments_per_s
    # Where segments arrive further apart than a delayed ACK waits, a sample of a round may end with an ACK that waits
    # less than the one with which it began.
    delayed = _DELAYED_ACK_S / trace.path.rtt_s if trace.path.rtt_s > 2 / link > 2 * _DELAYED_ACK_S else 0.0
    yield equals(
        line(3944, "step 3"),
        f"max_bw is within {100 * (0.02 + delayed):.0f} % of the bandwidth",
        trace.at("max_bw_segments_per_s", at),
        link,
        relative=0.02 + delayed,
        at_s=at,
    )
    yield equals(line(3947, "step 4"), "full_bw_count reaches 3", trace.at("full_bw_count", at), 3, at_s=at)
    counted = [point for point in trace.points("full_bw_count", 0, at) if point.value > 0][-3:]
    rounds = [trace.at("round_count", point.at_s) for point in counted]
    # Rounds in ProbeRTT are application-limited (line 2672) and do not count.
    start = counted[0].at_s if counted else at
    paused = any(span.value == PROBE_RTT and start < span.end_s <= at for span in states(trace))
    yield holds(
        line(3947, "step 4"),
        "full_bw_count rises in three consecutive rounds",
        [point.value for point in counted] == [1, 2, 3] and (paused or rounds[2] - rounds[0] == 2),
        expected="1, 2, 3 in three consecutive rounds, ProbeRTT apart",
        got=", ".join(f"{one.value:g} in round {count:g}" for one, count in zip(counted, rounds, strict=True)),
        at_s=at,
    )
    for flag in ("full_bw_now", "full_bw_reached"):
        yield equals(line(3949, "step 4"), f"{flag} is true", trace.at(flag, at), 1, at_s=at)
    # With little in flight Drain ends with the ACK that begins it (lines 1778 and 1779).
    at_once = after.value in PROBE_BW and trace.at("inflight_segments", at) <= inflight_target(trace, at)
    yield holds(
        line(3950, "step 5"),
        "Startup is followed by Drain",
        after.value == DRAIN or at_once,
        expected="Drain",
        got=name_of(after.value),
        at_s=at,
    )


#: Share of the bandwidth that a limited application uses.
_LIMITED = 0.3


def _limited(bench: Bench, share: float, rounds: float, least_s: float = 0.0, **options: Any) -> dict[str, Any]:
    """A scenario of an application that limits its flow to a share of the bandwidth, for some rounds."""
    path = bench.path
    rates = ramp(path, share)
    each = max(path.round_s, 1 / (share * path.segments_per_s))
    return scenario(bench, rates[-1][0] + max(rounds * each, least_s), workload=writes(*rates), **options)


def _limited_with_loss(bench: Bench) -> Setup:
    path = bench.path
    lossy = ramp(path, 0.8)[-1][0] + 5 * path.round_s
    # Six ranges in a round, but no more loss than retransmissions leave the flow application-limited.
    loss = min(max(10 / path.bdp_segments, 0.05), 0.3)
    link = {"schedule": steps((lossy, {"loss": loss}))}
    return Setup(scenario=_limited(bench, 0.8, 30, 1, link=link), moments={"loss": lossy})


def _startup_loss(trace: Trace) -> Iterator[Statement]:
    lossy = trace.moments["loss"]
    after = leaves_startup(trace, line(3957, "step 5"))
    at = after.start_s
    yield at_least(line(3955, "step 3"), "losses end Startup, not the rounds before", at, lossy, at_s=at)
    yield equals(
        line(3954, "step 2"), "the flow is application-limited", trace.before("transport.app_limited", lossy), 1
    )
    yield at_most(line(3958, "step 5"), "no plateau was seen", trace.before("full_bw_count", at), 2, at_s=at)
    lost = trace.at("transport.lost_segments", at) - trace.at("transport.lost_segments", lossy)
    yield at_least(line(1924), "at least six sequence ranges were lost", lost, 6, at_s=at)
    yield equals(line(3957, "step 5"), "full_bw_reached is true", trace.at("full_bw_reached", at), 1, at_s=at)
    yield equals(
        line(3957, "step 5"),
        "full_bw_now is true",
        trace.at("full_bw_now", at),
        1,
        at_s=at,
        contradicts="lines 1932 to 1939: CheckStartupHighLoss sets full_bw_reached, not full_bw_now",
    )
    yield at_most(
        line(1936),
        "inflight_longterm = max(bdp, inflight_latest) is set",
        trace.at("inflight_longterm_segments", at),
        trace.at("transport.cwnd_segments", at) + trace.at("max_inflight_segments", at),
        at_s=at,
    )
    yield holds(
        line(3958, "step 5"),
        "Startup is followed by Drain",
        after.value == DRAIN or after.value in PROBE_BW,
        expected="Drain",
        got=name_of(after.value),
        at_s=at,
    )


def _drain(trace: Trace, source: str) -> Span:
    if leaves_startup(trace, source).value != DRAIN:
        raise NotApplicableError("Drain begins and ends with the same ACK")
    return enters(trace, DRAIN, source)


def _drain_inflight(trace: Trace) -> Iterator[Statement]:
    span = uninterrupted(trace, _drain(trace, line(3963, "step 1")))
    gain = trace.at("pacing_gain", span.start_s)
    yield equals(line(3964, "step 2"), "pacing_gain is 0.5", gain, 0.5, at_s=span.start_s)
    yield drained(line(3967, "step 4"), trace, span.end_s)
    early = [
        point
        for point in trace.points("inflight_segments", span.start_s, span.end_s)[:-1]
        if point.value <= inflight_target(trace, point.at_s) - 1
    ]
    yield holds(
        line(3967, "step 4"),
        "Drain ends with the first ACK at which C.inflight ≤ Inflight(1.0)",
        not early,
        expected="no such ACK before the end of Drain",
        got=f"{len(early)} snapshots" if early else "none",
        at_s=early[0].at_s if early else span.end_s,
    )
    after = next_state(trace, span)
    yield holds(
        line(3968, "step 4"),
        "Drain is followed by ProbeBW",
        after in PROBE_BW,
        expected="ProbeBW",
        got=name_of(after),
        at_s=span.end_s,
    )


#: The bandwidth left in Drain: the step of the draft, and one below the rate of Drain.
_SLOWER, _MUCH_SLOWER = 0.9, 0.4


def _slow_drain(bench: Bench) -> Setup:
    base = bench.shared(long_run(bench))
    span = uninterrupted(base, _drain(base, line(3972, "step 1")))
    path, at = bench.path, span.start_s
    end = at + 12 * path.round_s + 0.5

    def slowed(share: float) -> dict[str, object]:
        link = {"schedule": steps((at, {"rate": f"{share * path.rate_bps:.0f} bps"}))}
        return scenario(bench, end, link=link)

    return Setup(
        scenario=slowed(_MUCH_SLOWER),
        moments={"drain": at},
        earlier={"as in the draft": bench.run(slowed(_SLOWER))},
    )


def _rounds_in_drain(trace: Trace, start_s: float) -> tuple[Span, float]:
    span = next(one for one in states(trace, start_s) if one.value == DRAIN)
    start = trace.at("drain_start_round", span.start_s)
    return span, trace.at("round_count", span.end_s) - start


def _drain_time(trace: Trace) -> Iterator[Statement]:
    at = trace.moments["drain"]
    _, rounds = _rounds_in_drain(trace.earlier["as in the draft"], at)
    yield at_least(
        line(3976, "step 3"),
        "with 10 % less bandwidth C.inflight stays above Inflight(1.0) for three rounds",
        rounds,
        3,
        contradicts="line 1958: at a pacing gain of 0.5 the queue shrinks by 0.4 of the old bandwidth, "
        "so that Drain ends on inflight (line 1975)",
    )
    span, rounds = _rounds_in_drain(trace, at)
    uninterrupted(trace, span)
    inflight, target = trace.at("inflight_segments", span.end_s), inflight_target(trace, span.end_s)
    yield at_least(
        line(3976, "step 3"),
        "with 60 % less bandwidth C.inflight is above Inflight(1.0) at the end of Drain",
        inflight,
        target,
        at_s=span.end_s,
    )
    yield equals(
        line(1976),
        "Drain ends in the first round with round_count > drain_start_round + 3",
        rounds,
        4,
        at_s=span.end_s,
    )
    yield equals(
        line(3979, "step 5"),
        "Drain ends after 3 rounds",
        rounds,
        3,
        at_s=span.end_s,
        contradicts="line 1976: round_count > drain_start_round + 3, which is after 4 rounds",
    )
    after = next_state(trace, span)
    yield holds(
        line(3980, "step 5"),
        "Drain is followed by ProbeBW",
        after in PROBE_BW,
        expected="ProbeBW",
        got=name_of(after),
        at_s=span.end_s,
    )


def _limited_startup(bench: Bench) -> Setup:
    return Setup(scenario=_limited(bench, _LIMITED, 60, 0.5))


def _stays_in_startup(trace: Trace) -> Iterator[Statement]:
    yield equals(line(4008, "step 3"), "nothing is lost", trace.at("transport.lost_segments", trace.end_s), 0)
    yield at_least(line(4006, "step 2"), "the flow runs for rounds", trace.at("round_count", trace.end_s), 20)
    left = [span for span in states(trace) if span.value not in (STARTUP, PROBE_RTT)]
    yield holds(
        line(4009, "step 3"),
        "the flow stays in Startup, ProbeRTT apart",
        not left,
        expected="Startup",
        got=name_of(left[0].value) if left else "Startup",
        at_s=left[0].start_s if left else trace.end_s,
    )
    yield equals(line(4008, "step 3"), "full_bw_count stays 0", trace.at("full_bw_count", trace.end_s), 0)


def _slow_startup(bench: Bench) -> Setup:
    return Setup(scenario=_limited(bench, _LIMITED, 12, 8))


def _probe_rtt_in_startup(trace: Trace) -> Iterator[Statement]:
    span = enters(trace, PROBE_RTT, line(4137, "step 1"))
    reached = trace.at("full_bw_reached", span.start_s)
    yield equals(line(4136, "step 1"), "full_bw_reached is false", reached, 0, at_s=span.start_s)
    yield holds(
        line(4136, "step 1"),
        "ProbeRTT follows Startup",
        trace.before("state", span.start_s) == STARTUP,
        expected="Startup",
        got=name_of(trace.before("state", span.start_s)),
        at_s=span.start_s,
    )
    yield at_least(line(4139, "step 2"), "ProbeRTT lasts 200 ms", span.end_s - span.start_s, 0.2, at_s=span.end_s)
    after = next_state(trace, span)
    yield holds(
        line(4140, "step 3"),
        "ProbeRTT is followed by Startup",
        after == STARTUP,
        expected="Startup",
        got=name_of(after),
        at_s=span.end_s,
    )
    yield between(
        line(4141, "step 3"),
        "the flow goes on searching: the gain of Startup",
        trace.at("pacing_gain", span.end_s),
        2.77,
        2.78,
        at_s=span.end_s,
    )


_FEW = "six ranges within a round take 30 segments in flight"

CASES = (
    Case(
        name="startup-plateau",
        title="Exiting STARTUP on bandwidth plateau",
        source=line(3939),
        scenario=_whole,
        check=_plateau,
        paths=PATHS,
        values=(*BASIC, "max_bw_segments_per_s", "full_bw_count", "full_bw_now", "full_bw_reached"),
    ),
    Case(
        name="startup-loss",
        title="Exiting STARTUP on loss when application-limited",
        source=line(3950),
        scenario=_limited_with_loss,
        check=_startup_loss,
        paths=PATHS,
        unsuited=below(30, _FEW),
        values=(*BASIC, "full_bw_count", "full_bw_now", "full_bw_reached", "inflight_longterm_segments"),
    ),
    Case(
        name="drain-inflight",
        title="Exiting DRAIN based on inflight",
        source=line(3961),
        scenario=_whole,
        check=_drain_inflight,
        paths=PATHS,
        values=(*BASIC, "inflight_segments", "bw_segments_per_s", "min_rtt_s"),
    ),
    Case(
        name="drain-time",
        title="Exiting DRAIN based on time",
        source=line(3970),
        scenario=_slow_drain,
        check=_drain_time,
        paths=PATHS,
        unsuited=below(8, "the least window exceeds the inflight that Drain waits for"),
        values=(*BASIC, "inflight_segments", "drain_start_round"),
    ),
    Case(
        name="app-limited-startup",
        title="Never exiting STARTUP when application-limited with no loss",
        source=line(4004),
        scenario=_limited_startup,
        check=_stays_in_startup,
        paths=PATHS,
        values=(*BASIC, "full_bw_count"),
    ),
    Case(
        name="probe-rtt-in-startup",
        title="Entering and exiting PROBE_RTT during STARTUP",
        source=line(4134),
        scenario=_slow_startup,
        check=_probe_rtt_in_startup,
        paths=PATHS,
        unsuited=below(4, "each packet of a limited application restarts from idle (line 2748)"),
        values=(*BASIC, "full_bw_reached"),
    ),
)
