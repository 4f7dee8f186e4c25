"""Findings: what a run, or a study of runs, reports about itself.

The engine writes the findings of a run into the table ``findings`` of its records; those on several runs are made here
and in `cwndlab.study`. ``docs/records.md`` lists all codes with their conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from cwndlab.engine import finding_codes

__all__ = ["SEVERITIES", "codes", "counts", "finding", "is_severe", "lines", "merged"]

Row = dict[str, Any]

#: The severities, the worst first.
SEVERITIES = ("severe", "warning", "note")

#: The number of findings shown per code.
_MOST = 3


@cache
def codes() -> dict[str, Row]:
    """Severity and condition of each code.

    Returns
    -------
    dict
        By code: ``severity`` (``"note"``, ``"warning"`` or ``"severe"``) and ``condition``.

    Examples
    --------
    >>> codes()["hang"]["severity"]
    'severe'
    """
    return {row["code"]: row for row in finding_codes()}


def finding(code: str, text: str, *, flow: int | None = None, link: int | None = None) -> Row:
    """A finding as a row of the table ``findings``.

    Raises
    ------
    KeyError
        No finding has this code.

    Examples
    --------
    >>> finding("equal-results", "reno and cubic give the same results")["severity"]
    'warning'
    """
    severity = codes()[code]["severity"]
    return {"code": code, "severity": severity, "flow": flow, "link": link, "time_ns": None, "text": text}


def counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The number of findings by severity, the worst first.

    Examples
    --------
    >>> counts([finding("hang", "flow-0 sent nothing")])
    {'severe': 1, 'warning': 0, 'note': 0}
    """
    found = [row["severity"] for row in rows]
    return {severity: found.count(severity) for severity in SEVERITIES}


def is_severe(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a finding is severe."""
    return any(row["severity"] == "severe" for row in rows)


def merged(rows: Sequence[Mapping[str, Any]], most: int = _MOST) -> list[Row]:
    """The findings that are shown: the first ``most`` of each code, and how many more there are.

    Returns
    -------
    list of dict
        ``code``, ``severity``, ``text``; the worst first.

    Examples
    --------
    >>> [row["text"] for row in merged([finding("hang", f"flow-{n} sent nothing") for n in range(5)])][2:]
    ['flow-2 sent nothing', 'and 2 more of this kind']
    """
    by_code: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: SEVERITIES.index(row["severity"])):
        by_code.setdefault(row["code"], []).append(row)
    result = []
    for code, members in by_code.items():
        texts = [str(row["text"]) for row in members[:most]]
        if len(members) > most:
            texts.append(f"and {len(members) - most} more of this kind")
        result += [{"code": code, "severity": members[0]["severity"], "text": text} for text in texts]
    return result


def lines(rows: Sequence[Mapping[str, Any]], most: int = _MOST) -> list[str]:
    """The findings as lines of text.

    Examples
    --------
    >>> lines([finding("no-random-element", "all seeds gave the same run")])
    ['note: all seeds gave the same run (no-random-element)']
    """
    return [f"{row['severity']}: {row['text']} ({row['code']})" for row in merged(rows, most)]
