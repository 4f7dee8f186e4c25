"""`cwndlab.register`: classes in Python that scenarios, commands and the catalogue know by name."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import cwndlab
import pytest
from custom_classes import Fixed, PyReno, in_first_flow, location
from cwndlab import Flow, Scenario, ScenarioError, catalogue, custom
from cwndlab.simulate import run_many
from cwndlab.study.compare import compare


@pytest.fixture
def registry() -> Iterator[None]:
    """Removes what a test registers."""
    before = set(custom.registered())
    yield
    for name in custom.registered().keys() - before:
        custom.unregister(name)


@pytest.mark.usefixtures("registry")
def test_a_registered_class_is_used_by_name_like_a_built_in_one(scenario: Scenario) -> None:
    """Every way to name an algorithm gives the same run as passing the class."""
    given = scenario.with_({"flow[0].algorithm": "py-reno/sack"}, algorithms={"py-reno": PyReno})
    assert cwndlab.register(PyReno) is PyReno
    cwndlab.register(Fixed, "eight")
    named = scenario.with_({"flow[0].algorithm": "py-reno/sack"})
    assert named.to_document() == given.to_document()
    assert named == given == Scenario.from_toml(named.to_toml()) == pickle.loads(pickle.dumps(named))
    assert named.classes == {"py-reno": PyReno}
    expected = cwndlab.run(given, seed=1).hash()
    flows = [Flow("py-reno/sack", rtt=flow.rtt) for flow in scenario.flows[:1]]
    built = Scenario(duration="1 s", dumbbell=scenario.dumbbell, flows=flows)
    assert built.classes == {"py-reno": PyReno}
    document = scenario.to_document()
    document["flow"][0]["algorithm"] = "py-reno/sack"
    assert {cwndlab.run(one, seed=1).hash() for one in (named, document)} == {expected}
    assert {records.hash() for _, records in run_many([(named, 1), (document, 1)])} == {expected}
    compared = compare(scenario, ["reno", "py-reno"], seeds=2)
    assert compared.values("reno", "goodput_bps") == compared.values("py-reno", "goodput_bps")
    assert cwndlab.check("eight(segments=4)", quick=True).rules
    swept = cwndlab.sweep(scenario, algorithms=["reno", "py-reno"], seeds=[1])
    assert swept.runs["goodput_bps"][0] == swept.runs["goodput_bps"][1]


@pytest.mark.usefixtures("registry")
def test_the_catalogue_lists_registered_classes() -> None:
    cwndlab.register(Fixed, "eight")
    entry = cwndlab.algorithms()[-1]
    assert (entry.name, entry.title, entry.kind, entry.summary) == (
        "eight",
        "Fixed",
        "whole",
        "Only the required methods.",
    )
    assert [str(one) for one in entry.parameters] == ["segments=8", "halve=false"]
    assert [one.domain for one in entry.parameters] == ["any number", "false | true"]
    assert cwndlab.explain("eight").startswith("eight — Fixed (whole)\n")
    assert catalogue.canonical("eight(segments=9)") == "eight(segments=9)"
    assert entry in cwndlab.algorithms("whole")
    custom.unregister("eight")
    assert entry not in cwndlab.algorithms()
    with pytest.raises(ScenarioError, match="no algorithm is called 'eight'"):
        catalogue.canonical("eight")


@pytest.mark.usefixtures("registry")
def test_a_name_is_registered_once_and_is_not_a_built_in_one() -> None:
    cwndlab.register(Fixed, "mine")
    with pytest.raises(ScenarioError) as raised:
        cwndlab.register(PyReno, "mine")
    assert str(raised.value) == (
        f"{location()}, class PyReno: 'mine' is registered already ({location()}, class Fixed)\n"
        "  hint: give another name, or remove it by cwndlab.custom.unregister('mine')"
    )
    with pytest.raises(ScenarioError) as raised:
        cwndlab.register(PyReno, "cubic")
    assert str(raised.value) == (
        f"{location()}, class PyReno: 'cubic' is an algorithm of the catalogue\n  hint: give the class another name"
    )
    with pytest.raises(ScenarioError, match="has no method 'on_ack'"):
        cwndlab.register(int, "int")  # type: ignore[type-var]
    with pytest.raises(ScenarioError) as raised:
        custom.unregister("other")
    assert str(raised.value) == "name: no class is registered as 'other'\n  hint: registered: mine"


@pytest.mark.usefixtures("registry")
def test_a_registered_class_leaves_other_scenarios_as_they_are(scenario: Scenario) -> None:
    """Those that do not name it, and those that describe another class of its name."""
    plain = scenario.to_json()
    other = in_first_flow(scenario, PyReno).to_json().replace("PyReno", "Other")
    theirs = json.loads(other)
    theirs["algorithms"]["py-reno"]["sha256"] = "0" * 64
    cwndlab.register(PyReno)
    assert scenario.with_().to_json() == plain
    assert scenario.with_().classes == {}
    assert Scenario.from_json(json.dumps(theirs)).classes == {}
    with pytest.raises(ScenarioError, match=r"the class Other of .* is not available"):
        cwndlab.run(theirs, seed=1)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    "change",
    [{"flow": 5}, {"flow": ["reno"]}, {"flow": [{"algorithm": 5}]}, {"algorithms": 5}, {"algorithms": {"py-reno": 5}}],
)
def test_faults_of_a_document_are_the_same_with_registered_classes(scenario: Scenario, change: dict[str, Any]) -> None:
    document = scenario.to_document() | change
    faults = []
    for name in (None, "py-reno"):
        if name is not None:
            cwndlab.register(PyReno, name)
        for use in (lambda: cwndlab.run(document, seed=1), lambda: Scenario.from_json(json.dumps(document))):
            with pytest.raises(ScenarioError) as raised:
                use()
            faults.append(raised.value.faults)
    assert faults[0] == faults[2]
    assert faults[1] == faults[3]
