"""Findings: what runs and studies report about themselves, in Python, on the command line and on pages."""

import json
import subprocess
import sys
from pathlib import Path

import cwndlab
import pytest
from cwndlab.study import tables
from cwndlab.study.findings import SEVERITIES, codes, counts, finding, lines, merged


def scenario(second_start: str = "1 s", duration: str = "12 s") -> cwndlab.Scenario:
    """Two flows on 10 Mbit/s; ten RTTs are 0.4 s."""
    return cwndlab.Scenario(
        duration=duration,
        dumbbell=cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms")),
        flows=[cwndlab.Flow("cubic", rtt="40 ms"), cwndlab.Flow("reno", rtt="40 ms", start=second_start)],
    )


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cwndlab", *arguments], capture_output=True, text=True, timeout=240, check=False
    )


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario with a severe finding: its path loses every packet, also those of the handshake."""
    dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms", loss=cwndlab.Bernoulli(1.0)))
    dead = cwndlab.Scenario(duration="12 s", dumbbell=dumbbell, flows=[cwndlab.Flow("cubic", rtt="40 ms")])
    file = tmp_path_factory.mktemp("scenario") / "dead.toml"
    file.write_text(dead.to_toml(), encoding="utf-8")
    return file


def test_every_code_has_a_severity_and_a_condition() -> None:
    assert len(codes()) >= 20
    for code, row in codes().items():
        assert row["severity"] in SEVERITIES
        assert row["condition"].endswith("."), code


def test_a_clean_run_has_an_empty_frame_of_findings() -> None:
    records = cwndlab.run(scenario(), seed=1)
    assert records.findings.height == 0
    assert records.findings.columns == ["code", "severity", "flow", "link", "time_ns", "text"]


def test_findings_are_a_frame_and_do_not_change_the_hash(tmp_path: Path) -> None:
    records = cwndlab.run(scenario("12 s"), seed=1)
    assert records.findings.select("code", "severity", "flow", "time_ns").rows() == [
        ("never-starts", "warning", 1, 12_000_000_000)
    ]
    records.save(tmp_path / "run")
    again = cwndlab.Records.read(tmp_path / "run")
    assert again.findings.equals(records.findings)
    (tmp_path / "run" / "SHA256SUMS").read_text(encoding="utf-8").index("findings.parquet")
    assert again.hash() == records.hash()


def test_notes_of_a_scenario_are_findings() -> None:
    small = scenario().with_({"dumbbell.bottleneck.queue.capacity": "0.01 bdp"})
    records = cwndlab.run(small, seed=1)
    derived = [row for row in records.rows("findings") if row["code"] == "derived"]
    assert [row["text"] for row in derived] == records.notes != []
    assert {row["severity"] for row in derived} == {"note"}


def test_the_worst_findings_are_shown_first_and_equal_ones_together() -> None:
    rows = [finding("derived", "a"), *(finding("never-starts", f"flow-{n}") for n in range(5)), finding("hang", "h")]
    assert [row["text"] for row in merged(rows)] == ["h", "flow-0", "flow-1", "flow-2", "and 2 more of this kind", "a"]
    assert lines(rows)[0] == "severe: h (hang)"
    assert counts(rows) == {"severe": 1, "warning": 5, "note": 1}


def test_a_comparison_in_which_a_flow_never_ran_says_so_and_judges_nothing() -> None:
    result = cwndlab.compare(scenario("5 s", "5 s"), ["cubic", "reno"], seeds=3)
    assert result.comparisons() == {}
    assert len(result.differences()) == 0
    assert [row["code"] for row in result.remarks] == ["flow-never-ran"]
    assert result.remarks[0]["text"] == "a flow never starts, so there are no verdicts"
    assert tables.differences(result).rows == []
    assert all(row["verdict"] is None for row in result.entries())
    assert result.method() == "Differences are not evaluated, because a flow never ran."
    found = result.findings()
    assert found.filter(found["code"] == "never-starts")["runs"].to_list() == [3, 3]


def test_findings_that_differ_by_numbers_alone_are_one_with_its_runs() -> None:
    """The second flow starts at 5 s and a random part of its RTT, another one for each seed; the run ends there."""
    result = cwndlab.compare(scenario("5 s", duration="5 s"), ["cubic", "reno"], seeds=3)
    (never,) = [row for row in result.finding_rows() if row["code"] == "never-starts"]
    assert len(result.idle_flows) == 3
    assert never["text"] == f"{result.idle_flows[0]} [6 of 6 runs, which differ in numbers]"
    assert never["text"].startswith("flow1 would start at 5.0")


def test_a_comparison_of_flows_that_run_is_judged() -> None:
    result = cwndlab.compare(scenario(), ["cubic", "reno"], seeds=3)
    assert result.comparisons()
    assert result.remarks == []
    assert result.findings().height == 0


def test_equal_results_of_different_algorithms_are_found() -> None:
    """An initial window of 10 segments carries 5 kB: no algorithm acts on it."""
    flow = cwndlab.Flow("reno", rtt="40 ms", workload=cwndlab.Bulk("5 kB"))
    dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    short = cwndlab.Scenario(duration="2 s", dumbbell=dumbbell, flows=[flow])
    result = cwndlab.compare(short, ["reno", "cubic", "hybla"], seeds=2)
    (row,) = [row for row in result.remarks if row["code"] == "equal-results"]
    assert row["text"].startswith("reno, cubic, hybla: equal results to the last digit in every run")


def test_a_sweep_counts_findings_per_cell() -> None:
    result = cwndlab.sweep(scenario(), over={"flow[1].start": ["1 s", "12 s"]}, seeds=range(2))
    found = result.findings()
    found = found.filter(found["code"] == "never-starts")
    assert found.select("cell", "flow[1].start", "runs").rows() == [(1, "12 s", 2)]
    assert [row["findings"] for row in tables.by_cell(result)] == [{}, {"never-starts": 2}]


def test_the_findings_of_a_study_are_kept_in_its_folder(tmp_path: Path) -> None:
    first = cwndlab.compare(scenario("12 s"), ["cubic", "reno"], seeds=2, out=tmp_path / "out")
    again = cwndlab.Result.read(tmp_path / "out")
    assert again.findings().equals(first.findings())
    assert again.comparisons() == {}
    kept = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert {row["code"] for row in kept["findings"]} == {"flow-never-ran", "never-starts"}


def test_commands_print_findings_and_strict_makes_severe_ones_a_status(hanging: Path) -> None:
    plain = command("run", str(hanging), "--format", "json")
    assert plain.returncode == 0
    assert "severe: " in plain.stderr
    assert "(nothing-delivered)" in plain.stderr
    assert [row["code"] for row in json.loads(plain.stdout)["findings"]] == ["nothing-delivered"]
    assert command("run", str(hanging), "--strict").returncode == 1
    compared = command("compare", str(hanging), "--algorithms", "reno", "--repetitions", "1", "--strict")
    assert compared.returncode == 1
    assert "(nothing-delivered)" in compared.stderr


def test_strict_accepts_a_clean_run(tmp_path: Path) -> None:
    file = tmp_path / "clean.toml"
    file.write_text(scenario().to_toml(), encoding="utf-8")
    clean = command("run", str(file), "--strict")
    assert clean.returncode == 0
    assert "severe" not in clean.stderr


def test_pages_show_findings_before_anything_else(tmp_path: Path) -> None:
    records = cwndlab.run(scenario("12 s"), seed=1)
    result = cwndlab.compare(scenario("12 s"), ["cubic", "reno"], seeds=2)
    swept = cwndlab.sweep(scenario(), over={"flow[1].start": ["1 s", "12 s"]}, seeds=range(2))
    for name, one in (("run", records), ("comparison", result), ("sweep", swept)):
        cwndlab.report(one, tmp_path / f"{name}.html")
        text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        body = text[text.index("<h1>") :]
        assert body.index('aria-label="Findings"') < body.index("<h2"), name
        assert "never-starts" in body, name
    cwndlab.report(cwndlab.run(scenario(), seed=1), tmp_path / "clean.html")
    assert 'aria-label="Findings"' not in (tmp_path / "clean.html").read_text(encoding="utf-8")
