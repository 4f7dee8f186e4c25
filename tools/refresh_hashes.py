"""Writes the fingerprints of results in known-answers/, which tests of determinism and generated tables use.

| file | content |
|---|---|
| `record-hashes.json` | for bundled scenarios the hash over all records |
| `metric-values.json` | for the same runs every metric of `cwndlab.metrics.summary`, to nine significant digits |
| `algorithm-hashes.json` | for every algorithm the hashes of the two runs of its page |

Run it after an intended change of results, mention the change in the commit message, and run `make docs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import algorithm_pages
from cwndlab.catalogue import algorithms
from cwndlab.metrics import summary
from cwndlab.records import Records
from cwndlab.scenario.presets import load
from cwndlab.simulate import run_jobs

ROOT = Path(__file__).resolve().parents[1]
SEED = 7
SCENARIOS = {
    "single": "1 s",
    "two-flows": "15 s",
    "loss": "10 s",
    "parking-lot": "5 s",
    "reverse-traffic": "10 s",
    "s4": "20 s",
    "aqm": "5 s",
    "ccm-ss-path": "10 s",
    "lte": "10 s",
    "mqtt": "20 s",
    "rate-steps": "30 s",
    "reordering": "30 s",
    "short-flows": "10 s",
    "web": "10 s",
    "wlan": "3 s",
}


def metric_values(records: Records) -> dict[str, float | None]:
    """All metrics of a run, null without a value, with nine digits, because the last digits depend on libraries."""
    metrics = sorted(summary(records).items())
    return {name: float(f"{value:.9g}") if value is not None and isfinite(value) else None for name, value in metrics}


def of_scenarios() -> tuple[dict[str, Any], dict[str, Any]]:
    """Record hashes and metric values of the bundled scenarios."""
    jobs = [(load(name).with_(duration=duration), SEED) for name, duration in SCENARIOS.items()]
    done = dict(run_jobs(jobs))
    hashes = {
        name: {"duration": duration, "seed": SEED, "hash": done[index].hash()}
        for index, (name, duration) in enumerate(SCENARIOS.items())
    }
    return hashes, {name: metric_values(done[index]) for index, name in enumerate(SCENARIOS)}


def of_algorithms() -> dict[str, dict[str, str]]:
    """Record hashes of the runs of docs/algorithms/, by page."""
    runs = [run for entry in algorithms() for run in algorithm_pages.runs(entry)]
    done = dict(run_jobs([(run.document, algorithm_pages.SEED) for run in runs]))
    hashes: dict[str, dict[str, str]] = {}
    for index, run in enumerate(runs):
        hashes.setdefault(run.page, {})[run.picture] = done[index].hash()
    return hashes


def main() -> None:
    """Writes the three files."""
    hashes, values = of_scenarios()
    files: Mapping[str, Mapping[str, Any]] = {
        "record-hashes": hashes,
        "metric-values": values,
        "algorithm-hashes": of_algorithms(),
    }
    for name, content in files.items():
        (ROOT / "known-answers" / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
