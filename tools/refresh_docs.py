"""Regenerates the generated blocks of README.md and docs/ (`make docs`), or lists the stale ones (`make check`).

`python tools/refresh_docs.py [--all] [WORD …]` generates first the declared and simulated blocks, then those measured
with this kernel, and last, without other work at the same time, the timed ones. It prints the expected durations first.
Without words it omits simulated blocks and pictures whose digest is current, and after an interruption the measurements
that the interrupted call had completed; `--all` includes these. Words select blocks by a word of their name (`bench`,
`records`) or by the name of their file (`README`, `validity`), and pictures by `algorithms` or the name of an
algorithm's page. Blocks whose prerequisites are missing are listed and omitted. `--check` changes no file.
docs/documentation.md describes the blocks.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from unittest import mock

import algorithm_pages
import declared_files
import doc_blocks
import generated
from cwndlab.catalogue import algorithms
from cwndlab.files import save

ROOT = generated.ROOT
#: The measurements of an interrupted call, and the durations of parts on this machine.
STATE = ROOT / "build" / "docs.json"


class _Planned(Exception):  # noqa: N818
    """Raised instead of the first run."""


def _hash(document: Any) -> str:
    """The hash of a scenario's canonical form."""
    from cwndlab.scenario.reader import check

    return check(json.dumps(document), "json").hash


def _planned_by_validate() -> Iterator[str]:
    """The runs of `cwndlab validate`, without executing them."""
    from cwndlab.validation.peers import validate

    jobs: list[tuple[Any, int]] = []

    def collect(_: Any, requested: Iterable[tuple[Any, int]], *__: Any) -> Iterator[Any]:
        jobs.extend(requested)
        raise _Planned

    # All functions that run several scenarios call `dispatch_all`.
    with mock.patch("cwndlab.engine.dispatch_all", collect), contextlib.suppress(_Planned):
        validate()
    # A replayed list of losses has thousands of numbers, whose canonical forms would take seconds.
    return (f"{json.dumps(document, sort_keys=True)} {seed}" for document, seed in jobs)


def _planned_by_matrix() -> Iterator[str]:
    """The settings with one algorithm, and the names of all algorithms."""
    from cwndlab.study import matrix

    yield from matrix.everything()
    for setting in matrix.SETTINGS:
        for buffer in matrix.BUFFERS:
            for loss in matrix.LOSSES:
                yield _hash(matrix.document("cubic", setting, buffer, loss))


#: Runs that neither a bundled scenario nor a file describes.
PLANNED: dict[str, Callable[[], Iterator[str]]] = {
    "validate": _planned_by_validate,
    "matrix": _planned_by_matrix,
}


def digest(name: str, entry: generated.Recipe) -> str | None:
    """The digest of a block's current inputs; none for kinds without a digest."""
    if entry.kind != "simulated":
        return None
    return generated.digest(generated.inputs(name, entry, PLANNED[name]() if name in PLANNED else ()))


def _measured(entry: generated.Recipe) -> str:
    """The place, date and command of a measurement."""
    from cwndlab.engine import version

    day = datetime.now(UTC).date().isoformat()
    return f"{doc_blocks.machine()}; {day}, cwndlab {version()}; `{entry.command}`:"


def body(name: str, entry: generated.Recipe) -> str:
    """The text between the markers of a block."""
    text = doc_blocks.MAKERS[name]() if name in doc_blocks.MAKERS else doc_blocks.first_table(entry.command)
    if entry.kind in ("kernel", "timed"):
        text = f"{_measured(entry)}\n\n{text.strip(chr(10))}"
    return "\n".join(line.rstrip() for line in f"\n{text.strip(chr(10))}\n\n".split("\n"))


@dataclass(frozen=True)
class Part:
    """A unit of work of `make docs`: a block, or pictures of algorithms."""

    name: str
    file: str
    kind: str
    takes_s: float
    lacks: list[str]
    fresh: bool
    make: Callable[[], None]

    @property
    def key(self) -> str:
        """File and name."""
        return f"{self.file}: {self.name}"


def _make_block(block: generated.Block, entry: generated.Recipe) -> None:
    """Generates a block. Its file is read again, because another process may have changed it."""
    new_body, stamp = body(block.name, entry), digest(block.name, entry)
    text = block.file.read_text(encoding="utf-8")
    new = generated.replaced(text, block.name, new_body, stamp)
    if new != text:
        save(new, block.file)


def _make_files() -> None:
    """Writes the files that are generated from the declared fields of a scenario."""
    for file, content in declared_files.files().items():
        file.parent.mkdir(exist_ok=True)
        save(content, file)


def parts(words: list[str]) -> list[Part]:
    """The parts that the words select (all without words), in the order of their generation."""
    known = generated.recipes()
    selected = []
    for block in generated.blocks(generated.pages()):
        entry = generated.recipe(block.name, known)
        if entry is None:
            raise SystemExit(f"{block.file.relative_to(ROOT)}: tools/generated.toml has no '{block.name}'")
        if words and not any(word in (block.name, *block.name.split(), block.file.stem) for word in words):
            continue
        try:
            fresh = block.digest is not None and block.digest == digest(block.name, entry)
        except LookupError as error:
            raise SystemExit(f"tools/generated.toml: {block.name}: {error}") from None
        file = str(block.file.relative_to(ROOT))
        make = partial(_make_block, block, entry)
        selected.append(Part(block.name, file, entry.kind, entry.takes_s, entry.lacking(), fresh, make))
    by_page = {algorithm_pages.file_of(one): one for one in algorithms() if algorithm_pages.runs(one)}
    if names := [name for name in by_page if not words or name in words or "algorithms" in words]:
        stale = [name for name in names if not algorithm_pages.is_drawn(by_page[name])]
        drawn = names if words else stale or names
        make = partial(algorithm_pages.draw, drawn)
        title = f"pictures of {drawn[0] if len(drawn) == 1 else f'{len(drawn)} algorithms'}"
        selected.append(Part(title, "docs/algorithms", "simulated", 0.5 * len(drawn), [], not stale, make))
    if not words or "files" in words:
        selected.append(Part("schemas and classes", "docs/schema", "declared", 1, [], False, _make_files))
    if not words:
        pages = partial(algorithm_pages.write_pages)
        # After the tables that the pages take rows of.
        selected.append(Part("pages of the algorithms", "docs/algorithms", "simulated", 1, [], False, pages))
    return sorted(selected, key=lambda part: generated.KINDS.index(part.kind))


def _state() -> dict[str, Any]:
    """The state of earlier calls. Measurements of another version of the engine are ignored."""
    from cwndlab.engine import engine_version

    try:
        stored: dict[str, Any] = json.loads(STATE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stored = {}
    is_current = stored.get("engine") == engine_version()
    measured = stored.get("measured", []) if is_current else []
    return {"engine": engine_version(), "measured": measured, "took_s": stored.get("took_s", {})}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def refresh(words: list[str], *, everything: bool) -> int:
    """Generates the parts, one after another."""
    state = _state()
    selected = parts(words)
    omitted = [part for part in selected if part.lacks]
    done = [part for part in selected if not words and not everything and (part.fresh or part.key in state["measured"])]
    left = [part for part in selected if part not in omitted and part not in done]
    expected = {part.key: state["took_s"].get(part.key, part.takes_s) for part in left}
    for part in left:
        _say(f"{part.kind:9}  {_span(expected[part.key]):>7}  {part.key}")
    _say(f"{len(left)} parts, about {_span(sum(expected.values()))}; {len(done)} are up to date")
    failed = []
    for part in left:
        start = time.monotonic()
        try:
            part.make()
        except (subprocess.CalledProcessError, OSError, ValueError, LookupError) as error:
            failed.append(part)
            _say(f"failed: {part.key}: {error}{textwrap.indent(str(getattr(error, 'stderr', None) or ''), '    ')}")
            continue
        elapsed = time.monotonic() - start
        state["took_s"][part.key] = round(elapsed, 1)
        if not words and part.kind in ("kernel", "timed"):
            state["measured"].append(part.key)
        save(json.dumps(state, indent=1), STATE)
        _say(f"{_span(elapsed):>7}  {part.key}")
    if not failed and not words:
        state["measured"] = []
        save(json.dumps(state, indent=1), STATE)
    for part in omitted:
        _say(f"omitted: {part.key}: needs {', '.join(part.lacks)}")
    return 1 if failed else 0


def _fault(block: generated.Block, entry: generated.Recipe | None) -> str | None:
    """The fault of a block; none if it is current."""
    if entry is None:
        return "has no entry in tools/generated.toml"
    if entry.kind in ("kernel", "timed"):
        return None if f"`{entry.command}`:" in block.body else f"does not name its command `{entry.command}`"
    try:
        current = digest(block.name, entry)
    except LookupError as error:
        return f"cannot be checked: {error}"
    if current != block.digest:
        return f"has the digest {block.digest or '(none)'}, the digest of current results is {current}"
    if (entry.kind == "declared" or entry.exact) and body(block.name, entry) != block.body:
        return f"differs from the current output of {entry.command}"
    return None


def faults() -> Iterator[str]:
    """The stale blocks, files and pages, a line each."""
    known = generated.recipes()
    used = set()
    for block in generated.blocks(generated.pages()):
        used.add(block.name)
        if fault := _fault(block, generated.recipe(block.name, known)):
            yield f"{block.file.relative_to(ROOT)}: '{block.name}' {fault}"
    for name in known.keys() - used:
        if "*" not in name:
            yield f"tools/generated.toml: no page has the block '{name}'"
    for file, content in declared_files.files().items():
        if not file.is_file() or file.read_text(encoding="utf-8") != content:
            yield f"{file.relative_to(ROOT)}: differs from the declared fields"
    for entry in algorithms():
        name = algorithm_pages.file_of(entry)
        page = algorithm_pages.FOLDER / f"{name}.md"
        if not page.is_file() or page.read_text(encoding="utf-8") != algorithm_pages.page(
            entry, algorithm_pages.digest_on_page(entry)
        ):
            yield f"docs/algorithms/{name}.md: differs from the entry of the catalogue"
    stale = [algorithm_pages.file_of(entry) for entry in algorithms() if not algorithm_pages.is_drawn(entry)]
    if stale:
        yield f"docs/algorithms: {len(stale)} pages have pictures of other results: {', '.join(stale)}"


def check() -> int:
    """Lists stale parts; returns 1 if there are any."""
    stale = list(faults())
    for line in stale:
        _say(line)
    if stale:
        _say("stale: `make docs` regenerates them")
    return 1 if stale else 0


def main(words: list[str]) -> int:
    """Runs the command line."""
    options = {word for word in words if word.startswith("--")}
    if options - {"--check", "--all"}:
        _say(__doc__ or "")
        return 2
    if "--check" in options:
        return check()
    try:
        return refresh([word for word in words if word not in options], everything="--all" in options)
    except KeyboardInterrupt:
        _say("stopped; the same command continues")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
