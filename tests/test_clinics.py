"""The presets of clinics and districts, and our own experiments in them, which no paper has."""

from __future__ import annotations

import json

import cwndlab
import pytest
from cwndlab.reproduction import PAPERS, find
from cwndlab.reproduction.claims import Finding
from cwndlab.reproduction.controls import placebo
from cwndlab.reproduction.headlines import rows
from cwndlab.reproduction.paper_page import index_page
from cwndlab.reproduction.papers.clinic_measures import measure_classes
from cwndlab.reproduction.papers.clinic_paths import in_preset
from cwndlab.scenario.reader import check
from cwndlab.simulate import run_many


def levels(preset: str, **changes: object) -> dict[str, dict[str, float]]:
    """The service levels of a run by class."""
    scenario = cwndlab.presets.load(preset).with_(changes)
    return {row["class"]: row for row in cwndlab.service.levels(cwndlab.run(scenario, seed=1)).to_dicts()}


def test_a_bed_sends_its_curves_and_alarms_as_published() -> None:
    """By hand: three ECG leads of 250 Hz, saturation and two pressures of 125 Hz and respiration of 62.5 Hz, of 16 bit
    each, are 19 kbit/s, 608 bytes in 256 ms; 187 alarms a day are one in 462 s."""
    flows = {flow["name"]: flow for flow in json.loads(cwndlab.presets.load("ward").to_json())["flow"]}
    bits_per_s = (3 * 250 + 3 * 125 + 62.5) * 16
    assert flows["waveforms"]["workload"]["payload"] == f"{bits_per_s * 0.256 / 8:.0f} B"
    assert flows["alarms"]["workload"]["period"]["mean"] == f"{86400 / 187:.0f} s"


def test_monitors_are_late_beside_visitors_and_not_on_a_channel_of_their_own() -> None:
    """An idle 802.11n cell delivers a message of 608 bytes within a few frame exchanges of less than a millisecond; a
    queue of 1000 packets that is full takes a third of a second at 35 Mbit/s."""
    channel = {"medium[+].name": "visitors", "link[7].medium": "visitors", "link[8].medium": "visitors"}
    shared, alone = (levels("ward", duration="40 s", **changes) for changes in ({}, channel))
    assert alone["waveforms"]["p99_delay_s"] < 0.005
    assert alone["waveforms"]["in_time"] == alone["voice"]["in_time"] == 1
    assert shared["waveforms"]["p99_delay_s"] > 0.05
    assert shared["voice"]["in_time"] < 0.95


def test_meters_collapse_with_rfc_7252_and_not_if_they_start_one_after_another() -> None:
    """10,000 messages of 152 bytes with headers take 122 s at 100 kbit/s. Within ten seconds they meet a queue of 20 s,
    behind which a timeout of two to three seconds sends copies; over two minutes they need no queue."""
    at_once, spread, fasor = (
        levels("smart-city", **changes)["meters"]
        for changes in ({}, {"flow[0].start_jitter": "120 s"}, {"flow[0].workload.control": "fasor"})
    )
    assert at_once["messages"] == 10_000
    assert at_once["in_time"] < 0.95 < 0.99 < fasor["in_time"]
    assert spread["in_time"] == 1
    assert spread["p99_delay_s"] < 20


@pytest.mark.parametrize(("preset", "count"), [("clinic", 2), ("ward", 6)])
def test_a_preset_gets_another_algorithm_and_queue_at_its_bottlenecks(preset: str, count: int) -> None:
    base = json.loads(cwndlab.presets.load(preset).to_json())
    made = in_preset(preset, "reno", 30, queue="fq-codel")
    check(json.dumps(made), "json")
    changed = [one for one, old in zip(made["link"], base["link"], strict=True) if one != old]
    assert [one["queue"]["kind"] for one in changed] == ["fq-codel"] * count
    before, after = ([flow.get("algorithm") for flow in one["flow"]] for one in (base, made))
    assert after == ["reno" if name == "cubic" else name for name in before]
    assert in_preset(preset, "cubic", 30)["link"] == base["link"]
    stamped = in_preset(preset, "iotcc", 30)["link"]
    assert all(("agents" in link) == ("medium" not in link) for link in stamped)


def test_without_uploads_prior_studies_take_what_the_line_allows() -> None:
    """By hand: 60 MB and headers take 10 s at 50 Mbit/s, and other classes use a part of it. Voice is late where the
    uplink is full, and down only while the prior studies come."""
    without = ["ct", "radiographs", "backup"]
    documents = [in_preset("clinic", "cubic", 120, without=names) for names in ([], without)]
    runs = dict(run_many([(one, 1) for one in documents]))
    behind, free = (measure_classes(runs[index]) for index in range(2))
    assert free["study_s"] is None
    assert free["priors_s"] is not None
    assert 10 < free["priors_s"] < 20
    assert free["voice_late"] is not None
    assert behind["voice_late"] is not None
    assert free["voice_late"] < 0.1 < 0.2 < behind["voice_late"]


def test_our_own_experiments_count_for_no_paper_and_have_controls() -> None:
    """Their file counts them, the number of papers does not, and a placebo is asked of them as of a paper's claim."""
    assert [name for name, paper in PAPERS.items() if paper.kind == "own"] == ["clinic"]
    (line,) = find("clinic/line")
    own = [claim for claim in line.claims(line.full) if claim.kind == "own"]
    assert own
    assert {claim.kind for claim in line.claims(line.full)} == {"own", "reading"}
    for claim in own:
        one = placebo.substitute(claim, line.cases(line.full), line.placebos, line.tested)
        assert one is not None, claim.quantity
        assert one.by == ("reno" if claim.headline == "clinic:order" else "cubic+standard")
    finding = Finding("clinic/line", "q", "w", 0.9, 0.8, 0.95, "holds", "", kind="own", headline=own[0].headline)
    (row,) = rows([{"findings": [finding.as_dict()]}])
    assert row.counts
    assert row.kind == "own"
    assert "<title>One paper, run again" in index_page({"phcc": [], "clinic": []})


def test_a_paper_without_universes_has_no_reading_to_search() -> None:
    from cwndlab.reproduction.multiverse.joint import search

    with pytest.raises(cwndlab.ScenarioError, match="'clinic' has no universes"):
        search("clinic")
