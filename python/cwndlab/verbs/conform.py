"""``cwndlab conform``: one algorithm in several places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.options import FormatOption
from cwndlab.output import Format, say, write, write_json, write_rows

if TYPE_CHECKING:
    from cwndlab.conform import Replayed


def conform(
    names: Annotated[list[str], typer.Argument(help="Algorithms, such as 'cubic'.", metavar="NAME…")],
    format: FormatOption = Format.table,
) -> None:
    """Tell an algorithm the same in simulator, kernel and QUIC, and compare."""
    from cwndlab.conform import COLUMNS
    from cwndlab.conform import conform as replay

    found = [one for name in names for one in replay(name)]
    if format is Format.json:
        write_json([one.as_dict() for one in found])
    elif format is Format.csv:
        write_rows([one.as_dict() for one in found], COLUMNS, format)
    else:
        _show(found)
    if not all(one.conforms for one in found):
        raise typer.Exit(1)


def _show(found: list[Replayed]) -> None:
    rows = [
        {
            "algorithm": one.algorithm,
            "course": one.course,
            "place": one.place,
            "windows": one.windows,
            "differ": one.differing,
            "by segments": one.most_segments,
            "verdict": one.verdict,
        }
        for one in found
    ]
    write_rows(rows, tuple(rows[0]), Format.table)
    remarks: dict[str, list[str]] = {}
    for one in found:
        if one.verdict != "same":
            text = one.reason or "no reason is known: a fault of the adapter"
            remarks.setdefault(text, []).append(f"{one.algorithm}, {one.course}, {one.place}: {one.first or 'absent'}")
    for reason, where in remarks.items():
        write(f"\n{reason}")
        for line in where:
            write(f"  {line}")
    parted = sum(not one.conforms for one in found)
    if parted:
        say(f"{parted} of {len(found)} replays differ for no reason")


def add(app: typer.Typer) -> None:
    """Registers the verb."""
    app.command(epilog="Example: cwndlab conform cubic")(conform)
