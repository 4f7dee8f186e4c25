"""``cwndlab suite packetdrill``: packetdrill scripts against the transport."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, say, write, write_csv, write_json, write_table
from cwndlab.cli.options import Argument
from cwndlab.errors import Error

if TYPE_CHECKING:
    from cwndlab.suites.packetdrill import Result


def packetdrill(
    paths: Annotated[list[str], Argument("PATH…", "Packetdrill scripts, or folders of them (*.pkt).")],
    format: Format = Format.table,
) -> None:
    """Run packetdrill scripts against the transport."""
    module = cwndlab.suites.packetdrill
    results: list[Result] = []
    errors: list[Error] = []
    unreadable: list[str] = []
    for path in module.scripts(paths):
        try:
            results.append(module.run(path))
        except Error as error:
            errors.append(error)
            unreadable.append(str(path))
    match format:
        case Format.json:
            write_json([one.as_dict() for one in results])
        case Format.csv:
            write_csv([one.as_dict() for one in results], module.COLUMNS)
        case Format.table:
            _show(results, unreadable)
    counts = Counter(one.verdict for one in results)
    numbers = [f"{counts[verdict]} {verdict}" for verdict in module.Verdict]
    say(", ".join(numbers + ([f"{len(unreadable)} unreadable"] if unreadable else [])))
    if errors:
        raise type(errors[0])(*(fault for error in errors for fault in error.faults))
    if counts[module.Verdict.FAILED]:
        raise typer.Exit(1)


def _show(results: list[Result], unreadable: list[str]) -> None:
    """One row per script, and below them the differences."""
    rows = [(one.script, str(one.verdict), "; ".join(reason.feature for reason in one.reasons)) for one in results]
    rows += [(script, "unreadable", "see the error below") for script in unreadable]
    write_table(rows, ("script", "verdict", "reasons"), wrap=("reasons",))
    for one in results:
        if one.line is not None:
            write(f"\n{one.script}:{one.line}, at {one.time_s:.6f} s")
            write(f"  expected {one.expected}")
            write(f"  got      {one.got}")
