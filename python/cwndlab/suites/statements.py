"""Statements of a source on a run: most compare an observed value with the prescribed one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf, isclose
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of a source on a run, and whether it holds.

    Examples
    --------
    >>> import cwndlab
    >>> result = cwndlab.suites.run("rfc9438", "cubic-8312", cases=["reno-friendly"])
    >>> [(one.source, one.expected) for outcome in result.outcomes for one in outcome.failures]
    [('section 4.3: α is 1 once W_est ≥ cwnd_prior', '1 ± 15 %')]
    """

    text: str
    source: str
    holds: bool
    expected: str
    got: str
    at_s: float | None = None
    """Time of the observation, seconds; none for one of the whole run."""
    contradicts: str = ""
    """The part of the source that prescribes otherwise; empty if there is none."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


class NotApplicableError(Exception):
    """A case does not apply to an algorithm on a path; the text is the reason."""


class NotObservedError(Exception):
    """An event of a case did not occur: the run of the case ends with a failed statement."""

    def __init__(self, statement: Statement) -> None:
        super().__init__(statement.text)
        self.statement = statement


def number(value: float | bool) -> str:
    """A number for people.

    >>> number(0.5), number(3.0), number(True)
    ('0.5', '3', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}"


def holds(
    source: str,
    text: str,
    condition: bool,
    *,
    expected: str,
    got: str,
    at_s: float | None = None,
    contradicts: str = "",
) -> Statement:
    """A statement that holds where ``condition`` does."""
    return Statement(
        text=text,
        source=source,
        holds=bool(condition),
        expected=expected,
        got=got,
        at_s=at_s,
        contradicts=contradicts,
    )


def equals(
    source: str,
    text: str,
    got: float,
    expected: float,
    *,
    within: float = 0.0,
    relative: float = 0.0,
    at_s: float | None = None,
    contradicts: str = "",
) -> Statement:
    """A value equals the prescribed one, up to an absolute or a relative difference."""
    same = got == expected or isclose(got, expected, rel_tol=max(relative, 1e-9), abs_tol=within)
    margin = f" ± {number(within)}" if within else f" ± {number(100 * relative)} %" if relative else ""
    return holds(
        source, text, same, expected=number(expected) + margin, got=number(got), at_s=at_s, contradicts=contradicts
    )


def between(
    source: str,
    text: str,
    got: float,
    low: float,
    high: float,
    *,
    at_s: float | None = None,
    contradicts: str = "",
) -> Statement:
    """A value lies between two bounds, both included; an infinite bound is none."""
    if low == -inf:
        expected = f"at most {number(high)}"
    elif high == inf:
        expected = f"at least {number(low)}"
    else:
        expected = f"{number(low)} to {number(high)}"
    condition = low <= got <= high
    return holds(source, text, condition, expected=expected, got=number(got), at_s=at_s, contradicts=contradicts)


def at_most(
    source: str, text: str, got: float, high: float, *, at_s: float | None = None, contradicts: str = ""
) -> Statement:
    """A value is not above a bound."""
    return between(source, text, got, -inf, high, at_s=at_s, contradicts=contradicts)


def at_least(
    source: str, text: str, got: float, low: float, *, at_s: float | None = None, contradicts: str = ""
) -> Statement:
    """A value is not below a bound."""
    return between(source, text, got, low, inf, at_s=at_s, contradicts=contradicts)


def unseen(source: str, text: str, got: str, at_s: float | None = None) -> NotObservedError:
    """The error of an event that a case waits for and that does not occur."""
    return NotObservedError(holds(source, text, False, expected="it occurs", got=got, at_s=at_s))
