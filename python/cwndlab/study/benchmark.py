"""The engine's speed: each scenario in a fresh native process, without Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from cwndlab.custom import load
from cwndlab.errors import Fault, RunError, ScenarioError, unknown_name
from cwndlab.scenario.document import Scenario
from cwndlab.simulate import run
from cwndlab.study.compare import with_algorithm

ROOT = Path(__file__).resolve().parents[3]
SCENARIOS = ("S1", "S2", "S3", "S4")
COLUMNS = ("scenario", "packets", "cpu_s", "packets_per_cpu_s", "peak_rss_mb")
PYTHON_COLUMNS = ("algorithm", "acks", "cpu_s", "acks_per_cpu_s")
OVERHEAD_COLUMNS = (*COLUMNS, "cli_cpu_s", "cli_peak_rss_mb")


def bench(names: Sequence[str] = SCENARIOS, *, overhead: bool = False) -> Iterator[dict[str, Any]]:
    """Measures each of the scenarios ``names``.

    Yields rows of scenario, packets (delivered in order and acknowledged), cpu_s (of the process),
    packets_per_cpu_s and peak_rss_mb; with ``overhead`` also the cost of the same run by ``cwndlab run``.
    """
    if faults := [unknown_name("bench", "scenario", name, SCENARIOS) for name in names if name not in SCENARIOS]:
        raise ScenarioError(*faults)
    program = _program()
    for name in names:
        path = ROOT / "scenarios" / f"{name.lower()}.toml"
        measured = json.loads(_output([str(program), "run", str(path), "1"]))
        row = {
            "scenario": name,
            "packets": measured["packets"],
            "cpu_s": measured["cpu_s"],
            "packets_per_cpu_s": round(measured["packets"] / measured["cpu_s"]),
            "peak_rss_mb": measured["peak_rss_mb"],
        }
        if overhead:
            cpu_s, peak_mb = _command_line(path)
            row |= {"cli_cpu_s": cpu_s, "cli_peak_rss_mb": peak_mb}
        yield row


def bench_python(repeats: int = 3) -> Iterator[dict[str, Any]]:
    """Measures the cost of a class in Python: the flows of S1 use each class of ``examples/own_algorithm.py`` in turn.

    Yields rows of algorithm, acks (that receivers sent), cpu_s (of this process while it runs, the fastest of
    ``repeats``, the simulation included) and acks_per_cpu_s.
    """
    classes = load(ROOT / "examples" / "own_algorithm.py")
    scenario = Scenario.load(ROOT / "scenarios" / "s1.toml", algorithms=classes)
    for name in classes:
        document = with_algorithm(scenario, name)
        measured = []
        for _ in range(repeats):
            start = process_time()
            records = run(document, seed=1, algorithms=classes)
            measured.append(process_time() - start)
        acks = sum(row["ack_packets"] for row in records.rows("flows"))
        cpu_s = round(min(measured), 6)
        yield {"algorithm": name, "acks": acks, "cpu_s": cpu_s, "acks_per_cpu_s": round(acks / cpu_s)}


def _program() -> Path:
    name = "cwndlab-bench"
    beside = Path(sys.executable).with_name(name)
    for place in (beside, ROOT / "target" / "release" / name):
        if place.is_file():
            return place
    program = shutil.which(name)
    if program is None:
        raise RunError(Fault("bench", f"the program '{name}' was not found", "build it with `make build`"))
    return Path(program)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        what = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended with status {done.returncode}"
        raise RunError(Fault("bench", f"`{' '.join(command)}` failed: {what}", ""))
    return done.stdout


# Runs a command and prints its CPU time in seconds and its largest resident size in kB.
_MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def _command_line(path: Path) -> tuple[float, float]:
    run = [sys.executable, "-m", "cwndlab", "run", str(path), "--seed", "1", "--format", "json"]
    cpu_s, peak_kb = _output([sys.executable, "-c", _MEASURE, *run]).split()
    return round(float(cpu_s), 6), round(float(peak_kb) / 1024, 3)
