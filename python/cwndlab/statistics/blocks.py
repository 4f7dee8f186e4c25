"""Treatments in complete blocks, blocks in groups: which of the factors the values depend on.

A block has every treatment once, and belongs to one group: rounds of measurements, each at one part of the day. Within
blocks treatments are compared, and whether their differences depend on the group; groups differ from each other as
blocks do, so that they are held against the blocks within a group (split-plot: F. Yates, J. R. Stat. Soc. Suppl. 2
(1935), 181; R. Mead, "The Design of Experiments" (1988), chapter 14). Sums of squares are those of type II.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its modules, which take half a second to import, are imported at their first use

from cwndlab.statistics.significance import LEAST_P


@dataclass(frozen=True)
class Effect:
    """A line of the analysis of variance; ``f`` and ``p`` are nothing if there is nothing to hold it against."""

    name: str
    squares: float
    freedom: int
    f: float | None
    p: float | None


def blocks(values: Sequence[Mapping[str, float]], groups: Sequence[str]) -> list[Effect]:
    """Effects ``group``, ``blocks`` (within groups), ``treatment``, ``treatment × group``, ``rest``, of a value per
    treatment and block, and the group of each block. Raises ``ValueError`` if a block lacks a treatment.

    By hand: two blocks with (1, 3) and (2, 6) differ by 2 and 4, so that the treatments' squares are 2 · 2 · 1.5² = 9
    and the rest's 1:

    >>> [(one.name, one.squares, one.freedom) for one in blocks([{"a": 1, "b": 3}, {"a": 2, "b": 6}], ["x", "x"])][-3:]
    [('treatment', 9.0, 1), ('treatment × group', 0.0, 0), ('rest', 1.0, 1)]
    """
    names = list(values[0]) if values else []
    if len(groups) != len(values) or any(set(one) != set(names) for one in values):
        raise ValueError("every block has each treatment once, and a group")
    if len(names) < 2 or not values:
        return []
    table = np.array([[one[name] for name in names] for one in values], dtype=float)
    count, width = table.shape
    kinds = list(dict.fromkeys(groups))
    members = [np.array([group == kind for group in groups]) for kind in kinds]

    means = table.mean(axis=1)
    between = width * float(np.sum((means - means.mean()) ** 2))
    group = width * float(sum(rows.sum() * (means[rows].mean() - means.mean()) ** 2 for rows in members))
    within = table - means[:, None]
    columns = within.mean(axis=0)
    treatment = count * float(np.sum(columns**2))
    both = float(sum(rows.sum() * np.sum((within[rows].mean(axis=0) - columns) ** 2) for rows in members))
    rest = float(np.sum(within**2)) - treatment - both

    freedom = {"group": len(kinds) - 1, "blocks": count - len(kinds), "treatment": width - 1}
    freedom["both"] = freedom["group"] * freedom["treatment"]
    freedom["rest"] = freedom["blocks"] * freedom["treatment"]
    # Rounding leaves next to nothing if there is nothing.
    zero = 1e-12 * float(np.sum(table**2))

    def effect(name: str, squares: float, free: int, error: float, error_free: int) -> Effect:
        squares, error = (0.0 if one < zero else one for one in (squares, error))
        if not free or not error_free or not error:
            return Effect(name, squares, free, None, None)
        f = squares / free / (error / error_free)
        return Effect(name, squares, free, f, max(LEAST_P, float(scipy.special.fdtrc(free, error_free, f))))

    return [
        effect("group", group, freedom["group"], between - group, freedom["blocks"]),
        Effect("blocks", max(0.0, between - group), freedom["blocks"], None, None),
        effect("treatment", treatment, freedom["treatment"], rest, freedom["rest"]),
        effect("treatment × group", both, freedom["both"], rest, freedom["rest"]),
        Effect("rest", 0.0 if rest < zero else rest, freedom["rest"], None, None),
    ]
