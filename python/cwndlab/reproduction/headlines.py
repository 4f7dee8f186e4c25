"""The headline claims of the papers beside their evidence: one row per sentence.

Claims of experiments name the headline that they are evidence for (`Claim.headline`); the outcome of a headline is that
of its weakest claim at the base assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.claims import Finding, Headline, Outcome
from cwndlab.reproduction.verdicts import tallied, weakest


@cache
def headlines() -> tuple[Headline, ...]:
    """Those of all papers."""
    found: tuple[Headline, ...] = ()
    for paper in PAPERS.values():
        found += import_module(f"{paper.module}.headlines").HEADLINES
    return found


@dataclass(frozen=True)
class Row:
    """A headline beside its evidence."""

    headline: Headline
    outcome: Outcome
    tally: str
    """How often each outcome occurs among the findings."""
    findings: Sequence[Finding]

    @property
    def counts(self) -> bool:
        """Whether it is a claim of the paper, and not a check or an experiment beyond it."""
        return any(one.kind == "claim" for one in self.findings)

    @property
    def mixed(self) -> bool:
        """Whether the findings have several outcomes."""
        return len({one.outcome for one in self.findings}) > 1


def rows(kept: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The headlines for which ``kept`` (`cwndlab.reproduction.outcomes`) has findings, in the papers' order."""
    by_key: dict[str, list[Finding]] = {}
    for one in kept:
        for finding in one["findings"]:
            if finding["headline"]:
                by_key.setdefault(finding["headline"], []).append(Finding(**finding))
    made = []
    for headline in headlines():
        mine = by_key.get(headline.key, [])
        if mine:
            outcomes = [one.outcome for one in mine]
            made.append(Row(headline, weakest(outcomes), tallied(outcomes), mine))
    return made
