"""``cwndlab export``: finished records as files that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import say
from cwndlab.cli.options import Argument, Option, command


def export(
    records: Annotated[Path, Argument("RECORDS", "A folder that `run --out` wrote.")],
    format: Annotated[str, Option("csv|qlog|ns2|pcap", "The format of the files.")],
    output: Annotated[
        Path,
        Option(
            "PLACE",
            "A folder (csv, qlog) or a file.",
            flags=(
                "--output",
                "-o",
            ),
        ),
    ],
    at: Annotated[str, Option("A,B", "Where packets are captured: senders, receivers, links, names.")] = "senders",
) -> None:
    """Export records as CSV, qlog, ns-2 trace or pcapng."""

    for made in cwndlab.export.export(cwndlab.Records.read(records), format, output, at=at):
        say(f"{format}: {made}")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    command(app, export, "export out --format pcap --output out.pcapng --at senders")
