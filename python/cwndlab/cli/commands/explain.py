"""``cwndlab explain``: one algorithm of the catalogue, or the file of a preset."""

from __future__ import annotations

from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import Format, write, write_json, write_rows
from cwndlab.cli.options import Argument, command


def explain(
    name: Annotated[str, Argument("NAME", "An algorithm, a combination such as 'cubic+ccm-ss/sack', or a preset.")],
    format: Format = Format.table,
) -> None:
    """Describe an algorithm, or print a preset."""
    if name in cwndlab.presets.names():
        _print_preset(name, format)
        return
    if format is Format.table:
        write(cwndlab.explain(name))
        return
    rows = [entry.as_dict() for entry in cwndlab.catalogue.entries_of(name)]
    write_rows(rows, tuple(rows[0]), format)


def _print_preset(name: str, format: Format) -> None:
    """Prints a preset, which has no columns: as JSON its document, otherwise its file."""
    if format is Format.json:
        write_json(cwndlab.presets.load(name).to_document())
    else:
        write((cwndlab.presets.folder() / f"{name}.toml").read_text(encoding="utf-8"))


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, explain, "explain ccm-ss")
