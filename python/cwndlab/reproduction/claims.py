"""Claims for a program: a metric, the sides, the relation between them that the paper claims.

`cwndlab.reproduction.verdicts` computes the outcome of each from the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from cwndlab.reproduction.cases import Labels

#: A published effect (ratio − 1) or value counts as met within this share of it.
TOLERANCE = 0.20

Outcome = Literal[
    "holds",
    "holds at another size",
    "no effect",
    "opposite",
    "inconclusive",
    "set-up cannot discriminate",
    "underspecified",
]
#: All outcomes.
OUTCOMES: tuple[Outcome, ...] = (
    "holds",
    "holds at another size",
    "no effect",
    "opposite",
    "inconclusive",
    "set-up cannot discriminate",
    "underspecified",
)

#: Outcomes that decide a claim. The others say that the data, or the set-up, cannot.
DECIDED: frozenset[Outcome] = frozenset({"holds", "holds at another size", "no effect", "opposite"})

Kind = Literal["claim", "own", "reading", "check", "beyond"]
#: What a finding is: a claim of the paper at the base assumptions; words of a paper in an experiment of ours; the same
#: under another reading of the paper; a check of the set-up; an experiment beyond the paper. With the titles of their
#: tables.
KINDS: dict[Kind, str] = {
    "claim": "Claims of the paper",
    "own": "Words of the papers in our own experiments (no claims of a paper)",
    "reading": "Other readings of the paper (not counted)",
    "check": "Checks of the set-up (not counted)",
    "beyond": "Beyond the paper (not counted)",
}

#: The kinds that are counted and have controls. A file has only one of them.
COUNTED: frozenset[Kind] = frozenset({"claim", "own"})


@dataclass(frozen=True)
class Greater:
    """The first side is greater than every other one; ``ratio`` where the paper gives a size."""

    ratio: float | None = None
    tolerance: float = TOLERANCE
    effect: float | None = None
    """An effect (a share of the second side) that the paper reports of the same quantity elsewhere: the margin is at
    most half of it."""


@dataclass(frozen=True)
class Less:
    """The first side is less than every other one; ``ratio`` (below 1) where the paper gives a size."""

    ratio: float | None = None
    tolerance: float = TOLERANCE
    effect: float | None = None
    """As for `Greater`."""


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
    """The sides stand from the highest to the lowest: each is greater than the next."""


@dataclass(frozen=True)
class Term:
    """A quantity in an aggregate of several: a metric of the runs with the labels ``where``; more of it is better
    (``up``), or less."""

    metric: str
    up: bool
    where: Labels


@dataclass(frozen=True)
class Overall:
    """The first side beside the others taken together: the geometric mean, over all terms and all others, of the ratio
    by which it is better. It lies above 1, at ``ratio`` where the paper's size is judged; or it is at least
    ``at_least``, for "as good as"."""

    terms: Sequence[Term]
    effect: float
    """What is relevant: the effect that the paper reports, of which the margin is half."""
    ratio: float | None = None
    tolerance: float = TOLERANCE
    at_least: float | None = None


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
    """Welch's two-sided t-test on both sides' repetitions gives p < ``below``, the first side being the better one:
    greater, or less without ``up``."""

    up: bool
    below: float = 0.05
    effect: float | None = None
    """As for `Greater`."""


@dataclass(frozen=True)
class Underspecified:
    """The paper leaves out what an outcome needs; the value, or the ratio of two sides, is shown all the same."""

    reason: str


@dataclass(frozen=True)
class Indiscriminate:
    """The set-up cannot show at this size what the paper claims; the value, or the ratio of two sides, is shown."""

    reason: str


Relation: TypeAlias = (
    Greater | Less | RatioIn | Value | ValueIn | Order | Overall | Shape | Welch | Underspecified | Indiscriminate
)


@dataclass(frozen=True)
class Control:
    """A condition without which no difference between the sides could show: the mean of a metric of a side lies in
    [low, high]. Where it does not, a claim without a shown effect, or with less than the published one, is beyond the
    set-up, and so is a claim that the sides are alike."""

    metric: str
    side: Labels
    low: float
    high: float
    otherwise: str
    """What it means that the mean lies outside."""


@dataclass(frozen=True)
class Headline:
    """A sentence of a paper's abstract, conclusion or summary of results."""

    key: str
    """``PAPER:NAME``, by which claims refer to it."""
    claim: str
    """The sentence, paraphrased."""
    section: str
    quote: str = ""
    """Its words, at most fifteen."""
    no_universes: str = ""
    """Why no space has a claim of it; empty where one has."""

    @property
    def paper(self) -> str:
        """The part before the colon."""
        return self.key.partition(":")[0]


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper.

    A claim has several parts where it names several metrics, where ``each`` names a label (one part for each of its
    values), or where it sets one side against several others. Its outcome is that of its weakest part, and it does not
    hold where the set-up cannot discriminate one of them.
    """

    quantity: str
    """What is compared, in words."""
    published: str
    """The paper's words or figure."""
    metric: str | tuple[str, ...]
    """A name that the cases' ``measure`` gives, or several; empty for a shape and for an aggregate."""
    sides: Sequence[Labels]
    """Labels of each side. Cells are what the sides' labels leave open."""
    relation: Relation
    beside: str | None = None
    """Another metric of the same sides, shown beside and not judged."""
    kind: Kind = "claim"
    headline: str = ""
    """The headline claim (`cwndlab.reproduction.headlines`) that this is evidence for, if it is of one."""
    each: str = ""
    """A label: the claim is made for each of its values."""
    at: Sequence[str | int | float] = ()
    """The values of ``each`` for which it is made; all where none are given."""
    controls: Sequence[Control] = ()
    flows: Sequence[str] = ()
    """The groups of flows that are compared (`cwndlab.reproduction.controls.level`); all where none is named."""
    placebo: str = ""
    """What replaces the tested algorithm instead of the paper's placebo; or ``none: REASON``."""

    @property
    def compares_two(self) -> bool:
        """Whether it sets one side against another, pair of runs by pair of runs."""
        return isinstance(self.relation, Greater | Less | RatioIn | Welch) and len(self.sides) == 2


class Asked(NamedTuple):
    """What a control found of a claim."""

    control: Literal["placebo", "where they differ", "level", "perturbation", "findings", "repetitions", "parts"]
    passed: bool
    text: str

    @property
    def sign(self) -> str:
        """``✓`` where it passes, ``✗`` where it does not, and ``↻`` of more repetitions than the size's: these have
        nothing against an outcome."""
        return "↻" if self.control == "repetitions" else "✓" if self.passed else "✗"

    def __str__(self) -> str:
        return f"{self.sign} {self.control}: {self.text}"


@dataclass(frozen=True)
class Finding:
    """A claim beside what was measured."""

    id: str
    quantity: str
    published: str
    measured: float | None
    low: float | None
    high: float | None
    outcome: Outcome
    reason: str
    measured_is: str = "ratio"
    """``ratio``, ``value`` or its unit, ``p`` or ``landmarks``, those that hold over all."""
    beside: float | None = None
    """The same by another definition."""
    beside_is: str | None = None
    kind: Kind = "claim"
    headline: str = ""
    parts: str = ""
    """How often each outcome occurs among the parts, in words; empty where there is only one part."""
    part: str = ""
    """The part whose numbers these are: of those with this outcome the least favourable one."""
    n: int = 0
    """Repetitions behind it."""
    differing: Sequence[float | None] | None = None
    """Where some pairs of runs have the same value on both sides: the share of those that differ, and mean and interval
    over them alone."""
    printed: Sequence[Any] | None = None
    """Where the size's number of repetitions did not decide it: that number, and outcome, mean and interval by it."""
    controls: Sequence[Sequence[Any]] = ()
    """What the controls found: `Asked`, in the order in which they were asked."""
    expected: float | None = None
    """The published ratio or value, where the paper gives one."""
    claimed: Sequence[float | None] | None = None
    """Both ends of where the claim says that the ratio or value is; none where there is no end on that side."""
    margin: Sequence[float | None] | None = None
    """Both ends of the ratios that make no practical difference."""

    @property
    def asked(self) -> list[Asked]:
        """What the controls found."""
        return [Asked(*one) for one in self.controls]

    @property
    def objections(self) -> list[str]:
        """What controls have against it, in words with their signs; and what the size's own number of repetitions
        gave."""
        found = [str(one) for one in self.asked if not one.passed]
        if self.printed is not None and self.outcome != "inconclusive":
            first = f"{self.printed[1]} with {self.printed[0]}"
            found.append(str(Asked("repetitions", True, f"{first}, {self.outcome} with {self.n}")))
        return found

    @property
    def told(self) -> str:
        """What all controls found, in a line with their signs."""
        return "; ".join(map(str, self.asked))

    @property
    def mixed(self) -> bool:
        """Whether its parts have several outcomes."""
        return ", " in self.parts

    def as_dict(self) -> dict[str, Any]:
        """In the order of `COLUMNS`, as JSON has it."""
        row = {name: getattr(self, name) for name in COLUMNS}
        several = ("differing", "printed", "claimed", "margin")
        ends = {name: row[name] if row[name] is None else list(row[name]) for name in several}
        return row | ends | {"controls": [list(one) for one in self.controls]}


#: Columns of a finding.
COLUMNS = (
    "id",
    "quantity",
    "published",
    "measured",
    "low",
    "high",
    "measured_is",
    "outcome",
    "reason",
    "beside",
    "beside_is",
    "kind",
    "headline",
    "parts",
    "n",
    "differing",
    "printed",
    "controls",
    "expected",
    "claimed",
    "margin",
)
