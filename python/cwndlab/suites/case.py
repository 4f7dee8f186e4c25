"""A case of a suite, its outcome on a path, and the declaration of cases by functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cwndlab.suites.paths import Path
from cwndlab.suites.statements import Statement
from cwndlab.suites.trace import Trace
from cwndlab.suites.trial import Trial


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A case: a function that runs scenarios on a path and states what the source says of them.

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
    check: Callable[[Trial], None]
    paths: tuple[Path, ...]
    unsuited: Mapping[str, str] = field(default_factory=dict)
    """Why the case has no meaning on a path, by the name of the path."""
    values: tuple[str, ...] = ()
    """Named values that the algorithm must report."""


def cases(paths: tuple[Path, ...], *basic: str) -> tuple[list[Case], Callable[..., Callable[[Any], Any]]]:
    """A list, and the decorator that adds a function to it as a case.

    The decorator takes name, title and source of the case, ``values``, separated by spaces, beside ``basic``,
    ``unsuited``, and ``paths`` other than these.
    """
    made: list[Case] = []

    def case(
        name: str,
        title: str,
        source: str,
        *,
        values: str = "",
        unsuited: Mapping[str, str] | None = None,
        paths: tuple[Path, ...] = paths,
    ) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
        def add(check: Callable[[Trial], None]) -> Callable[[Trial], None]:
            named = (*basic, *values.split())
            made.append(
                Case(
                    name=name,
                    title=title,
                    source=source,
                    check=check,
                    paths=paths,
                    unsuited=unsuited or {},
                    values=named,
                )
            )
            return check

        return add

    return made, case


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


def verdict(statements: Iterable[Statement]) -> Verdict:
    """The verdict of statements: failed where one does not hold, unless the source contradicts itself there."""
    broken = [one for one in statements if not one.holds]
    if any(not one.contradicts for one in broken):
        return Verdict.FAILED
    return Verdict.CONTRADICTS if broken else Verdict.PASSED
