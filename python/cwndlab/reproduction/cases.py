"""The grid of an experiment: sizes, cases with their labels and measures, and tables of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from cwndlab.records import Records

#: The place of a run in the grid: names and values, such as ``{"algorithm": "cubic", "bandwidth_mbps": 50}``.
Labels: TypeAlias = Mapping[str, str | int | float]
#: Records to named numbers, with units in the names; null where there is none.
Measure: TypeAlias = "Callable[[Records], Mapping[str, float | None]]"
#: Records to named curves: (x, y). Only of the first repetition.
Trace: TypeAlias = "Callable[[Records], Mapping[str, tuple[Sequence[float], Sequence[float | None]]]]"


_Function = TypeVar("_Function", bound="Callable[..., Any]")
_KEPT: dict[Measure, str] = {}


def kept_as(name: str) -> Callable[[_Function], _Function]:
    """Names a measure in kept results: the name outlives a move of the function."""

    def named(function: _Function) -> _Function:
        _KEPT[function] = name
        return function

    return named


def measure_name(measure: Measure) -> str:
    """The name of a measure in kept results: that of `kept_as`, else its module and name."""
    return _KEPT.get(measure) or f"{measure.__module__}.{measure.__qualname__}"


@dataclass(frozen=True)
class Size:
    """The size of an experiment. Quick and full differ in nothing else."""

    duration_s: float
    """Simulated time of a run."""
    repetitions: int
    """Runs of each case; repetition k has the seed of the experiment + k."""
    points: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Grid points by name, and other times that shrink with the duration."""

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        return self.points[name]


@dataclass(frozen=True)
class Case:
    """A scenario of the grid, and what is measured of its records.

    Cases of one experiment have the same names of labels, and no two the same labels. ``measure`` and ``trace`` are
    functions of a module, not closures: their sources are part of the key of a kept run.
    """

    labels: Labels
    scenario: Mapping[str, Any]
    measure: Measure
    trace: Trace | None = None

    @property
    def is_perturbed(self) -> bool:
        """Whether each seed varies what nobody measures exactly."""
        return bool(self.scenario.get("perturb"))

    @property
    def is_alone(self) -> bool:
        """Whether its one flow has the path for itself, so that nobody takes a share from it."""
        flows = self.scenario.get("flow", ())
        return len(flows) == 1 and flows[0].get("count", 1) == 1

    def perturbed(self) -> Case:
        """The same case, perturbed by each seed."""
        return replace(self, scenario={**self.scenario, "perturb": True})


@dataclass(frozen=True)
class Table:
    """A table of a page: the first column is of text, an empty cell is nothing."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]


def described(labels: Labels) -> str:
    """The labels of a case for readers.

    >>> described({"algorithm": "reno", "RTT, ms": 40})
    'algorithm reno, RTT, ms 40'
    """
    return ", ".join(f"{label} {value}" for label, value in labels.items())


def file_stem(labels: Labels) -> str:
    """The name of a case's scenario file, without its suffix."""
    plain = [
        re.sub(r"[^A-Za-z0-9.]+", "-", str(value).replace("μ", "mu")).strip("-").lower() for value in labels.values()
    ]
    return "_".join(plain)
