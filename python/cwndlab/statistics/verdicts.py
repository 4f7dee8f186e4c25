"""The words for a difference. No other place decides them, and none but this one calls anything better."""

from __future__ import annotations

from cwndlab.statistics.estimates import Estimate

#: Significance level of an adjusted p-value: 1 − `LEVEL`, without its rounding.
ALPHA = 0.05
BETTER, WORSE = "better", "worse"


def verdict(paired: Estimate, adjusted_p: float | None, direction: int = 0, *, margin: float = 0.0) -> str:
    """The word for a paired difference, from its interval and a margin of relevance.

    Parameters
    ----------
    paired:
        Mean difference with its interval.
    adjusted_p:
        Its p-value after Holm's correction; nothing where only one comparison is made.
    direction:
        1 where more of the metric is wanted, −1 where less, 0 where neither.
    margin:
        The largest difference without practical relevance, in the unit of ``paired`` (`cwndlab.metrics.margins`).

    Returns
    -------
    ``higher`` or ``lower``, followed by ``better`` or ``worse`` where the metric has a direction: the interval
    excludes zero, the adjusted p-value is below `ALPHA`, the mean lies beyond the margin. ``no relevant difference``:
    the interval excludes zero and lies within the margin. ``no difference``: it holds zero and lies within the margin
    (equivalence: D. Lakens, Soc. Psychol. Personal. Sci. 8(4), 2017, 355). ``undecided after Holm``: it excludes zero
    and would do so by chance among so many comparisons. ``inconclusive``: everything else, since the interval holds
    both relevant and irrelevant differences.

    >>> verdict(Estimate(2.0, 1.0, 3.0, 10), 0.01, direction=1)
    'higher, better'
    >>> verdict(Estimate(2.0, 1.0, 3.0, 10), 0.07, direction=1)
    'undecided after Holm'
    >>> verdict(Estimate(2.0, 1.0, 3.0, 10), 0.01, direction=1, margin=5.0)
    'no relevant difference'
    >>> verdict(Estimate(2.0, -8.0, 12.0, 3), 0.5, margin=5.0)
    'inconclusive'
    """
    if paired.low is None or paired.high is None:
        return "not decided: one repetition"
    holds_zero = paired.low <= 0 <= paired.high
    if -margin <= paired.low and paired.high <= margin:
        return "no difference" if holds_zero else "no relevant difference"
    if holds_zero or abs(paired.mean) <= margin:
        return "inconclusive"
    if adjusted_p is not None and adjusted_p >= ALPHA:
        return "undecided after Holm"
    side = 1 if paired.low > 0 else -1
    value = {1: f", {BETTER}", -1: f", {WORSE}"}.get(side * direction, "")
    return ("higher" if side > 0 else "lower") + value
