"""The results of a sweep, finished or not: rows, cells, and the scenario of a cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.errors import Fault, ScenarioError
from cwndlab.scenario.document import Scenario
from cwndlab.study.sweeps.execution import rows_of, unfinished
from cwndlab.study.sweeps.store import Store

if TYPE_CHECKING:
    import polars as pl


def load(place: str | Path) -> pl.DataFrame:
    """The rows of a sweep, finished or not: ``cell``, a column per field that was swept, ``seed``, each metric,
    ``packets``, ``wall_s`` where a cluster ran it, ``host``, ``key`` and ``scenario_hash``. Sorted by cell and seed.

    Raises ``RecordsError`` where ``place`` holds no sweep.
    """
    return rows_of(Store(place))


def note(place: str | Path) -> tuple[str, str]:
    """The title that a sweep gave itself, and what is missing of it; either may be empty."""
    store = Store(place)
    title: str = store.manifest.get("request", {}).get("title", "")
    return title, unfinished(store, len(rows_of(store)))


def cells(place: str | Path) -> pl.DataFrame:
    """The cells of a sweep: ``cell``, a column per field, ``scenario_hash``, ``scenario`` (JSON)."""
    return Store(place).cells()


def scenario(place: str | Path, cell: int) -> Scenario:
    """The scenario of a cell, with which `cwndlab.run` repeats any of its runs to the bit, time series and all."""
    found = cells(place)
    if not 0 <= cell < len(found):
        raise ScenarioError(Fault(f"cell {cell}", "is not in the sweep", f"there are 0 to {len(found) - 1}"))
    return Scenario.from_json(found["scenario"][cell])
