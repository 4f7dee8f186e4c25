"""``cwndlab assess``: a dossier by RFC 9743."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say
from cwndlab.cli.options import Argument, Option, classes_of, command
from cwndlab.cli.progress import progress_bar
from cwndlab.cli.show import show_dossier
from cwndlab.errors import Fault, RunError, ScenarioError

#: The exit status if a row got worse: that of a failed run.
_WORSE = 1


def assess(
    algorithm: Annotated[str, Argument("ALGORITHM|FILE", "An algorithm, or a file in Python or Rust with one.")],
    quick: Annotated[bool, Option(help="8 cells in place of 125 of each surface, 5 seeds in place of 10.")] = False,
    section: Annotated[list[str] | None, Option("N", "Only this section of the RFC. May be repeated.")] = None,
    seeds: Annotated[int | None, Option("N", "Seeds of each cell.", least=2, most=1000)] = None,
    against: Annotated[
        Path | None, Option("DIR", "An earlier dossier of the same cells: exit with status 1 if a row got worse.")
    ] = None,
    out: Annotated[Path | None, "Folder for JSON, Markdown, HTML, worst cells and runs; a second call resumes."] = None,
    emulate: Annotated[
        bool, Option(help="Also run a few cells between real kernels, for some 13 minutes (root; Linux).")
    ] = False,
    linux: Annotated[
        bool, Option(help="Also run a few cells between Linux kernels in virtual time (`make linux`).")
    ] = False,
    quic: Annotated[
        bool, Option(help="Also run a few cells in a QUIC stack, in virtual time (`make hosts ONLY=cwndlab`).")
    ] = False,
    live: Annotated[
        list[Path] | None, Option("DIR", "A campaign of `cwndlab measure` with the algorithm. May be repeated.")
    ] = None,
    perturb: bool | None = None,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Annotated[str, Option("table|markdown|json", "The format of standard output.", noun="a format")] = "table",
) -> None:
    """Assess an algorithm by the criteria of RFC 9743."""
    earlier = None if against is None else cwndlab.assessment.Dossier.read(against)
    if against is not None and out is not None and against.resolve() == out.resolve():
        raise ScenarioError(
            Fault("--out", "is the folder of --against, which would be replaced", "name another folder")
        )
    if emulate:
        _become_root()
    with progress_bar() as progress:
        dossier = cwndlab.assess(
            algorithm,
            quick=quick,
            sections=section or (),
            seeds=seeds,
            out=out,
            workers=workers,
            progress=progress,
            algorithms=classes_of(algorithm_file),
            perturb=perturb is not False,
            emulate=emulate,
            linux=linux,
            quic=quic,
            live=live or (),
        )
    show_dossier(dossier, Format(format))
    if out is not None:
        say(f"dossier: {out}")
    if earlier is not None and (worse := dossier.worsened(earlier)):
        for line in worse:
            say(f"worse than before: {line}")
        raise typer.Exit(_WORSE)


def _become_root() -> None:
    """Before Polars starts threads; a machine that refuses it cannot do what the option says."""
    try:
        cwndlab.emulation.become_root()
    except RunError as error:
        raise ScenarioError(*error.faults) from None


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, assess, "assess bbr3 --quick --out dossier")
