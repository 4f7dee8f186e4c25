"""How a verdict comes out of an interval: all rules, in one place. `docs/reproductions.md` tells them in words.

Ratios are geometric means over paired repetitions with Student's t on their logarithms. A claim that one side is
greater is

- *reproduced* where the 95 % interval lies on the claimed side of 1 and, where the paper gives a size, covers it or has
  its mean within the tolerance;
- *direction only* where it lies there at another size;
- *not reproduced* where it lies on the other side; or where it covers 1 and leaves no room for the claim: it excludes
  the published size or, where none is given, any difference beyond the tolerance;
- *not testable* where it covers both 1 and the claim: so few runs decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from cwndlab.digits import number
from cwndlab.reproduce.claims import (
    TOLERANCE,
    Claim,
    Finding,
    Greater,
    Less,
    NotTestable,
    Order,
    RatioIn,
    Shape,
    Value,
    ValueIn,
    Verdict,
    Welch,
)
from cwndlab.reproduce.experiment import Labels
from cwndlab.reproduce.measured import Measured, Pairs
from cwndlab.statistics import Estimate, estimate, hedges_unpaired, welch


@dataclass(frozen=True)
class Judged:
    """What was measured, and the verdict with its reason."""

    measured: Estimate | None
    verdict: Verdict
    reason: str
    measured_is: str = "ratio"


def judge(id: str, claim: Claim, measured: Measured) -> Finding:
    """The finding of a claim."""
    judged = _judged(claim, measured)
    one = judged.measured
    finding = Finding(
        id,
        claim.quantity,
        claim.published,
        one.mean if one is not None and one.n else None,
        one.low if one is not None else None,
        one.high if one is not None else None,
        judged.verdict,
        judged.reason,
        judged.measured_is,
    )
    if claim.beside is None:
        return finding
    other = replace(claim, metric=claim.beside)
    beside = _value(other, measured) if len(claim.sides) == 1 else ratio(_pairs(other, measured))
    return replace(finding, beside=beside.mean if beside.n else None, beside_is=claim.beside)


def _judged(claim: Claim, measured: Measured) -> Judged:
    match claim.relation:
        case Greater(size, tolerance):
            return greater(_pairs(claim, measured), size, tolerance)
        case Less(size, tolerance):
            return less(_pairs(claim, measured), size, tolerance)
        case RatioIn(low, high):
            return inside(ratio(_pairs(claim, measured)), low, high, "ratio")
        case Value(published, tolerance, points):
            return value(_value(claim, measured), published, tolerance, points)
        case ValueIn(low, high):
            return inside(_value(claim, measured), low, high, "value")
        case Order():
            return order(claim, measured)
        case Shape():
            return shape(claim, measured)
        case Welch(below):
            return test(_pairs(claim, measured), below)
        case NotTestable(reason):
            if len(claim.sides) == 1:
                return Judged(_value(claim, measured), "not testable", reason, "value")
            return Judged(ratio(_pairs(claim, measured)), "not testable", reason)


def _pairs(claim: Claim, measured: Measured) -> Pairs:
    first, second = claim.sides
    return measured.pairs(claim.metric, first, second)


def _value(claim: Claim, measured: Measured) -> Estimate:
    (side,) = claim.sides
    return measured.estimate(claim.metric, **side)


def ratio(pairs: Pairs) -> Estimate:
    """First over second: geometric mean and Student's t on logarithms, since ratios multiply.

    Where some values are zero there is no logarithm: then the mean difference over the second side's mean, plus 1.
    """
    if not pairs.first:
        return Estimate(math.nan, None, None, 0)
    if min(*pairs.first, *pairs.second) > 0:
        logs = estimate([math.log(a / b) for a, b in zip(pairs.first, pairs.second, strict=True)])
        low, high = (None if end is None else math.exp(end) for end in (logs.low, logs.high))
        return Estimate(math.exp(logs.mean), low, high, logs.n)
    base = fmean(pairs.second)
    if base <= 0:
        return Estimate(math.nan, None, None, 0)
    found = estimate([1 + (a - b) / base for a, b in zip(pairs.first, pairs.second, strict=True)])
    return Estimate(found.mean, found.low, found.high, found.n)


def greater(pairs: Pairs, size: float | None, tolerance: float = TOLERANCE) -> Judged:
    """First over second is above 1, at ``size`` where one is given."""
    return _directed(pairs, size, tolerance, up=True)


def less(pairs: Pairs, size: float | None, tolerance: float = TOLERANCE) -> Judged:
    """First over second is below 1, at ``size`` where one is given."""
    return _directed(pairs, size, tolerance, up=False)


def _directed(pairs: Pairs, size: float | None, tolerance: float, *, up: bool) -> Judged:
    nothing = _nothing(pairs, up=up)
    if nothing is not None:
        return nothing
    found = ratio(pairs)
    low, high = found.low, found.high
    if low is None or high is None:
        return Judged(found, "not testable", _note("one repetition has no interval", pairs))
    if pairs.first == pairs.second:
        return Judged(found, "not reproduced", _note("both sides are equal in every repetition", pairs))
    right, wrong = (low > 1, high < 1) if up else (high < 1, low > 1)
    if right and size is None:
        return Judged(found, "reproduced", _note("the interval lies on the claimed side", pairs))
    if right and size is not None:
        if low <= size <= high or abs(found.mean - size) <= tolerance * size:
            reason = f"the interval lies on the claimed side, and the size is within {tolerance:.0%} of {number(size)}"
            return Judged(found, "reproduced", _note(reason, pairs))
        return Judged(
            found,
            "direction only",
            _note(f"the interval lies on the claimed side, the size is not {number(size)}", pairs),
        )
    if wrong:
        return Judged(found, "not reproduced", _note("the interval lies on the other side", pairs))
    best = high if up else low
    claimed = size if size is not None else (1 + tolerance if up else 1 / (1 + tolerance))
    if (best >= claimed) if up else (best <= claimed):
        return Judged(
            found,
            "not testable",
            _note(f"undecided: the interval covers no difference and the claim ({number(claimed)}) alike", pairs),
        )
    return Judged(
        found,
        "not reproduced",
        _note(f"the interval covers no difference, and leaves room for {number(best)} at most", pairs),
    )


def _nothing(pairs: Pairs, *, up: bool) -> Judged | None:
    """A verdict where a ratio has none to tell: no pairs, or one side zero throughout."""
    if not pairs.first:
        return Judged(None, "not testable", _note("no repetition has a value on both sides", pairs))
    zeros = [all(one == 0 for one in side) for side in (pairs.first, pairs.second)]
    if all(zeros):
        return Judged(None, "not reproduced", _note("both sides are zero in every repetition", pairs))
    least = 0 if not up else 1
    if zeros[least]:
        exact = Estimate(0.0, 0.0, 0.0, len(pairs.first)) if not up else None
        return Judged(
            exact, "reproduced", _note(f"the {'second' if up else 'first'} side is zero in every repetition", pairs)
        )
    if zeros[1 - least]:
        exact = Estimate(0.0, 0.0, 0.0, len(pairs.first)) if up else None
        return Judged(
            exact, "not reproduced", _note(f"the {'first' if up else 'second'} side is zero in every repetition", pairs)
        )
    return None


def inside(found: Estimate, low: float, high: float, what: str) -> Judged:
    """The interval lies in [low, high]; where it sticks out on one side, nothing is decided."""
    if found.n == 0:
        return Judged(None, "not testable", "no repetition has a value", what)
    if math.isinf(high):
        band = f"at least {number(low)}"
    elif math.isinf(low):
        band = f"at most {number(high)}"
    else:
        band = f"{number(low)} to {number(high)}"
    if found.low is None or found.high is None:
        return Judged(found, "not testable", "one repetition has no interval", what)
    if low <= found.low and found.high <= high:
        return Judged(found, "reproduced", f"the interval lies in {band}", what)
    if found.high < low or found.low > high:
        return Judged(found, "not reproduced", f"the interval lies outside {band}", what)
    return Judged(found, "not testable", f"undecided: the interval crosses an end of {band}", what)


def value(found: Estimate, published: float, tolerance: float, points: float | None) -> Judged:
    """The interval covers the published value, or the mean is within the tolerance of it."""
    if found.n == 0:
        return Judged(None, "not testable", "no repetition has a value", "value")
    near = points if points is not None else tolerance * abs(published)
    said = f"{number(100 * points)} points" if points is not None else f"{tolerance:.0%}"
    if abs(found.mean - published) <= near:
        return Judged(found, "reproduced", f"within {said} of {number(published)}", "value")
    if found.low is not None and found.high is not None and found.low <= published <= found.high:
        return Judged(found, "reproduced", f"the interval covers {number(published)}", "value")
    return Judged(found, "not reproduced", f"not within {said} of {number(published)}", "value")


def order(claim: Claim, measured: Measured) -> Judged:
    """Neighbours, pair by pair: all told apart as claimed, or none against the claim and the ends as claimed."""
    signs, words = [], []
    names = _names(claim.sides)
    for place, (first, second) in enumerate(pairwise(claim.sides)):
        one = greater(measured.pairs(claim.metric, first, second), None)
        against = one.reason.startswith("the interval lies on the other side")
        signs.append(1 if one.verdict == "reproduced" else -1 if against else 0)
        words.append(f"{names[place]} {'>≈<'[1 - signs[-1]]} {names[place + 1]}")
    told = "; ".join(words)
    ends_pairs = measured.pairs(claim.metric, claim.sides[0], claim.sides[-1])
    ends, found = greater(ends_pairs, None), ratio(ends_pairs)
    if all(sign > 0 for sign in signs):
        return Judged(found, "reproduced", f"every step is told by its interval: {told}")
    if any(sign < 0 for sign in signs):
        return Judged(found, "not reproduced", f"a step goes the other way: {told}")
    if ends.verdict == "reproduced":
        return Judged(found, "direction only", f"the ends stand as claimed, not every step is told apart: {told}")
    return Judged(found, ends.verdict, f"first against last: {ends.reason}; {told}")


def shape(claim: Claim, measured: Measured) -> Judged:
    """All landmarks: reproduced; at least half of them: direction only."""
    (side,) = claim.sides
    assert isinstance(claim.relation, Shape)
    told, held = [], 0
    for mark in claim.relation.landmarks:
        values = measured.values(mark.metric, **side)
        mean = fmean(values) if values else None
        holds = mean is not None and mark.low <= mean <= mark.high
        held += holds
        shown = "none" if mean is None else number(mean)
        told.append(f"{mark.title}: {shown} ({'holds' if holds else 'fails'})")
    share = held / len(told)
    verdict: Verdict = "reproduced" if share == 1 else "direction only" if share >= 0.5 else "not reproduced"
    return Judged(Estimate(share, None, None, len(told)), verdict, "; ".join(told), "landmarks")


def test(pairs: Pairs, below: float) -> Judged:
    """Welch's test over the repetitions: the claim is about the test itself, so a p above the level is an answer."""
    p = welch(pairs.second, pairs.first)
    found = ratio(pairs)
    beside = f"ratio of the means {number(found.mean)}" if found.n else "no ratio"
    effect = hedges_unpaired(pairs.second, pairs.first)
    if effect is not None:
        beside += f", effect size {number(effect.mean)}"
    if p is None:
        return Judged(None, "not testable", _note(f"the repetitions do not vary; {beside}", pairs), "p")
    verdict: Verdict = "reproduced" if p < below else "not reproduced"
    return Judged(
        Estimate(p, None, None, len(pairs.first)), verdict, _note(f"Welch's t-test, two-sided; {beside}", pairs), "p"
    )


def _names(sides: Sequence[Labels]) -> list[str]:
    """What tells the sides apart."""
    common = {name for name, value in sides[0].items() if all(side.get(name) == value for side in sides)}
    return [", ".join(str(value) for name, value in side.items() if name not in common) for side in sides]


def _note(reason: str, pairs: Pairs) -> str:
    """The reason, with how much it rests on."""
    missing = f"; {pairs.left_out} of {pairs.cells} pairs of runs have no value on one side" if pairs.left_out else ""
    return f"{reason} ({len(pairs.first)} repetitions{missing})"


def counts(findings: Sequence[Finding]) -> dict[Verdict, int]:
    """How often each verdict is among them."""
    from cwndlab.reproduce.claims import VERDICTS

    return {verdict: sum(one.verdict == verdict for one in findings) for verdict in VERDICTS}
