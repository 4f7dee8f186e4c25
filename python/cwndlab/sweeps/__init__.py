"""Sweeps: scenarios × algorithms × seeds, resumable, on threads or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cwndlab.sweeps.drive import Outcome, sweep
from cwndlab.sweeps.question import Sweep
from cwndlab.sweeps.question import load as read

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.scenario import Scenario

__all__ = ["Outcome", "Sweep", "cells", "load", "note", "read", "scenario", "sweep"]


def load(place: str | Path) -> pl.DataFrame:
    """The rows of a sweep, finished or not: ``cell``, a column per field that was swept, ``seed``, each metric,
    ``packets``, ``wall_s`` where a cluster ran it, ``host``, ``key`` and ``scenario_hash``. Sorted by cell and seed.

    Raises ``RecordsError`` where ``place`` holds no sweep.
    """
    from cwndlab.sweeps.drive import rows_of
    from cwndlab.sweeps.store import Store

    return rows_of(Store(place))


def note(place: str | Path) -> tuple[str, str]:
    """The title that a sweep gave itself, and what is missing of it; either may be empty."""
    from cwndlab.sweeps.drive import rows_of, unfinished
    from cwndlab.sweeps.store import Store

    store = Store(place)
    title: str = store.manifest.get("asked", {}).get("title", "")
    return title, unfinished(store, len(rows_of(store)))


def cells(place: str | Path) -> pl.DataFrame:
    """The cells of a sweep: ``cell``, a column per field, ``scenario_hash``, ``scenario`` (JSON)."""
    from cwndlab.sweeps.store import Store

    return Store(place).cells()


def scenario(place: str | Path, cell: int) -> Scenario:
    """The scenario of a cell, with which `cwndlab.run` repeats any of its runs to the bit, time series and all."""
    from cwndlab.errors import Fault, ScenarioError
    from cwndlab.scenario import Scenario

    found = cells(place)
    if not 0 <= cell < len(found):
        raise ScenarioError(Fault(f"cell {cell}", "is not in the sweep", f"there are 0 to {len(found) - 1}"))
    return Scenario.from_json(found["scenario"][cell])


def __dir__() -> list[str]:
    return __all__
