"""One process on one output folder. A lock whose holder has died holds nobody."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import secrets
import threading
import time
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.files import parsed

# An object store knows no locks: the holder says every now and then that it lives.
BEAT_S = 10.0
_DEAD_AFTER_S = 12 * BEAT_S
# Of two that want a lock, how long the first by name waits for the other to withdraw, and how often it looks.
_PATIENCE_S, _GLANCE_S = 20.0, 0.05


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": platform.node(), "processes": _processes(), "time_s": time.time()}


def _taken(place: str, by: dict[str, Any]) -> RecordsError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(by.get("time_s", 0)))
    who = f"process {by['pid']} on {by['host']} since {since}" if "pid" in by else "another process"
    return RecordsError(Fault(place, f"is in use by {who}", "wait for it, end it, or name another folder by --out"))


def _read(text: str | bytes) -> dict[str, Any]:
    try:
        found = parsed(text)
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

    def release(self) -> None:
        """Lets go."""
        os.close(self._file)


class ObjectLock:
    """A lock on an object store, which has none: every process has a marker of its own in the folder ``lock``.

    A process writes its marker, then lists the folder, and holds the lock once no other live marker is there. Of two
    that see each other the one with the higher name withdraws; a holder never does. The store must list what was
    written (as S3 does since 2020, Google Cloud Storage and Azure always): then the later of two writers sees the
    earlier one, and two never hold the lock at once. Nobody overwrites the marker of another, so that no conditional
    write is needed.

    A marker is dead when its process was on this machine and has gone, or when it was not renewed for two minutes. A
    holder that was declared dead and goes on finds its marker missing, and `check` fails: call it before each write.
    """

    def __init__(self, fs: Any, root: str, url: str) -> None:
        self._fs, self._folder, self._url = fs, f"{root}/lock", url
        self.token = secrets.token_hex(8)
        self._path = f"{self._folder}/{self.token}.json"
        self._stop = threading.Event()
        self._write(holds=False)
        try:
            self._take()
        except BaseException:
            self._remove(self._path)
            raise
        self._beats = threading.Thread(target=self._beat, daemon=True, name="lock")
        self._beats.start()

    def _take(self) -> None:
        until = time.monotonic() + _PATIENCE_S
        while others := self._others():
            first = min(others)
            holder = next((one for one in others.values() if one.get("holds", True)), None)
            if holder is not None or first < self.token or time.monotonic() > until:
                raise _taken(self._url, holder or others[first])
            time.sleep(_GLANCE_S)
        self._write(holds=True)

    def _write(self, *, holds: bool) -> None:
        self._fs.pipe_file(self._path, json.dumps(_me() | {"holds": holds}).encode())

    def _remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(path)

    def _names(self) -> set[str]:
        self._fs.invalidate_cache(self._folder)
        with contextlib.suppress(FileNotFoundError):
            found = self._fs.ls(self._folder, detail=False)
            return {name.rpartition("/")[2].removesuffix(".json") for name in found if name.endswith(".json")}
        return set()

    def _others(self) -> dict[str, dict[str, Any]]:
        """The live markers of others; dead ones are removed."""
        found = {}
        for name in self._names() - {self.token}:
            path = f"{self._folder}/{name}.json"
            try:
                marker = _read(self._fs.cat_file(path))
            except FileNotFoundError:
                continue
            if _dead(marker):
                self._remove(path)
            else:
                found[name] = marker
        return found

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_S):
            # A store that does not answer now is asked again; `check` says whether the lock is still held.
            with contextlib.suppress(OSError):
                if self._is_held():
                    self._write(holds=True)

    def _is_held(self) -> bool:
        names = self._names()
        if self.token not in names:
            return False
        return len(names) == 1 or not any(one.get("holds") for one in self._others().values())

    def check(self) -> None:
        """Raises ``RecordsError`` where the lock was lost to another process."""
        if not self._is_held():
            what = f"was taken over by another process: this one did not answer for {_DEAD_AFTER_S:g} s"
            raise RecordsError(Fault(self._url, what, "the same command goes on with what is left"))

    def release(self) -> None:
        """Lets go."""
        self._stop.set()
        self._beats.join()
        self._remove(self._path)


def _dead(holder: dict[str, Any]) -> bool:
    if "time_s" not in holder:
        return False  # not to be read
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
    """Which numbers of processes are ours: a container has its own."""
    try:
        return Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return ""
