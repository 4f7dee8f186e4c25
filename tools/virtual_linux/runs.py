"""Runs of the virtual Linux in parallel: one JSON line for each transfer, in a file where a second call resumes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path as File
from threading import Event
from typing import Any

from virtual_linux.paths import Path

HERE = File(__file__).resolve().parent
ROOT = HERE.parents[1]
#: The programs of the host that the guest takes from its file system.
PROGRAMS = ("ip", "tc", "ethtool", "mount", "sh")
#: The guest's Python, which needs no other library than the standard one.
PYTHON = "/usr/bin/python3"
#: Wall-clock time for the start of a guest, and for a second of a transfer, at most, s.
START_LIMIT_S, LIMIT_S = 120.0, 5.0

#: Time between two checks whether a guest is to end, s.
STOP_CHECK_S = 0.5

#: A result: a line of the file.
Row = dict[str, Any]


class VirtualLinuxError(Exception):
    """A run that gave no result; the message says why."""


def release(kernel: File) -> str:
    """The release of a virtual Linux."""
    try:
        done = subprocess.run([str(kernel.resolve()), "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise VirtualLinuxError(f"{kernel}: is no User-mode Linux ({error}); `make virtual-linux` builds one") from None
    return done.stdout.strip()


def missing_programs() -> list[str]:
    """The programs of the guest that this machine lacks."""
    where = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in (*PROGRAMS, PYTHON) if shutil.which(name, path=where) is None]


def command(kernel: File, job: File, folder: File) -> list[str]:
    """The command of a guest: the host's file system, read-only, and `virtual_linux.guest` as the first process."""
    arguments = ("-S", "-E", "-B", str(HERE / "guest.py"), "run", str(job))
    return [
        str(kernel.resolve()),
        *("root=/dev/root", "rootfstype=hostfs", "ro", f"init={PYTHON}"),
        *("mem=512M", f"uml_dir={folder}", "con=fd:0,fd:1", "quiet", "loglevel=0"),
        "time-travel=inf-cpu",
        *("--", *arguments),
    ]


def results(output: str) -> list[Row]:
    """The results in the output of a guest.

    Raises
    ------
    VirtualLinuxError
        Where the guest reported an error, or did not come to its end.
    """
    rows = [json.loads(line[1:]) for line in output.splitlines() if line.startswith("@{")]
    for row in rows:
        if "error" in row:
            raise VirtualLinuxError(f"the guest failed: {row['error']}")
    if not rows or "done" not in rows[-1]:
        last = "\n".join(output.splitlines()[-5:])
        raise VirtualLinuxError(f"the guest did not come to its end; its last lines:\n{last}")
    return rows[:-1]


def transfer(
    kernel: File, path: Path, algorithms: Sequence[str], seconds: float, settings: dict[str, str], stop: Event
) -> list[Row]:
    """One guest: a transfer with each algorithm over a path, one after another; ``stop`` ends it."""
    with tempfile.TemporaryDirectory(prefix="virtual-linux-") as name:
        folder = File(name)
        job = folder / "job.json"
        about = {"path": asdict(path) | {"settings": settings}, "algorithms": list(algorithms), "seconds": seconds}
        job.write_text(json.dumps(about), encoding="utf-8")
        limit = START_LIMIT_S + LIMIT_S * seconds * len(algorithms)
        # The kernel's own memory is a file there; its processes are those of the session.
        with subprocess.Popen(
            command(kernel, job, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": name},
            text=True,
            errors="replace",
            start_new_session=True,
        ) as guest:
            try:
                output = _output(guest, limit, stop)
            finally:
                if guest.poll() is None:
                    os.killpg(guest.pid, signal.SIGKILL)
    return results(output)


def _output(guest: subprocess.Popen[str], limit_s: float, stop: Event) -> str:
    end = time.monotonic() + limit_s
    while not stop.is_set():
        try:
            return guest.communicate(timeout=STOP_CHECK_S)[0]
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise VirtualLinuxError(f"the guest took more than {limit_s:.0f} s") from None
    raise VirtualLinuxError("interrupted")


def read(file: File) -> list[Row]:
    """The results of a file; none where it does not exist."""
    if not file.is_file():
        return []
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise VirtualLinuxError(f"{file}, line {number}: {error}; remove this line") from None
    return rows


#: Fields of a result that say what was run.
KEY = ("kernel", "path", "repetition", "seconds", "settings", "algorithm")


def _key(row: Row) -> str:
    return json.dumps([row[name] for name in KEY], sort_keys=True)


def campaign(
    kernel: File,
    file: File,
    paths: Sequence[Path],
    *,
    algorithms: Sequence[str],
    repetitions: int,
    seconds: float,
    jobs: int,
    settings: dict[str, str],
    version: str = "",
    run: Callable[..., list[Row]] = transfer,
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Runs what the file does not have yet, ``jobs`` guests at a time; returns the number of failed runs.

    Parameters
    ----------
    kernel
        The program of the virtual Linux.
    file
        Results: a line for each transfer, appended when its guest has ended.
    paths
        The paths.
    algorithms
        Congestion controls by the kernel's names.
    repetitions
        Runs of each path, which from the second one on differ by less than is measured (`Path.varied`).
    seconds
        Duration of a transfer in virtual time.
    jobs
        Guests at a time.
    settings
        Kernel settings of both hosts.
    version
        Release of the kernel; that of the program by default.
    run
        In place of `transfer`, for tests.
    say
        Called with a line for each run.
    """
    version = version or release(kernel)
    have = {_key(row) for row in read(file)}
    todo: list[tuple[Path, Row, list[str]]] = []
    for repetition in range(1, repetitions + 1):
        for path in paths:
            about = {"kernel": version, "path": asdict(path), "repetition": repetition}
            about |= {"seconds": seconds, "settings": settings}
            left = [one for one in algorithms if _key(about | {"algorithm": one}) not in have]
            if left:
                todo.append((path, about, left))
    file.parent.mkdir(parents=True, exist_ok=True)
    failed, stop = 0, Event()
    with ThreadPoolExecutor(jobs) as pool, file.open("a", encoding="utf-8") as out:
        waiting = {
            pool.submit(run, kernel, path.varied(about["repetition"]), left, seconds, settings, stop): (path, about)
            for path, about, left in todo
        }
        try:
            for ended in as_completed(waiting):
                path, about = waiting[ended]
                name = f"{path.name}, run {about['repetition']}"
                try:
                    rows = ended.result()
                except VirtualLinuxError as error:
                    failed += 1
                    say(f"{name}: {error}")
                    continue
                out.write("".join(f"{json.dumps(about | row)}\n" for row in rows))
                out.flush()
                say(f"{name}: {_summary(path, rows)}")
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return failed


def _summary(path: Path, rows: Iterable[Row]) -> str:
    about = f"{path.kind}, {path.rate_mbps:g} Mbit/s, {path.rtt_ms} ms, {path.queue} packets"
    parts = (
        f"{row['algorithm']} {row['goodput_bps'] / 1e6:.2f} Mbit/s {row['mean_srtt_s'] * 1e3:.1f} ms "
        f"{row['retransmissions']} retransmissions"
        for row in rows
    )
    return "; ".join((about, *parts))
