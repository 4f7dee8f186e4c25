"""Real applications over an emulated line: the example of docs/applications.md in a small size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "applications"
NEEDED = ("mosquitto", "curl", "openssl")


def example(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | changes)


def running() -> set[str]:
    """Programs of the example that are alive, by process."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if "cwndlab-applications-" in command or str(FOLDER) in command:
                found.add(f"{entry.name}: {command}")
    return found


def test_sensors_and_downloads_share_the_line() -> None:
    """10 Mbit/s let at most 1448/1500 of them through as TLS; nothing is quicker than a round trip of 40 ms, and what
    waits is at most the queue's 133 packets of 1500 bytes, 160 ms."""
    from shutil import which

    for program in NEEDED:
        if which(program) is None:
            pytest.skip(f"{program} is not installed")
    if find_spec("aiomqtt") is None:
        pytest.skip("aiomqtt is not installed")
    before = running()
    sizes = ("--algorithms", "cubic,bbr1", "--clients", "20", "--seconds", "3", "--period", "0.5", "--bytes", "500000")
    done = example(*sizes, "--format", "json")
    if done.returncode and ("unshare" in done.stderr or "/dev/net/tun" in done.stderr):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["algorithm"] for row in rows] == ["cubic", "bbr1"]
    for row in rows:
        assert row["messages"] == 20 * 6
        assert (row["lost_qos0"], row["lost_qos1"]) == (0, 0)  # TCP lost nothing
        assert 40 <= row["delay_p50_ms"] <= row["delay_p95_ms"] <= row["delay_p99_ms"]
        assert row["puback_p95_ms"] >= 40
        assert row["downloads"] >= 1
        assert 0 < row["goodput_mbps"] <= 10 * 1448 / 1500
        assert row["tls_ms"] >= 80  # two round trips at least: TCP's and TLS 1.3's
        assert 0 < row["queue_mean_ms"] <= row["queue_max_ms"] <= 160
    assert running() == before


def test_a_program_that_is_missing_is_named() -> None:
    done = example(PATH="/nowhere")
    assert done.returncode == 1
    assert done.stderr == (
        "applications: mosquitto, curl, openssl is not installed\n  hint: apt-get install mosquitto curl openssl\n"
    )
