"""How two series over the same seeds differ: the paired difference with its interval, tests, effect sizes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from cwndlab.statistics.effects import hedges, hedges_unpaired, rank_biserial
from cwndlab.statistics.estimates import LEVEL, Estimate, bootstrap, estimate, without_rounding
from cwndlab.statistics.significance import holm, paired_t, shapiro, welch, wilcoxon

_Key = TypeVar("_Key", bound=Hashable)

# The draws of the bootstrap are the same for every difference: equal series give equal intervals.
_SEED = 1


@dataclass(frozen=True)
class Difference:
    """How two series differ, the second minus the first: ``deltas``, one per pair.

    ``paired`` is the mean of the deltas with its t-interval and ``p`` the paired t-test, its other side: they decide
    (`cwndlab.statistics.verdict`). Where all pairs differ by the same amount there is one observation: no interval, no
    p-value and no effect size. Beside them stand ``welch_p``, which papers use and which ignores the pairs, and
    for what is not normal ``wilcoxon_p`` and `bootstrapped`; ``shapiro_p`` tells how normal the deltas are. ``effect``
    is g_z of the pairs, ``effect_unpaired`` g of the two series, ``rank_biserial`` the effect that Wilcoxon's test
    tests. ``ratio`` is of the means, ``reference`` the first series' mean, to which a margin of relevance relates.
    """

    deltas: tuple[float, ...]
    paired: Estimate
    reference: float
    ratio: float | None
    p: float | None
    welch_p: float | None
    wilcoxon_p: float | None
    shapiro_p: float | None
    effect: Estimate | None
    effect_unpaired: Estimate | None
    rank_biserial: Estimate | None

    @property
    def is_compared(self) -> bool:
        """Whether it belongs to the family of a correction: it has a p-value, or would have one if it varied."""
        return self.p is not None or self.paired.is_constant

    @property
    def differing(self) -> int:
        """How many pairs have different values."""
        return sum(delta != 0 for delta in self.deltas)

    @property
    def bootstrapped(self) -> Estimate:
        """The mean of the deltas with its BCa bootstrap interval."""
        return bootstrap(self.deltas, seed=_SEED)


def difference(
    first: Sequence[float], second: Sequence[float], level: float = LEVEL, *, groups: Sequence[str] = ()
) -> Difference:
    """The second series minus the first, value by value: both are in the order of the same seeds.

    ``groups`` is the group of each pair as a blocking factor, such as the server of a round: ``paired``, ``p`` and
    ``effect`` then relate the mean to the variation within groups.

    Examples
    --------
    >>> from cwndlab import statistics
    >>> one = statistics.difference([10.0, 12.0, 11.0], [11.0, 13.5, 12.0])
    >>> round(one.paired.mean, 3), one.paired.low > 0
    (1.167, True)
    """
    if len(first) != len(second):
        raise ValueError(f"paired series have equal lengths, not {len(first)} and {len(second)}")
    if not all(map(math.isfinite, [*first, *second])):
        raise ValueError("a pair whose value is not a finite number has no difference: leave it out of both series")
    scale = max(map(abs, [*first, *second]), default=0.0)
    deltas = without_rounding([b - a for a, b in zip(first, second, strict=True)], scale)
    base = float(np.mean(first)) if first else 0.0
    paired = estimate(deltas, level, groups=groups)
    varies = not paired.is_constant
    return Difference(
        deltas=deltas,
        paired=paired,
        reference=base,
        ratio=float(np.mean(second)) / base if base else None,
        p=paired_t(deltas, groups=groups),
        welch_p=welch(first, second) if varies else None,
        wilcoxon_p=wilcoxon(deltas) if varies else None,
        shapiro_p=shapiro(deltas),
        effect=hedges(deltas, level, groups=groups),
        effect_unpaired=hedges_unpaired(first, second, level) if varies else None,
        rank_biserial=rank_biserial(deltas, level) if varies else None,
    )


def adjusted(family: Mapping[_Key, Difference]) -> dict[_Key, tuple[Difference, float | None]]:
    """A family of differences, each with its p-value after Holm's correction. A difference with one result has none,
    and counts all the same: the family is fixed before anything is measured.

    >>> family = {"one": difference([1.0, 1.0], [2.0, 2.0]), "other": difference([1.0, 2.0, 3.0], [2.0, 3.5, 4.2])}
    >>> [None if p is None else round(p / delta.p, 6) for delta, p in adjusted(family).values()]
    [None, 2.0]
    """
    p_values = holm([1.0 if one.paired.is_constant else one.p for one in family.values()])
    judged = zip(family.items(), p_values, strict=True)
    return {key: (one, None if one.paired.is_constant else p) for (key, one), p in judged}
