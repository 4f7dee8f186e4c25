"""Paths, states and shared runs of the cases of the BBR draft.

Lines are those of draft-ietf-ccwg-bbr.md in the repository ietf-wg-ccwg/draft-ietf-ccwg-bbr at commit 4ce5e87d (August
2026). Values have the names of the draft with their units: segments of C.SMSS, seconds, segments per second.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Any

from cwndlab.suites.paths import MSS_BYTES, Path
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import Span, Trace
from cwndlab.suites.trial import Trial, duration, rate

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


def below(segments: float, reason: str) -> dict[str, str]:
    """The paths whose bandwidth-delay product is below a number of segments, with the reason."""
    return {
        path.name: f"{reason}: the bandwidth-delay product is {path.bdp_segments:.3g} segments"
        for path in PATHS
        if path.bdp_segments < segments
    }


# Scenarios.


def long_s(path: Path) -> float:
    """The duration of a run that reaches several cycles of ProbeBW and ProbeRTT."""
    if path.rate_bps < 1e6:
        return 60 if path.rtt_s < 1 else 90
    if path.rtt_s < 0.01:
        return 12 if path.rate_bps < 1e9 else 6.5
    return 14 if path.rtt_s < 0.5 else 62


def scenario(t: Trial, duration_s: float, **options: Any) -> dict[str, Any]:
    """A scenario whose named values suit the cases."""
    return t.scenario(duration_s, on_change=CHANGES, interval_s=duration_s / 2000, **options)


def long_run(t: Trial) -> dict[str, Any]:
    """The scenario of a bulk transfer over a buffer without loss."""
    return scenario(t, long_s(t.path))


def writes(*rates: tuple[float, float | None]) -> dict[str, Any]:
    """A workload that writes at a rate of payload in bit/s from each time on; ``None``: unlimited."""
    rows = [{"at": duration(at), **({"rate": "unlimited"} if bps is None else rate(bps))} for at, bps in rates]
    return {"kind": "scheduled-writes", "steps": rows}


def ramp(path: Path, share: float) -> list[tuple[float, float | None]]:
    """Rates of writes that rise up to a share of the path's rate, slowly enough that Startup keeps up with them."""
    bps, goal, at = 4 * MSS_BYTES * 8 / path.round_s, share * path.rate_bps, 0.0
    rates: list[tuple[float, float | None]] = []
    while bps < goal:
        rates.append((at, bps))
        bps, at = 1.4 * bps, at + 1.5 * path.round_s
    return [*rates, (at, goal)]


# States.


def states(run: Trace, after_s: float = 0.0, *which: int) -> list[Span]:
    """The states of the run in order; these alone where some are given."""
    return [span for span in run.spans("state", after_s) if not which or span.value in which]


def name_of(state: float) -> str:
    """The name of a state."""
    return STATES[int(state)] if 0 <= state < len(STATES) else f"state {state:g}"


def enters(run: Trace, state: int, source: str, after_s: float = 0.0) -> Span:
    """The first period in a state that begins after a time."""
    for span in states(run, after_s, state):
        if span.start_s > after_s:
            return span
    seen = ", ".join(dict.fromkeys(name_of(span.value) for span in states(run, after_s)))
    raise NotObservedError(source, f"the flow enters {STATES[state]}", f"only {seen}", after_s)


def leaves_startup(run: Trace, source: str) -> Span:
    """The first period after Startup that is not ProbeRTT."""
    for span in states(run):
        if span.value not in (STARTUP, PROBE_RTT):
            return span
    raise NotObservedError(source, "the flow leaves Startup", f"no exit in {run.end_s:g} s")


def in_probe_bw(run: Trace, source: str) -> Span:
    """The first period in ProbeBW."""
    for span in states(run, 0.0, *PROBE_BW):
        return span
    raise NotObservedError(source, "the flow enters ProbeBW", f"not in {run.end_s:g} s")


def next_state(run: Trace, span: Span) -> float:
    """The state after a period."""
    return run.at("state", span.end_s)


def uninterrupted(run: Trace, span: Span) -> Span:
    """The period, unless ProbeRTT ends it when it is due (line 2653)."""
    if next_state(run, span) == PROBE_RTT and span.end_s < run.end_s:
        before = [one.end_s for one in states(run, 0.0, PROBE_RTT) if one.end_s <= span.end_s]
        if span.end_s - max(before, default=0.0) >= 4.9:
            raise NotApplicableError(f"ProbeRTT, due every 5 s (line 2653), interrupts {name_of(span.value)}")
    return span


# Limits of the draft.


def inflight_target(run: Trace, time_s: float, bw: str = "bw_segments_per_s") -> float:
    """Inflight(1.0) in segments (lines 3618 to 3628), rounded up to a whole segment."""
    bdp = run.at(bw, time_s) * run.at("min_rtt_s", time_s)
    quantum = max(run.at("send_quantum_segments", time_s), run.before("send_quantum_segments", time_s))
    return max(ceil(bdp - 1e-9), 3 * quantum, 4) + (2 if run.before("state", time_s) == UP else 0)


def with_headroom(run: Trace, time_s: float) -> float:
    """InflightWithHeadroom() in segments (lines 2467 to 2472)."""
    longterm = run.at("inflight_longterm_segments", time_s)
    return inf if longterm == inf else max(longterm - max(1, 0.15 * longterm), 4)


# Statements.


def becomes(t: Trial, source: str, text: str, state: float, expected: int, at: float) -> None:
    """States that a state is the expected one."""
    t.holds(source, text, state == expected, STATES[expected], name_of(state), at=at)


def becomes_probe_bw(t: Trial, source: str, before: str, run: Trace, span: Span) -> None:
    """States that ProbeBW follows a period."""
    after = next_state(run, span)
    t.holds(source, f"{before} is followed by ProbeBW", after in PROBE_BW, "ProbeBW", name_of(after), at=span.end_s)


def follows(t: Trial, source: str, run: Trace, span: Span, expected: int) -> None:
    """States that a state follows a period."""
    after, text = next_state(run, span), f"{name_of(span.value)} is followed by {STATES[expected]}"
    got = "the end of the run" if span.end_s >= run.end_s else name_of(after)
    t.holds(source, text, after == expected, STATES[expected], got, at=span.end_s)


def goes_down(t: Trial, source: str, run: Trace, span: Span) -> None:
    """UP is followed by DOWN, or by CRUISE where the ACK that begins DOWN ends it as well (lines 2402 to 2421)."""
    at = span.end_s
    limit = min(inflight_target(run, at, "max_bw_segments_per_s"), with_headroom(run, at)) + 1
    at_once = next_state(run, span) == CRUISE and run.at("inflight_segments", at) <= limit
    follows(t, source, run, span, CRUISE if at_once else DOWN)


def drained(t: Trial, source: str, run: Trace, at: float, bw: str = "bw_segments_per_s") -> None:
    """C.inflight is at most Inflight(1.0)."""
    inflight, limit = run.at("inflight_segments", at), inflight_target(run, at, bw)
    t.expect(source, "C.inflight ≤ Inflight(1.0)", inflight, high=limit, at=at)


def none_before(t: Trial, source: str, text: str, what: str, early: list[float], at: float) -> None:
    """States that no ACK before the end of a state is early."""
    got = f"{len(early)} snapshots" if early else "none"
    expected = f"no such ACK before the end of {what}"
    t.holds(source, text, not early, expected, got, at=early[0] if early else at)
