"""Findings on the command line: lines on standard error, and the exit status of ``--strict``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

import cwndlab
from cwndlab.cli.console import say

#: The exit status of a severe finding with ``--strict``: that of a failed run.
_SEVERE = 1


def say_findings(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints the first findings of each kind, the worst kinds first."""
    for line in cwndlab.study.findings.lines(rows):
        say(line)


def judge(rows: Sequence[Mapping[str, Any]], strict: bool) -> None:
    """Ends the command with the status of a failed run if a finding is severe and ``strict`` is set.

    Raises
    ------
    typer.Exit
        A finding is severe.
    """
    if strict and cwndlab.study.findings.is_severe(rows):
        say("a finding is severe (--strict)")
        raise typer.Exit(_SEVERE)
