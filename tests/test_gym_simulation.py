"""Stepping: a stepped run is the run, decisions take effect where an algorithm's do, and errors name the remedy."""

from __future__ import annotations

import copy
import gc
import json
import math
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import cwndlab
import numpy as np
import pytest
from cwndlab import Scenario, engine
from cwndlab.errors import ArgumentError, RunError, ScenarioError
from cwndlab.gym import Decision, Simulation
from hypothesis import given
from hypothesis import strategies as st

FIELDS = engine.decision_fields()


def scenario(
    algorithm: str = "external", *, rate: str = "12 Mbps", duration: str = "4 s", queue: str = "1 bdp", **flow: Any
) -> Scenario:
    """A flow beside a CUBIC flow that starts later."""
    link = cwndlab.Link(rate=rate, delay="5 ms", queue=cwndlab.DropTail(queue))
    flows = [
        cwndlab.Flow(algorithm, rtt="40 ms", **flow),
        cwndlab.Flow("cubic", rtt="20 ms", start="2 s"),
    ]
    return Scenario(duration=duration, dumbbell=cwndlab.Dumbbell(link), flows=flows)


def tables(records: cwndlab.Records) -> dict[str, Any]:
    """What the hash covers, without the names of algorithms: values of the tables, in their order."""
    rows: dict[str, Any] = {
        name: records.rows(name) for name in ("flows", "links", "samples", "link_samples", "events")
    }
    for row in rows["flows"]:
        del row["algorithm"]
    return rows


@given(times=st.lists(st.floats(0, 5), max_size=20), every=st.sampled_from(["rtt", "interval", "ack"]))
def test_stops_and_decisions_that_change_nothing_leave_the_hash(times: list[float], every: str) -> None:
    one = scenario(f"external(every={every}, initial=30)", duration="1 s")
    with Simulation(one, seed=3) as simulation:
        for time in sorted(times):
            simulation.run_until(time)
            simulation.next_decision()
        assert simulation.records().hash() == cwndlab.run(one, seed=3).hash()


class Reno:
    """RFC 5681, section 3.1, decided from the reports of the transport."""

    def __init__(self) -> None:
        self.w, self.ssthresh = 10.0, math.inf
        self.before: Reno | None = None

    def observe(self, decision: Decision) -> None:
        event: Any = decision.event
        if decision.cause == "ack":
            if event.cwnd_limited and not event.recovering:
                self._grow(event.acked)
        elif decision.cause == "window":
            if event.change in ("idle", "recovered"):
                self.w = event.cwnd
            elif event.change == "undo" and self.before is not None and self.before.w >= self.w:
                self.w, self.ssthresh = self.before.w, self.before.ssthresh
        else:
            if not event.repeated:
                self.before = None
                self.before = copy.copy(self)
                self.ssthresh = max(min(event.in_flight, self.w) / 2, 2.0)
            self.w = 1.0 if event.restart else self.ssthresh

    def _grow(self, acked: float) -> None:
        room = max(self.ssthresh - self.w, 0.0) if self.w < self.ssthresh else 0.0
        if acked <= room:
            self.w += acked
            return
        self.w += room  # Linux, tcp_slow_start: the rest counts in congestion avoidance
        self.w += math.floor(acked * 1448 * (1 - room / acked)) / 1448 / self.w


@pytest.mark.parametrize("queue", ["1 bdp", "5 packets"])
def test_a_policy_that_copies_reno_per_ack_gives_its_records(queue: str) -> None:
    decided = scenario("external(every=ack, recovery=transport)/sack", queue=queue)
    reno = Reno()
    with Simulation(decided, seed=1) as simulation:
        while decision := simulation.next_decision():
            reno.observe(decision)
            simulation.set_cwnd(0, reno.w)
            simulation.set_ssthresh(0, reno.ssthresh)
        records = simulation.records()
    built_in = cwndlab.run(scenario("reno+standard/sack", queue=queue), seed=1)
    assert built_in.rows("flows")[0]["recoveries"] > 0
    assert tables(records) == tables(built_in)


def test_a_report_adds_up() -> None:
    """Over a path without losses: what was sent is acknowledged or in flight, and intervals follow each other."""
    one = scenario("external(initial=40)", queue="200 packets", rate="50 Mbps", duration="2 s")
    sent = acked = 0.0
    ends = []
    with Simulation(one, seed=1) as simulation:
        while decision := simulation.next_decision():
            sent, acked = sent + decision.sent, acked + decision.acked
            ends.append((decision.time - decision.duration, decision.time))
            assert sent == acked + decision.in_flight
            assert acked == decision.delivered
            assert decision.cause == "interval"
            # 40 ms of delay, and up to 40 packets of 1500 bytes at 50 Mbit/s.
            assert 0.04 <= decision.rtt_min <= decision.rtt_mean <= 0.04 + 40 * 1500 * 8 / 50e6 + 0.001
            assert decision.event is None
    assert all(math.isclose(one[1], other[0]) for one, other in pairwise(ends))
    # A decision per round trip of 40 ms or little more, from the first complete one on.
    assert 40 <= len(ends) <= 49


def test_decisions_of_an_interval_are_at_least_that_far_apart() -> None:
    one = scenario("external(every=interval, interval_ms=15, initial=40)", duration="2 s")
    with Simulation(one, seed=1) as simulation:
        decisions = list(iter(simulation.next_decision, None))
    assert len(decisions) > 100
    assert all(decision.duration >= 0.015 for decision in decisions)


def test_a_round_trip_ends_after_two_smoothed_rtts() -> None:
    """While retransmissions are lost again, rounds of the transport last for seconds."""
    one = scenario("external(initial=120)", queue="10 packets", duration="6 s")
    with Simulation(one, seed=1) as simulation:
        for decision in iter(simulation.next_decision, None):
            if decision.cause == "interval":
                # ACKs are one packet of 1 ms apart, or a few where packets are dropped.
                assert decision.duration <= 2 * decision.srtt + 0.1


def test_several_external_flows_decide_in_the_order_of_time() -> None:
    link = cwndlab.Link(rate="20 Mbps", delay="5 ms", queue=cwndlab.DropTail("1 bdp"))
    flows = [cwndlab.Flow("external(initial=20)", rtt=f"{rtt} ms") for rtt in (20, 35, 70)]
    one = Scenario(duration="2 s", dumbbell=cwndlab.Dumbbell(link), flows=flows)
    with Simulation(one, seed=1) as simulation:
        assert simulation.external == [0, 1, 2]
        decisions = list(iter(simulation.next_decision, None))
    assert {decision.flow for decision in decisions} == {0, 1, 2}
    assert [decision.time for decision in decisions] == sorted(decision.time for decision in decisions)


def test_the_window_and_the_rate_that_are_set_apply() -> None:
    """25 segments per 40 ms are 625 per second; a pacing rate of 300 per second limits the same window to that."""
    one = scenario("external(initial=25)", rate="100 Mbps", queue="400 packets", duration="2 s")

    def delivered(pacing: float | None) -> float:
        with Simulation(one, seed=1) as simulation:
            simulation.run_until(0.5)
            simulation.set_pacing(0, pacing)
            simulation.run_until(1)
            before = simulation.state(0).delivered
            simulation.run_until(1.8)
            return simulation.state(0).delivered - before

    # 625 per second for 0.8 s, to a round trip.
    assert delivered(None) == pytest.approx(500, abs=25)
    assert delivered(300) == pytest.approx(240, abs=3)


def test_errors_name_the_place_and_the_remedy() -> None:
    with Simulation(scenario(), seed=1) as simulation:
        simulation.run_until(1)
        with pytest.raises(RunError, match=r"flow\[2\]: there is no such flow"):
            simulation.set_cwnd(2, 10)
        with pytest.raises(RunError, match="only the algorithm 'external' is decided from outside"):
            simulation.set_cwnd(1, 10)
        with pytest.raises(RunError, match=r"flow\[1\]: it has not started at 1 s"):
            simulation.state(1)
        with pytest.raises(ValueError, match="cwnd: 0 is not above 0"):
            simulation.set_cwnd(0, 0)
        with pytest.raises(ValueError, match="pacing: NaN is not above 0"):
            simulation.set_pacing(0, math.nan)
        with pytest.raises(ValueError, match="time: NaN is not a time of the run"):
            simulation.run_until(math.nan)
    with pytest.raises(ValueError, match="the simulation is closed"):
        simulation.run_until(2)
    with pytest.raises(ScenarioError, match="every = 'week' is not one of its values"):
        Simulation(scenario("external(every=week)"), seed=1)
    pages = {"kind": "request-response", "request": "1 kB", "response": "9 kB"}
    with pytest.raises(RunError, match="the workload has several connections"):
        Simulation(json.loads(scenario(workload=pages).to_json()), seed=1)


class Fixed:
    """Ten segments for ever."""

    def __init__(self, path: Any) -> None: ...
    def on_ack(self, ack: Any) -> None: ...
    def on_congestion(self, event: Any) -> None: ...
    def cwnd(self) -> float:
        return 10.0


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_is_a_number_of_64_bits(seed: int) -> None:
    """As in `cwndlab.run`."""
    with pytest.raises(ArgumentError, match=f"seed: '{seed}' is not a whole number from 0"):
        Simulation(cwndlab.presets.load("single"), seed)


def test_a_class_in_python_is_refused_with_another_way() -> None:
    document = json.loads(scenario("cubic").to_json())
    document["flow"][0]["algorithm"] = "fixed"
    one = Scenario.from_json(json.dumps(document), algorithms={"fixed": Fixed})
    with pytest.raises(ScenarioError, match=r"cannot run in a simulation that is stepped\n.*external\(every=ack\)"):
        Simulation(one, seed=1)


def batch_of(count: int) -> tuple[engine.SimulationBatch, Any, Any]:
    """A batch with its arrays."""
    reports, actions = np.zeros((count, len(FIELDS))), np.full((count, 2), np.nan)
    return engine.SimulationBatch(reports, actions), reports, actions


def test_a_batch_decides_as_single_simulations_do() -> None:
    text = scenario(duration="2 s").to_json()
    batch, reports, actions = batch_of(3)
    windows = [12.0, 20.0, 31.0]
    for index in range(3):
        batch.start(index, text, "json", index)
    times: list[list[float]] = [[], [], []]
    actions[:, 0] = windows
    while not reports[:, 0].all():
        for row in np.flatnonzero(reports[:, 0] == 0):
            times[row].append(reports[row, 2])
        batch.step()
    for index, window in enumerate(windows):
        with Simulation(scenario(duration="2 s"), seed=index) as simulation:
            expected = []
            while decision := simulation.next_decision():
                expected.append(decision.time)
                simulation.set_cwnd(0, window)
            assert times[index] == expected
            assert batch.records(index).hash() == simulation.records().hash()
    assert np.isnan(reports[:, 4:]).all()


def test_a_batch_names_faults_of_its_arrays() -> None:
    good = np.zeros((2, len(FIELDS)))
    with pytest.raises(ValueError, match="reports: expected a C-contiguous, writable array of float64 with 22 columns"):
        engine.SimulationBatch(np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="actions: expected 2 rows, as many as reports has, not 3"):
        engine.SimulationBatch(good, np.zeros((3, 2)))
    batch, _, _ = batch_of(2)
    with pytest.raises(IndexError, match="index: there are 2 simulations, not 3"):
        batch.start(2, scenario().to_json(), "json", 1)
    with pytest.raises(ValueError, match="index: simulation 1 has not been started"):
        batch.records(1)


def resident_kb() -> int:
    """Memory of the process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4


def test_ten_thousand_resets_leak_nothing() -> None:
    """A stack that is not freed would be 12 kB at least, 96 MB in all."""
    text = scenario("external", duration="1 s").to_json()
    batch, _, _ = batch_of(1)

    def reset(times: int) -> None:
        for seed in range(times):
            batch.start(0, text, "json", seed)
            batch.step()

    reset(2000)
    gc.collect()
    before = resident_kb()
    reset(8000)
    gc.collect()
    assert resident_kb() - before < 8000


def test_a_simulation_may_be_stepped_by_several_threads_in_turn() -> None:
    one = scenario(duration="1 s")
    simulation = Simulation(one, seed=1)
    for _ in range(5):
        thread = threading.Thread(target=simulation.next_decision)
        thread.start()
        thread.join()
    assert simulation.records().hash() == cwndlab.run(one, seed=1).hash()


#: A second call during a step waited for the lock that the step waited for; a process that does not end shows it.
CONCURRENT = """
import signal, threading, cwndlab
from cwndlab.gym import Episodes, LinkPaths, Simulation
import numpy as np

link = cwndlab.Link(rate="100 Mbps", delay="5 ms")
flows = [cwndlab.Flow("external", rtt="40 ms"), cwndlab.Flow("cubic", rtt="20 ms")]
scenario = cwndlab.Scenario(duration="5 s", dumbbell=cwndlab.Dumbbell(link), flows=flows)
refused = []


def attempt(call):
    try:
        call()
    except ValueError as error:
        refused.append(str(error))


def threads(make, long, short):
    while not refused:
        one = make()
        thread = threading.Thread(target=lambda: attempt(lambda: long(one)))
        thread.start()
        while thread.is_alive() and not refused:
            attempt(lambda: short(one))
        thread.join()
    print(refused.pop())
    refused.clear()


def started():
    episodes = Episodes(LinkPaths(rate_mbps=100, rtt_ms=20, round_trips=200), 8)
    for row in range(8):
        episodes.start(row, np.random.default_rng(row))
    return episodes


threads(lambda: Simulation(scenario, 1), lambda one: one.records(), lambda one: one.now)
threads(lambda: Simulation(scenario, 1), lambda one: one.records(), lambda one: one.close())
threads(started, lambda one: one.step([0.0] * 8), lambda one: one.step([0.0] * 8))

while not refused:
    one = Simulation(scenario, 1)
    signal.signal(signal.SIGALRM, lambda *_: attempt(lambda: one.now))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    one.records()
    signal.setitimer(signal.ITIMER_REAL, 0)
print(refused.pop())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timers of signals")
def test_a_call_during_another_one_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", CONCURRENT], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["the simulation is in use by another call"] * 4


def test_a_flow_that_does_not_exist_is_named() -> None:
    with Simulation(scenario(duration="1 s"), seed=1) as simulation:
        for use in (lambda flow: simulation.state(flow), lambda flow: simulation.set_cwnd(flow, 2)):
            for flow in (-1, 2):
                with pytest.raises(RunError, match=rf"flow\[{flow}\]: there is no such flow"):
                    use(flow)


def test_rates_fit_the_records() -> None:
    """A rate is at most 10⁹ segments/s, as that of a class: by hand 11.584 Tbit/s."""
    with Simulation(scenario(duration="1 s"), seed=1) as simulation:
        assert simulation.next_decision() is not None
        simulation.set_pacing(0, 1e308)
        rates = {row["pacing_rate_bps"] for row in simulation.records().rows("samples") if row["flow"] == 0}
    assert max(rate for rate in rates if rate is not None) == 10**9 * 8 * 1448


def policy() -> dict[str, Any]:
    """The document of a policy that multiplies its window by 2^0.2 per round trip up to 60 segments."""
    return {
        "schema_version": 1,
        "observation": {"kind": "plain", "history": 1},
        "action": {"kind": "power-window", "scale": 2.0, "lowest": 2.0, "highest": 60.0},
        "every": "rtt",
        "interval_ms": 10.0,
        "normalisation": {"mean": [0.0] * 5, "std": [1.0] * 5},
        "layers": [{"weights": [[0.0] * 5], "bias": [0.2], "activation": "linear"}],
    }


def with_policy(entry: object) -> dict[str, Any]:
    """The scenario with a flow that the policy decides."""
    document: dict[str, Any] = json.loads(scenario(rate="100 Mbps", queue="400 packets", duration="2 s").to_json())
    document["flow"][0]["algorithm"] = "mine"
    document["algorithms"] = {"mine": {"policy": entry}}
    return document


def test_a_policy_is_an_algorithm_of_a_scenario(tmp_path: Path) -> None:
    """By hand: 10 · 2^(0.2 n) reaches 60 with n = 13. A file gives the same as its contents."""
    records = cwndlab.run(Scenario.from_json(json.dumps(with_policy(policy()))), seed=1)
    windows = [row["cwnd_bytes"] // 1448 for row in records.rows("samples") if row["flow"] == 0]
    assert windows == sorted(windows)
    assert windows[-1] == 60
    assert records.rows("flows")[0]["algorithm"] == "mine/rack"
    assert any("'mine' is a policy (SHA-256 " in note for note in records.notes)
    (tmp_path / "policy.json").write_text(json.dumps(policy()), encoding="utf-8")
    text = cwndlab.scenario.Scenario.from_json(json.dumps(with_policy(policy()))).to_toml()
    assert text
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(with_policy("policy.json")), encoding="utf-8")
    named = Scenario.from_json(path.read_text(encoding="utf-8"), folder=tmp_path)
    assert cwndlab.run(named, seed=1).hash() == records.hash()


def test_a_policy_decides_in_the_engine_as_from_outside() -> None:
    """The same window at each decision, by the engine's policy and by hand."""
    records = cwndlab.run(with_policy(policy()), seed=1)
    document = with_policy(policy())
    document["flow"][0]["algorithm"] = "external"
    with Simulation(document, seed=1) as simulation:
        while decision := simulation.next_decision():
            simulation.set_cwnd(0, min(decision.cwnd * 2**0.2, 60))
        assert tables(simulation.records()) == tables(records)


def test_faults_of_a_policy_name_it(tmp_path: Path) -> None:
    broken = policy()
    broken["layers"][0]["weights"] = [[0.0] * 4]
    with pytest.raises(ScenarioError, match=r"algorithms.mine.policy: layers\[0\] takes 4 numbers, and gets 5"):
        cwndlab.run(with_policy(broken), seed=1)
    with pytest.raises(ScenarioError, match=r"algorithms.mine.policy: '.*missing.json' cannot be read"):
        cwndlab.run(with_policy(str(tmp_path / "missing.json")), seed=1)
