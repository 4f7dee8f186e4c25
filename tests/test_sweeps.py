"""Sweeps: what is asked, what is kept, what survives a kill."""

from __future__ import annotations

import csv
import hashlib
import json
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
from statistics import fmean
from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab import engine
from cwndlab.custom import load
from cwndlab.errors import RecordsError, ScenarioError
from cwndlab.metrics.summary import NAMES
from cwndlab.reports.sweep import Grid
from cwndlab.scenario.workloads import Cbr
from cwndlab.study import spec, sweeps
from cwndlab.study.calibration import Calibration, Line, samples, total
from cwndlab.study.fields import places
from cwndlab.study.lock import ObjectLock
from cwndlab.study.result import Result
from cwndlab.study.store import Store
from cwndlab.study.sweeps import Sweep, sweep
from cwndlab.study.sweeps.run import left
from fsspec.implementations.memory import MemoryFileSystem

Called = tuple[int, str, str]
ROOT = Path(__file__).parents[1]

FILE = """\
schema_version = 1
duration = "500 ms"

[dumbbell]
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = { kind = "droptail", capacity = "1 bdp" } }

[[flow]]
algorithm = "reno"
rtt = "20 ms"

[[flow]]
algorithm = "reno"
rtt = "20 ms"

[sweep]
algorithms = ["cubic", "reno"]
seeds = SEEDS

[sweep.product]
"dumbbell.bottleneck.rate" = ["5 Mbps", "10 Mbps", "20 Mbps"]

[[sweep.zip]]
"@pair" = ["near", "far"]
"flow[0].rtt" = ["20 ms", "40 ms"]
"flow[1].rtt" = ["30 ms", "60 ms"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """2 algorithms × 3 rates × 2 pairs × 2 seeds = 24 runs."""
    path = tmp_path / "grid.toml"
    path.write_text(FILE.replace("SEEDS", "2"))
    return path


def question(**changed: object) -> Sweep:
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    base = cwndlab.Scenario(duration="300 ms", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="20 ms")])
    given = {"base": base, "product": {"flow[0].rtt": ["20 ms", "40 ms"]}, "seeds": [1, 2, 3]}
    return Sweep(**(given | changed))  # type: ignore[arg-type]


def values(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows without what two machines, or two moments, may tell apart."""
    return frame.drop("host", "wall_s", strict=False)


def texts(error: pytest.ExceptionInfo[cwndlab.Error]) -> list[str]:
    return str(error.value).splitlines()


# What is asked.


def test_a_sweep_is_the_product_of_its_fields_and_zips(file: Path) -> None:
    asked = sweeps.read(file)
    assert len(asked) == 2 * 3 * 2
    assert asked.columns == ("algorithm", "dumbbell.bottleneck.rate", "@pair", "flow[0].rtt", "flow[1].rtt")
    pairs = {(cell.labels["@pair"], cell.labels["flow[0].rtt"], cell.labels["flow[1].rtt"]) for cell in asked.points()}
    assert pairs == {("near", "20 ms", "30 ms"), ("far", "40 ms", "60 ms")}
    document = json.loads(asked.checked(11).document)
    assert [flow["algorithm"] for flow in document["flow"]] == ["reno", "reno"]
    assert [flow["rtt"] for flow in document["flow"]] == ["40 ms", "60 ms"]
    assert document["dumbbell"]["bottleneck"]["rate"] == "20 Mbps"


def test_a_star_is_every_one_of_a_list(file: Path) -> None:
    assert places("flow[*].rtt", {"flow": [{}, {}]}) == ["flow[0].rtt", "flow[1].rtt"]
    with pytest.raises(ScenarioError) as error:
        places("flows[*].rtt", {"flow": [{}, {}]})
    assert texts(error) == ["flows[*].rtt: 'flows' is not a list", "  hint: did you mean 'flow'?"]


def test_a_field_that_does_not_exist_is_told_with_the_nearest_name(file: Path, cli: Callable[..., Called]) -> None:
    file.write_text(file.read_text().replace("bottleneck.rate", "botleneck.rate"))
    status, _, said = cli("sweep", file, "--out", file.parent / "out")
    assert status == 2
    assert said.splitlines() == ["dumbbell.botleneck: no such field", "  hint: did you mean 'bottleneck'?"]
    assert not (file.parent / "out").exists()


def test_faults_of_all_cells_are_told_with_the_cell(file: Path, cli: Callable[..., Called]) -> None:
    text = file.read_text().replace('"reno"]', '"renno"]').replace('"20 ms", "40 ms"', '"1 ms", "40 ms"')
    file.write_text(text)
    status, _, said = cli("sweep", file)
    assert status == 2
    wrong = [line for line in said.splitlines() if not line.startswith("  hint")]
    assert wrong[0].startswith("cell 0 (algorithm = cubic, dumbbell.bottleneck.rate = 5 Mbps, @pair = near, ")
    assert "and 5 more: flow[0].rtt" in wrong[0]
    assert any("no algorithm" in line and "'renno'" in line for line in wrong)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seeds = 2", "seeds = 0", "sweep.seeds: there is no seed, so nothing runs"),
        ("seeds = 2", "seed = 2", "sweep.seed: no such field"),
        ("seeds = 2", "seeds = [1, -1]", "sweep.seeds: '-1' is not a seed"),
        ('"30 ms", "60 ms"', '"30 ms"', "sweep.zip[0]: fields that change together need equal numbers of values"),
        (
            '["5 Mbps", "10 Mbps", "20 Mbps"]',
            '"5 Mbps"',
            'sweep.product."dumbbell.bottleneck.rate": is not a list of values',
        ),
        ("seeds = 2", 'seeds = 2\nbase = "s1"', "sweep.base: there is a scenario in the file, too"),
        (
            "seeds = 2",
            'seeds = 2\nuntil = "goodput within 2 %"\nat_most = 9',
            "sweep.until: no metric is called 'goodput'",
        ),
        (
            "seeds = 2",
            'seeds = 2\nuntil = "goodput_bps within 2 %"',
            "sweep.at_most: a cell whose interval stays wide would",
        ),
        ("[sweep]", "[sweeep]", "sweeep: no such field"),
        ("[sweep]", "[sweep", "is not TOML"),
    ],
)
def test_bad_files_are_told_where_and_what(
    file: Path, cli: Callable[..., Called], old: str, new: str, told: str
) -> None:
    file.write_text(file.read_text().replace(old, new))
    status, _, said = cli("sweep", file)
    assert status == 2
    assert told in said


def test_a_sweep_may_be_python(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import cwndlab\nfrom cwndlab import Sweep\n"
        "base = cwndlab.presets.load('single').with_(duration='1 s')\n"
        "sweep = Sweep(base=base, algorithms=['reno', 'cubic'], seeds=range(3))\n"
    )
    asked = sweeps.read(file, changes=[("duration", "2 s")])
    assert (len(asked), list(asked.seeds), asked.base.duration) == (2, [0, 1, 2], "2 s")
    file.write_text("sweep = 3")
    with pytest.raises(ScenarioError, match="has no 'sweep' that is a Sweep"):
        sweeps.read(file)


def test_examples_are_sound() -> None:
    assert len(sweeps.read(ROOT / "examples" / "sweep.toml").points()) == 36
    grid = sweeps.read(ROOT / "examples" / "ccm-ss-grid.py")
    # 5 bandwidths × 10 buffers × 32 RTT pairs × 2 modules, three times (docs of the paper's grid).
    assert (len(grid), len(grid) * len(grid.seeds)) == (5 * 10 * 32 * 2, 9600)


# What is found.


def test_rows_are_those_of_single_runs_and_scenarios_can_be_run_again(tmp_path: Path) -> None:
    result = sweep(question(metrics=["p95_queue_ms"]), out=tmp_path / "out", workers=2)
    outcome = result.outcome
    assert (outcome.total, outcome.ran, outcome.failed) == (6, 6, [])
    rows = Result.read(tmp_path / "out").runs
    assert rows["cell"].to_list() == [0, 0, 0, 1, 1, 1]
    assert rows["flow[0].rtt"].to_list() == ["20 ms"] * 3 + ["40 ms"] * 3
    for row in rows.iter_rows(named=True):
        records = cwndlab.run(result.scenario_of(row["cell"]), seed=row["seed"])
        assert records.scenario_hash == row["scenario_hash"]
        names = [*NAMES, "p95_queue_ms"]
        assert {name: row[name] for name in names} == cwndlab.metrics.summary(records, metrics=names)
    assert pl.read_parquet(tmp_path / "out" / "rows.parquet").equals(rows)


def test_metrics_of_one_flow_are_columns(tmp_path: Path, cli: Callable[..., Called]) -> None:
    """Coexistence over a grid: the share of one flow, by its index, and the delay of a call over UDP by its name."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    call = cwndlab.Flow(transport="udp", name="call", rtt="20 ms", workload=Cbr(rate="1 Mbit/s"))
    flows = [cwndlab.Flow("reno", rtt="20 ms"), cwndlab.Flow("cubic", rtt="20 ms"), call]
    base = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows)
    names = ["share@0", "one_way_delay_ms@call", "jitter_ms"]
    result = sweep(question(base=base, metrics=names, seeds=[1, 2]), out=tmp_path / "out", workers=2)
    rows = Result.read(tmp_path / "out").runs
    for row in rows.iter_rows(named=True):
        records = cwndlab.run(result.scenario_of(row["cell"]), seed=row["seed"])
        assert {name: row[name] for name in names} == cwndlab.metrics.summary(records, metrics=names)
        assert 0 < row["share@0"] < 1
        assert row["one_way_delay_ms@call"] > 10
    status, table, _ = cli("sweep", "x.toml", "--show", "--out", tmp_path / "out", "--metrics", ",".join(names))
    assert (status, "share of flow 0" in table) == (0, True)
    assert {"share of flow 0", "jitter of UDP"} <= {
        cwndlab.metrics.COLUMNS[name].title for name in Grid(Result.read(tmp_path / "out")).metrics
    }
    with pytest.raises(ScenarioError, match=r"sweep\.metrics: 'share@phone': no flow is called 'phone'"):
        question(base=base, metrics=["share@phone"])


def test_the_number_of_workers_changes_no_row(tmp_path: Path) -> None:
    for workers in (1, 3):
        sweep(question(), out=tmp_path / str(workers), workers=workers)
    assert values(Result.read(tmp_path / "1").runs).equals(values(Result.read(tmp_path / "3").runs))


def test_what_is_there_is_not_run_again_and_a_larger_sweep_uses_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(question(), out=out)
    assert sweep(question(), out=out).outcome.ran == 0
    larger = question(seeds=[2, 3, 4], product={"flow[0].rtt": ["40 ms", "80 ms"]})
    outcome = sweep(larger, out=out).outcome
    # Of 40 ms the seeds 2 and 3 are there.
    assert (outcome.total, outcome.resumed, outcome.ran) == (6, 2, 4)
    rows = Result.read(out).runs
    assert sorted(set(rows["seed"])) == [2, 3, 4]
    assert len(rows) == 6


def test_rows_land_wherever_fsspec_leads() -> None:
    outcome = sweep(question(), out="memory://sweeps/one").outcome
    assert outcome.ran == 6
    assert len(Result.read("memory://sweeps/one").runs) == 6
    assert sweep(question(), out="memory://sweeps/one").outcome.ran == 0


def test_more_columns_by_a_function(tmp_path: Path) -> None:
    def measure(records: cwndlab.Records) -> dict[str, float]:
        return {"flows": float(len(records.flows))}

    sweep(question(measure=measure), out=tmp_path / "out")
    assert Result.read(tmp_path / "out").runs["flows"].to_list() == [1.0] * 6


def test_a_cell_gets_runs_until_its_interval_is_narrow(tmp_path: Path) -> None:
    loss = {"dumbbell.bottleneck.loss": [{"kind": "bernoulli", "p": 0.0}, {"kind": "bernoulli", "p": 0.05}]}
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    base = cwndlab.Scenario(
        duration="500 ms", start_jitter="0 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="20 ms")]
    )
    asked = Sweep(base=base, product=loss, seeds=[1, 2, 3], until="goodput_bps within 0.1 %", at_most=9)
    outcome = sweep(asked, out=tmp_path / "out").outcome
    counts = dict(Result.read(tmp_path / "out").runs.group_by("cell").len().iter_rows())
    # Without chance three runs are equal; with five per cent loss nine are not within a thousandth.
    assert counts == {0: 3, 1: 9}
    assert (outcome.total, outcome.ran) == (12, 12)
    assert sweep(asked, out=tmp_path / "out").outcome.ran == 0


def test_a_sweep_needs_no_folder_and_no_description() -> None:
    """The same rows as from a file; differences within each cell of the other labels."""
    base = question().base
    over = {"flow[0].rtt": ["20 ms", "40 ms"]}
    result = cwndlab.sweep(base, over=over, algorithms=["reno", "cubic"], seeds=range(1, 4))
    described = sweep(question(algorithms=["reno", "cubic"]))
    assert values(result.runs).equals(values(described.runs))
    assert (result.axis("algorithm").texts, result.columns) == (("reno", "cubic"), ["algorithm", "flow[0].rtt"])
    assert repr(result) == "<Result: 4 cells of algorithm, flow[0].rtt, 12 of 12 runs>"
    deltas = result.differences(["goodput_bps"])
    assert deltas.select("flow[0].rtt", "algorithm", "pairs").rows() == [("20 ms", "cubic", 3), ("40 ms", "cubic", 3)]
    for row in deltas.rows(named=True):
        runs = result.runs.filter(pl.col("flow[0].rtt") == row["flow[0].rtt"])
        reno, cubic = (fmean(runs.filter(algorithm=name)["goodput_bps"].to_list()) for name in ("reno", "cubic"))
        assert row["difference"] == pytest.approx(cubic - reno)
    assert result.differences(["goodput_bps"], by="flow[0].rtt")["flow[0].rtt"].to_list() == ["40 ms", "40 ms"]
    assert result.summary(["goodput_bps"])["n"].to_list() == [3] * 4
    assert len(result.plot("goodput_bps").panels[0].series) == 2
    with pytest.raises(ScenarioError, match="by: no label is called 'rtt'"):
        result.differences(by="rtt")
    with pytest.raises(ScenarioError, match="no metric is called 'goodput'\n  hint: did you mean 'goodput_bps'"):
        result.summary(["goodput"])


def test_a_result_in_memory_is_saved_reported_and_resumed(tmp_path: Path) -> None:
    base = question().base
    over = {"flow[0].rtt": ["20 ms", "40 ms"]}
    result = cwndlab.sweep(base, over=over, seeds=[1, 2])
    result.save(tmp_path / "out")
    again = Result.read(tmp_path / "out")
    assert again.runs.equals(result.runs)
    assert again.unfinished == ""
    again.report(tmp_path / "page.html")
    assert "rtt" in (tmp_path / "page.html").read_text()
    cwndlab.report(tmp_path / "out", tmp_path / "folder.html")
    assert f">cwndlab report {tmp_path / 'out'}<" in (tmp_path / "folder.html").read_text()
    larger = cwndlab.sweep(base, over=over, seeds=[1, 2, 3], out=tmp_path / "out")
    assert (larger.outcome.resumed, larger.outcome.ran) == (4, 2)


def test_custom_classes_are_swept_and_a_description_stands_alone() -> None:
    classes = load(ROOT / "examples" / "own_algorithm.py")
    result = cwndlab.sweep(question().base, algorithms=["reno", *classes.values()], seeds=[1])
    assert result.labels == ["reno", *classes]
    assert result.runs["goodput_bps"].null_count() == 0
    with pytest.raises(ScenarioError, match="a Sweep has its own fields"):
        cwndlab.sweep(question(), seeds=[1])


def test_points_of_another_study_than_the_header_are_reported(tmp_path: Path) -> None:
    """As after a kill between the two files."""
    out = tmp_path / "out"
    sweep(question(), out=out)
    manifest = (out / "manifest.json").read_bytes()
    sweep(question(seeds=[1], product={"flow[0].rtt": ["20 ms"]}), out=out)
    (out / "manifest.json").write_bytes(manifest)
    with pytest.raises(RecordsError, match=r"is incomplete: .*\n  hint: run the same command again"):
        Result.read(out)
    assert sweep(question(), out=out).outcome.ran == 0


def test_cells_with_the_same_scenario_share_a_run() -> None:
    result = sweep(question(product={"@label": ["one", "two"]}, seeds=[1]), workers=1)
    assert (result.outcome.total, result.outcome.ran) == (2, 2)
    one, two = result.runs.iter_rows(named=True)
    assert one["key"] == two["key"]


# What survives.


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
    sweep(question(), out=out)
    (part,) = out.rglob("part-*.parquet")
    part.write_bytes(part.read_bytes()[:-7])
    outcome = sweep(question(), out=out).outcome
    assert outcome.ran == 6
    assert len(Result.read(out).runs) == 6


def test_a_part_that_no_manifest_names_is_not_read(tmp_path: Path) -> None:
    """As after a kill between the two."""
    out = tmp_path / "out"
    sweep(question(), out=out)
    (part,) = out.rglob("part-*.parquet")
    part.with_name("part-000002.parquet").write_bytes(part.read_bytes()[:100])
    assert len(Result.read(out).runs) == 6
    assert sweep(question(seeds=[1, 2, 3, 4]), out=out).outcome.ran == 2


def test_runs_of_another_version_are_told_and_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        for module in (engine, spec, sweeps.run):
            patch.setattr(module, "engine_version", lambda: "0.0.9")
        assert sweep(question(), out=out).outcome.ran == 6
    result = sweep(question(), out=out)
    assert result.outcome.ran == 6
    assert result.notes == [f"{out}: 6 runs are of cwndlab 0.0.9 and are not used"]
    assert len(Result.read(out).runs) == 6


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    with pytest.raises(RecordsError, match="holds something else"):
        sweep(question(), out=tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "manifest.json").write_text("[1, 2")
    with pytest.raises(RecordsError, match="is not a manifest of a study"):
        sweep(question(), out=other)
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
    file.write_text(FILE.replace("SEEDS", "100000"))
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


def test_killed_at_random_moments_it_loses_no_run_and_repeats_none(file: Path) -> None:
    file.write_text(FILE.replace("SEEDS", "12"))
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
    assert values(Result.read(out).runs).equals(values(Result.read(file.parent / "whole").runs))


def test_ctrl_c_keeps_what_was_finished(file: Path) -> None:
    file.write_text(FILE.replace("SEEDS", "100000"))
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
    assert f"stopped; {rows} of 1200000 runs finished are kept in {out}; the same command resumes" in said
    assert "Traceback" not in said


# What people see.


def test_a_sweep_that_is_not_finished_says_so_until_it_is(file: Path, cli: Callable[..., Called]) -> None:
    file.write_text(file.read_text().replace("[sweep]", '[sweep]\ntitle = "Rates & RTTs"'))
    out = file.parent / "out"

    def stop(done: int, _: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    outcome = sweep(sweeps.read(file), out=out, workers=1, progress=stop).outcome
    assert outcome.stopped
    rows = len(Result.read(out).runs)
    missing = f"unfinished: {rows} of 24 runs exist"
    status, _, said = cli("sweep", file, "--out", out, "--show")
    assert (status, said.splitlines()[:2]) == (0, ["Rates & RTTs", f"{out}: {missing}"])
    assert all("(short-run)" in line for line in said.splitlines()[2:])
    status, _, said = cli("report", out)
    assert said.splitlines()[:2] == ["Rates & RTTs", f"{out}: {missing}"]
    page = (out / "report.html").read_text()
    assert "<title>Rates &amp; RTTs</title>" in page
    assert missing in page
    status, _, said = cli("sweep", file, "--out", out)
    assert said.splitlines()[0] == f"{out}: {rows} of 24 runs are already there and are not repeated"
    assert "unfinished" not in said
    _, _, said = cli("report", out)
    assert "unfinished" not in said + (out / "report.html").read_text()


def test_a_pivot_says_over_what_it_averages(file: Path, cli: Callable[..., Called]) -> None:
    out = file.parent / "out"
    cli("sweep", file, "--out", out)
    show = ("sweep", file, "--out", out, "--show", "--metrics", "jain", "--pivot")
    _, printed, said = cli(*show, "algorithm,rate", "--format", "json")
    means = "each value is a mean over 2 values of pair"
    assert means in said.splitlines()
    # The mean of the cells, by hand from the rows.
    by_cell = Result.read(out).runs.group_by("algorithm", "dumbbell.bottleneck.rate", "cell").agg(pl.col("jain").mean())
    five = by_cell.filter(algorithm="cubic").filter(pl.col("dumbbell.bottleneck.rate") == "5 Mbps")["jain"]
    assert len(five) == 2
    assert float(json.loads(printed)[0]["5 Mbps"]) == pytest.approx(float(five.sum()) / 2, abs=1e-4)
    file.write_text(FILE.replace("SEEDS", "2").split("[[sweep.zip]]")[0])
    out = file.parent / "plain"
    cli("sweep", file, "--out", out)
    _, _, said = cli("sweep", file, "--out", out, "--show", "--pivot", "algorithm,rate")
    assert "mean over" not in said


ZIPPED = """\
[sweep]
base = "single"
algorithms = ["cubic", "reno"]
seeds = 2
metrics = ["p95_queue_ms"]

[sweep.set]
duration = "1 s"

[[sweep.zip]]
NAMES"dumbbell.bottleneck.rate" = ["5 Mbps", "10 Mbps", "20 Mbps"]
"flow[0].rtt" = ["20 ms", "40 ms", "80 ms"]
"""


@pytest.mark.parametrize(
    ("names", "label", "places"),
    [
        ('"@site" = ["near", "mid", "far"]\n', "site", ["near", "mid", "far"]),
        # Two cells of one region: the label does not name a cell, so all fields do.
        (
            '"@region" = ["EU", "EU", "US"]\n',
            "region, rate, rtt",
            ["EU, 5 Mbps, 20 ms", "EU, 10 Mbps, 40 ms", "US, 20 Mbps, 80 ms"],
        ),
        ("", "rate, rtt", ["5 Mbps, 20 ms", "10 Mbps, 40 ms", "20 Mbps, 80 ms"]),
    ],
)
def test_fields_that_change_together_are_one_axis(
    tmp_path: Path, cli: Callable[..., Called], names: str, label: str, places: list[str]
) -> None:
    """Three cells per algorithm: every table, figure and mean has three values, none of which is missing."""
    file, out = tmp_path / "zip.toml", tmp_path / "out"
    file.write_text(ZIPPED.replace("NAMES", names))
    assert cli("sweep", file, "--out", out)[0] == 0
    result = Result.read(out)
    table = result.table()
    assert (table.header[:2], [line[1] for line in table.rows]) == (["algorithm", label], places * 2)
    assert table.header[2] == "queue, 95th percentile\nms"  # what was asked for comes first
    # A pivot may name any field of the axis; its values are those of single cells.
    for name in ("rate", "rtt", label):
        over = ("--pivot", f"algorithm,{name}")
        status, printed, said = cli("sweep", file, "--out", out, "--show", *over, "--format", "json")
        assert (status, "mean over" in said) == (0 if "," not in name else 2, False)
        if status == 0:
            first, second = json.loads(printed)
            assert [list(first)[1:], list(second)[1:]] == [places, places]
            assert None not in (*first.values(), *second.values())
            _, printed, _ = cli("sweep", file, "--out", out, "--show", *over)
            line = next(one for one in printed.splitlines() if one.startswith("cubic"))
            assert all(row[2] in line for row in table.rows[:3])  # with the intervals of the table
    status, _, said = cli("sweep", file, "--out", out, "--show", "--pivot", "rate,rtt")
    assert (status, said.splitlines()[0]) == (2, "--pivot: 'rate' and 'rtt' change together")
    # The page and the figures.
    page = Grid(result)
    assert page.names == [label, "algorithm"]
    assert len(page.cells) == 6
    for figure in (result.plot("goodput_bps"), result.plot("goodput_bps", x="flow[0].rtt")):
        assert [list(series.x) for series in figure.series] == [places, places]
        assert all(None not in series.y for series in figure.series)
    made = cwndlab.figures(out, tmp_path / "figures")
    assert {path.stem for path in made} >= {"heat-goodput_bps", "curves-goodput_bps", "curves-p95_queue_ms"}
    assert len(made) == 2 * len(set(result.judged()))


def test_means_of_a_sweep_have_the_metric_that_it_requests(tmp_path: Path) -> None:
    """A metric by name, and the column of a function."""
    given = question(metrics=["p95_queue_ms"], measure=lambda records: {"first": records.rows("flows")[0]["flow"]})
    result = sweep(given, out=tmp_path / "out")
    for one in (result, Result.read(tmp_path / "out")):
        assert {"goodput_bps", "p95_queue_ms", "first"} <= set(one.summary()["metric"])
        assert "p95_queue_ms" in cwndlab.study.tables.by_cell(one)[0]


def test_differences_are_within_the_axis_of_their_label(tmp_path: Path) -> None:
    """The second RTT minus the first, though the rate changes with it: by hand from the rows."""
    file = tmp_path / "zip.toml"
    file.write_text(ZIPPED.replace("NAMES", '"@region" = ["EU", "EU", "US"]\n'))
    result = sweep(sweeps.read(file))
    found = result.differences(["goodput_bps"], by="flow[0].rtt")
    pairs = [(algorithm, rtt) for algorithm in ("cubic", "reno") for rtt in ("40 ms", "80 ms")]
    assert found.select("algorithm", "flow[0].rtt").rows() == pairs
    means = result.runs.group_by("flow[0].rtt", "algorithm").agg(pl.col("goodput_bps").mean())
    near, far = (
        means.filter(pl.col("flow[0].rtt") == rtt, algorithm="cubic")["goodput_bps"][0] for rtt in ("20 ms", "40 ms")
    )
    assert found["difference"][0] == pytest.approx(far - near)
    with pytest.raises(ScenarioError, match="@region: has one value for several of @region"):
        result.differences(["goodput_bps"], by="@region")


QUEUES = [
    {"kind": "droptail", "capacity": "1 bdp"},
    {"kind": "droptail", "capacity": "4 bdp"},
    {"kind": "codel", "target": "5 ms"},
]


def test_tables_as_values_are_named_by_the_parts_that_differ() -> None:
    result = sweep(question(product={"dumbbell.bottleneck.queue": QUEUES}, seeds=[1]))
    words = ["droptail, capacity 1 bdp", "droptail, capacity 4 bdp", "codel, target 5 ms"]
    assert [line[0] for line in result.table(["utilisation"]).rows] == words
    # Programs get the value as TOML writes it.
    texts = [row["dumbbell.bottleneck.queue"] for row in cwndlab.study.tables.by_cell(result, ["utilisation"])]
    assert texts[2].replace(" ", "") == '{kind="codel",target="5ms"}'
    assert list(result.plot("utilisation").series[0].x) == words


def test_a_report_prints_the_cells_of_its_sweep_and_few_of_many(tmp_path: Path, cli: Callable[..., Called]) -> None:
    """The cells of `sweep --show`; of thirty the first twenty."""
    out = tmp_path / "out"
    over = {"flow[0].rtt": [f"{rtt} ms" for rtt in range(11, 41)]}
    base = question().base.with_(duration="100 ms")
    sweep(question(base=base, product=over, seeds=[1]), out=out)
    _, shown, _ = cli("sweep", "x.toml", "--show", "--out", out)
    status, printed, said = cli("report", out)
    lines = shown.splitlines()
    assert (status, len(lines)) == (0, 32)
    assert [line.split() for line in printed.splitlines()] == [line.split() for line in lines[:22]]
    assert "(short-run)" in said
    assert "10 cells more with --format csv" in said.splitlines()


def test_the_command_prints_cells_with_intervals(file: Path, cli: Callable[..., Called]) -> None:
    out = file.parent / "out"
    status, _, said = cli("sweep", file, "--out", out)
    found, rows = said.splitlines()
    assert (status, "(short-run)" in found, rows) == (0, True, f"rows: {out}")
    status, printed, _ = cli("sweep", file, "--out", out, "--show", "--metrics", "utilisation")
    lines = printed.splitlines()
    assert (lines[0].split(), lines[1].split()) == (["utilisation"], ["algorithm", "rate", "pair", "%"])
    assert len(lines) == 14
    status, printed, _ = cli("sweep", file, "--out", out, "--show", "--pivot", "algorithm,rate", "--metrics", "jain")
    assert [line.split()[0] for line in printed.splitlines()] == ["algorithm", "cubic", "reno"]
    status, printed, _ = cli("sweep", file, "--out", out, "--show", "--format", "json")
    assert {"cell", "algorithm", "runs", "goodput_bps", "goodput_bps_low"} <= json.loads(printed)[0].keys()
    status, _, said = cli("sweep", file, "--out", out, "--show", "--pivot", "algorithm,size")
    assert (status, "--pivot: nothing that varies is called 'size'" in said) == (2, True)


def test_a_dry_run_tells_runs_packets_and_time(file: Path, cli: Callable[..., Called]) -> None:
    out = file.parent / "out"
    status, printed, _ = cli("sweep", file, "--out", out, "--dry-run", "--format", "json", "--workers", "4")
    (told,) = json.loads(printed)
    assert status == 0
    assert (told["cells"], told["runs"], told["left"], told["workers"]) == (12, 24, 24, 4)
    assert not out.exists()
    cli("sweep", file, "--out", out)
    sent = Result.read(out).runs["packets"].sum()
    # Every cell is calibrated, and a run of half a second is its own calibration, with another seed.
    assert told["packets"] == pytest.approx(sent, rel=0.1)
    assert told["hours"] == pytest.approx(told["cpu_s"] / 4 / 3600)
    assert json.loads(cli("sweep", file, "--out", out, "--dry-run", "--format", "json")[1])[0]["left"] == 0


def test_costs_of_a_few_cells_tell_those_of_all() -> None:
    """On what 72 cells took on one machine: calibration runs of each cell, and the whole run."""
    with (ROOT / "tests" / "samples" / "sweep-costs.csv").open() as file:
        rows = list(csv.DictReader(file))
    sizes = [float(row["size"]) for row in rows]
    hashes = [hashlib.sha256(str(index).encode()).hexdigest() for index in range(len(rows))]

    def point(row: dict[str, str], which: str) -> Calibration:
        size, packets, cpu_ms = (float(row[f"{which}_{name}"]) for name in ("size", "packets", "cpu_ms"))
        return Calibration(size, packets, cpu_ms / 1e3)

    took = sum(float(row["packets"]) for row in rows), sum(float(row["cpu_ms"]) for row in rows) / 1e3
    for most, fewest, accuracy in ((24, 18, 0.2), (48, 24, 0.1), (72, 72, 0.05)):
        of = samples([row["algorithm"] for row in rows], sizes, hashes, most).tolist()
        assert fewest <= len(set(of)) <= most
        assert {rows[cell]["algorithm"] for cell in of} == {"cubic", "bbr1", "ledbat"}
        lines = {
            cell: Line.through(point(rows[cell], "half"), point(rows[cell], "whole"), sizes[cell]) for cell in set(of)
        }
        assert total(lines, of, sizes, [1] * len(rows)) == pytest.approx(took, rel=accuracy), most
        thrice = total(lines, of, sizes, [3] * len(rows))
        assert thrice == pytest.approx([3 * one for one in total(lines, of, sizes, [1] * len(rows))])


def test_a_line_through_two_runs_has_no_negative_part() -> None:
    # The shorter run took more, as on a machine with others: all is a run's, nothing a packet's.
    assert Line.through(Calibration(50, 20, 0.9), Calibration(100, 60, 0.7), 100) == (0.6, 0.7, 0.0)
    # It took nearly nothing: all is the packets', nothing a run's.
    assert Line.through(Calibration(50, 50, 0.0), Calibration(100, 60, 0.6), 100) == pytest.approx((0.6, 0.0, 0.01))
    # Nothing is sent.
    assert Line.through(Calibration(1, 0, 0.2), Calibration(2, 0, 0.2), 4) == (0.0, 0.2, 0.0)


def test_runs_that_are_left_are_counted_by_cell(tmp_path: Path) -> None:
    rate = "dumbbell.bottleneck.rate"
    sweep(question(product={rate: ["5 Mbps"]}, seeds=[1, 2]), out=tmp_path)
    cells, counts = left(question(product={rate: ["5 Mbps", "10 Mbps"]}, seeds=[1, 2, 3]), tmp_path)
    assert {cell.labels[rate]: count for cell, count in zip(cells, counts, strict=True)} == {"5 Mbps": 1, "10 Mbps": 3}
