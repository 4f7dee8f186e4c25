"""``cwndlab schema``: JSON Schemas of the files that cwndlab reads."""

from __future__ import annotations

from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import write
from cwndlab.cli.options import Argument, command
from cwndlab.errors import ScenarioError, unknown_name
from cwndlab.files import json_text


def schema(
    kind: Annotated[str, Argument("[scenario|sweep|compare|tune]", "The kind of file.")] = "scenario",
) -> None:
    """Print the JSON Schema of a kind of file.

    Editors use it to complete and check scenario, sweep, compare and tune files.
    """
    if kind not in cwndlab.study.schemas.KINDS:
        raise ScenarioError(unknown_name("KIND", "kind of file", kind, cwndlab.study.schemas.KINDS))
    write(json_text(cwndlab.study.schemas.of(kind), indent=1, ensure_ascii=False, sort_keys=True))


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, schema, "schema scenario > scenario.schema.json")
