"""Folders that several studies, or a study and its page, use one after another."""

from __future__ import annotations

from pathlib import Path

import cwndlab
from cwndlab.study.compare import compare
from cwndlab.study.result import Result


def scenario(rate: str) -> cwndlab.Scenario:
    """One flow, whose goodput tells the rate."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate=rate, delay="10 ms"))
    return cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])


def test_records_of_another_scenario_are_not_shown_as_those_of_a_comparison(tmp_path: Path) -> None:
    """Between two comparisons of the same algorithms there is one of a field, so that the last study tells nothing."""
    slow, fast = scenario("5 Mbps"), scenario("20 Mbps")
    capacities = {"dumbbell.bottleneck.queue.capacity": ["1 bdp", "2 bdp"]}
    compare(slow, ["reno"], seeds=2, out=tmp_path)
    compare(slow, over=capacities, seeds=2, out=tmp_path)
    compare(fast, ["reno"], seeds=2, out=tmp_path)
    compare(slow, over=capacities, seeds=2, out=tmp_path)
    again = compare(slow, ["reno"], seeds=2, out=tmp_path)
    assert again.outcome.ran == 0
    expected = again.points["scenario_hash"][0]
    # A result that is read has the same: the second seed's records are still those of the fast path.
    for result in (again, Result.read(tmp_path)):
        assert result.examples["reno"].scenario_hash == expected
        assert {read().scenario_hash for read in result.kept().values()} == {expected}
        assert list(result.kept()) == [("reno", 1)]


def test_a_result_that_is_read_has_no_records_of_another_scenario(tmp_path: Path) -> None:
    result = compare(scenario("5 Mbps"), ["reno"], seeds=1, out=tmp_path)
    folder = result.records_of("reno", 1)
    assert folder is not None
    for file in folder.iterdir():
        file.unlink()
    cwndlab.run(scenario("20 Mbps"), seed=1).save(folder)
    read = Result.read(tmp_path)
    assert read.examples == {}
    assert read.kept() == {}
