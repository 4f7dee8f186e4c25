"""Means with intervals: t-interval, Student, Biometrika 6 (1908); BCa bootstrap, B. Efron, JASA 82 (1987)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # its modules, which take half a second to import, are imported at their first use

#: Level of all intervals.
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval; ``low`` and ``high`` are nothing if there is none, and ``reason`` says why.

    ``is_constant`` is true where two values or more are all the same. They are one observation, so that nothing is
    known of the spread.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> one = statistics.Estimate(mean=10.0, low=9.0, high=11.0, n=5)
    >>> one.half
    1.0
    >>> statistics.estimate([4.0, 4.0, 4.0]).reason
    '3 runs, one result'
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    is_constant: bool = False

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def reason(self) -> str | None:
        """Why there is no interval."""
        if self.low is not None and self.high is not None:
            return None
        if self.is_constant:
            return f"{self.n} runs, one result"
        return {0: "no values", 1: "one value tells nothing of the spread"}.get(self.n, "too few values")


def estimate(values: Sequence[float], level: float = LEVEL, *, groups: Sequence[str] = ()) -> Estimate:
    """Mean and t-interval: mean ± t(n−1) · s / √n; with the group of each value, s is the standard deviation within
    groups (`pooled_deviation`), and t has n − number of groups degrees of freedom. Values that do not vary, within
    their groups, have no interval.

    >>> e = estimate([1.0, 2.0, 3.0])
    >>> round(e.mean, 3), round(e.half, 3)
    (2.0, 2.484)
    >>> e = estimate([1.0, 3.0, 11.0, 13.0], groups=["a", "a", "b", "b"])  # s = √2, t(2) = 4.303
    >>> round(e.mean, 3), round(e.half, 3)
    (7.0, 3.042)
    """
    n = len(values)
    if n == 0:
        return Estimate(math.nan, None, None, 0)
    mean = float(np.mean(values))
    spread, freedom = pooled_deviation(values, groups)
    if freedom < 1:
        return Estimate(mean, None, None, n)
    if spread == 0:
        return Estimate(mean, None, None, n, is_constant=True)
    half = float(scipy.special.stdtrit(freedom, (1 + level) / 2)) * spread / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def bootstrap(values: Sequence[float], *, seed: int, level: float = LEVEL, draws: int = 9999) -> Estimate:
    """Mean with a bootstrap interval (BCa; percentiles where that has none), for what is not normal.

    Nothing below three values, of which the resamples are few, nor where the values do not vary.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> one = statistics.bootstrap([1.0, 2.0, 2.5, 4.0, 9.0], seed=1)
    >>> one.mean, one.low < one.mean < one.high
    (3.7, True)
    """
    n = len(values)
    if n < 3:
        return Estimate(float(np.mean(values)) if n else math.nan, None, None, n)
    mean = float(np.mean(values))
    if deviation(values) == 0:
        return Estimate(mean, None, None, n, is_constant=True)
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
        found = scipy.stats.bootstrap(
            (np.asarray(values),),
            np.mean,
            n_resamples=draws,
            confidence_level=level,
            method=method,
            rng=np.random.default_rng(seed),
        )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


#: Equal results of different sums are this share of the summands apart at most.
ROUNDING = 1e-14


def without_rounding(values: Sequence[float], scale: float) -> tuple[float, ...]:
    """The values; all the same where only the rounding of numbers of size ``scale``, from which they were computed,
    tells them apart.

    >>> without_rounding([0.6 - 0.5, 0.7 - 0.6, 0.8 - 0.7], scale=0.8)
    (0.09999999999999998, 0.09999999999999998, 0.09999999999999998)
    """
    # A value that is no number is not near to any other.
    if not values or any(map(math.isnan, values)) or max(values) - min(values) > ROUNDING * scale:
        return tuple(values)
    return (0.0 if abs(values[0]) <= ROUNDING * scale else values[0],) * len(values)


def deviation(values: Sequence[float]) -> float:
    """The sample's standard deviation: exactly zero if all values are equal, whatever rounding makes of their
    mean."""
    return 0.0 if all(value == values[0] for value in values) else float(np.std(values, ddof=1))


def pooled_deviation(values: Sequence[float], groups: Sequence[str] = ()) -> tuple[float, int]:
    """The standard deviation within groups, and its degrees of freedom: n − number of groups. Without ``groups`` all
    values are one group. Zero without a degree of freedom.

    >>> pooled_deviation([1.0, 3.0, 11.0, 15.0], ["a", "a", "b", "b"])  # squares 2 and 8, two degrees of freedom
    (2.23606797749979, 2)
    """
    if not groups:
        return (deviation(values) if len(values) > 1 else 0.0), len(values) - 1
    if len(groups) != len(values):
        raise ValueError(f"every value has a group, not {len(groups)} for {len(values)}")
    parts = [[value for value, name in zip(values, groups, strict=True) if name == group] for group in set(groups)]
    freedom = len(values) - len(parts)
    squares = math.fsum((len(part) - 1) * deviation(part) ** 2 for part in parts if len(part) > 1)
    return (math.sqrt(squares / freedom) if freedom else 0.0), freedom
