"""Claims for a program, and how a verdict comes out of an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cwndlab.statistics import Estimate, estimate, welch

#: A published ratio counts as met within this share of it.
TOLERANCE = 0.20

Verdict = Literal["reproduced", "direction only", "not reproduced", "not testable"]


@dataclass(frozen=True)
class Finding:
    """A claim beside what was measured."""

    id: str
    quantity: str
    published: str
    measured: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    reason: str

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def ratios(base: Sequence[float | None], other: Sequence[float | None]) -> list[float]:
    """``other`` over ``base``, pair by pair; pairs without two numbers above zero are left out."""
    pairs = zip(base, other, strict=True)
    return [b / a for a, b in pairs if a is not None and b is not None and a > 0 and b > 0]


def geometric(values: Sequence[float]) -> Estimate:
    """Geometric mean and its interval: Student's t on logarithms, since ratios multiply."""
    logs = estimate([math.log(value) for value in values])
    if logs.n == 0:
        return logs
    low, high = (None if end is None else math.exp(end) for end in (logs.low, logs.high))
    return Estimate(math.exp(logs.mean), low, high, logs.n)


def judge_ratio(
    id: str,
    quantity: str,
    base: Sequence[float | None],
    other: Sequence[float | None],
    *,
    published: float | None,
    direction: Literal["lower", "higher"],
    words: str,
) -> Finding:
    """The claim that ``other`` / ``base`` lies on the side ``direction`` of 1, at ``published`` where a size is
    given."""
    values = ratios(base, other)
    if not values:
        return Finding(
            id, quantity, words, None, None, None, "not testable", "one side is zero or missing in every repetition"
        )
    found = geometric(values)
    if found.low is None or found.high is None:
        return Finding(id, quantity, words, found.mean, None, None, "not testable", "one pair of runs has no interval")
    verdict: Verdict
    right = found.high < 1 if direction == "lower" else found.low > 1
    wrong = found.low > 1 if direction == "lower" else found.high < 1
    if right and (
        published is None
        or found.low <= published <= found.high
        or abs(found.mean - published) <= TOLERANCE * published
    ):
        verdict, reason = (
            "reproduced",
            "the interval lies on the claimed side"
            + ("" if published is None else f", and the size is within {TOLERANCE:.0%} of the claim"),
        )
    elif right:
        verdict, reason = "direction only", "the interval lies on the claimed side, at another size"
    elif wrong:
        verdict, reason = "not reproduced", "the interval lies on the other side"
    else:
        verdict, reason = "not reproduced", "the interval covers no difference"
    return Finding(id, quantity, words, found.mean, found.low, found.high, verdict, f"{reason} ({len(values)} pairs)")


def judge_welch(id: str, quantity: str, first: Sequence[float], second: Sequence[float], *, below: float) -> Finding:
    """The claim that Welch's test finds a difference at ``below``."""
    p = welch(first, second)
    if p is None:
        return Finding(id, quantity, f"p < {below}", None, None, None, "not testable", "the repetitions do not differ")
    met = p < below
    return Finding(
        id,
        quantity,
        f"p < {below}",
        p,
        None,
        None,
        "reproduced" if met else "not reproduced",
        "Welch's t-test, two-sided",
    )
