"""Statements of RFC 9406 on HyStart++. The sections are those of the RFC; windows are in segments."""

from __future__ import annotations

import itertools
from typing import Any

from cwndlab.suites.case import cases
from cwndlab.suites.paths import Path
from cwndlab.suites.rfc import packet_at, scenario
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, duration, steps

#: RTTs at which MIN_RTT_THRESH, an eighth of the RTT and MAX_RTT_THRESH are the threshold; the line is never full.
_PATHS = (
    Path("3 Gbit/s, 20 ms", 3e9, 0.02),
    Path("3 Gbit/s, 100 ms", 3e9, 0.1),
    Path("3 Gbit/s, 300 ms", 3e9, 0.3),
)
CASES, case = cases(_PATHS[1:2], "in_css")
#: The round trip in which the RTT changes: 80 to 160 segments, 40 to 80 samples.
_STEP_ROUND = 4.5
_NO_CSS = "no conservative slow start"


def _threshold_s(path: Path) -> float:
    """RttThresh: an eighth of the RTT, between MIN_RTT_THRESH and MAX_RTT_THRESH."""
    return min(max(path.rtt_s / 8, 0.004), 0.016)


def _run(t: Trial, rounds: float, *delays: tuple[float, float], **options: Any) -> dict[str, Any]:
    """A run of some round trips. Delays of the data: at a number of round trips, so many seconds more than the base."""
    rtt = t.path.rtt_s
    if delays:
        options["link"] = steps(*((at * rtt, {"delay": duration(rtt / 2 + more)}) for at, more in delays))
    return scenario(t, rounds * rtt, values=("in_css",), **options)


def _rising(path: Path, rounds: int) -> list[tuple[float, float]]:
    """The RTT rises above the threshold, and then by 0.1 ms per round, so that no round has a lower minimum."""
    return [(_STEP_ROUND + one, 1.3 * _threshold_s(path) + 1e-4 * one) for one in range(rounds)]


def _css(run: Trace, after_s: float = 0.0) -> float | None:
    """The time at which conservative slow start begins."""
    point = run.first("in_css", lambda value: value == 1, after_s)
    return None if point is None else point.at_s


def _entered(run: Trace) -> float:
    at = _css(run)
    if at is None:
        raise NotObservedError("section 4.2", "conservative slow start begins", "not in this run")
    return at


def _stays(t: Trial, source: str, text: str, at: float | None) -> None:
    """Conservative slow start does not begin."""
    t.holds(source, text, at is None, _NO_CSS, "none" if at is None else "conservative slow start", at=at)


def _growth(run: Trace, start_s: float, end_s: float) -> float:
    """Growth of cwnd per segment acknowledged."""
    return run.grown("cwnd", start_s, end_s) / max(run.grown("una", start_s, end_s), 1)


@case("slow-start", "Growth in slow start", "section 4.2", paths=_PATHS)
def _slow_start(t: Trial) -> None:
    run, rtt = t.run(_run(t, 6.5)), t.path.rtt_s
    source, text = "section 4.2: cwnd = cwnd + min(N, L * SMSS) in slow start", "segments of growth per segment"
    t.equals(source, f"{text} acknowledged", _growth(run, 2.1 * rtt, 6 * rtt), 1, relative=0.02)
    _stays(t, "section 4.2", "slow start goes on while the RTT is constant", _css(run))


@case("limit", "Growth by an ACK of many segments", "section 4.2")
def _limited(t: Trial) -> None:
    stack = {"ack_every": 32, "quick_acks": 0, "initial_window": 64, "pacing": "off"}
    points = itertools.pairwise(t.run(_run(t, 5, stack=stack)).points("cwnd"))
    growths = [later.value - earlier.value for earlier, later in points]
    if not growths:
        raise NotObservedError("section 4.2", "cwnd grows", "it does not")
    source = "sections 4.2, 4.3: cwnd = cwnd + min(N, L * SMSS), where L is 8 without pacing"
    t.equals(source, "the largest growth by an ACK of 32 segments", max(growths), 8, within=0.5)


@case("delay-increase", "The threshold of the delay increase", "section 4.2", paths=_PATHS)
def _delay_increase(t: Trial) -> None:
    threshold, rtt = _threshold_s(t.path), t.path.rtt_s
    below, above = (t.run(_run(t, 9, (_STEP_ROUND, share * threshold))) for share in (0.85, 1.15))
    source = (
        "sections 4.2, 4.3: RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))"
    )
    text = "where the RTT rises by {:.3g} ms"
    _stays(t, source, f"slow start goes on {text.format(850 * threshold)}", _css(below))
    at, began = _css(above), f"conservative slow start begins {text.format(1150 * threshold)}"
    got = "none" if at is None else "conservative slow start"
    t.holds(source, began, at is not None, "conservative slow start", got, at=at)
    if at is not None:
        # The first delayed ACK comes a round after the step; the round of the step still has a low minimum.
        first, source = (_STEP_ROUND + 1) * rtt, "section 4.2: currentRoundMinRTT is of one round"
        text = "conservative slow start begins in the first round whose RTTs all have risen"
        t.expect(source, text, at, first, first + 1.5 * rtt, at=at)


@case("samples", "Rounds with few samples", "section 4.2", paths=_PATHS[1:])
def _sampled(t: Trial) -> None:
    """The RTT rises in a round with five ACKs; the next round has a raised minimum before it."""
    stack = {"ack_every": 8, "quick_acks": 0, "ack_delay": duration(t.path.rtt_s / 10)}
    run = t.run(_run(t, 9, (2.05, 1.5 * _threshold_s(t.path)), stack=stack))
    source = "sections 4.2, 4.3: rttSampleCount >= N_RTT_SAMPLE, which is 8"
    _stays(t, source, "a rise of the RTT in a round with fewer than eight samples has no effect", _css(run))


@case("css", "Conservative slow start: growth, and its end", "section 4.2", paths=_PATHS)
def _conservative(t: Trial) -> None:
    run = t.run(_run(t, 16, *_rising(t.path, 12)))
    at = _entered(run)
    rtt = run.at("srtt", at) + 0.3 * _threshold_s(t.path)
    growth, text = _growth(run, at + 0.1 * rtt, at + 3 * rtt), "segments of growth per segment acknowledged"
    source = "section 4.2: cwnd = cwnd + min(N, L * SMSS) / CSS_GROWTH_DIVISOR in CSS"
    t.equals(source, text, growth, 0.25, relative=0.05, at=at + 3 * rtt)
    left = run.first("ssthresh", lambda value: value < 1e9, at)
    if left is None:
        raise NotObservedError("section 4.2", "slow start ends after CSS_ROUNDS", "not in this run", at)
    rounds, out = run.grown("round", at, left.at_s), left.at_s
    source = "sections 4.2, 4.3: after CSS_ROUNDS, which is 5, ssthresh = cwnd"
    counted = "rounds of conservative slow start, the one in which it begins included or not"
    t.expect(source, counted, rounds, 4, 5, at=out)
    low, high = run.before("cwnd", out) - 1, run.at("cwnd", out) + 1
    ended = "ssthresh at the end of conservative slow start"
    t.expect("section 4.2: ssthresh = cwnd", ended, left.value, low, high, at=out)
    end, source = out + 2 * rtt, "section 4.2: enter congestion avoidance"
    t.expect(source, f"{text} afterwards", _growth(run, out, end), high=0.1, at=end)


@case("css-resume", "Slow start resumes where the RTT falls", "section 4.2", paths=_PATHS)
def _resumes(t: Trial) -> None:
    run = t.run(_run(t, 12, *_rising(t.path, 3), (_STEP_ROUND + 2.5, 0.0)))
    left = run.first("in_css", lambda value: value == 0, _entered(run))
    fallen = (_STEP_ROUND + 3.4) * t.path.rtt_s
    good, at = left is not None and left.at_s >= fallen, None if left is None else left.at_s
    source = "section 4.2: if currentRoundMinRTT < cssBaselineMinRtt, resume slow start"
    text, got = "conservative slow start ends where the RTT falls again", "never" if at is None else f"at {at:.4g} s"
    t.holds(source, text, good, f"after {fallen:.4g} s", got, at=at)
    if at is None:
        return
    ssthresh = run.at("ssthresh", at)
    source, got = "section 4.2: resume slow start", f"{ssthresh:.6g}"
    t.holds(source, "ssthresh is not set", ssthresh > 1e9, "infinite", got, at=at)
    end = min(at + 2 * t.path.rtt_s, run.end_s)
    t.equals("section 4.2", "growth per segment acknowledged", _growth(run, at, end), 1, relative=0.05, at=end)


@case("css-loss", "A loss in conservative slow start", "section 4.2")
def _loss(t: Trial) -> None:
    step = (_STEP_ROUND, 1.3 * _threshold_s(t.path))
    known = t.run(_run(t, 9, step))
    run = t.run(_run(t, 14, step, lost=[packet_at(known, _entered(known) + 0.5 * t.path.rtt_s)]))
    at = _entered(run)
    lost = run.times("recovery", after_s=at)
    if not lost:
        raise NotObservedError("section 4.2", "the loss is detected", "no recovery", at)
    begun = lost[0]
    source = "section 4.2: at a loss enter congestion avoidance, ssthresh = cwnd"
    t.expect(source, "ssthresh", run.at("ssthresh", begun), high=run.before("cwnd", begun), at=begun)
    t.equals("section 4.2", "conservative slow start ends", run.at("in_css", begun), 0, at=begun)
    later = _css(run, begun)
    got = "never" if later is None else f"at {later:.6g} s"
    t.holds("section 4.2", "conservative slow start does not begin again", later is None, "never", got, at=begun)


@case("initial-only", "No HyStart++ after a timeout", "section 4.2")
def _initial_only(t: Trial) -> None:
    """An outage in round 6 leads to a timeout; the RTT rises in the slow start that follows, three rounds after the
    window has grown to twenty segments."""
    rtt, stack = t.path.rtt_s, {"tail_loss_probe": False}
    outage = [(6 * rtt, {"loss": 1.0}), (7.5 * rtt, {"loss": 0.0})]
    known = t.run(_run(t, 60, link=steps(*outage), stack=stack))
    expired = known.times("timeout")
    if not expired:
        raise NotObservedError("section 4.2", "the timer expires", "no timeout")
    start = known.first("cwnd", lambda value: value >= 40, expired[-1])
    if start is None:
        raise NotApplicableError("the slow start after the timeout is too short")
    rise = (start.at_s - 0.3 * rtt, {"delay": duration(rtt / 2 + 2 * _threshold_s(t.path))})
    run = t.run(_run(t, start.at_s / rtt + 6, link=steps(*outage, rise), stack=stack))
    after = _css(run, expired[0])
    source = "section 4.2: HyStart++ MUST only be used for the initial slow start"
    text, got = "no conservative slow start after a timeout", "never" if after is None else f"at {after:.6g} s"
    t.holds(source, text, after is None, "never", got, at=expired[0])
