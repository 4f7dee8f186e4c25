"""Output of the command line: readers that leave, full devices, interrupts, progress bars."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from cwndlab import Records
from cwndlab.cli import progress
from programs import END_S, finish, start, wait_until_ready


def test_a_reader_who_leaves_is_no_fault() -> None:
    process = start("list", "--format", "json", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=END_S) == 141  # 128 + SIGPIPE, as a shell reports `yes | true`
    process.stderr.close()


def test_results_are_saved_although_nobody_reads_the_output(path: Path, tmp_path: Path) -> None:
    """The reader has gone before anything is printed; then standard output is closed from the start."""
    runs = [
        ("run", path, "--out", "run"),
        ("compare", path, "--algorithms", "cubic,reno", "--repetitions", 2, "--out", "out", "--report", "page.html"),
        ("report", "run", "--report", "again.html", "--figures", "svg"),
    ]
    for number, (arguments, files) in enumerate(
        zip(
            runs,
            (["run/flows.parquet"], ["out/comparison.json", "page.html"], ["again.html", "run/figures"]),
            strict=True,
        )
    ):
        process = start(*arguments, stdout=subprocess.PIPE, cwd=tmp_path)
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=120)
        assert (process.returncode, "Traceback" in err) == (141, False), (number, err)
        assert [file for file in files if not (tmp_path / file).exists()] == []


def test_a_closed_standard_output_is_told(path: Path, tmp_path: Path) -> None:
    """As `ls >&-`; no file that the verb opens takes the descriptor's place."""
    command = f"exec {sys.executable} -m cwndlab run {path} --out {tmp_path / 'out'} >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr.splitlines()[-1] == "standard output: failed (Bad file descriptor)"
    assert done.returncode == 1
    assert Records.read(tmp_path / "out").seed == 1


def test_a_closed_standard_error_changes_neither_result_nor_status(path: Path, tmp_path: Path) -> None:
    """As `2>&-`: no file that the verb opens takes the descriptor's place, and no message goes elsewhere."""
    pair = f"compare {path} --algorithms cubic,reno --repetitions 2 --format json"
    for arguments, status in ((f"{pair} --out {tmp_path / 'out'}", 0), ("run nowhere.toml", 2)):
        command = f"exec {sys.executable} -m cwndlab {arguments}"
        shown, quiet = (
            subprocess.run(["sh", "-c", f"{command} {end}"], capture_output=True, text=True, check=False, timeout=120)
            for end in ("", "2>&-")
        )
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (status, shown.stdout, "")
    both = subprocess.run(["sh", "-c", f"exec {sys.executable} -m cwndlab list >&- 2>&-"], check=False, timeout=120)
    assert both.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_does_not_fit_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        process = start("list", "--format", "json", stdout=full)
        _, err = finish(process)
    assert (process.returncode, err) == (1, "standard output: failed (No space left on device)\n")


def test_ctrl_c_ends_with_130(path: Path) -> None:
    process = start("run", path, "--seed", 1, "--set", "duration=1000000 s")
    wait_until_ready(process)
    process.send_signal(signal.SIGINT)
    out, err = finish(process)
    assert (process.returncode, out, err) == (130, "", "stopped\n")


SAYS_THAT_IT_RUNS = """
class Mine:
    def __init__(self, path):
        self.w = path.initial_cwnd
        print("runs", flush=True)

    def on_ack(self, ack):
        pass

    def on_congestion(self, event):
        pass

    def cwnd(self):
        return self.w
"""


def test_compare_stops_at_once(path: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SAYS_THAT_IT_RUNS)
    endless = ("--set", "duration=1000000 s", "--repetitions", 3, "--seed", 1)
    process = start("compare", path, "--algorithms", "mine,reno", "--algorithm-file", tmp_path / "mine.py", *endless)
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    process.send_signal(signal.SIGINT)
    out, err = finish(process)
    assert process.returncode == 130
    assert set(out.splitlines()) <= {"runs"}
    assert err == "stopped; 0 of 6 runs finished\n"


_TRANSFERS = """
from cwndlab.cli.console import say
from cwndlab.cli.progress import transfer_bar
with transfer_bar() as received:
    for name in ("cubic", "reno"):
        received(name, 1_000_000, 4_000_000)
        received(name, 4_000_000, 4_000_000)
        say(f"{name} is done")
"""


def on_a_terminal(code: str, **environment: str) -> str:
    """What a program writes to a terminal as its standard error."""
    ours, theirs = pty.openpty()
    known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, env=known | {"TERM": "xterm", "COLUMNS": "60"} | environment
    )
    os.close(theirs)
    written = b""
    # Linux reports the end of the other side as an error (EIO).
    with suppress(OSError):
        while chunk := os.read(ours, 65536):
            written += chunk
    os.close(ours)
    assert process.wait(timeout=END_S) == 0
    return written.decode()


def test_a_bar_of_transfers_is_as_wide_as_the_terminal_and_is_erased() -> None:
    """CSI 2K erases a line, SGR sets a colour (ECMA-48, 8.3.41 and 8.3.117)."""
    written = on_a_terminal(_TRANSFERS, NO_COLOR="1")
    assert "4.0/4.0 MB" in written
    assert re.findall(r"\x1b\[[0-9;]*m", written) == []
    lines = [re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", written)]
    assert max(map(len, lines)) <= 60
    assert [line for line in lines if line.endswith("is done")] == ["cubic is done", "reno is done"]
    assert written.endswith("\x1b[2K")
    assert re.search(r"\x1b\[[0-9;]+m", on_a_terminal(_TRANSFERS)) is not None


def test_without_a_terminal_there_is_no_bar() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TRANSFERS],
        capture_output=True,
        text=True,
        env=os.environ | {"FORCE_COLOR": "1"},
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "cubic is done\nreno is done\n")


def test_progress_without_a_terminal_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every update is due here; the last one is the result's own line."""
    monkeypatch.setattr(progress, "_LINE_PERIOD_S", 0.0)
    with progress.progress_bar() as update:
        for done in range(3):
            update(done, 2)
    assert capsys.readouterr().err == "0 of 2 runs finished\n1 of 2 runs finished\n"
