"""``cwndlab tune``."""

import typer


def add(app: typer.Typer) -> None:
    """Adds the verb."""
