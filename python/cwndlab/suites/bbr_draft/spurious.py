"""Cases of spurious recoveries."""

from __future__ import annotations

from cwndlab.suites.bbr_draft import common as bbr
from cwndlab.suites.case import cases
from cwndlab.suites.statements import NotApplicableError
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial, duration, steps

#: The values that are saved as `undo_…`.
_SAVED = ("bw_shortterm_segments_per_s", "inflight_shortterm_segments", "inflight_longterm_segments")
_VALUES = (*(name for of in _SAVED for name in (f"undo_{of}", of)), "max_inflight_segments", "extra_acked_segments")
CASES, case = cases(bbr.PATHS, *bbr.BASIC, *_VALUES)


def _is_saved(t: Trial, source: str, run: Trace, begun: float) -> None:
    for of in _SAVED:
        value, before, text = run.at(f"undo_{of}", begun), run.before(of, begun), f"undo_{of.partition('_segments')[0]}"
        expected = f"{before:.6g}, the value before"
        t.holds(source, f"{text} is saved", value == before, expected, f"{value:.6g}", at=begun)


def _is_restored(t: Trial, source: str, run: Trace, begun: float, undone: float) -> None:
    for of in _SAVED:
        text = f"{of.partition('_segments')[0]} is at least the saved value"
        t.expect(source, text, run.at(of, undone), run.before(f"undo_{of}", undone), at=undone)
    # Undone within the ACK; the bounds of the model apply after it (lines 3702 to 3705).
    bound = min(run.before("cwnd", begun), run.at("max_inflight_segments", undone))
    if run.at("state", undone) == bbr.PROBE_RTT:
        bound -= run.at("extra_acked_segments", undone)  # its window has no room for aggregation (line 3705)
    t.expect(source, "cwnd is restored", run.at("cwnd", undone), bound - 2, at=undone)


def _returns(t: Trial, source: str, run: Trace, begun: float, undone: float) -> None:
    before, left, after = run.before("state", begun), run.before("state", undone), run.at("state", undone)
    if after == bbr.PROBE_RTT:
        return  # nothing returns from there (lines 3408 and 3412)
    if run.before("undo_state", undone) == 0:
        # Losses changed no state, so that the undo changes none; that of the next round may begin.
        order = {bbr.CRUISE: bbr.REFILL, bbr.REFILL: bbr.UP, bbr.UP: bbr.DOWN, bbr.DOWN: bbr.CRUISE}
        good, text = after in (left, order.get(int(left))), "the undo leaves the state, as the loss did"
        t.holds("line 3405", text, good, bbr.name_of(left), bbr.name_of(after), at=undone)
        return
    text = "the flow left ProbeBW_UP by the loss and goes to ProbeBW_REFILL"
    bbr.becomes(t, "line 3413", text, after, bbr.REFILL, undone)
    text, but = (
        "the flow returns to its previous state",
        "line 3413: StartProbeBW_REFILL() where undo_state is ProbeBW_UP",
    )
    t.holds(source, text, after == before, bbr.name_of(before), bbr.name_of(after), at=undone, but=but)


@case(
    "spurious-fast-recovery",
    "Handling spurious fast recovery",
    "line 4112",
    unsuited=bbr.below(20, "reordering takes several packets in flight"),
)
def _fast_recovery(t: Trial) -> None:
    """In ProbeBW_UP, the packets of a twentieth of a round arrive half an RTT late, after those sent behind them."""
    each, half = t.path.round_s, t.path.rtt_s / 2
    at = bbr.enters(t.shared(bbr.long_run(t)), bbr.UP, "step 1, line 4114").start_s + 1.2 * each
    late = steps((at, {"delay": duration(2 * half)}), (at + 0.06 * each, {"delay": duration(half)}))
    link = {**late, "jitter": {"spread": "1 ns", "reorder": True}}
    run = t.run(bbr.scenario(t, at + 10 * each + 0.05, link=link))
    bbr.uninterrupted(run, next(span for span in bbr.states(run, 0.0, bbr.UP) if span.start_s < at < span.end_s))
    begun = run.event("recovery", "step 1, line 4114", at)
    undone = run.event("undo", "step 3, line 4118", begun)
    _is_saved(t, "step 2, line 4116", run, begun)
    _is_restored(t, "step 3, line 4119", run, begun, undone)
    _returns(t, "step 4, line 4120", run, begun, undone)


@case("spurious-timeout", "Handling spurious RTO recovery", "line 4123")
def _timeout(t: Trial) -> None:
    """In ProbeBW all packets arrive later by more than the retransmission timeout."""
    each, half = t.path.round_s, t.path.rtt_s / 2
    base = t.shared(bbr.long_run(t))
    at = bbr.in_probe_bw(base, "step 1, line 4125").start_s + 3 * each
    # The probe timer (two RTTs, RFC 8985, section 7.2), then the retransmission timer, each up to an eighth late.
    rto = base.at("rto", at)
    spike = max(2.5 * rto, 1.5 * (2 * t.path.rtt_s + rto))
    late = steps((at, {"delay": duration(half + spike)}), (at + 0.2 * spike, {"delay": duration(half)}))
    run = t.run(bbr.scenario(t, at + 3 * spike + 12 * each, link=late))
    begun = run.event("timeout", "step 1, line 4125", at)
    if not run.times("undo", after_s=begun) and t.path.bdp_segments < 4:
        raise NotApplicableError("the transport cannot tell a spurious timeout with so few segments in flight")
    undone = run.event("undo", "step 3, line 4129", begun)
    _is_saved(t, "step 2, line 4127", run, begun)
    _is_restored(t, "step 3, line 4130", run, begun, undone)
    _returns(t, "step 4, line 4131", run, begun, undone)
