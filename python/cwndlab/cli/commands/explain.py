"""``cwndlab explain``: one algorithm of the catalogue."""

from __future__ import annotations

from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, write, write_rows
from cwndlab.cli.options import Argument, command


def explain(
    name: Annotated[str, Argument("NAME", "A name, or a combination such as 'cubic+ccm-ss/sack'.")],
    format: Format = Format.table,
) -> None:
    """Describe an algorithm and its source."""
    if format is Format.table:
        write(cwndlab.explain(name))
        return
    rows = [entry.as_dict() for entry in cwndlab.catalogue.entries_of(name)]
    write_rows(rows, tuple(rows[0]), format)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, explain, "explain ccm-ss")
