"""Dossiers by RFC 9743: findings whose answer is known, controls, equal bytes, the comparison with an earlier one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from campaigns import SERVER, asked
from custom_classes import write_class
from cwndlab.assessment import Dossier, media, runner
from cwndlab.assessment.criteria import Control, Measure, chosen, controls, criteria, families
from cwndlab.assessment.judgement import compared, judged, raw
from cwndlab.assessment.live import live
from cwndlab.assessment.runs import shift_of, study_of
from cwndlab.cli.app import status
from cwndlab.live.results import Measurement

#: Two sections, of which all families are small or surfaces of eight cells.
SECTIONS = ["5.2.1", "7.5"]


@pytest.fixture(scope="module")
def reno(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    folder = tmp_path_factory.mktemp("reno")
    return cwndlab.assess("reno", quick=True, sections=SECTIONS, out=folder / "dossier")


@pytest.fixture(scope="module")
def constant(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    file = write_class(tmp_path_factory.mktemp("constant"), cwnd="1000")
    return cwndlab.assess(str(file), quick=True, seeds=3, sections=["5.2", "5.2.1"])


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


def test_prague_keeps_its_ecn_where_others_get_ect0() -> None:
    """Prague needs Accurate ECN and ECT(1) (RFC 9331, section 4.1): a tunnel must be assessed with these marks."""
    by_name = {one.name: one for one in families(quick=True)}
    for family, marked in (("tunnel", 0), ("hostile", 8)):
        prague, cubic = (
            [json.loads(point.document)["flow"][0].get("stack", {}).get("ecn") for point in one]
            for one in (by_name[family].points([name]) for name in ("prague", "cubic"))
        )
        assert (prague[marked], cubic[marked]) == (None, "classic")
    beside = [json.loads(point.document)["flow"][1]["stack"] for point in by_name["tunnel"].points(["prague"])]
    assert beside == [{"ecn": "classic"}] * 8


def test_a_share_is_starved_below_a_twentieth_of_its_own_fair_share() -> None:
    """By hand: 2 % of the line are less than 5 % of a half, and more than 5 % of a third."""
    values = {0: {1: 0.02, 2: 0.02}}
    half, third = (Measure("wlan", "share@theirs", "more", "", fair) for fair in (0.5, 0.333))
    assert (raw(half, values)["starved_cells"], raw(third, values)["starved_cells"]) == (1, 0)


def test_without_feedback_a_timer_that_doubles_sends_a_fraction_of_a_packet_per_rtt() -> None:
    """RFC 6298, section 5.5: with an RTO of 0.2 to 0.4 s, from 10 s on, four or five packets are sent from 12 to 60 s,
    which makes at most 5 · 0.125 / 48 = 0.013 packets per RTT. An encoder
    goes on sending its smallest rate."""
    found = cwndlab.assess("scream2", quick=True, seeds=2, sections=["5.2"])
    sent = found.rows[0]["measures"][3]["most_per_rtt"]
    assert 0.001 < sent["cubic"] < 0.014
    assert sent["scream2"] > 10 * sent["cubic"]
    shown = f"packets per RTT where nothing arrives: {sent['scream2']:.3f} with scream2, "
    assert any(shown in line for line in found.verdicts())


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


def test_the_table_of_a_baseline_has_each_value_under_its_name(reno: Dossier) -> None:
    """A baseline that is assessed has two raw values, not three; those of other environments have columns too."""
    one = dict(reno.content["rows"][0]["measures"][0])
    (row,) = [row for row in reno.table().values if row["what"] == one["what"]]
    means = {name: value["mean"] for name, value in one["raw"].items()}
    assert means.keys() == {"cubic", "reno"}
    assert means["cubic"] != means["reno"]
    assert (row["raw_mine"], row["raw_cubic"], row["raw_reno"]) == (means["reno"], means["cubic"], means["reno"])
    one["linux"] = {"against": {base: {"finding": "as", "mean": 0.0, "low": -0.1, "high": 0.1} for base in one["raw"]}}
    other = replace(reno, content=reno.content | {"rows": [reno.content["rows"][0] | {"measures": [one]}]})
    (row,) = other.table().values
    assert [row[f"linux_{name}_reno"] for name in ("finding", "mean", "low", "high")] == ["as", 0.0, -0.1, 0.1]


def test_reno_leaves_more_to_others_than_cubic_and_fills_a_long_path_less(reno: Dossier) -> None:
    """RFC 9438, sections 5.1 and 5.2: CUBIC is more aggressive where the bandwidth-delay product is large, and Reno
    grows too slowly there."""
    assert reno.finding("5.2.1", 1) == "better than CUBIC"
    assert reno.finding("7.5") == "worse than CUBIC"


def test_two_numbers_of_workers_give_the_same_bytes(reno: Dossier) -> None:
    again = cwndlab.assess("reno", quick=True, sections=SECTIONS, workers=1)
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
    expected = "classic" if control in ("scream2", "nada") else None
    assert json.loads(marked.document)["flow"][0]["workload"].get("ecn") == expected


def test_video_of_scream_harms_cubic_less_than_cubic_does_and_sends_on_without_feedback() -> None:
    """SCReAM is delay-based, so that CUBIC's queue takes its rate; an encoder sends its smallest rate without feedback,
    which is above a window of CUBIC that backs off. 7.4's packets sent again are none of media's."""
    found = cwndlab.assess("scream2", quick=True, sections=["5.2", "5.2.1", "7.4", "7.6"])
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


def test_the_command_of_a_worst_cell_finds_the_class_in_the_folder_of_the_dossier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file stood elsewhere when the dossier was made."""
    (tmp_path / "elsewhere").mkdir()
    file = write_class(tmp_path / "elsewhere", cwnd="4")
    cwndlab.assess(str(file), quick=True, seeds=2, sections=["7.5"], out=tmp_path / "dossier")
    monkeypatch.chdir(tmp_path / "dossier")
    (found,) = Dossier.read(tmp_path / "dossier").worst()
    assert status([*found["command"].split()[1:], "--format", "json"]) == 0
    assert capsys.readouterr().out


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
        name = f"5.2.1, beside general-purpose control: {measure['what']}: "
        found = [line for line in Dossier(content).contradicted() if line.startswith(name)]
        assert found == ([f"{name}{finding} than CUBIC"] if contradicts else [])
    assert "Values point the other way than the finding" not in Dossier(content).markdown()
    measure["against"]["cubic"]["finding"] = "worse"
    assert f"- {name}worse than CUBIC." in Dossier(content).markdown()


def test_the_command_of_a_dossier_names_seeds_that_are_not_the_usual_ones(reno: Dossier, constant: Dossier) -> None:
    assert "--seeds" not in reno.command()
    assert reno.command().startswith("cwndlab assess reno --section 5.2.1 --section 7.5 --quick")
    assert constant.command().endswith("--quick --seeds 3")


def test_cells_have_seeds_of_their_own_which_their_algorithms_share() -> None:
    """Also those of a quick dossier, which are those of the same cells in a full one."""

    def seeds(*, quick: bool) -> dict[str, set[int]]:
        (surface,) = (one for one in families(quick=quick) if one.name == "alone")
        points = [(surface, point) for point in surface.points(["cubic", "prague"])]
        study = study_of(points, 3, {})
        made: dict[str, set[int]] = {}
        for point, (_, cell) in zip(study.points, points, strict=True):
            values = [str(value) for name, value in cell.labels.items() if name != "algorithm"]
            made.setdefault(" ".join(values), set()).update(study.job(point, seed).seed for seed in study.seeds)
        return made

    full, quick = seeds(quick=False), seeds(quick=True)
    assert [len(one) for one in full.values()] == [3] * 125
    assert len(set.union(*full.values())) == 3 * 125
    assert quick.items() <= full.items()


def test_the_named_run_of_a_worst_cell_is_its_worst_one(reno: Dossier) -> None:
    """The effects of all five runs again: the seed of the command has the smallest."""
    measure = next(one for row in reno.rows for one in row["measures"] if one["metric"] == "goodput_bps@mine")
    found = measure["against"]["cubic"]
    (family,) = (one for one in families(quick=True) if one.name == measure["family"])
    goodput: dict[str, list[float]] = {}
    seeds = []
    for point in (one for one in family.points(["reno", "cubic"]) if one.number == found["worst_cell"]):
        seeds = [shift_of(family, point) + repetition for repetition in range(1, 6)]
        for seed in seeds:
            records = cwndlab.run(json.loads(point.document), seed=seed)
            values = cwndlab.metrics.summary(records, metrics=["goodput_bps@mine"], start_s=0.0)
            goodput.setdefault(point.labels["algorithm"], []).append(values["goodput_bps@mine"] or 0.0)
    effects = [mine / base - 1 for mine, base in zip(goodput["reno"], goodput["cubic"], strict=True)]
    assert sum(effects) / 5 == pytest.approx(found["cells"][str(found["worst_cell"])])
    assert seeds[effects.index(min(effects))] == found["worst_seed"]


def test_the_facts_of_a_dossier_name_the_environment(reno: Dossier) -> None:
    assert "Environment of every number: simulated." in " ".join(reno.facts())
    unknown: Any = "wireless"
    with pytest.raises(cwndlab.ScenarioError, match="there is no 'wireless'"):
        reno.finding("7.5", environment=unknown)


def test_what_a_seed_does_to_all_cells_does_not_pass_for_certainty() -> None:
    """By hand: two cells whose effects are 0.1, 0.2, 0.3 and 0.4, 0.5, 0.6 with three seeds have means of 0.25, 0.35
    and 0.45 over the cells, s = 0.1, t(2) = 4.303: 0.35 ± 0.248. Independent values within cells would have ± 0.113."""
    measure = Measure("alone", "goodput_bps", "more", "goodput")
    base = {cell: dict.fromkeys((1, 2, 3), 1.0) for cell in (0, 1)}
    mine = {cell: {seed: 1 / (1 - 0.3 * cell - 0.1 * seed) for seed in (1, 2, 3)} for cell in (0, 1)}
    (found,) = judged([compared(measure, "cubic", mine, base)])
    assert found["mean"] == pytest.approx(0.35)
    assert found["high"] - found["mean"] == pytest.approx(4.303 * 0.1 / 3**0.5, abs=1e-4)
    assert (found["runs"], found["worst_cell"], found["worst_repetition"]) == (6, 0, 1)
    assert judged([compared(measure, "cubic", {0: base[0]}, {0: base[0]})])[0]["finding"] == "as"


def test_a_measure_without_values_is_not_assessed() -> None:
    measure = Measure("alone", "p95_completion_s", "less", "")
    nothing: dict[int, dict[int, float | None]] = {0: {1: None, 2: None}}
    assert judged([compared(measure, "cubic", nothing, nothing)])[0]["finding"] == "not assessed"


def test_environments_are_those_that_are_worse_than_cubic(reno: Dossier) -> None:
    """Section 3.2 asks for environments where the algorithm is not recommended: rows of sections 6 and 7, and a row
    that is worse than Reno alone is listed apart."""
    content = json.loads(reno.to_json())
    (five, seven) = content["rows"]
    for row, worse in ((five, "cubic"), (seven, "reno")):
        for measure in row["measures"]:
            for base, against in measure["against"].items():
                against["finding"] = "worse" if base == worse else "as"
    text = Dossier(content).markdown()
    assert "in these environments: [choose from: none of those measured here]" in text
    assert "on which the first sentence depends: beside general-purpose control (5.2.1)." in text
    assert "Worse than Reno, and not than CUBIC: high delay (7.5)." in text


def test_the_words_of_a_measure_do_not_hide_that_it_got_worse(reno: Dossier) -> None:
    """An earlier dossier with other words for the same measure is compared all the same."""
    earlier = json.loads(reno.to_json())
    measure = earlier["rows"][1]["measures"][0]
    measure["what"], measure["against"]["cubic"]["finding"] = "other words", "better"
    assert [line.split(" ")[0] for line in reno.worsened(Dossier(earlier))] == ["7.5"]


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


def campaign(folder: Path, rates: dict[str, list[float]], transport: str = "tcp") -> Path:
    """A campaign at one server whose complete transfers have these rates, Mbit/s, and an RTT of 40 ms, as in
    `Measurement.read`."""
    spec = asked(algorithms=tuple(rates), rounds=2, transport=transport)
    row = {"server": SERVER, "ended": "complete", "mean_rtt_ms": 40.0, "loss_ratio": None}
    rows = [
        row | {"round": number, "algorithm": name, "goodput_bps": rate * 1e6}
        for name, values in rates.items()
        for number, rate in enumerate(values, 1)
    ]
    folders[folder] = Measurement(spec, rows)
    return folder


folders: dict[Path, Measurement] = {}


def test_a_campaign_adds_live_findings_within_its_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By hand: CTCP gets 49 to 51 % of CUBIC's rate in six blocks, on average half, and NewReno's; RTTs are equal."""
    monkeypatch.setattr("cwndlab.assessment.live.Measurement.read", folders.__getitem__)
    cubic = [10.0, 20.0, 10.1, 20.2, 10.2, 20.3]
    half = [value * share for value, share in zip(cubic, [0.5, 0.51, 0.49, 0.5, 0.51, 0.49], strict=True)]
    first = campaign(tmp_path / "a", {"newreno": half, "ctcp": half, "cubic": cubic})
    second = campaign(tmp_path / "b", {"ctcp": half, "cubic": half}, "quic")
    found = live(chosen(["6", "6.3", "7.5"]), "ctcp", [first, second])
    assert [(one["transport"], one["rounds"]) for one in found] == [("tcp", 6), ("quic", 6)]
    (goodput, rtt), (over_quic, _) = (one["measures"] for one in found)
    assert (goodput["section"], rtt["section"]) == ("6", "6.3")
    assert goodput["against"]["cubic"]["mean"] == pytest.approx(-0.5)
    assert [goodput["against"][base]["finding"] for base in ("cubic", "reno")] == ["worse", "as"]
    assert rtt["against"]["cubic"]["finding"] == "as"
    assert list(over_quic["against"]) == ["cubic"]
    with pytest.raises(cwndlab.ScenarioError, match="no transfers of 'bbr3' beside CUBIC or NewReno"):
        live(chosen(["6"]), "bbr3", [first])


@pytest.mark.parametrize("without", ["cubic", "ctcp"])
def test_a_transfer_without_an_rtt_is_no_loss(without: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """docs/assess.md: live transfers are compared within complete blocks. Equal RTTs in five of six blocks are equal,
    whichever side has none in the sixth."""
    monkeypatch.setattr("cwndlab.assessment.live.Measurement.read", folders.__getitem__)
    folder = campaign(tmp_path / "a", {"ctcp": [10.0 + n for n in range(6)], "cubic": [10.0 + n for n in range(6)]})
    (row,) = [one for one in folders[folder].rows if (one["algorithm"], one["round"]) == (without, 6)]
    row["mean_rtt_ms"] = None
    (found,) = live(chosen(["6.3"]), "ctcp", [folder])
    against = found["measures"][0]["against"]["cubic"]
    assert (against["finding"], against["mean"], against["runs"]) == ("as", 0.0, 5)


def test_the_live_part_has_a_table_and_environments(reno: Dossier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cwndlab.assessment.live.Measurement.read", folders.__getitem__)
    rates = {"newreno": [5.0, 6.0], "cubic": [10.0, 12.0]}
    here = campaign(Path("here"), rates)
    found = cwndlab.assess("reno", quick=True, seeds=2, sections=["6.3"], live=[here])
    assert found.rows[0]["environments"] == ["simulated", "live TCP"]
    text = found.markdown()
    assert "Environments: simulated, and live in a table of its own." in text
    assert "| 6.3 | wired paths: RTT, alone | live TCP | https://127.0.0.1:9 | 2 | as CUBIC | as Reno |" in text
    assert "## Live" not in reno.markdown()
