"""What the tables of a scenario have in common: frozen values that mirror the schema, to plain values and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, ClassVar, Self

from cwndlab.custom import name_of

#: The classes of a field whose tables have a ``kind``, by kind; each class enters itself.
KINDS: dict[str, dict[str, type[Table]]] = {}
#: The kind of a table that names none.
USUAL = {"queue": "droptail", "loss": "list", "workload": "bulk"}
#: Fields whose tables are those of another.
SAME = {"station_queue": "queue", **dict.fromkeys(("background", "best_effort", "video", "voice"), "access_category")}
#: The classes of the other fields.
TABLES: dict[str, type[Table]] = {}


@dataclass(frozen=True)
class Table:
    """A table of the document; its fields are the table's, a trailing underscore apart.

    ``KIND`` is the value of the table's ``TAG``, for those that have one; ``FIELD`` the field where such tables stand.
    """

    KIND: ClassVar[str | None] = None
    FIELD: ClassVar[str] = ""
    TAG: ClassVar[str] = "kind"

    def __init_subclass__(cls) -> None:
        if "__repr__" not in vars(cls):
            cls.__repr__ = Table.__repr__  # type: ignore[method-assign] # `dataclass` would generate one
        if cls.KIND is not None:
            KINDS.setdefault(cls.FIELD, {})[cls.KIND] = cls

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))
            elif isinstance(value, dict):
                object.__setattr__(self, field.name, MappingProxyType(dict(value)))

    def __repr__(self) -> str:
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_document, (self.to_document(),)

    def to_document(self) -> dict[str, Any]:
        """The table as plain values, what is ``None`` left out."""
        document: dict[str, Any] = {} if self.KIND is None else {self.TAG: self.KIND}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                document[field.name.rstrip("_")] = plain(value)
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Builds it from plain values."""
        known = {field.name.rstrip("_"): field.name for field in fields(cls)}
        return cls(**{known[key]: value_of(key, value) for key, value in document.items() if key in known})


def plain(value: object) -> object:
    """A value as a document holds it."""
    match value:
        case Table():
            return value.to_document()
        case type():
            return name_of(value)
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case PurePath():
            return str(value)
        case _:
            return plain_scalar(value)


def plain_scalar(value: Any) -> Any:
    """A scalar of NumPy as Python has it; any other value as it is."""
    return value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value


def value_of(key: str, value: Any) -> Any:
    """A field's value from plain values; the engine has checked its shape."""
    if isinstance(value, list):
        return tuple(value_of(key, item) for item in value)
    if not isinstance(value, dict) or key in ("stack", "algorithms"):
        return value
    key = SAME.get(key, key)
    if key in KINDS:
        classes = KINDS[key]
        tag = next(iter(classes.values())).TAG
        return classes[value.get(tag, USUAL.get(key, ""))].from_document(value)
    return TABLES[key].from_document(value)
