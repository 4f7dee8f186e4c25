"""The page of a paper: its headline claims on one screen, then the evidence behind each; and the index of papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cwndlab.engine import to_toml
from cwndlab.files import json_text, save
from cwndlab.reports.page import BUNDLE, Page, Placed, slug
from cwndlab.reports.tables import Cell, Table, cell
from cwndlab.reproduction.assessments import Assessment
from cwndlab.reproduction.cases import file_stem
from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.claims import Finding, Outcome
from cwndlab.reproduction.digits import shown
from cwndlab.reproduction.forest import bar, forest, surprise
from cwndlab.reproduction.multiverse import joint_rows
from cwndlab.reproduction.multiverse.curve import curve
from cwndlab.reproduction.multiverse.joint import Reading, together
from cwndlab.reproduction.multiverse.robustness import Effect, Evidence, Multiverse, Robustness
from cwndlab.reproduction.summary import COLUMNS, HeadlineRow, evidence, headline_row, objections, sentence
from cwndlab.reproduction.universes import Universe
from cwndlab.statistics.digits import number, p_value

#: Classes of cells with an outcome.
CLASSES: Mapping[Outcome, str] = {
    "holds": "good",
    "holds at another size": "open",
    "no effect": "open",
    "inconclusive": "open",
    "opposite": "bad",
    "set-up cannot discriminate": "muted",
    "underspecified": "muted",
}
_LABELS = {"robust": "good", "fragile": "open", "refuted": "bad"}
_READING = (
    "Each claim has a lane with its sentence, the outcome, and the measured number with its 95 % interval. An interval "
    "in green lies where the claim places it, one in yellow makes no practical difference, one beside both opposes it, "
    "unless the sign shows another outcome: the parts of a claim, the controls and pairs of equal runs decide too, and "
    "the evidence has the reason. Arrows mark what lies beyond the axis. A click on a sentence opens its evidence."
)
_EXTREMES = ("worst", "best")
# Findings of a headline in its row; the rest is behind its link.
_SHOWN = 2


class _Section(NamedTuple):
    """A headline with its evidence."""

    title: str
    quote: str
    findings: Table | None
    spaces: Sequence[_SpacePart]


class Overview(NamedTuple):
    """A section before the table of claims."""

    title: str
    notes: Sequence[str]
    figures: Sequence[Placed]


class _SpacePart(NamedTuple):
    """A space of a headline: shares, curves, main effects, the extreme universes."""

    title: str
    shares: str
    curves: Sequence[Placed]
    effects: Table
    extremes: Sequence[tuple[str, str]]


class _Joint(NamedTuple):
    """What holds together."""

    notes: Sequence[str]
    tables: Sequence[Table]


class _Paper(NamedTuple):
    """A paper on the index."""

    name: str
    reference: str
    summary: Sequence[str]
    outcomes: Placed
    surprise: Sequence[tuple[str, str]]
    is_surprise: bool
    picture: str


def paper_page(
    name: str,
    known: Sequence[Assessment],
    kept: Sequence[Mapping[str, Any]],
    multiverses: Sequence[Multiverse],
    unfinished: Mapping[str, str],
    reading: Reading | None = None,
) -> str:
    """The page of a paper as HTML.

    Parameters
    ----------
    name
        The name of the paper.
    known
        Its headlines.
    kept
        Outcomes of experiments, of this and of other papers.
    multiverses
        Its spaces that were run.
    unfinished
        What is missing of experiments, by id.
    reading
        What the search found in which most of its claims hold.
    """
    page, paper = Page(), PAPERS[name]
    sizes = {one["id"]: f"{'quick' if one['quick'] else 'full'} size, n = {one['repetitions']}" for one in kept}
    return page.render(
        "paper.html",
        title=f"{name}: what is claimed, and what holds",
        footer=name,
        commands=[
            f"cwndlab reproduce {name} --out DIR",
            f"cwndlab reproduce {name} --multiverse --out DIR",
            f"cwndlab reproduce {name} --joint --out DIR",
        ],
        bundle=BUNDLE,
        neighbours=[("all papers", "index.html"), ("every claim", "appendix.html")],
        reference=paper.reference,
        summary=paper.summary,
        overview=[_forest(page, name, known, unfinished)],
        joint=_joint(multiverses, reading),
        headlines=_headlines(known, sizes, unfinished),
        sections=[_section(page, one) for one in known],
        dimensions=[_dimensions(one) for one in multiverses],
        deviations=paper.deviations,
        experiments=[(one["id"], f"{one['id']}.html") for one in kept if one["id"].startswith(f"{name}/")],
    )


def _joint(multiverses: Sequence[Multiverse], reading: Reading | None) -> _Joint | None:
    if not multiverses and reading is None:
        return None
    found = [together(one) for one in multiverses]
    parts = {
        "In the universe of each sample in which most claims hold": joint_rows.together_rows(found),
        "Claims that exclude each other": joint_rows.exclusive_rows(found),
        "The reading that the search found, with new seeds": joint_rows.rows(reading) if reading else [],
    }
    tables = [_table_of(title, rows) for title, rows in parts.items() if rows]
    return _Joint(joint_rows.verdict(reading) if reading else [], tables)


def _table_of(title: str, rows: Sequence[Mapping[str, str]]) -> Table:
    header = [(name, "wrap") for name in rows[0]]
    return Table(title, header, [[cell(value, "wrap") for value in row.values()] for row in rows])


def _forest(page: Page, name: str, known: Sequence[Assessment], unfinished: Mapping[str, str]) -> Overview:
    figure = forest(name, known, unfinished)
    return Overview("What holds", [sentence(known), _READING], [page.figure(figure, figure.name)])


def index_page(known: Mapping[str, Sequence[Assessment]], pictures: Mapping[str, str] = MappingProxyType({})) -> str:
    """The index: each paper with its outcomes and the finding that is farthest from its claims.

    Parameters
    ----------
    known
        The headlines of each paper.
    pictures
        Addresses of the redrawn figure of experiments, by id.
    """
    page = Page()
    return page.render(
        "index.html",
        title=_title(sum(PAPERS[name].kind == "claim" for name in known)),
        footer="",
        commands=["cwndlab reproduce --all --out DIR", "cwndlab reproduce --all --multiverse --out DIR"],
        bundle=BUNDLE,
        papers=[_paper(page, *one, pictures) for one in known.items()],
        objections=_objected(known),
    )


def _paper(page: Page, name: str, known: Sequence[Assessment], pictures: Mapping[str, str]) -> _Paper:
    paper, found, figure = PAPERS[name], surprise(known), bar(name, known)
    told: list[tuple[str, str]] = []
    picture = ""
    if found is not None:
        claim = next(one.headline.claim for one in known if one.headline.key == found.headline)
        told = [(f"{claim}: {found.outcome}", f"{name}.html#{slug(claim)}"), (evidence(found), f"{found.id}.html")]
        picture = pictures.get(found.id, "")
    placed = page.figure(figure, figure.name)
    is_surprise = found is not None and not found.outcome.startswith("holds")
    return _Paper(name, paper.reference, [sentence(known), *paper.summary[1:]], placed, told, is_surprise, picture)


def _title(papers: int) -> str:
    """How many papers the site has."""
    words = ("No paper", "One paper", "Two papers", "Three papers", "Four papers", "Five papers")
    return f"{words[papers] if papers < len(words) else f'{papers} papers'}, run again"


def _objected(known: Mapping[str, Sequence[Assessment]]) -> Table | None:
    """The headlines against whose outcome a control has something."""
    made = [
        [
            cell(name, "text", f"{name}.html"),
            cell(one.headline.claim, "wrap", f"{name}.html#{slug(one.headline.claim)}"),
            cell(one.base.outcome, "text"),
            cell("; ".join(found), "wrap"),
        ]
        for name, mine in known.items()
        for one in mine
        if one.base is not None and (found := [text for text in objections(one.base) if text.startswith("✗")])
    ]
    header = [("paper", "text"), ("claim", "wrap"), ("outcome", "text"), ("what the controls found", "wrap")]
    return Table("What controls have against these outcomes", header, made) if made else None


def _headlines(known: Sequence[Assessment], sizes: Mapping[str, str], unfinished: Mapping[str, str]) -> Table:
    header = [(title, "wrap") for title in COLUMNS]
    made = [_headline(one, headline_row(one, sizes, unfinished)) for one in known]
    caption = "One row for each testable sentence of abstract, conclusion or summary of results"
    return Table(caption, [*header, ("evidence", "text")], made)


def _headline(one: Assessment, row: HeadlineRow) -> list[Cell]:
    anchor, left = f"#{slug(one.headline.claim)}", len(row.measured) - _SHOWN
    kind, tally, ids = "muted", "", dict[str, None]()
    if one.base is not None:
        kind, ids = CLASSES[one.base.outcome], dict.fromkeys(finding.id for finding in one.base.findings)
        tally = one.base.tally if one.base.mixed else ""
    labels = {label for label, _ in row.universes}
    robust = _LABELS.get(labels.pop(), "") if len(labels) == 1 else ""
    measured = [*((text, "") for text in row.measured[:_SHOWN]), *([(f"and {left} more", anchor)] if left > 0 else [])]
    return [
        Cell([(row.claim, anchor)], "wrap"),
        Cell([(row.outcome, "")], f"outcome {kind}", "; ".join(filter(None, (tally, *row.details)))),
        Cell(measured, "wrap"),
        Cell([(": ".join(filter(None, part)), "") for part in row.universes], f"wrap {robust}".strip()),
        Cell([(id, f"{id}.html") for id in ids] or [("–", "")], "text"),
    ]


def _section(page: Page, one: Assessment) -> _Section:
    findings = None
    if one.base is not None:
        header = [("experiment", "text"), ("quantity", "wrap"), ("published", "wrap"), ("measured", "")]
        header += [("95 % interval", ""), ("n", ""), ("is", ""), ("outcome", "text"), ("reason", "wrap")]
        header += [("controls", "wrap")]
        findings = Table("At the base assumptions", header, [_finding(each) for each in one.base.findings])
    spaces = [_space_part(page, one.headline.key, each) for each in one.evidence]
    return _Section(one.headline.claim, one.headline.quote, findings, spaces)


def _finding(one: Finding) -> list[Cell]:
    return [
        cell(one.id, "text", f"{one.id}.html"),
        cell(one.quantity, "wrap"),
        cell(one.published, "wrap"),
        *(cell(text) for text in (*shown(one), str(one.n), one.measured_is)),
        cell(one.outcome, f"outcome {CLASSES[one.outcome]}"),
        cell(one.reason, "wrap"),
        cell(one.told or "–", "wrap"),
    ]


def _space_part(page: Page, key: str, one: Evidence) -> _SpacePart:
    space = one.multiverse.space
    curves = []
    for at, claim in enumerate(one.claims):
        name = f"{slug(key)}-{slug(space.name)}-{at}"
        heading = f"{claim.claim.quantity} ({claim.label})"
        curves.append(page.figure(curve(space, claim, name), name, heading=heading))
    links = [
        (f"{which} universe of '{claim.claim.quantity}'", f"{extreme_folder(one.multiverse, claim, which)}/")
        for claim in one.claims
        for which in _EXTREMES
    ]
    first, most = one.multiverse.repetitions
    repetitions = f"{first} repetitions" + (f", {most} where a claim would be inconclusive" if most > first else "")
    kind = "perturbed" if one.multiverse.perturbed else "not perturbed"
    title = f"{space.title}: {one.multiverse.sampled}, {repetitions}, {kind}"
    return _SpacePart(title, f"{one.label}: {one.shares}.", curves, _effects(one.together.effects), links)


def _effects(effects: Sequence[Effect]) -> Table:
    header = [("choice left open", "wrap"), ("holds with each choice", "wrap"), ("range", ""), ("p", "")]
    made = []
    for one in effects:
        parts = [f"{choice}: {'–' if share is None else f'{share:.0%}'}" for choice, share in one.holds.items()]
        kind = "shown" if one.is_significant else ""
        made.append(
            [
                cell(one.dimension, "wrap"),
                cell(", ".join(parts), "wrap"),
                cell(f"{one.range:.0%}", kind),
                cell(p_value(one.p)),
            ]
        )
    caption = "Share of universes in which all of these claims hold, by choice; p of a χ² test, not corrected"
    return Table(caption, header, made)


def _dimensions(one: Multiverse) -> Table:
    header = [("choice left open", "wrap"), ("base", "wrap"), ("others", "wrap"), ("why it is open", "wrap")]
    made = [
        [
            cell(each.name, "wrap"),
            cell(each.choices[0], "wrap"),
            cell("; ".join(each.choices[1:]), "wrap"),
            cell(each.reason, "wrap"),
        ]
        for each in one.space.dimensions
    ]
    return Table(f"{one.space.title}: {one.sampled}", header, made)


def extreme_folder(one: Multiverse, claim: Robustness, which: str) -> str:
    """Where the scenarios of the least (``worst``) or most favourable universe of a claim stand."""
    return f"{one.space.paper}/universes/{one.space.name}/{slug(claim.claim.quantity)}/{which}"


def write_extremes(one: Multiverse, folder: Path) -> None:
    """Writes the scenarios of the least and most favourable universe of each claim, a file for each run, with the
    choices as a comment."""
    for claim in one.claims:
        ranked = claim.ranked()
        for which, place in zip(_EXTREMES, (0, -1), strict=True):
            if ranked:
                target = folder / extreme_folder(one, claim, which)
                target.mkdir(parents=True, exist_ok=True)
                _write_universe(one, ranked[place].universe, ranked[place].finding, target)


def _write_universe(one: Multiverse, universe: Universe, finding: Finding, folder: Path) -> None:
    measured = "" if finding.measured is None else f": {number(finding.measured)}"
    lines = [f"# {finding.quantity}: {finding.outcome}{measured}"]
    lines += [f"# {name}: {choice}" for name, choice in universe.items()]
    for case in one.space.cases(universe):
        text = to_toml(json_text(case.scenario))
        save("\n".join([*lines, text]), folder / f"{file_stem(case.labels)}.toml")
