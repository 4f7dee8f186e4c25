"""Means with intervals, paired differences, Welch's test, effect sizes. Knows nothing of networks.

Sources: t-interval and paired t-interval, Student, Biometrika 6 (1908); Welch's test, Biometrika 34 (1947); d, d_z and
their correction J, J. Cohen, "Statistical Power Analysis" (1988), L. Hedges, J. Educ. Stat. 6 (1981), D. Lakens,
Front. Psychol. 4:863 (2013); BCa bootstrap, B. Efron, JASA 82 (1987).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

#: Level of all intervals.
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval; ``low`` and ``high`` are nothing where there is none, and ``reason`` says why."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def reason(self) -> str | None:
        """Why there is no interval."""
        if self.low is not None and self.high is not None:
            return None
        return {0: "no values", 1: "one value tells nothing of the spread"}.get(self.n, "too few values")


@dataclass(frozen=True)
class Difference:
    """How two series differ, the second minus the first.

    ``paired`` over equal seeds decides; ``welch_p`` stands beside it because papers use it. ``effect`` is d_z of the
    pairs, ``effect_unpaired`` is d of the two series, both with Hedges' correction. ``ratio`` is of the means.
    """

    paired: Estimate
    ratio: float | None
    welch_p: float | None
    effect: float | None
    effect_unpaired: float | None

    @property
    def verdict(self) -> str:
        """``higher``, ``lower``, or ``no difference`` that the interval can tell from zero."""
        low, high = self.paired.low, self.paired.high
        if low is None or high is None:
            return "not decided: one repetition"
        return "higher" if low > 0 else "lower" if high < 0 else "no difference"


def estimate(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Mean and t-interval: mean ± t(n−1) · s / √n.

    >>> e = estimate([1.0, 2.0, 3.0])
    >>> round(e.mean, 3), round(e.half, 3)
    (2.0, 2.484)
    """
    n = len(values)
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    mean = float(np.mean(values))
    if n < 2:
        return Estimate(mean, None, None, n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * _deviation(values) / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def difference(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Difference:
    """The second series minus the first, value by value: both are in the order of the same seeds."""
    if len(first) != len(second):
        raise ValueError(f"paired series have equal lengths, not {len(first)} and {len(second)}")
    deltas = [b - a for a, b in zip(first, second, strict=True)]
    base = float(np.mean(first)) if first else 0.0
    ratio = float(np.mean(second)) / base if base else None
    return Difference(
        estimate(deltas, level), ratio, welch(first, second), hedges(deltas), hedges_unpaired(first, second)
    )


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The two-sided p-value of Welch's t-test; nothing where neither series varies or one has fewer than two
    values."""
    if len(first) < 2 or len(second) < 2 or (_deviation(first) == 0 and _deviation(second) == 0):
        return None
    with warnings.catch_warnings():
        # Nearly constant series: scipy warns of lost digits; the p-value is next to 0 or 1 all the same.
        warnings.simplefilter("ignore", RuntimeWarning)
        p = float(stats.ttest_ind(second, first, equal_var=False).pvalue)
    return None if math.isnan(p) else p


def hedges(deltas: Sequence[float]) -> float | None:
    """d_z of paired differences with Hedges' correction: mean / s · J(n − 1); nothing where they do not vary or there
    are fewer than three."""
    n = len(deltas)
    spread = _deviation(deltas) if n >= 3 else 0.0
    return None if spread == 0 else float(np.mean(deltas)) / spread * _correction(n - 1)


def hedges_unpaired(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Cohen's d of two series with Hedges' correction: (mean₂ − mean₁) / s_pooled · J(n₁ + n₂ − 2); nothing where
    neither varies or one has fewer than two values."""
    if len(first) < 2 or len(second) < 2:
        return None
    freedom = len(first) + len(second) - 2
    squares = sum((len(one) - 1) * _deviation(one) ** 2 for one in (first, second))
    pooled = math.sqrt(squares / freedom)
    return None if pooled == 0 else float(np.mean(second) - np.mean(first)) / pooled * _correction(freedom)


def bootstrap(values: Sequence[float], *, seed: int, level: float = LEVEL, draws: int = 9999) -> Estimate:
    """Mean with a bootstrap interval (BCa; percentiles where that has none), for what is not normal.

    Nothing below three values: the resamples of two are their mean and themselves.
    """
    n = len(values)
    if n < 3:
        return Estimate(float(np.mean(values)) if n else math.nan, None, None, n)
    mean = float(np.mean(values))
    if _deviation(values) == 0:
        return Estimate(mean, mean, mean, n)
    low, high = _resampled(values, "BCa", seed, level, draws)
    if math.isnan(low) or math.isnan(high):
        low, high = _resampled(values, "percentile", seed, level, draws)
    return Estimate(mean, low, high, n)


def _resampled(
    values: Sequence[float], method: Literal["BCa", "percentile"], seed: int, level: float, draws: int
) -> tuple[float, float]:
    with warnings.catch_warnings():
        # Where nearly all values are equal, BCa's acceleration is 0/0 and it answers NaN.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = stats.bootstrap(
            (np.asarray(values),),
            np.mean,
            n_resamples=draws,
            confidence_level=level,
            method=method,
            rng=np.random.default_rng(seed),
        )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _correction(freedom: int) -> float:
    """J of Hedges (1981), in its usual approximation."""
    return 1 - 3 / (4 * freedom - 1)


def _deviation(values: Sequence[float]) -> float:
    """The sample's standard deviation: exactly zero where all values are equal, whatever rounding makes of their
    mean."""
    return 0.0 if min(values) == max(values) else float(np.std(values, ddof=1))
