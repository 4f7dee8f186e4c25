"""The rules by which an outcome follows from an interval, all in one place. `docs/outcomes.md` has them in words.

Ratios are geometric means over paired repetitions with Student's t on their logarithms. ``m`` is the metric's margin of
relevance (`cwndlab.metrics.margins`) as a share of the second side, at most half of the published effect. A claim that
one side is greater

- *holds* where the 95 % interval lies beyond 1 + m and, where the paper gives a size, the mean *effect* (ratio − 1) is
  within the tolerance of the published effect, and so is half of the interval;
- *holds at another size* where it lies there and excludes the published size;
- has *no effect* where the interval lies in [1 − m, 1 + m] (equivalence);
- is *opposite* where the interval lies below 1 − m;
- is *inconclusive* otherwise: the interval covers outcomes that differ;
- is beyond what the *set-up can discriminate* where it would have no effect, be inconclusive or hold with less than the
  published size, and a control shows that no relevant effect, or none of that size, was possible: the second side
  leaves no room below the metric's ceiling, or a named condition fails. A claim that both sides are alike is so too
  where a named condition fails: it would hold by construction.

A claim with several parts holds where all of them do: a part that the set-up cannot discriminate leaves it open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from cwndlab.metrics.margins import Margin, margin
from cwndlab.reproduction.cases import Labels
from cwndlab.reproduction.claims import (
    TOLERANCE,
    Asked,
    Claim,
    Finding,
    Greater,
    Indiscriminate,
    Less,
    Order,
    Outcome,
    Overall,
    RatioIn,
    Shape,
    Underspecified,
    Value,
    ValueIn,
    Welch,
)
from cwndlab.reproduction.controls.differing import where_they_differ
from cwndlab.reproduction.controls.parts import opposite_parts
from cwndlab.reproduction.controls.starved import starved
from cwndlab.reproduction.judged import Judged
from cwndlab.reproduction.measured import Measured, Pairs
from cwndlab.reproduction.ranking import OF_PARTS, tallied, weakest, weakest_part
from cwndlab.statistics import Estimate, estimate, hedges_unpaired, welch, without_rounding
from cwndlab.statistics.digits import effect_size, interval, number

_SHOWN = ("holds", "opposite")
#: A value that misses the published one by more than this factor is none of another size.
_FACTOR = 2.0


def judge(id: str, claim: Claim, measured: Measured) -> Finding:
    """The finding of a claim."""
    judged = _combined(claim, measured, _parts(claim, measured))
    one, unit = judged.measured, judged.measured_is
    expected, claimed = judged.expected, judged.claimed
    first = claim.metric if isinstance(claim.metric, str) else claim.metric[0]
    if one is not None and unit == "value" and first.endswith("_bps"):
        one, unit = _scaled(one, 1e-6), "Mbit/s"
        expected, *ends = (None if end is None else end * 1e-6 for end in (expected, *(claimed or ())))
        claimed = (ends[0], ends[1]) if ends else None
    finding = Finding(
        id,
        claim.quantity,
        claim.published,
        one.mean if one is not None and one.n else None,
        one.low if one is not None else None,
        one.high if one is not None else None,
        judged.outcome,
        judged.reason,
        unit,
        kind=claim.kind,
        headline=claim.headline,
        parts=judged.parts,
        part=judged.part,
        n=measured.size.repetitions,
        differing=judged.differing,
        controls=judged.asked,
        expected=expected,
        claimed=claimed,
        margin=judged.margin,
    )
    if claim.beside is None or len(claim.sides) > 2:
        return finding
    other = replace(claim, metric=claim.beside)
    beside = _value(other, measured) if len(claim.sides) == 1 else ratio(_pairs(other, measured))
    return replace(finding, beside=beside.mean if beside.n else None, beside_is=claim.beside)


def _scaled(one: Estimate, factor: float) -> Estimate:
    low, high = (None if end is None else end * factor for end in (one.low, one.high))
    return Estimate(one.mean * factor, low, high, one.n, one.is_constant)


def _parts(claim: Claim, measured: Measured) -> list[tuple[str, Claim]]:
    """Claims of one metric and at most two sides (all landmarks of a shape), each with a name."""
    names = (claim.metric,) if isinstance(claim.metric, str) else claim.metric
    points: list[Any] = [None]
    if claim.each:
        points = list(claim.at) or _sorted(measured.points(claim.each, **claim.sides[0]))
    pairs: list[Sequence[Labels]] = [claim.sides]
    relation = claim.relation
    if isinstance(relation, Order):
        pairs, relation = list(pairwise(claim.sides)), Greater()
    elif len(claim.sides) > 2 and not isinstance(relation, Overall):
        pairs = [(claim.sides[0], other) for other in claim.sides[1:]]
    parts = []
    for name in names:
        for point in points:
            for sides in pairs:
                words = [name] if len(names) > 1 else []
                words += [f"{claim.each} {point}"] if claim.each else []
                words += [_against(claim.relation, sides)] if len(pairs) > 1 else []
                at: list[Labels] = [{**side, claim.each: point} if claim.each else side for side in sides]
                parts.append((", ".join(words), replace(claim, metric=name, sides=at, relation=relation)))
    return parts


def _sorted(points: Sequence[Any]) -> list[Any]:
    """Numbers, then texts: which of two equally weak parts is shown does not depend on the order of the runs."""
    return sorted(points, key=lambda point: (isinstance(point, str), point))


def _against(relation: Any, sides: Sequence[Labels]) -> str:
    first, second = _names(sides)
    return f"{first} > {second}" if isinstance(relation, Order) else f"against {second}"


def _combined(claim: Claim, measured: Measured, named: Sequence[tuple[str, Claim]]) -> Judged:
    """The weakest part, with what became of the others. A part is opposite where it is so with Holm's correction for
    the number of parts; the claim is where half of the parts are, or all of them together, or a step of an order."""
    names, claims = [name for name, _ in named], [part for _, part in named]
    parts = [_controlled(part, measured) for part in claims]
    if len(parts) == 1:
        return parts[0]
    opposite = opposite_parts(parts)
    parts = [
        replace(part, outcome="inconclusive", reason=f"{part.reason}, but not with Holm's correction")
        if part.outcome == "opposite" and at not in opposite
        else part
        for at, part in enumerate(parts)
    ]
    tally = tallied([part.outcome for part in parts])
    at = weakest_part(range(len(parts)), claims, parts)
    first = parts[at]
    asked = _of_parts(parts)
    reason = f"of {len(parts)} parts: {tally}; shown: {names[at]}: {first.reason}"
    first = replace(first, reason=reason, parts=tally, part=names[at], asked=asked)
    # One wrong step makes another order.
    if not 0 < 2 * len(opposite) < len(parts) or isinstance(claim.relation, Order):
        return first
    told = ", ".join(names[at] for at in sorted(opposite))
    text = f"{len(opposite)} of {len(parts)} parts opposite with Holm's correction ({told})"
    together = _whole(claim, measured, claims)
    if together is None:
        text += ", and the parts have no ratio together"
        shown, place = replace(parts[at], outcome="inconclusive", part=names[at]), names[at]
    elif together.outcome == "opposite":
        assert together.measured is not None
        mean, low, high = interval(together.measured)
        text += f", and so are all parts together: {mean} [{low} … {high}]"
        return replace(first, reason=f"of {len(parts)} parts: {tally}; {text}; shown: {names[at]}: {parts[at].reason}")
    else:
        text += ", but not all parts together"
        outcome: Outcome = "holds at another size" if together.outcome == "holds" else together.outcome
        shown, place = replace(together, outcome=outcome), "all together"
    # A part that gets worse must not make the claim better: the others count as they do without it.
    other = weakest_part([at for at in range(len(parts)) if at not in opposite], claims, parts)
    if weakest([shown.outcome, parts[other].outcome], OF_PARTS) != shown.outcome:
        shown, place = replace(parts[other], part=names[other]), names[other]
    reason = f"of {len(parts)} parts: {tally}; {text}; shown: {place}: {shown.reason}"
    return replace(shown, reason=reason, parts=tally, asked=[*asked, Asked("parts", False, text)])


def _whole(claim: Claim, measured: Measured, parts: Sequence[Claim]) -> Judged | None:
    """All parts of a claimed direction together: the geometric mean of their ratios, repetition by repetition. None
    where there is no such ratio."""
    if not isinstance(claim.relation, Greater | Less):
        return None
    pairs = [_pairs(part, measured) for part in parts]
    lengths = {len(one.first) for one in pairs}
    if len(lengths) > 1 or 0 in lengths or any(min(*one.first, *one.second) <= 0 for one in pairs):
        return None
    logs = [[math.log(a / b) for a, b in zip(one.first, one.second, strict=True)] for one in pairs]
    size, effect = claim.relation.ratio, claim.relation.effect
    share = fmean(
        _relevant_share(margin(str(part.metric)), one, size, effect) for part, one in zip(parts, pairs, strict=True)
    )
    return _placed(_mean_of(logs), share, None, TOLERANCE, up=not isinstance(claim.relation, Less))


def _mean_of(logs: Sequence[Sequence[float]]) -> Estimate:
    """The geometric mean of several ratios, repetition by repetition, from their logarithms."""
    return _geometric([fmean(column) for column in zip(*logs, strict=True)])


def _of_parts(parts: Sequence[Judged]) -> list[Asked]:
    """What each control found of several parts: those that do not pass, else the first."""
    found: dict[str, list[Asked]] = {}
    for part in parts:
        for asked in part.asked:
            found.setdefault(asked.control, []).append(asked)
    made = []
    for mine in found.values():
        failed = [one for one in mine if not one.passed]
        shown = (failed or mine)[0]
        text = f"in {len(failed)} of {len(parts)} parts: {shown.text}" if failed else shown.text
        made.append(shown._replace(text=text))
    return made


def _controlled(claim: Claim, measured: Measured) -> Judged:
    judged = where_they_differ(_judged, claim, measured)
    low = starved(claim, measured)
    if low is not None:
        judged = replace(judged, asked=(*judged.asked, low))
        if not low.passed:
            return replace(judged, outcome="set-up cannot discriminate", reason=f"{low.text}; {judged.reason}")
    if judged.outcome in (*_SHOWN, "underspecified") and not (judged.outcome == "holds" and _of_equality(claim)):
        return judged
    if judged.outcome == "holds at another size" and not judged.falls_short:
        return judged
    # A label for whose values the claim is made restricts the controls too.
    at = {name: value for name, value in claim.sides[0].items() if name == claim.each}
    for control in claim.controls:
        mean = measured.estimate(control.metric, **{**control.side, **at}).mean
        if not control.low <= mean <= control.high:
            reason = f"{control.otherwise} ({control.metric} {number(mean)}); {judged.reason}"
            return replace(judged, outcome="set-up cannot discriminate", reason=reason)
    return judged


def _of_equality(claim: Claim) -> bool:
    """Whether sides that nothing can tell apart would meet the claim."""
    match claim.relation:
        case RatioIn(low, high):
            return low <= 1 <= high
        case Overall(at_least=least):
            return least is not None and least <= 1
        case _:
            return False


def _judged(claim: Claim, measured: Measured) -> Judged:
    relevant = margin(str(claim.metric))
    match claim.relation:
        case Greater(size, tolerance, effect):
            return directed(_pairs(claim, measured), relevant, size, tolerance, effect, up=True)
        case Less(size, tolerance, effect):
            return directed(_pairs(claim, measured), relevant, size, tolerance, effect, up=False)
        case Overall():
            return overall(claim, measured)
        case RatioIn(low, high):
            pairs = _pairs(claim, measured)
            share = _share(relevant, pairs)
            return inside(ratio(pairs), low, high, "ratio", lambda edge: share * edge)
        case Value(published, tolerance, points):
            return value(_value(claim, measured), published, tolerance, points, relevant.ceiling)
        case ValueIn(low, high):
            return inside(_value(claim, measured), low, high, "value", relevant.around)
        case Shape():
            return shape(claim, measured)
        case Welch(up, below, effect):
            return test(_pairs(claim, measured), relevant, below, effect, up=up)
        case Underspecified(reason):
            return _shown_only(claim, measured, "underspecified", reason)
        case Indiscriminate(reason):
            return _shown_only(claim, measured, "set-up cannot discriminate", reason)
        case _:
            raise AssertionError("an order is judged step by step")


def _shown_only(claim: Claim, measured: Measured, outcome: Outcome, reason: str) -> Judged:
    if len(claim.sides) == 1:
        return Judged(_value(claim, measured), outcome, reason, "value")
    return Judged(ratio(_pairs(claim, measured)), outcome, reason)


def _pairs(claim: Claim, measured: Measured) -> Pairs:
    first, second = claim.sides
    assert isinstance(claim.metric, str)
    return measured.pairs(claim.metric, first, second)


def _value(claim: Claim, measured: Measured) -> Estimate:
    (side,) = claim.sides
    assert isinstance(claim.metric, str)
    return measured.estimate(claim.metric, **side)


def ratio(pairs: Pairs) -> Estimate:
    """First over second: geometric mean and Student's t on logarithms, since ratios multiply.

    Where some values are zero there is no logarithm: then the mean difference over the second side's mean, plus 1.
    Sides that are equal in every repetition have a ratio of exactly 1, unless the repetitions are equal too.
    """
    if not pairs.first:
        return Estimate(math.nan, None, None, 0)
    if pairs.first == pairs.second and any(pairs.first) and not estimate(pairs.first).is_constant:
        return Estimate(1.0, 1.0, 1.0, len(pairs.first))
    if min(*pairs.first, *pairs.second) > 0:
        return _geometric([math.log(a / b) for a, b in zip(pairs.first, pairs.second, strict=True)])
    base = fmean(pairs.second)
    if base <= 0:
        return Estimate(math.nan, None, None, 0)
    return estimate([1 + (a - b) / base for a, b in zip(pairs.first, pairs.second, strict=True)])


def _geometric(logs: Sequence[float]) -> Estimate:
    """The geometric mean of ratios from their logarithms, which have the rounding of a ratio of about 1."""
    found = estimate(without_rounding(logs, 1.0))
    low, high = (None if end is None else math.exp(end) for end in (found.low, found.high))
    return Estimate(math.exp(found.mean), low, high, found.n, found.is_constant)


def _no_interval(found: Estimate) -> str:
    """Why an estimate without an interval decides nothing."""
    if found.is_constant:
        return f"{found.n} repetitions, one result: they are one observation, which has no interval"
    return "one repetition has no interval"


def _exact(found: Estimate) -> Estimate:
    """What is zero in every repetition is known: nothing was counted. Other values that do not vary are one result."""
    return Estimate(0.0, 0.0, 0.0, found.n) if found.is_constant and found.mean == 0 else found


def _share(relevant: Margin, pairs: Pairs) -> float:
    """The margin as a share of the second side."""
    base = fmean(pairs.second) if pairs.second else 0.0
    return relevant.around(base) / base if base > 0 else relevant.share


def _relevant_share(relevant: Margin, pairs: Pairs, size: float | None, effect: float | None) -> float:
    """The margin as a share of the second side, at most half of the effect that the paper reports: of ``size`` where
    one is given, or ``effect``."""
    reported = effect if size is None else abs(size - 1)
    share = _share(relevant, pairs)
    return share if reported is None else min(share, reported / 2)


def directed(
    pairs: Pairs,
    relevant: Margin,
    size: float | None = None,
    tolerance: float = TOLERANCE,
    effect: float | None = None,
    *,
    up: bool,
) -> Judged:
    """First over second is above 1 (``up``) or below, at ``size`` where one is given. An ``effect`` that the paper
    reports is relevant to it: the margin is at most half of it."""
    share = _relevant_share(relevant, pairs, size, effect)
    nothing = _without_ratio(pairs, relevant, up=up)
    if nothing is not None:
        return _on_axis(nothing, share, size, up=up)
    judged = _placed(ratio(pairs), share, size, tolerance, up=up)
    return _room(replace(judged, reason=_note(judged.reason, pairs)), pairs, relevant, up, size)


def _on_axis(judged: Judged, share: float, size: float | None, *, up: bool) -> Judged:
    """With the margin, the claimed side and the published ratio."""
    claimed = (1 + share, None) if up else (None, 1 - share)
    return replace(judged, expected=size, claimed=claimed, margin=(1 - share, 1 + share))


def _placed(found: Estimate, share: float, size: float | None, tolerance: float, *, up: bool) -> Judged:
    """Where the interval of a ratio lies beside 1 ± ``share`` and beside ``size``."""
    return _on_axis(_beside(found, share, size, tolerance, up=up), share, size, up=up)


def _beside(found: Estimate, share: float, size: float | None, tolerance: float, *, up: bool) -> Judged:
    low, high = found.low, found.high
    if low is None or high is None:
        return Judged(found, "inconclusive", _no_interval(found))
    band = f"{1 - share:.3f} to {1 + share:.3f}"
    if 1 - share <= low and high <= 1 + share:
        return Judged(found, "no effect", f"the interval lies within the margin, {band}")
    sign = 1 if up else -1
    if low <= 1 + share and high >= 1 - share:
        return Judged(found, "inconclusive", f"the interval covers differences within and beyond the margin, {band}")
    if sign * (found.mean - 1) < 0:
        return Judged(found, "opposite", "the interval lies on the other side", edge=1 - sign * share)
    if size is None:
        return Judged(found, "holds", "the interval lies on the claimed side")
    room = tolerance * abs(size - 1)
    about = f"the published effect {number(abs(size - 1))} ± {tolerance:.0%} of it"
    if abs(found.mean - size) <= room and (high - low) / 2 <= room:
        return Judged(found, "holds", f"the interval lies on the claimed side, at {about}")
    if low <= size <= high:
        return Judged(found, "inconclusive", f"the interval lies on the claimed side and is too wide to tell {about}")
    reason = f"the interval lies on the claimed side, not at {about}"
    return Judged(found, "holds at another size", reason, falls_short=abs(found.mean - 1) < abs(size - 1))


def overall(claim: Claim, measured: Measured) -> Judged:
    """The geometric mean over all terms and all other sides, repetition by repetition, with Student's t on its
    logarithms. A term that is zero has no ratio: then nothing can be told."""
    assert isinstance(claim.relation, Overall)
    mine, *others = claim.sides
    logs: list[list[float]] = []
    for term in claim.relation.terms:
        for other in others:
            pairs = measured.pairs(term.metric, {**mine, **term.where}, {**other, **term.where})
            if len(pairs.first) < measured.size.repetitions or min(*pairs.first, *pairs.second) <= 0:
                return Judged(None, "inconclusive", f"{term.metric} is zero or has no value in some repetition")
            sign = 1 if term.up else -1
            logs.append([sign * math.log(a / b) for a, b in zip(pairs.first, pairs.second, strict=True)])
    found = _mean_of(logs)
    share, least = claim.relation.effect / 2, claim.relation.at_least
    if least is None:
        judged = _placed(found, share, claim.relation.ratio, claim.relation.tolerance, up=True)
    else:
        judged = inside(found, least, math.inf, "ratio", lambda edge: share * edge)
    return replace(judged, reason=f"{judged.reason} ({len(logs)} ratios, {found.n} repetitions)")


def _room(judged: Judged, pairs: Pairs, relevant: Margin, up: bool, size: float | None = None) -> Judged:
    """No relevant increase can show where the second side has all but the margin of all that there is, and none of the
    published size where that would lie above all that there is."""
    base = fmean(pairs.second)
    if not up or relevant.ceiling is None or judged.outcome in _SHOWN or judged.measured is None:
        return judged
    if judged.measured.low is None:
        return judged
    least = base + relevant.around(base)
    if judged.outcome == "holds at another size":
        if size is None or not judged.falls_short:
            return judged
        least = base * size
    if relevant.ceiling > least:
        return judged
    reason = f"the second side has {number(base)} of at most {number(relevant.ceiling)}; {judged.reason}"
    return replace(judged, outcome="set-up cannot discriminate", reason=reason)


def _without_ratio(pairs: Pairs, relevant: Margin, *, up: bool) -> Judged | None:
    """An outcome where there is no ratio: no pairs, equal sides, or one side zero throughout."""
    if not pairs.first:
        return Judged(None, "inconclusive", _note("no repetition has a value on both sides", pairs))
    if pairs.first == pairs.second:
        if any(pairs.first) and (one := estimate(pairs.first)).is_constant:
            return Judged(replace(one, mean=1.0), "inconclusive", _note(_no_interval(one), pairs))
        exact = ratio(pairs) if any(pairs.first) else None
        same = Judged(exact, "no effect", _note("both sides are equal in every repetition", pairs))
        return _room(same, pairs, relevant, up)
    zero_first, zero_second = (all(one == 0 for one in side) for side in (pairs.first, pairs.second))
    if not zero_first and not zero_second:
        return None
    name = "first" if zero_first else "second"
    other = estimate(pairs.second if zero_first else pairs.first)
    exact = Estimate(0.0, 0.0, 0.0, len(pairs.first)) if zero_first else None
    reason = f"the {name} side is zero in every repetition, the other one {number(other.mean)} on average"
    if other.is_constant:
        return Judged(exact, "inconclusive", _note(f"{reason}: {_no_interval(other)}", pairs))
    if other.low is None or other.low <= 0:
        return Judged(exact, "inconclusive", _note(f"{reason} with an interval that reaches zero", pairs))
    if other.high is not None and other.high <= relevant.amount:
        return Judged(exact, "no effect", _note(f"{reason}, within the margin", pairs))
    outcome: Outcome = "holds" if zero_second == up else "opposite"
    return Judged(exact, outcome, _note(reason, pairs))


def inside(found: Estimate, low: float, high: float, what: str, slack: Callable[[float], float]) -> Judged:
    """The interval lies in [low, high]; opposite where it lies outside by more than the margin, which is ``slack`` of
    the nearer end."""
    claimed = (None if math.isinf(low) else low, None if math.isinf(high) else high)
    return replace(_inside(found, low, high, what, slack), claimed=claimed)


def _inside(found: Estimate, low: float, high: float, what: str, slack: Callable[[float], float]) -> Judged:
    if found.n == 0:
        return Judged(None, "inconclusive", "no repetition has a value", what)
    found = _exact(found)
    if math.isinf(high):
        band = f"at least {number(low)}"
    elif math.isinf(low):
        band = f"at most {number(high)}"
    else:
        band = f"{number(low)} to {number(high)}"
    if found.low is None or found.high is None:
        return Judged(found, "inconclusive", _no_interval(found), what)
    if low <= found.low and found.high <= high:
        return Judged(found, "holds", f"the interval lies in {band}", what)
    below = not math.isinf(low) and found.high < low - slack(low)
    above = not math.isinf(high) and found.low > high + slack(high)
    if below or above:
        edge = low - slack(low) if below else high + slack(high)
        return Judged(found, "opposite", f"the interval lies outside {band}", what, edge=edge)
    if found.high < low or found.low > high:
        return Judged(found, "inconclusive", f"the interval lies outside {band}, by less than the margin", what)
    return Judged(found, "inconclusive", f"the interval reaches over an end of {band}", what)


def value(
    found: Estimate,
    published: float,
    tolerance: float = TOLERANCE,
    points: float | None = None,
    ceiling: float | None = None,
) -> Judged:
    """The mean and half of the interval are within the tolerance of the published value: an interval that is wide
    enough to cover any value confirms none. Opposite where the interval lies beyond half or twice that value; below a
    ``ceiling`` also where it is more than twice as far from there as the published value with its tolerance."""
    room = points if points is not None else tolerance * abs(published)
    judged = _about(found, published, room, ceiling)
    return replace(judged, expected=published, claimed=(published - room, published + room))


def _about(found: Estimate, published: float, room: float, ceiling: float | None) -> Judged:
    if found.n == 0:
        return Judged(None, "inconclusive", "no repetition has a value", "value")
    found = _exact(found)
    about = f"{number(published)} ± {number(room)}"
    if found.low is None or found.high is None or found.half is None:
        return Judged(found, "inconclusive", _no_interval(found), "value")
    if abs(found.mean - published) <= room and found.half <= room:
        return Judged(found, "holds", f"mean and half of the interval are within {about}", "value")
    least, most = published / _FACTOR, published * _FACTOR
    if ceiling is not None:
        least = max(least, ceiling - _FACTOR * (ceiling - published + room))
    if published > 0 and (found.high < least or found.low > most):
        reason = f"the interval misses {about} by more than a factor of {_FACTOR:g}"
        if ceiling is not None and published / _FACTOR <= found.high < least:
            lower = f"{number(published - room)}, an end of {about}"
            reason = f"the interval lies more than twice as far below {ceiling:g} as {lower}"
        return Judged(found, "opposite", reason, "value", edge=least if found.high < least else most)
    if found.high < published - room or found.low > published + room:
        return Judged(found, "holds at another size", f"the interval excludes {about}", "value")
    if found.half <= room:
        end = published - room if found.mean < published else published + room
        return Judged(found, "inconclusive", f"the interval reaches over {number(end)}, an end of {about}", "value")
    return Judged(found, "inconclusive", f"the interval is too wide to tell {about}", "value")


def shape(claim: Claim, measured: Measured) -> Judged:
    """All landmarks: holds; at least half of them: at another size; fewer: opposite."""
    (side,) = claim.sides
    assert isinstance(claim.relation, Shape)
    words, held = [], 0
    for mark in claim.relation.landmarks:
        values = measured.values(mark.metric, **side)
        mean = fmean(values) if values else None
        holds = mean is not None and mark.low <= mean <= mark.high
        held += holds
        shown = "none" if mean is None else number(mean)
        words.append(f"{mark.title}: {shown} ({'holds' if holds else 'fails'})")
    share = held / len(words)
    outcome: Outcome = "holds" if share == 1 else "holds at another size" if share >= 0.5 else "opposite"
    return Judged(Estimate(share, None, None, len(words)), outcome, "; ".join(words), "landmarks")


def test(pairs: Pairs, relevant: Margin, below: float, effect: float | None, *, up: bool) -> Judged:
    """Welch's test over the repetitions, as the papers use it. A difference in the other direction, or within the
    margin, is none that the paper claims."""
    p = welch(pairs.second, pairs.first)
    side = directed(pairs, relevant, effect=effect, up=up)
    found = ratio(pairs)
    beside = f"ratio of the means {number(found.mean)}" if found.n else "no ratio"
    hedges = hedges_unpaired(pairs.second, pairs.first)
    if hedges is not None:
        beside += f", effect size {effect_size(replace(hedges, low=None, high=None))}"
    if p is None:
        return replace(side, measured_is="ratio")
    measured = Estimate(p, None, None, len(pairs.first))
    if side.outcome in ("no effect", "set-up cannot discriminate"):
        return Judged(measured, side.outcome, f"{side.reason}; {beside}", "p")
    if p >= below:
        return Judged(measured, "inconclusive", _note(f"p is not below {below:g}; {beside}", pairs), "p")
    outcome: Outcome = "holds" if (fmean(pairs.first) > fmean(pairs.second)) == up else "opposite"
    return Judged(measured, outcome, _note(f"Welch's t-test, two-sided; {beside}", pairs), "p")


def _names(sides: Sequence[Labels]) -> list[str]:
    """What tells the sides apart."""
    common = {name for name, value in sides[0].items() if all(side.get(name) == value for side in sides)}
    return [", ".join(str(value) for name, value in side.items() if name not in common) for side in sides]


def _note(reason: str, pairs: Pairs) -> str:
    """The reason, with how much it rests on."""
    missing = f"; {pairs.left_out} of {pairs.cells} pairs of runs have no value on one side" if pairs.left_out else ""
    there = pairs.cells - pairs.left_out
    same = f"; {there - pairs.equal} of {there} pairs of runs differ" if 0 < pairs.equal < there else ""
    return f"{reason} ({len(pairs.first)} repetitions{missing}{same})"
