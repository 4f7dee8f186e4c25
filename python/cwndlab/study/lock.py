"""A lock on an output folder: one process writes, and the lock of a dead process is void.

Local folders have a lock of the kernel on a file that names its holder. The package ``filelock`` takes the same lock,
but truncates that file before it has the lock, and with it the name of the holder.

Object stores have markers. A conditional put (``pipe_file(…, mode="create")`` of fsspec) would need fewer requests. It
is atomic in s3fs, gcsfs and adlfs. But fsspec's own implementation, which ``memory://`` and other backends use, first
looks and then writes, and a caller cannot determine which one it has. Markers only require a store that lists what was
written.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import secrets
import threading
import time
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.files import json_text, parsed

# Holders renew their markers on an object store at this interval.
BEAT_S = 10.0
_DEAD_AFTER_S = 12 * BEAT_S
# How long the first by name of two contenders waits for the other to withdraw, and its polling interval.
_PATIENCE_S, _POLL_S = 20.0, 0.05


def _own_marker() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": platform.node(), "processes": _processes(), "time_s": time.time()}


def _taken(place: str, by: dict[str, Any]) -> RecordsError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(by.get("time_s", 0)))
    holder = f"process {by['pid']} on {by['host']} since {since}" if "pid" in by else "another process"
    return RecordsError(Fault(place, f"is in use by {holder}", "wait for it, end it, or name another folder by --out"))


def _read(text: str | bytes) -> dict[str, Any]:
    try:
        marker = parsed(text)
    except ValueError:
        return {}
    return marker if isinstance(marker, dict) else {}


class FileLock:
    """A lock of the kernel, which is released when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        path = folder / ".lock"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(path.read_text(encoding="utf-8"))
            os.close(self._file)
            raise _taken(str(folder), holder) from None
        os.ftruncate(self._file, 0)
        os.write(self._file, json_text(_own_marker()).encode())

    def release(self) -> None:
        """Releases the lock."""
        os.close(self._file)


class ObjectLock:
    """A lock on an object store: every process has a marker of its own in the folder ``lock``.

    A process writes its marker, then lists the folder, and holds the lock once no other live marker is there. Of two
    that see each other, the one with the higher name withdraws; a holder never does. The store must list what was
    written (as S3 does since 2020, Google Cloud Storage and Azure always): then the later of two writers sees the
    earlier one, and two never hold the lock at once. No process overwrites the marker of another, so that no
    conditional write is needed.

    A marker is void when its process was on this machine and has ended, or when it was not renewed for two minutes. A
    holder that continues after that finds its marker missing, and `check` fails: call it before each write.
    """

    def __init__(self, fs: Any, root: str, url: str) -> None:
        self._fs, self._folder, self._url = fs, f"{root}/lock", url
        self.token = secrets.token_hex(8)
        self._path = f"{self._folder}/{self.token}.json"
        self._stop = threading.Event()
        self._write(holds=False)
        try:
            self._acquire()
        except BaseException:
            self._remove(self._path)
            raise
        self._beats = threading.Thread(target=self._beat, daemon=True, name="lock")
        self._beats.start()

    def _acquire(self) -> None:
        until = time.monotonic() + _PATIENCE_S
        while others := self._others():
            first = min(others)
            holder = next((one for one in others.values() if one.get("holds", True)), None)
            if holder is not None or first < self.token or time.monotonic() > until:
                raise _taken(self._url, holder or others[first])
            time.sleep(_POLL_S)
        self._write(holds=True)

    def _write(self, *, holds: bool) -> None:
        self._fs.pipe_file(self._path, json_text(_own_marker() | {"holds": holds}).encode())

    def _remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(path)

    def _names(self) -> set[str]:
        self._fs.invalidate_cache(self._folder)
        with contextlib.suppress(FileNotFoundError):
            names = self._fs.ls(self._folder, detail=False)
            return {name.rpartition("/")[2].removesuffix(".json") for name in names if name.endswith(".json")}
        return set()

    def _others(self) -> dict[str, dict[str, Any]]:
        """The valid markers of other processes; void ones are removed."""
        markers = {}
        for name in self._names() - {self.token}:
            path = f"{self._folder}/{name}.json"
            try:
                marker = _read(self._fs.cat_file(path))
            except FileNotFoundError:
                continue
            if _dead(marker):
                self._remove(path)
            else:
                markers[name] = marker
        return markers

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_S):
            # An unreachable store is tried again; `check` decides whether the lock is still held.
            with contextlib.suppress(OSError):
                if self._is_held():
                    self._write(holds=True)

    def _is_held(self) -> bool:
        names = self._names()
        if self.token not in names:
            return False
        return len(names) == 1 or not any(one.get("holds") for one in self._others().values())

    def check(self) -> None:
        """Raises ``RecordsError`` if the lock was lost to another process."""
        if not self._is_held():
            what = f"was taken over by another process: this one did not renew its lock for {_DEAD_AFTER_S:g} s"
            raise RecordsError(Fault(self._url, what, "the same command resumes"))

    def release(self) -> None:
        """Releases the lock."""
        self._stop.set()
        self._beats.join()
        self._remove(self._path)


def _dead(holder: dict[str, Any]) -> bool:
    if "time_s" not in holder:
        return False  # unreadable
    if time.time() - holder["time_s"] > _DEAD_AFTER_S:
        return True
    if (holder.get("host"), holder.get("processes")) != (platform.node(), _processes()):
        return False
    try:
        os.kill(int(holder["pid"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _processes() -> str:
    """The PID namespace of this process: a container has its own."""
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""
