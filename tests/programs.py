"""Programs that tests start, and what can be known of them from outside."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

#: For a process to become ready, on a slow machine under load.
READY_S = 60.0
#: For a process to end.
END_S = 60.0


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    """The command line in a process of its own, with default signals (see ``conftest.pytest_configure``)."""
    command = [sys.executable, "-m", "cwndlab", *(str(argument) for argument in arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen(command, **pipes)  # type: ignore[call-overload, no-any-return]


def start_ignoring_sigint(*arguments: object) -> subprocess.Popen[str]:
    """The same as a background job of a shell without job control: SIGINT is ignored and inherited so."""
    program = [sys.executable, "-m", "cwndlab", *(str(argument) for argument in arguments)]
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *program]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def catches(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Whether the process has a handler for this signal (``SigCgt`` of proc_pid_status(5))."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def wait_for_handler(process: subprocess.Popen[str], number: signal.Signals, there: bool = True) -> None:
    """Waits until the process has a handler for this signal, or has none any more."""
    until = time.monotonic() + READY_S
    while catches(process, number) is not there:
        assert process.poll() is None, f"ended with {process.returncode}"
        assert time.monotonic() < until, "not ready"
        time.sleep(0.02)


def wait_until_ready(process: subprocess.Popen[str]) -> None:
    """Waits until the command line has taken its signals over; Python alone does not catch SIGTERM."""
    wait_for_handler(process, signal.SIGTERM)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Standard output and standard error of a process that ends soon; else it is killed and the test fails."""
    try:
        return process.communicate(timeout=END_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
