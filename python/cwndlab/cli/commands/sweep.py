"""``cwndlab sweep``: arguments in, `cwndlab.study.sweeps` called, tables out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_json, write_rows, write_table
from cwndlab.cli.options import FileOption, FormatOption, SetOption, WorkersOption, changes_of, classes_of
from cwndlab.cli.progress import Stopped, progress_bar, stopped
from cwndlab.errors import Fault, RunError, ScenarioError

if TYPE_CHECKING:
    from cwndlab.study.sweeps.cluster import Cluster
    from cwndlab.study.sweeps.execution import Outcome
    from cwndlab.study.sweeps.spec import Sweep

# Wall-clock time over that of free cores, from which on a dry run tells it.
_CROWDED = 1.25


def add(app: typer.Typer) -> None:
    """Adds the command."""

    @app.command(epilog="Example: cwndlab sweep examples/sweep.toml --out out/sweep")
    def sweep(
        file: Annotated[Path, typer.Argument(help="A sweep in TOML or Python.", metavar="FILE", show_default=False)],
        out: Annotated[
            str | None,
            typer.Option(
                "--out",
                help="Folder or URL for the rows; FILE.sweep by default.",
                metavar="DIR|URL",
                show_default=False,
            ),
        ] = None,
        cluster: Annotated[
            str | None,
            typer.Option(
                "--cluster", help="tcp://host:port, local:N or slurm:…", metavar="CLUSTER", show_default=False
            ),
        ] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell runs, packets and hours; run nothing.")] = False,
        show: Annotated[bool, typer.Option("--show", help="Print what is there; run nothing.")] = False,
        metrics: Annotated[
            str | None,
            typer.Option("--metrics", help="What is shown, joined by commas.", metavar="A,B", show_default=False),
        ] = None,
        pivot: Annotated[
            str | None,
            typer.Option(
                "--pivot", help="The first metric over two fields.", metavar="ROWS,COLUMNS", show_default=False
            ),
        ] = None,
        set_: SetOption = None,
        algorithm_file: FileOption = None,
        workers: WorkersOption = None,
        format: FormatOption = Format.table,
    ) -> None:
        """Run scenarios × algorithms × seeds, and go on where it was killed."""
        place = out or f"{file.stem}.sweep"
        names = [name.strip() for name in metrics.split(",")] if metrics else None
        if show:
            _show(place, names, pivot, format)
            return
        question = _question(file, set_, algorithm_file)
        where = _cluster(cluster, question)
        if dry_run:
            _dry_run(question, place, where, workers, format)
            return
        outcome = _run(question, place, where, workers)
        if outcome.finished:
            _show(place, names, pivot, format)
        say(f"rows: {place}")
        for job, what in outcome.failed[:5]:
            say(f"cell {job.cell}, seed {job.seed}: {what}")
        if outcome.stopped:
            raise Stopped(stopped(outcome.finished, outcome.total, place) + "; the same command goes on")
        if outcome.failed:
            what = f"{len(outcome.failed)} of {outcome.total} runs failed"
            raise RunError(Fault("sweep", what, "the same command tries them again"))


def _question(file: Path, changes: list[str] | None, algorithm_files: list[Path] | None) -> Sweep:
    return cwndlab.study.sweeps.read(file, changes=changes_of(changes), classes=classes_of(algorithm_files))


def _cluster(text: str | None, question: Sweep) -> cwndlab.study.sweeps.cluster.Cluster | None:
    if text is None:
        return None

    if question.base.classes:
        names = ", ".join(question.base.classes)
        hint = "leave out --cluster, or write the algorithm in Rust"
        raise ScenarioError(Fault("--cluster", f"a class of your own ({names}) runs in this process only", hint))
    return cwndlab.study.sweeps.cluster.Cluster.parse(text)


def _run(question: Sweep, place: str, cluster: Cluster | None, workers: int | None) -> Outcome:
    with progress_bar() as progress:
        if cluster is None:
            return cwndlab.study.sweeps.sweep(question, out=place, workers=workers, progress=progress, say=say)

        question.cells()  # faults are told before anything is started
        with cwndlab.study.sweeps.cluster.connected(cluster) as client:
            patience = float("inf") if cluster.kind == "slurm" else 30.0
            executor = cwndlab.study.sweeps.cluster.on(client, patience_s=patience)
            return cwndlab.study.sweeps.sweep(question, out=place, executor=executor, progress=progress, say=say)


def _dry_run(question: Sweep, place: str, cluster: Cluster | None, workers: int | None, format: Format) -> None:

    cells, todo = cwndlab.study.sweeps.execution.left(question, place)
    count = _workers_of(cluster) if cluster is not None else workers or cwndlab.engine.available_cores()
    found = cwndlab.study.sweeps.estimate.estimate(question, cells, todo, workers=count)
    if format is not Format.table:
        rows: list[dict[str, Any]] = [found.as_dict()]
        write_rows(rows, tuple(rows[0]), format)
        return
    total = found.cells * question.most
    lines = [
        ("cells", f"{found.cells:,}"),
        ("runs", f"{found.runs:,}" + (f", at most {total:,}" if question.until else "")),
        ("left to run", f"{found.left:,}"),
        ("packets", f"{found.packets:.3g}"),
        ("CPU", f"{_span(found.cpu_s)}"),
        (f"on {count} core{'s' if count > 1 else ''}", _span(found.cpu_s / count)),
    ]
    write_table(lines, ("this sweep", ""), right=("",))
    which = "all cells were" if found.calibrated == found.cells else f"{found.calibrated} of them were"
    say(f"{which} run for a moment ({found.calibration_s:.1f} s) to tell what a run and a packet cost here")
    if cluster is None and found.crowding > _CROWDED:
        took = _span(found.cpu_s / count * found.crowding)
        say(f"others use these cores: as long as they do as much as just now, it takes {took}")
    if cluster is not None and cluster.kind == "slurm":
        write("\n" + cluster.script().rstrip())


def _workers_of(cluster: Cluster) -> int:
    """Cores of a cluster: those that were asked for, or those that a scheduler has."""
    if cluster.kind != "address":
        return cluster.workers

    with cwndlab.study.sweeps.cluster.connected(cluster) as client:
        count: int = sum(client.nthreads().values())
    return max(1, count)


def _span(seconds: float) -> str:
    """A time for people."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _show(place: str, metrics: list[str] | None, pivot: str | None, format: Format) -> None:

    names = tuple(metrics or cwndlab.study.sweeps.tables.SHOWN)
    found = cwndlab.study.sweeps.tables.summary(place, names)
    if not found:
        say(f"{place}: no run has ended yet")
        return
    title, missing = cwndlab.study.sweeps.note(place)
    if title and format is Format.table:
        say(title)
    if missing:
        say(f"{place}: {missing}")
    if pivot is not None:
        rows, comma, columns = (part.strip() for part in pivot.partition(","))
        if not comma:
            raise ScenarioError(Fault("--pivot", f"'{pivot}' names no two fields", "write --pivot rate,rtt"))
        header, cells = cwndlab.study.sweeps.tables.pivot(found, rows, columns, names[0])
        if means := cwndlab.study.sweeps.tables.averaged(found, rows, columns):
            say(means)
        if format is Format.table:
            say(cwndlab.study.sweeps.tables.heading(names[0]))
            write_table(cells, header, right=header[1:])
            return
        write_rows([dict(zip(header, line, strict=True)) for line in cells], header, format)
        return
    if format is Format.json:
        write_json(found)
    elif format is Format.csv:
        write_rows(found, tuple(found[0]), format)
    else:
        header, cells = cwndlab.study.sweeps.tables.table(found, names)
        write_table(cells, header, right=header[-len(names) - 1 :])
