"""The same scenario and seed give the same records: on any machine, with any number of workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import refresh_hashes
from cwndlab.scenario.presets import load
from cwndlab.simulate import run_many


def kept(name: str) -> dict[str, Any]:
    """A file of fingerprints."""
    path = Path(__file__).parents[1] / "known-answers" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


EXPECTED = kept("record-hashes")
REFRESH = (
    "if this is intended (new results, a new metric), run tools/refresh_hashes.py and name the reason in the commit"
)


@pytest.mark.parametrize("workers", [1, 4])
def test_records_have_the_committed_hashes(workers: int) -> None:
    """Hashes made on x86-64 by `tools/refresh_hashes.py`; another platform must give the same."""
    names = list(EXPECTED)
    jobs = [(load(name).with_(duration=EXPECTED[name]["duration"]), EXPECTED[name]["seed"]) for name in names]
    found = {names[index]: records.hash() for index, records in run_many(jobs, workers=workers)}
    assert found == {name: entry["hash"] for name, entry in EXPECTED.items()}, REFRESH


def test_another_seed_gives_other_records() -> None:
    scenario = load("loss").with_(duration="3 s")
    hashes = {records.hash() for _, records in run_many([(scenario, 1), (scenario, 2), (scenario, 1)])}
    assert len(hashes) == 2


def test_metrics_of_these_records_have_the_committed_values() -> None:
    """Generated tables depend on them: a metric that changes is to make its tables stale."""
    _, found = refresh_hashes.of_scenarios()
    expected = kept("metric-values")
    assert found.keys() == expected.keys()
    for scenario, values in expected.items():
        numbers = {name: value for name, value in values.items() if value is not None}
        assert {name: value for name, value in found[scenario].items() if value is not None} == pytest.approx(
            numbers, rel=1e-8
        ), f"{scenario}: {REFRESH}"


def test_the_runs_that_pages_of_algorithms_draw_have_the_committed_hashes() -> None:
    """Pictures and generated tables depend on them."""
    assert refresh_hashes.of_algorithms() == kept("algorithm-hashes"), REFRESH
