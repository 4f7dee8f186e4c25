"""The store of finished runs, in memory, in a folder or on an object store. A process may be killed at any moment.

    DIR/manifest.json           parts with their sizes and SHA-256; the header of the last study
    DIR/runs/part-<n>.parquet   a row per run, under its key
    DIR/journal.jsonl           rows that are not in a part yet, a line each (local folders)
    DIR/points.parquet          labels and scenario of each point of the last study
    DIR/rows.parquet            points and runs joined

The key of a run is the SHA-256 of its scenario's hash, its seed, the engine's version and digest, and the digest of
its measure, which includes the sources of the metrics. A study on the folder thus finds any run that it would repeat.

A part is written under another name and renamed; an object store shows it only when it is complete. Only parts that
the manifest names are read, and only if size and SHA-256 match. A row goes to the journal with one write as soon as its
run has ended; an incomplete line does not count. A row that is stored twice, because a process died between writing a
part and emptying the journal, counts once: its key is the same, and the last row of a key counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.closing import Closing
from cwndlab.errors import Fault, OutputError, RecordsError
from cwndlab.files import atomic_write, json_text, not_written, own_name, parsed
from cwndlab.study.journal import entries, entry
from cwndlab.study.lock import FileLock, ObjectLock
from cwndlab.study.spec import Row

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 2
# Rows of a part or, with payloads, its bytes; an object store, which has no journal, gets smaller parts earlier.
_PART_ROWS = 1000
_PART_BYTES = 32 << 20
_PART_AGE_S = 2.0
_INTEGERS = {"seed", "packets"}
_TEXTS = {"key", "scenario_hash", "engine", "measure", "host", "payload", "findings", "levels", "air"}
_KEYS = ("key", "scenario_hash", "seed", "engine", "measure")
_OURS = {".lock", "journal.jsonl", "manifest.json", "points.parquet", "rows.parquet", "runs", "lock"}
_ANOTHER = "choose another folder, or delete this one"


class Store(Closing):
    """Rows of finished runs by their keys.

    Parameters
    ----------
    place
        A folder, or any URL that fsspec supports; ``None`` keeps the rows in memory.
    write
        Locks the store and creates it if necessary. Otherwise the store is only read.
    beside
        Names of other files that may be in its folder.

    Raises
    ------
    RecordsError
        The place is in use by another process, holds something else, or was written by an older version.

    Examples
    --------
    >>> with Store(None, write=True) as store:
    ...     store.add({"key": "k", "scenario_hash": "h", "seed": 1, "engine": "e", "measure": "m", "jain": 1.0})
    ...     store.runs("e", "m")["jain"].to_list()
    [1.0]
    """

    def __init__(self, place: str | Path | None, *, write: bool = False, beside: Collection[str] = ()) -> None:
        self.place = "" if place is None else str(place)
        self.notes: list[str] = []
        self._ours = _OURS.union(beside)
        self.manifest: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "parts": []}
        self._fresh: list[Row] = []
        self._fresh_bytes = 0
        self._last = time.monotonic()
        # A timer writes the rows that wait for a part on an object store.
        self._guard = threading.RLock()
        self._timer: threading.Timer | None = None
        self._journal = -1
        self._lock: FileLock | ObjectLock | None = None
        self._fs: Any = None
        self._root, self._is_local = "", False
        if place is not None:
            self._locate()
            self._open() if write else self._load()

    # Files.

    def _locate(self) -> None:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        if (folder := local(self.place)) is not None:
            # A name with "::" is no chain of URLs.
            self._fs, self._is_local, self._root = LocalFileSystem(), True, str(folder.absolute())
            return
        try:
            self._fs, root = url_to_fs(self.place)
        except (ImportError, ValueError) as error:
            raise RecordsError(
                Fault(self.place, f"cannot be opened: {error}", "a folder, s3://… or memory://…")
            ) from None
        self._root, self._is_local = root.rstrip("/"), isinstance(self._fs, LocalFileSystem)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def put(self, name: str, content: bytes) -> None:
        """Writes a file beside the runs, completely or not at all."""
        if self._fs is None:
            return
        if self._is_local:
            with atomic_write(self._path(name)) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            return
        if isinstance(self._lock, ObjectLock):
            self._lock.check()
        try:
            self._fs.pipe_file(self._path(name), content)
        except OSError as error:
            what = f"cannot be written: {error.strerror or error}"
            raise OutputError(Fault(self._path(name), what, "finished runs are kept")) from None

    def _get(self, name: str) -> bytes | None:
        try:
            content: bytes = self._fs.cat_file(self._path(name))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RecordsError(Fault(self._path(name), f"cannot be read: {error.strerror or error}", "")) from None
        return content

    def _save_manifest(self) -> None:
        with self._guard:
            self.put("manifest.json", json_text(self.manifest, indent=1).encode())

    def _load(self) -> bool:
        """Reads the manifest; returns whether there is one."""
        content = self._get("manifest.json")
        if content is None:
            self._refuse_old()
            return False
        try:
            manifest = parsed(content)
            version = manifest["schema_version"]
            if not isinstance(manifest["parts"], list):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            hint = "a folder that `cwndlab sweep --out` wrote; choose another one"
            raise RecordsError(Fault(self._path("manifest.json"), "is not a manifest of a study", hint)) from None
        if version != SCHEMA_VERSION:
            raise self._of_another_version(f"schema {version}")
        self.manifest = manifest
        return True

    def _of_another_version(self, of: str) -> RecordsError:
        what = f"was written by another version of cwndlab ({of}; this one reads schema {SCHEMA_VERSION})"
        return RecordsError(Fault(self.place, what, _ANOTHER))

    def _refuse_old(self) -> None:
        """Raises for a folder of a comparison or of reproduced rows in the format before this store."""
        folder = Path(self._root)
        if not self._is_local or not folder.is_dir():
            return
        names = {path.name for path in folder.iterdir()}
        is_kept = "index.json" in names and any(name.endswith(".parquet") for name in names)
        if is_kept or "comparison.json" in names or any(re.fullmatch("[0-9a-f]{2}", name) for name in names):
            raise self._of_another_version("without a manifest")

    # Opening, closing.

    def _open(self) -> None:
        try:
            if self._is_local:
                # A folder of someone else gets no file for the lock.
                if Path(self._root).is_dir() and not self._load():
                    self._refuse_foreign()
                Path(self._root).mkdir(parents=True, exist_ok=True)
                self._lock = FileLock(Path(self._root))
            else:
                self._lock = ObjectLock(self._fs, self._root, self.place)
        except RecordsError:
            raise
        except OSError as error:
            raise not_written(self.place, error) from None
        try:
            if not self._load():
                self._refuse_foreign()
                self._save_manifest()
            if self._is_local:
                self._recover()
        except BaseException:
            self.close()
            raise

    def _recover(self) -> None:
        """Moves the rows that a killed process left in the journal to a part, and opens an empty journal."""
        self._fresh = self._journalled()
        self.flush()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC | os.O_CLOEXEC
        self._journal = os.open(self._path("journal.jsonl"), flags, 0o644)

    def _refuse_foreign(self) -> None:
        if not self._is_local:
            return
        names = {path.name for path in Path(self._root).iterdir() if not path.name.endswith(".partial")}
        if names - self._ours:
            what = "holds a run" if "flows.parquet" in names else "holds something else"
            raise RecordsError(Fault(self.place, what, "choose an empty folder by --out"))

    def _journalled(self) -> list[Row]:
        """Complete lines of the journal, each once."""
        rows = entries(self._get("journal.jsonl") or b"")
        return list({row["key"]: row for row in rows if all(name in row for name in _KEYS)}.values())

    def close(self) -> None:
        """Writes the remaining rows and releases the lock."""
        try:
            with self._guard:
                self._stop_timer()
                if self._lock is not None and self._fresh:
                    self.flush()
        finally:
            if self._journal >= 0:
                os.close(self._journal)
                self._journal = -1
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    # Rows.

    def add(self, row: Row) -> None:
        """Keeps a row: from now on it survives the end of this process (on an object store, from the next part on,
        which begins at most two seconds later)."""
        with self._guard:
            if self._journal >= 0:
                os.write(self._journal, entry(row))
            self._fresh.append(row)
            self._fresh_bytes += len(row.get("payload") or "")
            if self._fs is None:
                return
            wait_s = math.inf if self._is_local else self._last + _PART_AGE_S - time.monotonic()
            if wait_s <= 0 or len(self._fresh) >= _PART_ROWS or self._fresh_bytes >= _PART_BYTES:
                self.flush()
            elif not self._is_local and self._timer is None:
                self._timer = threading.Timer(wait_s, self._flush_late)
                self._timer.daemon = True
                self._timer.start()

    def _flush_late(self) -> None:
        """Writes a part although no further row has come. What fails is tried again with the next row or at the end,
        which report it."""
        with self._guard, contextlib.suppress(RecordsError, OSError):
            self._timer = None
            if self._lock is not None:
                self.flush()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def flush(self) -> None:
        """Writes a part with the rows that are not in one, and empties the journal."""
        with self._guard:
            self._stop_timer()
            if self._fresh and self._fs is not None:
                self._write_part()
            if self._journal >= 0:
                os.ftruncate(self._journal, 0)
            self._last = time.monotonic()

    def _write_part(self) -> None:
        content = parquet(_frame(self._fresh))
        number = 1 + max((part["number"] for part in self.manifest["parts"]), default=0)
        # Named after a lock that can be lost: a process that lost it then overwrites no part.
        mark = f"-{self._lock.token}" if isinstance(self._lock, ObjectLock) else ""
        name = f"runs/part-{number:06d}{mark}.parquet"
        self.put(name, content)
        counts: dict[str, int] = {}
        for row in self._fresh:
            version = f"{row['engine']} {row['measure']}"
            counts[version] = counts.get(version, 0) + 1
        part = {"name": name, "number": number, "bytes": len(content), "rows": len(self._fresh)}
        self.manifest["parts"].append(part | {"sha256": hashlib.sha256(content).hexdigest(), "versions": counts})
        self._save_manifest()
        self._fresh, self._fresh_bytes = [], 0

    def _frames(self, columns: Sequence[str] | None = None, versions: Collection[str] = ()) -> Iterator[pl.DataFrame]:
        """The frames of all parts, or of those with rows of some versions, and of the rows outside parts."""
        import polars as pl

        with self._guard:
            parts, fresh = list(self.manifest["parts"]), list(self._fresh)
        for part in parts:
            if versions and part["versions"].keys().isdisjoint(versions):
                continue
            content = self._get(part["name"])
            if content is None or hashlib.sha256(content).hexdigest() != part["sha256"]:
                note = f"{self._path(part['name'])}: damaged; its {part['rows']} runs are left out"
                self.notes += [] if note in self.notes else [note]
                continue
            yield pl.read_parquet(io.BytesIO(content), columns=None if columns is None else list(columns))
        if self._lock is None and self._is_local:
            fresh = self._journalled()
        if fresh:
            frame = _frame(fresh)
            yield frame if columns is None else frame.select(columns)

    def keys(self) -> pl.DataFrame:
        """``key``, ``scenario_hash``, ``seed``, ``engine`` and ``measure`` of every run."""
        return _joined(self._frames(_KEYS))

    def rows(self) -> pl.DataFrame:
        """Every row, each once."""
        return _joined(self._frames())

    def compact(self) -> None:
        """Writes every row into one part, without those that later ones replace."""
        parts = list(self.manifest["parts"])
        self._fresh = self.rows().to_dicts()
        self.flush()
        self.manifest["parts"] = self.manifest["parts"][-1:]
        self._save_manifest()
        for part in parts:
            self._fs.rm_file(self._path(part["name"]))

    def runs(self, engine: str, measure: str) -> pl.DataFrame:
        """The rows of an engine and a measure, each once."""
        import polars as pl

        is_version = (pl.col("engine") == engine) & (pl.col("measure") == measure)
        return _joined(frame.filter(is_version) for frame in self._frames(versions=[f"{engine} {measure}"]))

    def of_keys(self, keys: Collection[str], engine: str, measures: Collection[str]) -> list[Row]:
        """The rows of runs of an engine and some measures, as the store has them: texts are JSON."""
        import polars as pl

        versions = [f"{engine} {measure}" for measure in measures]
        rows = _joined(frame.filter(pl.col("key").is_in(list(keys))) for frame in self._frames(versions=versions))
        return list(rows.iter_rows(named=True))

    def payloads(self, keys: Collection[str], engine: str, measures: Collection[str]) -> dict[str, Any]:
        """The payloads of runs of an engine and some measures that are in the store, by key."""
        rows = self.of_keys(keys, engine, measures)
        return {row["key"]: parsed(row["payload"]) for row in rows if row.get("payload")}

    # The last study and its rows.

    def describe(self, header: Mapping[str, Any], points: pl.DataFrame) -> None:
        """Keeps the header and the points of a study, in place of the last one's."""
        content = parquet(points)
        self._points = points
        with self._guard:
            self.put("points.parquet", content)
            self.manifest["study"] = {**header, "points_sha256": hashlib.sha256(content).hexdigest()}
            self._save_manifest()

    def points(self) -> pl.DataFrame:
        """A row per point of the last study: ``cell``, its labels, ``scenario_hash``, ``scenario`` (JSON)."""
        import polars as pl

        if self._fs is None:
            return self._points
        content = self._get("points.parquet")
        if content is None or "study" not in self.manifest:
            hint = "a folder that `cwndlab sweep --out` or `cwndlab compare --out` wrote"
            raise RecordsError(Fault(self.place, "does not hold a sweep or a comparison", hint))
        if hashlib.sha256(content).hexdigest() != self.manifest["study"]["points_sha256"]:
            what = "is incomplete: a process was killed while it wrote the points of a study"
            raise RecordsError(Fault(self._path("points.parquet"), what, "run the same command again"))
        return pl.read_parquet(io.BytesIO(content))

    def note_others(self, engine: str, measure: str) -> None:
        """Reports the number of runs of other versions."""
        others: dict[str, int] = {}
        for part in self.manifest["parts"]:
            for version, count in part["versions"].items():
                others[version] = others.get(version, 0) + count
        for version, count in others.items():
            of, _, digest = version.partition(" ")
            if (of, digest) != (engine, measure):
                why = f"cwndlab {of}" if of != engine else f"other metrics ({digest})"
                self.notes.append(f"{self.place}: {count} runs are of {why} and are not used")

    def amend(self, **header: Any) -> None:
        """Adds to the header of the study, which `finish` writes."""
        with self._guard:
            self.manifest["study"] |= header

    def finish(self, rows: pl.DataFrame, **header: Any) -> None:
        """Writes the rows of the study, and adds to its header."""
        self.put("rows.parquet", parquet(rows))
        self.amend(**header)
        self._save_manifest()


def parquet(frame: pl.DataFrame) -> bytes:
    """A frame as a file."""
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd")
    return content.getvalue()


def _joined(frames: Iterator[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    parts = [frame for frame in frames if len(frame)]
    if not parts:
        return _frame([])
    return pl.concat(parts, how="diagonal_relaxed").unique("key", keep="last", maintain_order=True)


def _frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Rows with the same types whatever their values are."""
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row)) or list(_KEYS)
    types = {name: pl.Int64 if name in _INTEGERS else pl.String if name in _TEXTS else pl.Float64 for name in names}
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, schema=types)


def local(place: str | Path | None) -> Path | None:
    """The folder of a place; ``None`` for memory and for other URLs."""
    return None if not place or "://" in str(place) else Path(place)


def records_folder(place: Path, algorithm: str, seed: int) -> Path:
    """The folder in which a comparison keeps the records of a run."""
    return place / own_name(algorithm) / f"seed-{seed}"
