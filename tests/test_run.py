"""Runs: the same bits for the same seed, on any number of workers; stopped at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import cwndlab
import pytest
from cwndlab import RunError, Scenario, ScenarioError


def test_the_same_seed_gives_the_same_bits(scenario: Scenario) -> None:
    first = cwndlab.run(scenario, seed=1)
    assert cwndlab.run(scenario, seed=1).hash() == first.hash()
    assert cwndlab.run(scenario.to_document(), seed=1).hash() == first.hash()
    assert cwndlab.run(scenario, seed=2).hash() != first.hash()


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_workers_do_not_change_records(scenario: Scenario, workers: int | None) -> None:
    lossy = scenario.with_({"dumbbell.bottleneck.loss": cwndlab.Bernoulli(0.01)})
    alone = {seed: cwndlab.run(lossy, seed=seed).hash() for seed in range(6)}
    told: list[tuple[int, int]] = []
    jobs = [(lossy, seed) for seed in range(6)]
    found = {
        index: records.hash()
        for index, records in cwndlab.run_many(jobs, workers=workers, progress=lambda *count: told.append(count))
    }
    assert found == alone
    assert told == [(done, 6) for done in range(7)]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_records(scenario: Scenario, threads: int) -> None:
    assert cwndlab.run(scenario, seed=1, threads=threads).hash() == cwndlab.run(scenario, seed=1).hash()


def test_a_scenario_that_cannot_be_divided_says_so(scenario: Scenario) -> None:
    counted = scenario.with_(packets=True)
    with pytest.warns(cwndlab.errors.OneThreadWarning, match="runs on one thread"):
        records = cwndlab.run(counted, seed=1, threads=2)
    assert records.hash() == cwndlab.run(counted, seed=1).hash()


@pytest.mark.parametrize("threads", [0, -1, True, 2.0, 5000])
def test_threads_are_a_whole_number(scenario: Scenario, threads: object) -> None:
    with pytest.raises(ScenarioError, match=r"threads: .* is not a whole number from 1 to 1024"):
        cwndlab.run(scenario, seed=1, threads=threads)  # type: ignore[arg-type]


def test_nothing_to_run_is_no_fault() -> None:
    assert list(cwndlab.run_many([])) == []


def test_a_fault_in_one_job_is_told(scenario: Scenario) -> None:
    broken = {**scenario.to_document(), "duration": "1"}
    with pytest.raises(ScenarioError) as told:
        list(cwndlab.run_many([(scenario, 1), (broken, 2)]))
    assert [fault.where for fault in told.value.faults] == ["duration"]


def test_the_interpreter_is_free_meanwhile(scenario: Scenario) -> None:
    long = scenario.with_({"dumbbell.bottleneck.rate": "1 Gbps"}, duration="20 s")
    worker = threading.Thread(target=lambda: cwndlab.run(long, seed=1))
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 3


def test_a_reader_who_leaves_early_stops_the_rest(scenario: Scenario) -> None:
    endless = scenario.with_(duration="100000 s")
    jobs = [(scenario, 1), *((endless, seed) for seed in range(20))]
    results = cwndlab.run_many(jobs, workers=2)
    index, records = next(results)
    assert index == 0
    assert records.seed == 1
    results.close()  # type: ignore[attr-defined]


def test_a_cancelled_run_says_so(scenario: Scenario) -> None:
    from cwndlab import _engine

    cancel = _engine.Cancel()
    assert not cancel.is_set()
    cancel.set()
    assert cancel.is_set()
    with pytest.raises(RunError) as told:
        _engine.run(scenario.with_(duration="1000 s").to_json(), "json", 1, cancel)
    assert str(told.value) == "run: cancelled before its end"
    assert told.value.exit_status == 1


ENDLESS = """
import sys, cwndlab
link = cwndlab.Link(rate="100 Mbps", delay="10 ms")
flow = cwndlab.Flow("cubic", rtt="50 ms")
endless = cwndlab.Scenario(duration="1000000 s", dumbbell=cwndlab.Dumbbell(link), flows=[flow])
brief = endless.with_(duration="1 s")
try:
    print("ready", flush=True)
    if sys.argv[1] == "run":
        cwndlab.run(endless, seed=1)
    for index, records in cwndlab.run_many([(brief, 1), (endless, 1), (endless, 2)], workers=2):
        print("kept", index, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(("how", "kept"), [("run", []), ("many", ["kept 0"])])
def test_ctrl_c_stops_at_once(how: str, kept: list[str]) -> None:
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for line in kept:
        assert process.stdout.readline() == f"{line}\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted\n"


def test_faults_of_a_scenario_reach_python() -> None:
    from cwndlab import _engine

    with pytest.raises(ScenarioError) as told:
        _engine.run("schema_version = 2", "toml", 1)
    assert told.value.faults
    with pytest.raises(ValueError, match="'xml' is neither 'toml' nor 'json'"):
        _engine.check("", "xml")  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        _engine.run("{}", "json", -1)


def test_seeds_of_a_scenario_without_a_random_element_warn() -> None:
    """Two flows over a clean wire, started at fixed times: no draw is made, so every seed gives the same run."""
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="5 ms"))
    still = Scenario(duration="500 ms", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    with pytest.warns(cwndlab.errors.NoRandomElementWarning, match="all seeds gave the same run; perturb = true "):
        assert len(list(cwndlab.run_many([(still, seed) for seed in (1, 2, 3)]))) == 3
    # A single seed, or a random start, has nothing to warn of; warnings are errors here.
    moving = still.with_(start_jitter="rtt")
    perturbed = still.with_(perturb=True)
    list(cwndlab.run_many([(still, 1), (still, 1), (moving, 1), (moving, 2), (perturbed, 1), (perturbed, 2)]))
