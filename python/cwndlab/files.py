"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from cwndlab.errors import Fault, RecordsError


def save(text: str, path: Path | str) -> None:
    """Writes a file under another name and renames it once it is on the disk; raises ``RecordsError`` where it cannot
    be written."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise RecordsError(
            Fault(str(path), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None
    finally:
        if partial.is_file():
            partial.unlink()
