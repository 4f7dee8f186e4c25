"""Statements of RFC 9406 on HyStart++. The sections are those of the RFC; windows are in segments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from cwndlab.suites.bench import Bench, duration
from cwndlab.suites.case import Case, Setup, Suite
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import packet_at, scenario
from cwndlab.suites.statements import NotApplicableError, Statement, at_most, between, equals, holds, unseen
from cwndlab.suites.trace import Trace

#: RTTs at which MIN_RTT_THRESH, an eighth of the RTT and MAX_RTT_THRESH are the threshold; the line is never full.
PATHS = (
    Path("3 Gbit/s, 20 ms", 3e9, 0.02),
    Path("3 Gbit/s, 100 ms", 3e9, 0.1),
    Path("3 Gbit/s, 300 ms", 3e9, 0.3),
)
_MIDDLE = (PATHS[1],)

#: Values that HyStart++ reports.
_VALUES = ("in_css",)
#: The round trip in which the RTT changes: 80 to 160 segments, 40 to 80 samples.
_STEP_ROUND = 4.5


def _threshold_s(path: Path) -> float:
    """RttThresh: an eighth of the RTT, between MIN_RTT_THRESH and MAX_RTT_THRESH."""
    return min(max(path.rtt_s / 8, 0.004), 0.016)


def _delayed(path: Path, *steps: tuple[float, float]) -> list[dict[str, Any]]:
    """Steps of the delay of the data: at a number of round trips, so many seconds more than the base."""
    return [{"at": duration(rounds * path.rtt_s), "delay": duration(path.rtt_s / 2 + more)} for rounds, more in steps]


def _run(bench: Bench, rounds: float, *steps: tuple[float, float], **options: Any) -> dict[str, Any]:
    link = {"schedule": _delayed(bench.path, *steps), **options.pop("link", {})} if steps else options.pop("link", {})
    return scenario(bench, rounds * bench.path.rtt_s, link=link, values=_VALUES, **options)


def _css(trace: Trace, after_s: float = 0.0) -> float | None:
    """The time at which conservative slow start begins."""
    point = trace.first("in_css", lambda value: value == 1, after_s)
    return None if point is None else point.at_s


def _entered(trace: Trace, source: str) -> float:
    at = _css(trace)
    if at is None:
        raise unseen(source, "conservative slow start begins", "not in this run")
    return at


def _steps(bench: Bench) -> Setup:
    threshold = _threshold_s(bench.path)
    below = bench.run(_run(bench, 9, (_STEP_ROUND, 0.85 * threshold)))
    return Setup(scenario=_run(bench, 9, (_STEP_ROUND, 1.15 * threshold)), earlier={"below": below})


def _delay_increase(trace: Trace) -> Iterator[Statement]:
    threshold = _threshold_s(trace.path)
    at = _css(trace.earlier["below"])
    source = (
        "sections 4.2, 4.3: RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))"
    )
    yield holds(
        source,
        f"slow start goes on where the RTT rises by {850 * threshold:.3g} ms",
        at is None,
        expected="no conservative slow start",
        got="none" if at is None else "conservative slow start",
        at_s=at,
    )
    entered = _css(trace)
    yield holds(
        source,
        f"conservative slow start begins where the RTT rises by {1150 * threshold:.3g} ms",
        entered is not None,
        expected="conservative slow start",
        got="none" if entered is None else "conservative slow start",
        at_s=entered,
    )
    if entered is not None:
        # The first delayed ACK comes a round after the step; the round of the step still has a low minimum.
        first = (_STEP_ROUND + 1) * trace.path.rtt_s
        yield between(
            "section 4.2: currentRoundMinRTT is of one round",
            "conservative slow start begins in the first round whose RTTs all have risen",
            entered,
            first,
            first + 1.5 * trace.path.rtt_s,
            at_s=entered,
        )


def _few_samples(bench: Bench) -> Setup:
    """The RTT rises in a round with five ACKs; the next round has a raised minimum before it."""
    stack = {"ack_every": 8, "quick_acks": 0, "ack_delay": duration(bench.path.rtt_s / 10)}
    return Setup(scenario=_run(bench, 9, (2.05, 1.5 * _threshold_s(bench.path)), stack=stack))


def _sampled(trace: Trace) -> Iterator[Statement]:
    at = _css(trace)
    yield holds(
        "sections 4.2, 4.3: rttSampleCount >= N_RTT_SAMPLE, which is 8",
        "a rise of the RTT in a round with fewer than eight samples has no effect",
        at is None,
        expected="no conservative slow start",
        got="none" if at is None else "conservative slow start",
        at_s=at,
    )


def _standard(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 6.5))


def _grows(trace: Trace, start_s: float, end_s: float) -> float:
    """Growth of cwnd per segment acknowledged."""
    acked = trace.at("transport.una_segments", end_s) - trace.at("transport.una_segments", start_s)
    grown = trace.at("transport.cwnd_segments", end_s) - trace.at("transport.cwnd_segments", start_s)
    return grown / max(acked, 1)


def _slow_start(trace: Trace) -> Iterator[Statement]:
    rtt = trace.path.rtt_s
    yield equals(
        "section 4.2: cwnd = cwnd + min(N, L * SMSS) in slow start",
        "segments of growth per segment acknowledged",
        _grows(trace, 2.1 * rtt, 6 * rtt),
        1,
        relative=0.02,
    )
    at = _css(trace)
    yield holds(
        "section 4.2",
        "slow start goes on while the RTT is constant",
        at is None,
        expected="no conservative slow start",
        got="none" if at is None else "conservative slow start",
        at_s=at,
    )


def _stretched(bench: Bench) -> Setup:
    stack = {"ack_every": 32, "quick_acks": 0, "initial_window": 64, "pacing": "off"}
    return Setup(scenario=_run(bench, 5, stack=stack))


def _limited(trace: Trace) -> Iterator[Statement]:
    points = trace.points("transport.cwnd_segments")
    steps = [later.value - earlier.value for earlier, later in itertools.pairwise(points)]
    if not steps:
        raise unseen("section 4.2", "cwnd grows", "it does not")
    yield equals(
        "sections 4.2, 4.3: cwnd = cwnd + min(N, L * SMSS), where L is 8 without pacing",
        "the largest growth by an ACK of 32 segments",
        max(steps),
        8,
        within=0.5,
    )


def _rising(path: Path, rounds: int) -> list[tuple[float, float]]:
    """The RTT rises above the threshold, and then by 0.1 ms per round, so that no round has a lower minimum."""
    return [(_STEP_ROUND + one, 1.3 * _threshold_s(path) + 1e-4 * one) for one in range(rounds)]


def _in_css(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 16, *_rising(bench.path, 12)))


def _conservative(trace: Trace) -> Iterator[Statement]:
    at = _entered(trace, "section 4.2")
    rtt = trace.at("transport.srtt_s", at) + 0.3 * _threshold_s(trace.path)
    yield equals(
        "section 4.2: cwnd = cwnd + min(N, L * SMSS) / CSS_GROWTH_DIVISOR in CSS",
        "segments of growth per segment acknowledged",
        _grows(trace, at + 0.1 * rtt, at + 3 * rtt),
        0.25,
        relative=0.05,
        at_s=at + 3 * rtt,
    )
    left = trace.first("transport.ssthresh_segments", lambda value: value < 1e9, at)
    if left is None:
        raise unseen("section 4.2", "slow start ends after CSS_ROUNDS", "not in this run", at)
    rounds = trace.at("transport.round", left.at_s) - trace.at("transport.round", at)
    yield between(
        "sections 4.2, 4.3: after CSS_ROUNDS, which is 5, ssthresh = cwnd",
        "rounds of conservative slow start, the one in which it begins included or not",
        rounds,
        4,
        5,
        at_s=left.at_s,
    )
    yield between(
        "section 4.2: ssthresh = cwnd",
        "ssthresh at the end of conservative slow start",
        left.value,
        trace.before("transport.cwnd_segments", left.at_s) - 1,
        trace.at("transport.cwnd_segments", left.at_s) + 1,
        at_s=left.at_s,
    )
    end = left.at_s + 2 * rtt
    yield at_most(
        "section 4.2: enter congestion avoidance",
        "segments of growth per segment acknowledged afterwards",
        _grows(trace, left.at_s, end),
        0.1,
        at_s=end,
    )


def _jitter(bench: Bench) -> Setup:
    return Setup(scenario=_run(bench, 12, *_rising(bench.path, 3), (_STEP_ROUND + 2.5, 0.0)))


def _resumes(trace: Trace) -> Iterator[Statement]:
    at = _entered(trace, "section 4.2")
    left = trace.first("in_css", lambda value: value == 0, at)
    fallen = (_STEP_ROUND + 3.4) * trace.path.rtt_s
    yield holds(
        "section 4.2: if currentRoundMinRTT < cssBaselineMinRtt, resume slow start",
        "conservative slow start ends where the RTT falls again",
        left is not None and left.at_s >= fallen,
        expected=f"after {fallen:.4g} s",
        got="never" if left is None else f"at {left.at_s:.4g} s",
        at_s=None if left is None else left.at_s,
    )
    if left is None:
        return
    ssthresh = trace.at("transport.ssthresh_segments", left.at_s)
    yield holds(
        "section 4.2: resume slow start",
        "ssthresh is not set",
        ssthresh > 1e9,
        expected="infinite",
        got=f"{ssthresh:.6g}",
        at_s=left.at_s,
    )
    end = min(left.at_s + 2 * trace.path.rtt_s, trace.end_s)
    grown = _grows(trace, left.at_s, end)
    yield equals("section 4.2", "growth per segment acknowledged", grown, 1, relative=0.05, at_s=end)


def _lost_in_css(bench: Bench) -> Setup:
    step = (_STEP_ROUND, 1.3 * _threshold_s(bench.path))
    known = bench.run(_run(bench, 9, step))
    at = _entered(known, "section 4.2")
    number = packet_at(known, at + 0.5 * bench.path.rtt_s)
    return Setup(scenario=_run(bench, 14, step, lost=[number]))


def _loss(trace: Trace) -> Iterator[Statement]:
    at = _entered(trace, "section 4.2")
    lost = trace.events_of("recovery", after_s=at)
    if not lost:
        raise unseen("section 4.2", "the loss is detected", "no recovery", at)
    begun = float(lost[0]["at_s"])
    yield at_most(
        "section 4.2: at a loss enter congestion avoidance, ssthresh = cwnd",
        "ssthresh",
        trace.at("transport.ssthresh_segments", begun),
        trace.before("transport.cwnd_segments", begun),
        at_s=begun,
    )
    yield equals("section 4.2", "conservative slow start ends", trace.at("in_css", begun), 0, at_s=begun)
    later = trace.first("in_css", lambda value: value == 1, begun)
    yield holds(
        "section 4.2",
        "conservative slow start does not begin again",
        later is None,
        expected="never",
        got="never" if later is None else f"at {later.at_s:.6g} s",
        at_s=begun,
    )


def _after_timeout(bench: Bench) -> Setup:
    """An outage in round 6 leads to a timeout; the RTT rises in the slow start that follows."""
    rtt = bench.path.rtt_s
    outage = [{"at": duration(6 * rtt), "loss": 1.0}, {"at": duration(7.5 * rtt), "loss": 0.0}]
    stack = {"tail_loss_probe": False}
    known = bench.run(_run(bench, 60, link={"schedule": outage}, stack=stack))
    expired = known.events_of("timeout")
    if not expired:
        raise unseen("section 4.2", "the timer expires", "no timeout")
    # Three rounds after the window has grown to twenty segments.
    start = known.first("transport.cwnd_segments", lambda value: value >= 40, float(expired[-1]["at_s"]))
    if start is None:
        raise NotApplicableError("the slow start after the timeout is too short")
    rise = [
        *outage,
        {"at": duration(start.at_s - 0.3 * rtt), "delay": duration(rtt / 2 + 2 * _threshold_s(bench.path))},
    ]
    document = _run(bench, start.at_s / rtt + 6, link={"schedule": rise}, stack=stack)
    return Setup(scenario=document, moments={"timeout": float(expired[0]["at_s"])})


def _initial_only(trace: Trace) -> Iterator[Statement]:
    after = _css(trace, trace.moments["timeout"])
    yield holds(
        "section 4.2: HyStart++ MUST only be used for the initial slow start",
        "no conservative slow start after a timeout",
        after is None,
        expected="never",
        got="never" if after is None else f"at {after:.6g} s",
        at_s=trace.moments["timeout"],
    )


def _case(name: str, title: str, scenario: Any, check: Any, paths: tuple[Path, ...] = _MIDDLE) -> Case:
    return Case(
        name=name,
        title=title,
        source="section 4.2",
        scenario=scenario,
        check=check,
        paths=paths,
        values=_VALUES,
    )


CASES = (
    _case("slow-start", "Growth in slow start", _standard, _slow_start, PATHS),
    _case("limit", "Growth by an ACK of many segments", _stretched, _limited),
    _case("delay-increase", "The threshold of the delay increase", _steps, _delay_increase, PATHS),
    _case("samples", "Rounds with few samples", _few_samples, _sampled, PATHS[1:]),
    _case("css", "Conservative slow start: growth, and its end", _in_css, _conservative, PATHS),
    _case("css-resume", "Slow start resumes where the RTT falls", _jitter, _resumes, PATHS),
    _case("css-loss", "A loss in conservative slow start", _lost_in_css, _loss),
    _case("initial-only", "No HyStart++ after a timeout", _after_timeout, _initial_only),
)

SUITE = Suite(name="rfc9406", title="HyStart++", source="RFC 9406", cases=CASES, reference="cubic+hystart-pp")
