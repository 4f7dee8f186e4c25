"""Tables as CSV: one file each; headers are the columns, which carry their units; what does not exist is empty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.files import atomic_write
from cwndlab.records import TABLES

if TYPE_CHECKING:
    from cwndlab.records import Records


def write(records: Records, folder: Path | str) -> list[Path]:
    """Writes every table of a run into ``folder``; raises ``RecordsError`` if one cannot be written."""
    made = []
    for table in TABLES:
        made.append(Path(folder) / f"{table}.csv")
        with atomic_write(made[-1]) as file:
            records.frame(table).write_csv(file)
    return made
