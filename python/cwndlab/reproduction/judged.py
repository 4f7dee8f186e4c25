"""The outcome of a claim, or of a part of one, before it is a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cwndlab.reproduction.claims import Asked, Outcome
from cwndlab.statistics import Estimate

#: Both ends of a range, where it has any.
Ends: TypeAlias = tuple[float | None, float | None]


@dataclass(frozen=True)
class Judged:
    """What was measured, and the outcome with its reason."""

    measured: Estimate | None
    outcome: Outcome
    reason: str
    measured_is: str = "ratio"
    parts: str = ""
    part: str = ""
    falls_short: bool = True
    """Where it holds at another size: whether that is less than the published one, so that a ceiling may be the
    cause."""
    edge: float | None = None
    """Where it is opposite: the end of the margin beyond which the interval lies."""
    differing: Sequence[float | None] | None = None
    """Of the pairs of runs, the share that differ, and mean and interval over these."""
    asked: Sequence[Asked] = ()
    """What the controls of this part found."""
    expected: float | None = None
    """As for `cwndlab.reproduction.claims.Finding`, like the two that follow."""
    claimed: Ends | None = None
    margin: Ends | None = None
