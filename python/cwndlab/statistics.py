"""Means with intervals, paired differences, Welch's test, effect sizes. Knows nothing of networks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

#: Level of all intervals.
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval; ``low`` and ``high`` are nothing where one value tells nothing of the spread."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True)
class Difference:
    """How two series differ, the second minus the first.

    ``paired`` over equal seeds decides; ``welch_p`` stands beside it because papers use it. ``effect`` is Hedges' g of
    the paired differences. ``ratio`` is of the means.
    """

    paired: Estimate
    ratio: float | None
    welch_p: float | None
    effect: float | None

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
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def difference(first: Sequence[float], second: Sequence[float], level: float = LEVEL) -> Difference:
    """The second series minus the first, value by value: both are in the order of the same seeds."""
    if len(first) != len(second):
        raise ValueError(f"paired series have equal lengths, not {len(first)} and {len(second)}")
    deltas = [b - a for a, b in zip(first, second, strict=True)]
    paired = estimate(deltas, level)
    base = float(np.mean(first)) if first else 0.0
    ratio = float(np.mean(second)) / base if base else None
    return Difference(paired, ratio, welch(first, second), hedges(deltas))


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The two-sided p-value of Welch's t-test; nothing where neither series varies or has two values."""
    if len(first) < 2 or len(second) < 2 or (np.ptp(first) == 0 and np.ptp(second) == 0):
        return None
    with warnings.catch_warnings():
        # Nearly constant series: scipy warns of lost digits; the p-value is next to 0 or 1 all the same.
        warnings.simplefilter("ignore", RuntimeWarning)
        p = float(stats.ttest_ind(second, first, equal_var=False).pvalue)
    return None if math.isnan(p) else p


def hedges(deltas: Sequence[float]) -> float | None:
    """Hedges' g of paired differences: mean / s · (1 − 3 / (4 n − 5)); nothing where they do not vary."""
    n = len(deltas)
    if n < 3:
        return None
    spread = float(np.std(deltas, ddof=1))
    return None if spread == 0 else float(np.mean(deltas)) / spread * (1 - 3 / (4 * n - 5))


def bootstrap(values: Sequence[float], *, seed: int, level: float = LEVEL, draws: int = 9999) -> Estimate:
    """Mean with a bootstrap interval (BCa), for what is not normal."""
    if len(values) < 2 or np.ptp(values) == 0:
        return estimate(values, level)
    found = stats.bootstrap(
        (np.asarray(values),), np.mean, n_resamples=draws, confidence_level=level, rng=np.random.default_rng(seed)
    )
    interval = found.confidence_interval
    return Estimate(float(np.mean(values)), float(interval.low), float(interval.high), len(values))
