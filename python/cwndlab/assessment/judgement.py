"""Findings: the assessed algorithm against a baseline in its place, over the same cells and seeds.

The effect in a run is (value − baseline's value) / the larger of both, with the sign such that more than 0 is better:
0 where both are equal, −1 where all is lost (harm, as R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry define it, HotNets
2019, in either direction). Effects of runs with equal cells and seeds are averaged; the interval is that of the
variation between seeds within cells. `cwndlab.statistics.verdict` decides, with Holm's correction over all measures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.assessment.criteria import BASELINES, BREAKER, OWN_BREAKER, STARVED, Measure
from cwndlab.statistics import Difference, adjusted, difference, verdict

#: The values of a metric by algorithm, cell and seed.
Values = Mapping[str, Mapping[int, Mapping[int, float | None]]]


@dataclass(frozen=True)
class Compared:
    """A measure of an algorithm against a baseline, before it is judged."""

    measure: Measure
    baseline: str
    effects: Mapping[int, Sequence[float]]
    """By cell, one per seed."""
    absent: int
    """Pairs of which neither run has a value."""

    @property
    def by_cell(self) -> dict[int, float]:
        """The mean effect in each cell."""
        return {cell: math.fsum(values) / len(values) for cell, values in self.effects.items() if values}

    def difference(self) -> Difference:
        """The effects against zero: grouped by cells, unless only the cells differ."""
        every = [(str(cell), value) for cell, values in self.effects.items() for value in values]
        values = [value for _, value in every]
        found = difference([0.0] * len(values), values, groups=[cell for cell, _ in every])
        return difference([0.0] * len(values), values) if found.paired.is_constant else found


def effect(measure: Measure, value: float | None, base: float | None) -> float | None:
    """The effect in a pair of runs; a run without a value, such as a completion time where nothing completes, is worse
    than one with it.

    Examples
    --------
    >>> rate = Measure("alone", "goodput_bps", "more", "")
    >>> effect(rate, 5.0e6, 10.0e6), effect(rate, None, 10.0e6), effect(rate, 0.0, 0.0)
    (-0.5, -1.0, 0.0)
    >>> effect(Measure("alone", "p95_queue_ms", "less", ""), 5.0, 10.0)
    0.5
    """
    if value is None or base is None:
        return None if value is None and base is None else -1.0 if value is None else 1.0
    change = value - base
    if abs(change) <= measure.least:
        return 0.0
    return measure.direction * change / max(abs(value), abs(base))


def compared(measure: Measure, baseline: str, mine: Any, theirs: Any) -> Compared:
    """The effects of pairs: ``mine`` and ``theirs`` have values by cell and seed."""
    effects, absent = {}, 0
    for cell, values in mine.items():
        found = [effect(measure, value, theirs[cell].get(seed)) for seed, value in sorted(values.items())]
        absent += found.count(None)
        effects[cell] = [one for one in found if one is not None]
    return Compared(measure, baseline, effects, absent)


def judged(every: Sequence[Compared]) -> list[dict[str, Any]]:
    """The findings on a family of comparisons, as plain values."""
    present = {at: one for at, one in enumerate(every) if any(one.effects.values())}
    found = {
        at: _judged(every[at], *pair) for at, pair in adjusted({k: v.difference() for k, v in present.items()}).items()
    }
    return [found.get(at, {"finding": "not assessed", "reason": "no run has a value"}) for at in range(len(every))]


def _judged(one: Compared, delta: Difference, p: float | None) -> dict[str, Any]:
    paired, cells = delta.paired, one.by_cell
    worst = min(cells, key=lambda cell: (cells[cell], cell))
    decided = verdict(paired, p, 1, margin=one.measure.margin)
    if paired.is_constant and paired.mean == 0:
        finding = "as"
    elif decided.is_difference:
        finding = decided.valuation
    else:
        finding = "as" if decided.is_equivalence else "unresolved"
    return {
        "finding": finding,
        "mean": paired.mean,
        "low": paired.low,
        "high": paired.high,
        "runs": paired.n,
        "absent": one.absent,
        "least": min(cells.values()),
        "most": max(cells.values()),
        "worst_cell": worst,
        "worst_seed": 1 + min(range(len(one.effects[worst])), key=lambda at: one.effects[worst][at]),
        "cells_better": sum(value > one.measure.margin for value in cells.values()),
        "cells_worse": sum(value < -one.measure.margin for value in cells.values()),
        "cells": {str(cell): value for cell, value in cells.items()},
    }


def words(finding: Mapping[str, Any], baseline: str) -> str:
    """A finding in words.

    >>> words({"finding": "worse"}, "cubic"), words({"finding": "as"}, "reno")
    ('worse than CUBIC', 'as Reno')
    """
    name = BASELINES[baseline]
    match finding["finding"]:
        case "better" | "worse" as word:
            return f"{word} than {name}"
        case "as":
            return f"as {name}"
        case "not assessed":
            return f"not assessed because {finding['reason']}"
        case other:
            return str(other)


def part_words(entry: Mapping[str, Any], baseline: str) -> str:
    """The finding of a measure in another environment, in words.

    >>> part_words({"reason": "this kernel has no 'vegas'"}, "cubic")
    "not assessed because this kernel has no 'vegas'"
    """
    return (
        words(entry["against"][baseline], baseline) if "against" in entry else f"not assessed because {entry['reason']}"
    )


def raw(measure: Measure, values: Mapping[int, Mapping[int, float | None]]) -> dict[str, Any]:
    """The mean of the raw values over runs, in how many cells flows with a share are starved, which get on average less
    than 5 % of a fair share, and in how many a circuit breaker trips in a run."""
    known = [value for cell in values.values() for value in cell.values() if value is not None]
    made: dict[str, Any] = {"mean": math.fsum(known) / len(known) if known else None}
    if measure.metric.startswith("share@"):
        means = [[value for value in cell.values() if value is not None] for cell in values.values()]
        made["starved_cells"] = sum(math.fsum(one) / len(one) < STARVED * measure.fair for one in means if one)
    if measure.metric in (BREAKER.name, OWN_BREAKER.name):
        made["tripped_cells"] = sum(any((value or 0) > 1 for value in cell.values()) for cell in values.values())
    return made
