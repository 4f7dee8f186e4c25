"""``cwndlab validate``: arguments in, `cwndlab.validate` or `cwndlab.validation.kernel` called, tables out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_rows
from cwndlab.cli.options import AlgorithmsOption, FormatOption, WorkersOption, integer_option, listed
from cwndlab.cli.progress import progress_bar
from cwndlab.errors import Fault, ScenarioError

SHARES = ("algorithm", "judged", "hold", "share")


def add(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command(epilog="Example: cwndlab validate --reference known-answers/ns2")
    def validate(
        reference: Annotated[
            list[Path] | None,
            typer.Option(
                "--reference",
                help="Folder of a reference; the bundled ones by default.",
                metavar="DIR",
                show_default=False,
            ),
        ] = None,
        kernel: Annotated[
            bool,
            typer.Option("--kernel", help="Compare with this machine's kernel, through the emulator; takes an hour."),
        ] = False,
        out: Annotated[
            Path | None,
            typer.Option(
                "--out",
                help="With --kernel: folder of its runs, where a second call resumes; kernel-runs by default.",
                metavar="DIR",
                show_default=False,
            ),
        ] = None,
        paths: Annotated[
            str | None,
            typer.Option(
                "--paths", help="With --kernel: names of paths, joined by commas.", metavar="A,B,C", show_default=False
            ),
        ] = None,
        repetitions: Annotated[
            int | None,
            typer.Option(
                "--repetitions",
                help="With --kernel: runs of each; 5 by default.",
                metavar="N",
                show_default=False,
                parser=integer_option("--repetitions", 1),
            ),
        ] = None,
        jobs: Annotated[
            int | None,
            typer.Option(
                "--jobs",
                help="With --kernel: emulations in parallel; two per core by default.",
                metavar="N",
                show_default=False,
                parser=integer_option("--jobs", 1, 4096),
            ),
        ] = None,
        algorithms: AlgorithmsOption = None,
        workers: WorkersOption = None,
        format: FormatOption = Format.table,
    ) -> None:
        """Validate the simulator against reference data.

        With --kernel: against the TCP of this machine's kernel.
        """
        if kernel:
            if reference:
                raise ScenarioError(Fault("--kernel", "has paths of its own, --reference other ones", "leave one out"))

            with progress_bar() as progress:
                verdicts, notes = cwndlab.validation.kernel.campaign(
                    out or Path("kernel-runs"),
                    paths=listed(paths),
                    algorithms=listed(algorithms),
                    repetitions=repetitions,
                    jobs=jobs,
                    workers=workers,
                    progress=progress,
                    say=say,
                )
            write_rows([one.as_dict() for one in verdicts], cwndlab.validation.kernel.COLUMNS, format)
            totals = cwndlab.validation.kernel.shares(verdicts)
        else:
            given = {"--out": out, "--paths": paths, "--repetitions": repetitions, "--jobs": jobs}
            for option in (option for option, value in given.items() if value is not None):
                raise ScenarioError(Fault(option, "belongs to --kernel", "add it, or leave this out"))

            with progress_bar() as progress:
                rows, notes = cwndlab.validate(
                    reference, algorithms=listed(algorithms), progress=progress, workers=workers
                )
            write_rows([row.as_dict() for row in rows], cwndlab.validation.peers.COLUMNS, format)
            totals = cwndlab.validation.peers.shares(rows)
        if format is Format.table:
            write("")
            write_rows(totals, SHARES, format)
        for note in notes:
            say(note)
