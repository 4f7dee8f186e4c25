"""The same scenario and seed give the same records: on any machine, with any number of workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cwndlab.presets import load
from cwndlab.run import run_many

EXPECTED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "known-answers" / "record-hashes.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("workers", [1, 4])
def test_records_have_the_committed_hashes(workers: int) -> None:
    """Hashes made on x86-64 by `tools/refresh_hashes.py`; another platform must give the same."""
    names = list(EXPECTED)
    jobs = [(load(name).with_(duration=EXPECTED[name]["duration"]), EXPECTED[name]["seed"]) for name in names]
    found = {names[index]: records.hash() for index, records in run_many(jobs, workers=workers)}
    assert found == {name: entry["hash"] for name, entry in EXPECTED.items()}


def test_another_seed_gives_other_records() -> None:
    scenario = load("loss").with_(duration="3 s")
    hashes = {records.hash() for _, records in run_many([(scenario, 1), (scenario, 2), (scenario, 1)])}
    assert len(hashes) == 2
