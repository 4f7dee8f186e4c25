"""Measurements of an experiment: a row per case and repetition, and the curves of the first repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

from cwndlab.reproduction.cases import Case, Labels, Size
from cwndlab.reproduction.controls.level import Level
from cwndlab.statistics import Estimate, estimate


class Line(NamedTuple):
    """A curve of the first repetition of a case."""

    labels: Labels
    name: str
    x: Sequence[float]
    y: Sequence[float | None]


class Pairs(NamedTuple):
    """Two sides of a comparison, a value per repetition; ``left_out`` of ``cells`` had no value on one side, ``equal``
    the same value on both, those apart that `Measured.only_differing` leaves out."""

    first: list[float]
    second: list[float]
    left_out: int
    cells: int
    equal: int = 0


@dataclass(frozen=True)
class Row:
    """One run."""

    labels: Labels
    repetition: int
    values: Mapping[str, float | None]
    level: Mapping[str, Level] = field(default_factory=dict)
    """What each group of flows got of a fair share."""
    codes: Sequence[str] = ()
    """What the run reports about itself, notes apart: codes of findings."""

    @classmethod
    def of(cls, case: Case, repetition: int, payload: Mapping[str, Any]) -> Row:
        """From what a store keeps of a run of a case. A flow that is alone has a whole share, whatever it takes."""
        level = {name: Level(*one) for name, one in payload.get("level", {}).items()}
        if case.is_alone:
            level = {name: one._replace(share=1.0) for name, one in level.items()}
        return cls(case.labels, repetition, payload["values"], level, payload.get("findings", ()))


@dataclass(frozen=True)
class Measured:
    """All runs of an experiment."""

    size: Size
    rows: Sequence[Row]
    lines: Sequence[Line] = ()
    only_differing: bool = False
    """Whether pairs of runs with the same value on both sides are left out."""

    def rows_of(self, where: Labels) -> Iterator[Row]:
        """The runs with these labels."""
        unknown = set(where) - {name for row in self.rows[:1] for name in row.labels}
        if unknown:
            raise KeyError(f"no label is called {', '.join(sorted(unknown))}")
        return (row for row in self.rows if all(row.labels[name] == value for name, value in where.items()))

    def values(self, metric: str, **where: Any) -> list[float]:
        """One value per repetition: the mean over all cases with these labels that have a value."""
        by_repetition: dict[int, list[float]] = {}
        for row in self.rows_of(where):
            value = row.values[metric]
            if value is not None:
                by_repetition.setdefault(row.repetition, []).append(value)
        return [fmean(by_repetition[repetition]) for repetition in sorted(by_repetition)]

    def estimate(self, metric: str, **where: Any) -> Estimate:
        """Mean and interval of `values`."""
        return estimate(self.values(metric, **where))

    def total(self, metric: str, **where: Any) -> float:
        """The sum over all runs with these labels."""
        return sum(row.values[metric] or 0.0 for row in self.rows_of(where))

    def points(self, label: str, **where: Any) -> list[Any]:
        """The values that a label has, in the order of the cases."""
        return list(dict.fromkeys(row.labels[label] for row in self.rows_of(where)))

    def pairs(self, metric: str, first: Labels, second: Labels, *, other_metric: str | None = None) -> Pairs:
        """Both sides, repetition by repetition: each the mean over those cells in which both have a value.

        Cells are distinguished by the labels in neither side; both sides have the same cells.
        """
        sides = [self._cells(metric, first, second), self._cells(other_metric or metric, second, first)]
        if sides[0].keys() != sides[1].keys():
            raise ValueError(f"the sides {dict(first)} and {dict(second)} were not run in the same cells")
        both: dict[int, list[tuple[float, float]]] = {}
        left_out = 0
        for (cell, repetition), a in sides[0].items():
            b = sides[1][cell, repetition]
            if a is None or b is None:
                left_out += 1
            elif not self.only_differing or a != b:
                both.setdefault(repetition, []).append((a, b))
        order = sorted(both)
        means = [[fmean(pair[side] for pair in both[repetition]) for repetition in order] for side in (0, 1)]
        equal = sum(a == b for values in both.values() for a, b in values)
        return Pairs(means[0], means[1], left_out, len(sides[0]), equal)

    def _cells(self, metric: str, where: Labels, other: Labels) -> dict[tuple[Any, int], float | None]:
        free = where.keys() | other.keys()
        return {
            (
                tuple((name, value) for name, value in row.labels.items() if name not in free),
                row.repetition,
            ): row.values[metric]
            for row in self.rows_of(where)
        }

    def line(self, name: str, **where: Any) -> Line:
        """The line of this name of the one case with these labels."""
        for line in self.lines:
            if line.name == name and all(line.labels[key] == value for key, value in where.items()):
                return line
        raise KeyError(f"no case with {where} has a line '{name}'")
