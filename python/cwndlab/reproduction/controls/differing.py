"""Whether the sides of a claim differ at all: pairs of runs that are equal to the last digit tell nothing of how much
the sides differ where they do, and make an interval narrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cwndlab.reproduction.claims import Asked, Claim
from cwndlab.reproduction.judged import Judged
from cwndlab.reproduction.measured import Measured
from cwndlab.statistics.digits import number

#: With more than this share of equal pairs, those that differ decide.
_MOST_EQUAL = 0.5


def where_they_differ(judge: Callable[[Claim, Measured], Judged], claim: Claim, measured: Measured) -> Judged:
    """A part of a claim, judged over all pairs of runs, and over those that differ where most do not.

    Parameters
    ----------
    judge
        The rules for an interval.
    claim
        A part: one metric, and two sides where it compares.
    measured
        The runs.

    Returns
    -------
    The outcome over all pairs; where more than half of them are equal, the outcome over those that differ beside mean
    and interval over all; where all are equal, that the set-up cannot discriminate.
    """
    judged = judge(claim, measured)
    if not claim.compares_two:
        return judged
    assert isinstance(claim.metric, str)
    pairs = measured.pairs(claim.metric, *claim.sides)
    there = pairs.cells - pairs.left_out
    if not pairs.equal:
        return judged
    if pairs.equal == there:
        if judged.outcome not in ("no effect", "holds", "opposite"):
            return judged
        asked = Asked("where they differ", False, f"all {there} pairs of runs are equal: nothing tells the sides apart")
        reason = f"{asked.text}; {judged.reason}"
        return replace(judged, outcome="set-up cannot discriminate", reason=reason, asked=(asked,))
    share = (there - pairs.equal) / there
    all_decide = share >= 1 - _MOST_EQUAL
    again = judge(claim, replace(measured, only_differing=True))
    found = again.measured
    text = f"{there - pairs.equal} of {there} pairs of runs differ"
    ends: tuple[float | None, ...] = (None, None, None)
    if found is not None and found.n:
        ends = (found.mean, found.low, found.high)
        text += f"; over these: {number(found.mean)}"
        if found.low is not None and found.high is not None:
            text += f" [{number(found.low)} … {number(found.high)}]"
    same = again.outcome == judged.outcome
    asked = Asked("where they differ", same or all_decide, text)
    judged = replace(judged, differing=(share, *ends), asked=(*judged.asked, asked))
    if same or all_decide:
        return judged
    reason = f"{text}, by which it is judged: {again.reason}"
    return replace(judged, outcome=again.outcome, reason=reason)
