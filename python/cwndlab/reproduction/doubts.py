"""Rows whose outcome is in doubt: the reason, with the measured counter-evidence, until the row is replaced.

A row is a headline (``PAPER:NAME``) or a claim of an experiment (``PAPER/FIGURE: QUANTITY``). A reason is shown
wherever the outcome of one of its rows is. Papers list them as ``[[doubt]]``.
"""

from __future__ import annotations

from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.claims import Finding
from cwndlab.reproduction.paper_file import Doubt


def doubts() -> tuple[Doubt, ...]:
    """Those of all papers."""
    return tuple(one for paper in PAPERS.values() for one in paper.doubts)


def doubts_of(*rows: str) -> tuple[str, ...]:
    """The reasons that concern any of these rows.

    >>> len(doubts_of("phcc:fairness")), doubts_of("phcc:queue")
    (1, ())
    """
    return tuple(one.reason for one in doubts() if set(rows) & set(one.rows))


def doubt(*rows: str) -> str:
    """The reasons that concern any of these rows, as one text; empty where there is none."""
    reasons = " ".join(doubts_of(*rows))
    return f"in doubt: {reasons}" if reasons else ""


def doubt_of(finding: Finding) -> str:
    """`doubt` of a finding: of its own row, and of its headline where it decides that one."""
    headline = (finding.headline,) if finding.kind == "claim" else ()
    return doubt(f"{finding.id}: {finding.quantity}", *headline)
