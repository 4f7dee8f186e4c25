"""``cwndlab check``: the conformance battery."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli import signals
from cwndlab.cli.console import Format, say
from cwndlab.cli.options import (
    FileOption,
    FormatOption,
    WorkersOption,
)
from cwndlab.cli.progress import Stopped, progress_bar
from cwndlab.cli.tables import show_check_reports

if TYPE_CHECKING:
    from cwndlab.validation.conformance import CheckReport


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Algorithms, such as 'cubic+ccm-ss', or Python with classes of your own.",
            metavar="NAME|FILE…",
            show_default=False,
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every algorithm, and every slow start.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Thousands of ACKs instead of 10 million.")] = False,
    algorithm_file: FileOption = None,
    workers: WorkersOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Hold an algorithm against the rules that all keep."""
    texts, classes = cwndlab.validation.conformance.select(names or (), everything=all_, files=algorithm_file or ())
    found: dict[int, CheckReport] = {}
    told = 0
    # Where a bar moves on the same terminal, rows in between would break it.
    early = format is Format.csv and not sys.stdout.isatty()
    stop: Stopped | None = None
    try:
        with progress_bar("algorithms") as progress:
            answers = cwndlab.validation.conformance.check_many(
                texts, quick=quick, workers=workers, progress=progress, algorithms=classes
            )
            # Ctrl-C in this block stops what still runs, such as a class that loops for ever.
            with closing(answers):
                for index, examined in answers:
                    found[index] = examined
                    while early and told in found:
                        # An interrupt between the two would print the row twice.
                        with signals.postponed():
                            show_check_reports([found[told]], format, begins=told == 0)
                            told += 1
    except Stopped:
        stop = Stopped(f"stopped; {len(found)} of {len(texts)} algorithms were examined")
    show_check_reports([found[index] for index in sorted(found) if index >= told], format, begins=told == 0)
    for index in sorted(found):
        for note in found[index].notes:
            say(note)
    if stop is not None:
        raise stop
    if not all(examined.holds for examined in found.values()):
        raise typer.Exit(1)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example: cwndlab check cubic+ccm-ss mine.py")(check)
