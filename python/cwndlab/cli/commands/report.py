"""``cwndlab report``: pages and figures of what other commands have kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import cwndlab
from cwndlab.cli.commands.measure import show as show_measurement
from cwndlab.cli.console import Format, say, write_json
from cwndlab.cli.options import TABLE_FORMAT, Argument, Option, command, listed, numbers_of
from cwndlab.cli.show import (
    SHOWN_CELLS,
    run_document,
    say_run,
    show_dossier,
    show_reproductions,
    show_result,
    show_run,
    show_suite,
    show_tuning,
)
from cwndlab.errors import Fault, RecordsError, ScenarioError


def report(
    folders: Annotated[list[Path], Argument("DIR…", "A folder of results, or two or three folders of runs.")],
    report: Annotated[
        Path | None, "The HTML page; DIR/report.html by default, DIR/side-by-side.html for several runs."
    ] = None,
    figures: Annotated[
        str | None, Option("png,svg,pdf", "Also write the figures to DIR/figures, in these formats.")
    ] = None,
    style: str = "screen",
    figure: Annotated[
        Path | None, "One figure of a comparison or sweep, in the format of the name: PDF, SVG, PNG."
    ] = None,
    x: Annotated[str | None, Option("AXIS", "What varies along the figures; of --figure also a metric.")] = None,
    by: Annotated[str | None, "What has colours in the figures."] = None,
    threshold: Annotated[
        list[str] | None,
        Option("METRIC=VALUE", "Mark a value of a metric in its figures, such as queue_ms=20. May be repeated."),
    ] = None,
    series: Annotated[
        int, Option("N", "For a sweep: repeat the first N runs of every cell for their time series.", least=0)
    ] = 0,
    metrics: Annotated[str | None, "Metrics of tables and figures, joined by commas."] = None,
    format: Annotated[Format, TABLE_FORMAT] = Format.table,
) -> None:
    """Draw finished results as one HTML file.

    The folders are those of any command that keeps results. Several runs are drawn side by side.
    """

    cwndlab.plot.style.chosen(figures or "png", style, parameter="figures")
    if figure is not None:
        cwndlab.plot.style.chosen(figure.suffix[1:], style, parameter="figure")
    names = listed(metrics)
    results = _loaded(folders)
    one: Any = results[0] if len(results) == 1 else results
    if figure is not None and not isinstance(one, cwndlab.Result):
        raise ScenarioError(Fault("--figure", "is of a comparison or a sweep", "write --figures png for a run"))
    page = report or folders[0] / ("report.html" if len(results) == 1 else "side-by-side.html")
    # Saved before anything is printed: standard output may be closed by then.
    marks = numbers_of(threshold, "--threshold", "queue_ms=20")
    asked: dict[str, Any] = {"metrics": names, "x": None if _is_metric(one, x) else x, "by": by, "thresholds": marks}
    cwndlab.report(one, page, **asked, series=series)
    drawn = (
        [] if figures is None else cwndlab.figures(one, folders[0] / "figures", **asked, format=figures, style=style)
    )
    if figure is not None:
        one.plot((names or one.shown)[:1], x=x, by=by, thresholds=marks).save(figure, style)
        drawn = [*drawn, figure]
    _show(results, format, names)
    say(f"report: {page}")
    for file in drawn:
        say(f"figure: {file}")


def _loaded(folders: Sequence[Path]) -> list[Any]:
    """The results in folders, of which several are runs."""
    results = [cwndlab.load(folder) for folder in folders]
    faults = [
        Fault(str(folder), "holds no single run", "name folders that `cwndlab run --out` wrote, or one folder")
        for folder, one in zip(folders, results, strict=True)
        if len(folders) > 1 and not isinstance(one, cwndlab.Records)
    ]
    if faults:
        raise RecordsError(*faults)
    return results


def _show(results: Sequence[Any], format: Format, names: Sequence[str] | None) -> None:
    """Prints results; several runs as JSON are one list."""
    if len(results) > 1 and format is Format.json:
        write_json([run_document(one) for one in results])
        for one in results:
            say_run(one)
        return
    for result in results:
        _SHOW[type(result).__name__](result, format, names)


#: What prints each kind of result.
_SHOW: dict[str, Callable[..., None]] = {
    "Result": lambda one, format, names: show_result(one, format, names, most=SHOWN_CELLS),
    "Records": lambda one, format, _: show_run(one, format),
    "Measurement": lambda one, format, _: show_measurement(one, format),
    "SuiteResult": lambda one, format, _: show_suite(one, format),
    "Dossier": lambda one, format, _: show_dossier(one, format),
    "TuningResult": lambda one, format, _: show_tuning(one, format),
    "Reproductions": lambda one, format, _: show_reproductions(one, format, counts=len(one) > 1),
}


def _is_metric(one: object, x: str | None) -> bool:
    """Whether ``--x`` names a metric, over which only ``--figure`` is drawn."""
    return isinstance(one, cwndlab.Result) and x in one.metrics


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, report, "report out --figures svg,pdf --style print")
