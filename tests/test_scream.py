"""`scream2` beside the code of SCReAM's authors (`known-answers/scream`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cwndlab.validation.references.media import SEEDS, agreement, document, figures, ours

FOLDER = Path(__file__).parents[1] / "known-answers" / "scream"
CELLS: list[dict[str, Any]] = json.loads((FOLDER / "cells.json").read_text(encoding="utf-8"))["cells"]


def test_rates_and_delays_are_those_of_the_draft_s_rules_in_the_authors_code() -> None:
    """Rates within 15 %, the 95th percentile of the delay within 25 % or 5 ms: means of five seeds on both sides."""
    found = ours(CELLS)
    apart = {
        cell["name"]: own
        for cell, own in zip(CELLS, found, strict=True)
        if agreement(own, cell["draft"]) != (True, True)
    }
    assert apart == {}


def test_reactions_are_those_of_the_draft_s_rules_in_the_authors_code() -> None:
    """A start within a quarter, or never on both sides; after steps, differences of a second."""
    for cell, own in zip(CELLS, ours(CELLS), strict=True):
        there = cell["draft"]
        never = cell["until_s"] * 0.9
        starts = min(own["start_s"], never), min(there["start_s"], never)
        assert abs(starts[0] - starts[1]) <= 0.25 * starts[1] + 0.2, cell["name"]
        if "up_s" in there:
            assert abs(own["up_s"] - there["up_s"]) <= 1.0, cell["name"]
            assert abs(own["down_s"] - there["down_s"]) <= 1.0, cell["name"]


def test_the_cells_have_results_of_both_builds_and_a_series() -> None:
    assert (len(CELLS), len(SEEDS)) == (19, 5)
    series = pl.read_csv(FOLDER / "series.csv.gz")
    assert set(series["cell"]) == {cell["name"] for cell in CELLS}
    assert set(series["variant"]) == {"code", "draft"}


def test_figures_of_a_hand_made_run() -> None:
    """By hand: 1000 bytes each 10 ms, of which 4 of 5 arrive, are 0.64 Mbit/s; from 40 s on 100 ms of queue for 2 s."""
    cell = {"rates": [[0, 0.9], [40, 0.5], [60, 0.9]], "max_mbps": 30, "starts_s": [0], "until_s": 80}
    times = [n / 100 for n in range(8000)]
    packets = pl.DataFrame(
        {
            "t": times,
            "flow": 0,
            "queue_s": [0.1 if 40 <= t < 42 else 0.01 for t in times],
            "bytes": 1000,
            "fate": [{0: 2, 1: 3}.get(n % 5, 0) for n in range(8000)],
        }
    )
    found = figures(cell, [packets])
    expected = {"queue_ms": 10, "missing": 0.2, "marked": 0.2, "start_s": 1, "down_s": 2, "peak_ms": 100, "up_s": 0}
    assert found.pop("mbps") == pytest.approx([0.64], abs=2e-3)
    assert found == pytest.approx(expected, abs=2e-3)


def test_a_cell_is_a_scenario() -> None:
    cell = next(cell for cell in CELLS if cell["name"] == "L4S, 10, 4, 10 Mbit/s, 50 ms")
    link = document(cell)["link"][0]
    assert link["queue"] == {"kind": "step-ecn", "capacity": "365 packets", "mark_above": 6}
    assert link["schedule"] == [{"at": "40 s", "rate": "4 Mbps"}, {"at": "80 s", "rate": "10 Mbps"}]
