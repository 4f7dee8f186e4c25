"""Statements of a source on a run: most compare an observed value with the prescribed one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
    """An event of a case did not occur: the case ends with a failed statement."""

    def __init__(self, source: str, text: str, got: str, at: float | None = None) -> None:
        super().__init__(text)
        self.statement = Statement(text=text, source=source, holds=False, expected="it occurs", got=got, at_s=at)


def number(value: float | bool) -> str:
    """A number for people.

    >>> number(0.5), number(3.0), number(True)
    ('0.5', '3', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}"
