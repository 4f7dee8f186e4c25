"""All outcomes of a folder as text: by headline claim, by experiment, claim by claim. Numbers are written here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.claims import KINDS, OUTCOMES, Finding
from cwndlab.reproduction.headlines import Row, rows
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.reproduction.verdicts import counts
from cwndlab.statistics.digits import number

#: Findings of a headline that its row shows; the rest is behind its links.
_MOST_SHOWN = 6
#: What a headline table does not contain yet.
UNIVERSES = (
    "Every outcome is that at the base assumptions. The share of universes (combinations of what a paper leaves open) "
    "in which a claim holds, ties or is opposite is not computed yet."
)


def shown(finding: Finding) -> tuple[str, str]:
    """The measured value and its interval, with as many digits as the interval determines, and with so many next to 1
    that 0.9985 is not written as 1."""
    if finding.measured is None:
        return "–", "–"
    if finding.low is None or finding.high is None:
        return number(finding.measured), "–"
    half = (finding.high - finding.low) / 2
    values = (finding.measured, finding.low, finding.high)
    if half <= 1e-6 * max(abs(value) for value in values):
        mean = _near_one(finding.measured) or number(finding.measured)
        return mean, f"{mean} … {mean}"
    places = min(4, max(0, 1 - math.floor(math.log10(half))))
    mean, low, high = (_near_one(value, places) or f"{value:.{places}f}" for value in values)
    return mean, f"{low} … {high}"


def _near_one(value: float, places: int = 2) -> str | None:
    """Four decimals of a value that ``places`` decimals would round to 1 and four do not."""
    text = f"{value:.4f}"
    return text if f"{value:.{places}f}" == f"{1:.{places}f}" and text != "1.0000" else None


def evidence(finding: Finding) -> str:
    """Published → measured with the interval, of one finding."""
    mean, ends = shown(finding)
    unit = f" {finding.measured_is}" if finding.measured_is not in ("ratio", "value") else ""
    held = "" if ends == "–" else f" [{ends}]"
    figure = finding.id.partition("/")[2]
    return f"{figure}, {finding.quantity}: {finding.published} → {mean}{held}{unit}"


def leading(row: Row, *, most: int = _MOST_SHOWN) -> tuple[list[Finding], int]:
    """The findings that a headline's row shows, those that decide it first, and how many it leaves out."""
    ordered = sorted(row.findings, key=lambda one: one.outcome != row.outcome)
    return ordered[:most], max(0, len(ordered) - most)


def markdown(folder: Path) -> str:
    """Headline claims of every paper, then counts by experiment, then every finding by its kind.

    Parameters
    ----------
    folder:
        A folder that `cwndlab reproduce --all --out` wrote.

    Returns
    -------
    Markdown with headings of level 2 and 3.
    """
    kept = outcomes(folder)
    lines = ["## Headline claims", "", UNIVERSES, ""]
    for name, paper in PAPERS.items():
        mine = [row for row in rows(kept) if row.headline.paper == name]
        if mine:
            lines += [f"### `{name}`: {paper.reference}", "", *_headlines(mine), ""]
    columns = ["experiment", "title", *OUTCOMES, "runs"]
    lines += ["## Claims by experiment", "", f"| {' | '.join(columns)} |"]
    lines += ["|---|---|" + "---:|" * (len(columns) - 2)]
    every: list[str] = []
    for one in kept:
        findings = [Finding(**finding) for finding in one["findings"]]
        count = [str(many) if many else "–" for many in counts(findings).values()]
        lines.append(f"| {' | '.join([one['id'], one['title'], *count, str(one['runs'])])} |")
        every += [f"### `{one['id']}`: {one['title']}", "", f"{one['section']}. {_size(one)}", ""]
        for kind, title in KINDS.items():
            of_kind = [finding for finding in findings if finding.kind == kind]
            every += [*_table(title, of_kind), ""] if of_kind else []
        every += [*(f"- {sentence}" for sentence in one["why"]), ""]
    return "\n".join([*lines, "", "## Every claim", "", *every])


def _size(one: dict[str, object]) -> str:
    quick = "Quick size" if one["quick"] else "Full size"
    return f"{quick}: runs of {one['duration_s']:g} s, {one['repetitions']} repetitions."


def _headlines(headlines: Sequence[Row]) -> list[str]:
    lines = ["| claim (§) | outcome at base assumptions | published → measured [95 % interval] | evidence |"]
    lines.append("|---|---|---|---|")
    for row in headlines:
        some, left = leading(row)
        text = "<br>".join(evidence(one) for one in some) + (f"<br>and {left} more" if left else "")
        ids = ", ".join(f"`{id}`" for id in dict.fromkeys(one.id for one in row.findings))
        claim = f"{row.headline.claim} ({row.headline.section})"
        outcome = f"**{row.outcome}**" + (f" ({row.tally})" if row.mixed else "")
        lines.append(f"| {claim} | {outcome} | {text} | {ids} |")
    return lines


def _table(title: str, findings: Sequence[Finding]) -> list[str]:
    lines = [f"{title}:", "", "| quantity | published | measured | 95 % interval | outcome | reason |"]
    lines.append("|---|---|---:|---:|---|---|")
    for one in findings:
        mean, ends = shown(one)
        unit = f" {one.measured_is}" if one.measured_is not in ("ratio", "value") else ""
        cells = (one.quantity, one.published, mean + unit, ends, one.outcome, one.reason)
        lines.append(f"| {' | '.join(cells)} |")
    return lines
