"""The space of universes of a set of claims: what a paper leaves open, one dimension for each such choice.

A universe takes one choice of every dimension. The first choice of each is the base assumption. Dimensions, choices
and their reasons are fixed before anything is run.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from cwndlab.reproduction.cases import Case
from cwndlab.reproduction.claims import Claim

#: The choice of each dimension, by the dimension's name.
Universe: TypeAlias = Mapping[str, str]

#: The seed of the order in which universes are taken.
_SAMPLING_SEED = 1


@dataclass(frozen=True)
class Dimension:
    """A choice that a paper leaves open."""

    name: str
    reason: str
    """Where and how the paper leaves it open."""
    choices: Sequence[str]
    """The first one is the base assumption."""

    def __post_init__(self) -> None:
        if len(set(self.choices)) != len(self.choices) or len(self.choices) < 2:
            raise ValueError(f"the dimension '{self.name}' needs two or more different choices")


@dataclass(frozen=True)
class Space:
    """Claims of a paper with the dimensions that may decide them.

    ``cases`` returns the runs of a universe. The same scenario in several universes (a competitor that a dimension does
    not concern) is run once.
    """

    id: str
    """``PAPER/NAME``."""
    title: str
    dimensions: Sequence[Dimension]
    cases: Callable[[Universe], Sequence[Case]]
    claims: Callable[[Universe], Sequence[Claim]]
    """The claims; the same number in the same order in every universe, each with a headline."""
    repetitions: int = 3
    """Runs of each case at first."""
    at_most: int = 8
    """Runs of each case of a universe in which a claim is inconclusive by then."""
    universes: int = 512
    """The number of universes in the sample where there are more."""
    quick: int = 24
    """The same at the quick size: the first ones of the same sample."""

    @property
    def paper(self) -> str:
        """The part before the slash."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """The part after the slash."""
        return self.id.partition("/")[2]

    def perturbed(self) -> Space:
        """The same space in which each repetition varies what nobody measures exactly (``perturb`` of a scenario)."""
        return replace(self, cases=partial(_perturbed, self.cases))

    @property
    def is_perturbed(self) -> bool:
        """Whether each repetition is perturbed."""
        return any(case.is_perturbed for case in self.cases(self.base))

    @property
    def count(self) -> int:
        """How many universes there are."""
        return math.prod(len(one.choices) for one in self.dimensions)

    @property
    def base(self) -> Universe:
        """The base assumptions."""
        return self.at(0)

    def at(self, index: int) -> Universe:
        """The universe of that number; number 0 is the base."""
        chosen = {}
        for one in self.dimensions:
            index, place = divmod(index, len(one.choices))
            chosen[one.name] = one.choices[place]
        return chosen

    def sample(self, *, quick: bool = False) -> list[Universe]:
        """The universes that are run: the base, then a seeded sample without replacement.

        Where there are no more than asked for, these are all. The quick sample begins the full one.

        Examples
        --------
        >>> two = [Dimension(name, "open", ("a", "b", "c")) for name in ("x", "y")]
        >>> space = Space("paper/name", "", two, lambda universe: (), lambda universe: (), quick=2)
        >>> len(space.sample()), space.sample()[:2] == space.sample(quick=True)
        (9, True)
        """
        most = self.quick if quick else self.universes
        others = min(most, self.count) - 1
        return [self.base, *(self.at(1 + index) for index in _shuffled(self.count - 1, others))]


def _perturbed(cases: Callable[[Universe], Sequence[Case]], universe: Universe) -> list[Case]:
    return [case.perturbed() for case in cases(universe)]


def _shuffled(count: int, first: int) -> Iterator[int]:
    """The first numbers of a seeded shuffle of ``range(count)`` (Fisher and Yates), without the others."""
    chance, moved = random.Random(_SAMPLING_SEED), dict[int, int]()
    for taken in range(first):
        last = count - taken - 1
        place = chance.randrange(last + 1)
        yield moved.get(place, place)
        moved[place] = moved.get(last, last)
