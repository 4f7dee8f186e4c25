"""``cwndlab report``: pages and figures of what other commands have kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import cwndlab
from cwndlab.cli.commands.measure import show as show_measurement
from cwndlab.cli.console import Format, say
from cwndlab.cli.options import Argument, Option, command
from cwndlab.cli.show import SHOWN_CELLS, show_comparison, show_run, show_sweep


def report(
    folders: Annotated[list[Path], Argument("DIR…", "A folder of results, or two or three folders of runs.")],
    report: Annotated[
        Path | None, "The HTML page; DIR/report.html by default, DIR/side-by-side.html for several runs."
    ] = None,
    figures: Annotated[
        str | None, Option("png,svg,pdf", "Also write the figures to DIR/figures, in these formats.")
    ] = None,
    style: Annotated[str, Option("screen|print", "Style of the figures; print has the width of a column.")] = "screen",
    series: Annotated[
        int, Option("N", "For a sweep: repeat the first N runs of every cell for their time series.", least=0)
    ] = 0,
    format: Format = Format.table,
) -> None:
    """Draw finished results as one HTML file.

    The folders are those of `run`, `compare`, `sweep` or `measure`. Several runs are drawn side by side.
    """

    cwndlab.plot.style.chosen(figures or "png", style, parameter="figures")
    results = [cwndlab.reports.writer.load(folder) for folder in folders]
    one: Any = results[0] if len(results) == 1 else results  # `report` rejects several that are not runs
    page = report or folders[0] / ("report.html" if len(results) == 1 else "side-by-side.html")
    # Saved before anything is printed: standard output may be closed by then.
    cwndlab.report(one, page, series=series)
    drawn = [] if figures is None else cwndlab.figures(one, folders[0] / "figures", format=figures, style=style)
    for folder, result in zip(folders, results, strict=True):
        if isinstance(result, cwndlab.Records):
            show_run(result, format)
        elif isinstance(result, cwndlab.reports.sweep.SweepResult):
            show_sweep(cwndlab.Result.read(folder), format, most=SHOWN_CELLS)
        elif isinstance(result, cwndlab.live.results.Measurement):
            show_measurement(result, format)
        else:
            show_comparison(result, format)
    say(f"report: {page}")
    for figure in drawn:
        say(f"figure: {figure}")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, report, "report out --figures svg,pdf --style print")
