"""The generated blocks of README.md and docs/: where they stand, what they are made from, whether they are stale.

tools/generated.toml describes each. A simulated block has a digest beside it, over what its numbers follow from: the
fingerprints of results in known-answers/ (tests/test_determinism.py proves that they are true), its scenarios in
canonical form, its files. So a change that leaves all results as they are makes no block stale.
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
#: Kinds in the order in which `make docs` takes them: what is timed comes last, with nothing beside it.
KINDS = ("declared", "simulated", "kernel", "timed")

BLOCK = re.compile(
    r"<!-- output: (?P<name>[^;>\n]*?)(?:; from: (?P<digest>[0-9a-f]+))? -->\n(?P<body>.*?)<!-- end -->", re.DOTALL
)


@dataclass(frozen=True)
class Recipe:
    """How a block is made; the fields are those of tools/generated.toml."""

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
        """What it needs and this machine does not have."""
        return [need for need in self.needs if not _has(need)]


def _has(need: str) -> bool:
    if need == "root":
        return os.geteuid() == 0
    if need.startswith("/"):
        return Path(need).exists()
    if need.startswith("python:"):
        return find_spec(need.removeprefix("python:")) is not None
    return shutil.which(need) is not None


@dataclass(frozen=True)
class Block:
    """A block as it stands in a file."""

    file: Path
    name: str
    body: str = field(repr=False)
    digest: str | None
    """What it says that it was made from."""


def recipes(path: Path = ROOT / "tools" / "generated.toml") -> dict[str, Recipe]:
    """All recipes by the block's name; a name may be a pattern."""
    table: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))

    def frozen(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    return {name: Recipe(**{key: frozen(value) for key, value in entry.items()}) for name, entry in table.items()}


def recipe(name: str, known: dict[str, Recipe]) -> Recipe | None:
    """The recipe of the block of this name."""
    return next((entry for pattern, entry in known.items() if fnmatch(name, pattern)), None)


def pages(root: Path = ROOT) -> list[Path]:
    """Where blocks may stand. The pages of the algorithms are written whole by `algorithm_pages`."""
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def blocks(files: Iterable[Path]) -> Iterator[Block]:
    """All blocks of the files, in their order."""
    for file in files:
        for found in BLOCK.finditer(file.read_text(encoding="utf-8")):
            yield Block(file, found["name"], found["body"], found["digest"])


def replaced(text: str, name: str, body: str, digest: str | None) -> str:
    """The file's text with this block made anew."""

    def put(found: re.Match[str]) -> str:
        if found["name"] != name:
            return found[0]
        stamp = f"; from: {digest}" if digest else ""
        return f"<!-- output: {name}{stamp} -->\n{body}<!-- end -->"

    return BLOCK.sub(put, text)


@cache
def fingerprints(kind: str) -> dict[str, Any]:
    """`record-hashes`, `metric-values` or `algorithm-hashes`, as committed."""
    found: dict[str, Any] = json.loads((KNOWN / f"{kind}.json").read_text(encoding="utf-8"))
    return found


def _chosen(known: dict[str, Any], patterns: Iterable[str], what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pattern in patterns:
        matching = [name for name in known if fnmatch(name, pattern)]
        if not matching:
            raise LookupError(
                f"tools/generated.toml: no {what} is called '{pattern}'; tools/refresh_hashes.py adds new ones"
            )
        found |= {name: known[name] for name in matching}
    return found


def _content(file: Path) -> str:
    """A file's digest; of TOML and JSON that of the values, so that layout and remarks do not count."""
    data = file.read_bytes()
    if file.suffix in (".toml", ".json"):
        values = tomllib.loads(data.decode()) if file.suffix == ".toml" else json.loads(data)
        data = json.dumps(values, sort_keys=True, default=str).encode()
    return sha256(data).hexdigest()


def inputs(name: str, entry: Recipe, planned: Iterable[str] = ()) -> dict[str, Any]:
    """All that the numbers of a simulated block follow from. `planned` are hashes of runs that no file describes."""
    from cwndlab.scenario.presets import load

    values = fingerprints("metric-values")
    metrics = {scenario: _chosen(numbers, entry.metrics, "metric") for scenario, numbers in values.items()}
    return {
        "command": entry.command,
        "form": entry.form,
        "records": fingerprints("record-hashes"),
        "algorithms": _chosen(fingerprints("algorithm-hashes"), entry.algorithms, "algorithm"),
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


def digest(found: dict[str, Any]) -> str:
    """The digest that stands beside a block."""
    return sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]
