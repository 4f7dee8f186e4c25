"""Claims with several parts: of twenty parts one is opposite by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import special

from cwndlab.reproduction.judged import Judged
from cwndlab.statistics.estimates import LEVEL

#: A part is opposite where the 95 % interval lies beyond the margin: 2.5 % on that side.
_SIDE = (1 - LEVEL) / 2


def opposite_parts(parts: Sequence[Judged]) -> set[int]:
    """The numbers of the parts that are opposite with Holm's correction for the number of parts.

    S. Holm, Scand. J. Stat. 6 (1979), 65: the smallest p is compared with the level over the number of parts, the next
    with the level over one less, until one is not below. Here p is that of the one-sided t-test that the mean lies
    beyond the end of the margin; of a part that Welch's test judges it is half of that test's p, which has two sides. A
    part with neither that is opposite all the same is so by counting.
    """
    mine = sorted((_p(part), at) for at, part in enumerate(parts) if part.outcome == "opposite")
    found: set[int] = set()
    for rank, (p, at) in enumerate(mine):
        if p > _SIDE / (len(parts) - rank):
            break
        found.add(at)
    return found


def _p(part: Judged) -> float:
    """p of the test that the mean is not beyond the end of the margin, from the interval or as it is."""
    found, edge = part.measured, part.edge
    if found is not None and part.measured_is == "p":
        return found.mean / 2
    if found is None or edge is None or found.low is None or found.high is None or found.n < 2:
        return 0.0
    low, mean, high = found.low, found.mean, found.high
    if part.measured_is == "ratio" and low > 0 and edge > 0:
        low, mean, high, edge = (math.log(one) for one in (low, mean, high, edge))
    half = (high - low) / 2
    if half == 0:
        return 0.0
    freedom = found.n - 1
    t = abs(mean - edge) / half * special.stdtrit(freedom, 1 - _SIDE)
    return float(special.stdtr(freedom, -t))
