"""The file of a kernel's runs, to which two processes may add at once."""

from __future__ import annotations

import csv
import fcntl
import threading
from dataclasses import replace
from pathlib import Path

from cwndlab.validation.kernel import Run, keep

RUN = Run("one", "reno", 1, 0, "reno", 9e6, 0.02, 0.02, 3, 3, 3, 0.0, 0.0, 0.0, "6.12", "2026-01-01", "hash")


def repetitions(file: Path) -> list[int]:
    with file.open(newline="") as lines:
        return [int(row["repetition"]) for row in csv.DictReader(lines)]


def test_a_run_is_added_after_those_of_another_process(tmp_path: Path) -> None:
    """While another holder has the file, nothing is written; then its lines, which were not there before, stay."""
    file = tmp_path / "runs.csv"
    keep(file, [RUN])
    with file.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        adding = threading.Thread(target=keep, args=(file, [replace(RUN, repetition=3)]))
        adding.start()
        adding.join(0.2)
        assert adding.is_alive()
        assert repetitions(file) == [1]
        other.write(file.read_bytes().splitlines(keepends=True)[1].replace(b"one,reno,1,", b"one,reno,2,"))
        other.flush()
    adding.join(10)
    assert repetitions(file) == [1, 2, 3]


def test_a_torn_line_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    keep(file, [RUN])
    with file.open("ab") as torn:
        torn.write(b"one,reno,2,0,re")
    keep(file, [replace(RUN, repetition=3)])
    assert repetitions(file) == [1, 3]
