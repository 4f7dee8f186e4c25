"""The generated blocks of README.md and docs/: their places, their inputs, and whether they are stale.

tools/generated.toml describes each block. A simulated block has a digest of its inputs: the fingerprints of results in
known-answers/ (which tests/test_determinism.py verifies), its scenarios in canonical form, its files. A change that
does not affect results therefore makes no block stale.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]
KNOWN = ROOT / "known-answers"
#: Kinds in the order of `make docs`: timed blocks come last, without other work at the same time.
KINDS = ("declared", "simulated", "kernel", "timed")

BLOCK = re.compile(
    r"<!-- output: (?P<name>[^;>\n]*?)(?:; from: (?P<digest>[0-9a-f]+))? -->\n(?P<body>.*?)<!-- end -->", re.DOTALL
)


@dataclass(frozen=True)
class Recipe:
    """The generation of a block; the fields are those of tools/generated.toml."""

    kind: Literal["declared", "simulated", "kernel", "timed"]
    command: str
    takes_s: float
    needs: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ("*",)
    metrics: tuple[str, ...] = ("*",)
    form: int = 1
    exact: bool = False

    def lacking(self) -> list[str]:
        """Prerequisites that this machine lacks."""
        return [need for need in self.needs if not _has(need)]


def _has(need: str) -> bool:
    if need == "root":
        return os.geteuid() == 0
    if "/" in need:
        return (ROOT / need).exists()
    if need.startswith("python:"):
        return find_spec(need.removeprefix("python:")) is not None
    return shutil.which(need) is not None


@dataclass(frozen=True)
class Block:
    """A block of a file."""

    file: Path
    name: str
    body: str = field(repr=False)
    digest: str | None
    """The digest in its marker."""


def recipes(path: Path = ROOT / "tools" / "generated.toml") -> dict[str, Recipe]:
    """All recipes by the name of the block, which may be a pattern."""
    table: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))

    def frozen(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    return {name: Recipe(**{key: frozen(value) for key, value in entry.items()}) for name, entry in table.items()}


def recipe(name: str, known: dict[str, Recipe]) -> Recipe | None:
    """The recipe of the block of this name."""
    return next((entry for pattern, entry in known.items() if fnmatch(name, pattern)), None)


def pages(root: Path = ROOT) -> list[Path]:
    """The files that may contain blocks. `algorithm_pages` writes the complete pages of the algorithms."""
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def blocks(files: Iterable[Path]) -> Iterator[Block]:
    """All blocks of the files, in their order."""
    for file in files:
        for match in BLOCK.finditer(file.read_text(encoding="utf-8")):
            yield Block(file, match["name"], match["body"], match["digest"])


def replaced(text: str, name: str, body: str, digest: str | None) -> str:
    """The text of a file with a new body of this block."""

    def put(match: re.Match[str]) -> str:
        if match["name"] != name:
            return match[0]
        stamp = f"; from: {digest}" if digest else ""
        return f"<!-- output: {name}{stamp} -->\n{body}<!-- end -->"

    return BLOCK.sub(put, text)


@cache
def fingerprints(kind: str) -> dict[str, Any]:
    """`record-hashes`, `metric-values` or `algorithm-hashes`, as committed."""
    values: dict[str, Any] = json.loads((KNOWN / f"{kind}.json").read_text(encoding="utf-8"))
    return values


def _selected(known: dict[str, Any], patterns: Iterable[str], kind: str) -> dict[str, Any]:
    selected: dict[str, Any] = {}
    for pattern in patterns:
        matching = [name for name in known if fnmatch(name, pattern)]
        if not matching:
            raise LookupError(
                f"tools/generated.toml: no {kind} is called '{pattern}'; tools/refresh_hashes.py adds new ones"
            )
        selected |= {name: known[name] for name in matching}
    return selected


def _content(file: Path) -> str:
    """The digest of a file. For TOML and JSON it is that of the values, independent of layout and comments."""
    data = file.read_bytes()
    if file.suffix in (".toml", ".json"):
        values = tomllib.loads(data.decode()) if file.suffix == ".toml" else json.loads(data)
        data = json.dumps(values, sort_keys=True, default=str).encode()
    return sha256(data).hexdigest()


def inputs(name: str, entry: Recipe, planned: Iterable[str] = ()) -> dict[str, Any]:
    """All inputs of a simulated block. `planned` are hashes of runs that no file describes."""
    from cwndlab.scenario.presets import load

    values = fingerprints("metric-values")
    metrics = {scenario: _selected(numbers, entry.metrics, "metric") for scenario, numbers in values.items()}
    return {
        "command": entry.command,
        "form": entry.form,
        "records": fingerprints("record-hashes"),
        "algorithms": _selected(fingerprints("algorithm-hashes"), entry.algorithms, "algorithm"),
        "metrics": metrics,
        "scenarios": {scenario: load(scenario).hash for scenario in entry.scenarios},
        "files": {
            str(file.relative_to(ROOT)): _content(file)
            for pattern in entry.files
            for file in sorted(ROOT.glob(pattern))
            if file.is_file()
        },
        "planned": sorted(planned),
    }


def digest(values: dict[str, Any]) -> str:
    """The digest in the marker of a block, from its inputs."""
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
