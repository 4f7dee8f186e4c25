"""Finished runs, kept by what they depend on: one small file each, written whole or not at all.

The name of a file is a SHA-256 of everything that can change its content: the scenario's canonical form, the seed, the
engine itself, the metrics, and the module that measures. So a run is found again as long as it would come out the same,
whichever experiment asks; two processes on one folder write the same bytes.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cwndlab import metrics
from cwndlab.engine import engine_version
from cwndlab.errors import Fault, OutputError
from cwndlab.files import parsed


class Store:
    """Kept runs of a folder, or of this process where none is given."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._held: dict[str, dict[str, Any]] = {}

    def get(self, key: str) -> dict[str, Any] | None:
        """What is kept under the key; nothing where there is nothing, or nothing that can be read."""
        if key in self._held:
            return self._held[key]
        if self._folder is None:
            return None
        try:
            found: dict[str, Any] = parsed(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        self._held[key] = found
        return found

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Keeps a value."""
        self._held[key] = value
        if self._folder is None:
            return
        path = self._path(key)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise OutputError(
                Fault(str(path), f"cannot be written: {error.strerror}", "make room, or choose another place")
            ) from None

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / key[:2] / f"{key}.json"


def key(scenario_hash: str, seed: int, *measures: Callable[..., Any] | None) -> str:
    """The name of a run: what is run, and the functions that reduce it."""
    parts = [scenario_hash, str(seed), _engine()]
    for measure in measures:
        parts.append(
            "" if measure is None else f"{measure.__module__}.{measure.__qualname__} {_source(measure.__module__)}"
        )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _engine() -> str:
    """Engine and metrics: a changed engine of the same version is another one."""
    digest = hashlib.sha256(engine_version().encode())
    for path in sorted(Path(inspect.getfile(metrics)).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _source(module: str) -> str:
    return hashlib.sha256(inspect.getsource(sys.modules[module]).encode()).hexdigest()
