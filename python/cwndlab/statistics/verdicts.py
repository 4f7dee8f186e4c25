"""The verdict on a difference. No other place decides it, and only this one calls a difference better or worse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cwndlab.statistics.estimates import Estimate

#: Significance level of an adjusted p-value: 1 − `LEVEL`, without its rounding.
ALPHA = 0.05


class Decision(Enum):
    """What an interval, a test and a margin of relevance decide; the value is the text of tables.

    Examples
    --------
    >>> from cwndlab.statistics import Decision
    >>> Decision.EQUIVALENT.value
    'no difference'
    """

    HIGHER = "higher"
    """The interval lies above zero, the adjusted p-value is below `ALPHA`, the mean lies beyond the margin."""
    LOWER = "lower"
    """The same below zero."""
    IRRELEVANT = "no relevant difference"
    """The interval excludes zero and lies within the margin."""
    EQUIVALENT = "no difference"
    """The interval includes zero and lies within the margin (equivalence: D. Lakens, Soc. Psychol. Personal. Sci. 8(4),
    2017, 355)."""
    NOT_SIGNIFICANT = "undecided after Holm"
    """The interval excludes zero, and would do so by chance among so many comparisons."""
    INCONCLUSIVE = "inconclusive"
    """The interval includes relevant and irrelevant differences."""
    NO_INTERVAL = "not decided: one repetition"
    """There is no interval."""
    ONE_RESULT = "not decided: one result"
    """All pairs differ by the same amount: they are one observation, so that there is no interval."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a difference.

    Parameters
    ----------
    decision
        What is decided.
    is_wanted
        Whether the difference is wanted; ``None`` where there is none, or where the metric has no direction.

    Examples
    --------
    >>> print(Verdict(Decision.LOWER, is_wanted=False))
    lower, worse
    >>> Verdict(Decision.EQUIVALENT).is_difference
    False
    """

    decision: Decision
    is_wanted: bool | None = None

    @property
    def is_difference(self) -> bool:
        """Whether a relevant difference is shown."""
        return self.decision in (Decision.HIGHER, Decision.LOWER)

    @property
    def is_equivalence(self) -> bool:
        """Whether it is shown that there is no relevant difference."""
        return self.decision in (Decision.EQUIVALENT, Decision.IRRELEVANT)

    @property
    def valuation(self) -> str:
        """``better``, ``worse`` or nothing."""
        return "" if self.is_wanted is None else "better" if self.is_wanted else "worse"

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.decision.value, self.valuation)))


def verdict(paired: Estimate, adjusted_p: float | None, direction: int = 0, *, margin: float = 0.0) -> Verdict:
    """The verdict on a paired difference, from its interval and a margin of relevance.

    Parameters
    ----------
    paired
        Mean difference with its interval.
    adjusted_p
        Its p-value after Holm's correction; nothing if only one comparison is made.
    direction
        1 where more of the metric is wanted, −1 where less, 0 where neither.
    margin
        The largest difference without practical relevance, in the unit of ``paired`` (`cwndlab.metrics.margins`).

    Returns
    -------
    Verdict
        The decision, and whether the difference is wanted.

    Examples
    --------
    >>> print(verdict(Estimate(2.0, 1.0, 3.0, 10), 0.01, direction=1))
    higher, better
    >>> print(verdict(Estimate(2.0, 1.0, 3.0, 10), 0.07, direction=1))
    undecided after Holm
    >>> verdict(Estimate(2.0, 1.0, 3.0, 10), 0.01, direction=1, margin=5.0).decision.name
    'IRRELEVANT'
    >>> verdict(Estimate(2.0, -8.0, 12.0, 3), 0.5, margin=5.0).decision.name
    'INCONCLUSIVE'
    """
    if paired.low is None or paired.high is None:
        return Verdict(Decision.ONE_RESULT if paired.is_constant else Decision.NO_INTERVAL)
    includes_zero = paired.low <= 0 <= paired.high
    if -margin <= paired.low and paired.high <= margin:
        return Verdict(Decision.EQUIVALENT if includes_zero else Decision.IRRELEVANT)
    if includes_zero or abs(paired.mean) <= margin:
        return Verdict(Decision.INCONCLUSIVE)
    if adjusted_p is not None and adjusted_p >= ALPHA:
        return Verdict(Decision.NOT_SIGNIFICANT)
    sign = 1 if paired.low > 0 else -1
    decision = Decision.HIGHER if sign > 0 else Decision.LOWER
    return Verdict(decision, None if direction == 0 else sign == direction)
