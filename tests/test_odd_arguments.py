"""Common mistakes in calls of the package: what is wrong and what would do, in place of an error of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab import ScenarioError

TWO: Any = cwndlab.presets.load("two-flows")
NAME: Any = "two-flows"
THREE: Any = 3
HALF: Any = 0.5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: cwndlab.compare("two-flow", ["cubic"]), "did you mean 'two-flows'?"),
        (lambda: cwndlab.sweep(THREE), "scenario: a value of type int is not a scenario\n  hint: write the name of a"),
        (lambda: cwndlab.run("nowhere.toml", seed=1), "nowhere.toml: there is no such file"),
        (lambda: cwndlab.run({"flow": []}, seed=1), "duration: "),
        (
            lambda: cwndlab.compare(TWO, "cubic(beta=0.7),reno"),
            "algorithms: 'cubic(beta=0.7),reno' is one string\n  hint: write algorithms=['cubic(beta=0.7)', 'reno']",
        ),
        (lambda: cwndlab.sweep(TWO, algorithms="cubic,reno"), "write algorithms=['cubic', 'reno']"),
        (lambda: cwndlab.sweep(TWO, seeds=HALF), "sweep.seeds: '0.5' is not a list of seeds\n  hint: write seeds = 10"),
        (lambda: cwndlab.run(TWO, seed=HALF), "seed: '0.5' is not a whole number from 0 to 2⁶⁴ − 1"),
        (lambda: cwndlab.run(TWO, seed=-1), "seed: '-1' is not a whole number from 0 to 2⁶⁴ − 1\n  hint: write seed=1"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seeds=[-1]), "seeds: '-1' is not a whole number from 0 on"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seeds=[2**64]), "below 2⁶³"),
        (lambda: cwndlab.compare(TWO, ["cubic"], seeds=HALF), "seeds: '0.5' is not a list of seeds"),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], seeds=0),
            "seeds: there is no seed, so nothing runs\n  hint: write seeds=10",
        ),
        (lambda: cwndlab.compare(TWO, THREE), "algorithms: '3' is not a list of algorithms"),
        (lambda: cwndlab.compare(TWO, ["cubic"], metrics=["goodput"]), "did you mean 'goodput_bps'?"),
        (lambda: cwndlab.compare(TWO, ["cubic"], by="algoritm"), "by: nothing that varies is called 'algoritm'"),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], warm_up="soon"),
            "warm_up: 'soon' is not a warm-up\n  hint: write mser, or '5 s'",
        ),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], seeds=10**30),
            "seeds: 1,000,000,000,000,000,000,000,000,000,000 runs",
        ),
        (lambda: cwndlab.reproduce("cubic-study/fig1", seed=10**30), "seed: '1000000000000000000000000000000' is not"),
        (lambda: list(cwndlab.run_many([(TWO, 10**30)])), "seed: '1000000000000000000000000000000' is not a whole"),
        (
            lambda: list(cwndlab.run_many([TWO])),
            "jobs: number 0 is not a pair of a scenario and a seed\n  hint: write [(",
        ),
        (lambda: list(cwndlab.run_many(TWO)), "jobs: a value of type Scenario is not a list of pairs"),
        (lambda: list(cwndlab.run_many([(TWO, 1)], workers=-1)), "workers: '-1' is not a number of threads"),
        (lambda: cwndlab.compare(TWO, ["cubic"], workers=0), "workers: '0' is not a number of threads\n  hint: write"),
        (lambda: cwndlab.sweep(TWO, algorithms=["cubic"], workers=NAME), "workers: 'two-flows' is not a number of"),
        (lambda: cwndlab.explain(THREE), "text: '3' is not the name of an algorithm\n  hint: write text='cubic'"),
        (lambda: cwndlab.algorithms("slowstart"), "kind: no kind is called 'slowstart'\n  hint: there are growth, "),
        (lambda: cwndlab.load(THREE), "place: a value of type int is not a folder\n  hint: write place='out'"),
        (lambda: cwndlab.report(TWO, "page.html"), "result: a value of type Scenario is not a result\n  hint: hand"),
        (lambda: cwndlab.metrics.goodput(TWO), "records: a value of type Scenario is not the records of a run"),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], metrics=THREE),
            "metrics: '3' is not a list of metrics\n  hint: write",
        ),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], metrics="goodput"),
            "metrics: no metric is called 'goodput'\n  hint: d",
        ),
        (
            lambda: cwndlab.compare(TWO, ["cubic"], start_s=NAME),
            "start_s: 'two-flows' is not a time\n  hint: write sec",
        ),
        (lambda: cwndlab.compare(TWO, ["cubic"], records=NAME), "records: 'two-flows' is neither 'first' nor 'all'"),
    ],
)
def test_a_common_mistake_is_answered_in_words(call: Callable[[], object], text: str) -> None:
    with pytest.raises(ScenarioError) as error:
        call()
    assert text in str(error.value)


@pytest.fixture(scope="module")
def result() -> cwndlab.Result:
    return cwndlab.compare("single", ["cubic", "reno"], seeds=2)


def test_one_metric_is_named_by_its_name(result: cwndlab.Result) -> None:
    assert str(result.table("queue_ms")) == str(result.table(["queue_ms"]))
    assert result.summary("queue_ms").equals(result.summary(["queue_ms"]))
    assert result.differences("queue_ms").equals(result.differences(["queue_ms"]))
    assert cwndlab.compare("single", ["cubic"], seeds=1, metrics="queue_ms").shown == ["queue_ms"]
    assert cwndlab.sweep("single", algorithms=["cubic"], seeds=1, metrics="p95_queue_ms").shown[0] == "p95_queue_ms"
    records = result.examples["cubic"]
    assert list(cwndlab.metrics.summary(records, metrics="jain")) == ["jain"]


def test_an_unknown_metric_is_named_as_it_was_written(result: cwndlab.Result, tmp_path: Path) -> None:
    records = result.examples["cubic"]
    calls: list[Callable[[], object]] = [
        lambda: result.table("foo"),
        lambda: result.summary("foo"),
        lambda: result.differences("foo"),
        lambda: result.plot("foo"),
        lambda: result.plot("queue_ms", thresholds={"foo": 1.0}),
        lambda: cwndlab.report(result, tmp_path / "page.html", metrics="foo"),
        lambda: cwndlab.report(result, tmp_path / "page.html", thresholds={"foo": 1.0}),
        lambda: cwndlab.metrics.summary(records, metrics=["foo", "jain"]),
    ]
    for call in calls:
        with pytest.raises(cwndlab.ArgumentError, match="no metric is called 'foo'") as error:
            call()
        assert len(error.value.faults) == 1


def test_a_time_of_a_metric_is_seconds(result: cwndlab.Result) -> None:
    late: Any = "1 s"
    with pytest.raises(cwndlab.ArgumentError, match="end_s: '1 s' is not a time\n  hint: write seconds from 0 on"):
        cwndlab.metrics.goodput(result.examples["cubic"], end_s=late)


NO_NUMBER = "is not a number from 0\n  hint: write window_s=1.0"


@pytest.mark.parametrize(
    ("metric", "arguments", "said"),
    [
        *(
            (metric, {"window_s": window}, f"window_s: '{window}' {NO_NUMBER}")
            for metric in ("flows_over_time", "links_over_time", "fairness_over_time", "delta_fairness", "load_latency")
            for window in (float("nan"), float("inf"), "1", -1.0)
        ),
        ("fairness", {"flows": ["cubic", "nope"]}, "flows: no flow is called 'nope'"),
        ("delta_fairness", {"delta": "x"}, "delta: 'x' is not a number from 0 to 1"),
        ("delta_fairness", {"delta": 2}, "delta: '2' is not a number from 0 to 1"),
        ("load_latency", {"load": "x"}, "load: 'x' is not a number from 0 to 1"),
        ("oscillation", {"scales_s": 0.1}, "scales_s: '0.1' is not a list of times\n  hint: write scales_s="),
    ],
)
def test_arguments_of_metrics_are_checked(
    result: cwndlab.Result, metric: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(cwndlab.ArgumentError) as error:
        getattr(cwndlab.metrics, metric)(result.examples["cubic"], **arguments)
    assert said in str(error.value)


def test_a_window_longer_than_any_run_has_no_row(result: cwndlab.Result) -> None:
    assert len(cwndlab.metrics.flows_over_time(result.examples["cubic"], window_s=1e300)) == 0


@pytest.mark.parametrize("numbers", [(800, 0, 0), (-5, 25, 0), (800, 25, 101), (float("nan"), 25, 0)])
def test_numbers_of_a_video_are_checked(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(cwndlab.ArgumentError, match="is not a number"):
        cwndlab.service.video_mos(*numbers)


def test_a_folder_of_folders_of_runs_names_them(tmp_path: Path) -> None:
    """`run --engine both --out` writes such a folder."""
    records = cwndlab.run(TWO.with_(duration="1 s"), seed=1)
    for side in ("emulate", "simulate"):
        records.save(tmp_path / side)
    with pytest.raises(cwndlab.RecordsError) as error:
        cwndlab.load(tmp_path)
    sides = f"{tmp_path}/emulate", f"{tmp_path}/simulate"
    hint = f"name one of {', '.join(sides)}; `cwndlab report {' '.join(sides)}` draws them side by side"
    assert str(error.value) == f"{tmp_path}: holds folders of runs\n  hint: {hint}"


def test_records_are_no_sequence() -> None:
    """They have tables by name; `jain` takes numbers."""
    records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    with pytest.raises(TypeError, match="'Records' object is not iterable"):
        cwndlab.metrics.jain(records)  # type: ignore[arg-type]
