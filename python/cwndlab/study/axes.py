"""The axes of a result: labels that change together are one axis, and every value of an axis has a short text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cwndlab.files import json_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Axis", "axes", "exact", "labels", "readable", "short", "text"]


@dataclass(frozen=True)
class Axis:
    """An axis.

    Parameters
    ----------
    name
        What it is called; no other axis has this name.
    columns
        The labels that change together along it.
    rows
        Its values in the order of the cells, each with an entry per label.
    texts
        A text per value, different from all others.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    texts: tuple[str, ...]

    @property
    def is_described(self) -> bool:
        """Whether the texts leave out parts of the values."""
        pairs = zip(self.texts, self.rows, strict=True)
        return len(self.columns) > 1 or any(one not in (text(row[0]), exact(row[0])) for one, row in pairs)

    @cached_property
    def _named(self) -> dict[tuple[Any, ...], str]:
        return dict(zip(self.rows, self.texts, strict=True))

    def text_of(self, row: Mapping[str, Any]) -> str:
        """The text of the value that a row of cells or runs has on it."""
        return self._named[tuple(row[name] for name in self.columns)]


def axes(points: pl.DataFrame, groups: Sequence[Sequence[str]]) -> list[Axis]:
    """The axes of cells.

    Parameters
    ----------
    points
        A row per cell with a column per label.
    groups
        The labels of each axis, all of those that change together. Labels that begin with ``@`` name the values of
        their axis, if they distinguish them.

    Examples
    --------
    >>> import polars as pl
    >>> points = pl.DataFrame({"@site": ["near", "far"], "rate": ["5 Mbps", "9 Mbps"], "rtt": ["1 ms", "9 ms"]})
    >>> [(one.name, one.texts) for one in axes(points, [["@site", "rate", "rtt"]])]
    [('@site', ('near', 'far'))]
    >>> [(one.name, one.texts) for one in axes(points, [["rate", "rtt"]])]
    [('rate, rtt', ('5 Mbps, 1 ms', '9 Mbps, 9 ms'))]
    """
    made = []
    for group in filter(None, groups):
        rows = tuple(dict.fromkeys(points.select(group).iter_rows()))
        names = _naming(group, rows)
        columns = [readable([row[group.index(name)] for row in rows]) for name in names]
        texts = tuple(_names(list(zip(*columns, strict=True))))
        made.append(Axis(", ".join(names), tuple(group), rows, texts))
    return made


def labels(points: pl.DataFrame, axes: Sequence[Axis]) -> dict[int, str]:
    """The name of each cell, different from all others: the texts of its values on all axes."""
    if not axes:
        return dict.fromkeys(points["cell"], "scenario")
    words = [tuple(axis.text_of(row) for axis in axes) for row in points.iter_rows(named=True)]
    return dict(zip(points["cell"], _names(words), strict=True))


def _names(words: Sequence[tuple[str, ...]]) -> list[str]:
    """A name from the words of each. Where two names would agree, words with a comma of their own are quoted.

    >>> _names([("a, b", "c"), ("a", "b, c")])
    ['"a, b", c', 'a, "b, c"']
    >>> _names([("a, b", "c"), ("a", "c")])
    ['a, b, c', 'a, c']
    """
    plain = [", ".join(one) for one in words]
    if len(set(plain)) == len(set(words)):
        return plain
    return [", ".join(_quoted(word) for word in one) for one in words]


def _quoted(word: str) -> str:
    return json_text(word, ensure_ascii=False) if "," in word or '"' in word else word


def _naming(group: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """The labels whose values name those of an axis: its ``@`` labels if they suffice, else all."""
    marked = [name for name in group if name.startswith("@")]
    places = [group.index(name) for name in marked]
    is_enough = marked and len({tuple(row[at] for at in places) for row in rows}) == len(rows)
    return marked if is_enough else list(group)


def readable(values: Sequence[Any]) -> list[str]:
    """A short text for each distinct value of a label; for TOML tables, the parts in which they differ.

    >>> readable(['{ kind = "droptail", capacity = "1 bdp" }', '{ kind = "codel", capacity = "1 bdp" }'])
    ['droptail', 'codel']
    >>> readable(['{ rate = "2 Mbps", delay = "9 ms" }', '{ rate = "8 Mbps", delay = "5 ms" }'])
    ['rate 2 Mbps, delay 9 ms', 'rate 8 Mbps, delay 5 ms']
    >>> readable([0.5, 20.0])
    ['0.5', '20']
    >>> readable([1000001.0, 1000002.0])
    ['1000001', '1000002']
    """
    plain = [text(value) for value in values]
    if len(set(plain)) < len(set(values)):
        plain = [exact(value) for value in values]
    parts = [_parts(value) for value in values]
    if any(one is None for one in parts):
        return plain
    known = [one for one in parts if one is not None]
    keys = list(dict.fromkeys(key for one in known for key in one))
    differing = [key for key in keys if len({one.get(key) for one in known}) > 1]
    texts = [_joined(one, differing) for one in known]
    return texts if all(texts) and len(set(texts)) == len(set(plain)) else plain


def _joined(parts: Mapping[str, str], keys: Sequence[str]) -> str:
    """The parts of a table; ``kind`` and a single part stand without their names."""
    names = dict(zip(keys, short(keys), strict=True))
    words = [
        parts[key] if names[key] == "kind" or len(keys) == 1 else f"{names[key]} {parts[key]}"
        for key in sorted(keys, key=lambda key: names[key] != "kind")
        if key in parts
    ]
    return ", ".join(words)


def _parts(value: Any) -> dict[str, str] | None:
    """The parts of a table or list as TOML writes it, by their paths; ``None`` for any other value."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return None
    try:
        return dict(_flattened(tomllib.loads(f"value = {value}")["value"], ""))
    except tomllib.TOMLDecodeError:
        return None


def _flattened(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _flattened(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for at, one in enumerate(value):
            yield from _flattened(one, f"{path}[{at}]")
    else:
        yield path, " ".join(map(text, value)) if isinstance(value, list) else text(value)


def text(value: Any) -> str:
    """A value as tables show it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def exact(value: Any) -> str:
    """A value with every digit that tells it apart from another, where six do not."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return repr(value) if isinstance(value, float) else text(value)


def short(names: Sequence[str]) -> list[str]:
    """The shortest suffix of each dotted name that no other name has.

    >>> short(["dumbbell.bottleneck.rate", "dumbbell.access.rate", "flow[*].rtt", "@set"])
    ['bottleneck.rate', 'access.rate', 'rtt', 'set']
    """
    known = [one for name in names for one in name.split(", ")]
    return [", ".join(_end(one, known) for one in name.split(", ")) for name in names]


def _end(name: str, names: Sequence[str]) -> str:
    steps = name.lstrip("@").split(".")
    for count in range(1, len(steps) + 1):
        end = ".".join(steps[-count:])
        if sum(one.lstrip("@") == end or one.endswith("." + end) for one in names) <= 1:
            return end
    return ".".join(steps)
