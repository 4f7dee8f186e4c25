"""Claims for a program: a metric, the sides, the relation that the paper says holds between them.

`cwndlab.reproduce.verdicts` computes the verdict of each from the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cwndlab.reproduce.experiment import Labels

#: A published ratio counts as met within this share of it.
TOLERANCE = 0.20
#: A published share counts as met within this much of it.
POINTS = 0.05

Verdict = Literal["reproduced", "direction only", "not reproduced", "not testable"]
#: All of them, from best to worst.
VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction only", "not reproduced", "not testable")


@dataclass(frozen=True)
class Greater:
    """The first side is greater than the second; ``ratio`` where the paper gives a size."""

    ratio: float | None = None
    tolerance: float = TOLERANCE


@dataclass(frozen=True)
class Less:
    """The first side is less than the second; ``ratio`` (below 1) where the paper gives a size."""

    ratio: float | None = None
    tolerance: float = TOLERANCE


@dataclass(frozen=True)
class RatioIn:
    """First side over second lies in [low, high]: ``RatioIn(0.8, 1.25)`` is "about equal"."""

    low: float
    high: float


@dataclass(frozen=True)
class Value:
    """The one side has the published value, within a share of it or, for what is itself a share, within points."""

    published: float
    tolerance: float = TOLERANCE
    points: float | None = None


@dataclass(frozen=True)
class ValueIn:
    """The one side lies in [low, high]: ``ValueIn(0.9, 1)`` of a utilisation is "about the capacity"."""

    low: float
    high: float


@dataclass(frozen=True)
class Order:
    """The sides stand from the highest to the lowest."""


@dataclass(frozen=True)
class Landmark:
    """A named feature of a shape: the mean of a metric over all runs of the side lies in [low, high]."""

    title: str
    metric: str
    low: float
    high: float = float("inf")


@dataclass(frozen=True)
class Shape:
    """The one side has all landmarks."""

    landmarks: Sequence[Landmark]


@dataclass(frozen=True)
class Welch:
    """Welch's two-sided t-test on both sides' repetitions gives p < ``below``."""

    below: float = 0.05


@dataclass(frozen=True)
class NotTestable:
    """The paper leaves out what a verdict needs; the value, or the ratio of two sides, is shown all the same."""

    reason: str


Relation: TypeAlias = Greater | Less | RatioIn | Value | ValueIn | Order | Shape | Welch | NotTestable


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper."""

    quantity: str
    """What is compared, in words."""
    published: str
    """The paper's words or figure."""
    metric: str
    """A name that the cases' ``measure`` gives; empty for a shape."""
    sides: Sequence[Labels]
    """Labels of each side: one or two, several for an order. Cells are what the sides' labels leave open."""
    relation: Relation
    beside: str | None = None
    """Another metric of the same sides, shown beside and not judged."""


@dataclass(frozen=True)
class Finding:
    """A claim beside what was measured."""

    id: str
    quantity: str
    published: str
    measured: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    reason: str
    measured_is: str = "ratio"
    """``ratio``, ``value``, ``p`` or ``landmarks``, those that hold over all."""
    beside: float | None = None
    """The same by another definition."""
    beside_is: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """In the order of `COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS}


#: Columns of a finding.
COLUMNS = (
    "id",
    "quantity",
    "published",
    "measured",
    "low",
    "high",
    "measured_is",
    "verdict",
    "reason",
    "beside",
    "beside_is",
)
