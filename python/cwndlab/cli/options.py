"""Options and arguments of commands. Those that several commands have are declared here, once per name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer

import cwndlab
from cwndlab.cli.console import Format
from cwndlab.errors import Fault, ScenarioError

#: Seeds are 64-bit numbers.
_LARGEST = 2**64 - 1
#: Digits of a number that are read: far beyond all ranges, and few enough for Python.
_DIGITS = 99
#: A comparison of more runs of each algorithm would not end.
MOST_REPETITIONS = 1_000_000


def integer_option(option: str, low: int, high: int = _LARGEST) -> Callable[[str], int]:
    """Reads an integer from ``low`` to ``high``."""

    def read(text: str) -> int:
        text = str(text)  # typer passes a default unchanged
        number = int(text[:_DIGITS]) if text.isascii() and text.isdecimal() else -1
        if low <= number <= high:
            return number
        beyond = f"from {low} to 2⁶⁴ − 1" if number > high else f"from {low} on"
        span = beyond if high == _LARGEST else f"from {low} to {high}"
        raise ScenarioError(Fault(option, f"'{text}' is not a whole number {span}", f"write {option} {max(low, 1)}"))

    return read


def _choice(option: str, noun: str, choices: Sequence[str], kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads one of the ``choices`` as a ``kind``."""

    def read(text: str) -> Any:
        if text in choices:
            return kind(text)
        hint = f"write {', '.join(choices[:-1])} or {choices[-1]}"
        raise ScenarioError(Fault(option, f"'{text}' is not {noun}", hint))

    return read


def _folder(text: str | Path) -> Path:
    """Reads a folder. ``Path`` would make a local folder of a URL."""
    if "://" in str(text):
        what = f"'{text}' is a URL, and this command writes to a local folder"
        raise ScenarioError(Fault("--out", what, "name a folder"))
    return Path(text)


class Option(NamedTuple):
    """An option: the value it takes (none for a switch), its help, and how its text is read. ``least`` and ``most``
    bound a whole number; ``noun`` names a choice of ``takes``, with its article. ``flags`` replace the flag that the
    parameter's name gives."""

    takes: str = ""
    help: str = ""
    least: int | None = None
    most: int = _LARGEST
    flags: tuple[str, ...] = ()
    noun: str = ""
    parser: Callable[[str], Any] | None = None

    def declared(self, name: str, default: object) -> Any:
        """The typer declaration of the parameter ``name``."""
        flags = self.flags or (f"--{name.strip('_').replace('_', '-')}",)
        parser = self.parser
        if self.least is not None:
            parser = integer_option(flags[0], self.least, self.most)
        elif self.noun:
            parser = _choice(flags[0], self.noun, self.takes.split("|"), self.parser or str)
        options = {"parser": parser} if parser is not None else {}
        shown = default not in (None, "", inspect.Parameter.empty)
        return typer.Option(*flags, help=self.help, metavar=self.takes or None, show_default=shown, **options)  # type: ignore[call-overload]


class Argument(NamedTuple):
    """A positional argument: its name in the usage, and its help."""

    metavar: str
    help: str

    def declared(self, _: str, default: object) -> Any:
        """The typer declaration."""
        shown = default not in (None, "", inspect.Parameter.empty)
        return typer.Argument(help=self.help, metavar=self.metavar, show_default=shown)


#: Declarations shared by several commands. A command may give an option its own help.
SHARED: dict[str, Option | Argument] = {
    "accept_late": Option(help="Do not fail if deliveries were late."),
    "against": Option("ALGORITHM"),
    "algorithm": Option("NAME"),
    "algorithm_file": Option(
        "FILE", "Python file with your own classes, or Rust file with an algorithm, for flows by name. May be repeated."
    ),
    "algorithms": Option("A,B,FILE", "Names of algorithms, or Python or Rust files, joined by commas."),
    "by": Option("AXIS"),
    "connection": Option("NAME", "The connection, if the log has several."),
    "figure": Option("FILE"),
    "format": Option("table|json|csv", "The format of standard output.", noun="a format", parser=Format),
    "initial_cwnd": Option("BYTES", "Initial window."),
    "metrics": Option("A,B,C"),
    "mss": Option("BYTES", "Payload of a full datagram."),
    "out": Option("DIR", "Folder for the records (Parquet).", parser=_folder),
    "path": Option("SCENARIO"),
    "perturb": Option(
        help="Whether each seed varies delays, rates, starts and processing by less than can be measured.",
        flags=("--perturb/--no-perturb",),
    ),
    "repetitions": Option("N", least=1, most=MOST_REPETITIONS),
    "report": Option("FILE", "Write an HTML page."),
    "rounds": Option("N", least=1, most=10_000),
    "samples": Option("FILE", "Windows of `ss -tinmO`, for a capture."),
    "save": Option("FILE"),
    "scenario": Argument("SCENARIO", "A scenario in TOML, or the name of a preset."),
    "seed": Option("N", "Seed of the random numbers.", least=0),
    "set_": Option(
        "PATH=VALUE",
        "Change a field: flow[1].rtt=50ms; flow[NAME] is that flow, flow[*] every flow, flow[+] a new one. "
        "May be repeated.",
    ),
    "size": Option(
        "SIZE", "Size of a transfer; 200MB by default, 20MB from web servers, 15MB of `identify`.", flags=("--bytes",)
    ),
    "strict": Option(help="Exit with status 1 if a finding is severe."),
    "style": Option("screen|print", "Style of figures; print has the width of a column."),
    "template": Option("NAME"),
    "timeout": Option("S", "Maximum duration of a transfer, in seconds."),
    "trials": Option("N", least=1),
    "trust": Option(
        "FILE|SHA256",
        "Certificate or fingerprint of the server; of several servers one of all, or one for each in their order.",
    ),
    "workers": Option("N", "Threads; one per core by default.", least=1, most=4096),
    "zone": Option("NAME", "Time zone of the parts of the day; this machine's by default."),
}

#: Where commands keep rows that need no folder.
PLACE = Option("DIR|URL", "Folder or URL for the rows; a second call resumes there.")
#: The formats of commands whose tables go into papers.
TABLE_FORMAT = Option("table|markdown|latex|json|csv", "The format of standard output.", noun="a format", parser=Format)


def command(app: typer.Typer, function: Callable[..., None], example: str, name: str | None = None) -> None:
    """Adds a command to ``app``: its name and help are those of ``function``, and ``example`` is shown below them.

    Each parameter of ``function`` is an option or argument: `SHARED` has its declaration, or ``Annotated`` in its type,
    where a text is only the help; a switch needs no more.
    """
    app.command(name, epilog=f"Example: cwndlab {example}")(_declared(function))


def group(app: typer.Typer, name: str, help: str) -> typer.Typer:
    """Adds a command with subcommands; without one of them it prints its help."""
    found = typer.Typer(help=help, rich_markup_mode=None, no_args_is_help=True)
    app.add_typer(found, name=name)
    return found


def _declared(function: Callable[..., None]) -> Callable[..., None]:
    """The function with the annotations that typer reads."""
    hints = get_type_hints(function, include_extras=True)
    parameters = []
    for one in inspect.signature(function).parameters.values():
        hint = hints[one.name]
        kind, own = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, SHARED.get(one.name))
        if isinstance(own, str):
            own = SHARED.get(one.name, Option())._replace(help=own)
        assert own is not None, f"{function.__name__}: {one.name} has no declaration"
        parameters.append(one.replace(annotation=Annotated[kind, own.declared(one.name, one.default)]))

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> None:
        function(*arguments, **options)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def listed(text: str | None) -> list[str] | None:
    """``a,b(x=1, y=2),{ c = 1, d = 2 }`` at the commas outside parentheses, braces and brackets."""
    return None if text is None else cwndlab.study.fields.split_at_commas(text)


def pairs_of(texts: Sequence[str] | None, option: str, example: str) -> list[tuple[str, str]]:
    """The names and values of an option ``NAME=VALUE``."""
    pairs = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(Fault(option, f"'{text}' has no '='", f"write {option} {example}"))
        pairs.append((name.strip(), value.strip()))
    return pairs


def numbers_of(texts: Sequence[str] | None, option: str, example: str) -> dict[str, float]:
    """The names and numbers of an option ``NAME=NUMBER``."""
    made = {}
    for name, value in pairs_of(texts, option, example):
        try:
            made[name] = float(value)
        except ValueError:
            fault = Fault(option, f"'{value}' is not a number", f"write {option} {example}")
            raise ScenarioError(fault) from None
    return made


def changes_of(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """The fields of ``--set`` and their new values. ``nan`` and ``inf`` are floats of TOML, which no field of a number
    takes; one of a text takes them in quotes."""
    pairs = pairs_of(texts, "--set", "'flow[0].rtt=50 ms'")
    faults = [
        Fault(
            path,
            f"'{value}' is not a finite number",
            f"write a number, a text with its unit such as '50 ms', or a text in quotes: '\"{value}\"'",
        )
        for path, value in pairs
        if value.lstrip("+-") in ("nan", "inf")
    ]
    if faults:
        raise ScenarioError(*faults)
    return pairs


def classes_of(files: Sequence[Path] | None) -> dict[str, type]:
    """The classes of ``--algorithm-file`` by the names that flows use."""
    return cwndlab.custom.selected((), files or ())[1]


def algorithms_of(text: str | None, files: Sequence[Path] | None) -> tuple[list[str], dict[str, type]]:
    """The names of ``--algorithms``, each file replaced by its classes; and all classes."""
    return cwndlab.custom.selected(listed(text) or (), files or ())


def scenario_of(
    name: Path, changes: Sequence[str] | None, classes: Mapping[str, type] | None = None
) -> cwndlab.Scenario:
    """The scenario in a file, or the preset of this name, changed; with classes in Python."""
    return cwndlab.presets.load(name, changes=changes_of(changes), algorithms=classes)
