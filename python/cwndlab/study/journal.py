"""Lines of a journal: each is written with one call, and its digest shows whether it is complete."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from cwndlab.files import json_text, parsed


def entry(row: Mapping[str, Any]) -> bytes:
    """A row as a line."""
    text = json_text(row).encode()
    return _digest(text) + b" " + text + b"\n"


def entries(content: bytes) -> Iterator[dict[str, Any]]:
    """The rows of complete lines; incomplete and altered ones are skipped.

    >>> line = entry({"a": 1})
    >>> list(entries(line + line[:-5] + b"\\n" + line))
    [{'a': 1}, {'a': 1}]
    """
    for line in content.split(b"\n"):
        with contextlib.suppress(ValueError):
            digest, _, text = line.partition(b" ")
            if digest == _digest(text):
                row = parsed(text)
                if isinstance(row, dict):
                    yield row


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:16].encode()
