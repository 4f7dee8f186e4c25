"""One site of all experiments: an index with the table of verdicts, a page for each, and the files to run them again.

Under the folder: ``index.html``; ``PAPER/FIGURE.html``, which needs nothing from the network; beside it
``PAPER/FIGURE/`` with ``outcome.json``, ``findings.csv``, ``scenarios/*.toml`` and ``figures/*.svg``; and ``runs/``,
finished runs. The index tells of every page that the folder holds, of this call or of an earlier one.
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

from cwndlab.digits import interval, number
from cwndlab.errors import Fault, OutputError
from cwndlab.files import parsed, save
from cwndlab.pages import page
from cwndlab.reproduce.catalogue import PAPERS, experiments
from cwndlab.reproduce.claims import COLUMNS, VERDICTS, Finding
from cwndlab.reproduce.experiment import Labels, Table
from cwndlab.reproduce.run import Outcome
from cwndlab.reproduce.verdicts import counts
from cwndlab.statistics import Estimate

_STYLE = """<style>
td.reproduced { color: #0b7a3b; font-weight: 600; } td.direction-only { color: #9a6700; font-weight: 600; }
td.not-reproduced { color: #c0362c; font-weight: 600; } td.not-testable { color: var(--quiet); }
td.wrap { white-space: normal; min-width: 13rem; text-align: left; }
nav { margin: 1rem 0; } nav a { margin-right: 1rem; }
@media (prefers-color-scheme: dark) { a { color: #79b8ff; } td.reproduced { color: #56d38b; }
  td.direction-only { color: #e3b341; } td.not-reproduced { color: #ff8178; } }
</style>"""
# Scenarios that are named on the page; the folder has all.
_MOST_NAMED = 60

# What `outcome.json` holds.
_KEYS = frozenset({"id", "title", "quick", "seed", "repetitions", "runs", "cpu_s", "findings", "why"})

#: A cell: its text as HTML, and its class.
_Cell = tuple[str, str]


def write_experiment(outcome: Outcome, folder: Path) -> Path:
    """Writes page and files of an experiment; returns the page."""
    one = outcome.experiment
    place = folder / one.paper / one.figure
    files = _scenarios(outcome, place / "scenarios")
    try:
        (place / "figures").mkdir(parents=True, exist_ok=True)
        from cwndlab.plots.charts import draw

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
        "quick": outcome.quick,
        "seed": outcome.seed,
        "repetitions": outcome.size.repetitions,
        "runs": len(outcome.measured.rows),
        "cpu_s": outcome.cpu_s or _kept_cpu_s(place, outcome),
        "findings": [finding.as_dict() for finding in outcome.findings],
        "why": list(outcome.why),
    }
    save(json.dumps(summary, indent=1, ensure_ascii=False), place / "outcome.json")
    return target


def _kept_cpu_s(place: Path, outcome: Outcome) -> float:
    """CPU time of the runs when they were made, where this call found them all kept."""
    try:
        before = parsed((place / "outcome.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0.0
    same = all(before.get(name) == value for name, value in (("quick", outcome.quick), ("seed", outcome.seed)))
    return float(before.get("cpu_s", 0.0)) if same else 0.0


def outcomes(folder: Path) -> list[dict[str, Any]]:
    """What the folder holds of each experiment, in the order of the papers.

    A file that cannot be read, or is of another version, is as none.
    """
    found = []
    for one in experiments():
        try:
            kept = parsed((folder / one.paper / one.figure / "outcome.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if kept.keys() == _KEYS and all(finding.keys() == set(COLUMNS) for finding in kept["findings"]):
            found.append(kept)
    return found


def write_index(folder: Path) -> Path:
    """Writes the index of all that the folder holds; returns it."""
    found = outcomes(folder)
    parts = [_STYLE, _counts_of_papers(found), "<h2>Experiments</h2>"]
    header = ["experiment", "title", *VERDICTS, "size", "runs", "CPU s"]
    rows = []
    for one in found:
        count = counts([Finding(**finding) for finding in one["findings"]])
        rows.append(
            [
                (f'<a href="{one["id"]}.html">{one["id"]}</a>', "text"),
                (html.escape(one["title"]), "wrap"),
                *((str(count[verdict] or "–"), _class(verdict) if count[verdict] else "") for verdict in VERDICTS),
                ("quick" if one["quick"] else "full", ""),
                (str(one["runs"]), ""),
                (f"{one['cpu_s']:.0f}", ""),
            ]
        )
    parts.append(_rows(header, rows))
    parts.append("<h2>Every claim</h2>")
    for one in found:
        parts.append(f'<h3><a href="{one["id"]}.html">{one["id"]}</a>: {html.escape(one["title"])}</h3>')
        parts.append(_findings([Finding(**finding) for finding in one["findings"]]))
    from cwndlab.run import version

    whole = page("Published experiments, run again", parts, footer=f"cwndlab {version()}", figures=False)
    save(whole, folder / "index.html")
    return folder / "index.html"


def _counts_of_papers(found: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for paper in PAPERS:
        mine = [one for one in found if one["id"].startswith(f"{paper}/")]
        if not mine:
            continue
        count = counts([Finding(**finding) for one in mine for finding in one["findings"]])
        cells = [(str(count[verdict]), _class(verdict)) for verdict in VERDICTS]
        rows.append([(paper, "text"), (str(len(mine)), ""), *cells])
    intro = (
        "<p>A verdict is a measurement, computed from the 95 % interval by rules that are the same for all; "
        "nothing is tuned "
        "until a claim comes true. Not testable are claims for which the paper leaves out what is needed, and "
        "those that "
        "so few runs do not decide; the reason says which.</p>"
    )
    return intro + _rows(["paper", "experiments", *VERDICTS], rows)


def _page(outcome: Outcome, files: Sequence[tuple[str, Labels]]) -> str:
    one, size = outcome.experiment, outcome.size
    from cwndlab.run import version

    quick = " --quick" if outcome.quick else ""
    command = f"cwndlab reproduce {one.id}{quick} --seed {outcome.seed} --out DIR"
    parts = [_STYLE, _links(one.id), f"<p>{html.escape(one.published)}</p>", "<h2>Published beside measured</h2>"]
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
        f"<p>{'Quick' if outcome.quick else 'Full'} size: {number(size.duration_s)} s, {size.repetitions} repetitions "
        f"(seeds {outcome.seed} to {outcome.seed + size.repetitions - 1}), {len(outcome.cases)} scenarios. "
        f"{html.escape(points)}</p><pre>{html.escape(command)}</pre>"
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


def _findings(findings: Sequence[Finding]) -> str:
    beside = sorted({finding.beside_is for finding in findings if finding.beside_is is not None})
    header = ["quantity", "published", "measured", "95 % interval", "is", *(f"by {name}" for name in beside)]
    rows = []
    for one in findings:
        cells: list[_Cell] = [(html.escape(one.quantity), "wrap"), (html.escape(one.published), "wrap")]
        cells += [(text, "") for text in (*shown(one), one.measured_is)]
        for name in beside:
            cells.append((number(one.beside) if one.beside is not None and one.beside_is == name else "", ""))
        cells += [(one.verdict, _class(one.verdict)), (html.escape(one.reason), "wrap")]
        rows.append(cells)
    return _rows([*header, "verdict", "reason"], rows)


def shown(finding: Finding) -> tuple[str, str]:
    """The measured value and its interval, with as many digits as the interval tells."""
    if finding.measured is None:
        return "–", "–"
    mean, low, high = interval(Estimate(finding.measured, finding.low, finding.high, 2))
    return mean, f"{low} … {high}" if low else "–"


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _rows(header: Sequence[str], rows: Iterable[Sequence[_Cell]]) -> str:
    wrapped = {"title", "quantity", "published", "reason", "experiment", "paper", "file", "labels"}
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
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


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
    from cwndlab.plots.charts import figure

    config = {"displayModeBar": False, "responsive": True}
    text: str = figure(chart).to_html(full_html=False, include_plotlyjs=False, div_id=chart.name, config=config)
    return text


def _scenarios(outcome: Outcome, folder: Path) -> list[tuple[str, Labels]]:
    """Writes every scenario as TOML: names of the files, and the labels of each."""
    from cwndlab.run import to_toml

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
        told = ", ".join(f"{key} {value}" for key, value in labels.items())
        rows.append([(f'<a href="{figure}/scenarios/{name}">{name}</a>', "text"), (html.escape(told), "wrap")])
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
