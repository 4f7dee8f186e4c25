"""QUIC under our algorithms over the emulator, and the window that the simulator foretells."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import cwndlab
import polars as pl
import pytest
from cwndlab.emulation import EmulatedPath

# `make test` has built the example; without it the first test does, which takes minutes on a slow machine.
pytestmark = pytest.mark.timeout(1800)

ROOT = Path(__file__).resolve().parents[1]
#: Bytes of a QUIC packet, and of IPv4 and UDP before it. TCP's segments of the simulator carry as many.
MTU, HEADERS = 1452, 28
#: 34 packets fill the path, 34 the queue: a cycle of Reno is about a second.
RATE_BPS, QUEUE = 20e6, 34
SCENARIO = f"""\
schema_version = 1
duration = "12 s"
sample_interval = "5 ms"
dumbbell.bottleneck = {{ rate = "20 Mbps", delay = "5 ms", queue = {{ capacity = "{QUEUE} packets" }} }}
[[flow]]
algorithm = "NAME"
rtt = "20 ms"
stack = {{ mss = "{MTU} B", header = "{HEADERS} B", tso_burst = false, quick_acks = 0, ack_delay = "25 ms" }}
"""
BYTES = 25_000_000
#: The first slow start is over.
FROM_S = 2.0


class Shape(NamedTuple):
    """A window over time: its mean and where it stood when it was reduced, packets; how often that was, per second."""

    mean: float
    peak: float
    cuts_per_s: float


@cache
def program() -> str:
    """The example, built."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed, so that the QUIC example cannot be built")
    command = [
        cargo,
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "test",
        "-p",
        "cwndlab-quic",
        "--example",
        "transfer",
    ]
    built = subprocess.run([*command, "--message-format", "json"], cwd=ROOT, capture_output=True, text=True, check=True)
    made = [json.loads(line).get("executable") for line in built.stdout.splitlines() if line.startswith("{")]
    return next(str(path) for path in made if path and Path(path).name == "transfer")


def simulated(name: str) -> Shape:
    records = cwndlab.run(cwndlab.Scenario.from_toml(SCENARIO.replace("NAME", name)), seed=1)
    late = pl.col("time_ns") >= FROM_S * 1e9
    cuts = records.events.filter(late & (pl.col("kind") == "recovery"))
    mean = records.samples.filter(late)["cwnd_bytes"].mean()
    peak = cuts["cwnd_before_bytes"].mean()
    assert isinstance(mean, float)
    assert isinstance(peak, float)
    return Shape(mean / MTU, peak / MTU, len(cuts) / (12 - FROM_S))


def traced(file: Path) -> Shape:
    with file.open() as lines:
        rows = [row for row in csv.DictReader(lines) if int(row["time_ns"]) >= FROM_S * 1e9]
    area = cuts = 0.0
    peaks = []
    for before, row in pairwise(rows):
        area += int(before["cwnd_bytes"]) * (int(row["time_ns"]) - int(before["time_ns"]))
        if row["congestion"] == "1":
            cuts += 1
            peaks.append(int(before["cwnd_bytes"]) / MTU)
    span_ns = int(rows[-1]["time_ns"]) - int(rows[0]["time_ns"])
    return Shape(area / span_ns / MTU, fmean(peaks), cuts / (span_ns / 1e9))


def transfer(name: str, trace: Path, *, size: int = BYTES) -> str:
    """Sends over the emulated path; returns what the client printed. Skips where nothing may be emulated."""
    binary = program()
    try:
        between = EmulatedPath(cwndlab.Scenario.from_toml(SCENARIO.replace("NAME", "reno")), seed=1).__enter__()
    except cwndlab.RunError as error:
        if any(word in str(error) for word in ("unshare", "/dev/net/tun", "CLONE_NEWPID")):
            pytest.skip(str(error))
        raise
    with between as path:
        there = f"{path.address('receiver')}:4433"
        path.serve("receiver", [binary, "server", there, "--once"], stdout=subprocess.DEVNULL)
        command = [binary, "client", there, str(size), "--algorithm", name, "--trace", str(trace)]
        client = path.popen("sender", command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        printed, _ = client.communicate(timeout=120)
    assert client.returncode == 0, printed
    return str(printed)


@pytest.mark.parametrize("name", ["reno", "cubic"])
def test_the_window_over_quic_is_that_of_the_simulator(name: str, tmp_path: Path) -> None:
    """The tolerances: quinn's timers and this machine's scheduler make the queue run over some packets sooner or later
    (`docs/quic.md`)."""
    printed = transfer(name, tmp_path / "trace.csv")
    rate = re.search(r"([\d.]+) Mbit/s", printed)
    assert rate is not None
    over, said = traced(tmp_path / "trace.csv"), simulated(name)
    assert over.mean == pytest.approx(said.mean, rel=0.15)
    assert over.peak == pytest.approx(said.peak, rel=0.15)
    assert over.cuts_per_s == pytest.approx(said.cuts_per_s, rel=0.4)
    # 28 of 1480 bytes are headers of IP and UDP, about 35 more QUIC's own.
    assert float(rate[1]) < RATE_BPS / 1e6 * (MTU - 30) / (MTU + HEADERS)


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    command = [program(), "client", "127.0.0.1:1", "1", "--algorithm", "cubik"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "no algorithm is called 'cubik'\n  hint: did you mean 'cubic'?" in answer.stderr
