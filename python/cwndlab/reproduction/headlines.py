"""The headline claims of the papers beside their evidence: one row per sentence.

Claims of experiments name the headline that they are evidence for (`Claim.headline`); the outcome of a headline is that
of its weakest claim at the base assumptions. Checks and experiments beyond the paper decide no headline that has a
claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from cwndlab.reproduction.catalogue import PAPERS, find
from cwndlab.reproduction.claims import COUNTED, KINDS, Finding, Headline, Kind, Outcome
from cwndlab.reproduction.ranking import tallied, weakest


@cache
def headlines() -> tuple[Headline, ...]:
    """Those of all papers."""
    return tuple(one for paper in PAPERS.values() for one in paper.headlines)


def grouped(findings: Sequence[Finding]) -> list[tuple[str, Finding]]:
    """Findings by the sentence that they are evidence for, and those without one by their kind. The first one of each
    group has the sentence, the others an empty text."""
    known = {one.key: f"{one.claim} ({one.section})" for one in headlines()}
    groups: dict[str, list[Finding]] = {}
    for one in findings:
        groups.setdefault(known.get(one.headline, KINDS[one.kind]), []).append(one)
    return [("" if at else text, one) for text, mine in groups.items() for at, one in enumerate(mine)]


def experiments_of(headline: Headline) -> tuple[str, ...]:
    """The ids of the experiments that have claims for a headline."""
    mine = find(headline.paper)
    return tuple(one.id for one in mine if any(claim.headline == headline.key for claim in one.claims(one.full)))


@dataclass(frozen=True)
class Row:
    """A headline beside its evidence."""

    headline: Headline
    outcome: Outcome
    """That of the weakest of the findings that decide: the claims of the paper; where there are none, all."""
    tally: str
    """How often each outcome occurs among the findings that decide, and among the parts of those that have several."""
    findings: Sequence[Finding]
    """By experiment and quantity."""

    @property
    def kind(self) -> Kind:
        """What the row is: a claim of the paper where one of its findings is, else what its findings are."""
        kinds = {one.kind for one in self.findings}
        return next(kind for kind in KINDS if kind in kinds)

    @property
    def counts(self) -> bool:
        """Whether it is a claim of the paper, and not a check or an experiment beyond it."""
        return self.kind in COUNTED

    @property
    def mixed(self) -> bool:
        """Whether the findings that decide, or the parts of one of them, have several outcomes."""
        mine = deciding(self.findings)
        return len({one.outcome for one in mine}) > 1 or any(one.mixed for one in mine)


def deciding(findings: Sequence[Finding]) -> list[Finding]:
    """The claims of the paper among the findings of a headline; where there are none, all: a check decides no claim."""
    return [one for one in findings if one.kind in COUNTED] or list(findings)


def rows(kept: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The headlines for which ``kept`` (`cwndlab.reproduction.outcomes`) has findings, in the papers' order."""
    by_key: dict[str, list[Finding]] = {}
    for one in kept:
        for finding in one["findings"]:
            if finding["headline"]:
                by_key.setdefault(finding["headline"], []).append(Finding(**finding))
    made = []
    for headline in headlines():
        mine = sorted(by_key.get(headline.key, []), key=lambda one: (one.id, one.quantity))
        if mine:
            outcome = weakest([one.outcome for one in deciding(mine)])
            made.append(Row(headline, outcome, _tally(deciding(mine)), mine))
    return made


def _tally(findings: Sequence[Finding]) -> str:
    parts = [f"of {one.id.partition('/')[2]}'s parts {one.parts}" for one in findings if one.mixed]
    return "; ".join([tallied([one.outcome for one in findings]), *dict.fromkeys(parts)])
