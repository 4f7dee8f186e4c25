"""Sizes of effects, with intervals.

Sources: d and d_z, J. Cohen, "Statistical Power Analysis" (1988); their correction J, L. Hedges, J. Educ. Stat. 6
(1981); which of them when, D. Lakens, Front. Psychol. 4:863 (2013); their intervals by the non-central t, G. Cumming,
S. Finch, Educ. Psychol. Meas. 61 (2001); matched-pairs rank-biserial correlation, D. Kerby, Compr. Psychol. 3 (2014).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import scipy  # its modules, which take half a second to import, are imported at their first use

from cwndlab.statistics.estimates import LEVEL, Estimate, deviation, pooled_deviation


def cohens_dz(deltas: Sequence[float], level: float = LEVEL, *, groups: Sequence[str] = ()) -> Estimate | None:
    """Cohen's d_z of paired differences: mean / s, its interval from the non-central t with n − 1 degrees of freedom;
    nothing if they do not vary or there are fewer than two degrees of freedom. With the group of each pair, s is the
    standard deviation within groups, and each group takes a degree of freedom.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> one = statistics.cohens_dz([1.2, 0.8, 1.1, 0.9, 1.0])
    >>> round(one.mean, 3)
    6.325
    """
    n = len(deltas)
    spread, freedom = pooled_deviation(deltas, groups)
    if spread == 0 or freedom < 2:
        return None
    return _standardised(float(np.mean(deltas)) / spread, 1 / n, freedom, n, level)


def hedges(deltas: Sequence[float], level: float = LEVEL, *, groups: Sequence[str] = ()) -> Estimate | None:
    """Hedges' g_z: d_z of paired differences, and its interval, times the correction J(m) = 1 − 3 / (4 m − 1) for m
    degrees of freedom; nothing if d_z is nothing.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> one = statistics.hedges([1.2, 0.8, 1.1, 0.9, 1.0])
    >>> round(one.mean, 3)
    5.06
    """
    freedom = len(deltas) - max(1, len(set(groups)))
    return _scaled(cohens_dz(deltas, level, groups=groups), _correction(freedom))


def hedges_unpaired(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Estimate | None:
    """Hedges' g of two series: (mean₂ − mean₁) / s_pooled · J(n₁ + n₂ − 2); nothing if neither varies or one has
    fewer than two values.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> one = statistics.hedges_unpaired([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    >>> round(one.mean, 3)
    0.8
    """
    if len(first) < 2 or len(second) < 2:
        return None
    n, m = len(first), len(second)
    freedom = n + m - 2
    squares = sum((len(one) - 1) * deviation(one) ** 2 for one in (first, second))
    pooled = math.sqrt(squares / freedom)
    if pooled == 0:
        return None
    d = float(np.mean(second) - np.mean(first)) / pooled
    return _scaled(_standardised(d, 1 / n + 1 / m, freedom, n + m, level), _correction(freedom))


def rank_biserial(deltas: Sequence[float], level: float = LEVEL) -> Estimate | None:
    """Matched-pairs rank-biserial correlation, the effect size of Wilcoxon's test: (W⁺ − W⁻) / (W⁺ + W⁻), 1 where every
    difference is above zero. Nothing if all are zero.

    The interval is normal in Fisher's z with the standard deviation that W has without an effect, √(n (n + 1) (2n + 1)
    / 6) / (n (n + 1) / 2), as the R package effectsize has it; none at ±1, where z is infinite.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> round(statistics.rank_biserial([1.2, 0.8, 1.1, -0.2]).mean, 3)
    0.8
    """
    kept = np.asarray([delta for delta in deltas if delta != 0])
    n = len(kept)
    if n == 0:
        return None
    ranks = scipy.stats.rankdata(np.abs(kept))
    r = float(np.sum(ranks * np.sign(kept)) / np.sum(ranks))
    if abs(r) == 1:
        return Estimate(r, None, None, n)
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(n * (n + 1) * (2 * n + 1) / 6) / (n * (n + 1) / 2)
    return Estimate(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half), n)


#: The largest t at which the distribution is computed; beyond, it has the same shape to eight digits.
_FAR = 1e4


def _standardised(d: float, variance: float, freedom: int, n: int, level: float) -> Estimate:
    """d with the interval of non-centralities under which t = d / √variance is at its quantiles."""
    root = math.sqrt(variance)
    t = d / root
    # Far from zero T is the non-centrality / √(χ² / m), so that the ends are proportional to t. scipy has no numbers
    # there: it is asked for a smaller t.
    far = max(1.0, abs(t) / _FAR)
    t, root = t / far, root * far
    # L. Hedges, I. Olkin, "Statistical Methods for Meta-Analysis" (1985): normal for large samples.
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(1 + t * t / (2 * freedom))
    low = _non_centrality(t, freedom, (1 + level) / 2, t - half, half)
    high = _non_centrality(t, freedom, (1 - level) / 2, t + half, half)
    return Estimate(d, low * root, high * root, n)


def _non_centrality(t: float, freedom: int, quantile: float, near: float, reach: float) -> float:
    """Where P(T ≤ t) = ``quantile``, within ``reach`` of ``near``; it falls from 1 to 0 as the non-centrality grows.

    ``near`` itself where the distribution is lost in rounding, which is far from zero.
    """

    def off(shift: float) -> float:
        below = float(scipy.special.nctdtr(freedom, shift, t))
        # scipy has no number far out in the tails, where it is one or zero to many digits.
        return (float(shift < t) if math.isnan(below) else below) - quantile

    if not off(near - reach) > 0 > off(near + reach):
        return near
    return float(scipy.optimize.brentq(off, near - reach, near + reach, xtol=1e-9))


def _scaled(one: Estimate | None, factor: float) -> Estimate | None:
    if one is None or one.low is None or one.high is None:
        return one
    return Estimate(one.mean * factor, one.low * factor, one.high * factor, one.n)


def _correction(freedom: int) -> float:
    """J of Hedges (1981), in its usual approximation."""
    return 1 - 3 / (4 * freedom - 1)
