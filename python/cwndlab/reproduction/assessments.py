"""What is known of each headline claim: its outcome at the base assumptions beside its robustness over universes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.claims import Headline, Kind
from cwndlab.reproduction.headlines import Row, headlines, rows
from cwndlab.reproduction.multiverse.robustness import Evidence, Multiverse

_NOT_COUNTED: Mapping[Kind, str] = {
    "reading": "another reading of the paper, not counted",
    "check": "a check of the set-up, not counted",
    "beyond": "an experiment that the paper does not have, not counted",
}


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


def assessments(kept: Sequence[Mapping[str, Any]], multiverses: Sequence[Multiverse]) -> dict[str, list[Assessment]]:
    """Every headline of the papers of which something is known, also those that were not run, by paper; our own
    experiments, which no paper has, come last.

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
        for key, found in one.by_headline().items():
            evidence.setdefault(key, []).append(found)
    made: dict[str, list[Assessment]] = {}
    for headline in headlines():
        assessment = Assessment(headline, base.get(headline.key), evidence.get(headline.key, ()))
        made.setdefault(headline.paper, []).append(assessment)
    known = {paper: mine for paper, mine in made.items() if any(one.base or one.evidence for one in mine)}
    return {paper: known[paper] for paper in sorted(known, key=lambda paper: PAPERS[paper].kind == "own")}
