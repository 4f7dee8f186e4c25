"""``cwndlab suite``: statements of standards and scripts of others, held against algorithms and the transport."""

from __future__ import annotations

import typer

from cwndlab.cli.packetdrill import packetdrill


def add(app: typer.Typer) -> None:
    """Adds the command and its subcommands."""
    suite = typer.Typer(help="Test algorithms and the transport by their sources.", no_args_is_help=True)
    app.add_typer(suite, name="suite")
    suite.command(epilog="Example: cwndlab suite packetdrill known-answers/packetdrill")(packetdrill)
