"""How robust a claim is over a sample of universes: shares of outcomes, a label, and which choice decides.

The label follows from the share of universes in which the claim holds, among those that can discriminate: *robust*
from 90 % on, *refuted* up to 10 %, *fragile* between. An inconclusive universe may be either, so that the label has to
be the same whether all of them count as holding or none does; otherwise it names both ends.

The label is of the direction of a claim, not of its size, whose share of universes stands beside it: the stronger claim
would look more robust than the weaker one. A published value has no direction: a universe whose interval excludes the
value and its tolerance counts as opposite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from scipy.stats import chi2_contingency

from cwndlab.reproduction.claims import Claim, Finding, Outcome, Value
from cwndlab.reproduction.ranking import WEAKEST, favour
from cwndlab.reproduction.universes import Space, Universe

Tally = Literal["holds", "ties", "opposite", "inconclusive", "cannot discriminate"]
#: What an outcome counts as.
TALLY: Mapping[Outcome, Tally] = {
    "holds": "holds",
    "holds at another size": "holds",
    "no effect": "ties",
    "opposite": "opposite",
    "inconclusive": "inconclusive",
    "set-up cannot discriminate": "cannot discriminate",
    "underspecified": "cannot discriminate",
}
#: The order in which shares are shown.
TALLIES: tuple[Tally, ...] = ("holds", "ties", "opposite", "inconclusive", "cannot discriminate")
#: From this share of universes on a claim is robust; up to the other one it is refuted.
ROBUST, REFUTED = 0.9, 0.1
#: The level at which the choices of a dimension differ, before the correction for the number of dimensions.
_LEVEL = 0.05


@dataclass(frozen=True)
class Cell:
    """A claim in a universe."""

    universe: Universe
    finding: Finding
    """Of a claim with a size, its direction alone."""
    of_size: Tally | None = None
    """What it counts as with its size, where the paper gives one; another size is no effect."""

    @property
    def tally(self) -> Tally:
        """What its outcome counts as."""
        return TALLY[self.finding.outcome]


@dataclass(frozen=True)
class Effect:
    """How a claim fares under each choice of a dimension."""

    dimension: str
    holds: Mapping[str, float | None]
    """The share of discriminating universes in which it holds, by choice; none where there is no such universe."""
    p: float | None
    """Of the χ² test that holding does not depend on the choice; none where all universes agree."""
    is_significant: bool
    """Whether p is below 0.05 over the number of dimensions (Bonferroni)."""

    @property
    def range(self) -> float:
        """The largest difference of shares between two choices."""
        shares = [share for share in self.holds.values() if share is not None]
        return max(shares) - min(shares) if shares else 0.0


@dataclass(frozen=True)
class Robustness:
    """A claim over all universes of a sample."""

    claim: Claim
    """As it is stated at the base assumptions."""
    cells: Sequence[Cell]
    effects: Sequence[Effect]
    """By dimension, the one that decides most first."""

    @property
    def base(self) -> Cell:
        """The claim at the base assumptions."""
        return self.cells[0]

    @property
    def counts(self) -> Mapping[Tally, int]:
        """Universes by tally."""
        count = Counter(cell.tally for cell in self.cells)
        return {tally: count[tally] for tally in TALLIES}

    @property
    def label(self) -> str:
        """``robust``, ``fragile`` or ``refuted``, or two of them where inconclusive universes could decide."""
        return label(self.counts)

    @property
    def sized(self) -> Mapping[Tally, int] | None:
        """Universes by tally with the published size; none of a claim without one."""
        count = Counter(cell.of_size for cell in self.cells)
        return None if None in count else {tally: count[tally] for tally in TALLIES}

    @property
    def flips(self) -> Sequence[Effect]:
        """The dimensions whose choices differ beyond chance."""
        return [effect for effect in self.effects if effect.is_significant]

    def ranked(self) -> list[Cell]:
        """The universes from the least to the most favourable to the claim; those without a value are left out."""
        placed = [
            (favour(self.claim.relation, one.outcome, one.measured, one.measured_is), cell)
            for cell in self.cells
            for one in (cell.finding,)
        ]
        return [cell for _, cell in sorted(((f, c) for f, c in placed if f is not None), key=lambda pair: pair[0])]


def label(counts: Mapping[Tally, int]) -> str:
    """The label of these numbers of universes.

    Examples
    --------
    >>> label({"holds": 95, "ties": 5, "opposite": 0, "inconclusive": 0, "cannot discriminate": 50})
    'robust'
    >>> label({"holds": 5, "ties": 60, "opposite": 0, "inconclusive": 35, "cannot discriminate": 0})
    'refuted or fragile'
    """
    total = _discriminating(counts)
    if total == 0:
        return "no universe discriminates"
    ends = (counts["holds"] / total, (counts["holds"] + counts["inconclusive"]) / total)
    names = [_named(share) for share in ends]
    if names[0] == names[1]:
        return names[0]
    return "undecided" if names == ["refuted", "robust"] else " or ".join(names)


def _discriminating(counts: Mapping[Tally, int]) -> int:
    return sum(many for tally, many in counts.items() if tally != "cannot discriminate")


def _named(share: float) -> str:
    return "robust" if share >= ROBUST else "refuted" if share <= REFUTED else "fragile"


def robustness(space: Space, claims: Sequence[Claim], cells: Sequence[Sequence[Cell]]) -> list[Robustness]:
    """One for each claim; ``cells`` has the universes of each claim, the base first."""
    made = []
    for claim, found in zip(claims, cells, strict=True):
        mine = [_of_value(cell) for cell in found] if isinstance(claim.relation, Value) else found
        effects = [_effect(one.name, one.choices, mine, len(space.dimensions)) for one in space.dimensions]
        made.append(Robustness(claim, mine, sorted(effects, key=lambda one: (-one.is_significant, -one.range))))
    return made


def weakest_tally(tallies: Iterable[Tally]) -> Tally:
    """The first of these in the order of the weakest outcomes."""
    order = [TALLY[outcome] for outcome in WEAKEST]
    return order[min(map(order.index, tallies))]


def _weakest(cells: Sequence[Cell]) -> Cell:
    """The weakest of several claims in a universe, by direction; and by size where all have one."""
    sizes: list[Tally] = [cell.of_size for cell in cells if cell.of_size is not None]
    size = weakest_tally(sizes) if len(sizes) == len(cells) else None
    return replace(min(cells, key=lambda cell: WEAKEST.index(cell.finding.outcome)), of_size=size)


def _of_value(cell: Cell) -> Cell:
    """Of a value another size is not the claimed one."""
    if cell.finding.outcome != "holds at another size":
        return cell
    return replace(cell, finding=replace(cell.finding, outcome="opposite"))


def _effect(name: str, choices: Sequence[str], cells: Sequence[Cell], dimensions: int) -> Effect:
    able = [cell for cell in cells if cell.tally != "cannot discriminate"]
    holds: dict[str, float | None] = {}
    table = []
    for choice in choices:
        mine = [cell.tally == "holds" for cell in able if cell.universe[name] == choice]
        holds[choice] = fmean(mine) if mine else None
        table.append((sum(mine), len(mine) - sum(mine)))
    p = _independence(table)
    return Effect(name, holds, p, p is not None and p < _LEVEL / dimensions)


def _independence(table: Sequence[tuple[int, int]]) -> float | None:
    """p of the χ² test that holding does not depend on the choice; none where all hold or none does."""
    rows = [row for row in table if sum(row)]
    if len(rows) < 2 or not all(map(sum, zip(*rows, strict=True))):
        return None
    return float(chi2_contingency(rows).pvalue)


@dataclass(frozen=True, repr=False)
class Multiverse:
    """A space with its sample of universes and the robustness of each claim."""

    space: Space
    quick: bool
    seed: int
    universes: Sequence[Universe]
    claims: Sequence[Robustness]
    runs: int
    """Different runs behind it."""
    repetitions: Sequence[int]
    """Runs of each case at first, and in universes in which a claim would be inconclusive."""

    def __repr__(self) -> str:
        return f"<Multiverse {self.space.id}: {len(self.claims)} claims in {len(self.universes)} universes>"

    def by_headline(self) -> dict[str, Evidence]:
        """The claims of each headline, and all of them together: in each universe the weakest one counts."""
        claims: dict[str, list[Robustness]] = {}
        for claim in self.claims:
            claims.setdefault(claim.claim.headline, []).append(claim)
        return {headline: Evidence(self, mine, self._together(mine)) for headline, mine in claims.items()}

    def _together(self, claims: Sequence[Robustness]) -> Robustness:
        if len(claims) == 1:
            return claims[0]
        weakest = [_weakest(cells) for cells in zip(*(claim.cells for claim in claims), strict=True)]
        (together,) = robustness(self.space, [claims[0].claim], [weakest])
        return together

    @property
    def perturbed(self) -> bool:
        """Whether each repetition varies what nobody measures exactly."""
        return self.space.is_perturbed

    @property
    def sampled(self) -> str:
        """How many universes of how many were run, in words."""
        many, all_ = len(self.universes), self.space.count
        return f"all {all_} universes" if many == all_ else f"{many} of {all_} universes, a seeded sample"


@dataclass(frozen=True)
class Evidence:
    """The claims of one headline in one space."""

    multiverse: Multiverse
    claims: Sequence[Robustness]
    together: Robustness
    """All of them as one: in each universe the weakest."""

    @property
    def label(self) -> str:
        """`label` of all claims together."""
        return self.together.label

    @property
    def shares(self) -> str:
        """The shares of universes, in words."""
        sized, text = self.together.sized, shares(self.together.counts)
        if sized is None or not (total := _discriminating(sized)):
            return text
        return f"{text}; with the published size in {_percent(sized['holds'] / total)} ({label(sized)})"

    @property
    def flips(self) -> str:
        """The choices that decide, in words: the least and the largest share of universes in which the claim holds."""
        return "; ".join(_extremes(effect) for effect in self.together.flips[:3])


def _extremes(effect: Effect) -> str:
    known = sorted((share, choice) for choice, share in effect.holds.items() if share is not None)
    (least, worst), (most, best) = known[0], known[-1]
    return f"{effect.dimension}: {least:.0%} ({worst}) to {most:.0%} ({best})"


def shares(counts: Mapping[Tally, int]) -> str:
    """Shares among the universes that can discriminate. A share that is not zero is not written as zero.

    >>> shares({"holds": 50, "ties": 150, "opposite": 0, "inconclusive": 0, "cannot discriminate": 56})
    'holds in 25 %, ties in 75 % of 200 universes; 56 more cannot discriminate'
    >>> shares({"holds": 1, "ties": 399, "opposite": 0, "inconclusive": 0, "cannot discriminate": 0})
    'holds in under 1 %, ties in 100 % of 400 universes'
    """
    total, more = _discriminating(counts), counts["cannot discriminate"]
    if total == 0:
        return f"none of {more} universes can discriminate"
    parts = [f"{tally} in {_percent(counts[tally] / total)}" for tally in TALLIES[:-1] if counts[tally]]
    return f"{', '.join(parts)} of {total} universes" + (f"; {more} more cannot discriminate" if more else "")


def _percent(share: float) -> str:
    text = f"{share * 100:.0f} %"
    return "under 1 %" if text == "0 %" and share else text
