"""``cwndlab host``: arguments in, `cwndlab.study.hosting` called, tables out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, say_seed
from cwndlab.cli.options import Argument, Option, changes_of, classes_of, command, scenario_of
from cwndlab.cli.progress import progress_bar
from cwndlab.cli.show import show_hosted
from cwndlab.errors import Fault, ScenarioError
from cwndlab.files import json_text

if TYPE_CHECKING:
    from cwndlab.study.hosting import Verdict

#: Runs of the same seed: two have equal bits or not.
_REPEAT = 2


def host(
    stack: Annotated[
        str, Argument("STACK", "The stack: its program is cwndlab-stack-STACK, in CWNDLAB_STACKS or PATH.")
    ],
    controller: Annotated[str, Option("A,B", "Congestion controls, as the stack calls them.")] = "",
    options: Annotated[str, Option("TEXT", "Options that only the stack interprets.")] = "",
    against: Annotated[str, "The algorithm of a flow beside it."] = "",
    path: Annotated[
        Path | None,
        "A scenario or a preset, whose first flow is replaced; by default 10 Mbit/s, 40 ms, 1 BDP.",
    ] = None,
    repeat: Annotated[
        int | None, Option("N", "Runs of the same seed, whose bits are compared; 2 by default.", least=1, most=10_000)
    ] = None,
    check: Annotated[bool, "Run the cells of a verdict instead, and compare them with a baseline."] = False,
    baseline: Annotated[Path | None, Option("FILE", "The baseline of --check.")] = None,
    save: Annotated[Path | None, "Write the runs as a baseline."] = None,
    as_: Annotated[
        str,
        Option("A,B", "Algorithms with which the logs are audited, one for each congestion control."),
    ] = "",
    logs: Annotated[Path | None, Option("FOLDER", "Keep the logs of the senders, where the stack writes some.")] = None,
    seed: int = 1,
    set_: list[str] | None = None,
    algorithm_file: list[Path] | None = None,
    format: Format = Format.table,
) -> None:
    """Run the protocol stack of others in virtual time.

    A stack is a program that reads and writes datagrams on its standard streams (docs/host.md). Equal seeds give equal
    bits. With --check, the status is 1 if a cell is degraded against the baseline, or runs of one seed differ.
    """
    hosting = cwndlab.study.hosting
    if baseline is not None and not check:
        raise ScenarioError(Fault("--baseline", "has no effect without --check", "add --check"))
    if check and against:
        raise ScenarioError(Fault("--against", "has no effect with --check", "its cells have a flow of CUBIC"))
    if check and repeat is not None:
        raise ScenarioError(Fault("--repeat", "has no effect with --check", "each of its cells runs twice"))
    known = None if baseline is None else hosting.read_baseline(baseline)
    if path is not None:
        described = scenario_of(path, set_, {})
    else:
        described = cwndlab.Scenario.from_json(json_text(hosting.PATH), changes=changes_of(set_))
    # An empty name is the stack's own choice, or no audit.
    controllers = cwndlab.study.fields.split_at_commas(controller, empty=True)
    references = cwndlab.study.fields.split_at_commas(as_, empty=True) if as_ else []
    if references and len(references) != len(controllers):
        what = f"names {len(references)} algorithms for {len(controllers)} congestion controls"
        raise ScenarioError(Fault("--as", what, "name one for each of --controller, empty for none"))
    classes = classes_of(algorithm_file)
    audits = [_audit(reference, classes) if reference else None for reference in references]
    with progress_bar() as progress:
        if check:
            found = hosting.check_cells(
                stack,
                controllers,
                scenario=described,
                options=options,
                seed=seed,
                audits=audits,
                logs=logs,
                progress=progress,
            )
        else:
            found = hosting.host(
                stack,
                controllers,
                scenario=described,
                options=options,
                against=against or None,
                seed=seed,
                repeat=repeat or _REPEAT,
                audits=audits,
                logs=logs,
                progress=progress,
            )
    # A baseline of another stack is found only now, as a stack tells its name in a run; the runs are shown and kept.
    verdicts: list[Verdict] = []
    refused: ScenarioError | None = None
    try:
        verdicts = hosting.judge(found, known)
    except ScenarioError as error:
        refused = error
    show_hosted(found, verdicts if check else [], format)
    if save is not None:
        hosting.save_baseline(save, found)
        say(f"baseline: {save}")
    say_seed(seed)
    if refused is not None:
        raise refused
    if not all(verdict.is_good for verdict in verdicts):
        raise typer.Exit(1)


def _audit(reference: str, classes: Mapping[str, type]) -> Callable[[Path], float | None]:
    """The share of the decisive ACKs of a log that an algorithm explains."""
    return lambda log: cwndlab.validation.audit.audit(log, reference, algorithms=classes).share


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, host, "host quinn --controller cubic,bbr --against cubic")
