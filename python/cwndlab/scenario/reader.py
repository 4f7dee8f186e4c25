"""Reads scenarios by the engine, which checks them and gives their canonical form."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from cwndlab import engine
from cwndlab.custom import Classes, CustomAlgorithm, registered, registered_in, undescribed, validate_classes


class Checked(NamedTuple):
    """A valid scenario."""

    document: str
    """JSON in the shape of the TOML, files read in, changes applied."""
    canonical: str
    """The canonical form, JSON."""
    hash: str
    """SHA-256 of the canonical form, in hex."""
    notes: tuple[str, ...]
    """What was derived, such as a queue that was floored."""
    classes: Classes
    """The classes in Python at hand: the given ones, and the registered ones that flows name."""
    places: tuple[tuple[str, ...], ...] = ()
    """The paths of the fields of each change, with the indices of items in place of names, ``[*]`` and ``[+]``."""


def check(
    text: str,
    format: Literal["toml", "json"],
    *,
    folder: Path | None = None,
    changes: Sequence[tuple[str, str | None]] = (),
    classes: Classes | None = None,
) -> Checked:
    """Reads a scenario, changes fields, describes ``classes`` and the registered classes that its flows name, checks
    all of it; raises ``ScenarioError`` with every fault. A field that is changed to ``None`` has its default."""
    given = validate_classes(classes)
    others = {name: one for name, one in _undescribed(text, format).items() if name not in given}
    entries = [(name, json.dumps(algorithm.entry)) for name, algorithm in {**others, **given}.items()]
    document, canonical, hash_, notes, places = engine.check(
        text, format, folder=folder, changes=list(changes), algorithms=entries
    )
    known = {name: algorithm.kind for name, algorithm in given.items()}
    if others:
        plain = json.loads(document)
        named = {name: kind for name, kind in registered_in(plain).items() if name in others}
        for name in others.keys() - named.keys():
            del plain["algorithms"][name]
        if not plain["algorithms"]:
            del plain["algorithms"]
        document, known = json.dumps(plain, separators=(",", ":"), ensure_ascii=False), {**named, **known}
    return Checked(document, canonical, hash_, tuple(notes), known, tuple(map(tuple, places)))


def _undescribed(text: str, format: Literal["toml", "json"]) -> dict[str, CustomAlgorithm]:
    """The registered classes whose names a scenario does not give to another class."""
    if not registered():
        return {}
    try:
        document = json.loads(text) if format == "json" else tomllib.loads(text)
    except ValueError:
        document = None  # the engine reports the fault
    return undescribed(document if isinstance(document, dict) else {})
