"""Findings: the assessed algorithm against a baseline in its place, over the same cells and seeds.

The effect in a run is (value − baseline's value) / the larger of both, with the sign such that more than 0 is better:
0 where both are equal, −1 where all is lost (harm, as R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry define it, HotNets
2019, in either direction). Effects of runs with equal cells and seeds are averaged over the cells; the interval is that
of the variation of this mean between repetitions. Cells have seeds of their own: if all had the same, they would be
perturbed alike, and the flow that starts first would do so in all. Runs in real time have nothing in common but their
cell: their interval is that of the variation within cells. `cwndlab.statistics.verdict` decides, with Holm's correction
over all measures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.assessment.criteria import BASELINES, BREAKER, OWN_BREAKER, STARVED, Measure
from cwndlab.statistics import Difference, adjusted, difference, verdict

#: The values of a metric by algorithm, cell and repetition, whose runs have the same seed within a cell.
Values = Mapping[str, Mapping[int, Mapping[int, float | None]]]


@dataclass(frozen=True)
class Compared:
    """A measure of an algorithm against a baseline, before it is judged."""

    measure: Measure
    baseline: str
    effects: Mapping[int, Mapping[int, float]]
    """By cell and repetition."""
    absent: int
    """Pairs of which neither run has a value."""
    real_time: bool = False
    """Runs of a repetition have nothing in common."""

    @property
    def by_cell(self) -> dict[int, float]:
        """The mean effect in each cell."""
        return {cell: math.fsum(values.values()) / len(values) for cell, values in self.effects.items() if values}

    @property
    def by_repetition(self) -> list[float]:
        """The mean effect over the cells in each repetition; a cell without a value for it counts with its mean."""
        means = self.by_cell
        if not means:
            return []
        mean = math.fsum(means.values()) / len(means)
        seeds = sorted({seed for values in self.effects.values() for seed in values})
        deviations = [
            [values[seed] - means[cell] for cell, values in self.effects.items() if seed in values] for seed in seeds
        ]
        return [mean + math.fsum(one) / len(means) for one in deviations]

    def difference(self) -> Difference:
        """The effects against zero: an observation per repetition, or per cell where only these differ; in real time
        one per run, grouped by cells where runs of a cell differ."""
        if not self.real_time:
            found, cells = _against_zero(self.by_repetition), list(self.by_cell.values())
            return _against_zero(cells) if found.paired.is_constant and len(cells) > 1 else found
        every = [(str(cell), value) for cell, values in self.effects.items() for value in values.values()]
        runs = [value for _, value in every]
        found = _against_zero(runs, [cell for cell, _ in every])
        return _against_zero(runs) if found.paired.is_constant else found


def _against_zero(values: Sequence[float], groups: Sequence[str] = ()) -> Difference:
    return difference([0.0] * len(values), values, groups=groups)


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


def compared(measure: Measure, baseline: str, mine: Any, theirs: Any, *, real_time: bool = False) -> Compared:
    """The effects of pairs: ``mine`` and ``theirs`` have values by cell and repetition."""
    effects, absent = {}, 0
    for cell, values in mine.items():
        found = {seed: effect(measure, value, theirs[cell].get(seed)) for seed, value in sorted(values.items())}
        effects[cell] = {seed: one for seed, one in found.items() if one is not None}
        absent += len(found) - len(effects[cell])
    return Compared(measure, baseline, effects, absent, real_time)


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
        "runs": sum(map(len, one.effects.values())),
        "absent": one.absent,
        "least": min(cells.values()),
        "most": max(cells.values()),
        "worst_cell": worst,
        "worst_repetition": min(one.effects[worst], key=lambda seed: (one.effects[worst][seed], seed)),
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
