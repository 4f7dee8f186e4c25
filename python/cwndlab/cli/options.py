"""Options shared by commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format
from cwndlab.errors import Fault, ScenarioError

if TYPE_CHECKING:
    pass


def _format(text: str) -> Format:
    try:
        return Format(text)
    except ValueError:
        raise ScenarioError(Fault("--format", f"'{text}' is not a format", "write table, json or csv")) from None


#: Seeds are 64-bit numbers.
_LARGEST = 2**64 - 1
#: A comparison of more runs of each algorithm would not end.
MOST_REPETITIONS = 1_000_000


def integer_option(option: str, low: int, high: int = _LARGEST) -> Callable[[str], int]:
    """Reads an integer from ``low`` to ``high``."""

    def read(text: str) -> int:
        text = str(text)  # typer hands over a default as it is
        number = int(text) if text.isascii() and text.isdecimal() else -1
        if low <= number <= high:
            return number
        span = f"from {low} on" if high == _LARGEST else f"from {low} to {high}"
        raise ScenarioError(Fault(option, f"'{text}' is not a whole number {span}", f"write {option} {max(low, 1)}"))

    return read


def listed(text: str | None) -> list[str] | None:
    """``a,b(x=1, y=2),{ c = 1, d = 2 }`` at the commas that stand outside of parentheses, braces and brackets."""
    return None if text is None else cwndlab.study.fields.split_at_commas(text)


FormatOption = Annotated[
    Format, typer.Option("--format", help="The format of standard output.", metavar="table|json|csv", parser=_format)
]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Seed of the random numbers.", metavar="N", parser=integer_option("--seed", 0))
]
PerturbOption = Annotated[
    bool | None,
    typer.Option(
        "--perturb/--no-perturb",
        help="Whether each seed varies delays, rates, starts and processing by less than anybody measures.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a field, such as flow[1].rtt=50ms; flow[+] adds a flow. May be repeated.",
        metavar="PATH=VALUE",
    ),
]
ScenarioArgument = Annotated[
    Path, typer.Argument(help="A scenario in TOML, or the name of a preset.", metavar="SCENARIO", show_default=False)
]
AlgorithmsOption = Annotated[
    str | None,
    typer.Option(
        "--algorithms",
        help="Names of algorithms or files of Python, joined by commas.",
        metavar="A,B,FILE",
        show_default=False,
    ),
]
FileOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--algorithm-file",
        help="Python file with classes of your own, which flows use by name. May be repeated.",
        metavar="FILE",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Threads; one per core by default.",
        metavar="N",
        show_default=False,
        parser=integer_option("--workers", 1, 4096),
    ),
]


def changes_of(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """The fields of ``--set`` and their new values."""
    pairs = []
    for text in texts or ():
        field, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(Fault("--set", f"'{text}' has no '='", "write --set 'flow[0].rtt=50 ms'"))
        pairs.append((field.strip(), value.strip()))
    return pairs


def classes_of(files: Sequence[Path] | None) -> dict[str, type]:
    """The classes of ``--algorithm-file`` by the names that flows use."""
    return cwndlab.custom.selected((), files or ())[1]


def algorithms_of(text: str | None, files: Sequence[Path] | None) -> tuple[list[str], dict[str, type]]:
    """The names of ``--algorithms``, of which a file of Python stands for its classes, and all classes."""
    return cwndlab.custom.selected(listed(text) or (), files or ())


def scenario_of(
    name: Path, changes: Sequence[str] | None, classes: Mapping[str, type] | None = None
) -> cwndlab.Scenario:
    """The scenario in a file, or the preset of this name, changed; with classes in Python."""

    pairs = changes_of(changes)
    if name.suffix != ".toml" and not name.exists():
        cwndlab.scenario.presets.load(name)
        name = cwndlab.scenario.presets.folder() / f"{name}.toml"
    return cwndlab.Scenario.load(name, changes=pairs, algorithms=classes)
