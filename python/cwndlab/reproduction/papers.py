"""What is known of each headline claim: its outcome at the base assumptions beside its robustness over universes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.reproduction.claims import Headline
from cwndlab.reproduction.headlines import Row, headlines, rows
from cwndlab.reproduction.multiverse.robustness import Effect, Multiverse, Robustness, Tally, robustness
from cwndlab.reproduction.verdicts import WEAKEST

_WORDS: Mapping[Tally, str] = {
    "holds": "holds in {}",
    "ties": "ties in {}",
    "opposite": "opposite in {}",
    "inconclusive": "inconclusive in {}",
}


@dataclass(frozen=True)
class Evidence:
    """The claims of one headline in one space."""

    multiverse: Multiverse
    claims: Sequence[Robustness]
    together: Robustness
    """All of them as one: in each universe the weakest."""

    @property
    def label(self) -> str:
        """`cwndlab.reproduction.multiverse.robustness.label` of all claims together."""
        return self.together.label

    @property
    def shares(self) -> str:
        """The shares of universes, in words."""
        return shares(self.together.counts)

    @property
    def flips(self) -> str:
        """The choices that decide, in words: the least and the largest share of universes in which the claim holds."""
        return "; ".join(_extremes(effect) for effect in self.together.flips[:3])


def _extremes(effect: Effect) -> str:
    known = sorted((share, choice) for choice, share in effect.holds.items() if share is not None)
    (least, worst), (most, best) = known[0], known[-1]
    return f"{effect.dimension}: {least:.0%} ({worst}) to {most:.0%} ({best})"


@dataclass(frozen=True)
class Assessment:
    """A headline with all that is known of it."""

    headline: Headline
    base: Row | None
    """Its outcome at the base assumptions, where that was run."""
    evidence: Sequence[Evidence]
    """Its spaces, where they were run."""


def shares(counts: Mapping[Tally, int]) -> str:
    """Shares among the universes that can discriminate.

    >>> shares({"holds": 50, "ties": 150, "opposite": 0, "inconclusive": 0, "cannot discriminate": 56})
    'holds in 25 %, ties in 75 % of 200 universes; 56 more cannot discriminate'
    """
    total = sum(counts[tally] for tally in _WORDS)
    more = counts["cannot discriminate"]
    if total == 0:
        return f"none of {more} universes can discriminate"
    parts = [text.format(f"{counts[tally] / total * 100:.0f} %") for tally, text in _WORDS.items() if counts[tally]]
    return f"{', '.join(parts)} of {total} universes" + (f"; {more} more cannot discriminate" if more else "")


def assessments(kept: Sequence[Mapping[str, Any]], multiverses: Sequence[Multiverse]) -> dict[str, list[Assessment]]:
    """Every headline of which something is known, by paper.

    Parameters
    ----------
    kept
        Outcomes of experiments (`cwndlab.reproduction.outcomes`).
    multiverses
        Spaces that were run.
    """
    base = {row.headline.key: row for row in rows(kept)}
    evidence: dict[str, list[Evidence]] = {}
    for one in multiverses:
        for key, claims in _by_headline(one).items():
            evidence.setdefault(key, []).append(Evidence(one, claims, _together(one, claims)))
    found: dict[str, list[Assessment]] = {}
    for headline in headlines():
        assessment = Assessment(headline, base.get(headline.key), evidence.get(headline.key, ()))
        if assessment.base is not None or assessment.evidence:
            found.setdefault(headline.paper, []).append(assessment)
    return found


def _by_headline(one: Multiverse) -> dict[str, list[Robustness]]:
    claims: dict[str, list[Robustness]] = {}
    for claim in one.claims:
        claims.setdefault(claim.claim.headline, []).append(claim)
    return claims


def _together(one: Multiverse, claims: Sequence[Robustness]) -> Robustness:
    if len(claims) == 1:
        return claims[0]
    weakest = [
        min(cells, key=lambda cell: WEAKEST.index(cell.finding.outcome))
        for cells in zip(*(claim.cells for claim in claims), strict=True)
    ]
    (together,) = robustness(one.space, [claims[0].claim], [weakest])
    return together
