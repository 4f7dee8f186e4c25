"""Tests of two series, and Holm's correction of many of them. Every p-value is two-sided.

Sources: paired t, Student, Biometrika 6 (1908); B. L. Welch, Biometrika 34 (1947); F. Wilcoxon, Biometrics Bulletin 1
(1945); S. Shapiro, M. Wilk, Biometrika 52 (1965); S. Holm, Scand. J. Stat. 6 (1979). All but Holm's few lines and
Wilcoxon's test of small samples are scipy's.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy  # its modules, which take half a second to import, are imported at their first use

from cwndlab.statistics.estimates import deviation, pooled_deviation

#: No p-value is zero: one below this bound is lost in the rounding of double precision.
LEAST_P = 1e-300


def paired_t(deltas: Sequence[float], *, groups: Sequence[str] = ()) -> float | None:
    """p of the paired t-test, which is below 1 − level exactly where the paired t-interval excludes zero. ``groups`` is
    the group of each pair as a blocking factor: the mean is tested against the variation within groups. p is then that
    of the treatment in `cwndlab.statistics.blocks`.

    Nothing without a degree of freedom, or where the differences are all the same: there is no spread to test against.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> round(statistics.paired_t([1.2, 0.8, 1.1, -0.2]), 3)
    0.108
    """
    spread, freedom = pooled_deviation(deltas, groups)
    if freedom < 1 or spread == 0:
        return None
    t = float(np.mean(deltas)) / (spread / math.sqrt(len(deltas)))
    # As scipy.stats.ttest_1samp has it, a hundred times as fast.
    return max(LEAST_P, 2 * float(scipy.special.stdtr(freedom, -abs(t))))


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """p of Welch's t-test; nothing if neither series varies or one has fewer than two values.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> round(statistics.welch([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), 3)
    0.021
    """
    if len(first) < 2 or len(second) < 2 or (deviation(first) == 0 and deviation(second) == 0):
        return None
    return _quietly(lambda: scipy.stats.ttest_ind(second, first, equal_var=False))


def wilcoxon(deltas: Sequence[float]) -> float | None:
    """p of Wilcoxon's signed-rank test on paired differences: exact up to 13 of them, and up to 50 without ties, else
    by the normal approximation. Zeros are left out (Wilcoxon's own way); nothing if fewer than two differ from zero.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> round(statistics.wilcoxon([1.2, 0.8, 1.1, 0.9, 1.0]), 3)
    0.062
    """
    kept = [delta for delta in deltas if delta != 0]
    if len(kept) < 2:
        return None
    return _signed_ranks(kept) if len(kept) <= _MOST_COUNTED else _quietly(lambda: scipy.stats.wilcoxon(kept))


#: Up to this number scipy, too, is exact where ranks are tied; it enumerates the signs, which takes a second.
_MOST_COUNTED = 13


def _signed_ranks(kept: Sequence[float]) -> float:
    """The exact p of Wilcoxon's test: the share of all signs whose sum of positive ranks is as extreme."""
    ranks = np.rint(2 * scipy.stats.rankdata(np.abs(kept))).astype(int)  # ties have halves
    ways = np.ones(1)  # by the sum, over the ranks so far
    for rank in ranks:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    found = ranks[np.asarray(kept) > 0].sum()
    tail = min(ways[: found + 1].sum(), ways[found:].sum())
    return float(min(1.0, 2 * float(tail) / 2 ** len(kept)))


def shapiro(values: Sequence[float]) -> float | None:
    """p of the Shapiro–Wilk test that the values are normal, for information: no test is chosen by it, since choosing
    a test by the data it is used on spoils its level. Nothing below three values, or where they do not vary.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> statistics.shapiro([1.2, 0.8, 1.1, 0.9, 1.0]) > 0.05
    True
    """
    if len(values) < 3 or deviation(values) == 0:
        return None
    return _quietly(lambda: scipy.stats.shapiro(values))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment, in the order given: max over the smaller ones of (m − rank + 1) · p, at most 1.

    What is rejected at level α after it has a family-wise error of at most α, whatever depends on what. Comparisons
    without a p-value do not count in m. scipy has no such function; `tests/test_statistics.py` holds it against
    statsmodels, whose import takes longer than most comparisons.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, index) in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p))
        adjusted[index] = least
    return adjusted


def _quietly(test: Callable[[], Any]) -> float | None:
    with warnings.catch_warnings():
        # Nearly constant series: scipy warns of lost digits; the p-value is next to 0 or 1 all the same.
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        p = float(test().pvalue)
    return None if math.isnan(p) else max(LEAST_P, p)
