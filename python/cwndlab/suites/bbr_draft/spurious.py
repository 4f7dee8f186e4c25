"""Cases of spurious recoveries."""

from __future__ import annotations

from collections.abc import Iterator

from cwndlab.suites.bbr_draft.common import (
    BASIC,
    CRUISE,
    DOWN,
    PATHS,
    PROBE_RTT,
    REFILL,
    UP,
    below,
    enters,
    in_probe_bw,
    line,
    long_run,
    name_of,
    scenario,
    states,
    steps,
    uninterrupted,
)
from cwndlab.suites.bench import Bench
from cwndlab.suites.case import Case, Setup
from cwndlab.suites.statements import NotApplicableError, Statement, at_least, holds, unseen
from cwndlab.suites.trace import Trace

#: The saved values and what they restore.
_SAVED = (
    ("undo_bw_shortterm_segments_per_s", "bw_shortterm_segments_per_s"),
    ("undo_inflight_shortterm_segments", "inflight_shortterm_segments"),
    ("undo_inflight_longterm_segments", "inflight_longterm_segments"),
)


def _reordered(bench: Bench) -> Setup:
    """In ProbeBW_UP, the packets of a twentieth of a round arrive half an RTT late, after those sent behind them."""
    path = bench.path
    base = bench.shared(long_run(bench))
    at = enters(base, UP, line(4114, "step 1")).start_s + 1.2 * path.round_s
    half = path.rtt_s / 2
    late = steps((at, {"delay": _ns(2 * half)}), (at + 0.06 * path.round_s, {"delay": _ns(half)}))
    link = {"schedule": late, "jitter": {"spread": "1 ns", "reorder": True}}
    return Setup(scenario=scenario(bench, at + 10 * path.round_s + 0.05, link=link), moments={"late": at})


def _ns(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"


def _recovery(trace: Trace, kind: str, source: str, after_s: float) -> float:
    found = trace.events_of(kind, after_s=after_s)
    if not found:
        raise unseen(source, f"the transport's event '{kind}'", "no such event", after_s)
    return float(found[0]["at_s"])


def _saved(trace: Trace, begun: float, source: str) -> Iterator[Statement]:
    for saved, of in _SAVED:
        value, before = trace.at(saved, begun), trace.before(of, begun)
        yield holds(
            source,
            f"{saved.rpartition('_segments')[0]} is saved",
            value == before,
            expected=f"{before:.6g}, the value before",
            got=f"{value:.6g}",
            at_s=begun,
        )


def _restored(trace: Trace, begun: float, undone: float, source: str) -> Iterator[Statement]:
    for saved, of in _SAVED:
        yield at_least(
            source,
            f"{of.rpartition('_segments')[0]} is at least the saved value",
            trace.at(of, undone),
            trace.before(saved, undone),
            at_s=undone,
        )
    # Undone within the ACK; the bounds of the model apply after it (lines 3702 to 3705).
    bound = min(trace.before("transport.cwnd_segments", begun), trace.at("max_inflight_segments", undone))
    if trace.at("state", undone) == PROBE_RTT:
        bound -= trace.at("extra_acked_segments", undone)  # its window has no room for aggregation (line 3705)
    yield at_least(source, "cwnd is restored", trace.at("transport.cwnd_segments", undone), bound - 2, at_s=undone)


def _fast_recovery(trace: Trace) -> Iterator[Statement]:
    late = trace.moments["late"]
    uninterrupted(trace, next(span for span in states(trace) if span.value == UP and span.start_s < late < span.end_s))
    begun = _recovery(trace, "recovery", line(4114, "step 1"), late)
    undone = _recovery(trace, "undo", line(4118, "step 3"), begun)
    yield from _saved(trace, begun, line(4116, "step 2"))
    yield from _restored(trace, begun, undone, line(4119, "step 3"))
    yield from _returns(trace, begun, undone, line(4120, "step 4"))


def _returns(trace: Trace, begun: float, undone: float, source: str) -> Iterator[Statement]:
    before, left, after = trace.before("state", begun), trace.before("state", undone), trace.at("state", undone)
    if after == PROBE_RTT:
        return  # nothing returns from there (lines 3408 and 3412)
    if trace.before("undo_state", undone) == 0:
        # Losses changed no state, so that the undo changes none; that of the next round may begin.
        order = {CRUISE: REFILL, REFILL: UP, UP: DOWN, DOWN: CRUISE}
        yield holds(
            line(3405),
            "the undo leaves the state, as the loss did",
            after in (left, order.get(int(left))),
            expected=name_of(left),
            got=name_of(after),
            at_s=undone,
        )
        return
    yield holds(
        line(3413),
        "the flow left ProbeBW_UP by the loss and goes to ProbeBW_REFILL",
        after == REFILL,
        expected="ProbeBW_REFILL",
        got=name_of(after),
        at_s=undone,
    )
    yield holds(
        source,
        "the flow returns to its previous state",
        after == before,
        expected=name_of(before),
        got=name_of(after),
        at_s=undone,
        contradicts="line 3413: StartProbeBW_REFILL() where undo_state is ProbeBW_UP",
    )


def _delayed(bench: Bench) -> Setup:
    """In ProbeBW all packets arrive later by more than the retransmission timeout."""
    path = bench.path
    base = bench.shared(long_run(bench))
    at = in_probe_bw(base, line(4125, "step 1")).start_s + 3 * path.round_s
    rto = base.at("transport.rto_s", at)
    spike = 2.5 * rto
    half = path.rtt_s / 2
    late = steps((at, {"delay": _ns(half + spike)}), (at + 0.2 * spike, {"delay": _ns(half)}))
    end = at + 3 * spike + 12 * path.round_s
    return Setup(scenario=scenario(bench, end, link={"schedule": late}), moments={"late": at})


def _timeout(trace: Trace) -> Iterator[Statement]:
    late = trace.moments["late"]
    begun = _recovery(trace, "timeout", line(4125, "step 1"), late)
    undone = trace.events_of("undo", after_s=begun)
    if not undone and trace.path.bdp_segments < 4:
        raise NotApplicableError("the transport cannot tell a spurious timeout with so few segments in flight")
    at = _recovery(trace, "undo", line(4129, "step 3"), begun)
    yield from _saved(trace, begun, line(4127, "step 2"))
    yield from _restored(trace, begun, at, line(4130, "step 3"))
    yield from _returns(trace, begun, at, line(4131, "step 4"))


_VALUES = (*BASIC, *(name for pair in _SAVED for name in pair), "max_inflight_segments", "extra_acked_segments")

CASES = (
    Case(
        name="spurious-fast-recovery",
        title="Handling spurious fast recovery",
        source=line(4112),
        scenario=_reordered,
        check=_fast_recovery,
        paths=PATHS,
        unsuited=below(20, "reordering takes several packets in flight"),
        values=_VALUES,
    ),
    Case(
        name="spurious-timeout",
        title="Handling spurious RTO recovery",
        source=line(4123),
        scenario=_delayed,
        check=_timeout,
        paths=PATHS,
        values=_VALUES,
    ),
)
