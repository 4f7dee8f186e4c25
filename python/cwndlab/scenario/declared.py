"""Declarations of the fields of a table in a file: reading and JSON Schema derive from them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.errors import Fault

__all__ = ["Entry", "faults", "near", "schema"]


@dataclass(frozen=True)
class Entry:
    """A field of a table.

    Parameters
    ----------
    name
        The field.
    kinds
        Python types of its value, as ``tomllib`` reads it.
    wanted
        An example, as it stands in the fault of a value of another type.
    doc
        What the field means.
    schema
        JSON Schema of its value, without the description.
    required
        Whether it must be given.
    """

    name: str
    kinds: tuple[type, ...]
    wanted: str
    doc: str
    schema: Mapping[str, Any]
    required: bool = False


def near(name: str, known: Sequence[str]) -> str:
    """A hint at the name that was probably meant.

    Examples
    --------
    >>> near("seds", ["base", "seeds"])
    "did you mean 'seeds'?"
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}"


def faults(table: Mapping[str, Any], entries: Sequence[Entry], where: str) -> Iterator[Fault]:
    """Fields of ``table`` that no entry declares, that have another type, or that are missing."""
    known = {entry.name: entry for entry in entries}
    for name in table:
        if name not in known:
            yield Fault(f"{where}.{name}", "no such field", near(name, list(known)))
    for entry in entries:
        if entry.name not in table:
            if entry.required:
                yield Fault(f"{where}.{entry.name}", "is missing", f"write {entry.wanted}")
        elif not isinstance(table[entry.name], entry.kinds) or (
            isinstance(table[entry.name], bool) and bool not in entry.kinds
        ):
            yield Fault(f"{where}.{entry.name}", "is of another kind", f"write {entry.wanted}")


def schema(entries: Sequence[Entry], doc: str) -> dict[str, Any]:
    """JSON Schema of a table with these fields."""
    made: dict[str, Any] = {
        "type": "object",
        "description": doc,
        "properties": {entry.name: {**entry.schema, "description": entry.doc} for entry in entries},
        "additionalProperties": False,
    }
    if required := [entry.name for entry in entries if entry.required]:
        made["required"] = required
    return made
