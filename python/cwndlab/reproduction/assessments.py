"""What is known of each headline claim: its outcome at the base assumptions beside its robustness over universes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.reproduction.claims import Headline, Kind
from cwndlab.reproduction.headlines import Row, headlines, rows
from cwndlab.reproduction.multiverse.robustness import Effect, Multiverse, Robustness, Tally, label

_WORDS: Mapping[Tally, str] = {
    "holds": "holds in {}",
    "ties": "ties in {}",
    "opposite": "opposite in {}",
    "inconclusive": "inconclusive in {}",
}


_NOT_COUNTED: Mapping[Kind, str] = {
    "reading": "another reading of the paper, not counted",
    "check": "a check of the set-up, not counted",
    "beyond": "an experiment that the paper does not have, not counted",
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
        sized, text = self.together.sized, shares(self.together.counts)
        if sized is None or not sum(sized[tally] for tally in _WORDS):
            return text
        share = sized["holds"] / sum(sized[tally] for tally in _WORDS)
        return f"{text}; with the published size in {_percent(share)} ({label(sized)})"

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

    @property
    def not_counted(self) -> str:
        """Why it is not counted as a claim of the paper; empty where it is, and where it was not run."""
        return "" if self.base is None else _NOT_COUNTED.get(self.base.kind, "")


def shares(counts: Mapping[Tally, int]) -> str:
    """Shares among the universes that can discriminate. A share that is not zero is not written as zero.

    >>> shares({"holds": 50, "ties": 150, "opposite": 0, "inconclusive": 0, "cannot discriminate": 56})
    'holds in 25 %, ties in 75 % of 200 universes; 56 more cannot discriminate'
    >>> shares({"holds": 1, "ties": 399, "opposite": 0, "inconclusive": 0, "cannot discriminate": 0})
    'holds in under 1 %, ties in 100 % of 400 universes'
    """
    total = sum(counts[tally] for tally in _WORDS)
    more = counts["cannot discriminate"]
    if total == 0:
        return f"none of {more} universes can discriminate"
    parts = [text.format(_percent(counts[tally] / total)) for tally, text in _WORDS.items() if counts[tally]]
    return f"{', '.join(parts)} of {total} universes" + (f"; {more} more cannot discriminate" if more else "")


def _percent(share: float) -> str:
    text = f"{share * 100:.0f} %"
    return "under 1 %" if text == "0 %" and share else text


def assessments(kept: Sequence[Mapping[str, Any]], multiverses: Sequence[Multiverse]) -> dict[str, list[Assessment]]:
    """Every headline of the papers of which something is known, also those that were not run, by paper.

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
        for key, (claims, together) in one.by_headline().items():
            evidence.setdefault(key, []).append(Evidence(one, claims, together))
    found: dict[str, list[Assessment]] = {}
    for headline in headlines():
        assessment = Assessment(headline, base.get(headline.key), evidence.get(headline.key, ()))
        found.setdefault(headline.paper, []).append(assessment)
    return {paper: mine for paper, mine in found.items() if any(one.base or one.evidence for one in mine)}
