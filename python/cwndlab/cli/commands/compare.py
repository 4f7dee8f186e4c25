"""``cwndlab compare``: algorithms on one scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say
from cwndlab.cli.findings import judge
from cwndlab.cli.options import MOST_REPETITIONS, Option, algorithms_of, command, listed, scenario_of
from cwndlab.cli.progress import Stopped, progress_bar, stopped
from cwndlab.cli.show import show_comparison
from cwndlab.errors import Fault, ScenarioError


def compare(
    scenario: Path,
    algorithms: str | None = None,
    over: Annotated[
        str | None,
        Option("PATH=A,B,C", "In place of algorithms: a field and its values, such as flow[0].rtt=20ms,40ms."),
    ] = None,
    flows: Annotated[str | None, Option("NAME,…", "Only these flows use the algorithms: names or indices.")] = None,
    against: Annotated[str | None, Option("ALGORITHM", "Algorithm of the other flows over TCP.")] = None,
    seed: int = 1,
    repetitions: Annotated[int, "Runs of each algorithm, with consecutive seeds from --seed on."] = 10,
    out: Annotated[Path | None, "Folder for the results; a second call resumes there."] = None,
    report: Annotated[Path | None, "HTML page with figures."] = None,
    until: Annotated[str | None, Option("'METRIC within X %'", "Repeat until this holds.")] = None,
    at_most: Annotated[
        int, Option("N", "Maximum runs of each algorithm with --until.", least=2, most=MOST_REPETITIONS)
    ] = 50,
    warm_up: Annotated[str | None, Option("mser|TIME", "Warm-up to exclude from each run: mser, or a time.")] = None,
    metrics: Annotated[str | None, "The metrics to compare; `cwndlab list --metrics` has their names."] = None,
    perturb: bool | None = None,
    set_: list[str] | None = None,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Format = Format.table,
    strict: bool = False,
) -> None:
    """Compare algorithms, or values of a field, by intervals."""
    if algorithms is None and over is None:
        raise ScenarioError(Fault("cwndlab compare", "nothing is named to compare", "write --algorithms cubic,reno"))
    names, classes = algorithms_of(algorithms, algorithm_file)
    with progress_bar() as progress:
        result = cwndlab.compare(
            scenario_of(scenario, set_, classes).perturbed(perturb),
            names,
            over=_over(over),
            flows=listed(flows),
            against=against,
            repetitions=repetitions,
            seed=seed,
            out=out,
            records="first",
            workers=workers,
            progress=progress,
            until=until,
            at_most=at_most,
            warm_up=warm_up,
            metrics=listed(metrics),
        )
    # Written before anything is printed, because standard output may be closed by then.
    if report is not None:
        cwndlab.report(result, report)
    show_comparison(result, format)
    if out is not None:
        if result.outcome.resumed:
            say(f"{out}: {result.outcome.resumed} runs were there, and were not repeated")
        say(f"comparison: {out}")
    if report is not None:
        say(f"report: {report}")
    if result.outcome.stopped:
        raise Stopped(stopped(len(result.runs), result.outcome.total, out))
    judge(result.findings_of(), strict)


def _over(text: str | None) -> dict[str, list[Any]] | None:
    """The field of ``--over`` with its values."""
    if text is None:
        return None
    field, equals, values = text.partition("=")
    if not equals or not listed(values):
        raise ScenarioError(
            Fault("--over", f"'{text}' names no field and values", "write --over 'flow[0].rtt=20 ms,40 ms'")
        )
    return {field.strip(): [cwndlab.study.fields.plain(value) for value in listed(values) or ()]}


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, compare, "compare two-flows --algorithms cubic,reno")
