"""``cwndlab compare``: algorithms on one scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, say
from cwndlab.cli.findings import judge
from cwndlab.cli.options import (
    MOST_REPETITIONS,
    PLACE,
    TABLE_FORMAT,
    Option,
    algorithms_of,
    changes_of,
    command,
    listed,
    scenario_of,
)
from cwndlab.cli.progress import Stopped, progress_bar, stopped
from cwndlab.cli.show import show_result
from cwndlab.errors import Fault, ScenarioError


def compare(
    scenario: Path,
    algorithms: str | None = None,
    over: Annotated[
        str | None,
        Option("PATH=A,B,C", "In place of algorithms: a field and its values, such as flow[0].rtt=20ms,40ms."),
    ] = None,
    flows: Annotated[str | None, Option("NAME,…", "Only these flows use the algorithms: names or indices.")] = None,
    against: Annotated[str | None, "Algorithm of the other flows over TCP."] = None,
    seed: Annotated[int | None, "Seed of the random numbers; 1 by default."] = None,
    repetitions: Annotated[
        int | None, "Runs of each algorithm, with consecutive seeds from --seed on; 10 by default."
    ] = None,
    out: Annotated[
        str | None, PLACE._replace(help="Folder or URL for the results; a second call resumes there.")
    ] = None,
    report: Annotated[Path | None, "HTML page with figures."] = None,
    alternative: Annotated[
        list[str] | None,
        Option(
            "AXIS.NAME[:PATH=VALUE]",
            "A field of a named alternative, such as remedy.CoDel:dumbbell.bottleneck.queue.kind=codel; "
            "base=PRESET is a scenario of its own, remedy.none changes nothing. May be repeated.",
        ),
    ] = None,
    by: Annotated[str | None, "The axis whose values are compared, if several axes vary."] = None,
    figure: Annotated[
        Path | None,
        "One figure of the first metric, or of the service levels if flows have some and no metric is given, in the "
        "format of the name: PDF, SVG, PNG.",
    ] = None,
    style: str = "screen",
    until: Annotated[str | None, Option("'METRIC within X %'", "Repeat until this holds.")] = None,
    at_most: Annotated[
        int | None,
        Option("N", "Maximum runs of each algorithm with --until; 50 by default.", least=2, most=MOST_REPETITIONS),
    ] = None,
    warm_up: Annotated[str | None, Option("mser|TIME", "Warm-up to exclude from each run: mser, or a time.")] = None,
    metrics: Annotated[str | None, "The metrics to compare; `cwndlab list --metrics` has their names."] = None,
    perturb: bool | None = None,
    set_: list[str] | None = None,
    algorithm_file: list[Path] | None = None,
    workers: int | None = None,
    format: Annotated[Format, TABLE_FORMAT] = Format.table,
    strict: bool = False,
) -> None:
    """Compare algorithms or other alternatives by intervals.

    SCENARIO may be a file with a table `[compare]`, which has the keys of `[sweep]`.
    """
    described = _described(scenario)
    if algorithms is None and over is None and not alternative and not described:
        raise ScenarioError(Fault("cwndlab compare", "there is nothing to compare", "write --algorithms cubic,reno"))
    seeds = _seeds(seed, repetitions)
    if described:
        _refuse({"--seed": seed, "--repetitions": repetitions, "--alternative": alternative or None})
    # The runs may take long, and their figure is drawn after them.
    cwndlab.plot.style.chosen("png" if figure is None else figure.suffix[1:], style, parameter="figure")
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
            seeds=None if described else seeds,
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
        shown = "levels" if metrics is None and len(result.levels()) else result.shown[0]
        result.plot(shown).save(figure, style)
    show_result(result, format)
    if out is not None:
        if result.outcome.resumed:
            say(f"{out}: {result.outcome.resumed} runs were already there and were not repeated")
        say(f"comparison: {out}")
    if report is not None:
        say(f"report: {report}")
    if figure is not None:
        say(f"figure: {figure}")
    if result.outcome.stopped:
        raise Stopped(stopped(len(result.runs), result.outcome.total, out))
    judge(result.findings_of(), strict)


def _seeds(seed: int | None, repetitions: int | None) -> range:
    """The seeds of a comparison without a description."""
    first, count = 1 if seed is None else seed, 10 if repetitions is None else repetitions
    cwndlab.simulate.check_first_seed(first, count)
    return range(first, first + count)


def _refuse(options: Mapping[str, object]) -> None:
    """Raises with the options that a description has no place for."""
    what, hint = "the file describes seeds and alternatives", "leave it out, or change the file"
    faults = [Fault(name, what, hint) for name, value in options.items() if value is not None]
    if faults:
        raise ScenarioError(*faults)


def _over(text: str | None) -> dict[str, list[Any]] | None:
    """The field of ``--over`` with its values."""
    if text is None:
        return None
    field, equals, values = text.partition("=")
    if not equals or not listed(values):
        raise ScenarioError(
            Fault("--over", f"'{text}' does not name a field and its values", "write --over 'flow[0].rtt=20 ms,40 ms'")
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
        if not dot or not axis or not name or (change and not equals):
            hint = "write --alternative remedy.CoDel:dumbbell.bottleneck.queue.kind=codel"
            raise ScenarioError(Fault("--alternative", f"'{one}' does not name an alternative of an axis", hint))
        fields = made.setdefault(axis, {}).setdefault(name, {})
        if path in fields:
            what = f"{axis}.{name} sets '{path}' twice, and one of the values would be lost"
            raise ScenarioError(Fault("--alternative", what, "leave out one of them"))
        if change:
            fields[path] = cwndlab.study.fields.plain(value)
    return made


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, compare, "compare two-flows --algorithms cubic,reno")
