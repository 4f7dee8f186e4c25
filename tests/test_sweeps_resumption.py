"""Sweeps that are stopped, killed or shared: what is kept, what is repeated, who may write."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab import engine
from cwndlab.errors import RecordsError
from cwndlab.study import spec, sweeps
from cwndlab.study.lock import ObjectLock
from cwndlab.study.result import Result
from cwndlab.study.store import Store
from cwndlab.study.sweeps import sweep
from fsspec.implementations.memory import MemoryFileSystem
from small_sweeps import described, small_sweep, without_machine


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(described())
    return path


def test_what_is_there_is_not_run_again_and_a_larger_sweep_uses_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(small_sweep(), out=out)
    assert sweep(small_sweep(), out=out).outcome.ran == 0
    larger = small_sweep(seeds=[2, 3, 4], product={"flow[0].rtt": ["40 ms", "80 ms"]})
    outcome = sweep(larger, out=out).outcome
    # Of 40 ms the seeds 2 and 3 are there.
    assert (outcome.total, outcome.resumed, outcome.ran) == (6, 2, 4)
    rows = Result.read(out).runs
    assert sorted(set(rows["seed"])) == [2, 3, 4]
    assert len(rows) == 6


def test_points_of_another_study_than_the_header_are_reported(tmp_path: Path) -> None:
    """As after a kill between the two files."""
    out = tmp_path / "out"
    sweep(small_sweep(), out=out)
    manifest = (out / "manifest.json").read_bytes()
    sweep(small_sweep(seeds=[1], product={"flow[0].rtt": ["20 ms"]}), out=out)
    (out / "manifest.json").write_bytes(manifest)
    with pytest.raises(RecordsError, match=r"is incomplete: .*\n  hint: run the same command again"):
        Result.read(out)
    assert sweep(small_sweep(), out=out).outcome.ran == 0


def test_a_line_that_is_cut_off_is_no_row(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Store(out, write=True) as store:
        version = {"engine": "1", "measure": "a"}
        store.add({"key": "k1", "scenario_hash": "h", "seed": 1, "goodput_bps": 1.5, **version})
        store.add({"key": "k2", "scenario_hash": "h", "seed": 2, "goodput_bps": 2.5, **version})
        journal = (out / "journal.jsonl").read_bytes()
    for length in (*range(0, len(journal), 17), len(journal) - 1, len(journal)):
        folder = tmp_path / "cut"
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(journal[:length])
        with Store(folder, write=True) as store:
            whole = journal[:length].count(b"\n") + (length + 1 in (len(journal), journal.index(b"\n") + 1))
            assert store.keys()["key"].to_list() == ["k1", "k2"][:whole], length
        for file in sorted(folder.rglob("*"), reverse=True):
            file.unlink() if file.is_file() else file.rmdir()
        folder.rmdir()


def test_a_part_that_is_not_whole_is_left_out_and_run_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(small_sweep(), out=out)
    (part,) = out.rglob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:-7])
    outcome = sweep(small_sweep(), out=out).outcome
    assert outcome.ran == 6
    assert len(Result.read(out).runs) == 6


def test_a_part_that_no_manifest_names_is_not_read(tmp_path: Path) -> None:
    """As after a kill between the two."""
    out = tmp_path / "out"
    sweep(small_sweep(), out=out)
    (part,) = out.rglob("part-*.parquet")
    part.with_name("part-000002.parquet").write_bytes(part.read_bytes()[:100])
    assert len(Result.read(out).runs) == 6
    assert sweep(small_sweep(seeds=[1, 2, 3, 4]), out=out).outcome.ran == 2


def test_runs_of_another_version_are_told_and_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        for module in (engine, spec, sweeps.run):
            patch.setattr(module, "engine_version", lambda: "0.0.9")
        assert sweep(small_sweep(), out=out).outcome.ran == 6
    result = sweep(small_sweep(), out=out)
    assert result.outcome.ran == 6
    assert result.notes == [f"{out}: 6 runs are of cwndlab 0.0.9 and are not used"]
    assert len(Result.read(out).runs) == 6


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    with pytest.raises(RecordsError, match="holds something else"):
        sweep(small_sweep(), out=tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "manifest.json").write_text("[1, 2")
    with pytest.raises(RecordsError, match="is not a manifest of a study"):
        sweep(small_sweep(), out=other)
    with pytest.raises(RecordsError, match="does not hold a sweep or a comparison"):
        Result.read(tmp_path / "nothing")


def start(file: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "cwndlab", "sweep", str(file), "--out", str(out), "--workers", "2", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)


def journal_lines(out: Path) -> int:
    place = out / "journal.jsonl"
    return place.read_bytes().count(b"\n") if place.exists() else 0


def test_two_processes_on_one_folder_and_the_lock_of_the_dead(file: Path) -> None:
    file.write_text(described(10000))
    out = file.parent / "out"
    first = start(file, out)
    try:
        wait_for(lambda: journal_lines(out) > 0)
        second = start(file, out)
        _, said = second.communicate(timeout=60)
        assert second.returncode == 2
        assert f"{out}: is in use by process {first.pid} on " in said
    finally:
        first.kill()
        first.communicate()
    assert (out / ".lock").exists()
    with Store(out, write=True):
        pass


def test_an_object_store_is_locked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "memory://sweeps/locked"
    holder = Store(place, write=True)
    with pytest.raises(RecordsError, match=rf"is in use by process {os.getpid()} on "):
        Store(place, write=True)
    holder.close()
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    monkeypatch.setattr(os, "getpid", lambda: int(gone.stdout))
    Store(place, write=True)  # never closed: its holder is dead
    monkeypatch.undo()
    with Store(place, write=True):
        pass


class SlowStore(MemoryFileSystem):  # type: ignore[misc]
    """A store whose calls take a while, so that those of several processes mix."""

    def pipe_file(self, *arguments: Any, **options: Any) -> None:
        time.sleep(random.uniform(0.0, 0.004))
        super().pipe_file(*arguments, **options)
        time.sleep(random.uniform(0.0, 0.004))

    def ls(self, *arguments: Any, **options: Any) -> Any:
        time.sleep(random.uniform(0.0, 0.004))
        return super().ls(*arguments, **options)


@pytest.mark.parametrize("takers", [2, 5])
def test_of_several_that_take_an_object_lock_at_once_one_has_it(takers: int) -> None:
    """Lamport's bakery argument: who writes before it looks is seen by whoever looks later. Twenty rounds each."""
    fs = SlowStore()
    for turn in range(20):
        start = threading.Barrier(takers)
        held: list[ObjectLock] = []

        def take(turn: int = turn, start: threading.Barrier = start, held: list[ObjectLock] = held) -> None:
            start.wait()
            with suppress(RecordsError):
                held.append(ObjectLock(fs, f"/race-{takers}-{turn}", "memory://race"))

        threads = [threading.Thread(target=take) for _ in range(takers)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(held) == 1
        held[0].check()
        held[0].release()
        assert not fs.exists(f"/race-{takers}-{turn}/lock")


def test_a_holder_that_was_silent_for_too_long_is_fenced_off(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "memory://sweeps/fenced"
    row = {"scenario_hash": "h", "seed": 1, "engine": "1", "measure": "a", "packets": 1, "goodput_bps": 1.0}
    stale = Store(place, write=True)
    with monkeypatch.context() as later:
        later.setattr("cwndlab.study.lock._DEAD_AFTER_S", -1.0)
        new = Store(place, write=True)
    new.add({"key": "new", **row})
    stale.add({"key": "stale", **row})
    with pytest.raises(RecordsError, match="was taken over by another process"):
        stale.close()
    # It neither wrote nor took the new holder's lock away.
    with pytest.raises(RecordsError, match="is in use by"):
        Store(place, write=True)
    new.close()
    assert Store(place).keys()["key"].to_list() == ["new"]


def test_a_row_on_an_object_store_waits_for_no_other_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of long runs: the second one comes right after a part, and then none for minutes."""
    due: list[tuple[float, Callable[[], None]]] = []

    class Timer(threading.Thread):
        def __init__(self, wait_s: float, function: Callable[[], None]) -> None:
            super().__init__()
            due.append((wait_s, function))

        def start(self) -> None:
            """Nothing: the test calls the function."""

        def cancel(self) -> None:
            due.clear()

    monkeypatch.setattr("cwndlab.study.store.threading.Timer", Timer)
    place = "memory://sweeps/late"
    row = {"scenario_hash": "h", "seed": 1, "engine": "1", "measure": "a", "packets": 1, "goodput_bps": 1.0}
    with Store(place, write=True) as store:
        store.add({"key": "one", **row})
        store.add({"key": "two", **row})
        ((wait_s, function),) = due
        assert 0 < wait_s <= 2
        assert len(Store(place).keys()) == 0
        function()
        assert Store(place).keys()["key"].to_list() == ["one", "two"]
        store.add({"key": "three", **row})
        assert len(due) == 2
    assert due == []
    assert len(Store(place).keys()) == 3


def test_a_folder_of_someone_else_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RecordsError, match="holds something else"):
        Store(tmp_path, write=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(RecordsError, match="is not a manifest of a study"):
        Store(tmp_path, write=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "notes.txt"]


@pytest.mark.parametrize("name", ["~kept", "~nobody-of-this-name/kept"])
def test_a_name_with_a_tilde_is_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell has replaced the tildes that it knows, and the records of a comparison are beside its rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cwndlab.compare(small_sweep().base, ["reno"], seeds=1, out=name)
    assert (tmp_path / name / "manifest.json").exists()
    assert (tmp_path / name / "reno" / "seed-1" / "flows.parquet").exists()
    assert not (tmp_path / "home").exists()


Called = tuple[int, str, str]


def test_the_rows_of_comparisons_and_matrices_go_to_urls(
    cli: Callable[..., Called], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ("single", "--repetitions", 1, "--set", "duration=300ms")
    assert cli("compare", *short, "--algorithms", "reno", "--out", "memory://cli/compare")[0] == 0
    assert len(Result.read("memory://cli/compare").runs) == 1
    assert cli("matrix", "--algorithms", "reno", "--out", "memory://cli/matrix")[0] == 0
    assert Result.read("memory://cli/matrix").unfinished == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", [("tune", "t.toml"), ("run", "single"), ("suite", "rfc8867"), ("assess", "reno"), ("reproduce", "iot")]
)
def test_a_command_that_writes_to_folders_takes_no_url(
    command: tuple[str, ...], cli: Callable[..., Called], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``Path("s3://kept/x")`` is the folder ``s3:`` beside the caller."""
    monkeypatch.chdir(tmp_path)
    status, _, said = cli(*command, "--out", "s3://kept/x")
    assert (status, said.splitlines()[0]) == (
        2,
        "--out: 's3://kept/x' is a URL, and this command writes to a local folder",
    )
    assert list(tmp_path.iterdir()) == []


def test_killed_at_random_moments_it_loses_no_run_and_repeats_none(file: Path) -> None:
    file.write_text(described(12))
    out = file.parent / "out"
    chance = random.Random(20180415)
    seen: set[str] = set()
    for _ in range(3):
        process = start(file, out)
        before = journal_lines(out)
        end = time.monotonic() + 30
        while journal_lines(out) == before and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        # What was there is there, and nothing is there twice; what the journal alone had counts.
        kept = Store(out).keys()["key"].to_list()
        assert seen <= set(kept)
        assert len(kept) == len(set(kept))
        seen = set(kept)
    outcome = sweep(sweeps.read(file), out=out).outcome
    assert (outcome.total, outcome.resumed) == (144, len(seen))
    assert outcome.ran == 144 - len(seen)
    sweep(sweeps.read(file), out=file.parent / "whole")
    assert without_machine(Result.read(out).runs).equals(without_machine(Result.read(file.parent / "whole").runs))


def test_ctrl_c_keeps_what_was_finished(file: Path) -> None:
    file.write_text(described(10000))
    out = file.parent / "out"
    process = start(file, out)
    try:
        wait_for(lambda: journal_lines(out) > 3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    rows = len(Result.read(out).runs)
    assert f"stopped; {rows} of 120000 runs finished are kept in {out}; the same command resumes" in said
    assert "Traceback" not in said
