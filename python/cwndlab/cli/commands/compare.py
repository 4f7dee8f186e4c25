"""``cwndlab compare``: algorithms on one scenario."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say
from cwndlab.cli.findings import StrictOption, judge
from cwndlab.cli.options import (
    MOST_REPETITIONS,
    AlgorithmsOption,
    FileOption,
    PerturbOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    StyleOption,
    TableFormatOption,
    WorkersOption,
    algorithms_of,
    changes_of,
    integer_option,
    listed,
    scenario_of,
)
from cwndlab.cli.progress import Stopped, progress_bar, stopped
from cwndlab.cli.tables import show_result
from cwndlab.errors import Fault, ScenarioError


def compare(
    scenario: ScenarioArgument,
    algorithms: AlgorithmsOption = None,
    over: Annotated[
        str | None,
        typer.Option(
            "--over",
            help="In place of algorithms: a field and its values, such as flow[0].rtt=20ms,40ms.",
            metavar="PATH=A,B,C",
            show_default=False,
        ),
    ] = None,
    flows: Annotated[
        str | None,
        typer.Option(
            "--flows",
            help="Only these flows use the algorithms: names or indices.",
            metavar="NAME,…",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", help="Algorithm of the other flows over TCP.", metavar="ALGORITHM", show_default=False
        ),
    ] = None,
    seed: SeedOption = 1,
    repetitions: Annotated[
        int,
        typer.Option(
            "--repetitions",
            help="Runs of each algorithm, with consecutive seeds from --seed on.",
            metavar="N",
            parser=integer_option("--repetitions", 1, MOST_REPETITIONS),
        ),
    ] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for the results; a second call resumes there.", metavar="DIR", show_default=False
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="HTML page with figures.", metavar="FILE", show_default=False)
    ] = None,
    alternative: Annotated[
        list[str] | None,
        typer.Option(
            "--alternative",
            help="A field of a named alternative, such as remedy.CoDel:dumbbell.bottleneck.queue.kind=codel; "
            "base=PRESET is a scenario of its own, remedy.none changes nothing. May be repeated.",
            metavar="AXIS.NAME[:PATH=VALUE]",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="What differences are between, if several things vary.", metavar="AXIS", show_default=False
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            help="One figure of the first metric, in the format of the name: PDF, SVG or PNG.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    style: StyleOption = "screen",
    until: Annotated[
        str | None,
        typer.Option(help="Repeat until this holds.", metavar="'METRIC within X %'", show_default=False),
    ] = None,
    at_most: Annotated[
        int,
        typer.Option(
            "--at-most",
            help="Maximum runs of each algorithm with --until.",
            metavar="N",
            parser=integer_option("--at-most", 2, MOST_REPETITIONS),
        ),
    ] = 50,
    warm_up: Annotated[
        str | None,
        typer.Option(
            help="Warm-up to exclude from each run: mser, or a time.", metavar="mser|TIME", show_default=False
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="The metrics to compare; `cwndlab list --metrics` has their names.",
            metavar="A,B,C",
            show_default=False,
        ),
    ] = None,
    perturb: PerturbOption = None,
    set_: SetOption = None,
    algorithm_file: FileOption = None,
    workers: WorkersOption = None,
    format: TableFormatOption = Format.table,
    strict: StrictOption = False,
) -> None:
    """Compare algorithms or other alternatives by intervals.

    SCENARIO may be a file with a table `[compare]`, which has the keys of `[sweep]`.
    """
    described = _described(scenario)
    if algorithms is None and over is None and not alternative and not described:
        raise ScenarioError(Fault("cwndlab compare", "nothing is named to compare", "write --algorithms cubic,reno"))
    if seed + repetitions > 2**63:
        raise ScenarioError(Fault("--seed", f"seeds from {seed} on exceed 63 bits", "write --seed 1"))
    names, classes = algorithms_of(algorithms, algorithm_file)
    with progress_bar() as progress:
        result = cwndlab.compare(
            cwndlab.study.sweeps.files.read(scenario, changes=changes_of(set_), classes=classes, where="compare")
            if described
            else scenario_of(scenario, set_, classes),
            names,
            over=_over(over),
            alternatives=_alternatives(alternative or ()),
            by=by,
            perturb=perturb,
            flows=listed(flows),
            against=against,
            seeds=range(seed, seed + repetitions),
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
    if figure is not None:
        result.plot(result.shown[0]).save(figure, style)
    show_result(result, format)
    if out is not None:
        if result.outcome.resumed:
            say(f"{out}: {result.outcome.resumed} runs were there, and were not repeated")
        say(f"comparison: {out}")
    if report is not None:
        say(f"report: {report}")
    if figure is not None:
        say(f"figure: {figure}")
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


def _described(file: Path) -> bool:
    """Whether a file describes a comparison."""
    return file.suffix == ".toml" and file.is_file() and "compare" in cwndlab.study.sweeps.files.toml_document(file, "")


def _alternatives(texts: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """The alternatives of ``--alternative``, by axis and name."""
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for one in texts:
        place, _, change = one.partition(":")
        axis, dot, name = (part.strip() for part in place.partition("."))
        path, equals, value = (part.strip() for part in change.partition("="))
        if not dot or not name or (change and not equals):
            hint = "write --alternative remedy.CoDel:dumbbell.bottleneck.queue.kind=codel"
            raise ScenarioError(Fault("--alternative", f"'{one}' names no alternative of an axis", hint))
        fields = made.setdefault(axis, {}).setdefault(name, {})
        if change:
            fields[path] = cwndlab.study.fields.plain(value)
    return made


def add(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example: cwndlab compare two-flows --algorithms cubic,reno")(compare)
