"""Outcomes as text: the numbers of a finding, and the headline claims of every paper. Numbers are written here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cwndlab.reproduction.assessments import Assessment, assessments
from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.claims import OUTCOMES, Finding, Headline, Outcome
from cwndlab.reproduction.digits import shown
from cwndlab.reproduction.headlines import Row, deciding, experiments_of
from cwndlab.reproduction.multiverse import joint, joint_rows
from cwndlab.reproduction.multiverse.kept import load
from cwndlab.reproduction.sizes import Agreement, Disagreement, agreement
from cwndlab.reproduction.standing import Standing, standings, unfinished

#: Words for one claim and for several.
_VERBS: Mapping[str, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds at another size": ("holds at another size", "hold at another size"),
    "no effect": ("shows no effect", "show no effect"),
    "opposite": ("is opposite", "are opposite"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "set-up cannot discriminate": ("cannot be told with this set-up", "cannot be told with this set-up"),
    "underspecified": ("is underspecified", "are underspecified"),
    "not counted": ("is not counted", "are not counted"),
    "not run": ("is not run", "are not run"),
}
#: Titles of the columns of a `HeadlineRow`.
COLUMNS = ("claim (§)", "at base assumptions", "published → measured [95 % interval]", "over the universes")


class HeadlineRow(NamedTuple):
    """A headline claim in a table, as text."""

    claim: str
    outcome: str
    """At the base assumptions, or why there is none."""
    details: Sequence[str]
    """Size of the runs, then what controls have against it."""
    measured: Sequence[str]
    """The findings that decide it, the weakest first."""
    universes: Sequence[tuple[str, str]]
    """Label, and shares with the choices that decide, of each space; without a space an empty label and the reason."""


def measured(finding: Finding) -> str:
    """The measured number with its interval and what it is, of one finding; ``"–"`` where there is none."""
    mean, ends = shown(finding)
    if finding.measured_is == "p":
        return f"p = {mean}"
    unit = f" {finding.measured_is}" if finding.measured_is not in ("ratio", "value") else ""
    return mean + ("" if ends == "–" else f" [{ends}]") + unit


def evidence(finding: Finding) -> str:
    """Published → measured with the interval, of one finding."""
    figure = finding.id.partition("/")[2]
    part = f" ({finding.part})" if finding.part else ""
    return f"{figure}, {finding.quantity}{part}: {finding.published} → {measured(finding)}"


def leading(row: Row) -> list[Finding]:
    """The findings of a headline, those that decide it first, of several ratios the least favourable one."""
    is_opposite = row.outcome == "opposite"

    def distance(one: Finding) -> float:
        if one.measured_is != "ratio" or not one.measured or one.measured < 0:
            return 0.0
        return abs(math.log(one.measured)) * (-1 if is_opposite else 1)

    return sorted(row.findings, key=lambda one: (one.outcome != row.outcome, distance(one)))


def objections(row: Row) -> list[str]:
    """What controls have against the findings that decide a headline."""
    mine = [finding for finding in deciding(row.findings) if finding.outcome == row.outcome]
    return list(dict.fromkeys(text for finding in mine for text in finding.objections))


def counted(known: Sequence[Assessment]) -> dict[Outcome, int]:
    """How many of the claims of a paper have which outcome at the base assumptions."""
    found = [one.base.outcome for one in known if one.base is not None and one.base.counts]
    return {outcome: found.count(outcome) for outcome in OUTCOMES}


def sentence(known: Sequence[Assessment]) -> str:
    """The same as a sentence."""
    counts: dict[str, int] = {str(outcome): many for outcome, many in counted(known).items()}
    counts["not counted"] = sum(bool(one.not_counted) for one in known)
    counts["not run"] = sum(one.base is None for one in known)
    parts = [f"{many} {_VERBS[what][many > 1]}" for what, many in counts.items() if many]
    return f"Of {len(known)} claims, {', '.join(parts)}."


def not_run(headline: Headline, unfinished: Mapping[str, str]) -> str:
    """Why a headline has no outcome: what is missing of its experiments."""
    parts = [f"{id.partition('/')[2]} has {unfinished[id]}" for id in experiments_of(headline) if id in unfinished]
    return f"not run: {'; '.join(parts)}" if parts else "not run"


def headline_row(one: Assessment, sizes: Mapping[str, str], unfinished: Mapping[str, str]) -> HeadlineRow:
    """The row of a headline.

    Parameters
    ----------
    sizes
        What the outcomes of experiments are of, in words, by id.
    unfinished
        What is missing of experiments, by id.
    """
    claim, base = f"{one.headline.claim} ({one.headline.section})", one.base
    missing = f"none: {one.headline.no_universes}" if one.headline.no_universes else "not run"
    universes = [(each.label, f"{each.shares}{each.flips and f'; flips with {each.flips}'}") for each in one.evidence]
    if base is None:
        return HeadlineRow(claim, not_run(one.headline, unfinished), [], ["–"], universes or [("", missing)])
    size = " and ".join(sorted({sizes[finding.id] for finding in base.findings}))
    details = ["; ".join(filter(None, (size, one.not_counted))), *objections(base)]
    return HeadlineRow(claim, base.outcome, details, [*map(evidence, leading(base))], universes or [("", missing)])


def overview(results: Path) -> str:
    """The headline claims of every paper, from kept results.

    Parameters
    ----------
    results:
        A folder that `cwndlab reproduce --results` wrote.

    Returns
    -------
    Markdown: a heading of level 2, a paragraph and a table for each paper.
    """
    known = standings(results)
    kept = [one.reproduction.as_dict() for one in known if one.reproduction is not None]
    sizes = {one.experiment.id: one.words for one in known}
    missing = unfinished(known)
    lines = []
    for name, mine in assessments(kept, list(load(results))).items():
        paper = PAPERS[name]
        deviations = ["Deviations from print:", *paper.deviations] if paper.deviations else []
        words = [f"{paper.reference}.", *paper.summary, sentence(mine), *deviations]
        reading = joint.reading(results, name)
        words += joint_rows.verdict(reading) if reading else []
        lines += [f"## `{name}`", "", " ".join(words), ""]
        lines += [f"| {' | '.join(COLUMNS)} |", "|---|---|---|---|"]
        lines += [*(_line(headline_row(one, sizes, missing)) for one in mine), ""]
    return "\n".join([*lines, *_sizes(agreement(results)), *_unfinished(known)])


def _line(row: HeadlineRow) -> str:
    outcome = row.outcome
    if row.details:
        outcome = "<br>".join([f"**{row.outcome}** ({row.details[0]})", *row.details[1:]])
    universes = "<br>".join(f"**{label}**: {text}" if label else text for label, text in row.universes)
    return f"| {row.claim} | {outcome} | {row.measured[0]} | {universes} |"


def _sizes(both: Agreement) -> list[str]:
    """Where quick size has another outcome than full size."""
    if both.both == 0:
        return []
    agree = both.both - len(both.disagreements)
    text = f"Quick and full size both decide {both.both} of these claims, and agree on {agree}."
    if both.undecided:
        text += f" Quick size leaves {both.undecided} undecided that full size decides."
    lines = ["## Quick size", "", text, ""]
    if both.disagreements:
        lines += ["| claim | quick size | full size | what quick size reduces |", "|---|---|---|---|"]
        lines += [_disagreement(one) for one in both.disagreements]
        lines += [""]
    return lines


def _disagreement(one: Disagreement) -> str:
    paper, claim = one.full.headline.paper, one.full.headline.claim
    cells = [f"`{paper}`: {claim}"]
    pair = one.findings[0] if one.findings else (leading(one.quick)[0], leading(one.full)[0])
    cells += [
        f"**{row.outcome}**: {evidence(finding)}" for row, finding in zip((one.quick, one.full), pair, strict=True)
    ]
    return f"| {' | '.join([*cells, '; '.join(one.reduced)])} |"


def _unfinished(known: Sequence[Standing]) -> list[str]:
    """What is missing at full size."""
    parts = [f"`{id}` ({text})" for id, text in unfinished(known).items()]
    if not parts:
        return []
    hours = sum(one.hours_left or 0.0 for one in known)
    note = f"About {hours:.1f} CPU hours are left; the same command goes on."
    return ["## Not finished at full size", "", f"{note} {', '.join(parts)}.", ""]
