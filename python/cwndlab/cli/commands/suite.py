"""``cwndlab suite``: statements of standards and scripts of others, held against algorithms and the transport."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import say, write, write_json, write_table
from cwndlab.cli.options import Option, classes_of, command, group
from cwndlab.cli.packetdrill import packetdrill
from cwndlab.cli.progress import progress_bar
from cwndlab.files import save

if TYPE_CHECKING:
    from cwndlab.suites import SuiteResult


def _command(name: str) -> Callable[..., None]:
    """The command of a suite."""

    def run(
        algorithm: Annotated[
            str | None,
            Option("NAME|FILE", "An algorithm, or a file of Python with one; by default that of the source."),
        ] = None,
        case: Annotated[list[str] | None, Option("CASE", "Only this case. May be repeated.")] = None,
        path: Annotated[list[str] | None, Option("PATH", "Only this path. May be repeated.")] = None,
        out: Annotated[Path | None, "Write records, qlog and figure of each case."] = None,
        report: Annotated[Path | None, "Write an HTML page."] = None,
        algorithm_file: list[Path] | None = None,
        workers: int | None = None,
        format: Annotated[str, Option("text|json", "How the outcomes are printed.", noun="a format")] = "text",
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
        if format == "json":
            write_json(result.as_dict())
        else:
            _show(result)
        if not result.holds:
            raise typer.Exit(1)

    return run


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


def add(app: typer.Typer) -> None:
    """Adds the command and its subcommands."""
    suite = group(app, "suite", "Test algorithms and the transport by their sources.")
    for name, one in cwndlab.suites.SUITES.items():
        run = _command(name)
        run.__doc__ = f"{one.title}."
        command(suite, run, f"suite {name} --algorithm mine.py", name=name)
    command(suite, packetdrill, "suite packetdrill known-answers/packetdrill")
