"""``cwndlab list``: the catalogue of algorithms, their aliases, the metrics, and the bundled scenarios."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import cwndlab
from cwndlab.cli.console import Format, write, write_rows
from cwndlab.cli.options import Option, command
from cwndlab.errors import ScenarioError, unknown_name


def list_(
    kind: Annotated[
        str | None, Option("KIND", "Only this kind: growth, slow-start, recovery, whole, router or mechanism.")
    ] = None,
    aliases: Annotated[bool, "The aliases that papers and stacks use, instead."] = False,
    metrics: Annotated[bool, "The metrics instead."] = False,
    presets: Annotated[bool, "The bundled scenarios instead."] = False,
    format: Format = Format.table,
) -> None:
    """List algorithms, metrics or bundled scenarios.

    Without an option: the algorithms, with their sources and parameters.
    """
    if presets:
        write_rows(cwndlab.presets.listing(), ("name", "title"), format)
        return
    if metrics:
        further = ("formula",) if format is Format.table else ("formula", "source")
        write_rows(cwndlab.metrics.listing(), ("name", "title", "unit", "wanted", *further), format, wrap=("formula",))
        return
    if aliases:
        write_rows(cwndlab.catalogue.other_names(), ("alias", "means"), format)
        return

    kinds = sorted({entry.kind for entry in cwndlab.algorithms()})
    if kind is not None and kind not in kinds:
        raise ScenarioError(unknown_name("--kind", "kind", kind, kinds))
    columns = ("name", "kind", "source", "confidence", "parameters")
    rows: list[dict[str, Any]] = []
    for entry in cwndlab.algorithms(kind):
        parameters: object = [parameter.as_dict() for parameter in entry.parameters]
        if format is not Format.json:
            parameters = " ".join(str(parameter) for parameter in entry.parameters)
        rows.append({column: getattr(entry, column) for column in columns} | {"parameters": parameters})
    write_rows(rows, columns, format, wrap=("source", "parameters"))
    if format is Format.table and kind is None:
        write("")
        write_rows(cwndlab.catalogue.other_names(), ("alias", "means"), format)


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, list_, "list --kind slow-start", name="list")
