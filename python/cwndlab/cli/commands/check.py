"""``cwndlab check``: the conformance battery."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli import signals
from cwndlab.cli.console import Format, say
from cwndlab.cli.options import Argument, command
from cwndlab.cli.progress import Stopped, progress_bar
from cwndlab.cli.show import show_check_reports

if TYPE_CHECKING:
    from cwndlab.validation.conformance import CheckReport


def check(
    names: Annotated[
        list[str] | None,
        Argument("NAME|FILE…", "Algorithms, such as 'cubic+ccm-ss', or Python or Rust files with your own."),
    ] = None,
    all_: Annotated[bool, "Check every algorithm and every slow start."] = False,
    quick: Annotated[bool, "Fewer ACKs: thousands instead of 10 million."] = False,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Format = Format.table,
) -> None:
    """Check algorithms against the conformance rules.

    Every algorithm keeps these rules, for example a window of at least one segment after every event.
    """
    texts, classes = cwndlab.validation.conformance.select(names or (), everything=all_, files=algorithm_file or ())
    reports: dict[int, CheckReport] = {}
    printed = 0
    # Rows printed between updates would break a bar on the same terminal.
    early = format is Format.csv and not sys.stdout.isatty()
    stop: Stopped | None = None
    try:
        with progress_bar("algorithms") as progress:
            results = cwndlab.validation.conformance.check_many(
                texts, quick=quick, workers=workers, progress=progress, algorithms=classes
            )
            # Ctrl-C in this block stops what still runs, such as a class that loops forever.
            with closing(results):
                for index, report in results:
                    reports[index] = report
                    while early and printed in reports:
                        # An interrupt between the two would print the row twice.
                        with signals.postponed():
                            show_check_reports([reports[printed]], format, begins=printed == 0)
                            printed += 1
    except Stopped:
        stop = Stopped(f"stopped; {len(reports)} of {len(texts)} algorithms were examined")
    show_check_reports([reports[index] for index in sorted(reports) if index >= printed], format, begins=printed == 0)
    for index in sorted(reports):
        for note in reports[index].notes:
            say(note)
    if stop is not None:
        raise stop
    if not all(report.holds for report in reports.values()):
        raise typer.Exit(1)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, check, "check cubic+ccm-ss mine.py")
