"""Runs the cases of a suite on threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from cwndlab import engine
from cwndlab.custom import Classes, base_name, selected_one, validate_classes
from cwndlab.errors import Fault, ScenarioError, unknown_name
from cwndlab.suites.case import Case, Outcome, Verdict, verdict
from cwndlab.suites.listing import SUITES, Suite
from cwndlab.suites.paths import Path
from cwndlab.suites.result import SuiteResult
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trial import Subject, Trial

#: The path and the duration of the run that shows which values an algorithm reports.
_PROBE = Path("probe", 1e6, 0.02)
_PROBE_S = 1.0


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
        raise ScenarioError(unknown_name("suite", "suite", name, SUITES))
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
        Text of an algorithm, as a flow names it; a custom class (`cwndlab.custom`); or a Python or Rust file with one.
        By default the algorithm of the catalogue that implements the suite's source.
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
    chosen = suite(name)
    jobs = _jobs(chosen, cases, paths)
    if chosen.judges_media or algorithm in chosen.media:
        text, classes = _named(chosen, algorithm, algorithms or {})
        custom = validate_classes(classes)
        known = [*chosen.media, *(name for name, one in custom.items() if one.is_media)]
        if base_name(text) not in known:
            what = f"no congestion control for media is called '{base_name(text)}'"
            raise ScenarioError(Fault("algorithm", what, f"write {', '.join(known)}, or a Python file with one"))
        subject = Subject(text, custom)
        outcomes = examine(jobs, subject, workers=workers, progress=progress, keep=keep, reported=frozenset())
        return SuiteResult(suite=chosen, algorithm=subject.algorithm, outcomes=outcomes)
    text, classes = _named(chosen, algorithm, algorithms or {})
    subject = Subject(text, validate_classes(classes))
    outcomes = examine(jobs, subject, workers=workers, progress=progress, keep=keep)
    return SuiteResult(suite=chosen, algorithm=text, outcomes=outcomes)


def _jobs(suite: Suite, cases: Sequence[str], paths: Sequence[str]) -> list[tuple[Case, Path]]:
    """These cases on these paths; all where none is named."""
    jobs = [(case, path) for case in suite.cases for path in case.paths]
    known = [("case", cases, [case.name for case, _ in jobs]), ("path", paths, [path.name for _, path in jobs])]
    for what, named, names in known:
        unknown = [one for one in named if one not in names]
        if unknown:
            hint = f"one of {'; '.join(dict.fromkeys(names))}"
            raise ScenarioError(Fault(what, f"suite '{suite.name}' has no {what} '{unknown[0]}'", hint))
    return [
        (case, path) for case, path in jobs if (case.name in cases or not cases) and (path.name in paths or not paths)
    ]


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


def examine(
    jobs: Sequence[tuple[Case, Path]],
    subject: Subject,
    *,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    keep: bool = False,
    reported: frozenset[str] | None = None,
) -> tuple[Outcome, ...]:
    """The outcomes of cases on paths, in their order. The algorithm reports the values ``reported``; by default a run
    shows which."""
    if reported is None:
        probe = Trial(subject, _PROBE, engine.Cancel())
        reported = probe.run(probe.scenario(_PROBE_S)).names
    # The longest first, so that the threads end together.
    order = sorted(range(len(jobs)), key=lambda index: -jobs[index][1].rate_bps)

    def one(index: int, cancel: engine.Cancel) -> Outcome:
        case, path = jobs[index]
        return _outcome(case, Trial(subject, path, cancel), reported, keep)

    outcomes: dict[int, Outcome] = {}
    with closing(engine.dispatch_all(one, order, workers, progress)) as results:
        for position, outcome in results:
            outcomes[order[position]] = outcome
    return tuple(outcomes[index] for index in range(len(jobs)))


def _outcome(case: Case, trial: Trial, reported: frozenset[str], keep: bool) -> Outcome:
    reason = case.unsuited.get(trial.path.name, "")
    lacking = [name for name in case.values if name not in reported]
    if lacking and not reason:
        reason = f"the algorithm reports no value '{lacking[0]}'"
    if not reason:
        try:
            case.check(trial)
        except NotApplicableError as error:
            reason = str(error)
        except NotObservedError as error:
            trial.statements.append(error.statement)
    if reason:
        return Outcome(case=case, path=trial.path, verdict=Verdict.NOT_APPLICABLE, reason=reason)
    statements = tuple(trial.statements)
    if not statements:
        raise AssertionError(f"case '{case.name}' has no statement")
    trace = trial.trace if keep else None
    return Outcome(case=case, path=trial.path, verdict=verdict(statements), statements=statements, trace=trace)
