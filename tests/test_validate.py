"""Reading references of each kind, and holding runs against them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.simulate import run_many
from cwndlab.validation.peers import Row, shares, validate
from cwndlab.validation.references.measure import measure
from cwndlab.validation.references.reference import Reference, bundled


def folder(kind: str) -> Path:
    return next(path for path in bundled() if path.name == kind)


def copy(kind: str, to: Path) -> Path:
    """A foreign folder with the files of a bundled one."""
    for file in folder(kind).iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    return to


def change(path: Path, **entries: Any) -> None:
    """Sets entries of a JSON file; `None` takes one away."""
    document = json.loads(path.read_text()) | entries
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))


@pytest.mark.parametrize("kind", ["ns2", "linux", "ns3"])
def test_every_bundled_folder_says_how_each_of_its_scenarios_is_judged(kind: str) -> None:
    reference = Reference(folder(kind))
    assert reference.reworded == []
    for name, spec in reference.scenarios.items():
        assert spec["judge_as"] in reference.about["tolerances"], name
        assert reference.summary(name), name
    columns = {column for text in reference.about["columns"].values() for column in text.split(" / ")}
    assert columns <= set(reference.summary(next(iter(reference.scenarios)))[0])


@pytest.mark.parametrize("kind", ["ns2", "linux", "ns3"])
def test_every_sender_of_a_bundled_folder_is_one_of_ours_or_left_out_by_a_reason(kind: str) -> None:
    from cwndlab.catalogue import canonical

    reference = Reference(folder(kind))
    for name, text in reference.about["senders"].items():
        if text is not None:
            canonical(text)
        elif kind == "ns3":
            assert reference.untrusted(name, "w1"), name


def test_a_scenario_of_ns_3_becomes_ours() -> None:
    """known-answers/ns3: w3 is 20 Mbit/s, 60 ms, 100 packets, a second flow 20 s later and 13.7 ms more in each run."""
    reference = Reference(folder("ns3"))
    document = reference.document("w3", "reno", "linuxreno", 1)
    bottleneck = document["dumbbell"]["bottleneck"]
    assert (bottleneck["rate"], bottleneck["delay"], bottleneck["queue"]["capacity"]) == (
        "20 Mbps",
        "15.0 ms",
        "100 packets",
    )
    assert [flow["start"] for flow in document["flow"]] == ["0.000000 s", "20.013700 s"]
    stack = document["flow"][0]["stack"]
    assert (stack["mss"], stack["header"], stack["ack_every"], stack["min_rto"]) == ("1448 B", "54 B", 2, "0.2 s")
    assert reference.stack(reference.scenarios["w1_ack1"])["ack_every"] == 1


def test_a_queue_of_ns_3_that_marks_stands_above_a_device_with_one_packet() -> None:
    queue = Reference(folder("ns3")).document("w4", "dctcp", "dctcp", 0)["dumbbell"]["bottleneck"]["queue"]
    assert queue == {"kind": "step-ecn", "capacity": "401 packets", "mark_above": 21}


def test_rows_of_ns_3_that_its_readme_does_not_trust_are_left_out_with_its_reason() -> None:
    reference = Reference(folder("ns3"))
    assert "endless timeouts" in (reference.untrusted("bbr", "w3") or "")
    assert "never moves again" in (reference.untrusted("ledbat", "w2") or "")
    assert reference.untrusted("bbr", "w1") is None
    assert reference.waiting == {}
    assert reference.untried == ("u_up_logdist",)


def test_a_foreign_folder_of_ns_3_is_worded_as_the_bundled_one(tmp_path: Path) -> None:
    """As the peer's own folder came: senders by class, tolerances in prose."""
    copy("ns3", tmp_path)
    change(
        tmp_path / "reference.json",
        senders={"TcpLinuxReno": "reno+standard/sack", "TcpCubic": "cubic(reno_friendly=off)+hystart/sack"},
        tolerances="README, sections 'Suggested tolerances'",
        columns=None,
        ack=None,
        not_judged=None,
        stack=None,
        summary=None,
    )
    ours, theirs = Reference(folder("ns3")), Reference(tmp_path)
    for key in ("tolerances", "columns", "ack", "stack", "not_judged"):
        assert theirs.about[key] == ours.about[key], key
    assert {name: theirs.about["senders"][name] for name in ours.about["senders"]} == ours.about["senders"]
    assert theirs.scenarios == ours.scenarios
    said = "\n".join(theirs.reworded)
    assert "linuxreno: 'reno+standard/sack' is run as 'reno(abc=1, base=cwnd)+standard/sack'" in said
    assert "'tolerances' is taken over, since the folder has none that a program can read" in said


@pytest.mark.parametrize("kind", ["ns2", "linux"])
def test_what_a_foreign_folder_says_for_itself_stays(kind: str, tmp_path: Path) -> None:
    copy(kind, tmp_path)
    tolerances = {"single": {"goodput_bps": {"relative": 0.5}}}
    change(tmp_path / "reference.json", senders={"reno": "reno", "own": "cubic"}, tolerances=tolerances)
    reference = Reference(tmp_path)
    bundled_one = Reference(folder(kind)).about
    assert reference.about["tolerances"] == tolerances
    assert reference.about["senders"]["reno"] == bundled_one["senders"]["reno"]
    assert reference.about["senders"]["own"] == "cubic"


def test_a_folder_of_an_unknown_peer_must_have_tolerances_that_a_program_can_read(tmp_path: Path) -> None:
    copy("ns3", tmp_path)
    change(tmp_path / "reference.json", kind="ns4", tolerances="see README", columns=None)
    with pytest.raises(cwndlab.RecordsError) as caught:
        Reference(tmp_path)
    file = f"{tmp_path}/reference.json"
    assert str(caught.value).splitlines() == [
        f"{file}: 'tolerances' is 'see README', which no program can read",
        "  hint: write a table by kind of scenario",
        f"{file}: has no 'columns'",
        "  hint: see known-answers/README.md",
    ]


def test_a_folder_without_its_figures_says_so(tmp_path: Path) -> None:
    copy("ns3", tmp_path)
    (tmp_path / "wired_summary.csv").unlink()
    with pytest.raises(cwndlab.RecordsError, match=r"wired_summary\.csv: is missing"):
        validate([tmp_path], algorithms=["linuxreno"])
    (tmp_path / "wired_summary.csv").write_text("scenario,sender\nw1,linuxreno\n")
    with pytest.raises(cwndlab.RecordsError, match="has no column 'algorithm'"):
        validate([tmp_path], algorithms=["linuxreno"])


def test_a_file_that_is_no_json_says_so(tmp_path: Path) -> None:
    copy("ns3", tmp_path)
    (tmp_path / "scenarios.json").write_text("{")
    with pytest.raises(cwndlab.RecordsError, match=r"scenarios\.json: is no JSON"):
        Reference(tmp_path)


@cache
def of_ns3(*algorithms: str) -> tuple[list[Row], list[str]]:
    """Rows and notes of some senders of ns-3; docs/validity.md has all."""
    return validate([folder("ns3")], algorithms=algorithms)


def test_the_wired_runs_of_ns_3_hold_in_one_flow_in_two_and_with_an_ack_per_segment() -> None:
    reno, (others, notes) = of_ns3("linuxreno")[0], of_ns3("hybla", "vegas", "bbr")
    rows = [*reno, *others]
    for share in shares(rows):
        assert share["share"] >= 0.9, share
    wired = {row.scenario for row in rows if row.scenario.startswith("ns3/")}
    assert wired == {"ns3/w1", "ns3/w1_ack1", "ns3/w2", "ns3/w3"}
    assert sum("vegas in" in note for note in notes) == 3


def test_a_cell_of_ns_3_becomes_ours() -> None:
    """known-answers/ns3: 60 Mbit/s in all, 1472 bytes of UDP, 20 µs of slot; flow i of TCP starts at 1 + 0.01 i s,
    downloads first, over wires of half the RTT, with 52 bytes of headers and 1 s of minimum RTO in t_pair."""
    cells = {(cell.label, cell.algorithm): cell for cell in Reference(folder("ns3")).cells}
    assert {cell.judge_as for cell in cells.values()} == {"udp_one", "udp_several", "downloads", "pair", "both"}
    udp = cells["u_up_slot20 10 × 1472 B", "udp"].documents[0]
    workload = {"kind": "cbr", "rate": "6114130 bps", "packet": "1500 B"}
    assert udp["flow"] == [
        {"transport": "udp", "rtt": "0 s", "start": "1 s", "count": 10, "direction": "upload", "workload": workload}
    ]
    assert (udp["wlan"]["slot"], udp["wlan"]["eifs"], "beacon" in udp["wlan"]) == ("20 us", False, False)
    pair = cells["t_pair 1 + 1", "cubic"].documents[0]
    assert [(flow["start"], flow["direction"], flow["rtt"]) for flow in pair["flow"]] == [
        ("1.00 s", "download", "50 ms"),
        ("1.01 s", "upload", "50 ms"),
    ]
    stack = pair["flow"][0]["stack"]
    assert (stack["mss"], stack["header"], stack["min_rto"]) == ("1448 B", "52 B", "1.0 s")
    assert pair["wlan"]["queue"] == {"capacity": "100 packets", "counts_in_service": True}
    assert cells["u_up_beacon 1 × 1472 B", "udp"].documents[0]["wlan"]["beacon"] == "102.4 ms"


def test_the_cells_of_ns_3_hold() -> None:
    rows, _ = of_ns3("udp")
    assert len(rows) > 50
    assert [row for row in rows if not row.holds] == []
    rows, _ = of_ns3("linuxreno")
    cells = [row for row in rows if row.scenario.startswith("ns3-wifi/")]
    assert len(cells) > 20
    assert [row for row in cells if not row.holds] == []


def test_a_tolerance_of_ns_3_is_not_widened_by_the_spread_of_its_runs(tmp_path: Path) -> None:
    """w3: 3 cuts or 30 % as its README says, though cubic's two runs, which differ by a start alone, differ by one."""
    scenarios = json.loads((copy("ns3", tmp_path) / "scenarios.json").read_text())["scenarios"]
    change(tmp_path / "scenarios.json", scenarios={"w3": scenarios["w3"]})
    rows, _ = validate([tmp_path], algorithms=["cubic"])
    cuts = next(row for row in rows if (row.kind, row.name, row.label) == ("ns3", "w3", "congestion_events[0]"))
    assert (cuts.reference, cuts.tolerance) == (14.5, 4.35)


def test_a_step_marks_for_a_round_trip_where_the_queue_of_ns_3_marks_a_few_packets() -> None:
    """Why dctcp is apart in w4: Reno is reduced as often, by 6 marks there and by half a window of 120 here."""
    reference = Reference(folder("ns3"))
    document = reference.document("w4", reference.about["senders"]["linuxreno_ecn"], "linuxreno_ecn", 0)
    ours = measure(next(iter(run_many([(document, 1)])))[1], reference.scenarios["w4"]).values
    (theirs,) = (row for row in reference.summary("w4") if row["algo"] == "linuxreno_ecn")
    assert ours["congestion_events"][0] == pytest.approx(float(theirs["cuts_meas"]), abs=1)
    assert ours["marks"][0] / ours["congestion_events"][0] == pytest.approx(60, abs=3)
    assert float(theirs["marks_meas"]) / float(theirs["cuts_meas"]) == pytest.approx(6, abs=0.2)


def test_an_algorithm_that_no_reference_has_is_told_before_anything_runs() -> None:
    with pytest.raises(
        cwndlab.errors.ArgumentError, match="algorithms: no algorithm of the references is called 'nope'"
    ):
        validate(algorithms=["nope"])
    # One that only another reference has is known with both.
    with pytest.raises(cwndlab.errors.ArgumentError, match="'fack_ns'"):
        validate([folder("ns3")], algorithms=["fack_ns"])


def test_an_answer_without_a_row_is_an_error(tmp_path: Path) -> None:
    """A sender that is none of ours: there is nothing to judge, and the reason is said."""
    copy("ns2", tmp_path)
    change(tmp_path / "reference.json", senders={"own": "nope"})
    with pytest.raises(cwndlab.ScenarioError, match=r"there is nothing to judge\n.*own \(nope\) is left out"):
        validate([tmp_path], algorithms=["own"])
