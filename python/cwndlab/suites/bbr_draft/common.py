"""Paths, states and shared runs of the cases of the BBR draft.

Lines are those of draft-ietf-ccwg-bbr.md in the repository ietf-wg-ccwg/draft-ietf-ccwg-bbr at commit 4ce5e87d (August
2026). Values have the names of the draft with their units: segments of C.SMSS, seconds, segments per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf
from typing import Any

from cwndlab.suites.bench import Bench
from cwndlab.suites.paths import MSS_BYTES, Path
from cwndlab.suites.statements import NotApplicableError, Statement, at_most, holds, unseen
from cwndlab.suites.trace import Span, Trace

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(7)
STATES = ("Startup", "Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT")
PROBE_BW = (DOWN, CRUISE, REFILL, UP)

#: Three rates by three RTTs. 10 Gbit/s stands beside the shortest RTT alone: elsewhere a case would take minutes.
PATHS = (
    Path("64 kbit/s, 0.5 ms", 64e3, 0.0005),
    Path("64 kbit/s, 40 ms", 64e3, 0.04),
    Path("64 kbit/s, 1 s", 64e3, 1.0),
    Path("10 Mbit/s, 0.5 ms", 10e6, 0.0005),
    Path("10 Mbit/s, 40 ms", 10e6, 0.04),
    Path("10 Mbit/s, 1 s", 10e6, 1.0),
    Path("10 Gbit/s, 0.5 ms", 10e9, 0.0005),
    Path("1 Gbit/s, 40 ms", 1e9, 0.04),
    Path("1 Gbit/s, 1 s", 1e9, 1.0),
)

#: Values whose changes are recorded.
CHANGES = ("state", "round_count", "full_bw_count", "idle_restart", "transport.ca_state", "undo_state")

#: The values that every case needs.
BASIC = ("state", "round_count", "pacing_gain")


def line(number: int, what: str = "") -> str:
    """A line of the draft.

    >>> line(3946, "step 3")
    'step 3, line 3946'
    """
    return f"{what}, line {number}" if what else f"line {number}"


def below(segments: float, reason: str) -> dict[str, str]:
    """The paths whose bandwidth-delay product is below a number of segments, with the reason."""
    return {
        path.name: f"{reason}: the bandwidth-delay product is {path.bdp_segments:.3g} segments"
        for path in PATHS
        if path.bdp_segments < segments
    }


def long_s(path: Path) -> float:
    """The duration of a run that reaches several cycles of ProbeBW and ProbeRTT."""
    if path.rate_bps < 1e6:
        return 60 if path.rtt_s < 1 else 90
    if path.rtt_s < 0.01:
        return 12 if path.rate_bps < 1e9 else 6.5
    return 14 if path.rtt_s < 0.5 else 62


def long_run(bench: Bench) -> dict[str, Any]:
    """The scenario of a bulk transfer over a buffer without loss."""
    return scenario(bench, long_s(bench.path))


def scenario(bench: Bench, duration_s: float, **options: Any) -> dict[str, Any]:
    """A scenario of the bench whose named values suit the cases."""
    return bench.scenario(duration_s, on_change=CHANGES, interval_s=duration_s / 2000, **options)


def states(trace: Trace, after_s: float = 0.0) -> list[Span]:
    """The states of the run in order."""
    return trace.spans("state", after_s)


def name_of(state: float) -> str:
    """The name of a state."""
    return STATES[int(state)] if 0 <= state < len(STATES) else f"state {state:g}"


def enters(trace: Trace, state: int, source: str, after_s: float = 0.0, *, least_s: float = 0.0) -> Span:
    """The first period in a state that begins after a time, and lasts ``least_s`` at least."""
    for span in states(trace, after_s):
        if span.value == state and span.start_s > after_s and span.end_s - span.start_s >= least_s:
            return span
    seen = ", ".join(dict.fromkeys(name_of(span.value) for span in states(trace, after_s)))
    raise unseen(source, f"the flow enters {STATES[state]}", f"only {seen}", after_s)


def leaves_startup(trace: Trace, source: str) -> Span:
    """The first period after Startup that is not ProbeRTT."""
    for span in states(trace):
        if span.value not in (STARTUP, PROBE_RTT):
            return span
    raise unseen(source, "the flow leaves Startup", f"no exit in {trace.end_s:g} s")


def in_probe_bw(trace: Trace, source: str, after_s: float = 0.0) -> Span:
    """The first period in ProbeBW."""
    for span in states(trace, after_s):
        if span.value in PROBE_BW and span.start_s >= after_s:
            return span
    raise unseen(source, "the flow enters ProbeBW", f"not in {trace.end_s:g} s")


def next_state(trace: Trace, span: Span) -> float:
    """The state after a period."""
    return trace.at("state", span.end_s)


def follows(source: str, trace: Trace, span: Span, expected: int, **more: Any) -> Statement:
    """The state after a period is the expected one."""
    after = next_state(trace, span)
    text = f"{name_of(span.value)} is followed by {STATES[expected]}"
    got = "the end of the run" if span.end_s >= trace.end_s else name_of(after)
    return holds(source, text, after == expected, expected=STATES[expected], got=got, at_s=span.end_s, **more)


def inflight_target(trace: Trace, time_s: float, bw: str = "bw_segments_per_s") -> float:
    """Inflight(1.0) in segments (lines 3618 to 3628), rounded up to a whole segment."""
    bdp = trace.at(bw, time_s) * trace.at("min_rtt_s", time_s)
    quantum = max(trace.at("send_quantum_segments", time_s), trace.before("send_quantum_segments", time_s))
    return max(ceil(bdp - 1e-9), 3 * quantum, 4) + (2 if trace.before("state", time_s) == UP else 0)


def with_headroom(trace: Trace, time_s: float) -> float:
    """InflightWithHeadroom() in segments (lines 2467 to 2472)."""
    longterm = trace.at("inflight_longterm_segments", time_s)
    return inf if longterm == inf else max(longterm - max(1, 0.15 * longterm), 4)


def drained(source: str, trace: Trace, time_s: float, bw: str = "bw_segments_per_s") -> Statement:
    """C.inflight is at most Inflight(1.0)."""
    limit = inflight_target(trace, time_s, bw)
    return at_most(source, "C.inflight ≤ Inflight(1.0)", trace.at("inflight_segments", time_s), limit, at_s=time_s)


def uninterrupted(trace: Trace, span: Span) -> Span:
    """The period, unless ProbeRTT ends it when it is due (line 2653)."""
    if next_state(trace, span) == PROBE_RTT and span.end_s < trace.end_s:
        before = [one.end_s for one in states(trace) if one.value == PROBE_RTT and one.end_s <= span.end_s]
        if span.end_s - max(before, default=0.0) >= 4.9:
            raise NotApplicableError(f"ProbeRTT, due every 5 s (line 2653), interrupts {name_of(span.value)}")
    return span


def goes_down(source: str, trace: Trace, span: Span) -> Statement:
    """UP is followed by DOWN, or by CRUISE where the ACK that begins DOWN ends it as well (lines 2402 to 2421)."""
    at = span.end_s
    inflight = trace.at("inflight_segments", at)
    limit = min(inflight_target(trace, at, "max_bw_segments_per_s"), with_headroom(trace, at)) + 1
    if next_state(trace, span) == CRUISE and inflight <= limit:
        return follows(source, trace, span, CRUISE)
    return follows(source, trace, span, DOWN)


def steps(*changes: tuple[float, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Steps of a schedule at ascending times, in seconds."""
    return [{"at": f"{round(at * 1e9)} ns", **change} for at, change in changes]


def writes(*rates: tuple[float, float | None]) -> dict[str, Any]:
    """A workload that writes at a rate of payload in bit/s from each time on; ``None``: unlimited."""
    rows = [
        {"at": f"{round(at * 1e9)} ns", "rate": "unlimited" if rate is None else f"{rate:.0f} bps"}
        for at, rate in rates
    ]
    return {"kind": "scheduled-writes", "steps": rows}


def ramp(path: Path, share: float) -> list[tuple[float, float | None]]:
    """Rates of writes that rise up to a share of the path's rate, slowly enough that Startup keeps up with them."""
    rate, goal, at = 4 * MSS_BYTES * 8 / path.round_s, share * path.rate_bps, 0.0
    rates: list[tuple[float, float | None]] = []
    while rate < goal:
        rates.append((at, rate))
        rate, at = 1.4 * rate, at + 1.5 * path.round_s
    return [*rates, (at, goal)]
