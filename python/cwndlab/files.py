"""Files that are complete or absent, and JSON that any reader accepts."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from cwndlab.errors import Fault, OutputError


def not_written(place: Path | str, error: OSError) -> OutputError:
    """The error for a file or folder that cannot be written, with what would help."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "make room, or choose another place" if is_full else "choose another place"
    return OutputError(Fault(str(place), f"cannot be written: {error.strerror or error}", hint))


@contextmanager
def atomic_write(path: Path | str) -> Iterator[BinaryIO]:
    """A file to write; under its name only when the block ends without an error. Raises ``RecordsError``."""
    path = Path(path)
    if not path.name:
        raise not_written(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    # Two processes may write one file at once: each has its own part, and the last one to end has the name.
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        if partial.is_file():
            partial.unlink()


def json_text(value: Any, **layout: Any) -> str:
    """A value as JSON by RFC 8259, which has neither NaN nor infinity: a number that is not finite is ``null``.

    Parameters
    ----------
    value
        What `json.dumps` accepts.
    layout
        Its parameters ``indent``, ``ensure_ascii``, ``separators`` and ``sort_keys``.

    Examples
    --------
    >>> json_text({"mean": float("nan"), "n": 0})
    '{"mean": null, "n": 0}'
    """
    try:
        return json.dumps(value, allow_nan=False, **layout)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, **layout)


def _finite(value: Any) -> Any:
    """The value with ``None`` in place of numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_finite_key(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


def _finite_key(key: Any) -> Any:
    return key if not isinstance(key, float) or math.isfinite(key) else str(key)


#: Significant digits of a number in CSV; JSON and Parquet have all.
_CSV_DIGITS = 9


def csv_cell(value: Any) -> Any:
    """A value as a cell of CSV: numbers with at most nine significant digits, of which none that is not finite; lists
    and tables as JSON.

    >>> [csv_cell(value) for value in (0.1 + 0.2, 93123456.78901, 1 / 3e7, float("nan"), 5, [1.5])]
    ['0.3', '93123456.8', '3.33333333e-08', '', 5, '[1.5]']
    """
    if isinstance(value, float):
        return format(value, f".{_CSV_DIGITS}g") if math.isfinite(value) else ""
    return json_text(value) if isinstance(value, dict | list) else value


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
    """A part of a name of a file or folder for any text, such as an algorithm's; different texts may have the same."""
    return re.sub(r"[^A-Za-z0-9.+=-]+", "_", text).strip("_")


# Texts that are names on every file system: without upper case, which some do not tell from lower case.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9+=-]*(?:\.[a-z0-9+=-]+)*")
# Names of devices on Windows, with any extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


def own_name(text: str) -> str:
    """A name of a file or folder for any text, on every file system; different texts have different names.

    >>> own_name("cubic+ccm-ss"), own_name("< 1 BDP")
    ('cubic+ccm-ss', '1_BDP-8398dc0d')
    """
    if _PLAIN.fullmatch(text) and not _DEVICES.fullmatch(text):
        return text
    return f"{slug(text).strip('.')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-")
