"""``cwndlab validate``: arguments in, a campaign of `cwndlab.validation` called, tables out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_rows
from cwndlab.cli.options import Option, command, listed
from cwndlab.cli.progress import progress_bar
from cwndlab.errors import Fault, ScenarioError

SHARES = ("algorithm", "judged", "hold", "share")


def validate(
    reference: Annotated[
        list[Path] | None, Option("DIR", "Folder of a reference; the bundled ones by default.")
    ] = None,
    kernel: Annotated[
        bool, Option(help="Compare with this machine's kernel, through the emulator; takes an hour.")
    ] = False,
    linux: Annotated[
        bool, Option(help="Compare with Linux in virtual time (docs/linux.md), over the same paths.")
    ] = False,
    beside: Annotated[
        Path | None, Option("FILE", "With --linux: judge these kernels, not the simulator, beside a machine's runs.")
    ] = None,
    out: Annotated[
        Path | None,
        "With --kernel or --linux: folder of the runs, where a second call resumes; kernel-runs or linux-runs.",
    ] = None,
    path_file: Annotated[
        Path | None, Option("FILE", "With --kernel or --linux: other paths than the bundled ones, in the same form.")
    ] = None,
    paths: Annotated[str | None, Option("A,B,C", "With --kernel or --linux: names of paths, joined by commas.")] = None,
    repetitions: Annotated[int | None, "With --kernel or --linux: runs of each; 5 by default."] = None,
    jobs: Annotated[
        int | None, Option("N", "With --kernel: emulations in parallel; two per core by default.", least=1, most=4096)
    ] = None,
    algorithms: str | None = None,
    workers: int | None = None,
    format: Format = Format.table,
) -> None:
    """Validate the simulator against reference data.

    With --kernel: against the TCP of this machine's kernel. With --linux: against kernels that run in virtual time.
    """
    if beside is not None and not linux:
        raise ScenarioError(Fault("--beside", "belongs to --linux", "add it, or leave out this option"))
    if linux or kernel:
        excluded: dict[str, object] = {"--reference": reference}
        if linux:
            excluded |= {"--kernel": kernel, "--jobs": jobs}
        for option in (option for option, value in excluded.items() if value):
            raise ScenarioError(Fault(option, f"excludes {'--linux' if linux else '--kernel'}", "leave out one"))

        if linux:
            campaign, default = partial(cwndlab.validation.linux.campaign, beside=beside), "linux-runs"
        else:
            campaign, default = partial(cwndlab.validation.kernel.campaign, jobs=jobs), "kernel-runs"
        with progress_bar() as progress:
            verdicts, notes = campaign(
                out or Path(default),
                paths=listed(paths),
                algorithms=listed(algorithms),
                repetitions=repetitions,
                workers=workers,
                file=path_file,
                progress=progress,
                say=say,
            )
        write_rows([one.as_dict() for one in verdicts], cwndlab.validation.kernel.COLUMNS, format)
        totals = cwndlab.validation.kernel.shares(verdicts)
    else:
        given = {"--out": out, "--paths": paths, "--repetitions": repetitions, "--jobs": jobs}
        for option in (option for option, value in given.items() if value is not None):
            raise ScenarioError(Fault(option, "belongs to --kernel or --linux", "add it, or leave out this option"))

        with progress_bar() as progress:
            rows, notes = cwndlab.validate(reference, algorithms=listed(algorithms), progress=progress, workers=workers)
        write_rows([row.as_dict() for row in rows], cwndlab.validation.peers.COLUMNS, format)
        totals = cwndlab.validation.peers.shares(rows)
    if format is Format.table:
        write("")
        write_rows(totals, SHARES, format)
    for note in notes:
        say(note)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, validate, "validate --reference known-answers/ns2")
