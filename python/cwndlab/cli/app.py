"""The command line: parses arguments, calls commands, prints data on standard output, the rest on standard error."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from itertools import chain, pairwise
from traceback import format_exception
from types import ModuleType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

import cwndlab
from cwndlab.cli import signals
from cwndlab.cli.commands import (
    assess,
    attack,
    audit,
    bench,
    check,
    compare,
    conform,
    debug,
    demo,
    emulate,
    explain,
    export,
    host,
    identify,
    kernel,
    list,
    matrix,
    measure,
    preflight,
    report,
    reproduce,
    run,
    schema,
    serve,
    suite,
    sweep,
    trace,
    tune,
    validate,
    windows,
)
from cwndlab.cli.console import say, write
from cwndlab.cli.faults import text
from cwndlab.cli.progress import Stopped
from cwndlab.errors import AlgorithmError, Error, Fault, ScenarioError

#: The commands, each a module of its name, in groups as the help lists them.
_GROUPS: dict[str, tuple[ModuleType, ...]] = {
    "Simulate": (demo, list, explain, run, debug, bench),
    "Study": (compare, sweep, matrix, tune, reproduce),
    "Judge": (assess, attack, check, suite, audit, identify, host, conform, validate),
    "Real networks": (emulate, kernel, preflight, serve, measure, windows),
    "Files": (schema, report, export, trace),
}


class _Grouped(TyperGroup):
    """The commands under the titles of their groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        room = formatter.width - 6 - max(map(len, self.commands))
        for title, modules in _GROUPS.items():
            with formatter.section(title):
                names = [module.__name__.rpartition(".")[2] for module in modules]
                formatter.write_dl([(name, self.commands[name].get_short_help_str(room)) for name in names])


app = typer.Typer(
    name="cwndlab",
    cls=_Grouped,
    help="A laboratory for TCP congestion control.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(requested: bool) -> None:
    if requested:
        write(f"cwndlab {cwndlab.version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _cwndlab(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        write(context.get_help())


for _module in chain(*_GROUPS.values()):
    _module.add(app)

# The exit status that typer returns after a ``KeyboardInterrupt``.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line; ends the process with 0, 1 (failed run), 2 (bad input), 130 or 143 (stopped)."""
    signals.install()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Characters that the terminal's encoding lacks are escaped, as on standard error.
        sys.stdout.reconfigure(errors="backslashreplace")
    ended = status(arguments)
    if ended == signals.status():
        signals.leave(ended)
    sys.exit(ended)


#: Options that name an output file or folder.
_PLACES = (
    "--out",
    "-o",
    "--output",
    "--report",
    "--results",
    "--pcap",
    "--state",
    "--save",
    "--figure",
    "--keep",
    "--logs",
    "--scenario",
)


def _refuse_empty_places(arguments: Sequence[str]) -> None:
    """Rejects an empty path, for example from an unset variable: it would mean the working directory."""
    for option, value in pairwise([*arguments, "-"]):
        if option == "--":
            return
        if (option in _PLACES and not value) or option in [f"{place}=" for place in _PLACES]:
            raise ScenarioError(Fault(option.rstrip("="), "is empty", "name a file or folder"))


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Rejects what is not UTF-8, except in the names of files and in another program's arguments: Python has such bytes
    as surrogates (PEP 383), which no text of a scenario has."""
    for before, value in pairwise(["", *arguments]):
        if value == "--":
            return
        if before in _PLACES or value.partition("=")[0] in _PLACES or os.path.lexists(value):
            continue
        if not value.isprintable() and any("\ud800" <= one <= "\udfff" for one in value):
            shown = os.fsencode(value).decode("utf-8", "backslashreplace")
            raise ScenarioError(Fault("cwndlab", f"'{shown}' is not UTF-8 text", "write it in UTF-8"))


def status(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    if sys.stderr is None:
        _ignore_messages()
    if sys.stdout is None:
        _refuse_output()
    try:
        return _ended(arguments)
    except (BrokenPipeError, SystemExit) as gone:
        # typer turns EPIPE into SystemExit(1).
        if isinstance(gone, SystemExit) and not isinstance(gone.__context__, BrokenPipeError):
            raise
        # The rest of the buffer must not fail again when the interpreter flushes it at exit.
        _discard_output()
        return UNREAD


def _ended(arguments: Sequence[str] | None) -> int:
    """The exit status, if standard output can be written."""
    given = sys.argv[1:] if arguments is None else arguments
    command = next(iter(given), "")
    try:
        _refuse_empty_places(given)
        _refuse_bytes(given)
        ended = app(arguments, prog_name="cwndlab", standalone_mode=False)
        sys.stdout.flush()
        if ended == _INTERRUPTED:
            say("stopped")
            return signals.status()
        return ended if isinstance(ended, int) else 0
    except Error as error:
        if isinstance(error, AlgorithmError) and error.__cause__ is not None:
            say("".join(format_exception(error.__cause__)).rstrip("\n"))
        say(text(error.faults, command))
        return error.exit_status
    except Stopped as stop:
        say(str(stop))
        return signals.status()
    except KeyboardInterrupt:
        say("stopped")
        return signals.status()
    except BrokenPipeError:
        raise
    except OSError as cause:
        if cause.errno == errno.EBADF:
            _discard_output()
        place = cause.filename or "standard output"
        say(str(Fault(str(place), f"failed ({cause.strerror})", "")))
        return 1
    except Exception as error:
        if signals.received():
            # The signal interrupted a library that reports any failure as its own, for example during an import.
            say("stopped")
            return signals.status()
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
            # A command group without a subcommand prints its help.
            write(context.get_help())
            return 0
        where = context.command_path if context is not None else "cwndlab"
        what, _, near = message().rstrip(".").partition(". ")
        hint = near[:1].lower() + near[1:] if near else f"`{where} --help` shows an example"
        say(str(Fault(where, what[:1].lower() + what[1:], hint)))
        return 2


# The status that shells report for a process ended by SIGPIPE: its output has no reader.
UNREAD = 141


def _ignore_messages() -> None:
    """Drops what is written to a closed standard error (``2>&-``), and keeps its descriptor from the files that the
    command opens."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    if descriptor != 2:
        os.dup2(descriptor, 2)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def _refuse_output() -> None:
    """Makes writing to a closed standard output (``>&-``) fail with EBADF, and keeps its descriptor from the files that
    the command opens."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    if descriptor != 1:
        os.dup2(descriptor, 1)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
