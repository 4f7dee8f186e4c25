"""Shares of trials with intervals: E. B. Wilson, JASA 22 (1927), 209; for trials in runs, by their effective number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import scipy  # its modules, which take half a second to import, are imported at their first use

from cwndlab.statistics.estimates import LEVEL, Estimate


def wilson(successes: int, trials: int, level: float = LEVEL) -> Estimate:
    """The share of ``successes`` with Wilson's interval, for independent trials.

    With z, the normal quantile of the level, and p = successes / n: the centre (p + z²/2n) / (1 + z²/n) and the half
    width z √(p(1−p)/n + z²/4n²) / (1 + z²/n). Without a trial there is no interval.

    Examples
    --------
    By hand: of 20 trials none succeeds, so that the interval ends at z² / (20 + z²) = 3.8415 / 23.8415.

    >>> one = wilson(0, 20)
    >>> one.low, round(one.high, 4)
    (0.0, 0.1611)
    """
    return _interval(successes, trials, trials, NormalDist().inv_cdf((1 + level) / 2))


def pooled_share(successes: Sequence[int], trials: Sequence[int], level: float = LEVEL) -> Estimate:
    """The share of all successes of several runs, with an interval that counts what the trials of a run have in common.

    p = Σ successes / Σ trials over k runs with trials. The variance of p between runs, k/(k−1) Σ (xᵢ − p nᵢ)² / N² for
    the xᵢ successes of nᵢ trials and N = Σ nᵢ, is divided by p(1−p)/N, that of independent trials: the design effect of
    survey statistics, at least 1. The interval is Wilson's for N / design effect trials, with Student's t of k − 1
    degrees of freedom in place of z. A single run has `wilson`. If all trials have one outcome, runs do not differ, and
    nothing is known of what they have in common: the trials count as independent.

    Parameters
    ----------
    successes, trials
        One number per run.

    Returns
    -------
    Estimate
        ``n`` is the number of all trials.

    Examples
    --------
    By hand: of two runs of ten trials, one has ten successes and the other none. The variance between runs is
    2 · (5² + 5²) / 20² = 1/4, that of independent trials 1/80: twenty trials count as one.

    >>> one = pooled_share([10, 0], [10, 10])
    >>> one.mean, round(one.low, 4), round(one.high, 4)
    (0.5, 0.0015, 0.9985)
    """
    if len(successes) != len(trials):
        raise ValueError(f"every run has successes and trials, not {len(successes)} and {len(trials)}")
    counts = [(x, n) for x, n in zip(successes, trials, strict=True) if n]
    if len(counts) < 2:
        return wilson(*counts[0], level) if counts else Estimate(math.nan, None, None, 0)
    x, n = (np.array(column, dtype=float) for column in zip(*counts, strict=True))
    runs, total, share = len(counts), float(n.sum()), float(x.sum() / n.sum())
    between = runs / (runs - 1) * float(np.sum((x - share * n) ** 2)) / total**2
    independent = share * (1 - share) / total
    design = max(1.0, between / independent) if independent else 1.0
    quantile = float(scipy.special.stdtrit(runs - 1, (1 + level) / 2))
    return _interval(int(x.sum()), int(total), total / design, quantile)


def _interval(successes: int, trials: int, effective: float, quantile: float) -> Estimate:
    """Wilson's interval of a share for an effective number of trials."""
    if not trials:
        return Estimate(math.nan, None, None, 0)
    share, square = successes / trials, quantile**2 / effective
    centre = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    # At the ends of the range the formula gives 0 and 1, apart from rounding.
    low, high = (0.0 if successes == 0 else centre - half), (1.0 if successes == trials else centre + half)
    return Estimate(share, low, high, trials)
