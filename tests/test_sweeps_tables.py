"""Tables, figures and pages of sweeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cwndlab
import polars as pl
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.reports.sweep import Grid
from cwndlab.study import sweeps
from cwndlab.study.result import Result
from cwndlab.study.sweeps import sweep
from small_sweeps import described, small_sweep

Called = tuple[int, str, str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(described())
    return path


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
    assert float(json.loads(printed)[0]["5 Mbps"]) == pytest.approx(float(five.sum()) / 2, rel=1e-15)
    file.write_text(described().split("[[sweep.zip]]")[0])
    out = file.parent / "plain"
    cli("sweep", file, "--out", out)
    _, _, said = cli("sweep", file, "--out", out, "--show", "--pivot", "algorithm,rate")
    assert "mean over" not in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ("--metrics", "nosuch"),
            "--metrics: no metric is called 'nosuch'\n  hint: `cwndlab list --metrics` lists them\n",
        ),
        (
            ("--metrics", "jain,p95_queue_ms"),
            "--metrics: the runs have no 'p95_queue_ms'\n  hint: request it: metrics = [\"p95_queue_ms\"]\n",
        ),
        (("--pivot", "rate"), "--pivot: 'rate' does not name two fields\n  hint: write --pivot rate,rtt\n"),
        (("--pivot", "pair,rate2"), "--pivot: nothing that varies is called 'rate2'\n  hint: there are algorithm"),
        (("--pivot", "pair,flow[0].rtt"), "--pivot: 'pair' and 'flow[0].rtt' change together\n"),
    ],
)
def test_a_table_that_cannot_be_shown_is_told_before_the_runs(
    file: Path, cli: Callable[..., Called], asked: tuple[str, ...], said: str
) -> None:
    status, printed, told = cli("sweep", file, "--out", file.parent / "none", *asked)
    assert (status, printed, told[: len(said)]) == (2, "", said)
    assert not (file.parent / "none").exists()


def test_a_metric_that_no_run_has_is_requested(tmp_path: Path) -> None:
    result = sweep(small_sweep(), out=tmp_path / "out")
    with pytest.raises(ScenarioError, match="metrics: the runs have no 'p95_queue_ms'"):
        result.summary("p95_queue_ms")
    with pytest.raises(ScenarioError, match="metrics: the runs have no 'p95_queue_ms'"):
        result.table("p95_queue_ms")


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
    given = small_sweep(metrics=["p95_queue_ms"], measure=lambda records: {"first": records.rows("flows")[0]["flow"]})
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
    result = sweep(small_sweep(product={"dumbbell.bottleneck.queue": QUEUES}, seeds=[1]))
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
    base = small_sweep().base.with_(duration="100 ms")
    sweep(small_sweep(base=base, product=over, seeds=[1]), out=out)
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
