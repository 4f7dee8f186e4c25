"""Writes known-answers/record-hashes.json: the hash over all records of bundled scenarios, for the test of determinism.

Run it after a change that is meant to change results, and say so in the commit.
"""

from __future__ import annotations

import json
from pathlib import Path

from cwndlab.presets import load
from cwndlab.run import run

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = {
    "single": "1 s",
    "two-flows": "15 s",
    "loss": "10 s",
    "parking-lot": "5 s",
    "reverse-traffic": "10 s",
    "s4": "20 s",
}


def main() -> None:
    """Runs each scenario with seed 7."""
    found = {
        name: {"duration": duration, "seed": 7, "hash": run(load(name).with_(duration=duration), seed=7).hash()}
        for name, duration in SCENARIOS.items()
    }
    (ROOT / "known-answers" / "record-hashes.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
