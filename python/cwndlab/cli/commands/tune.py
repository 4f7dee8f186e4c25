"""``cwndlab tune``: arguments in, `cwndlab.study.tuning` called, tables out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say
from cwndlab.cli.findings import judge
from cwndlab.cli.options import Argument, classes_of, command
from cwndlab.cli.progress import Stopped, progress_bar
from cwndlab.cli.show import show_tuning
from cwndlab.errors import RunError


def tune(
    file: Annotated[Path, Argument("FILE", "The description of the search, in TOML or Python.")],
    out: Annotated[Path | None, "Folder of the search; FILE.tune by default."] = None,
    trials: Annotated[int | None, "Number of trials, instead of the file's."] = None,
    list_: Annotated[bool, "Print every trial instead of the verdict."] = False,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Format = Format.table,
    strict: bool = False,
) -> None:
    """Search for an algorithm's best parameters.

    The result is evaluated on held-out scenarios. The same command resumes an interrupted search.
    """
    spec = cwndlab.study.tuning.load(file, classes=classes_of(algorithm_file))
    place = out or Path(f"{file.stem}.tune")
    try:
        with progress_bar() as progress:
            result = cwndlab.study.tuning.tune(spec, out=place, trials=trials, workers=workers, progress=progress)
    except RunError:
        # Such as a search in which no trial satisfies the constraints: which ones come near shows how to relax them.
        if list_:
            show_tuning(cwndlab.study.tuning.TuningResult.read(place), format, trials=True)
        raise
    show_tuning(result, format, trials=list_)
    say(f"search: {place}")
    if not result.complete:
        raise Stopped(f"stopped after {len(result.trials)} trials, which are kept; the same command resumes")
    judge(result.findings, strict)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, tune, "tune examples/tune-ccm-ss.toml --trials 20")
