"""Results of sweeps: rows, metrics, differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import cwndlab
import polars as pl
import pytest
from cwndlab.custom import load
from cwndlab.errors import ScenarioError
from cwndlab.metrics.summary import NAMES
from cwndlab.reports.sweep import Grid
from cwndlab.scenario.workloads import Cbr
from cwndlab.study.result import Result
from cwndlab.study.sweeps import Sweep, sweep
from small_sweeps import small_sweep, without_machine

Called = tuple[int, str, str]
ROOT = Path(__file__).parents[1]


def test_rows_are_those_of_single_runs_and_scenarios_can_be_run_again(tmp_path: Path) -> None:
    result = sweep(small_sweep(metrics=["p95_queue_ms"]), out=tmp_path / "out", workers=2)
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
    result = sweep(small_sweep(base=base, metrics=names, seeds=[1, 2]), out=tmp_path / "out", workers=2)
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
        small_sweep(base=base, metrics=["share@phone"])


def test_the_number_of_workers_changes_no_row(tmp_path: Path) -> None:
    for workers in (1, 3):
        sweep(small_sweep(), out=tmp_path / str(workers), workers=workers)
    assert without_machine(Result.read(tmp_path / "1").runs).equals(without_machine(Result.read(tmp_path / "3").runs))


def test_rows_land_wherever_fsspec_leads() -> None:
    outcome = sweep(small_sweep(), out="memory://sweeps/one").outcome
    assert outcome.ran == 6
    assert len(Result.read("memory://sweeps/one").runs) == 6
    assert sweep(small_sweep(), out="memory://sweeps/one").outcome.ran == 0


def test_a_folder_may_have_colons_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what has `://` is a URL; fsspec takes `::` for a chain of them."""
    monkeypatch.chdir(tmp_path)
    assert sweep(small_sweep(), out="o::1").outcome.ran == 6
    assert [path.name for path in tmp_path.iterdir()] == ["o::1"]
    assert len(Result.read("o::1").runs) == 6


def test_more_columns_by_a_function(tmp_path: Path) -> None:
    def measure(records: cwndlab.Records) -> dict[str, float]:
        return {"flows": float(len(records.flows))}

    sweep(small_sweep(measure=measure), out=tmp_path / "out")
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
    base = small_sweep().base
    over = {"flow[0].rtt": ["20 ms", "40 ms"]}
    result = cwndlab.sweep(base, over=over, algorithms=["reno", "cubic"], seeds=range(1, 4))
    described = sweep(small_sweep(algorithms=["reno", "cubic"]))
    assert without_machine(result.runs).equals(without_machine(described.runs))
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
    base = small_sweep().base
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
    result = cwndlab.sweep(small_sweep().base, algorithms=["reno", *classes.values()], seeds=[1])
    assert result.labels == ["reno", *classes]
    assert result.runs["goodput_bps"].null_count() == 0
    for given in ({"seeds": [1]}, {"start_s": 0.1}, {"end_s": 0.2}, {"at_most": 7}):
        with pytest.raises(ScenarioError, match="a Sweep has its own fields"):
            cwndlab.sweep(small_sweep(), **given)


def test_cells_with_the_same_scenario_share_a_run() -> None:
    result = sweep(small_sweep(product={"@label": ["one", "two"]}, seeds=[1]), workers=1)
    assert (result.outcome.total, result.outcome.ran) == (2, 2)
    one, two = result.runs.iter_rows(named=True)
    assert one["key"] == two["key"]
