"""What an experiment is: one object that states a published set-up, its claims, and how its figure is redrawn.

An experiment multiplies scenarios (`cases`), reduces the records of each run to numbers (`Case.measure`), and says what
the paper claims of them (`claims`). The rest is common to all: runs, outcomes, pages. A paper is a module that is named
in `cwndlab.reproduction.catalogue` and has a tuple ``EXPERIMENTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cwndlab.plot.charts import Chart
from cwndlab.reproduction.cases import Case, Size, Table
from cwndlab.reproduction.claims import Claim
from cwndlab.reproduction.measured import Measured


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
    placebos: Sequence[str] = ()
    """What replaces a tested algorithm, the first that is another one (`cwndlab.reproduction.controls.placebo`)."""
    tested: Sequence[str] = ()
    """Beginnings of the names of the algorithms that the paper proposes."""

    @property
    def paper(self) -> str:
        """The part before the slash."""
        return self.id.partition("/")[0]

    @property
    def figure(self) -> str:
        """The part after the slash."""
        return self.id.partition("/")[2]

    def perturbed(self) -> Experiment:
        """The same experiment in which each repetition varies what nobody measures exactly (``perturb`` of a
        scenario)."""
        return replace(self, cases=partial(_perturbed, self.cases))

    def size(self, *, quick: bool) -> Size:
        """The size of that name."""
        return self.quick if quick else self.full


def _perturbed(cases: Callable[[Size], Sequence[Case]], size: Size) -> list[Case]:
    return [case.perturbed() for case in cases(size)]
