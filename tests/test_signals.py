"""SIGINT and SIGTERM: every verb ends in order, and what was ignored stays ignored."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import END_S, finish, start, start_ignoring_sigint, wait_for_handler, wait_until_ready

LONG = ("--set", "duration=1000000 s")

LOOPS_FOR_EVER = """
class Mine:
    def __init__(self, path):
        self.w = path.initial_cwnd

    def on_ack(self, ack):
        while True:
            {body}

    def on_congestion(self, event):
        pass

    def cwnd(self):
        return self.w
"""


def mine(folder: Path, body: str) -> Path:
    file = folder / "mine.py"
    file.write_text(LOOPS_FOR_EVER.format(body=body))
    return file


def verbs(path: Path, folder: Path) -> dict[str, tuple[object, ...]]:
    """Commands that do not end by themselves."""
    return {
        "run": ("run", path, "--seed", 1, *LONG),
        "compare": ("compare", path, "--algorithms", "cubic,reno", "--seed", 1, *LONG),
        "matrix": ("matrix",),
        "check": ("check", mine(folder, "pass"), "--quick"),
        "serve": ("serve", "--listen", "127.0.0.1:0", "--state", folder / "state"),
    }


VERBS = ("run", "compare", "matrix", "check", "serve")


@pytest.mark.parametrize("verb", VERBS)
def test_an_ignored_sigint_stays_ignored_and_sigterm_ends_in_order(verb: str, path: Path, tmp_path: Path) -> None:
    """POSIX.1-2024, 2.11: a background job of a shell without job control ignores SIGINT. 143 is 128 + SIGTERM."""
    process = start_ignoring_sigint(*verbs(path, tmp_path)[verb])
    wait_until_ready(process)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
    process.send_signal(signal.SIGTERM)
    _, err = finish(process)
    assert process.returncode == 143
    assert "stopped" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("after_s", [0.0, 2.0])
@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c_ends_every_verb_with_130(verb: str, after_s: float, path: Path, tmp_path: Path) -> None:
    """At any time: while the command line is imported, and later while it computes."""
    process = start(*verbs(path, tmp_path)[verb])
    wait_until_ready(process)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130
    assert "stopped" in err
    assert "Traceback" not in err
    assert "ignored" not in err


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_ctrl_c_ends_a_class_within_a_call_that_no_interrupt_reaches(verb: str, path: Path, tmp_path: Path) -> None:
    """`PyThreadState_SetAsyncExc` acts at the next bytecode, which comes after the sleep."""
    file = mine(tmp_path, f"open({str(tmp_path / 'asleep')!r}, 'w').close(); import time; time.sleep(1000)")
    arguments: dict[str, tuple[object, ...]] = {
        "run": ("run", path, "--set", "flow[0].algorithm=mine", "--seed", 1, "--algorithm-file", file),
        "compare": ("compare", path, "--algorithms", "mine,reno", "--seed", 1, "--algorithm-file", file),
    }
    process = start(*arguments[verb])
    wait_until_ready(process)
    until = time.monotonic() + 60
    while not (tmp_path / "asleep").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130
    assert "stopped" in err
    assert "Traceback" not in err


def test_a_second_ctrl_c_ends_what_does_not_end() -> None:
    """What takes the first interrupt and goes on has the signal's default action for the second one."""
    script = """
import time
from cwndlab.cli import signals

signals.install()
try:
    print("waits", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(600)
"""
    command = [sys.executable, "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "waits\n"
    process.send_signal(signal.SIGINT)
    wait_for_handler(process, signal.SIGINT, there=False)
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == -signal.SIGINT


def test_an_interrupt_between_rows_stops_the_class_that_runs_meanwhile(tmp_path: Path) -> None:
    """The interrupt comes while rows are printed, the worker loops for ever: nothing waits for it at the end."""
    script = f"""
import sys
from cwndlab.cli.app import status
from cwndlab.cli.commands import check

def interrupted(*_, **__):
    raise KeyboardInterrupt

check.show_check_reports = interrupted
sys.exit(status(["check", "reno", {str(mine(tmp_path, "pass"))!r}, "--quick", "--workers", "1", "--format", "csv"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=END_S)
    assert done.returncode == 130


def test_an_interrupt_that_a_finaliser_drops_is_raised_again() -> None:
    script = """
import os, signal, time
from cwndlab.cli import signals

class Late:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

signals.install()
try:
    Late()
    time.sleep(30)
except KeyboardInterrupt:
    print("interrupted", signals.status())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=END_S)
    assert (done.stdout, done.stderr) == ("interrupted 130\n", "")


def test_an_interrupt_comes_after_what_belongs_together(tmp_path: Path) -> None:
    """It came between printing rows and counting them as printed: the rows were printed twice."""
    script = f"""
import os, signal, sys
from cwndlab.cli import signals
from cwndlab.cli.app import status
from cwndlab.cli.commands import check

show = check.show_check_reports

def interrupted(*args, **options):
    show(*args, **options)
    sys.stdout.flush()
    if not signals.received():
        os.kill(os.getpid(), signal.SIGINT)

check.show_check_reports = interrupted
signals.install()
sys.exit(status(["check", "reno", {str(mine(tmp_path, "pass"))!r}, "--quick", "--workers", "1", "--format", "csv"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=END_S)
    assert done.returncode == 130
    assert done.stdout.count("algorithm,rule") == 1
    assert done.stderr == "stopped; 1 of 2 algorithms were examined\n"
