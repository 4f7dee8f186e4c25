"""What an experiment is: one object that states a published set-up, its claims, and how its figure is redrawn.

An experiment multiplies scenarios (`cases`), reduces the records of each run to numbers (`Case.measure`), and says what
the paper claims of them (`claims`). The rest is common to all: runs, outcomes, pages. A paper is a module that is named
in `cwndlab.reproduction.catalogue` and has a tuple ``EXPERIMENTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from cwndlab.plot.charts import Chart
    from cwndlab.records import Records
    from cwndlab.reproduction.claims import Claim
    from cwndlab.reproduction.measured import Measured

#: Where a run stands in the grid: names and values, such as ``{"algorithm": "cubic", "bandwidth_mbps": 50}``.
Labels: TypeAlias = Mapping[str, str | int | float]
#: Records to named numbers, with units in the names; null where there is none.
Measure: TypeAlias = "Callable[[Records], Mapping[str, float | None]]"
#: Records to named lines: (x, y). Asked of the first repetition only.
Trace: TypeAlias = "Callable[[Records], Mapping[str, tuple[Sequence[float], Sequence[float | None]]]]"


@dataclass(frozen=True)
class Size:
    """How large an experiment is run. Quick and full differ in nothing else."""

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
    """A scenario of the grid, and what is taken from its records.

    Cases of one experiment have the same names of labels, and no two the same labels. ``measure`` and ``trace`` are
    functions of a module, not closures: a kept run is found again by their source.
    """

    labels: Labels
    scenario: Mapping[str, Any]
    measure: Measure
    trace: Trace | None = None


@dataclass(frozen=True)
class Table:
    """A table of a page: the first column is of text, an empty cell is nothing."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]


@dataclass(frozen=True)
class Experiment:
    """A published figure or table, as a program."""

    id: str
    """``PAPER/FIGURE``."""
    title: str
    """One line."""
    section: str
    """Where the paper has it: ``Fig. 12(a), § VII``."""
    published: str
    """What the paper did and says, in a sentence or two."""
    assumptions: Sequence[str]
    """What the paper leaves out or contradicts, and what is assumed instead; one sentence each."""
    quick: Size
    full: Size
    cases: Callable[[Size], Sequence[Case]]
    claims: Callable[[Size], Sequence[Claim]]
    charts: Callable[[Measured], Sequence[Chart]]
    """The published figure, redrawn."""
    tables: Callable[[Measured], Sequence[Table]] = lambda measured: ()
    why: Callable[[Measured], Sequence[str]] = lambda measured: ()
    """Sentences with numbers that tell why a claim does not hold."""

    @property
    def paper(self) -> str:
        """The part before the slash."""
        return self.id.partition("/")[0]

    @property
    def figure(self) -> str:
        """The part after the slash."""
        return self.id.partition("/")[2]

    def size(self, *, quick: bool) -> Size:
        """The size of that name."""
        return self.quick if quick else self.full
