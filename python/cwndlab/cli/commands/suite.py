"""``cwndlab suite``: tests algorithms and the transport by standards and by packetdrill scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format
from cwndlab.cli.options import Option, classes_of, command, group
from cwndlab.cli.packetdrill import packetdrill
from cwndlab.cli.progress import progress_bar
from cwndlab.cli.show import show_suite


def _command(name: str) -> Callable[..., None]:
    """The command of a suite."""

    def run(
        algorithm: Annotated[
            str | None,
            Option("NAME|FILE", "An algorithm, or a Python or Rust file with one; by default that of the source."),
        ] = None,
        case: Annotated[list[str] | None, Option("CASE", "Only this case. May be repeated.")] = None,
        path: Annotated[list[str] | None, Option("PATH", "Only this path. May be repeated.")] = None,
        out: Annotated[Path | None, "Write records, qlog and figure of each case."] = None,
        report: Annotated[Path | None, "Write an HTML page."] = None,
        algorithm_file: list[Path] | None = None,
        workers: int | None = None,
        format: Annotated[str, Option("text|json", "How the outcomes are printed.", noun="a format")] = "text",
    ) -> None:
        with progress_bar("cases") as progress:
            result = cwndlab.suites.run(
                name,
                algorithm,
                algorithms=classes_of(algorithm_file),
                workers=workers,
                progress=progress,
                cases=case or (),
                paths=path or (),
                keep=out is not None or report is not None,
            )
        if out is not None:
            result.save(out)
        if report is not None:
            result.report(report)
        show_suite(result, Format.json if format == "json" else Format.table)
        if not result.holds:
            raise typer.Exit(1)

    return run


def add(app: typer.Typer) -> None:
    """Adds the command and its subcommands."""
    suite = group(app, "suite", "Test algorithms and the transport by their sources.")
    for name, one in cwndlab.suites.SUITES.items():
        run = _command(name)
        run.__doc__ = f"{one.title}."
        command(suite, run, f"suite {name} --algorithm mine.py", name=name)
    command(suite, packetdrill, "suite packetdrill known-answers/packetdrill")
