"""Service levels of runs: the engine's table of messages, the scenario's ``service``, the commands and the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cwndlab
import polars as pl
import pytest
from cwndlab.service import levels, measured, requirements, video_quality, voice_quality
from cwndlab.study.result import Result

#: Sensors publish 200 B each 100 ms over a path with a delay of 20 ms and nobody else; `late` requires less than that.
SCENARIO = """
schema_version = 1
duration = "5 s"
measure_from = "1 s"
dumbbell.bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }

[[flow]]
name = "sensors"
algorithm = "cubic"
rtt = "40 ms"
count = 2
workload = { kind = "mqtt", period = "100 ms", payload = { kind = "uniform", min = "200 B", max = "200 B" } }
[flow.service]
class = "vitals"
deadline = "500 ms"
within = 0.9
lifetime = "1 s"
loss = 0.0
gap = "1 s"
age = "2 s"
availability = 0.99

[[flow]]
name = "late"
algorithm = "cubic"
rtt = "40 ms"
workload = { kind = "mqtt", period = "100 ms" }
service = { deadline = "10 ms", within = 0.5 }

[[flow]]
name = "call"
transport = "udp"
rtt = "40 ms"
workload = { kind = "cbr", rate = "80 kbit/s", packet = "200 B" }
service = { playout = "100 ms" }
"""


@pytest.fixture(scope="module")
def scenario() -> cwndlab.Scenario:
    return cwndlab.Scenario.from_toml(SCENARIO)


@pytest.fixture(scope="module")
def records(scenario: cwndlab.Scenario) -> cwndlab.Records:
    return cwndlab.run(scenario, seed=1)


def test_the_requirements_are_those_of_the_scenario(records: cwndlab.Records) -> None:
    found = requirements(records.document)
    assert {flow: one.name for flow, one in found.items()} == {0: "vitals", 1: "vitals", 2: "late", 3: "call"}
    assert (found[0].deadline_ns, found[0].within, found[0].age_ns) == (500_000_000, 0.9, 2_000_000_000)


def test_the_table_of_messages_has_its_columns(records: cwndlab.Records) -> None:
    frame = records.frame("messages")
    assert frame.columns == ["flow", "message", "generated_ns", "delivered_ns", "size_bytes"]
    assert set(frame["flow"]) == {0, 1, 2, 3}
    known = frame.filter(pl.col("delivered_ns").is_not_null())
    # Nothing is faster than light: half of the RTT.
    assert (known["delivered_ns"] - known["generated_ns"] >= 20_000_000).all()


def test_an_empty_path_meets_what_it_can(records: cwndlab.Records) -> None:
    frame = levels(records)
    rows = {row["class"]: row for row in frame.to_dicts()}
    assert (rows["vitals"]["flows"], rows["vitals"]["runs"]) == (2, 1)
    # A message per 100 ms and sensor from 1 s to 5 s; the lifetime does not decide those of the last second.
    assert 70 <= rows["vitals"]["messages"] <= 80
    assert (rows["vitals"]["verdict"], rows["vitals"]["in_time"], rows["vitals"]["lost"]) == ("met", 1.0, 0.0)
    assert rows["vitals"]["requirements"] == "deadline, loss, gap, age, availability"
    assert 0.02 <= rows["vitals"]["p50_delay_s"] < 0.1
    # Below the delay of the path no message is in time.
    assert (rows["late"]["verdict"], rows["late"]["in_time"]) == ("missed", 0.0)
    assert rows["call"]["verdict"] is None


def test_a_call_over_an_empty_path_is_good(records: cwndlab.Records) -> None:
    (call,) = voice_quality(records).to_dicts()
    assert (call["loss"], call["delay_ms"]) == (0.0, 120.0)
    assert call["mos"] > 4.2
    assert video_quality(records)["late"].item() == 0.0


def test_run_prints_service_levels(
    scenario: cwndlab.Scenario, tmp_path: Path, cli: Callable[..., tuple[int, str, str]]
) -> None:
    path = tmp_path / "path.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    status, printed, said = cli("run", path)
    assert status == 0
    assert "90 % within 0.5 s, lost ≤ 0 %, silence ≤ 1 s, age ≤ 2 s, available ≥ 99 %" in printed
    assert "missed: deadline (one run)" in printed
    assert "n = 1 run of each" in said
    status, printed, _ = cli("run", path, "--format", "json")
    assert {row["class"] for row in json.loads(printed)["levels"]} == {"vitals", "late", "call"}


def test_the_page_of_a_run_has_its_service_levels(records: cwndlab.Records, tmp_path: Path) -> None:
    records.report(tmp_path / "page.html")
    assert "Service levels of decided messages" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_comparison_judges_each_class_over_its_runs(scenario: cwndlab.Scenario, tmp_path: Path) -> None:
    result = cwndlab.compare(scenario, ["cubic", "reno"], seeds=3, out=tmp_path / "out")
    frame = result.levels()
    assert frame["runs"].to_list() == [3] * 6
    verdicts = {(row["class"], row["algorithm"]): row["verdict"] for row in frame.to_dicts()}
    assert verdicts["vitals", "cubic"] == verdicts["vitals", "reno"] == "met"
    assert verdicts["late", "cubic"] == "missed"
    assert Result.read(tmp_path / "out").levels().equals(frame)


def test_a_sweep_has_service_levels_too(scenario: cwndlab.Scenario) -> None:
    rates = {"dumbbell.bottleneck.rate": ["5 Mbit/s", "10 Mbit/s"]}
    assert len(cwndlab.sweep(scenario, over=rates, seeds=2).levels()) == 6


def test_a_flow_without_service_has_no_messages(scenario: cwndlab.Scenario) -> None:
    flow = dict(scenario.document["flow"][0])
    del flow["service"]
    plain = cwndlab.run(scenario.with_({"flow": [flow]}), seed=1)
    assert plain.height("messages") == 0
    assert measured(plain) == []


@pytest.mark.parametrize(
    ("deadlines", "found"),
    [
        (("500 ms", "10 ms"), "500 ms meets all service levels"),
        (("500 ms", "400 ms"), "500 ms, 400 ms meet all service levels"),
        (("10 ms", "15 ms"), "none meets all service levels"),
    ],
)
def test_a_comparison_names_the_alternatives_that_meet_all_service_levels(
    deadlines: tuple[str, str], found: str
) -> None:
    """The path has a delay of 20 ms and nobody else, so that 10 and 15 ms are missed and the others met."""
    sensors = SCENARIO[: SCENARIO.index("lifetime")]  # the deadline alone
    result = cwndlab.compare(
        cwndlab.Scenario.from_toml(sensors), over={"flow[0].service.deadline": list(deadlines)}, seeds=5
    )
    assert found in result.notes


def test_a_comparison_without_service_levels_has_no_remark_on_them() -> None:
    assert not any("service levels" in note for note in cwndlab.compare("single", ["cubic", "reno"], seeds=1).notes)
