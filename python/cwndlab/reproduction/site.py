"""One site of all experiments: an index by headline claim, a page for each, and the files to run them again.

Under the folder: ``index.html``; ``PAPER/FIGURE.html``, which needs nothing from the network; beside it
``PAPER/FIGURE/`` with ``outcome.json``, ``findings.csv``, ``scenarios/*.toml`` and ``figures/*.svg``; and ``runs/``,
finished runs. The index lists every page that the folder holds, of this call or of an earlier one.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cwndlab.engine import to_toml, version
from cwndlab.errors import Fault, OutputError
from cwndlab.files import parsed, save
from cwndlab.plot.charts import draw, figure
from cwndlab.reports.page import page
from cwndlab.reproduction.cases import Labels, Table
from cwndlab.reproduction.catalogue import PAPERS, experiments
from cwndlab.reproduction.claims import COLUMNS, KINDS, OUTCOMES, Finding
from cwndlab.reproduction.headlines import rows
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.reproduction.run import Reproduction
from cwndlab.reproduction.summary import UNIVERSES, evidence, leading, shown
from cwndlab.reproduction.verdicts import counts
from cwndlab.statistics.digits import number

_STYLE = """<style>
th, td { overflow-wrap: normal; } td.wrap { overflow-wrap: break-word; }
div.scroll { overflow-x: auto; }
td.holds, td.holds-at-another-size { color: #0b7a3b; font-weight: 600; }
td.no-effect, td.inconclusive { color: #9a6700; font-weight: 600; }
td.opposite { color: #c0362c; font-weight: 600; }
td.set-up-cannot-discriminate, td.underspecified { color: var(--quiet); }
td.outcome { text-align: left; white-space: normal; min-width: 6rem; }
td.wrap { white-space: normal; min-width: 13rem; text-align: left; }
nav { margin: 1rem 0; } nav a { margin-right: 1rem; }
@media (prefers-color-scheme: dark) { a { color: #79b8ff; }
  td.holds, td.holds-at-another-size { color: #56d38b; } td.no-effect, td.inconclusive { color: #e3b341; }
  td.opposite { color: #ff8178; } }
</style>"""
# Scenarios that are named on the page; the folder has all.
_MOST_NAMED = 60

#: A cell: its text as HTML, and its class.
_Cell = tuple[str, str]


def write_experiment(outcome: Reproduction, folder: Path) -> Path:
    """Writes page and files of an experiment; returns the page."""
    one = outcome.experiment
    place = folder / one.paper / one.figure
    files = _scenarios(outcome, place / "scenarios")
    try:
        (place / "figures").mkdir(parents=True, exist_ok=True)
        for chart in outcome.charts:
            draw(chart, str(place / "figures" / f"{chart.name}.svg"))
    except OSError as error:
        raise OutputError(
            Fault(str(place), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None
    save(_csv(outcome.findings), place / "findings.csv")
    target = folder / one.paper / f"{one.figure}.html"
    save(_page(outcome, files), target)
    summary = {
        "id": one.id,
        "title": one.title,
        "section": one.section,
        "quick": outcome.quick,
        "seed": outcome.seed,
        "duration_s": outcome.size.duration_s,
        "repetitions": outcome.size.repetitions,
        "runs": len(outcome.measured.rows),
        "cpu_s": outcome.cpu_s or _kept_cpu_s(place, outcome),
        "findings": [finding.as_dict() for finding in outcome.findings],
        "why": list(outcome.why),
    }
    save(json.dumps(summary, indent=1, ensure_ascii=False), place / "outcome.json")
    return target


def _kept_cpu_s(place: Path, outcome: Reproduction) -> float:
    """CPU time of the runs when they were made, where this call found them all kept."""
    try:
        before = parsed((place / "outcome.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0.0
    same = all(before.get(name) == value for name, value in (("quick", outcome.quick), ("seed", outcome.seed)))
    return float(before.get("cpu_s", 0.0)) if same else 0.0


def write_index(folder: Path) -> Path:
    """Writes the index of all that the folder holds; returns it."""
    kept = outcomes(folder)
    intro = (
        "<p>An outcome is a measurement, computed from the 95 % interval and margins fixed beforehand, by the same "
        "rules for all; nothing is tuned until a claim holds. A headline has the outcome of its weakest "
        f"evidence. {html.escape(UNIVERSES)}</p>"
    )
    parts = [_STYLE, intro, "<h2>Headline claims</h2>", *_headlines(kept), "<h2>Claims by experiment</h2>"]
    header = ["experiment", "title", *OUTCOMES, "size", "runs", "CPU s"]
    table = []
    for one in kept:
        count = counts([Finding(**finding) for finding in one["findings"]])
        table.append(
            [
                (f'<a href="{one["id"]}.html">{one["id"]}</a>', "text"),
                (html.escape(one["title"]), "wrap"),
                *((str(many or "–"), _class(outcome) if many else "") for outcome, many in count.items()),
                ("quick" if one["quick"] else "full", ""),
                (str(one["runs"]), ""),
                (f"{one['cpu_s']:.0f}", ""),
            ]
        )
    parts.append(_rows(header, table))
    parts.append("<h2>Every claim</h2>")
    for one in kept:
        parts.append(f'<h3><a href="{one["id"]}.html">{one["id"]}</a>: {html.escape(one["title"])}</h3>')
        parts.append(_findings([Finding(**finding) for finding in one["findings"]]))
    text = page("Published experiments, run again", parts, footer=f"cwndlab {version()}", figures=False)
    save(text, folder / "index.html")
    return folder / "index.html"


def _headlines(kept: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table for each paper, a row for each of its headline claims."""
    header = ["claim", "outcome at base assumptions", "published → measured [95 % interval]", "evidence"]
    found, parts = rows(kept), []
    for name, paper in PAPERS.items():
        table: list[list[_Cell]] = []
        for row in (row for row in found if row.headline.paper == name):
            some, left = leading(row)
            lines = [html.escape(evidence(one)) for one in some] + ([f"and {left} more"] if left else [])
            ids = dict.fromkeys(one.id for one in row.findings)
            claim = f"{row.headline.claim} ({row.headline.section})"
            tally = f"<br><small>{html.escape(row.tally)}</small>" if row.mixed else ""
            table.append(
                [
                    (html.escape(claim), "wrap"),
                    (f"{row.outcome}{tally}", f"outcome {_class(row.outcome)}"),
                    ("<br>".join(lines), "wrap"),
                    ("<br>".join(f'<a href="{id}.html">{id}</a>' for id in ids), "text"),
                ]
            )
        if table:
            parts += [f"<h3>{name}: {html.escape(paper.reference)}</h3>", _rows(header, table)]
    return parts


def _page(outcome: Reproduction, files: Sequence[tuple[str, Labels]]) -> str:
    one, size = outcome.experiment, outcome.size
    quick = " --quick" if outcome.quick else ""
    command = f"cwndlab reproduce {one.id}{quick} --seed {outcome.seed} --out DIR"
    paper = PAPERS[one.paper]
    parts = [
        _STYLE,
        _links(one.id),
        f"<p>{html.escape(paper.reference)}: <b>{html.escape(one.section)}</b>.</p>",
        f"<p><b>Published:</b> {html.escape(one.published)}</p>",
        f"<p><b>Run here:</b> {_size(outcome)}</p>",
        "<h2>Published beside measured</h2>",
    ]
    parts.append(_findings(outcome.findings))
    parts.append("<h2>The figure, redrawn</h2>")
    for chart in outcome.charts:
        parts.append(f"<h3>{html.escape(chart.title)}</h3>")
        if chart.note:
            parts.append(f'<p class="quiet">{html.escape(chart.note)}</p>')
        parts.append(_figure(chart))
    for table in outcome.tables:
        parts.append(_table(table))
    for title, sentences in (("Why", outcome.why), ("Assumptions", one.assumptions)):
        if sentences:
            items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
            parts.append(f"<h2>{title}</h2><ul>{items}</ul>")
    points = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in size.points.items())
    parts.append("<h2>Run it again</h2>")
    parts.append(
        f"<p>{_size(outcome)} {len(outcome.cases)} scenarios. {html.escape(points)}</p>"
        f"<pre>{html.escape(command)}</pre>"
    )
    parts.append(_scenario_list(one.figure, files, outcome.seed))
    footer = f"cwndlab {version()} · {one.id} · {len(outcome.measured.rows)} runs"
    return page(f"{one.id}: {one.title}", parts, footer=footer)


def _links(id: str) -> str:
    """To the index and to the neighbours of the same paper."""
    names = [one.id for one in experiments()]
    at = names.index(id)
    links = ['<a href="../index.html">all experiments</a>']
    for step, sign in ((-1, "←"), (1, "→")):
        if 0 <= at + step < len(names):
            other = names[at + step]
            links.append(f'<a href="../{other}.html">{sign} {other}</a>')
    return f"<nav>{' '.join(links)}</nav>"


def _size(outcome: Reproduction) -> str:
    """Duration, repetitions and seeds; what the full size has, beside a quick one."""
    size, full = outcome.size, outcome.experiment.full
    text = (
        f"runs of {size.duration_s:g} s, {size.repetitions} repetitions "
        f"(seeds {outcome.seed} to {outcome.seed + size.repetitions - 1})"
    )
    if not outcome.quick:
        return f"{text}, the full size."
    return f"{text}, the quick size; the full size has {full.duration_s:g} s and {full.repetitions} repetitions."


def _findings(findings: Sequence[Finding]) -> str:
    """A table for each kind of finding: the paper's claims, other readings, checks, experiments beyond the paper."""
    parts = []
    for kind, title in KINDS.items():
        mine = [finding for finding in findings if finding.kind == kind]
        if mine:
            parts += [f"<h4>{title}</h4>", _findings_of_a_kind(mine)]
    return "".join(parts)


def _findings_of_a_kind(findings: Sequence[Finding]) -> str:
    beside = sorted({finding.beside_is for finding in findings if finding.beside_is is not None})
    header = ["quantity", "published", "measured", "95 % interval", "is", *(f"by {name}" for name in beside)]
    table = []
    for one in findings:
        cells: list[_Cell] = [(html.escape(one.quantity), "wrap"), (html.escape(one.published), "wrap")]
        cells += [(text, "") for text in (*shown(one), one.measured_is)]
        for name in beside:
            cells.append((number(one.beside) if one.beside is not None and one.beside_is == name else "", ""))
        cells += [(one.outcome, f"outcome {_class(one.outcome)}"), (html.escape(one.reason), "wrap")]
        table.append(cells)
    return _rows([*header, "outcome", "reason"], table)


def _class(outcome: str) -> str:
    return outcome.replace(" ", "-")


def _rows(header: Sequence[str], rows: Iterable[Sequence[_Cell]]) -> str:
    wrapped = {
        "title",
        "claim",
        "quantity",
        "published",
        "published → measured [95 % interval]",
        "outcome",
        "outcome at base assumptions",
        "evidence",
        "reason",
        "experiment",
        "file",
        "labels",
    }
    head = "".join(
        f'<th class="text">{html.escape(name)}</th>' if name in wrapped else f"<th>{html.escape(name)}</th>"
        for name in header
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>" for text, kind in cells)
        + "</tr>"
        for cells in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _table(table: Table) -> str:
    rows = []
    for cells in table.rows:
        rows.append(
            [
                ("–", "")
                if cell is None
                else (html.escape(cell), "text")
                if isinstance(cell, str)
                else (number(cell), "")
                for cell in cells
            ]
        )
    return f"<h3>{html.escape(table.title)}</h3>" + _rows(table.header, rows)


def _figure(chart: Any) -> str:
    config = {"displayModeBar": False, "responsive": True}
    text: str = figure(chart).to_html(full_html=False, include_plotlyjs=False, div_id=chart.name, config=config)
    return text


def _scenarios(outcome: Reproduction, folder: Path) -> list[tuple[str, Labels]]:
    """Writes every scenario as TOML: names of the files, and the labels of each."""
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for case in outcome.cases:
        name = f"{_slug(case.labels)}.toml"
        text = to_toml(json.dumps(case.scenario))
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            save(text, path)
        wanted.add(name)
        files.append((name, case.labels))
    for old in folder.glob("*.toml"):
        if old.name not in wanted:
            old.unlink()
    return files


def _slug(labels: Labels) -> str:
    plain = [
        re.sub(r"[^A-Za-z0-9.]+", "-", str(value).replace("μ", "mu")).strip("-").lower() for value in labels.values()
    ]
    return "_".join(plain)


def _scenario_list(figure: str, files: Sequence[tuple[str, Labels]], seed: int) -> str:
    rows: list[list[_Cell]] = []
    for name, labels in files[:_MOST_NAMED]:
        labelled = ", ".join(f"{key} {value}" for key, value in labels.items())
        rows.append([(f'<a href="{figure}/scenarios/{name}">{name}</a>', "text"), (html.escape(labelled), "wrap")])
    more = len(files) - len(rows)
    rest = f"<p>{more} more are in <code>{figure}/scenarios</code>.</p>" if more > 0 else ""
    example = f"<p>One run alone:</p><pre>cwndlab run {html.escape(files[0][0])} --seed {seed}</pre>" if files else ""
    summary = f"<summary>{len(files)} scenario files</summary>"
    return f"{example}<details>{summary}{_rows(['file', 'labels'], rows)}{rest}</details>"


def _csv(findings: Sequence[Finding]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(finding.as_dict() for finding in findings)
    return text.getvalue()
