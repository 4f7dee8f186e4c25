"""``cwndlab matrix``: every algorithm in the same settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say
from cwndlab.cli.findings import judge
from cwndlab.cli.options import PLACE, TABLE_FORMAT, algorithms_of, command
from cwndlab.cli.progress import Stopped, progress_bar, stopped
from cwndlab.cli.show import show_result
from cwndlab.errors import Fault, ScenarioError


def matrix(
    algorithms: str | None = None,
    seed: int = 1,
    perturb: bool | None = None,
    algorithm_file: list[Path] | None = None,
    out: Annotated[str | None, PLACE] = None,
    report: Path | None = None,
    workers: int | None = None,
    format: Annotated[Format, TABLE_FORMAT] = Format.table,
    strict: bool = False,
) -> None:
    """Run every algorithm in the same settings."""
    names, classes = algorithms_of(algorithms, algorithm_file)
    if algorithms is not None and not names:
        hint = "write --algorithms cubic,reno, or leave it out for all of them"
        raise ScenarioError(Fault("--algorithms", f"'{algorithms}' names no algorithm", hint))
    with progress_bar() as progress:
        result = cwndlab.study.matrix.matrix(
            names or list(classes) or None,
            seed=seed,
            out=out,
            workers=workers,
            progress=progress,
            classes=classes,
            perturb=bool(perturb),
        )
    if report is not None:
        cwndlab.report(result, report)
    show_result(result, format)
    for what, place in (("rows", out), ("report", report)):
        if place is not None:
            say(f"{what}: {place}")
    if result.outcome.stopped:
        raise Stopped(stopped(len(result.runs), result.outcome.total, out))
    judge(result.findings_of(), strict)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, matrix, "matrix --algorithms vegas,bbr1")
