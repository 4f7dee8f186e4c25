"""A site of all experiments: an index by headline claim, a page for each, and the files to run them again.

Under the folder: ``index.html``; ``PAPER/FIGURE.html``, which needs no network; ``plotly.min.js``, which the pages
share; ``PAPER/FIGURE/`` with ``outcome.json``, ``findings.csv``, ``scenarios/*.toml`` and ``figures/*.svg``; and
``runs/``, finished runs. The index lists every page that the folder holds, of this call or of an earlier one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cwndlab.engine import to_toml
from cwndlab.files import json_text, not_written, parsed, save
from cwndlab.plot.charts import Chart, Curve
from cwndlab.plot.description import Opens
from cwndlab.reports.page import BUNDLE, Page, Placed, program
from cwndlab.reports.runs import MOST_RUNS, Group, packed
from cwndlab.reports.tables import Table, cell
from cwndlab.reproduction.assessments import assessments
from cwndlab.reproduction.cases import Case, Labels, described, file_stem
from cwndlab.reproduction.cases import Table as ResultTable
from cwndlab.reproduction.catalogue import PAPERS, experiments
from cwndlab.reproduction.claims import COLUMNS, KINDS, OUTCOMES, Claim, Finding
from cwndlab.reproduction.digits import shown
from cwndlab.reproduction.multiverse import joint
from cwndlab.reproduction.multiverse.kept import load
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.reproduction.paper_page import CLASSES, index_page, paper_page, write_extremes
from cwndlab.reproduction.ranking import counts
from cwndlab.reproduction.result import Reproduction
from cwndlab.statistics.digits import number

# Scenarios that the page names; the folder has all.
_MOST_NAMED = 60


class _Claims(NamedTuple):
    """The findings of an experiment on the index."""

    id: str
    title: str
    address: str
    tables: Sequence[tuple[str, Table]]


def write_experiment(outcome: Reproduction, folder: Path) -> Path:
    """Writes the page and the files of an experiment; returns the page's path."""
    one = outcome.experiment
    place = folder / one.paper / one.figure
    files = _scenarios(outcome, place / "scenarios")
    try:
        (place / "figures").mkdir(parents=True, exist_ok=True)
        for chart in outcome.charts:
            chart.figure().save(place / "figures" / f"{chart.name}.svg")
    except OSError as error:
        raise not_written(place, error) from None
    save(_csv(outcome.findings), place / "findings.csv")
    _write_bundle(folder)
    target = folder / one.paper / f"{one.figure}.html"
    save(_page(outcome, files), target)
    summary = outcome.as_dict() | {"cpu_s": outcome.cpu_s or _kept_cpu_s(place, outcome)}
    save(json_text(summary, indent=1, ensure_ascii=False), place / "outcome.json")
    return target


def _write_bundle(folder: Path) -> None:
    """Writes plotly's program beside the pages, unless it is there."""
    path, text = folder / BUNDLE, program()
    if not path.is_file() or path.stat().st_size != len(text.encode()):
        save(text, path)


def _kept_cpu_s(place: Path, outcome: Reproduction) -> float:
    """CPU time of the runs when they were made, where all of them are kept."""
    try:
        before = parsed((place / "outcome.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0.0
    same = all(before.get(name) == value for name, value in (("quick", outcome.quick), ("seed", outcome.seed)))
    return float(before.get("cpu_s", 0.0)) if same else 0.0


def write_index(folder: Path, unfinished: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Writes the index, a page for each paper, and the appendix with every claim, of all that the folder holds.

    Parameters
    ----------
    folder
        The folder of the site.
    unfinished
        What is missing of experiments, in words, by id.

    Returns
    -------
    The path of the index.
    """
    kept, multiverses = outcomes(folder), list(load(folder))
    known = assessments(kept, multiverses)
    for name, mine in known.items():
        save(
            paper_page(
                name,
                mine,
                kept,
                [one for one in multiverses if one.space.paper == name],
                unfinished,
                joint.reading(folder, name),
            ),
            folder / f"{name}.html",
        )
    _write_bundle(folder)
    for one in multiverses:
        write_extremes(one, folder)
    save(claims_page(kept), folder / "appendix.html")
    drawn = {one["id"]: sorted((folder / one["id"] / "figures").glob("*.svg")) for one in kept}
    pictures = {id: paths[0].relative_to(folder).as_posix() for id, paths in drawn.items() if paths}
    save(index_page(known, pictures), folder / "index.html")
    return folder / "index.html"


def claims_page(kept: Sequence[Mapping[str, Any]], *, links: bool = True) -> str:
    """The page with every claim; ``links`` lead to the other pages of a site."""
    claims = []
    for one in kept:
        findings = [Finding(**finding) for finding in one["findings"]]
        address = f"{one['id']}.html" if links else ""
        claims.append(_Claims(one["id"], one["title"], address, _findings(findings, one["repetitions"])))
    return Page().render(
        "appendix.html",
        title="Every claim of every experiment",
        footer="",
        commands=["cwndlab reproduce --all --out DIR"],
        run_findings=[] if links else [row for one in kept for row in one["run_findings"]],
        neighbours=[("all papers", "index.html")] if links else [],
        experiments=_experiments(kept, links),
        claims=claims,
    )


def _experiments(kept: Sequence[Mapping[str, Any]], links: bool) -> Table:
    """Counts of outcomes, a row per experiment."""
    header = [("experiment", "text"), ("title", "wrap"), *((outcome, "") for outcome in OUTCOMES)]
    header += [(name, "") for name in ("size", "n", "runs", "CPU s")]
    made = []
    for one in kept:
        count = counts([Finding(**finding) for finding in one["findings"]])
        made.append(
            [
                cell(one["id"], "text", f"{one['id']}.html" if links else ""),
                cell(one["title"], "wrap"),
                *(cell(str(many or "–"), CLASSES[outcome] if many else "") for outcome, many in count.items()),
                cell("quick" if one["quick"] else "full"),
                cell(str(one["repetitions"])),
                cell(str(one["runs"])),
                cell(f"{one['cpu_s']:.0f}"),
            ]
        )
    return Table("Claims of the paper by outcome; n repetitions of each case", header, made)


def _page(outcome: Reproduction, files: Sequence[tuple[str, Labels]]) -> str:
    one, page = outcome.experiment, Page()
    quick = (" --quick" if outcome.quick else "") + ("" if outcome.perturbed else " --no-perturb")
    drill = _Drill(outcome)
    opens = [drill.address(claim) for claim in one.claims(outcome.size)] if outcome.kept is None else []
    charts = [_chart(page, chart, drill) for chart in outcome.charts]
    points = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in outcome.size.points.items())
    folder = f"{one.figure}/scenarios"
    return page.render(
        "experiment.html",
        title=f"{one.id}: {one.title}",
        footer=f"{one.id} · {len(outcome.measured.rows)} runs",
        commands=[f"cwndlab reproduce {one.id}{quick} --seed {outcome.seed} --out DIR"],
        run_findings=outcome.run_findings,
        data=drill.data(),
        bundle=f"../{BUNDLE}",
        neighbours=_neighbours(one.id),
        reference=PAPERS[one.paper].reference,
        section=one.section,
        published=one.published,
        size=_size(outcome),
        findings=_findings(outcome.findings, outcome.size.repetitions, opens),
        charts=charts,
        tables=[_table(table) for table in outcome.tables],
        why=outcome.why,
        assumptions=one.assumptions,
        points=f"{len(outcome.cases)} scenarios. {points}",
        example=f"cwndlab run {folder}/{files[0][0]} --seed {outcome.seed}" if files else "",
        files=_files(folder, files),
        files_count=len(files),
        files_more=max(0, len(files) - _MOST_NAMED),
        files_folder=folder,
    )


class _Drill:
    """The runs behind findings and points of charts: groups of rows of an experiment, by their labels."""

    def __init__(self, outcome: Reproduction) -> None:
        self._rows = outcome.measured.rows[:MOST_RUNS]
        self._seed = outcome.seed
        self._groups: dict[tuple[int, ...], str] = {}
        self._values: dict[str, set[str]] = {}
        for row in self._rows:
            for name, value in row.labels.items():
                self._values.setdefault(name, set()).add(str(value))

    def address(self, claim: Claim) -> str:
        """What the row of a claim opens: the runs of its sides."""
        chosen = [
            at
            for at, row in enumerate(self._rows)
            if any(all(row.labels.get(name) == value for name, value in side.items()) for side in claim.sides)
        ]
        return self._open(chosen, claim.quantity)

    def of_words(self, *words: object) -> str:
        """What a mark opens: the runs whose labels have all those of ``words``, or of their parts, that are values of a
        label."""
        named = [part for word in words for part in self._known(str(word))]
        chosen = [
            at for at, row in enumerate(self._rows) if set(named) <= {str(value) for value in row.labels.values()}
        ]
        return self._open(chosen, ", ".join(dict.fromkeys(named)) or "this figure")

    def _known(self, word: str) -> list[str]:
        """A word that is the value of a label, else those of its parts that are."""
        return [part for part in ([word] if self.is_label(word) else re.split(r"[:,] ", word)) if self.is_label(part)]

    def title(self, address: str) -> str:
        """The title of the runs at an address."""
        return list(self._groups.values())[int(address.rpartition("=")[2])]

    def is_label(self, word: object) -> bool:
        """Whether a word is the value of some label."""
        return any(str(word) in values for values in self._values.values())

    def _open(self, chosen: Sequence[int], title: str) -> str:
        if not chosen:
            return ""
        self._groups.setdefault(tuple(chosen), title)
        return f"#runs={list(self._groups).index(tuple(chosen))}"

    def data(self) -> dict[str, Any]:
        """The runs and the groups, for the script of the page."""
        if not self._rows:
            return {}
        fields: dict[str, list[object]] = {
            name: [row.labels[name] for row in self._rows] for name in self._rows[0].labels
        }
        fields["seed"] = [self._seed + row.repetition for row in self._rows]
        names = list(dict.fromkeys(name for row in self._rows for name in row.values))
        metrics = {name: [row.values.get(name) for row in self._rows] for name in names}
        return packed(fields, metrics, [Group(title, list(at)) for at, title in self._groups.items()])


def _chart(page: Page, chart: Chart, drill: _Drill) -> Placed:
    """A chart of which points, or whole curves, open their runs."""
    opens: dict[tuple[str, str], Opens] = {}
    links: list[str] = []
    for curve in chart.curves:
        if curve.published:
            continue
        opens[curve.panel, curve.label] = _opened(curve, drill)
        links.append(drill.of_words(curve.panel, curve.label))
    named = [(drill.title(address), address) for address in dict.fromkeys(links) if address]
    return page.figure(chart.figure(opens), chart.name, heading=chart.title, opens=named, note=chart.note)


def _opened(curve: Curve, drill: _Drill) -> Opens:
    if not any(drill.is_label(x) for x in curve.x):
        return drill.of_words(curve.panel, curve.label)
    return [drill.of_words(curve.panel, curve.label, x) for x in curve.x]


def _neighbours(id: str) -> list[tuple[str, str]]:
    """Links to the index and to the experiments before and after."""
    names = [one.id for one in experiments()]
    at = names.index(id)
    links = [("all experiments", "../index.html")]
    for step, sign in ((-1, "←"), (1, "→")):
        if 0 <= at + step < len(names):
            other = names[at + step]
            links.append((f"{sign} {other}", f"../{other}.html"))
    return links


def _size(outcome: Reproduction) -> str:
    """Duration, repetitions and seeds; beside a quick size also the full one."""
    size, full = outcome.size, outcome.experiment.full
    text = (
        f"runs of {size.duration_s:g} s, {size.repetitions} repetitions "
        f"(seeds {outcome.seed} to {outcome.seed + size.repetitions - 1})"
    )
    kind = what_varies(outcome.cases) if outcome.perturbed else NOT_PERTURBED
    if not outcome.quick:
        return f"{text}, the full size. {kind}"
    return f"{text}, the quick size; the full size has {full.duration_s:g} s and {full.repetitions} repetitions. {kind}"


#: What distinguishes the repetitions of experiments that are not perturbed.
NOT_PERTURBED = "Repetitions are not perturbed: they differ in the random numbers of the set-up alone."


def what_varies(cases: Sequence[Case]) -> str:
    """What distinguishes the repetitions of perturbed experiments. A start is varied where neither the flow nor the
    scenario states its jitter (`docs/scenario.md`); a stated one of an RTT has the same range."""
    jitters = {
        flow.get("start_jitter", case.scenario.get("start_jitter", "rtt"))
        for case in cases
        for flow in case.scenario.get("flow", ())
    }
    starts = ""
    if "rtt" in jitters:
        starts = f"starts within one RTT{'' if jitters == {'rtt'} else ' unless a jitter is stated'}, "
    return (
        f"Each repetition is perturbed: delays within 0.5 %, rates within 0.1 %, {starts}the processing of packets "
        "within 1 µs."
    )


def _findings(findings: Sequence[Finding], n: int, opens: Sequence[str] = ()) -> list[tuple[str, Table]]:
    """A table for each kind of finding: the paper's claims, other readings, checks, experiments beyond the paper."""
    made = []
    addresses = opens or [""] * len(findings)
    for kind, title in KINDS.items():
        mine = [pair for pair in zip(findings, addresses, strict=True) if pair[0].kind == kind]
        if mine:
            made.append((title, _findings_of_a_kind(mine, n)))
    return made


def _findings_of_a_kind(pairs: Iterable[tuple[Finding, str]], n: int) -> Table:
    pairs = list(pairs)
    beside = sorted({finding.beside_is for finding, _ in pairs if finding.beside_is is not None})
    header = [("quantity", "wrap"), ("published", "wrap"), ("measured", ""), ("95 % interval", ""), ("n", "")]
    header += [("is", ""), *((f"by {name}", "") for name in beside), ("outcome", "text"), ("reason", "wrap")]
    header += [("controls", "wrap")]
    made = []
    for one, address in pairs:
        cells = [cell(one.quantity, "wrap", address), cell(one.published, "wrap")]
        cells += [cell(text) for text in (*shown(one), str(one.n or n), one.measured_is)]
        for name in beside:
            cells.append(cell(number(one.beside) if one.beside is not None and one.beside_is == name else ""))
        cells += [cell(one.outcome, f"outcome {CLASSES[one.outcome]}"), cell(one.reason, "wrap")]
        cells += [cell(one.told or "–", "wrap")]
        made.append(cells)
    title = f"Over n = {n} repetitions of each case"
    if any(one.n > n for one, _ in pairs):
        title += f", or as many as the row says; tables of means have the first {n}"
    return Table(title, header, made)


def _table(table: ResultTable) -> Table:
    made = [
        [
            cell("–") if one is None else cell(one, "text") if isinstance(one, str) else cell(number(one))
            for one in cells
        ]
        for cells in table.rows
    ]
    return Table(table.title, [(name, "text" if at == 0 else "") for at, name in enumerate(table.header)], made)


def _scenarios(outcome: Reproduction, folder: Path) -> list[tuple[str, Labels]]:
    """Writes every scenario as TOML: names of the files, and the labels of each."""
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for case in outcome.cases:
        name = f"{file_stem(case.labels)}.toml"
        text = to_toml(json_text(case.scenario))
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            save(text, path)
        wanted.add(name)
        files.append((name, case.labels))
    for old in folder.glob("*.toml"):
        if old.name not in wanted:
            old.unlink()
    return files


def _files(folder: str, files: Sequence[tuple[str, Labels]]) -> Table:
    """The scenario files with their labels."""
    made = [
        [
            cell(name, "text", f"{folder}/{name}"),
            cell(described(labels), "wrap"),
        ]
        for name, labels in files[:_MOST_NAMED]
    ]
    return Table("Scenario files", [("file", "text"), ("labels", "wrap")], made)


def _csv(findings: Sequence[Finding]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(finding.as_dict() | {"controls": finding.told} for finding in findings)
    return text.getvalue()
