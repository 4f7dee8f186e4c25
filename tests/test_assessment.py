"""Dossiers by RFC 9743: findings whose answer is known, controls, equal bytes, the comparison with an earlier one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from custom_classes import write_class
from cwndlab.assessment import Dossier, media, runner
from cwndlab.assessment.criteria import Control, Measure, chosen, controls, criteria, families
from cwndlab.assessment.judgement import compared, judged
from cwndlab.cli.app import status

#: Two sections, of which all families are small or surfaces of eight cells.
SECTIONS = ["5.2.1", "7.5"]


@pytest.fixture(scope="module")
def reno(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    folder = tmp_path_factory.mktemp("reno")
    return cwndlab.assess("reno", quick=True, seeds=2, sections=SECTIONS, out=folder / "dossier")


@pytest.fixture(scope="module")
def constant(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    file = write_class(tmp_path_factory.mktemp("constant"), cwnd="1000")
    return cwndlab.assess(str(file), quick=True, seeds=2, sections=["5.2", "5.2.1"])


def test_each_criterion_of_sections_5_to_8_has_one_row() -> None:
    """The sections of RFC 9743; 5.3 stands for 5.3.1 and 5.3.2."""
    fives = ["5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2", "5.2.1", "5.2.2", "5.2.3", "5.3"]
    sixes = ["6", "6.1", "6.2", "6.3", "6.4"]
    sevens = [f"7.{number}" for number in range(1, 12)]
    assert [one.section for one in criteria()] == [*fives, *sixes, *sevens, "8"]
    assert all(bool(one.measures) != bool(one.reason) for one in criteria())


def test_surfaces_have_five_logarithmic_values_of_rate_rtt_and_buffer() -> None:
    for one in families():
        if one.surface:
            assert [len(values) for values in one.sweep.product.values()] == [5, 5, 5]
            assert len(one.points(["cubic"])) == 125
    assert sum(len(one.points(["cubic"])) for one in families()) > 2000


def test_quick_cells_are_cells_of_the_full_size() -> None:
    full = {one.name: {point.hash for point in one.points(["cubic"])} for one in families()}
    for one in families(quick=True):
        assert {point.hash for point in one.points(["cubic"])} <= full[one.name], one.name


def test_a_constant_window_of_1000_segments_harms_cubic(constant: Dossier) -> None:
    """It does not reduce its window, so that CUBIC backs off alone; without feedback it sends on."""
    for measure in range(3):
        for baseline in ("cubic", "reno"):
            assert constant.finding("5.2.1", measure, baseline).startswith("worse than")
    assert constant.finding("5.2", 0) == "worse than CUBIC"
    assert constant.finding("5.2", 2) == "worse than CUBIC"
    assert constant.finding("5.2", 3) == "worse than CUBIC"
    raw = constant.rows[1]["measures"][0]["raw"]
    assert raw["mine"]["starved_cells"] > 0 == raw["cubic"]["starved_cells"]


def test_reno_is_itself_in_its_own_place(reno: Dossier) -> None:
    for row in reno.rows:
        for one in row["measures"]:
            against = one["against"]["reno"]
            assert (against["finding"], against["least"], against["most"]) == ("as", 0.0, 0.0)


def test_reno_leaves_more_to_others_than_cubic_and_fills_a_long_path_less(reno: Dossier) -> None:
    """RFC 9438, sections 5.1 and 5.2: CUBIC is more aggressive where the bandwidth-delay product is large, and Reno
    grows too slowly there."""
    assert reno.finding("5.2.1", 1) == "better than CUBIC"
    assert reno.finding("7.5") == "worse than CUBIC"


def test_two_numbers_of_workers_give_the_same_bytes(reno: Dossier) -> None:
    again = cwndlab.assess("reno", quick=True, seeds=2, sections=SECTIONS, workers=1)
    assert again.to_json() == reno.to_json()


@pytest.mark.parametrize("control", media.controls())
def test_a_control_of_media_has_the_cells_of_tcp_that_it_can_have(control: str) -> None:
    """Video at up to the line's rate in the place of TCP: beside CUBIC, and not with short flows or optimistic ACKs."""
    by_name = {one.name: one for one in families(quick=True)}
    beside, short, cheating, tunnel = (by_name[one] for one in ("beside-cubic", "own-short", "cheating", "tunnel"))
    cells = [media.in_place(point, control) for point in beside.points(["cubic"])]
    flows = [json.loads(cell.document)["flow"] for cell in cells if cell is not None]
    assert len(flows) == 8
    assert {mine["workload"]["control"] for mine, _ in flows} == {control}
    assert [theirs["algorithm"] for _, theirs in flows] == ["cubic"] * 8
    assert {mine["workload"]["max_rate"] for mine, _ in flows} == {"4000 kbps", "64000 kbps"}
    for none in (short, cheating):
        assert [media.in_place(point, control) for point in none.points(["cubic"])] == [None] * 8
    marked = media.in_place(tunnel.points(["cubic"])[0], control)
    assert marked is not None
    expected = "classic" if control == "scream2" else None
    assert json.loads(marked.document)["flow"][0]["workload"].get("ecn") == expected


def test_video_of_scream_harms_cubic_less_than_cubic_does_and_sends_on_without_feedback() -> None:
    """SCReAM is delay-based, so that CUBIC's queue takes its rate; an encoder sends its smallest rate without feedback,
    which is above a window of CUBIC that backs off. 7.4's packets sent again are none of media's."""
    found = cwndlab.assess("scream2", quick=True, seeds=2, sections=["5.2", "5.2.1", "7.4", "7.6"])
    assert found.finding("5.2.1") == "better than CUBIC"
    assert found.finding("5.2", 3) == "worse than CUBIC"
    for section, measure in (("7.4", 1), ("7.6", 1)):
        assert found.finding(section, measure) == f"not assessed because {media.REASON}"
    assert len(found.content["families"]["cheating"]["cells"]) == 8


def test_a_file_of_toml_repeats_the_worst_cell(reno: Dossier) -> None:
    assert reno.worst()
    hashes = {name: [one["hash"] for one in family["cells"]] for name, family in reno.content["families"].items()}
    for (family, cell), document in reno.scenarios.items():
        scenario = cwndlab.Scenario.from_json(document)
        assert cwndlab.Scenario.from_toml(scenario.to_toml()).hash == hashes[family][cell]


def test_an_effect_of_known_size_has_its_finding() -> None:
    """Half the rate in one cell and two thirds in the other: −1/2 and −1/3, on average −5/12."""
    measure = Measure("alone", "goodput_bps", "more", "")
    base = {0: {1: 10.0, 2: 20.0}, 1: {1: 30.0, 2: 60.0}}
    mine = {0: {1: 5.0, 2: 10.0}, 1: {1: 20.0, 2: 40.0}}
    (found,) = judged([compared(measure, "cubic", mine, base)])
    assert found["mean"] == pytest.approx(-5 / 12)
    assert (found["least"], found["worst_cell"], found["cells_worse"]) == (-0.5, 0, 2)
    noisy = {0: {1: 5.0, 2: 40.0}, 1: {1: 20.0, 2: 200.0}}
    assert judged([compared(measure, "cubic", noisy, base)])[0]["finding"] == "unresolved"


def test_a_finding_that_the_means_of_the_values_contradict_is_named(reno: Dossier) -> None:
    """By hand: a tenth of the rate in nine cells of 10, and 1.1 of it in one of 1000: the mean change is −0.8, the mean
    of the values rises from 109 to 110.9."""
    content = json.loads(reno.to_json())
    measure = next(row for row in content["rows"] if row["section"] == "5.2.1")["measures"][0]
    for against in measure["against"].values():
        against["finding"] = "as"
    measure["raw"]["reno"]["mean"] = 110.9
    measure["raw"]["cubic"]["mean"] = 109.0
    for better, finding, contradicts in (
        ("more", "worse", True),
        ("more", "better", False),
        ("less", "better", True),
        ("more", "as", False),
    ):
        measure["better"], measure["against"]["cubic"]["finding"] = better, finding
        found = [line for line in Dossier(content).contradicted() if line.startswith(f"5.2.1, {measure['what']}: ")]
        assert found == ([f"5.2.1, {measure['what']}: {finding} than CUBIC"] if contradicts else [])
    assert "Values point the other way than the finding" not in Dossier(content).markdown()
    measure["against"]["cubic"]["finding"] = "worse"
    assert f"- 5.2.1, {measure['what']}: worse than CUBIC." in Dossier(content).markdown()


def test_a_measure_without_values_is_not_assessed() -> None:
    measure = Measure("alone", "p95_completion_s", "less", "")
    nothing: dict[int, dict[int, float | None]] = {0: {1: None, 2: None}}
    assert judged([compared(measure, "cubic", nothing, nothing)])[0]["finding"] == "not assessed"


def test_nothing_is_printed_if_a_control_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong: list[Control] = [replace(one, expected="better") if one.expected else one for one in controls()]
    monkeypatch.setattr(runner, "controls", lambda: wrong)
    assert status(["assess", "reno", "--quick", "--seeds", "2", "--section", "7.5"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "BBRv1" in shown.err


def test_against_an_earlier_dossier_the_status_says_that_a_row_got_worse(
    reno: Dossier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CUBIC has a better row 7.5 than Reno: with Reno in its stead the row got worse."""
    cwndlab.assess("cubic", quick=True, seeds=2, sections=["7.5"], out=tmp_path / "before")
    command = ["assess", "reno", "--quick", "--seeds", "2", "--section", "7.5", "--against", str(tmp_path / "before")]
    assert status(command) == 1
    assert "worse than before: 7.5" in capsys.readouterr().err
    assert reno.worsened(reno) == []
    other = Dossier({**reno.content, "seeds": 3})
    with pytest.raises(cwndlab.ScenarioError, match="seeds"):
        reno.worsened(other)
    fewer = Dossier({**reno.content, "families": {}})
    with pytest.raises(cwndlab.ScenarioError, match="other cells"):
        reno.worsened(fewer)


def test_a_saved_dossier_is_read_and_has_the_statements_of_section_3_2(tmp_path: Path, reno: Dossier) -> None:
    reno.save(tmp_path)
    read = cwndlab.load(tmp_path)
    assert isinstance(read, Dossier)
    assert read.content == json.loads((tmp_path / "dossier.json").read_text())
    text = (tmp_path / "dossier.md").read_text()
    assert "considered safe for use on the Internet" in text
    assert "not recommended for deployment in these environments: [choose from: high delay (7.5)" in text
    assert "pass" not in text.replace("to be passed", "")
    assert "<h2" in (tmp_path / "dossier.html").read_text()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cwndlab.assess("cubik"), "cubik"),
        (lambda: cwndlab.assess("cubic", seeds=1), "interval"),
        (lambda: chosen(["5.9"]), "no section is called '5.9'"),
        (lambda: Dossier.read("nowhere"), "holds no dossier"),
    ],
)
def test_an_invalid_argument_is_named(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(cwndlab.Error, match=words):
        call()
