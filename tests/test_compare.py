"""Comparisons, reports, figures, validation and reproduction, end to end on short runs."""

from __future__ import annotations

import json
from pathlib import Path

import cwndlab
import pytest
from cwndlab.compare import Comparison, compare, number, slug
from cwndlab.report import figures, report
from cwndlab.reproduce import listing
from cwndlab.reproduce.ccm_ss import FIGURES, FULL, QUICK, Size, fig12b, pairs
from cwndlab.validate import Reference, bundled, shares, validate


@pytest.fixture(scope="module")
def found() -> Comparison:
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="10 ms", queue=cwndlab.DropTail("0.5 bdp"))
    flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow("reno", rtt="60 ms", start="1 s")]
    scenario = cwndlab.Scenario(duration="6 s", dumbbell=cwndlab.Dumbbell(bottleneck), flows=flows)
    return compare(scenario, ["reno", "cubic+ccm-ss"], repetitions=3)


def test_each_algorithm_meets_the_same_seeds(found: Comparison) -> None:
    assert [(row["algorithm"], row["seed"]) for row in found.rows] == [
        (name, seed) for seed in (1, 2, 3) for name in ("reno", "cubic+ccm-ss")
    ]
    again = compare(found.scenario, ["cubic+ccm-ss"], repetitions=1, workers=1)
    first = next(row for row in found.rows if row["algorithm"] == "cubic+ccm-ss" and row["seed"] == 1)
    assert again.rows[0] == first


def test_a_difference_is_paired_and_says_what_its_interval_says(found: Comparison) -> None:
    delta = found.difference("cubic+ccm-ss", "goodput_bps")
    assert delta is not None
    assert delta.paired.n == 3
    assert delta.verdict in ("higher", "lower", "no difference")


def test_a_comparison_survives_its_folder(found: Comparison, tmp_path: Path) -> None:
    found.write(tmp_path / "out")
    again = Comparison.read(tmp_path / "out")
    assert again.rows == found.rows
    assert set(again.examples) == {"reno", "cubic+ccm-ss"}
    (tmp_path / "out" / "comparison.json").write_text("{")
    with pytest.raises(cwndlab.ScenarioError, match="holds no whole comparison"):
        Comparison.read(tmp_path / "out")


def test_the_page_stands_alone_and_names_everything(found: Comparison, tmp_path: Path) -> None:
    report(found, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    for word in (
        "cubic+ccm-ss",
        "95 %",
        "cwnd, segments",
        "bottleneck queue, packets",
        "[dumbbell.bottleneck]",
        "seeds 1–3",
    ):
        assert word in text, word
    assert text.count('class="plotly-graph-div"') >= 5 + 7
    assert 'src="http' not in text
    assert len(text) < 8e6


def test_figures_are_files(found: Comparison, tmp_path: Path) -> None:
    for ending in ("png", "svg"):
        made = figures(found, tmp_path, format=ending)
        assert all(path.stat().st_size > 3000 for path in made)
        assert {path.stem for path in made} >= {"cwnd", "goodput", "rtt", "queue", "loss", "goodput_bps"}


def test_a_run_has_a_page_too(found: Comparison, tmp_path: Path) -> None:
    found.examples["reno"].write(tmp_path / "run")
    report(tmp_path / "run", tmp_path / "run.html")
    assert "goodput, Mbit/s" in (tmp_path / "run.html").read_text()


def test_numbers_read_naturally() -> None:
    assert [number(value) for value in (0.0, 0.12345, 12.345, 123.45, 12345.6)] == [
        "0",
        "0.123",
        "12.35",
        "123.5",
        "12346",
    ]
    assert slug("cubic+ccm-ss(mu=1.5)/sack") == "cubic+ccm-ss_mu=1.5_sack"


def test_an_unknown_algorithm_is_named_before_anything_runs(found: Comparison) -> None:
    with pytest.raises(cwndlab.ScenarioError, match="no algorithm is called 'renoo'"):
        compare(found.scenario, ["renoo"])


def test_the_simulator_holds_against_both_references() -> None:
    """The rows of the bundled references for a few senders; docs/validity.md has all."""
    rows, notes = validate(algorithms=["reno", "newreno_ns", "sack1_ns", "fack_ns"])
    assert notes == []
    for share in shares(rows):
        assert share["share"] >= 0.9, share
    assert {row.scenario.split("/")[0] for row in rows} == {"ns2", "linux"}


def test_a_reference_that_is_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(cwndlab.RecordsError, match="cannot be read: No such file"):
        Reference(tmp_path)
    (tmp_path / "reference.json").write_text("{}")
    (tmp_path / "scenarios.json").write_text("{}")
    with pytest.raises(cwndlab.RecordsError, match="has no 'senders'"):
        Reference(tmp_path)


def test_validation_can_fail(tmp_path: Path) -> None:
    """Run with a third of the buffer, the reference's own figures are not met: the check is able to fail."""
    source = bundled()[0]
    for file in source.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    scenario = json.loads((tmp_path / "scenarios.json").read_text())["a"] | {"buffer_packets": 11}
    (tmp_path / "scenarios.json").write_text(json.dumps({"a": scenario}))
    rows, _ = validate([tmp_path], algorithms=["reno"])
    failed = {row.quantity for row in rows if not row.holds}
    assert failed >= {"mean_cwnd_segments", "mean_queue_packets", "congestion_events"}


def test_every_figure_of_the_paper_is_listed() -> None:
    assert [row["id"] for row in listing()] == [f"ccm-ss/{name}" for name in FIGURES]


def test_the_grid_is_the_papers() -> None:
    assert pairs("long", "different", FULL) == [(100, rtt) for rtt in range(50, 191, 20)]
    assert pairs("short", "similar", FULL) == [(16, rtt) for rtt in range(2, 17, 2)]
    assert len(pairs("long", "different", QUICK)) == 2
    assert (FULL.duration_s, FULL.repetitions, len(FULL.buffers), len(FULL.bandwidths)) == (600.0, 3, 10, 5)


def test_a_figure_gives_a_verdict_for_each_baseline_and_counts_where_mu_matters() -> None:
    tiny = Size(6.0, 3.0, 2, (50,), (0.5,), 1)
    findings = list(fig12b(tiny, seed=1, workers=None, progress=None))
    assert [finding.quantity.split(":")[0] for finding in findings] == [
        "paper",
        "paper",
        "today",
        "today",
        "mu alone",
        "mu alone",
    ]
    assert all(finding.reason for finding in findings)
    counts = [finding for finding in findings if "where mu can matter" in finding.quantity]
    assert all(" exits of " in finding.reason for finding in counts)
