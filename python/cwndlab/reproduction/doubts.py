"""Rows whose outcome is in doubt: the reason, with the measured counter-evidence, until the row is replaced; and where
the algorithms deviate from what the papers print.

A row is a headline (``PAPER:NAME``) or a claim of an experiment (``PAPER/FIGURE: QUANTITY``). A reason is shown
wherever the outcome of one of its rows is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.claims import Finding
from cwndlab.reproduction.paper_file import Doubt

DOUBTS: tuple[Doubt, ...] = (
    Doubt(
        (
            "ccm-ss:eighteen",
            "ccm-ss/claim18: loss, fairness and convergence time, better by (geometric mean over three quantities and "
            "five others)",
        ),
        "CUBIC with HyStart has the same four means: the gain is that of HyStart over the standard slow start of the "
        "five others, and CCM-SS adds nothing. Goodput alone has no effect, which decides by the rule of the weakest "
        "part, and the first universes are fragile.",
    ),
    Doubt(
        (
            "ccm-ss:loss-size",
            "ccm-ss:loss",
            "ccm-ss/table4: drops per second, long and short together, CCM-SS / HyStart with both bounds (μ = 1)",
            "ccm-ss/table4: drops per second, long and short RTTs, CCM-SS / HyStart with both bounds (μ = 1)",
        ),
        "826 of 960 pairs of runs are identical, since slow start ends by a loss or by the cap before the bounds "
        "matter; they make the interval narrow. Where pairs differ, the ratio is 1.001 ± 0.038 on long and "
        "0.994 ± 0.020 on short RTTs.",
    ),
)

#: Where the algorithms deviate from what a paper prints, or decide what it leaves open, by paper.
DEVIATIONS: Mapping[str, Sequence[str]] = {
    "ccm-ss": (
        "The bounds restrict the exit from slow start alone, and are compared by ≥ where the paper prints <.",
        "While the queue is empty S is about 0, and decides the exit.",
        "Algorithm 1, as it is read here, counts cwnd + 3 ACKs for a round.",
    ),
}


def doubts() -> tuple[Doubt, ...]:
    """Those of all papers."""
    return (*DOUBTS, *(one for paper in PAPERS.values() for one in paper.doubts))


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
