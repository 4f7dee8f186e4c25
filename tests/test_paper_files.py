"""Paper files: what a block states, and the place and the fault of a file that is not sound."""

from __future__ import annotations

from pathlib import Path

import pytest
from cwndlab.errors import Fault, ScenarioError
from cwndlab.reproduction import PAPERS
from cwndlab.reproduction.claims import Greater, RatioIn
from cwndlab.reproduction.paper_file import Paper
from cwndlab.reproduction.templates import TemplateError, Templates

HEAD = """
authors = "A"
title = "T"
venue = "2026"
summary = []

[[headline]]
key = "fast"
claim = "A is faster than B"
section = "abstract"
"""
#: An experiment of the IoT paper's code: its path has everything that a new paper would need.
EXPERIMENT = """
[[experiment]]
id = "fig1"
title = "t"
section = "s"
published = "p"
quick = {duration_s = 10, repetitions = 2, rates = [1, 2]}
full = {duration_s = 100, repetitions = 3, rates = [1, 2, 4]}
chart = []

[[experiment.case]]
for = {rate = "{size.rates}", who = {a = "reno", b = "cubic"}}
labels = {who = "{who}", rate = "{rate}"}
scenario = "sources"
with = {algorithm = "{who.value}", stack = {}}
measure = "measure_tcp"

[[experiment.claim]]
quantity = "throughput, a / b, at {size.rates.last} and less"
published = "faster"
metric = "goodput_bps"
sides = {who = ["a", "b"]}
greater = {gain = 0.5}
headline = "fast"
"""


def paper(tmp_path: Path, text: str) -> Paper:
    """The paper of a text, with the code of the IoT paper."""
    path = tmp_path / "iot.toml"
    path.write_text(text, encoding="utf-8")
    return Paper(path)


def expand(one: Paper) -> None:
    """Makes all cases and claims."""
    for experiment in one.experiments:
        experiment.cases(experiment.quick)
        experiment.claims(experiment.quick)


def fault(tmp_path: Path, text: str) -> Fault:
    """The one fault of a text."""
    with pytest.raises(ScenarioError) as error:
        expand(paper(tmp_path, text))
    (found,) = error.value.faults
    return found


def test_a_grid_has_its_loops_outermost_first_and_a_claim_its_own_words(tmp_path: Path) -> None:
    (one,) = paper(tmp_path, HEAD + EXPERIMENT).experiments
    assert one.id == "iot/fig1"
    assert [dict(case.labels) for case in one.cases(one.quick)] == [
        {"who": who, "rate": rate} for rate in (1, 2) for who in ("a", "b")
    ]
    assert {case.scenario["duration"] for case in one.cases(one.full)} == {"100.0 s"}
    (claim,) = one.claims(one.full)
    assert claim.quantity == "throughput, a / b, at 4 and less"
    assert claim.sides == [{"who": "a"}, {"who": "b"}]
    assert claim.relation == Greater(1.5)
    assert claim.headline == "iot:fast"


def test_a_reading_is_evidence_of_no_headline(tmp_path: Path) -> None:
    (one,) = paper(tmp_path, HEAD + EXPERIMENT + 'kind = "reading"\n').experiments
    assert [claim.headline for claim in one.claims(one.quick)] == [""]


def test_alike_within_five_per_cent_is_a_band_of_ratios(tmp_path: Path) -> None:
    (one,) = paper(tmp_path, HEAD + EXPERIMENT.replace("greater = {gain = 0.5}", "alike = 0.95")).experiments
    assert [claim.relation for claim in one.claims(one.quick)] == [RatioIn(0.95, 1 / 0.95)]


@pytest.mark.parametrize(
    ("old", "new", "where", "what", "hint"),
    [
        ('section = "s"\n', "", "iot.toml: experiment[0]", "'section' is missing", "add section"),
        ("metric =", "metrik =", "iot.toml: experiment[0].claim[0].metrik", "is not a key here", "'metric'"),
        ('scenario = "sources"', "scenario = 3", "iot.toml: experiment[0].case[0].scenario", "is a number, not", ""),
        (
            'headline = "fast"',
            'headline = "fats"',
            "iot.toml: experiment[0].claim[0].headline",
            "no headline has the key 'fats'",
            "'fast'",
        ),
        ("greater = {gain = 0.5}", "", "iot.toml: experiment[0].claim[0]", "states no relation", ""),
        (
            "{size.rates.last}",
            "{size.speeds.last}",
            "iot.toml: experiment[0].claim[0]",
            "nothing is called '{size.speeds.last}' here",
            "",
        ),
        ('"sources"', '"source"', "iot.toml: experiment[0].case[0]", "iot_paths.py has no function 'source'", ""),
        (
            "with = {algorithm =",
            "with = {algoritm =",
            "iot.toml: experiment[0].case[0]",
            "scenario 'sources': missing a required argument: 'algorithm'",
            "",
        ),
        ('"reno"', '"@algorithms.reno"', "iot.toml: experiment[0]", "there is no 'algorithms'", ""),
    ],
)
def test_a_fault_has_its_place(tmp_path: Path, old: str, new: str, where: str, what: str, hint: str) -> None:
    assert old in EXPERIMENT
    found = fault(tmp_path, HEAD + EXPERIMENT.replace(old, new))
    assert found.where == where
    assert what in found.what
    assert hint in found.hint


def test_all_faults_of_the_keys_are_reported_at_once(tmp_path: Path) -> None:
    one = paper(tmp_path, (HEAD + EXPERIMENT).replace('venue = "2026"', "").replace("labels", "label"))
    with pytest.raises(ScenarioError) as error:
        _ = one.experiments
    places = [found.where for found in error.value.faults]
    assert places == ["iot.toml", "iot.toml: experiment[0].case[0]", "iot.toml: experiment[0].case[0].label"]


def test_a_file_that_is_not_toml_says_so(tmp_path: Path) -> None:
    found = fault(tmp_path, "authors = ")
    assert found.where.endswith("iot.toml")
    assert found.what.startswith("cannot be read: ")


def test_values_of_a_dimension_are_given_for_each_choice(tmp_path: Path) -> None:
    text = HEAD + '[dimension.rtt]\nname = "RTT"\nreason = "open"\nchoices = ["a", "b"]\nvalues = [1]\n'
    found = fault(tmp_path, text)
    assert (found.where, found.what) == ("iot.toml: dimension.rtt", "has 1 values for 2 choices")


def test_elements_of_a_list_are_chosen_by_bounds_and_evenly() -> None:
    """By hand: of eight, each fourth one is two of them."""
    templates = Templates({"all": [1, 2, 3, 4, 5, 6, 7, 8]})
    assert templates.fill({"of": "@all", "from": 3, "below": 5}, {}) == [3, 4]
    assert templates.fill({"of": "@all", "spread": 2}, {}) == [4, 8]
    assert templates.fill({"of": ["a", "b"], "without": ["a"]}, {}) == ["b"]
    assert templates.fill({"each": {"x": [1, 2]}, "make": {"n": "{x}"}}, {}) == [{"n": 1}, {"n": 2}]
    with pytest.raises(TemplateError, match="there is no 'none'; the file has all"):
        templates.fill("@none", {})


@pytest.mark.parametrize("name", PAPERS)
def test_every_headline_and_dimension_of_a_paper_is_used(name: str) -> None:
    one = PAPERS[name]
    claims = [claim for experiment in one.experiments for claim in experiment.claims(experiment.full)]
    claims += [claim for space in one.spaces for claim in space.claims(space.base)]
    assert {headline.key for headline in one.headlines} == {claim.headline for claim in claims} - {""}
    used = {dimension.name for space in one.spaces for dimension in space.dimensions}
    assert {dimension["name"] for dimension in one.document.get("dimension", {}).values()} == used
