"""Which outcome is the weakest of several, what speaks for a claim, and how often each outcome occurs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from cwndlab.reproduction.claims import (
    COUNTED,
    OUTCOMES,
    Claim,
    Finding,
    Less,
    Outcome,
    RatioIn,
    Relation,
    Value,
    ValueIn,
    Welch,
)
from cwndlab.reproduction.judged import Judged

#: Outcomes of evidence from the weakest: a headline of several claims has the first of these that occurs. The last two
#: tell nothing of the sentence and count only where nothing else is there.
WEAKEST: tuple[Outcome, ...] = (
    "opposite",
    "no effect",
    "inconclusive",
    "holds at another size",
    "holds",
    "set-up cannot discriminate",
    "underspecified",
)
#: The same for the parts of one claim, which is made of all of them: one that cannot be discriminated forbids "holds".
OF_PARTS: tuple[Outcome, ...] = (
    "opposite",
    "no effect",
    "inconclusive",
    "set-up cannot discriminate",
    "holds at another size",
    "holds",
    "underspecified",
)


def favour(relation: Relation, outcome: Outcome, measured: float | None, measured_is: str) -> float | None:
    """How much what is measured speaks for a claim; greater is more. For a value it is minus the distance from the
    published one, for a band the distance from its nearer end, positive inside. For Welch's test it is 1 − p where the
    claim holds, p − 1 where it is opposite, and 0 otherwise, since p has no direction; none where there is no p."""
    if measured is None or math.isnan(measured):
        return None
    match relation:
        case Welch():
            if measured_is != "p":
                return None
            return {"holds": 1 - measured, "opposite": measured - 1}.get(outcome, 0.0)
        case Less():
            return -measured
        case RatioIn(low, high) | ValueIn(low, high):
            return min(measured - low, high - measured)
        case Value(published):
            return -abs(measured - published)
        case _:
            return measured


def weakest(outcomes: Sequence[Outcome], order: Sequence[Outcome] = WEAKEST) -> Outcome:
    """The outcome of a sentence for which these are evidence."""
    return next(outcome for outcome in order if outcome in outcomes)


def weakest_part(among: Sequence[int], claims: Sequence[Claim], parts: Sequence[Judged]) -> int:
    """The number of the weakest of some parts of a claim; of several with its outcome that of the least favourable one.
    Those without a value have none to show."""
    worst = weakest([parts[at].outcome for at in among], OF_PARTS)
    placed: dict[int, float] = {}
    for at in among:
        part = parts[at]
        if part.outcome == worst:
            mean = None if part.measured is None else part.measured.mean
            value = favour(claims[at].relation, part.outcome, mean, part.measured_is)
            placed[at] = math.inf if value is None else value
    return min(placed, key=lambda at: (placed[at], at))


def tallied(outcomes: Sequence[Outcome]) -> str:
    """How often each outcome occurs, in words."""
    count = Counter(outcomes)
    return ", ".join(f"{count[outcome]} {outcome}" for outcome in OUTCOMES if count[outcome])


def counts(findings: Sequence[Finding]) -> dict[Outcome, int]:
    """How often each outcome is among the paper's own claims."""
    claims = [one for one in findings if one.kind in COUNTED]
    return {outcome: sum(one.outcome == outcome for one in claims) for outcome in OUTCOMES}
