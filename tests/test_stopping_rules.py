"""Stopping rules of comparisons and sweeps: what they may be on, and what both refuse alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.statistics import Until
from cwndlab.study.compare import compare
from cwndlab.study.sweeps import sweep

Called = tuple[int, str, str]
RTT = {"flow[0].rtt": ["40 ms", "60 ms"]}


def scenario() -> cwndlab.Scenario:
    """Two flows for half a second, of which one has a name with a blank."""
    flows = [cwndlab.Flow("reno", rtt="40 ms", name="my flow"), cwndlab.Flow("reno", rtt="20 ms")]
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    return cwndlab.Scenario(duration="500 ms", dumbbell=path, flows=flows)


@pytest.mark.parametrize("metric", ["goodput_bps@flow1", "share@my flow", "p95_queue_ms"])
def test_a_rule_may_be_on_a_metric_of_one_flow(metric: str) -> None:
    """Within a millionth of a per cent: never known, so that all five repetitions run."""
    until = f"{metric} within 0.000001 %"
    assert Until.parse(until, [metric], at_most=5).metric == metric
    compared = compare(scenario(), ["reno"], seeds=2, until=until, at_most=5)
    swept = sweep(scenario(), over=RTT, seeds=2, until=until, at_most=5)
    for result in (compared, swept):
        assert result.seeds == [1, 2, 3, 4, 5]
        assert result.runs[metric].null_count() == 0
    # Within 1000 % it is known after the first look.
    loose = compare(scenario(), ["reno"], seeds=2, until=f"{metric} within 1000 %", at_most=5)
    assert loose.seeds == [1, 2]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"at_most": 5}, "at_most: there is no stopping rule"),
        ({"until": "jain within 2 %", "at_most": 3, "seeds": 5}, "at_most: 3 is less than the 5 seeds"),
        ({"until": "share@nobody within 2 %", "at_most": 30}, "until: 'share@nobody': no flow is called 'nobody'"),
    ],
)
def test_comparisons_and_sweeps_refuse_the_same(asked: dict[str, Any], said: str) -> None:
    for run in (partial(compare, scenario(), ["reno"]), partial(sweep, scenario(), over=RTT)):
        with pytest.raises(ScenarioError) as error:
            run(**asked)
        assert str(error.value).splitlines()[0].removeprefix("sweep.") == said


def test_the_rule_of_a_comparison_is_by_default_at_most_50() -> None:
    found = compare(scenario(), ["reno"], seeds=2, until="jain within 1000 %")
    assert found.header.until == "jain within 1000 %, at most 50"
    many = compare(scenario(), ["reno"], seeds=51, until="jain within 1000 %")
    assert many.header.until == "jain within 1000 %, at most 51"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--at-most", "5"], "--at-most: there is no stopping rule\n  hint: write --until 'goodput_bps within 2 %'\n"),
        (
            ["--until", "jain within 2 %", "--repetitions", "5", "--at-most", "3"],
            "--at-most: 3 is less than the 5 seeds\n  hint: write more\n",
        ),
        (
            # 2⁶³ is 9223372036854775808: the last of the seeds that the rule adds is no longer below it.
            ["--until", "jain within 0.1 %", "--seed", "9223372036854775790", "--repetitions", "2", "--at-most", "20"],
            "--seed: 18 more seeds after 9223372036854775791 exceed 63 bits\n  hint: begin with a smaller one\n",
        ),
    ],
)
def test_the_command_refuses_a_rule_before_anything_runs(
    given: list[str], said: str, cli: Callable[..., Called]
) -> None:
    assert cli("compare", "single", "--algorithms", "reno", *given) == (2, "", said)


@pytest.mark.parametrize(("largest", "at_most"), [(2**63 - 1, 2), (2**63 - 3, 4)])
def test_a_rule_takes_every_seed_below_the_limit(largest: int, at_most: int) -> None:
    """By hand: two more seeds after 2⁶³ − 3 are 2⁶³ − 2 and 2⁶³ − 1; a third one would be 2⁶³."""
    run = partial(compare, scenario(), ["reno"], seeds=[largest - 1, largest], until="jain within 0.000001 %")
    assert run(at_most=at_most).seeds == [*range(largest - 1, largest + at_most - 1)]
    with pytest.raises(ScenarioError, match=rf"seeds: {at_most - 1} more seeds after {largest} exceed 63 bits"):
        run(at_most=at_most + 1)


#: Six rates, of which the last one is the first one in another unit: two cells with one scenario, far apart.
RATES = ["10 Mbps", "20 Mbps", "30 Mbps", "40 Mbps", "50 Mbps", "10000 kbps"]
NEVER = "goodput_bps within 0.000001 %"


@pytest.mark.parametrize("workers", [1, 4])
def test_a_rule_holds_for_cells_with_one_scenario(workers: int) -> None:
    """Within a millionth of a per cent: never known, so that every cell has all seven repetitions."""
    counted: list[tuple[int, int]] = []
    given: dict[str, Any] = {"seeds": 2, "until": NEVER, "at_most": 7, "workers": workers}
    rates = {"dumbbell.bottleneck.rate": RATES}
    swept = sweep(scenario(), over=rates, progress=lambda done, of: counted.append((done, of)), **given)
    assert swept.runs.group_by("cell").len().sort("cell")["len"].to_list() == [7] * 6
    assert swept.outcome.finished == swept.outcome.total == 42
    assert counted[-1] == (42, 42)
    alternatives = {"rate": {text: {"dumbbell.bottleneck.rate": text} for text in RATES}}
    compared = compare(scenario(), alternatives=alternatives, **given)
    assert compared.seeds == [1, 2, 3, 4, 5, 6, 7]
    assert len(compared.runs) == 42


def test_cells_with_one_scenario_count_without_a_rule() -> None:
    """Six cells × three seeds are eighteen runs, of which three are of two cells."""
    swept = sweep(scenario(), over={"dumbbell.bottleneck.rate": RATES}, seeds=3, workers=1)
    assert len(swept.runs) == swept.outcome.finished == swept.outcome.total == 18


def test_a_rule_uses_runs_that_it_adds_and_the_folder_has(tmp_path: Path) -> None:
    """The folder has seeds 1, 2, 4, 5 and 6 of one cell: seed 3 is missing when the sweep begins."""
    run = partial(sweep, scenario(), out=tmp_path)
    run(over={"flow[0].rtt": ["40 ms"]}, seeds=[1, 2, 4, 5, 6])
    result = run(over=RTT, seeds=[1, 2, 3], until=NEVER, at_most=30, workers=1)
    assert result.runs.group_by("cell").len().sort("cell")["len"].to_list() == [30, 30]
    assert (result.outcome.resumed, result.outcome.ran) == (5, 55)
