"""Seeds at the ends of their range, 0 to 2⁶⁴ − 1: they run, or the fault is told before anything does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cwndlab
import pytest
from cwndlab.live import windows
from cwndlab.reproduction.catalogue import PAPERS
from cwndlab.reproduction.multiverse import joint, multiverse
from cwndlab.study.attack import attack
from cwndlab.study.matrix import matrix
from test_joint import planted

#: NumPy's seeds have 32 bits, and the columns of tables of runs 63.
BEYOND_NUMPY, BEYOND_TABLES, LARGEST = 2**32, 2**63, 2**64 - 1


def test_a_run_takes_every_seed() -> None:
    path = cwndlab.presets.load("single").with_(duration="100 ms")
    assert [cwndlab.run(path, seed=seed).seed for seed in (0, LARGEST)] == [0, LARGEST]


def test_searches_take_seeds_beyond_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    path = cwndlab.presets.load("single").with_(duration="1 s")
    assert attack("reno", scenario=path, trials=1, most_events=1, seed=BEYOND_NUMPY).trials == 1
    monkeypatch.setattr(joint, "spaces", lambda target="": [planted(("a", "b"))])
    assert joint.search("iot", quick=True, workers=1, seed=BEYOND_NUMPY).seeds[0] == BEYOND_NUMPY


@pytest.mark.parametrize("seed", [BEYOND_TABLES - 1, LARGEST])
@pytest.mark.parametrize(
    "call",
    [
        lambda seed: cwndlab.reproduce("cubic-study/fig1", quick=True, seed=seed),
        lambda seed: list(multiverse("cubic-study", quick=True, seed=seed)),
        lambda seed: joint.search(next(iter(PAPERS)), quick=True, seed=seed),
    ],
)
def test_seeds_that_the_tables_of_a_reproduction_do_not_take_are_told(call: Callable[[int], Any], seed: int) -> None:
    with pytest.raises(cwndlab.ScenarioError, match=rf"seed: seeds from {seed} on exceed 63 bits"):
        call(seed)


def test_a_matrix_takes_the_largest_seed_of_its_table_and_tells_others() -> None:
    with pytest.raises(cwndlab.ScenarioError, match=rf"seed: seeds from {BEYOND_TABLES} on exceed 63 bits"):
        matrix(["reno"], seed=BEYOND_TABLES)


def test_a_seed_comes_back_from_a_script_for_windows() -> None:
    """2⁵³ + 1 is the first whole number that a double does not have (IEEE 754); 15 digits change it as well."""
    plan = windows.Plan(
        "https://host.example/put",
        ("cubic", "newreno"),
        "windows-11",
        seed=2**53 + 1,
        prefix="192.0.2.0/24",
        size_bytes=10_000_000,
    )
    script = plan.script()
    assert f"    Seed = {2**53 + 1}\n" in script.replace("\r", "")
    assert windows.plan.plan_of(script, "plan.ps1") == plan
