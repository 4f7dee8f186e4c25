"""The places that a command writes, looked at before it runs anything: work is not done for a place that takes none."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import cwndlab
from cwndlab.errors import Fault, RecordsError
from cwndlab.files import not_written
from cwndlab.records import TABLES, RunKey, key_of

_OTHER_FOLDER = "name a folder that is empty or does not exist"


def check_file(place: Path | None) -> None:
    """Raises ``OutputError`` where this file could not be written. No file is left, and no folder is made."""
    if place is None:
        return
    if place.is_dir():
        raise not_written(place, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
    _try(place, place.parent)


def check_records(folder: Path | None, scenario: cwndlab.Scenario, seed: int, engine: str) -> None:
    """Raises ``RecordsError`` where this folder would not take the records of a run.

    A simulation that is made again is the same and takes the place of the first one. An emulation is never the same.
    """
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise RecordsError(Fault(str(folder), "is a file, not a folder", _OTHER_FOLDER))
    if any((folder / f"{table}.parquet").exists() for table in TABLES):
        _refuse_other_run(folder, RunKey(scenario.hash, seed, cwndlab.version(), engine))
    _try(folder, folder)


def _refuse_other_run(folder: Path, run: RunKey) -> None:
    there = key_of(folder)
    if there is None:
        if run.engine == "simulate":
            return  # of a process that was killed; the headers that are left decide when the records are written
        raise RecordsError(Fault(str(folder), "holds files of another run", _OTHER_FOLDER))
    if run.engine != "simulate" or run != there:
        whose = f"scenario {there.scenario_hash[:12]}, seed {there.seed}, version {there.version}"
        raise RecordsError(Fault(str(folder), f"holds another run ({whose})", _OTHER_FOLDER))


def _try(place: Path, folder: Path) -> None:
    """Writes a file without a name into the nearest folder that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as cause:
        raise not_written(place, cause) from None
