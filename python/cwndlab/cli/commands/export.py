"""``cwndlab export``: finished records as files that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cwndlab
from cwndlab.cli.console import say


def export(
    records: Annotated[
        Path, typer.Argument(help="A folder that `run --out` wrote.", metavar="RECORDS", show_default=False)
    ],
    format: Annotated[
        str, typer.Option("--format", help="The format of the files.", metavar="csv|qlog|ns2|pcap", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="A folder (csv, qlog) or a file.", metavar="PLACE", show_default=False),
    ],
    at: Annotated[
        str,
        typer.Option("--at", help="Where packets are captured: senders, receivers, links, names.", metavar="A,B"),
    ] = "senders",
) -> None:
    """Export records as CSV, qlog, ns-2 trace or pcapng."""

    for made in cwndlab.export.export(cwndlab.Records.read(records), format, output, at=at):
        say(f"{format}: {made}")


def add(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(epilog="Example: cwndlab export out --format pcap --output out.pcapng --at senders")(export)
