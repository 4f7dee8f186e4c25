"""What a sweep has found, on disk or in an object store, so that it can be killed at any moment.

    DIR/manifest.json                              which parts there are, with sizes and SHA-256; what was asked
    DIR/runs/version=V/metrics=M/part-<n>.parquet  one row per run, under the key of what was run
    DIR/journal.jsonl                              rows that are in no part yet, a line each (local folders)
    DIR/cells.parquet                              the scenario of each cell
    DIR/rows.parquet                               cells and runs joined: the answer

A part is written under another name and renamed; an object store shows it only when it is whole. Only what the manifest
names is read, and only when its size and SHA-256 are those. A row goes to the journal with one write as soon as its run
has ended; a line that is cut off is no row. A row that is twice, because a process died between writing a part and
emptying the journal, counts once: its key is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import parsed
from cwndlab.study.journal import entries, entry
from cwndlab.study.lock import FileLock, ObjectLock
from cwndlab.study.sweeps.tasks import Row

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 1
# Rows that make a part, and how long an object store, which has no journal, waits for a smaller one.
_PART_ROWS = 1000
_PART_AGE_S = 2.0
_WHOLE = {"seed", "packets"}
_TEXT = {"key", "scenario_hash", "host"}


class Store:
    """A folder, by path or by any URL that fsspec knows. Opened with ``write`` it is locked."""

    def __init__(self, place: str | Path, *, write: bool = False, version: str = "", metrics: str = "") -> None:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        self.place = str(place)
        self.notes: list[str] = []
        try:
            self._fs, self._root = url_to_fs(self.place)
        except (ImportError, ValueError) as error:
            raise RecordsError(
                Fault(self.place, f"cannot be opened: {error}", "a folder, s3://… or memory://…")
            ) from None
        self._root = self._root.rstrip("/")
        self._local = isinstance(self._fs, LocalFileSystem)
        self._version, self._metrics = version, metrics
        self._fresh: list[Row] = []
        self._last = time.monotonic()
        self._journal = -1
        self._lock: FileLock | ObjectLock | None = None
        self.manifest: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "parts": []}
        if write:
            self._begin()
        else:
            self._load_manifest()

    # Files.

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _put(self, name: str, content: bytes) -> None:
        """Writes a file whole, or not at all."""
        path = self._path(name)
        try:
            if not self._local:
                if isinstance(self._lock, ObjectLock):
                    self._lock.check()
                self._fs.pipe_file(path, content)
                return
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f".{target.name}.partial")
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except OSError as error:
            what = f"cannot be written: {error.strerror or error}"
            raise OutputError(Fault(path, what, "make room, or choose another folder; what is there is kept")) from None

    def _get(self, name: str) -> bytes | None:
        try:
            found: bytes = self._fs.cat_file(self._path(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RecordsError(Fault(self._path(name), f"cannot be read: {error.strerror or error}", "")) from None
        return found

    def _load_manifest(self) -> bool:
        content = self._get("manifest.json")
        if content is None:
            return False
        try:
            found = parsed(content)
            if found["schema_version"] != SCHEMA_VERSION:
                what = f"is of schema {found['schema_version']}, this is cwndlab with schema {SCHEMA_VERSION}"
                raise RecordsError(Fault(self._path("manifest.json"), what, "choose another folder"))
            assert isinstance(found["parts"], list)
        except (ValueError, KeyError, TypeError, AssertionError):
            hint = "a folder that `cwndlab sweep --out` wrote; choose another one"
            raise RecordsError(Fault(self._path("manifest.json"), "is no manifest of a sweep", hint)) from None
        self.manifest = found
        return True

    # Opening, closing.

    def _begin(self) -> None:
        try:
            if self._local:
                Path(self._root).mkdir(parents=True, exist_ok=True)
                self._lock = FileLock(Path(self._root))
            else:
                self._lock = ObjectLock(self._fs, self._root, self.place)
        except RecordsError:
            raise
        except OSError as error:
            raise RecordsError(Fault(self.place, f"cannot be opened: {error.strerror or error}", "")) from None
        try:
            if not self._load_manifest() and self._foreign():
                raise RecordsError(Fault(self.place, "holds something else", "choose an empty folder by --out"))
            self._others()
            if self._local:
                # Rows of a process that was killed become a part.
                self._fresh = self._left()
                self._flush()
                self._journal = os.open(
                    self._path("journal.jsonl"),
                    os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC | os.O_CLOEXEC,
                    0o644,
                )
        except BaseException:
            self.close()
            raise

    def _foreign(self) -> bool:
        """Whether a folder without a manifest holds what is not ours."""
        ours = {".lock", "journal.jsonl", ".manifest.json.partial", ".cells.parquet.partial", "cells.parquet", "runs"}
        return self._local and any(path.name not in ours for path in Path(self._root).iterdir())

    def _left(self) -> list[Row]:
        """Whole lines of the journal, each once."""
        found: dict[str, Row] = {}
        for row in entries(self._get("journal.jsonl") or b""):
            with contextlib.suppress(KeyError):
                if (row.pop("version"), row.pop("metrics")) == (self._version, self._metrics):
                    found[row["key"]] = row
        return list(found.values())

    def _others(self) -> None:
        """Rows of other versions are told, and not used."""
        others: dict[tuple[str, str], int] = {}
        for part in self.manifest["parts"]:
            of = (part["version"], part["metrics"])
            if of != (self._version, self._metrics):
                others[of] = others.get(of, 0) + part["rows"]
        for (version, metrics), count in others.items():
            why = f"cwndlab {version}" if version != self._version else f"other metrics ({metrics})"
            self.notes.append(f"{self.place}: {count} runs are of {why} and are not used; they stay where they are")

    def close(self) -> None:
        """Writes what is left and lets go."""
        try:
            if self._lock is not None and self._fresh:
                self._flush()
        finally:
            if self._journal >= 0:
                os.close(self._journal)
                self._journal = -1
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Rows.

    def add(self, row: Row) -> None:
        """Keeps a row: from here on it is not lost, whatever becomes of this process (on an object store, from the next
        part on, which is two seconds at most)."""
        if self._journal >= 0:
            os.write(self._journal, entry(row | {"version": self._version, "metrics": self._metrics}))
        self._fresh.append(row)
        self.tick()

    def tick(self) -> None:
        """To be called now and then."""
        old = not self._local and time.monotonic() - self._last > _PART_AGE_S
        if len(self._fresh) >= _PART_ROWS or (old and self._fresh):
            self._flush()

    def _flush(self) -> None:
        if self._fresh:
            table = io.BytesIO()
            _frame(self._fresh).write_parquet(table, compression="zstd")
            content = table.getvalue()
            number = 1 + max((part["number"] for part in self.manifest["parts"]), default=0)
            # Named after the lock where it can be lost: then no part is overwritten by a process that lost it.
            mark = f"-{self._lock.token}" if isinstance(self._lock, ObjectLock) else ""
            name = f"runs/version={self._version}/metrics={self._metrics}/part-{number:06d}{mark}.parquet"
            self._put(name, content)
            part = {"name": name, "number": number, "rows": len(self._fresh), "bytes": len(content)}
            part |= {"sha256": hashlib.sha256(content).hexdigest(), "version": self._version, "metrics": self._metrics}
            self.manifest["parts"].append(part)
            self._put("manifest.json", json.dumps(self.manifest, indent=1).encode())
            self._fresh = []
        if self._journal >= 0:
            os.ftruncate(self._journal, 0)
        self._last = time.monotonic()

    def runs(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Every run of this version, each once; of that of the last sweep where none is named."""
        import polars as pl

        parts = self.manifest["parts"]
        of = (self._version, self._metrics)
        if not self._version:
            of = tuple(self.manifest.get("request", {}).get("runs", ("", "")))
        frames = []
        for part in parts:
            if (part["version"], part["metrics"]) != of:
                continue
            content = self._get(part["name"])
            if content is None or hashlib.sha256(content).hexdigest() != part["sha256"]:
                self.notes.append(
                    f"{self._path(part['name'])}: not what was written; its {part['rows']} runs are left out"
                )
                continue
            frame = pl.read_parquet(io.BytesIO(content))
            frames.append(frame if columns is None else frame.select(columns))
        fresh = self._fresh
        if self._lock is None and self._local:
            if not self._version:
                self._version, self._metrics = of
            fresh = self._left()
        if fresh:
            frame = _frame(fresh)
            frames.append(frame if columns is None else frame.select(columns))
        if not frames:
            return _frame([])
        return pl.concat(frames, how="diagonal_relaxed").unique("key", keep="first", maintain_order=True)

    # What was asked, and the answer.

    def describe(self, asked: Mapping[str, Any], cells: pl.DataFrame) -> None:
        """Keeps what the rows answer: that of the last sweep."""
        self._put("cells.parquet", _parquet(cells))
        self.manifest["request"] = dict(asked) | {"runs": [self._version, self._metrics]}
        self._put("manifest.json", json.dumps(self.manifest, indent=1).encode())

    def cells(self) -> pl.DataFrame:
        """One row per cell: its columns, ``scenario_hash``, ``scenario`` (JSON)."""
        import polars as pl

        content = self._get("cells.parquet")
        if content is None:
            hint = "a folder that `cwndlab sweep --out` wrote"
            raise RecordsError(Fault(self.place, "holds no sweep", hint))
        return pl.read_parquet(io.BytesIO(content))

    def finish(self, rows: pl.DataFrame, *, total: int, complete: bool) -> None:
        """Writes the answer, and whether all of its ``total`` runs are there."""
        self._put("rows.parquet", _parquet(rows))
        self.manifest["request"] |= {"total": total, "complete": complete}
        self._put("manifest.json", json.dumps(self.manifest, indent=1).encode())


def _parquet(frame: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd")
    return content.getvalue()


def _frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Rows with the same types whatever is in them."""
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row)) or ["key", "scenario_hash", "seed"]
    kinds = {name: pl.Int64 if name in _WHOLE else pl.String if name in _TEXT else pl.Float64 for name in names}
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, schema=kinds)
