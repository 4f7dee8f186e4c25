"""The outcomes that a folder holds: one ``outcome.json`` for each experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cwndlab.files import parsed
from cwndlab.reproduction.catalogue import experiments
from cwndlab.reproduction.claims import COLUMNS

# What `outcome.json` holds.
_KEYS = frozenset(
    {
        "id",
        "title",
        "section",
        "quick",
        "seed",
        "perturbed",
        "duration_s",
        "repetitions",
        "runs",
        "cpu_s",
        "findings",
        "why",
    }
)


def outcomes(folder: Path) -> list[dict[str, Any]]:
    """What the folder holds of each experiment, in the order of the papers.

    A file that cannot be read, or is of another version, is as none.
    """
    found = []
    for one in experiments():
        try:
            kept = parsed((folder / one.paper / one.figure / "outcome.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if kept.keys() == _KEYS and all(finding.keys() == set(COLUMNS) for finding in kept["findings"]):
            found.append(kept)
    return found
