"""``cwndlab sweep``: scenarios × algorithms × seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say, span, write, write_rows
from cwndlab.cli.findings import judge
from cwndlab.cli.options import PLACE, TABLE_FORMAT, Argument, Option, changes_of, classes_of, command
from cwndlab.cli.progress import Stopped, progress_bar, stopped
from cwndlab.cli.show import FORMS, show_result, write_cells
from cwndlab.errors import Fault, RunError, ScenarioError

if TYPE_CHECKING:
    from cwndlab.study.cluster import Cluster
    from cwndlab.study.result import Result
    from cwndlab.study.sweeps import Sweep

# A dry run reports the load of other processes if the wall-clock time exceeds that of free cores by this factor.
_CROWDED = 1.25


def sweep(
    file: Annotated[Path, Argument("FILE", "The description of the sweep, in TOML or Python.")],
    out: Annotated[str | None, PLACE._replace(help="Folder or URL for the rows; FILE.sweep by default.")] = None,
    cluster: Annotated[str | None, Option("CLUSTER", "Run on Dask: tcp://host:port, local:N or slurm:…")] = None,
    dry_run: Annotated[bool, "Estimate packets and hours; run nothing."] = False,
    show: Annotated[bool, "Print the rows in --out; run nothing."] = False,
    metrics: Annotated[str | None, Option("A,B", "Metrics to show, joined by commas.")] = None,
    pivot: Annotated[str | None, Option("ROWS,COLUMNS", "Print the first metric over two fields.")] = None,
    perturb: bool | None = None,
    set_: list[str] | None = None,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Annotated[Format, TABLE_FORMAT] = Format.table,
    strict: bool = False,
) -> None:
    """Run scenarios × algorithms × seeds.

    The same command resumes an interrupted sweep.
    """
    place = out or f"{file.stem}.sweep"
    names = [name.strip() for name in metrics.split(",")] if metrics else None
    if show:
        show_result(cwndlab.Result.read(place), format, names, pivot=pivot)
        return
    spec = cwndlab.study.sweeps.read(file, changes=changes_of(set_), classes=classes_of(algorithm_file))
    spec = spec.perturbed(perturb)
    where = _cluster(cluster, spec)
    if dry_run:
        _dry_run(spec, place, where, workers, format)
        return
    # The runs may take hours, and the table is printed after them.
    cwndlab.study.sweeps.run.check_shown(spec, names, pivot)
    result = _run(spec, place, where, workers)
    outcome = result.outcome
    if outcome.finished:
        show_result(result, format, names, pivot=pivot)
    say(f"rows: {place}")
    for job, error in outcome.failed[:5]:
        say(f"cell {job.point}, seed {job.seed}: {error}")
    if outcome.stopped:
        raise Stopped(stopped(outcome.finished, outcome.total, place) + "; the same command resumes")
    if outcome.failed:
        what = f"{len(outcome.failed)} of {outcome.total} runs failed"
        raise RunError(Fault("sweep", what, "the same command retries them"))
    judge(result.findings_of(), strict)


def _cluster(text: str | None, spec: Sweep) -> Cluster | None:
    if text is None:
        return None
    if spec.base.classes:
        names = ", ".join(spec.base.classes)
        hint = "leave out --cluster, or write the algorithm in Rust"
        raise ScenarioError(Fault("--cluster", f"a custom class ({names}) runs in this process only", hint))
    return cwndlab.study.cluster.Cluster.parse(text)


def _run(spec: Sweep, place: str, cluster: Cluster | None, workers: int | None) -> Result:
    with progress_bar() as progress:
        if cluster is None:
            return cwndlab.sweep(spec, out=place, workers=workers, progress=progress, message=say)
        spec.points()  # faults are reported before anything is started
        with cwndlab.study.cluster.connected(cluster) as client:
            patience = float("inf") if cluster.kind == "slurm" else 30.0
            executor = cwndlab.study.cluster.on(client, patience_s=patience)
            return cwndlab.sweep(spec, out=place, executor=executor, progress=progress, message=say)


def _dry_run(spec: Sweep, place: str, cluster: Cluster | None, workers: int | None, format: Format) -> None:
    cells, left = cwndlab.study.sweeps.run.left(spec, place)
    count = _workers_of(cluster) if cluster is not None else workers or cwndlab.engine.available_cores()
    estimate = cwndlab.study.sweeps.estimate.estimate(spec, cells, left, workers=count)
    if format not in FORMS:
        rows: list[dict[str, Any]] = [estimate.as_dict()]
        write_rows(rows, tuple(rows[0]), format)
        return
    total = estimate.cells * spec.most
    lines = [
        ("cells", f"{estimate.cells:,}"),
        ("runs", f"{estimate.runs:,}" + (f", at most {total:,}" if spec.until else "")),
        ("left to run", f"{estimate.left:,}"),
        ("packets", f"{estimate.packets:.3g}"),
        ("CPU", f"{span(estimate.cpu_s)}"),
        (f"on {count} core{'s' if count > 1 else ''}", span(estimate.cpu_s / count)),
    ]
    write_cells(lines, ("this sweep", ""), format, right=("",))
    which = "all cells were" if estimate.calibrated == estimate.cells else f"{estimate.calibrated} cells were"
    say(f"{which} run briefly ({estimate.calibration_s:.1f} s) to measure the cost of a run and of a packet here")
    if cluster is None and estimate.crowding > _CROWDED:
        took = span(estimate.cpu_s / count * estimate.crowding)
        say(f"other processes use these cores; under the same load it takes {took}")
    if cluster is not None and cluster.kind == "slurm":
        write("\n" + cluster.script().rstrip())


def _workers_of(cluster: Cluster) -> int:
    """Cores of a cluster: those that are requested, or those that a scheduler has."""
    if cluster.kind != "address":
        return cluster.workers
    with cwndlab.study.cluster.connected(cluster) as client:
        count: int = sum(client.nthreads().values())
    return max(1, count)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, sweep, "sweep examples/sweep.toml --out out/sweep")
