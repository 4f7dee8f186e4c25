"""One process on one output folder. A lock whose holder has died holds nobody."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError

# An object store knows no locks: the holder says every now and then that it lives.
BEAT_S = 10.0
_DEAD_AFTER_S = 12 * BEAT_S


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": platform.node(), "time_s": time.time()}


def _taken(place: str, by: dict[str, Any]) -> RecordsError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(by.get("time_s", 0)))
    who = f"process {by['pid']} on {by['host']} since {since}" if "pid" in by else "another process"
    return RecordsError(Fault(place, f"is in use by {who}", "wait for it, end it, or name another folder by --out"))


def _read(text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class FileLock:
    """A lock of the kernel, which lets go when the process ends, however it ends."""

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
        os.write(self._file, json.dumps(_me()).encode())

    def beat(self) -> None:
        """Nothing: the kernel knows that we live."""

    def release(self) -> None:
        """Lets go."""
        os.close(self._file)


class ObjectLock:
    """An object that names its holder. It is dead when it is a process of this machine that has gone, or when it has
    not said for two minutes that it lives."""

    def __init__(self, fs: Any, root: str, url: str) -> None:
        self._fs, self._path, self._told = fs, f"{root}/lock.json", 0.0
        if fs.exists(self._path):
            holder = _read(fs.cat_file(self._path))
            if not _dead(holder):
                raise _taken(url, holder)
        self.beat()

    def beat(self) -> None:
        """Says that we live."""
        if time.monotonic() - self._told >= BEAT_S or self._told == 0:
            self._fs.pipe_file(self._path, json.dumps(_me()).encode())
            self._told = time.monotonic()

    def release(self) -> None:
        """Lets go."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._path)


def _dead(holder: dict[str, Any]) -> bool:
    if time.time() - holder.get("time_s", 0) > _DEAD_AFTER_S:
        return True
    if holder.get("host") != platform.node():
        return False
    try:
        os.kill(int(holder["pid"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
