"""A case of a suite: a scenario on several paths, and statements on its run with their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cwndlab.suites.bench import Bench
from cwndlab.suites.paths import Path
from cwndlab.suites.statements import Statement
from cwndlab.suites.trace import Trace


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The run of a case: a scenario as plain values, and times that its check needs."""

    scenario: dict[str, Any]
    moments: Mapping[str, float] = field(default_factory=dict)
    earlier: Mapping[str, Trace] = field(default_factory=dict)
    """Runs that led to the scenario, by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A case: how its scenario is made, and how its run is checked.

    Examples
    --------
    >>> import cwndlab
    >>> case = cwndlab.suites.suite("rfc9438").cases[0]
    >>> case.name, case.source
    ('beta', 'section 4.6')
    """

    name: str
    title: str
    source: str
    scenario: Callable[[Bench], Setup]
    check: Callable[[Trace], Iterable[Statement]]
    paths: tuple[Path, ...]
    unsuited: Mapping[str, str] = field(default_factory=dict)
    """Why the case has no meaning on a path, by the name of the path."""
    values: tuple[str, ...] = ()
    """Named values that the algorithm must report."""
    applies: Callable[[Bench], str] = lambda _: ""
    """The reason for which the case does not apply to the algorithm; empty if it does."""


class Verdict(StrEnum):
    """The result of a case on a path.

    Examples
    --------
    >>> import cwndlab
    >>> [str(one) for one in cwndlab.suites.Verdict]
    ['passed', 'failed', 'not applicable', 'contradicts']
    """

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    CONTRADICTS = "contradicts"
    """The algorithm does what one part of the source says, and the case says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a case on a path.

    Examples
    --------
    >>> import cwndlab
    >>> result = cwndlab.suites.run("rfc9438", "reno", cases=["beta"])
    >>> print(result.outcomes[0].reason)
    the algorithm reports no value 'w_max_segments'
    """

    case: Case
    path: Path
    verdict: Verdict
    statements: tuple[Statement, ...] = ()
    reason: str = ""
    """Why the case is not applicable."""
    trace: Trace | None = None
    """The run of the case, where it was kept."""

    @property
    def failures(self) -> tuple[Statement, ...]:
        """The statements that do not hold."""
        return tuple(one for one in self.statements if not one.holds)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "case": self.case.name,
            "title": self.case.title,
            "source": self.case.source,
            "path": self.path.name,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "statements": [one.as_dict() for one in self.statements],
        }


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A list of cases from one source.

    Examples
    --------
    >>> import cwndlab
    >>> suite = cwndlab.suites.SUITES["rfc9937"]
    >>> suite.reference, len(suite.cases)
    ('reno', 5)
    """

    name: str
    title: str
    source: str
    cases: tuple[Case, ...]
    reference: str
    """The algorithm of the catalogue that implements the source."""


def verdict(statements: Iterable[Statement]) -> Verdict:
    """The verdict of statements: failed where one does not hold, unless the source contradicts itself there."""
    broken = [one for one in statements if not one.holds]
    if any(not one.contradicts for one in broken):
        return Verdict.FAILED
    return Verdict.CONTRADICTS if broken else Verdict.PASSED
