"""Runs the cases of a suite on threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from cwndlab import engine
from cwndlab.custom import CustomAlgorithm
from cwndlab.suites.bench import Bench, Subject
from cwndlab.suites.case import Case, Outcome, Suite, Verdict, verdict
from cwndlab.suites.paths import Path
from cwndlab.suites.statements import NotApplicableError, NotObservedError, Statement
from cwndlab.suites.trace import Trace

#: The path and the duration of the run that shows which values an algorithm reports.
_PROBE = Path("probe", 1e6, 0.02)
_PROBE_S = 1.0


@dataclass(frozen=True, kw_only=True)
class SuiteResult:
    """The outcomes of a suite for one algorithm.

    Examples
    --------
    >>> import cwndlab
    >>> result = cwndlab.suites.run("rfc5681", cases=["fast-recovery"])
    >>> result.holds, result.count(cwndlab.suites.Verdict.PASSED)
    (True, 1)
    """

    suite: Suite
    algorithm: str
    outcomes: tuple[Outcome, ...]

    def count(self, verdict: Verdict) -> int:
        """The number of outcomes with a verdict."""
        return sum(one.verdict is verdict for one in self.outcomes)

    @property
    def holds(self) -> bool:
        """No case failed."""
        return self.count(Verdict.FAILED) == 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "suite": self.suite.name,
            "source": self.suite.source,
            "algorithm": self.algorithm,
            "counts": {str(one): self.count(one) for one in Verdict},
            "outcomes": [one.as_dict() for one in self.outcomes],
        }


def run_suite(
    suite: Suite,
    algorithm: str,
    classes: Mapping[str, CustomAlgorithm],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    keep: bool = False,
) -> SuiteResult:
    """Runs every case of a suite on each of its paths.

    Parameters
    ----------
    suite
        The suite.
    algorithm
        The text of the algorithm, as a flow names it.
    classes
        Custom classes by the names that ``algorithm`` may use.
    workers
        Number of threads, by default one per core.
    progress
        Is called with the number of finished jobs and that of all jobs.
    keep
        Keep the run of each case in its outcome.
    """
    subject = Subject(algorithm, classes)
    bench = Bench(subject, _PROBE, engine.Cancel())
    reported = bench.run(bench.scenario(_PROBE_S)).names
    jobs = [(case, path) for case in suite.cases for path in case.paths]
    # The longest first, so that the threads end together.
    order = sorted(range(len(jobs)), key=lambda index: -jobs[index][1].rate_bps)

    def examine(index: int, cancel: engine.Cancel) -> Outcome:
        case, path = jobs[index]
        return _examine(case, Bench(subject, path, cancel), reported, keep)

    outcomes: dict[int, Outcome] = {}
    with closing(engine.dispatch_all(examine, order, workers, progress)) as results:
        for position, outcome in results:
            outcomes[order[position]] = outcome
    return SuiteResult(suite=suite, algorithm=algorithm, outcomes=tuple(outcomes[index] for index in range(len(jobs))))


def _examine(case: Case, bench: Bench, reported: frozenset[str], keep: bool) -> Outcome:
    reason = case.unsuited.get(bench.path.name, "") or _unreported(case.values, reported) or case.applies(bench)
    if reason:
        return _inapplicable(case, bench.path, reason)
    trace: Trace | None = None
    statements: list[Statement] = []
    try:
        setup = case.scenario(bench)
        trace = bench.run(setup.scenario, setup.moments)
        trace.earlier = dict(setup.earlier)
        for statement in case.check(trace):
            statements.append(statement)
    except NotApplicableError as error:
        return _inapplicable(case, bench.path, str(error))
    except NotObservedError as error:
        statements.append(error.statement)
    if not statements:
        raise AssertionError(f"case '{case.name}' has no statement")
    return Outcome(
        case=case,
        path=bench.path,
        verdict=verdict(statements),
        statements=tuple(statements),
        trace=trace if keep else None,
    )


def _unreported(values: Sequence[str], reported: frozenset[str]) -> str:
    lacking = [name for name in values if name not in reported]
    return f"the algorithm reports no value '{lacking[0]}'" if lacking else ""


def _inapplicable(case: Case, path: Path, reason: str) -> Outcome:
    return Outcome(case=case, path=path, verdict=Verdict.NOT_APPLICABLE, reason=reason)
