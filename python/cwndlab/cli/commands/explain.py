"""``cwndlab explain``: one algorithm of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, write, write_rows
from cwndlab.cli.options import (
    FormatOption,
)

if TYPE_CHECKING:
    pass


def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="A name, or a combination such as 'cubic+ccm-ss/sack'.", metavar="NAME", show_default=False
        ),
    ],
    format: FormatOption = Format.table,
) -> None:
    """Describe an algorithm and its source."""
    if format is Format.table:
        write(cwndlab.explain(name))
        return
    rows = [entry.as_dict() for entry in cwndlab.catalogue.entries_of(name)]
    write_rows(rows, tuple(rows[0]), format)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example: cwndlab explain ccm-ss")(explain)
