"""The suites by name, and their runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from cwndlab.custom import Classes, base_name, selected_one, validate_classes
from cwndlab.errors import Fault, ScenarioError
from cwndlab.suites import bbr_draft, rfc5681, rfc6298, rfc6675, rfc8985, rfc9406, rfc9438, rfc9937
from cwndlab.suites.case import Suite
from cwndlab.suites.runner import SuiteResult, run_suite

#: The suites in the order of their listing.
_ALL = (bbr_draft, rfc9438, rfc9406, rfc5681, rfc6298, rfc6675, rfc8985, rfc9937)
SUITES: dict[str, Suite] = {one.SUITE.name: one.SUITE for one in _ALL}


def suite(name: str) -> Suite:
    """The suite of this name.

    Raises
    ------
    ScenarioError
        If there is no such suite.

    Examples
    --------
    >>> import cwndlab
    >>> cwndlab.suites.suite("rfc6675").title
    'SACK-based loss recovery'
    """
    if name not in SUITES:
        raise ScenarioError(Fault("suite", f"no suite is called '{name}'", f"one of {', '.join(SUITES)}"))
    return SUITES[name]


def run(
    name: str,
    algorithm: str | type | None = None,
    *,
    algorithms: Classes | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    cases: Sequence[str] = (),
    paths: Sequence[str] = (),
    keep: bool = False,
) -> SuiteResult:
    """Runs a suite on an algorithm.

    Parameters
    ----------
    name
        Name of the suite, such as ``"bbr-draft"``.
    algorithm
        Text of an algorithm, as a flow names it; a custom class (`cwndlab.custom`); or a file of Python with one. By
        default the algorithm of the catalogue that implements the suite's source.
    algorithms
        Custom classes by the names that ``algorithm`` may use.
    workers
        Number of threads, by default one per core.
    progress
        Is called with the number of finished jobs and that of all jobs.
    cases
        Names of cases; by default all of the suite.
    paths
        Names of paths; by default all of each case.
    keep
        Keep the run of each case, as ``trace`` of its outcome.

    Returns
    -------
    SuiteResult
        An outcome for each case and path.

    Raises
    ------
    ScenarioError
        If there is no such suite, case or algorithm.

    Examples
    --------
    >>> import cwndlab
    >>> result = cwndlab.suites.run("rfc9438", "cubic", cases=["beta"])
    >>> result.holds
    True
    """
    chosen = _part(suite(name), cases, paths)
    text, classes = _named(chosen, algorithm, algorithms or {})
    return run_suite(chosen, text, validate_classes(classes), workers=workers, progress=progress, keep=keep)


def _part(suite: Suite, cases: Sequence[str], paths: Sequence[str]) -> Suite:
    """The suite with these cases and paths alone; all where none is named."""
    known = [("case", cases, [case.name for case in suite.cases])]
    known.append(("path", paths, list(dict.fromkeys(path.name for case in suite.cases for path in case.paths))))
    for what, named, names in known:
        unknown = [one for one in named if one not in names]
        if unknown:
            fault = Fault(what, f"suite '{suite.name}' has no {what} '{unknown[0]}'", f"one of {'; '.join(names)}")
            raise ScenarioError(fault)
    kept = [case for case in suite.cases if case.name in cases or not cases]
    if paths:
        kept = [replace(case, paths=tuple(path for path in case.paths if path.name in paths)) for case in kept]
    return replace(suite, cases=tuple(case for case in kept if case.paths))


def _named(suite: Suite, algorithm: str | type | None, classes: Classes) -> tuple[str, Classes]:
    """The text of the algorithm, and the classes that it may use."""
    if algorithm is None:
        return suite.reference, classes
    if not isinstance(algorithm, str):
        name = next((name for name, kind in classes.items() if kind is algorithm), "mine")
        return name, {**classes, name: algorithm}
    text, loaded = selected_one(algorithm)
    if not base_name(text):
        raise ScenarioError(Fault("--algorithm", "is empty", f"write --algorithm {suite.reference}"))
    return text, {**classes, **loaded}
