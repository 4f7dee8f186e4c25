"""Files that are complete or absent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from cwndlab.errors import Fault, OutputError


@contextmanager
def atomic_write(path: Path | str) -> Iterator[BinaryIO]:
    """A file to write; under its name only when the block ends without an error. Raises ``RecordsError``."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise OutputError(
            Fault(str(path), f"cannot be written: {error.strerror}", "make room, or choose another place")
        ) from None
    finally:
        if partial.is_file():
            partial.unlink()


def parsed(text: str | bytes) -> Any:
    """JSON of a file or a server; raises ``ValueError`` also where it is nested too deeply for the interpreter."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def save(text: str, path: Path | str) -> None:
    """Writes a text; an error leaves no file."""
    with atomic_write(path) as file:
        file.write(text.encode())


def slug(text: str) -> str:
    """A name of a file or folder for any text, such as an algorithm's."""
    return re.sub(r"[^A-Za-z0-9.+=-]+", "_", text).strip("_")
