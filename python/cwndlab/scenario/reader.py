"""Reads scenarios by the engine, which checks them and gives their canonical form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from cwndlab import engine
from cwndlab.custom import Classes, validate_classes


class Checked(NamedTuple):
    """A valid scenario."""

    document: str
    """JSON in the shape of the TOML, files read in, changes applied."""
    canonical: str
    """The canonical form, JSON."""
    hash: str
    """SHA-256 of the canonical form, in hex."""
    notes: tuple[str, ...]
    """What was derived, such as a queue that was floored."""


def check(
    text: str,
    format: Literal["toml", "json"],
    *,
    folder: Path | None = None,
    changes: Sequence[tuple[str, str]] = (),
    classes: Classes | None = None,
) -> Checked:
    """Reads a scenario, changes fields, describes ``classes`` of one's own in it, checks all of it; raises
    ``ScenarioError`` with every fault."""
    entries = [(name, json.dumps(algorithm.entry)) for name, algorithm in validate_classes(classes).items()]
    document, canonical, hash_, notes = engine.check(
        text, format, folder=folder, changes=list(changes), algorithms=entries
    )
    return Checked(document, canonical, hash_, tuple(notes))
