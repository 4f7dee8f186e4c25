"""What may be said of a difference. No other place decides it, and none but this one calls anything better."""

from __future__ import annotations

from cwndlab.statistics.estimates import Estimate

#: Below this an adjusted p-value tells: 1 − `LEVEL`, without its rounding.
ALPHA = 0.05
BETTER, WORSE = "better", "worse"


def verdict(paired: Estimate, adjusted_p: float | None, direction: int = 0) -> str:
    """What the interval of a paired difference says.

    ``higher`` or ``lower`` where it excludes zero and, if there are several comparisons, the p-value that Holm's
    correction adjusted is below `ALPHA` too; then also ``better`` or ``worse`` by the metric's ``direction``: 1 where
    more of it is wanted, −1 where less, 0 where neither. ``undecided after Holm`` where the interval excludes zero and
    would do so by chance among so many comparisons; ``no difference`` where it holds zero; nothing is decided without
    an interval.

    >>> verdict(Estimate(2.0, 1.0, 3.0, 10), 0.01, direction=1)
    'higher, better'
    >>> verdict(Estimate(2.0, 1.0, 3.0, 10), 0.07, direction=1)
    'undecided after Holm'
    """
    if paired.low is None or paired.high is None:
        return "not decided: one repetition"
    if paired.low <= 0 <= paired.high:
        return "no difference"
    if adjusted_p is not None and adjusted_p >= ALPHA:
        return "undecided after Holm"
    side = 1 if paired.low > 0 else -1
    value = {1: f", {BETTER}", -1: f", {WORSE}"}.get(side * direction, "")
    return ("higher" if side > 0 else "lower") + value
