"""``cwndlab suite``: statements of standards and scripts of others, held against algorithms and the transport."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import say, write, write_json, write_table
from cwndlab.cli.options import FileOption, WorkersOption, classes_of
from cwndlab.cli.packetdrill import packetdrill
from cwndlab.cli.progress import progress_bar
from cwndlab.errors import Fault, ScenarioError
from cwndlab.files import save

if TYPE_CHECKING:
    from cwndlab.suites import SuiteResult

#: The suites of cases: name and what its statements are from. Those of the package take time to import.
_SUITES = {
    "bbr-draft": "The example test cases of the BBR draft.",
    "rfc9438": "Statements of RFC 9438, CUBIC.",
    "rfc9406": "Statements of RFC 9406, HyStart++.",
    "rfc5681": "Statements of RFC 5681, TCP congestion control.",
    "rfc6298": "Statements of RFC 6298, TCP's retransmission timer.",
    "rfc6675": "Statements of RFC 6675, SACK-based loss recovery.",
    "rfc8985": "Statements of RFC 8985, RACK-TLP.",
    "rfc9937": "Statements of RFC 9937, proportional rate reduction.",
}


class _Format(StrEnum):
    """What is printed on standard output."""

    text = "text"
    json = "json"


def _format(text: str) -> _Format:
    try:
        return _Format(text)
    except ValueError:
        raise ScenarioError(Fault("--format", f"'{text}' is not a format", "write text or json")) from None


def add(app: typer.Typer) -> None:
    """Adds the command and its subcommands."""
    suite = typer.Typer(help="Test algorithms and the transport by their sources.", no_args_is_help=True)
    app.add_typer(suite, name="suite")
    for name, what in _SUITES.items():
        suite.command(name, help=what, epilog=f"Example: cwndlab suite {name} --algorithm mine.py")(_command(name))
    suite.command(epilog="Example: cwndlab suite packetdrill known-answers/packetdrill")(packetdrill)


def _command(name: str) -> Callable[..., None]:
    """The command of a suite."""

    def command(
        algorithm: Annotated[
            str | None,
            typer.Option(
                "--algorithm",
                help="An algorithm, or a file of Python with one; by default that of the source.",
                metavar="NAME|FILE",
                show_default=False,
            ),
        ] = None,
        case: Annotated[
            list[str] | None,
            typer.Option("--case", help="Only this case. May be repeated.", metavar="CASE", show_default=False),
        ] = None,
        path: Annotated[
            list[str] | None,
            typer.Option("--path", help="Only this path. May be repeated.", metavar="PATH", show_default=False),
        ] = None,
        out: Annotated[
            Path | None,
            typer.Option(
                "--out",
                help="Write records, qlog and figure of each case.",
                metavar="DIR",
                show_default=False,
            ),
        ] = None,
        report: Annotated[
            Path | None,
            typer.Option("--report", help="Write an HTML page.", metavar="FILE", show_default=False),
        ] = None,
        algorithm_file: FileOption = None,
        workers: WorkersOption = None,
        format: Annotated[
            _Format,
            typer.Option("--format", help="How the outcomes are printed.", metavar="text|json", parser=_format),
        ] = _Format.text,
    ) -> None:
        with progress_bar("cases") as progress:
            result = cwndlab.suites.run(
                name,
                algorithm,
                algorithms=classes_of(algorithm_file),
                workers=workers,
                progress=progress,
                cases=case or (),
                paths=path or (),
                keep=out is not None or report is not None,
            )
        if out is not None:
            cwndlab.suites.write(result, out)
        if report is not None:
            save(cwndlab.suites.page(result), report)
        if format is _Format.json:
            write_json(result.as_dict())
        else:
            _show(result)
        if not result.holds:
            raise typer.Exit(1)

    return command


def _show(result: SuiteResult) -> None:
    """Cases by paths, then the statements that do not hold."""
    verdicts = cwndlab.suites.Verdict
    paths = list(dict.fromkeys(one.path.name for one in result.outcomes))
    rows: dict[str, dict[str, str]] = {}
    for outcome in result.outcomes:
        rows.setdefault(outcome.case.name, {})[outcome.path.name] = _SHORT[str(outcome.verdict)]
    # A case may not be asked on every path.
    write_table([(name, *(cells.get(path, "") for path in paths)) for name, cells in rows.items()], ("case", *paths))
    for outcome in result.outcomes:
        for one in outcome.failures:
            write(f"\n{outcome.case.name}, {outcome.path.name}: {outcome.verdict}: {one.text}")
            write(f"  source    {one.source}")
            write(f"  expected  {one.expected}")
            write(f"  got       {one.got}" + ("" if one.at_s is None else f", at {one.at_s:.6f} s"))
            if one.contradicts:
                write(f"  but       {one.contradicts}")
    reasons = {one.reason: one.case.name for one in result.outcomes if one.verdict is verdicts.NOT_APPLICABLE}
    for reason, name in reasons.items():
        write(f"\n{name}: not applicable: {reason}")
    say(f"{result.algorithm}: " + ", ".join(f"{result.count(one)} {one}" for one in verdicts))


_SHORT = {"passed": "passed", "failed": "FAILED", "not applicable": "–", "contradicts": "contradicts"}
