"""Where the warm-up ends: MSER-5 (K. P. White, Simulation 69 (1997); with batches of five, K. P. White, M. J. Cobb,
S. C. Spratt, Winter Simulation Conference 2000)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def mser(values: Sequence[float], batch: int = 5) -> int | None:
    """How many of the ``values`` to leave out at the beginning: d batches such that the marginal standard error of the
    rest, Σ (b − mean)² / (number of batches left)² over the batch means b, is smallest.

    Nothing if the smallest lies in the second half: the series is too short to have left its warm-up (White's own
    caution), or never settles. Nothing of fewer than two batches.

    >>> mser([9, 9, 9, 9, 9, 5, 5, 5, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    10
    """
    count = len(values) // batch
    if count < 2:
        return None
    means = np.asarray(values[: count * batch], dtype=float).reshape(count, batch).mean(axis=1)
    tails = [means[cut:] for cut in range(count // 2 + 1)]
    errors = [float(np.sum((tail - tail.mean()) ** 2)) / len(tail) ** 2 for tail in tails]
    # Of the last few batches any sum of squares is small: the statistic is asked for in the first half only, and the
    # middle itself means that it was still falling there.
    best = int(np.argmin(errors))
    return None if best == count // 2 else best * batch
