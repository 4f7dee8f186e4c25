"""Router-assisted schemes from a scenario: agents of links, fallback, faults."""

from __future__ import annotations

from typing import Any

import cwndlab
import polars as pl
import pytest


def scenario(algorithm: str, agents: list[Any] | None, at_access: list[Any] | None = None) -> cwndlab.Scenario:
    bottleneck = cwndlab.Link(rate="20 Mbit/s", delay="10 ms", queue=cwndlab.DropTail("2 bdp"), agents=agents)
    path = cwndlab.Dumbbell(bottleneck=bottleneck, access=cwndlab.Access(rate="1 Gbit/s", agents=at_access))
    return cwndlab.Scenario(duration="10 s", dumbbell=path, flows=[cwndlab.Flow(algorithm, rtt="50 ms")])


def fallbacks(records: cwndlab.Records) -> int:
    return len(records.events.filter(pl.col("kind") == "fallback"))


@pytest.mark.parametrize(
    ("algorithm", "scheme"),
    [
        ("rcp", "rcp"),
        ("perc", "perc"),
        ("abc-wireless", "abc"),
        ("iotcc", "bandwidth-stamp"),
        ("cubic+quick-start", "quick-start"),
        ("cubic+alss-sirens", "sirens"),
    ],
)
def test_a_scheme_works_with_its_agent_and_falls_back_without(algorithm: str, scheme: str) -> None:
    with_agent = cwndlab.run(scenario(algorithm, [scheme]), seed=1)
    assert fallbacks(with_agent) == 0
    without = cwndlab.run(scenario(algorithm, None), seed=1)
    assert fallbacks(without) >= 1
    for records in (with_agent, without):
        assert cwndlab.metrics.total_goodput(records, start_s=5)["goodput_bps"][0] > 10e6


def test_a_router_of_the_access_link_counts_too() -> None:
    assert fallbacks(cwndlab.run(scenario("rcp", ["rcp"], at_access=[]), seed=1)) == 1


def test_parameters_of_an_agent_matter() -> None:
    def total(eta: float) -> float:
        agents = [{"scheme": "abc", "eta": eta, "threshold": "100 ms"}]
        records = cwndlab.run(scenario("abc-wireless", agents), seed=1)
        return float(cwndlab.metrics.total_goodput(records, start_s=5)["goodput_bps"][0])

    assert total(0.5) < 0.75 * total(0.98)


@pytest.mark.parametrize(
    ("agents", "where", "what"),
    [
        (["rpc"], "dumbbell.bottleneck.agents[0].scheme", "'rpc' is not a valid value"),
        (["rcp", "rcp"], "dumbbell.bottleneck.agents[1]", "the link already has an agent of this scheme"),
        ([{"alpha": 0.1}], "dumbbell.bottleneck.agents[0].scheme", "is missing"),
        ([{"scheme": "rcp", "gamma": 1}], "dumbbell.bottleneck.agents[0].gamma", "no such field"),
    ],
)
def test_faults_say_where(agents: list[Any], where: str, what: str) -> None:
    with pytest.raises(cwndlab.ScenarioError) as caught:
        scenario("rcp", agents)
    assert [fault.where for fault in caught.value.faults] == [where]
    assert what in caught.value.faults[0].what
