"""Base assumptions of the CUBIC study, the IoT paper and the Windows study: what is printed, and how it is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from cwndlab import metrics
from cwndlab.records import Records
from cwndlab.reproduction import find
from cwndlab.reproduction.catalogue import spaces
from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.papers import (
    cubic_study_paths,
    iot_measures,
    iot_paths,
    windows_lte_measures,
    windows_lte_paths,
)
from cwndlab.reproduction.universes import Space
from cwndlab.scenario.reader import check
from cwndlab.simulate import run_many

PAPERS = ("cubic-study", "iot", "windows-lte")
SPACES = (*spaces("cubic-study"), *spaces("iot"), *spaces("windows-lte"))


def run_once(document: Mapping[str, Any], seed: int = 1) -> Records:
    """The records of one run."""
    ((_, records),) = run_many([(dict(document), seed)])
    assert isinstance(records, Records)
    return records


def test_a_sentence_of_a_paper_has_its_words() -> None:
    """At most fifteen. That CTCP is faster than NewReno is in the Windows study's Table I and in no sentence."""
    mine = [one for one in headlines() if one.paper in PAPERS]
    assert all(len(one.quote.split()) <= 15 for one in mine)
    assert [one.key for one in mine if not one.quote] == ["windows-lte:ctcp"]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.id)
def test_universes_have_runs_and_the_same_claims(space: Space) -> None:
    """In every universe of the quick sample: sound scenarios, claims whose sides are run."""
    titles = [(claim.quantity, claim.headline) for claim in space.claims(space.base)]
    for universe in space.sample(quick=True):
        cases = space.cases(universe)
        for case in cases:
            check(json.dumps(case.scenario), "json")
        claims = space.claims(universe)
        assert [(claim.quantity, claim.headline) for claim in claims] == titles
        for claim in claims:
            for side in claim.sides:
                assert any(side.items() <= dict(case.labels).items() for case in cases), claim.quantity


def hashes(scenarios: Sequence[Mapping[str, Any]]) -> set[str]:
    """Of scenarios without their titles."""
    return {check(json.dumps({**one, "title": ""}), "json").hash for one in scenarios}


def test_the_first_choices_are_the_experiments_base() -> None:
    """The base universe has the scenarios of the experiments, apart from titles and durations."""
    base_of = {"iot/fig7": "iot/background", "iot/fig2": "iot/parameters"}
    for figure, name in base_of.items():
        (experiment,) = find(figure)
        (iot,) = (space for space in spaces("iot") if space.id == name)
        mine = [case for case in iot.cases(iot.base) if case.labels.get("parameter", "alpha") == "alpha"]
        assert hashes([case.scenario for case in mine]) <= hashes(
            [case.scenario for case in experiment.cases(experiment.full)]
        )
    (fig7,) = find("cubic-study/fig7")
    reverse = spaces("cubic-study")[0]
    printed = [case.scenario for case in fig7.cases(replace(fig7.full, duration_s=200.0))]
    assert hashes([case.scenario for case in reverse.cases(reverse.base)]) <= hashes(printed)
    (table1,) = find("windows-lte/table1")
    cells = [case.scenario for case in table1.cases(table1.quick) if case.labels["loss"] == 0]
    space = spaces("windows-lte")[0]
    assert hashes([case.scenario for case in space.cases(space.base)]) == hashes(cells)


def test_the_printed_sst_is_algorithm_2s_alone() -> None:
    """Algorithm 2: sst = 100. The paper says so of no other variant."""
    (fig7,) = find("cubic-study/fig7")
    limits = {
        (case.labels["reading"], case.labels["variant"]): case.scenario["flow"][0]["stack"].get("initial_ssthresh")
        for case in fig7.cases(fig7.quick)
    }
    for (reading, variant), limit in limits.items():
        assert limit == (100 if variant == "CUBIC (Algorithm 2)" or reading == "sst = 100 for all" else None)


def test_algorithm_2_as_printed_grows_by_two_and_a_half_segments_a_second() -> None:
    """By hand: cnt ≥ cwnd · 8 / (20 · min_delay) ACKs per segment, so that cwnd ACKs, a round trip of 0.1 s, add at
    most 0.25 segments. Eqs. 2 and 3 alone: K is about ten seconds where a window of thousands was lost, and the slope
    3 · 0.4 · (t − K)² is 20 segments/s and more at 3 to 6 s."""
    slopes = {}
    (fig2,) = find("cubic-study/fig2")
    for case in fig2.cases(fig2.full):
        records = run_once(case.scenario)
        assert case.trace is not None
        times, windows_ = case.trace(records)["cwnd"]
        after = {round(time, 1): window for time, window in zip(times, windows_, strict=True)}
        first, last = after[3.0], after[6.0]
        assert first is not None
        assert last is not None
        slopes[case.labels["variant"]] = (last - first) / 3
    assert len(slopes) == 4
    assert slopes["CUBIC (Algorithm 2)"] == pytest.approx(2.5, abs=1 / 3)  # whole segments over 3 s
    assert min(slope for name, slope in slopes.items() if name != "CUBIC (Algorithm 2)") > 20


def test_a_sink_on_the_wireless_side_takes_the_air_twice() -> None:
    """A packet from a mobile node to another one crosses the cell to the access point and from it: half is left."""
    newreno: tuple[str, dict[str, Any]] = ("reno+standard/newreno", {})
    sinks: tuple[cubic_study_paths.Sinks, ...] = ("wire", "mobile")
    rates = [
        float(
            metrics.goodput(
                run_once(cubic_study_paths.cell(*newreno, downloads=0, uploads=1, sinks=sink, duration_s=10))
            )["goodput_bps"][0]
        )
        for sink in sinks
    ]
    assert rates[1] / rates[0] == pytest.approx(0.5, abs=0.1)


def test_frames_collide_if_the_sides_of_a_cell_do_not_hear_each_other() -> None:
    """Hidden stations (Kleinrock and Tobagi 1975): frames that begin during another one are lost at the access point,
    which does not happen where all nodes hear each other. Such a cell carries what the cell without positions does."""
    newreno: tuple[str, Mapping[str, Any]] = ("reno+standard/newreno", {})
    load: Any = {"downloads": 0, "uploads": 10, "duration_s": 10.0}
    hearing: tuple[cubic_study_paths.Hearing, ...] = ("all", "one side", "one side, RTS")
    plain = run_once(cubic_study_paths.cell(*newreno, **load))
    runs = [run_once(cubic_study_paths.hidden_cell(*newreno, hears=hears, **load)) for hears in hearing]
    hidden = [run.stations.sort("time_ns").group_by("station").last()["hidden_failures"].sum() for run in runs]
    assert hidden[0] == 0
    assert min(hidden[1:]) > 100
    goodput = [float(metrics.goodput(run)["goodput_bps"].sum()) for run in (runs[0], plain)]
    assert goodput[0] == pytest.approx(goodput[1], rel=0.1)


def test_the_first_window_of_the_iot_paper_is_a_bandwidth() -> None:
    """Eq. 1 as printed, by hand: an access link of 1 Mbit/s is 125 packets of 1000 bytes a second (120 with headers);
    over alpha = 4 that is 30 to 31 segments, where a share of the BDP at 100 ms is 3."""
    first = {}
    for reading in ("increase=literal, mode=literal", "increase=literal"):
        flows = [iot_paths.flow((f"iotcc({reading})/fack", {}), 100.0, start_s=1.0)]
        document = iot_paths.scenario(flows, delay_ms=50.0, duration_s=3) | {"sample_interval": "10 ms"}
        records = run_once(document)
        established = records.events.filter(records.events["kind"] == "established")["time_ns"][0]
        # The window before the first ACK of data comes back.
        samples = records.samples.filter(records.samples["time_ns"] > established)
        first[reading] = samples["cwnd_bytes"][0] / 1000
    assert 29 <= first["increase=literal, mode=literal"] <= 32
    assert 2 <= first["increase=literal"] <= 4


def test_shares_of_what_a_path_carries_end_at_one() -> None:
    """Ten flows fill 1.5 Mbit/s, one flow its access link of 1 Mbit/s: by hand 1000/1040 of either is payload.
    Each flow's rate counts from its own start, up to 1 of 60 s late."""
    for count, line in ((10, 1.5e6), (1, 1e6)):
        flows = [iot_paths.flow(("cubic-ns2", {}), 40.0, count)]
        found = iot_measures.measure_tcp(run_once(iot_paths.scenario(flows, delay_ms=20.0, duration_s=60)))
        assert found["delivered_share"] is not None
        assert found["goodput_bps"] == pytest.approx(found["delivered_share"] * line * 1000 / 1040)
        assert 0.95 < found["delivered_share"] <= 1.01


def test_a_change_is_measured_from_its_instant_on() -> None:
    """By hand: 100 s with a change every 20 s fall at 20 and 60 and rise at 40 and 80."""
    document = iot_paths.scenario([iot_paths.flow(("cubic-ns2", {}), 100.0)], delay_ms=50.0, duration_s=100)
    risen, fallen = iot_measures._spans(run_once(document))
    assert risen == [(40.0, 45.0), (80.0, 85.0)]
    assert fallen == [(20.0, 25.0), (60.0, 65.0)]
    (adapts,) = find("iot/adapts")
    bandwidth = adapts.cases(adapts.quick)[0].scenario["dumbbell"]["bottleneck"]["schedule"]
    assert [(step["at"], step["rate"]) for step in bandwidth] == [
        ("20 s", "0.5 Mbps"),
        ("40 s", "1.5 Mbps"),
        ("60 s", "0.5 Mbps"),
        ("80 s", "1.5 Mbps"),
    ]


@pytest.mark.parametrize("mbps", [8.0, 11.0, 14.0, 20.0])
def test_the_cell_has_the_mean_rate_that_its_name_says(mbps: float) -> None:
    """Table I prints "11 (Mbps)"; the others are choices of the multiverse."""
    space = spaces("windows-lte")[0]
    (case, *_) = space.cases({**space.base, "LTE cell": f"{mbps:g} Mbps, varying"})
    links = run_once(dict(case.scenario) | {"duration": "5 s"}).links
    assert links.filter(links["name"] == "lte")["rate_bps"][0] == pytest.approx(mbps * 1e6, rel=0.002)


def test_a_download_is_measured_from_its_start_on() -> None:
    """CUBIC keeps the line busy from its first seconds on, up to 30 s late: the whole run's use misses them."""
    records = run_once(windows_lte_paths.download("cubic", loss=0.0, duration_s=60), seed=2)
    start_s = records.flows["start_ns"][0] / 1e9
    assert start_s > 5
    found = windows_lte_measures.measure_download(records)
    assert found["lte_utilisation"] is not None
    assert found["delivered_share"] is not None
    whole = float(records.links.filter(records.links["name"] == "lte")["utilisation"][0])
    assert whole < 0.95 * found["lte_utilisation"]
    assert 0.6 < found["delivered_share"] <= found["lte_utilisation"] + 0.01
