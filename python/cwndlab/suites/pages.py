"""The page of a suite's result: cases by paths, the statements that do not hold, and figures of their runs."""

from __future__ import annotations

from cwndlab.plot import overview
from cwndlab.reports.page import Page, Placed
from cwndlab.reports.tables import table
from cwndlab.suites.case import Outcome, Verdict
from cwndlab.suites.runner import SuiteResult

#: Figures on a page, each of up to a megabyte.
_MOST_FIGURES = 12


def page(result: SuiteResult) -> str:
    """The HTML page of a result, self-contained.

    Parameters
    ----------
    result
        The result; the cases that failed have figures where their runs were kept.

    Examples
    --------
    >>> import cwndlab
    >>> result = cwndlab.suites.run("rfc9438", "cubic", cases=["beta"])
    >>> cwndlab.suites.page(result).splitlines()[0]
    '<!doctype html>'
    """
    made = Page()
    paths = list(dict.fromkeys(one.path.name for one in result.outcomes))
    cells = {(one.case.name, one.path.name): one for one in result.outcomes}
    cases = list(dict.fromkeys(one.case for one in result.outcomes))
    rows = [[case.name, case.source, *(_cell(cells.get((case.name, path))) for path in paths)] for case in cases]
    counts = ", ".join(f"{result.count(one)} {one}" for one in Verdict)
    return made.render(
        "suite.html",
        title=f"{result.suite.name}: {result.algorithm}",
        footer=result.suite.source,
        commands=[f"cwndlab suite {result.suite.name} --algorithm {result.algorithm} --report suite.html"],
        facts=[f"{result.suite.title}: {counts}."],
        outcomes=table("Cases by paths", ["case", "source", *paths], rows),
        statements=table(
            "Statements that do not hold",
            ["case", "path", "source", "statement", "expected", "got", "at", "contradiction"],
            _failures(result),
        ),
        reasons=table("Cases that do not apply", ["case", "path", "reason"], _reasons(result)),
        figures=_figures(result, made),
    )


def _cell(outcome: Outcome | None) -> str:
    return "–" if outcome is None else str(outcome.verdict)


def _failures(result: SuiteResult) -> list[list[str]]:
    return [
        [
            outcome.case.name,
            outcome.path.name,
            one.source,
            one.text,
            one.expected,
            one.got,
            "–" if one.at_s is None else f"{one.at_s:.6g} s",
            one.contradicts or "–",
        ]
        for outcome in result.outcomes
        for one in outcome.failures
    ]


def _reasons(result: SuiteResult) -> list[list[str]]:
    return [[one.case.name, one.path.name, one.reason] for one in result.outcomes if one.reason]


def _figures(result: SuiteResult, made: Page) -> list[Placed]:
    figures = []
    failed = [one for one in result.outcomes if one.verdict is Verdict.FAILED and one.trace is not None]
    for number, outcome in enumerate(failed[:_MOST_FIGURES]):
        if outcome.trace is not None:
            heading = f"{outcome.case.title}, {outcome.path.name}"
            figures.append(made.figure(overview(outcome.trace.records), f"case-{number}", heading=heading))
    return figures
