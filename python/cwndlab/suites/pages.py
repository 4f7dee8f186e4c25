"""The page of a suite's result: cases by paths, the statements that do not hold, and figures of their runs."""

from __future__ import annotations

from cwndlab.plot import overview
from cwndlab.reports.page import Page, Placed
from cwndlab.reports.tables import Cell, Table, cell
from cwndlab.suites.case import Outcome, Verdict
from cwndlab.suites.result import SuiteResult

#: Figures on a page, each of up to a megabyte.
_MOST_FIGURES = 12


def page(result: SuiteResult) -> str:
    """The HTML page of `SuiteResult.report`."""
    made = Page()
    paths = list(dict.fromkeys(one.path.name for one in result.outcomes))
    cells = {(one.case.name, one.path.name): one for one in result.outcomes}
    cases = list(dict.fromkeys(one.case for one in result.outcomes))
    rows = [
        [
            cell(case.name, "text"),
            cell(case.source, "wrap"),
            *(_cell(cells.get((case.name, path))) for path in paths),
        ]
        for case in cases
    ]
    return made.render(
        "suite.html",
        title=f"{result.suite.name}: {result.algorithm}",
        footer=result.suite.source,
        commands=[f"cwndlab suite {result.suite.name} --algorithm {result.algorithm} --report suite.html"],
        facts=[f"{result.suite.title}: {result.counts}."],
        outcomes=Table(
            "Cases by paths", [("case", "text"), ("source", "wrap"), *((one, "text") for one in paths)], rows
        ),
        statements=Table("Statements that do not hold", _FAILURES, _failures(result)),
        reasons=Table(
            "Cases that do not apply", [(one, "wrap") for one in ("case", "path", "reason")], _reasons(result)
        ),
        figures=_figures(result, made),
    )


#: Columns of the table of statements, with their classes.
_FAILURES = [("case", "text"), ("statement", "wrap"), ("expected, and got", "wrap"), ("look closer", "wrap")]
#: The class of a cell by verdict.
_CLASSES = {
    Verdict.PASSED: "outcome good",
    Verdict.FAILED: "outcome bad",
    Verdict.CONTRADICTS: "outcome open",
    Verdict.NOT_APPLICABLE: "outcome muted",
}


def _cell(outcome: Outcome | None) -> Cell:
    return cell("–", "outcome muted") if outcome is None else cell(str(outcome.verdict), _CLASSES[outcome.verdict])


def _failures(result: SuiteResult) -> list[list[Cell]]:
    places = {id(one): number for number, one in enumerate(_shown(result))}
    rows = []
    for outcome in result.outcomes:
        for one in outcome.failures:
            at = "" if one.at_s is None else f", at {one.at_s:.6g} s"
            results = [(f"expected {one.expected}", ""), (f"got {one.got}{at}", "")]
            cells = [
                Cell([(outcome.case.name, "")], "text", outcome.path.name),
                Cell([(one.text, "")], "wrap", one.source),
                Cell(results, "wrap", f"but {one.contradicts}" if one.contradicts else ""),
            ]
            again = (
                f"cwndlab suite {result.suite.name} --algorithm '{result.algorithm}' --case {outcome.case.name} "
                f"--path '{outcome.path.name}' --out DIR"
            )
            number = places.get(id(outcome))
            figure = [] if number is None else [("figure of the run", f"#case-{number}")]
            rows.append([*cells, Cell([*figure, (again, "")], "wrap")])
    return rows


def _reasons(result: SuiteResult) -> list[list[Cell]]:
    found = [(one.case.name, one.path.name, one.reason) for one in result.outcomes if one.reason]
    return [[cell(text, "wrap") for text in row] for row in found]


def _shown(result: SuiteResult) -> list[Outcome]:
    """The outcomes whose runs have figures."""
    failed = [one for one in result.outcomes if one.verdict is Verdict.FAILED and one.trace is not None]
    return failed[:_MOST_FIGURES]


def _figures(result: SuiteResult, made: Page) -> list[Placed]:
    figures = []
    for number, outcome in enumerate(_shown(result)):
        if outcome.trace is not None:
            heading = f"{outcome.case.title}, {outcome.path.name}"
            figures.append(made.figure(overview(outcome.trace.records), f"case-{number}", heading=heading))
    return figures
