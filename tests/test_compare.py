"""Comparisons; validation, end to end on short runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.files import own_name
from cwndlab.metrics import COLUMNS
from cwndlab.scenario.workloads import Cbr
from cwndlab.statistics import Estimate, difference
from cwndlab.statistics.digits import interval, mean_and_half
from cwndlab.study import tables
from cwndlab.study.compare import compare, with_algorithm
from cwndlab.study.header import Header
from cwndlab.study.result import Result
from cwndlab.study.spec import Measure, Point, Study
from cwndlab.study.store import Store
from cwndlab.validation.peers import shares, validate
from cwndlab.validation.references.reference import Reference, bundled
from hypothesis import given
from hypothesis import strategies as st


def scenario() -> cwndlab.Scenario:
    """Two flows on one path."""
    bottleneck = cwndlab.Link(rate="20 Mbps", delay="10 ms", queue=cwndlab.DropTail("0.5 bdp"))
    flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow("reno", rtt="60 ms", start="1 s")]
    return cwndlab.Scenario(duration="6 s", dumbbell=cwndlab.Dumbbell(bottleneck), flows=flows)


@pytest.fixture(scope="module")
def found() -> Result:
    return compare(scenario(), ["reno", "cubic+ccm-ss"], seeds=3)


def test_each_algorithm_meets_the_same_seeds(found: Result) -> None:
    assert [(row["algorithm"], row["seed"]) for row in found.rows] == [
        (name, seed) for seed in (1, 2, 3) for name in ("reno", "cubic+ccm-ss")
    ]
    again = compare(found.scenario, ["cubic+ccm-ss"], seeds=1, workers=1)
    first = next(row for row in found.rows if row["algorithm"] == "cubic+ccm-ss" and row["seed"] == 1)
    assert again.rows[0] == first


def test_repetitions_start_at_other_times() -> None:
    """By default within the base RTT where there are repetitions, else not at all; a jitter of its own stays."""
    bare = scenario()
    starts = {records.flows["start_ns"][0] for records in compare(bare, ["reno"], seeds=1).examples.values()}
    assert starts == {0}
    found = compare(bare, ["reno", "cubic"], seeds=2)
    assert found.scenario.start_jitter == "rtt"
    assert [records.flows["start_ns"][0] for records in found.examples.values()] == [
        pytest.approx(20e6, abs=20e6)
    ] * 2  # the same for both: a seed is a seed
    assert len({records.flows["start_ns"][0] for records in found.examples.values()}) == 1
    own = bare.with_(start_jitter="5 ms")
    assert compare(own, ["reno"], seeds=2).scenario.start_jitter == "5 ms"


def test_a_difference_is_paired_and_says_what_its_interval_says(found: Result) -> None:
    delta = found.difference("cubic+ccm-ss", "goodput_bps")
    assert delta is not None
    assert delta.paired.n == 3
    assert len(delta.deltas) == 3


def made(seeds: int = 3, **values: list[float | None]) -> Result:
    """A comparison with these Jain indices."""
    points = [Point(n, {"algorithm": name}, f"h{n}", "{}") for n, name in enumerate(values)]
    header = Header(
        scenario=scenario().document, seeds=range(1, seeds + 1), columns=["algorithm"], compared="algorithm", total=9
    )
    study = Study(points=points, seeds=header.seeds, measure=Measure(), header=header)
    with Store(None, write=True) as store:
        for point, series in zip(points, values.values(), strict=True):
            for seed, value in enumerate(series, start=1):
                row = {"scenario_hash": point.hash, "seed": seed, "engine": "e", "measure": "m", "jain": value}
                store.add({"key": f"{point.hash} {seed}", **row})
        store.describe(replace(header, engine="e", measure="m", complete=True).as_dict(), study.table())
        return Result.of(store)


def test_the_tables_say_what_the_rows_hold() -> None:
    """By hand: 0.1, 0.11 and 0.12 with t(2) = 4.303 and s = 0.01 are 0.11 ± 0.0248; of two values 0.6 and 0.8,
    t(1) = 12.7 is wide."""
    found = made(reno=[0.5, 0.6, 0.7], cubic=[0.6, 0.71, 0.82], bic=[None, 0.8, 0.6], ctcp=[None, None, None])
    table = found.table(["jain"])
    assert table.header == ["algorithm", "Jain index"]
    assert table.rows == [
        ["reno", "0.60 ± 0.25"],
        ["cubic", "0.71 ± 0.27"],
        ["bic", "0.7 ± 1.3 (2 of 3)"],
        ["ctcp", "–"],
    ]
    table = tables.differences(found, ["jain"])
    cells = [list(map(str, row)) for row in table.rows]
    assert table.header[0] == "minus reno"
    assert cells[0][:4] == ["cubic", "Jain index", "0.110", "0.085 … 0.135"]
    # t = 19.05 of the first; of 0.2 and −0.1 with t(1) = 0.33 it is 0.795; Holm of two leaves the larger one.
    assert cells[0][4] == "0.005"
    assert cells[0][-2:] == ["3", "higher, better"]
    assert cells[1][4] == "0.795"
    assert cells[1][-2:] == ["2", "inconclusive"]
    assert len(cells) == 2
    assert "the 2 comparisons evaluated here" in found.method()
    entry = next(row for row in found.entries() if row["algorithm"] == "bic" and row["metric"] == "jain")
    assert (entry["n"], entry["pairs"], entry["verdict"]) == (2, 2, "inconclusive")
    assert found.summary().filter(algorithm="cubic", metric="jain")["mean"][0] == pytest.approx(0.71)
    assert found.differences()["verdict"].to_list() == ["higher", "inconclusive"]
    assert found.differences()["wanted"].to_list() == [True, None]


def test_equal_differences_are_one_result_without_a_test() -> None:
    """Three pairs that are all 0.1 apart are one observation: no p-value, no interval, no verdict, no effect; and so
    are three equal values, in tables, in JSON and on the page. Of the pairs of bic only one differs."""
    found = made(reno=[0.5, 0.5, 0.5], cubic=[0.6, 0.6, 0.6], bic=[0.5, 0.5, 0.8])
    assert [cells[1] for cells in found.table(["jain"]).rows] == [
        "0.500 (one result)",
        "0.600 (one result)",
        "0.6 ± 0.4",
    ]
    first, second = (list(map(str, row)) for row in tables.differences(found, ["jain"]).rows)
    assert first == ["cubic", "Jain index", "0.100", "–", "–", "–", "–", "3", "not decided: one result"]
    assert second[-2:] == ["1 of 3 differ", "inconclusive"]
    entry = next(row for row in found.entries() if row["algorithm"] == "cubic" and row["metric"] == "jain")
    assert (entry["reason"], entry["verdict"], entry["differing"]) == (
        "3 runs, one result",
        "not decided: one result",
        3,
    )
    tests = ("p", "adjusted_p", "welch_p", "wilcoxon_p", "shapiro_p", "low", "difference_low", "bootstrap_low")
    assert all(entry[name] is None for name in (*tests, "effect", "effect_unpaired", "rank_biserial"))
    assert found.differences()["verdict"].to_list() == ["not decided: one result", "inconclusive"]
    assert found.differences()["p"].null_count() == 1
    assert found.summary(["jain"])["reason"].to_list() == ["3 runs, one result", "3 runs, one result", None]
    assert "the 2 comparisons" in found.method()  # the family is fixed beforehand


def test_runs_that_a_seed_only_shifts_in_time_are_one_result() -> None:
    """Five runs of one flow on a path without randomness resend the same packets; the seed moves their start by less
    than an RTT, and with it the loss ratio by a hundredth of a percent of it. That is one observation, not five."""
    alone = cwndlab.presets.load("single").with_(duration="6 s")
    found = compare(alone, ["cubic", "reno"], seeds=5)
    resent, ratio = (
        [found.estimate(name, metric) for name in ("cubic", "reno")]
        for metric in ("retransmitted_packets", "loss_ratio")
    )
    assert all(one.is_constant and one.mean >= 20 for one in resent)
    assert not all(one.is_constant for one in ratio)
    assert set(found.differences()["verdict"].to_list()) == {"not decided: one result"}
    assert found.differences()["p"].null_count() == len(found.differences())
    assert any("differ by a shift in time" in note for note in found.notes)


def test_differences_by_rounding_alone_are_one_result() -> None:
    """0.6 − 0.5 and 0.7 − 0.6 differ by 1.1e-16: without care the t-test is certain of that."""
    found = difference([0.5, 0.6, 0.7], [0.6, 0.7, 0.8])
    assert (found.p, found.paired.low, found.paired.reason) == (None, None, "3 runs, one result")
    same = difference([0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2])
    assert (same.deltas, same.differing) == ((0.0, 0.0), 0)


def test_one_repetition_claims_nothing() -> None:
    found = made(1, reno=[0.5], cubic=[0.9])
    assert found.table(["jain"]).rows == [["reno", "0.500"], ["cubic", "0.900"]]
    (row,) = tables.differences(found, ["jain"]).rows
    assert list(map(str, row[2:])) == ["0.400", "–", "–", "–", "–", "1", "not decided: one repetition"]


def test_some_flows_can_keep_their_algorithm() -> None:
    changed = with_algorithm(scenario(), "bic", ["flow1"])
    assert [flow["algorithm"] for flow in changed["flow"]] == ["reno", "bic"]
    mixed = compare(scenario(), ["bic", "cubic"], flows=["flow1"], seeds=1)
    assert [records.flows["algorithm"].to_list()[0] for records in mixed.examples.values()] == [
        "reno+standard/rack"
    ] * 2
    with pytest.raises(cwndlab.ScenarioError, match="flows: no flow is called 'flow7'\n  hint: there are flow0, flow1"):
        compare(scenario(), ["bic"], flows=["flow7"])


def test_the_measured_interval_can_be_named(found: Result) -> None:
    late = compare(found.scenario, ["reno"], seeds=1, start_s=3.0)
    assert late.rows[0]["goodput_bps"] != found.rows[0]["goodput_bps"]
    assert (late.to_dict()["start_s"], found.to_dict()["start_s"]) == (3.0, None)


def test_a_comparison_survives_its_folder(found: Result, tmp_path: Path) -> None:
    found.save(tmp_path / "out")
    again = Result.read(tmp_path / "out")
    assert (again.rows, again.notes, again.scenario) == (found.rows, found.notes, found.scenario)
    assert again.to_dict() == found.to_dict()
    assert {name: records.hash() for name, records in again.examples.items()} == {
        name: records.hash() for name, records in found.examples.items()
    }
    found.save(tmp_path / "out")
    assert json.loads(found.to_json()) == json.loads((tmp_path / "out" / "comparison.json").read_text())
    lines = (tmp_path / "out" / "summary.csv").read_text().splitlines()
    assert lines[0].startswith("algorithm,metric,mean,low,high,n,reason,difference,")
    assert len(lines) == 1 + 2 * len(COLUMNS)


def test_a_folder_keeps_every_run_and_none_is_repeated(tmp_path: Path) -> None:
    short = scenario().with_(duration="1 s")
    out = tmp_path / "out"
    first = compare(short, ["reno", "cubic+ccm-ss(mu=2)"], seeds=2, out=out)
    runs = sorted(str(place.parent.relative_to(out)) for place in out.rglob("flows.parquet"))
    assert runs == [f"{name}/seed-{seed}" for name in (own_name("cubic+ccm-ss(mu=2)"), "reno") for seed in (1, 2)]
    assert cwndlab.Records.read(out / "reno" / "seed-2").seed == 2
    again = compare(short, ["reno", "cubic+ccm-ss(mu=2)"], seeds=2, out=out)
    assert (again.outcome.resumed, again.outcome.ran, again.rows) == (4, 0, first.rows)
    # Another comparison uses the runs that it has in common with the first one.
    larger = compare(short, ["reno", "bic"], seeds=3, out=out)
    assert (larger.outcome.resumed, larger.outcome.ran) == (2, 4)
    assert Result.read(out).labels == ["reno", "bic"]
    with pytest.raises(cwndlab.RecordsError, match="holds a run\n  hint: choose an empty folder"):
        compare(short, ["reno"], out=out / "reno" / "seed-1")


def test_records_of_first_seeds_are_repeated_where_another_study_made_the_rows(tmp_path: Path) -> None:
    short = scenario().with_(duration="1 s")
    first = compare(short, "reno", seeds=2, out=tmp_path, records="first")
    assert [place.parent.name for place in tmp_path.rglob("flows.parquet")] == ["seed-1"]
    for place in (tmp_path / "reno" / "seed-1").iterdir():
        place.unlink()
    again = compare(short, "reno", seeds=2, out=tmp_path, records="first")
    assert again.examples["reno"].hash() == first.examples["reno"].hash()
    assert again.outcome.ran == 0


def test_a_comparison_on_an_object_store_keeps_rows_and_no_records() -> None:
    short = scenario().with_(duration="1 s")
    first = compare(short, "reno", seeds=2, out="memory://comparisons/one")
    again = compare(short, "reno", seeds=2, out="memory://comparisons/one")
    assert (again.outcome.ran, again.rows) == (0, first.rows)
    assert Result.read("memory://comparisons/one").rows == first.rows


def test_a_folder_of_an_older_version_is_refused(tmp_path: Path) -> None:
    """Before all studies had one store, comparisons had no manifest, and sweeps had schema 1."""
    short = scenario().with_(duration="1 s")
    (tmp_path / "comparison.json").write_text("{}")
    hint = "another version of cwndlab .*\n  hint: choose another folder, or delete this one"
    with pytest.raises(cwndlab.RecordsError, match=hint) as caught:
        compare(short, "reno", out=tmp_path)
    assert caught.value.exit_status == 2
    with pytest.raises(cwndlab.RecordsError, match=hint):
        Result.read(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema_version": 1, "parts": []}')
    with pytest.raises(cwndlab.RecordsError, match=hint):
        compare(short, "reno", out=tmp_path)


def test_repeated_until_the_interval_is_narrow(tmp_path: Path) -> None:
    """Goodput within 50 % is known after the first look; within a millionth of a percent never."""
    short = scenario().with_(duration="2 s", measure_from="500 ms")
    loose = compare(short, ["reno", "bic"], seeds=3, until="goodput_bps within 50 %", at_most=7)
    assert loose.seeds == [1, 2, 3]
    assert "until goodput_bps within 50 %, at most 7: stopped after 3 repetitions of each" in loose.notes
    told: list[tuple[int, int]] = []
    strict = compare(
        short,
        ["reno", "bic"],
        seeds=1,
        until="goodput_bps within 0.000001 %",
        at_most=8,
        out=tmp_path,
        progress=lambda done, total: told.append((done, total)),
    )
    # One, then five more, then what is left of eight: the same seeds for both.
    assert strict.seeds == list(range(1, 9))
    assert len(strict.rows) == 16
    assert told[-1] == (16, 16)
    assert [note for note in strict.notes if note.startswith("reno: goodput_bps is known within ")]
    assert Result.read(tmp_path).rows == strict.rows
    rule = "goodput_bps within 0.000001 %"
    again = compare(short, ["reno", "bic"], seeds=1, until=rule, at_most=8, out=tmp_path)
    assert (again.rows, again.outcome.ran, again.outcome.total) == (strict.rows, 0, 16)


def test_the_warm_up_is_cut_and_said(found: Result) -> None:
    named = compare(found.scenario, ["reno"], seeds=2, warm_up="3 s")
    assert [row["from_s"] for row in named.rows] == [3.0, 3.0]
    assert "warm-up: the time before 3 s is left out" in named.notes
    assert [row["goodput_bps"] for row in named.rows] == [
        row["goodput_bps"] for row in compare(found.scenario, ["reno"], seeds=2, start_s=3.0).rows
    ]
    cut = compare(found.scenario, ["reno"], seeds=2, warm_up="mser")
    assert [note for note in cut.notes if note.startswith("warm-up: each run is measured from the cut of MSER-5")]
    for row in cut.rows:
        records = cwndlab.run(with_algorithm(cut.scenario, "reno"), seed=row["seed"])
        measured = cwndlab.metrics.warm_up(records)
        assert row["from_s"] == (records.runs["measure_from_ns"][0] / 1e9 if measured is None else measured)


def test_what_is_judged_can_be_named() -> None:
    found = compare(scenario(), ["reno", "bic"], seeds=3, metrics=["p95_queue_ms", "power"])
    assert {row[1] for row in tables.differences(found).rows} == {"queue, 95th percentile, ms", "power"}
    assert found.table().header == ["algorithm", "queue, 95th percentile\nms", "power"]
    told = {row["metric"]: row for row in found.entries() if row["algorithm"] == "bic"}
    assert told["power"]["comparisons"] == 2
    assert told["power"]["adjusted_p"] >= told["power"]["p"]
    assert told["goodput_bps"]["verdict"] is None
    assert told["goodput_bps"]["p"] is not None


def test_faults_of_the_statistics_are_named(found: Result) -> None:
    with pytest.raises(cwndlab.ScenarioError) as caught:
        compare(found.scenario, ["reno"], warm_up="soon", metrics=["speed"])
    assert str(caught.value) == (
        "warm_up: 'soon' is not a warm-up\n  hint: write mser, or '5 s'\n"
        "metrics: no metric is called 'speed'\n  hint: `cwndlab list --metrics` lists them"
    )
    with pytest.raises(cwndlab.ScenarioError, match="warm_up: a start is given as well"):
        compare(found.scenario, ["reno"], warm_up="mser", start_s=1.0)


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    short = scenario().with_(duration="1 s")
    found = compare(short, ["reno", "cubic"], seeds=3, workers=1, progress=stop, out=tmp_path)
    assert len(found.rows) == 3
    assert found.notes[0] == "stopped: 3 of 6 runs finished"
    assert len(Result.read(tmp_path).rows) == 3
    complete = compare(short, ["reno", "cubic"], seeds=3, out=tmp_path)
    assert complete.outcome.resumed == 3
    assert len(Result.read(tmp_path).rows) == 6


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema_version": 2, "parts": 3}'])
def test_a_manifest_that_is_none_is_reported(found: Result, tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(cwndlab.RecordsError, match=r"manifest\.json: is not a manifest of a study"):
        Result.read(tmp_path)
    with pytest.raises(cwndlab.RecordsError, match=r"manifest\.json: is not a manifest of a study"):
        found.save(tmp_path)
    with pytest.raises(cwndlab.RecordsError, match="does not hold a sweep or a comparison"):
        Result.read(tmp_path / "none")


def test_a_folder_that_cannot_be_written_is_reported(found: Result, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(cwndlab.Error, match=r"file/out: cannot be (opened|written): Not a directory"):
        found.save(tmp_path / "file" / "out")


def test_names_of_folders_show_what_they_are_of() -> None:
    assert own_name("cubic+ccm-ss(mu=1.5)/sack").startswith("cubic+ccm-ss_mu=1.5_sack-")


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (237.18, 1.08, "237.2 ± 1.1"),
        (237.18, 3.5, "237.2 ± 3.5"),
        (237.18, 3.6, "237 ± 4"),
        (886.3, 40.0, "890 ± 40"),
        (146.7, 0.00479, "146.7 ± 0.1"),  # not narrower than its digits
        (100.0, 4e-5, "100.0 ± 0.1"),
        (1776.0, 0.04, "1776 ± 1"),
        (0.0, 0.0, "0"),
        (-1.78, 10.2, "-2 ± 10"),
        (12.0, None, "12.0"),
    ],
)
def test_a_mean_is_as_long_as_its_interval_tells(mean: float, half: float | None, text: str) -> None:
    assert mean_and_half(mean, half) == text


def test_an_end_that_is_not_zero_is_not_written_as_zero() -> None:
    assert interval(Estimate(4.0, -0.49, 8.49, 4)) == ("4", "-0.5", "8")
    assert interval(Estimate(400.0, -39_600.0, 40_400.0, 2)) == ("400", "-40000", "40000")
    assert interval(Estimate(4.0, None, None, 1)) == ("4", "", "")


def test_an_interval_is_never_written_narrower_than_its_digits() -> None:
    """By hand: six digits of 99.99996 ± 0.00002 are 100.000 at both ends; outwards 99.999 and 100.000."""
    assert interval(Estimate(99.99996, 99.99994, 99.99998, 5)) == ("100.000", "99.999", "100.000")
    assert interval(Estimate(0.1234567, 0.1234566, 0.1234568, 5)) == ("0.12346", "0.12345", "0.12346")
    assert mean_and_half(99.99996, 0.00004) == "100.0 ± 0.1"


@given(st.floats(-1e12, 1e12), st.floats(1e-300, 1e12))
def test_any_number_can_be_written(mean: float, half: float) -> None:
    assert "nan" not in mean_and_half(mean, half)
    first, second = mean_and_half(mean, half).split(" ± ")
    assert float(second) > 0
    if half > abs(mean) / 1000 and half > 1e-9:
        assert float(second) == pytest.approx(half, rel=0.15)
        assert float(first) == pytest.approx(mean, abs=0.15 * half + 1e-9)


def test_every_fault_of_a_question_is_named_before_anything_runs(found: Result) -> None:
    with pytest.raises(cwndlab.ScenarioError) as caught:
        compare(found.scenario, ["renoo", "cubicc"], seeds=0)
    assert str(caught.value).count("no algorithm is called") == 2
    assert "seeds: there is no seed, so nothing runs" in str(caught.value)
    with pytest.raises(cwndlab.ScenarioError, match="there is no algorithm to compare"):
        compare(found.scenario, [])


def test_the_simulator_holds_against_both_references() -> None:
    """The rows of the bundled references for a few senders; docs/validity.md has all."""
    rows, notes = validate(algorithms=["reno", "newreno_ns", "sack1_ns", "fack_ns"])
    assert [note.split(" is left out")[0] for note in notes] == ["ns2: newreno_ns in unequal_tied"]
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


def test_flows_are_named_or_counted_and_the_others_get_the_rival() -> None:
    """By the scenario: flow 0 is `flow0`; `against` alone leaves the first flow over TCP to the compared algorithms."""
    short = scenario().with_(duration="2 s")
    for options in ({"flows": ["flow1"]}, {"flows": 1}, {"flows": "1"}, {"flows": "flow1"}):
        one = compare(short, "bic", seeds=1, **options)
        assert one.flows == ["flow1"]
        assert [row["algorithm"] for row in one.examples["bic"].rows("flows")] == [
            "reno+standard/rack",
            "bic+standard/rack",
        ]
    found = compare(short, ["cubic", "vegas"], against="bic", seeds=1)
    assert (found.flows, found.against) == (["flow0"], "bic")
    assert "compared in flow0; the other flows over TCP use bic" in found.notes
    assert [row["algorithm"].partition("+")[0] for row in found.examples["vegas"].rows("flows")] == ["vegas", "bic"]


def test_coexistence_has_goodput_and_share_of_each_side(tmp_path: Path) -> None:
    short = scenario().with_(duration="3 s")
    found = compare(short, ["cubic", "vegas"], against="reno", seeds=2, out=tmp_path)
    beside = ["goodput_bps@flow0", "goodput_bps@flow1", "share@flow0", "share@flow1"]
    assert found.of_flows == beside
    assert found.shown[:4] == list(beside)
    assert set(beside) <= set(found.judged())
    for row in found.rows:
        assert row["share@flow0"] + row["share@flow1"] == pytest.approx(1.0)
    first = found.examples["vegas"]
    table = {flow["name"]: flow for flow in cwndlab.metrics.per_flow(first).rows(named=True)}
    row = next(row for row in found.rows if (row["algorithm"], row["seed"]) == ("vegas", 1))
    assert row["goodput_bps@flow0"] == table["flow0"]["goodput_bps"]
    again = Result.read(tmp_path)
    assert (again.rows, again.against, again.shown) == (found.rows, "reno", found.shown)
    header = again.table().header
    assert header[1:3] == ["goodput of flow0\nMbit/s", "goodput of flow1\nMbit/s"]
    # With another algorithm in the other flows it is another comparison.
    with pytest.raises(cwndlab.ScenarioError, match="holds another comparison"):
        compare(short, ["cubic", "vegas"], against="bic", seeds=2, out=tmp_path)


def test_faults_of_coexistence_are_named() -> None:
    mixed = cwndlab.Scenario(
        duration="1 s",
        dumbbell=scenario().dumbbell,
        flows=[
            cwndlab.Flow("reno", rtt="40 ms", name="tcp"),
            cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="1 Mbit/s"), name="call"),
        ],
    )
    for options, message in (
        ({"flows": ["tcp", "x", "7"]}, "flows: no flow is called 'x'\n  hint: there are tcp, call"),
        ({"flows": "call"}, "flows: 'call' uses UDP, without an algorithm"),
        ({"flows": "tcp", "against": "reno"}, "against: no flow over TCP is left to use it"),
        ({"metrics": ["jitter_ms@phone"]}, "metrics: 'jitter_ms@phone': no flow is called 'phone'"),
        ({"metrics": ["jain@tcp"]}, "metrics: no metric is called 'jain@tcp'"),
    ):
        with pytest.raises(cwndlab.ScenarioError) as caught:
            compare(mixed, "reno", seeds=1, **options)
        assert message in str(caught.value)
    found = compare(mixed, ["reno", "cubic"], seeds=2, metrics=["jitter_ms@call", "one_way_delay_ms", "share@0"])
    assert all(row["jitter_ms@call"] is not None and row["one_way_delay_ms"] > 20 for row in found.rows)
    assert [title.partition("\n")[0] for title in found.table().header[1:]] == [
        "jitter of call",
        "one-way delay of UDP",
        "share of flow 0",
    ]


def test_flows_that_share_no_queue_have_no_jain_index() -> None:
    apart = scenario().with_({"flow[1].direction": "reverse"}, duration="2 s")
    found = compare(apart, ["reno", "cubic"], seeds=2)
    assert found.table(["jain"]).rows[0][1] == "–"
    assert (
        "no two of 2 flows share a bottleneck in one direction: there is no Jain index; goodput is of all flows "
        in (" ".join(found.notes))
    )
    assert all(row["utilisation"] <= 1 for row in found.rows)
    together = compare(scenario().with_(duration="2 s"), "reno", seeds=1)
    assert together.rows[0]["jain"] is not None
    assert not [note for note in together.notes if "share" in note]


def test_seeds_that_change_nothing_are_noted() -> None:
    still = scenario().with_(duration="1 s", start_jitter="0 s")
    found = compare(still, ["reno", "cubic"], seeds=3)
    (remark,) = [row for row in found.remarks if row["code"] == "no-random-element"]
    assert remark["text"].startswith("reno, cubic: the scenario has no random element")
    moving = compare(scenario().with_(duration="1 s"), ["reno"], seeds=3)
    assert not [row for row in moving.remarks if row["code"] == "no-random-element"]


def test_one_algorithm_may_be_a_text_or_a_class(found: Result) -> None:
    one = compare(scenario().with_(duration="1 s"), "reno", seeds=1)
    assert one.labels == ["reno"]


def test_reprs_are_short(found: Result) -> None:
    assert repr(found) == "<Result: 2 cells reno, cubic+ccm-ss, 6 of 6 runs>"
    assert "<table" in found._repr_html_()
    assert len(repr(cwndlab.presets.load("s3"))) < 200
    assert all(len(repr(entry)) < 250 for entry in cwndlab.algorithms())
    assert repr(cwndlab.check("reno", quick=True)).endswith("rules, broken: none>")


def test_two_axes_that_set_a_field_are_an_error() -> None:
    """The algorithms of the comparison would silently take the place of those of an alternative."""
    remedies = {"none": {}, "other": {"flow[*].algorithm": "bbr3"}}
    with pytest.raises(ScenarioError, match=r"flow\[0\]\.algorithm: 'remedy' and 'algorithm' both set it"):
        cwndlab.compare("single", ["cubic"], alternatives={"remedy": remedies}, seeds=2)


def test_alternatives_whose_names_look_alike_have_folders_of_their_own(tmp_path: Path) -> None:
    """`< 1 BDP` and `1 BDP` have the same letters: before, the second run was refused as another one."""
    capacity = "dumbbell.bottleneck.queue.capacity"
    buffers = {"< 1 BDP": {capacity: "10 packets"}, "1 BDP": {capacity: "100 packets"}, "慢": {capacity: "30 packets"}}
    scenario = cwndlab.presets.load("single").with_(duration="2 s")
    cwndlab.compare(scenario, alternatives={"buffer": buffers}, seeds=1, out=tmp_path / "out")
    kept = Result.read(tmp_path / "out")
    found = {name: one.links["capacity_packets"].drop_nulls().max() for name, one in kept.examples.items()}
    assert found == {"< 1 BDP": 10, "1 BDP": 100, "慢": 30}


def test_a_rule_starts_with_the_seeds_that_are_given_and_counts_no_others(tmp_path: Path) -> None:
    """The seeds of a study in the same folder are rows, and no repetitions of the one that the rule stopped."""
    scenario = cwndlab.presets.load("single").with_(duration="1 s")
    rule = "goodput_bps within 80 %"
    some = cwndlab.compare(scenario, ["reno"], seeds=[5, 7, 100], until=rule, at_most=3)
    assert some.seeds == [5, 7, 100]
    cwndlab.compare(scenario, ["reno"], seeds=6, out=tmp_path / "out")
    both = cwndlab.compare(scenario, ["reno", "cubic"], seeds=2, until=rule, at_most=8, out=tmp_path / "out")
    counts = dict(both.runs.group_by("algorithm").len().iter_rows())
    assert counts["reno"] == counts["cubic"] == len(both.seeds)
    kept = Result.read(tmp_path / "out")
    assert dict(kept.runs.group_by("algorithm").len().iter_rows()) == counts


def test_a_result_is_read_while_records_are_being_written(tmp_path: Path) -> None:
    """The folder of a run exists before its tables do, also where a process was killed then."""
    scenario = cwndlab.presets.load("single").with_(duration="1 s")
    cwndlab.compare(scenario, ["reno", "cubic"], seeds=1, out=tmp_path)
    for file in (tmp_path / "reno").rglob("*.parquet"):
        if file.name != "flows.parquet":
            file.unlink()
    found = Result.read(tmp_path)
    assert (len(found.runs), list(found.examples)) == (2, ["cubic"])
    # A second call completes it.
    assert list(cwndlab.compare(scenario, ["reno", "cubic"], seeds=1, out=tmp_path).examples) == ["reno", "cubic"]
    assert list(Result.read(tmp_path).examples) == ["reno", "cubic"]


def test_a_cell_whose_station_sends_nothing_has_no_sentence_on_the_radio() -> None:
    ended = {"duration": "2 s", "measure_from": "1500 ms", "flow[*].stop": "200 ms"}
    scenario = cwndlab.presets.load("hidden").with_(ended)
    result = cwndlab.compare(scenario, ["reno"], seeds=1)
    assert tables.radio_or_control(result) == []
