"""Keys of reference folders and of other inputs: what is not read is a fault, what is read changes the run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.cli.app import status
from cwndlab.study.sweeps.files import read as read_sweep
from cwndlab.study.tuning.spec import load as load_tuning
from cwndlab.validation.references.paths import read
from cwndlab.validation.references.reference import Reference, bundled, kernel_paths


@pytest.fixture
def ns2(tmp_path: Path) -> Path:
    folder = tmp_path / "ns2"
    shutil.copytree(next(path for path in bundled() if path.name == "ns2"), folder)
    return folder


def edit(file: Path, change: Any) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def document(folder: Path, name: str = "a") -> dict[str, Any]:
    return Reference(folder).document(name, "reno(abc=1)+standard/fack", "reno", 0)


def test_a_flow_may_go_in_reverse(ns2: Path) -> None:
    assert document(ns2)["flow"][0]["direction"] == "forward"
    edit(ns2 / "scenarios.json", lambda all: all["c"]["flows"][1].update(direction="reverse"))
    assert [flow["direction"] for flow in document(ns2, "c")["flow"]] == ["forward", "reverse"]


def test_a_scenario_may_delay_its_acks(ns2: Path) -> None:
    """reference.json of ns-2 has 100 ms for ACKs that are delayed; a scenario may have its own."""
    stack = document(ns2)["flow"][0]["stack"]
    assert (stack["ack_every"], "ack_delay" in stack) == (1, False)
    edit(ns2 / "scenarios.json", lambda all: all["a"].update(ack_every=2))
    stack = document(ns2)["flow"][0]["stack"]
    assert (stack["ack_every"], stack["ack_delay"]) == (2, "0.1 s")
    edit(ns2 / "scenarios.json", lambda all: all["a"].update(ack_every=4, ack_delay_s=0.04))
    stack = document(ns2)["flow"][0]["stack"]
    assert (stack["ack_every"], stack["ack_delay"]) == (4, "0.04 s")


def test_what_a_scenario_says_of_its_packets_and_links_is_run(ns2: Path) -> None:
    own = {
        "segment_bytes": 1000,
        "header_bytes": 20,
        "ack_bytes": 50,
        "receive_window_segments": 30,
        "reverse_rate_mbps": 5,
        "random_loss": 0.001,
        "buffer_counts_packet_in_service": True,
    }
    edit(ns2 / "scenarios.json", lambda all: all["a"].update(own))
    made = document(ns2)
    stack = made["flow"][0]["stack"]
    assert [stack[key] for key in ("mss", "header", "ack", "receive_window")] == ["1000 B", "20 B", "50 B", "30000 B"]
    bottleneck = made["dumbbell"]["bottleneck"]
    assert bottleneck["queue"]["counts_in_service"]
    assert bottleneck["loss"] == {"kind": "bernoulli", "p": 0.001}
    assert made["dumbbell"]["reverse"] == {"rate": "5 Mbps", "queue": {"capacity": "100000 packets"}}
    cwndlab.Scenario.from_json(json.dumps(made))


@pytest.mark.parametrize(
    ("file", "change", "place"),
    [
        ("reference.json", lambda all: all.update(colour=1), "colour"),
        ("reference.json", lambda all: all["ack"].update(colour=1), "ack.colour"),
        ("reference.json", lambda all: all["columns"].update(colour="x"), "columns.colour"),
        ("reference.json", lambda all: all["tolerances"]["single"].update(colour={}), "tolerances.single.colour"),
        (
            "reference.json",
            lambda all: all["tolerances"]["loss"]["goodput_bps"].update(colour=1),
            "tolerances.loss.goodput_bps.colour",
        ),
        ("scenarios.json", lambda all: all["b"].update(colour=1), "b.colour"),
        ("scenarios.json", lambda all: all["c"]["flows"][1].update(colour=1), "c.flows[1].colour"),
    ],
)
def test_an_unknown_key_is_a_fault(file: str, change: Any, place: str, ns2: Path) -> None:
    edit(ns2 / file, change)
    with pytest.raises(cwndlab.RecordsError) as caught:
        Reference(ns2)
    (fault,) = caught.value.faults
    assert fault.where == f"{ns2 / file}: {place}"
    assert fault.what == "no such key"
    assert "known keys: " in fault.hint
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda all: all.update(colour=1), "colour"),
        (lambda all: all["common"].update(colour=1), "common.colour"),
        (lambda all: all["common"]["wired"].update(colour=1), "common.wired.colour"),
        (lambda all: all["algorithms"]["bbr"].update(colour=1), "algorithms.bbr.colour"),
        (lambda all: all["scenarios"]["w1"].update(colour=1), "scenarios.w1.colour"),
        (lambda all: all["scenarios"]["u_up"].update(rtt_ms=1), "scenarios.u_up.rtt_ms"),
    ],
)
def test_an_unknown_key_in_the_form_of_ns_3_is_a_fault(change: Any, place: str, tmp_path: Path) -> None:
    folder = tmp_path / "ns3"
    shutil.copytree(next(path for path in bundled() if path.name == "ns3"), folder)
    edit(folder / "scenarios.json", change)
    with pytest.raises(cwndlab.RecordsError) as caught:
        Reference(folder)
    assert caught.value.faults[0].where == f"{folder / 'scenarios.json'}: {place}"


def test_a_misspelt_key_and_a_direction_that_is_none_are_named(ns2: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(ns2 / "scenarios.json", lambda all: all["a"]["flows"][0].update(directon="reverse"))
    edit(ns2 / "scenarios.json", lambda all: all["b"]["flows"][0].update(direction="up"))
    assert status(["validate", "--reference", str(ns2)]) == 2
    shown = capsys.readouterr().err
    assert "scenarios.json: a.flows[0].directon: no such key" in shown
    assert "did you mean 'direction'? known keys: algorithm, rtt_ms, start_s, direction" in shown
    assert "b.flows[0].direction: 'up' is not a direction" in shown


def test_remarks_may_stand_anywhere(ns2: Path) -> None:
    edit(ns2 / "scenarios.json", lambda all: all["a"].update(note="x", acks_note="y"))
    assert Reference(ns2).scenarios["a"]["note"] == "x"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("repetitions = 5", "repetitions = 5\ncolour = 1", "paths.toml: colour: no such key"),
        ('name = "web-20"', 'name = "web-20"\ncolour = 1', "paths.toml: path[11].colour: no such key"),
        ("loss_probes = {", "loss_probes = { colour = 1,", "paths.toml: tolerances.loss_probes.colour: no such key"),
        ('"* over 120 ms"', '"* across 120 ms"', "unequal-50.flows[1]: '* across 120 ms' is not a flow"),
    ],
)
def test_an_unknown_key_among_the_kernel_s_paths_is_a_fault(old: str, new: str, fault: str, tmp_path: Path) -> None:
    text = kernel_paths().read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "paths.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(cwndlab.ScenarioError) as caught:
        read(tmp_path / "paths.toml")
    assert fault in str(caught.value)


SCENARIO = """
duration = "1 s"
[dumbbell.bottleneck]
rate = "10 Mbps"
delay = "5 ms"
[[flow]]
algorithm = "reno"
rtt = "20 ms"
"""

TUNE = """
[tune]
algorithm = "reno+ccm-ss"
maximise = "goodput_bps"
trials = 1
[tune.parameters]
"ccm-ss.mu" = {}
[tune.train]
base = "single"
seeds = 1
[tune.test]
base = "single"
seeds = 1
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[sweep]\nbase = "single"\nseeds = 1\ncolour = 1\n', "sweep.colour: no such field"),
        ('[sweep]\nbase = "single"\nseeds = 1\n[swep]\nx = 1\n', "sweep.base: there is a scenario in the file, too"),
        ("[sweep]\nseeds = 1\n[sweeep]\nx = 1\n" + SCENARIO, "sweeep: no such field"),
        ('[sweep]\nbase = "single"\nseeds = 1\nzip = [1]\n', "sweep.zip[0]: '1' is not a table"),
        ('[sweep]\nbase = "single"\nseeds = 1\n[sweep.product]\ncolour = ["1"]\n', "colour: no such field"),
    ],
)
def test_an_unknown_key_of_a_sweep_is_a_fault(text: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(cwndlab.ScenarioError) as caught:
        read_sweep(file).points()
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("trials = 1", "trials = 1\ncolour = 1", "tune.colour: no such field"),
        ('"ccm-ss.mu" = {}', '"ccm-ss.mu" = { colour = 1 }', 'tune.parameters."ccm-ss.mu".colour: no such field'),
        ("[tune.test]", "[tune.test]\ncolour = 1", "tune.test.colour: no such field"),
        ("[tune]", 'duration = "1 s"\n[tune]', "duration: is not used, since train and test have their own bases"),
    ],
)
def test_an_unknown_key_of_a_tuning_is_a_fault(old: str, new: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "tune.toml"
    file.write_text(TUNE, encoding="utf-8")
    load_tuning(file)
    file.write_text(TUNE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(cwndlab.ScenarioError) as caught:
        load_tuning(file)
    assert fault in str(caught.value)


def tables(value: Any, place: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every table of a document with its place."""
    if isinstance(value, list):
        return [one for index, item in enumerate(value) for one in tables(item, f"{place}[{index}]")]
    if not isinstance(value, dict):
        return []
    inner = [one for key, item in value.items() for one in tables(item, f"{place}.{key}" if place else key)]
    return [(place, value), *inner]


@pytest.mark.parametrize("name", cwndlab.presets.names())
def test_no_table_of_a_preset_may_have_an_unknown_key(name: str) -> None:
    document = json.loads(cwndlab.presets.load(name).to_json())
    for place, table in tables(document):
        if place.endswith("control.parameters"):
            continue
        table["colour"] = 1
        with pytest.raises(cwndlab.ScenarioError) as caught:
            cwndlab.Scenario.from_json(json.dumps(document))
        assert "colour" in str(caught.value), place
        del table["colour"]
