"""Declarations of the fields of a table in a file: reading and JSON Schema derive from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.errors import Fault, near

__all__ = ["Entry", "faults", "schema"]


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
