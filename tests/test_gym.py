"""cwndlab.gym: environments, observations, rewards and actions against hand calculations, distributions, policies."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cwndlab
import gymnasium
import numpy as np
import pytest
from cwndlab import ScenarioError, engine
from cwndlab.gym import (
    Action,
    CellularPaths,
    CompetitionPaths,
    CongestionEnv,
    CongestionVectorEnv,
    Episodes,
    FixedPaths,
    Layer,
    LinkPaths,
    LogUniform,
    Observation,
    OneOf,
    ParallelCongestionEnv,
    Paths,
    Policy,
    Simulation,
    TracePaths,
    Uniform,
    rewards,
)
from cwndlab.gym.agents import Agents
from cwndlab.gym.intervals import MEASURED, Array, Intervals
from cwndlab.gym.rewards import PathFacts
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

NAMES = ["Link", "Competition", "Trace", "Cellular"]
FIELDS = engine.interval_fields()[:MEASURED]
#: 90 of 100 segments acknowledged in 0.1 s, 10 lost; 80 ms of RTT where 50 are possible; a window of 60.
ROW = {
    "duration": 0.1,
    "sent": 110,
    "acked": 90,
    "lost": 10,
    "rtt_mean": 0.08,
    "rtt_slope": 0.2,
    "srtt": 0.1,
    "min_rtt": 0.05,
    "cwnd": 60,
    "pacing_rate": 1800,
}
FACTS = PathFacts(np.array([1000.0]), np.array([0.04]))


def agents(changes: dict[str, float], kind: str = "plain", action: Action | None = None) -> Agents:
    """An agent after this interval."""
    one = Agents(1, Observation(kind, history=1), action or Action(), "plain")
    one.push(0, [{**ROW, **changes}[name] for name in FIELDS])
    return one


def intervals(**changes: float) -> Intervals:
    return agents(changes).intervals


def features(kind: str, **changes: float) -> dict[str, float]:
    names = Observation(kind).features.names
    return dict(zip(names, agents(changes, kind).observations[0].tolist(), strict=True))


# Observations and rewards.


def test_the_plain_features_are_those_of_their_definition() -> None:
    """A throughput of 900/s is the greatest so far; 80 ms are 0.6 above 50 ms; the BDP is 45 segments."""
    assert features("plain") == pytest.approx(
        {
            "throughput_ratio": 1,
            "queueing_delay_ratio": 0.6,
            "loss_ratio": 0.1,
            "window_ratio": 60 / 45,
            "latency_gradient": 0.2,
        }
    )


def test_auroras_features_are_those_of_its_paper() -> None:
    """Latency gradient, mean RTT by the least mean RTT of an interval, sent by acknowledged packets."""
    one = agents({"rtt_mean": 0.064}, "aurora")
    one.push(0, [ROW[name] for name in FIELDS])
    names = Observation("aurora").features.names
    assert dict(zip(names, one.observations[0].tolist(), strict=True)) == pytest.approx(
        {"latency_gradient": 0.2, "latency_ratio": 1.25, "send_ratio": 110 / 90}
    )


def test_orcas_features_are_those_of_its_code() -> None:
    """In envwrapper.py's order. 10 lost segments in 0.1 s are 100/s; 1.25 · 50 ms / 100 ms is the delay metric."""
    assert features("orca") == pytest.approx(
        {
            "throughput_ratio": 1,
            "pacing_ratio": 2,
            "loss_rate_ratio": 500 / 900,
            "acked_ratio": 1.5,
            "duration_s": 0.1,
            "rtt_ratio": 0.5,
            "delay_metric": 0.625,
        }
    )


def test_without_pacing_orcas_rate_is_that_of_the_window() -> None:
    """As in Linux, which has a pacing rate for sockets that are not paced: 60 segments per 100 ms."""
    assert features("orca", pacing_rate=math.nan)["pacing_ratio"] == pytest.approx(600 / 900)


@pytest.mark.parametrize("kind", ["plain", "aurora", "orca"])
def test_an_interval_without_samples_gives_finite_features(kind: str) -> None:
    empty = dict.fromkeys(FIELDS, math.nan) | {"duration": 0, "sent": 0, "acked": 0, "lost": 0, "cwnd": 1}
    bounds = Observation(kind).features
    values = features(kind, **empty).values()
    assert np.isfinite(list(values)).all()
    assert bounds.low <= tuple(values) <= bounds.high


def test_the_plain_reward_by_hand() -> None:
    """900 of 1000 segments/s; 80 ms are one base RTT above 40 ms; a tenth is lost."""
    assert rewards.plain(intervals(), FACTS).tolist() == pytest.approx([0.9 - 0.25 - 0.2])


def test_auroras_reward_by_hand() -> None:
    """10 · 900 − 1000 · 0.08 − 2000 · 0.1 = 8720, by 0.001."""
    assert rewards.aurora(intervals(), FACTS).tolist() == pytest.approx([8.72])


def test_orcas_reward_by_hand() -> None:
    """(900 − 5 · 100) / 900, by the delay metric of 0.625."""
    assert rewards.orca(intervals(), FACTS).tolist() == pytest.approx([400 / 900 * 0.625])


def test_an_srtt_within_orcas_margin_costs_nothing() -> None:
    assert rewards.orca(intervals(srtt=0.0625, lost=0), FACTS).tolist() == pytest.approx([1])


# Actions.


@given(st.sampled_from(["power-window", "delta-window", "delta-rate"]), st.floats(0, 1), st.floats(1.01, 8))
def test_opposite_actions_undo_each_other(kind: str, size: float, scale: float) -> None:
    action = Action(kind, scale)
    assert float(action.factor(size) * action.factor(-size)) == pytest.approx(1)


def test_orcas_action_quarters_and_quadruples_the_window() -> None:
    """Its map_action is 4 to the power of the action."""
    assert Action("power-window", 4).factor([-1, 0, 0.5, 1]).tolist() == [0.25, 1, 2, 4]


def test_a_rate_has_a_window_of_twice_its_product_with_the_rtt() -> None:
    assert agents({}, action=Action("delta-rate", 0.5)).decide(0, 1) == pytest.approx((2 * 2700 * 0.1, 2700))


def test_the_first_rate_is_the_window_per_rtt() -> None:
    assert agents({"pacing_rate": math.nan}, action=Action("delta-rate", 0.5)).decide(0, 0) == pytest.approx((120, 600))


@given(st.floats(-1, 1), st.floats(1, 1e6))
def test_windows_keep_to_their_limits(action: float, cwnd: float) -> None:
    window, rate = agents({"cwnd": cwnd}, action=Action(lowest=4, highest=500)).decide(0, action)
    assert 4 <= window <= 500
    assert math.isnan(rate)


# Environments.


@pytest.mark.parametrize("observation", ["plain", "aurora", "orca"])
@pytest.mark.parametrize("name", NAMES)
def test_environments_pass_the_check_of_gymnasium(name: str, observation: str) -> None:
    kwargs: dict[str, Any] = {"observation": observation, "reward": observation}
    environment = gymnasium.make(f"cwndlab/{name}-v0", **kwargs)
    check_env(environment.unwrapped)


def trajectory(environment: gymnasium.Env[Any, Any], seed: int, steps: int = 30) -> list[Any]:
    observation, _ = environment.reset(seed=seed)
    rows = [observation.tolist()]
    for index in range(steps):
        action = np.array([0.4 * math.sin(index)], dtype=np.float32)
        observation, reward, _, truncated, info = environment.step(action)
        rows.append([observation.tolist(), reward, truncated, info["time"]])
    return rows


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_an_episode_and_another_one_does_not(name: str) -> None:
    first, again = (gymnasium.make(f"cwndlab/{name}-v0") for _ in range(2))
    assert trajectory(first, 1) == trajectory(again, 1)
    assert trajectory(first, 1) != trajectory(again, 2)
    assert trajectory(first, 1) == trajectory(first, 1)


RECORDED = json.loads((Path(__file__).parent / "samples" / "gym-trajectories.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: "-".join(list(one.values())[:4]))
def test_trajectories_are_those_of_version_0_2(one: dict[str, Any]) -> None:
    """Recorded before observations and rewards were computed by the engine instead of NumPy, with the seed 2."""
    kinds = {name: one[name] for name in ("observation", "action", "every")}
    environment = gymnasium.make(one["environment"], reward=one["observation"], **kinds)
    environment.reset(seed=2)
    rewards, windows = [], []
    for step in range(len(one["rewards"])):
        action = np.array([0.9 * math.sin(0.7 * step)], dtype=np.float32)
        observation, reward, *_, info = environment.step(action)
        rewards.append(reward)
        windows.append(info["cwnd"])
    assert rewards == one["rewards"]
    assert windows == one["windows"]
    assert observation.tolist() == one["last_observation"]


def test_an_observation_is_not_changed_by_later_steps() -> None:
    """Buffers of experience keep it."""
    environment = gymnasium.make("cwndlab/Link-v0")
    first, _ = environment.reset(seed=1)
    kept = first.copy()
    for _ in range(5):
        second, *_ = environment.step(np.ones(1, dtype=np.float32))
    assert first.tolist() == kept.tolist() != second.tolist()


@pytest.mark.parametrize("name", ["plain", "aurora", "orca"])
def test_a_named_reward_is_the_function_of_that_name(name: str) -> None:
    """Called on the intervals of a run by an own function, it gives what the engine gives."""
    function = rewards.reward_of(name)
    paths = LinkPaths(rate_mbps=12, rtt_ms=20, queue_bdp=1, loss=0.01)
    by_name = Episodes(paths, 2, reward=name)
    by_function = Episodes(paths, 2, reward=lambda intervals, facts: function(intervals, facts))
    for row in range(2):
        by_name.start(row, np.random.default_rng(row))
        by_function.start(row, np.random.default_rng(row))
    for step in range(40):
        actions = [math.sin(step), 0.3 * math.cos(step)]
        assert by_name.step(actions)[0].tolist() == by_function.step(actions)[0].tolist()


def test_a_window_that_stays_gives_a_throughput_of_one_window_per_rtt() -> None:
    """Ten segments, the initial window of RFC 6928, in 100 ms; the link could carry 417. Where a burst of one segment
    ends a buffer of the send queue, its ACK is delayed, which raises the mean RTT by less than a tenth."""
    environment = CongestionEnv(LinkPaths(rate_mbps=50, rtt_ms=100, loss=0.0))
    environment.reset(seed=1)
    for _ in range(20):
        *_, info = environment.step(np.zeros(1, dtype=np.float32))
    assert info["cwnd"] == 10
    assert info["throughput"] == pytest.approx(10 / info["rtt"], rel=0.15)
    assert info["rtt"] == pytest.approx(0.1, rel=0.1)


def test_a_window_of_four_bdp_fills_the_queue_and_the_reward_falls() -> None:
    """A queue that is never full: three of four BDP wait in it, so that the RTT is four times the base RTT."""
    environment = CongestionEnv(LinkPaths(rate_mbps=12, rtt_ms=50, queue_bdp=10, loss=0.0))
    environment.reset(seed=1)
    goal, window, reward = 4 * 50, 10.0, 0.0
    for _ in range(40):
        action = np.clip(math.log2(goal / window), -1, 1)
        _, reward, _, _, info = environment.step(np.array([action], dtype=np.float32))
        window = info["cwnd"]
    assert info["rtt"] == pytest.approx(0.2, rel=0.05)
    assert reward == pytest.approx(1 - 0.25 * 3, abs=0.05)


def test_an_episode_is_truncated_at_the_end_of_its_scenario_and_never_terminated() -> None:
    environment = CongestionEnv(LinkPaths(rate_mbps=12, rtt_ms=20, round_trips=30, loss=0.0))
    _, info = environment.reset(seed=1)
    terminated = truncated = False
    steps = 0
    while not truncated:
        _, _, terminated, truncated, after = environment.step(np.zeros(1, dtype=np.float32))
        steps += 1
    assert (terminated, info["path"]["duration_s"]) == (False, 0.6)
    assert after["time"] == pytest.approx(0.6, abs=0.03)
    assert 20 <= steps <= 30


def test_the_step_at_the_end_has_no_interval() -> None:
    """Of an episode that has ended only the time is a number (`Episodes.measured`)."""
    environment = CongestionEnv(LinkPaths(rate_mbps=12, rtt_ms=20, round_trips=5, loss=0.0))
    environment.reset(seed=1)
    truncated = False
    while not truncated:
        _, _, _, truncated, info = environment.step(np.zeros(1, dtype=np.float32))
    numbers = {name: info[name] for name in ("throughput", "rtt", "loss_ratio", "cwnd")}
    assert all(math.isnan(value) for value in numbers.values()), numbers
    assert info["time"] == pytest.approx(0.1)


def test_an_interval_is_that_of_a_policy_to_the_last_digit() -> None:
    """Seven intervals of 1/0.7 ms are 10 ms; with six digits they were 9.99999 ms."""
    text = Episodes(LinkPaths(rate_mbps=12, rtt_ms=20), every="interval", interval_ms=1 / 0.7).algorithm
    assert float(text.partition("interval_ms=")[2].rstrip(")")) == 1 / 0.7
    assert Episodes(LinkPaths(rate_mbps=12, rtt_ms=20), every="interval").algorithm.endswith("interval_ms=10)")


def test_a_step_without_an_episode_names_what_to_call() -> None:
    """The convention of gymnasium's own environments: `ResetNeeded`, and `ClosedEnvironmentError` after `close`."""
    action = np.zeros(1, dtype=np.float32)
    environment = CongestionEnv(LinkPaths(rate_mbps=12, rtt_ms=20, round_trips=10))
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"no episode has begun: call reset\(\) before step\(\)"):
        environment.step(action)
    environment.reset(seed=1)
    while not environment.step(action)[3]:
        pass
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"the episode has ended: call reset\(\) before step\(\)"):
        environment.step(action)
    environment.reset()
    environment.step(action)
    environment.close()
    environment.close()
    for use in (lambda: environment.step(action), environment.reset):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="the environment is closed"):
            use()


def test_a_reward_of_ones_own_is_a_function() -> None:
    def goodput(now: Intervals, paths: PathFacts) -> Array:
        return now.throughput / paths.fair_rate

    episodes = Episodes(LinkPaths(rate_mbps=12, rtt_ms=20, loss=0.0), reward=goodput)
    episodes.start(0, np.random.default_rng(1))
    reward, _ = episodes.step([1.0])
    assert 0 < reward[0] <= 1


def test_simulations_that_were_not_started_remain_as_they_are() -> None:
    episodes = Episodes(LinkPaths(rate_mbps=12, rtt_ms=20), 2)
    episodes.start(0, np.random.default_rng(1))
    before = episodes.observations[1].tolist()
    reward, ended = episodes.step([0.0, 0.0])
    assert (reward[1], ended.tolist()) == (0, [False, True])
    assert episodes.observations[1].tolist() == before


# Distributions.


@given(st.integers(0, 2**32), st.floats(1e-3, 1e3), st.floats(1, 1e3))
def test_samples_lie_within_their_range(seed: int, low: float, factor: float) -> None:
    rng = np.random.default_rng(seed)
    high = low * factor
    for distribution in (Uniform(low, high), LogUniform(low, high)):
        assert low * (1 - 1e-9) <= distribution.sample(rng) <= high * (1 + 1e-9)
    assert OneOf([low, "a", Uniform(2, 3)]).sample(rng) is not None


@pytest.mark.parametrize("paths", [LinkPaths(), CompetitionPaths(), TracePaths(), CellularPaths()])
@pytest.mark.parametrize("seed", range(3))
def test_every_draw_is_a_scenario(paths: Paths, seed: int) -> None:
    episode = paths.sample(np.random.default_rng(seed), "cubic")
    scenario = cwndlab.Scenario.from_json(episode.document)
    assert scenario.flows[0].algorithm == "cubic"
    assert episode.fair_rate > 0


def test_the_fair_share_of_a_trace_is_its_mean_rate(tmp_path: Path) -> None:
    """An opportunity every 2 ms: 500 segments per second, at whatever moment the run begins."""
    trace = tmp_path / "even.trace"
    trace.write_text("".join(f"{moment}\n" for moment in range(2, 2001, 2)))
    episode = TracePaths(trace=str(trace)).sample(np.random.default_rng(1), "cubic")
    assert episode.fair_rate == pytest.approx(500, rel=0.001)
    assert cwndlab.run(json.loads(episode.document), seed=1).flows["delivered_bytes"][0] > 0


def test_own_scenarios_get_the_policy_in_their_first_flow() -> None:
    paths = FixedPaths([cwndlab.presets.load("two-flows")], fair_rate=4000, base_rtt=0.05)
    environment = CongestionEnv(paths)
    _, info = environment.reset(seed=1)
    assert info["path"] == {"scenario": "CUBIC and Reno share a bottleneck"}
    assert environment.step(np.ones(1, dtype=np.float32))[4]["cwnd"] == 20


def test_flows_that_would_share_one_policys_decisions_are_refused() -> None:
    """A policy has one window; two flows that the caller decides for have two."""
    flow = cwndlab.Flow("external", rtt="20 ms")
    link = cwndlab.Link(rate="12 Mbit/s", delay="5 ms")
    one = cwndlab.Scenario(duration="1 s", dumbbell=cwndlab.Dumbbell(link), flows=[flow])
    several = [one.with_(flows=[flow, flow]), one.with_({"flow[+].algorithm": "external(every=ack)/rack"})]
    for scenario in several:
        environment = CongestionEnv(FixedPaths([scenario], fair_rate=1000, base_rtt=0.02))
        with pytest.raises(ScenarioError, match=r"episode: 2 flows have the algorithm 'external', and a policy"):
            environment.reset(seed=1)
    with pytest.raises(ScenarioError, match=r"scenarios: the first entry of '\w{12}' is 3 flows, and a policy"):
        FixedPaths([one.with_({"flow[0].count": 3})], fair_rate=1000, base_rtt=0.02)


# Bad input.


def stepped(environment: CongestionEnv | CongestionVectorEnv, action: list[float]) -> object:
    """What a step by this action returns."""
    environment.reset(seed=1)
    return environment.step(np.array(action, dtype=np.float32))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Observation("sight"),
            "observation: no observation is called 'sight'\n  hint: there are plain, aurora, orca",
        ),
        (lambda: Observation(history=-1), "history: '-1' is not a number of intervals\n  hint: write history=10"),
        (
            lambda: Action("push"),
            "action: no action is called 'push'\n  hint: there are power-window, delta-window, delta-rate",
        ),
        (lambda: Action(scale=0.5), "scale: '0.5' is not above 1\n  hint: write scale=2"),
        (lambda: Action(lowest=5, highest=4), "lowest: '5' to '4' is not a range of windows\n  hint: write lowest=2"),
        (
            lambda: rewards.reward_of("praise"),
            "reward: no reward is called 'praise'\n  hint: there are plain, aurora, orca",
        ),
        (lambda: Episodes(LinkPaths(), 0), "count: '0' is not a number of simulations\n  hint: write count=1"),
        (
            lambda: Episodes(LinkPaths(), 2).step([0.0]),
            "actions: an array of shape (1,) is not a number for each of 2 simulations\n"
            "  hint: give numbers in [−1, 1]",
        ),
        (
            lambda: Episodes(LinkPaths()).step([math.nan]),
            "actions: an array of shape (1,) is not a number for each of 1 simulations\n"
            "  hint: give numbers in [−1, 1]",
        ),
        (
            lambda: stepped(CongestionEnv(LinkPaths()), [0.1, 0.2]),
            "actions: an array of shape (2,) is not a number for each of 1 simulations\n"
            "  hint: give numbers in [−1, 1]",
        ),
        (
            lambda: stepped(CongestionVectorEnv(2, LinkPaths()), [0.1, 0.2, 0.3]),
            "actions: an array of shape (3,) is not a number for each of 2 simulations\n"
            "  hint: give numbers in [−1, 1]",
        ),
        (
            lambda: CongestionVectorEnv(2, LinkPaths()).reset(seed=1.5),  # type: ignore[arg-type]
            "seed: 1.5 is not an integer\n  hint: give one number, or one for each environment",
        ),
        (
            lambda: Episodes(LinkPaths(), every="day"),
            "every: no kind of decision is called 'day'\n  hint: there are rtt, interval, ack",
        ),
        (
            lambda: ParallelCongestionEnv(1),
            "agents: '1' is not a number of competitors\n  hint: write agents=2",
        ),
        (lambda: Uniform(2, 1), "Uniform: '2' to '1' is not a range\n  hint: write Uniform(1, 10)"),
        (
            lambda: LogUniform(0, 1),
            "LogUniform: '0' to '1' is not a range of positive numbers\n  hint: write LogUniform(1, 100)",
        ),
        (lambda: OneOf([]), "OneOf: has no values\n  hint: write OneOf([1, 2])"),
        (
            lambda: LinkPaths(rate_mbps=0).sample(np.random.default_rng(1), "cubic"),
            "rate_mbps: '0' is out of range\n  hint: at least 0.01",
        ),
        (lambda: FixedPaths([], 1, 1), "scenarios: is empty\n  hint: give a scenario at least"),
        (
            lambda: Layer(np.zeros((2, 3)), np.zeros(3)),
            "layer: weights of shape (2, 3) do not fit a bias of shape (3,)\n"
            "  hint: weights have a row for each output, the bias a number",
        ),
        (lambda: Policy([]), "layers: are missing\n  hint: give one layer at least"),
        (
            lambda: Policy([Layer(np.zeros((1, 3)), np.zeros(1))], Observation("plain", 1)),
            "layers[0]: takes 3 numbers, and gets 5\n  hint: a layer takes the outputs of the one before it",
        ),
        (
            lambda: Policy([Layer(np.zeros((2, 5)), np.zeros(2))], Observation("plain", 1)),
            "layers[0]: has 2 outputs, and an action takes 1\n"
            "  hint: keep the row of the weights and the bias that decide",
        ),
        (
            # By hand: the queueing delay is at most 10 times the minimum RTT, and 10 · 10³⁰⁸ is infinite in a double.
            lambda: Policy([Layer(1e308 * np.ones((1, 5)), np.zeros(1))], Observation("plain", 1)),
            "layers[0]: exceeds the range of numbers for some observations\n  hint: use smaller weights",
        ),
        (
            lambda: Policy([Layer(np.zeros((1, 5)), np.zeros(1))], Observation("plain", 1), std=np.full(5, 1e-308)),
            "normalisation: a deviation is too small\n  hint: use a deviation of 1",
        ),
        (
            lambda: Observation("plain", 2**62),
            "history: '4611686018427387904' is more than 1000000 intervals\n  hint: write history=10",
        ),
        (
            lambda: Policy.from_document({"schema_version": 2}),
            "schema_version: '2' is not 1\n  hint: write the policy anew",
        ),
        (
            lambda: Policy.from_document({"schema_version": 1, "layers": []}),
            "observation: is missing\n  hint: `Policy.save` writes all parts",
        ),
        (
            lambda: Policy.from_document({**small().to_document(), "x": 1}),
            "x: is no part of a policy\n  hint: leave it out",
        ),
        *(
            (
                lambda part=part: Policy.from_document(
                    {name: value for name, value in small().to_document().items() if name != part}
                ),
                f"{part}: is missing\n  hint: `Policy.save` writes all parts",
            )
            for part in ("every", "interval_ms", "normalisation")
        ),
    ],
)
def test_bad_input_is_refused_with_what_would_do(make: Any, message: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{re.escape(message)}$"):
        make()


# Policies.


def small(output: float = 0.5) -> Policy:
    """A policy whose output is tanh(artanh(output)), whatever it observes."""
    return Policy(
        [Layer(np.zeros((2, 5)), [0, 0], "relu"), Layer([[1, 1]], [math.atanh(output)])],
        Observation("plain", history=1),
    )


def test_a_policys_output_by_hand() -> None:
    """(x − 1) / 2 = (0, 1, …); relu(0 · 1 − 1 · 1) = 0 and relu(1 + 0.5) = 1.5; 2 · 0 − 0.5 · 1.5 = −0.75."""
    first = Layer([[1, -1, 0, 0, 0], [0, 1, 0, 0, 0]], [0, 0.5], "relu")
    policy = Policy(
        [first, Layer([[2, -0.5]], [0], "linear")], Observation("plain", history=1), mean=np.ones(5), std=2 * np.ones(5)
    )
    assert policy([1, 3, 0, 0, 0]).item() == -0.75
    assert policy([[1, 3, 0, 0, 0], [1, -9, 0, 0, 0]]).tolist() == [-0.75, 1]


def test_a_policy_comes_back_from_its_file(tmp_path: Path) -> None:
    policy = Policy(
        [Layer(np.arange(30.0).reshape(1, 30), [0.1], "linear")],
        Observation("aurora"),
        Action("delta-rate", scale=0.025, lowest=4, highest=5000),
        every="interval",
        interval_ms=20,
    )
    policy.save(tmp_path / "policy.json")
    assert Policy.load(tmp_path / "policy.json").to_document() == policy.to_document()


def test_a_file_that_is_no_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text("[")
    with pytest.raises(ScenarioError, match=r"policy\.json: is no JSON"):
        Policy.load(tmp_path / "policy.json")


def test_importing_the_package_does_not_import_gymnasium() -> None:
    code = "import sys, cwndlab; cwndlab.Link; print('gymnasium' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_without_gymnasium_only_its_environments_are_missing() -> None:
    code = (
        "import sys\nsys.modules['gymnasium'] = None\nimport cwndlab.gym\n"
        "cwndlab.gym.Episodes, cwndlab.gym.Policy\n"
        "try:\n    cwndlab.gym.CongestionEnv\nexcept cwndlab.RunError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "gymnasium: is not installed\n  hint: pip install 'cwndlab[learn]'\n"


# Policies as algorithms.


def steered(policy: Policy, document: dict[str, Any], seed: int) -> cwndlab.Records:
    """The run in which Python computes the policy at each decision."""
    one = Agents(1, policy.observation, policy.action, "plain")
    with Simulation(document, seed) as simulation:
        while (decision := simulation.next_decision()) is not None:
            one.push(0, [getattr(decision, name) for name in FIELDS])
            cwnd, rate = one.decide(0, policy(one.observations)[0])
            if not math.isnan(cwnd):
                simulation.set_cwnd(0, cwnd)
            if not math.isnan(rate):
                simulation.set_pacing(0, rate)
        return simulation.records()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("kind", "action"), [("plain", "power-window"), ("aurora", "delta-window"), ("orca", "delta-rate")]
)
def test_the_engine_computes_a_policy_as_python_does(kind: str, action: str, seed: int) -> None:
    """The same windows at all times, for networks with random weights."""
    rng = np.random.default_rng([seed, len(kind)])
    observation = Observation(kind, history=3)
    layers = [
        Layer(rng.normal(size=(6, observation.size)) * 0.1, rng.normal(size=6), "tanh"),
        Layer(rng.normal(size=(4, 6)), rng.normal(size=4), "relu"),
        Layer(rng.normal(size=(1, 4)) * 0.2, [0.02], "linear"),
    ]
    size = observation.size
    policy = Policy(layers, observation, Action(action), mean=rng.random(size), std=1 + rng.random(size))
    paths = LinkPaths(rate_mbps=12, rtt_ms=30, loss=0.001, round_trips=100)
    episode = paths.sample(np.random.default_rng(seed), "external(every=rtt)")
    document = json.loads(episode.document)
    by_python = steered(policy, document, episode.seed)
    document["flow"][0]["algorithm"] = "mine"
    document["algorithms"] = {"mine": policy.algorithm}
    by_engine = cwndlab.run(document, seed=episode.seed)
    assert by_engine.flows["delivered_bytes"].to_list() == by_python.flows["delivered_bytes"].to_list()
    assert by_engine.samples["cwnd_bytes"].to_list() == pytest.approx(by_python.samples["cwnd_bytes"].to_list(), abs=2)
    assert by_engine.samples["cwnd_bytes"].n_unique() > 3


def test_a_file_and_its_content_are_the_same_algorithm(tmp_path: Path) -> None:
    policy = small(0.25)
    policy.save(tmp_path / "mine.json")
    text = (
        'schema_version = 1\nduration = "2 s"\n[algorithms.mine]\npolicy = "mine.json"\n'
        '[dumbbell]\nbottleneck = { rate = "12 Mbps", delay = "10 ms" }\n'
        '[[flow]]\nalgorithm = "mine"\nrtt = "40 ms"\n'
    )
    (tmp_path / "scenario.toml").write_text(text)
    by_file = cwndlab.Scenario.load(tmp_path / "scenario.toml")
    path = cwndlab.Dumbbell(cwndlab.Link(rate="12 Mbps", delay="10 ms"))
    flows = [cwndlab.Flow("mine", rtt="40 ms")]
    whole = cwndlab.Scenario(duration="2 s", dumbbell=path, flows=flows, algorithms={"mine": policy.algorithm})
    assert cwndlab.run(by_file, seed=1).hash() == cwndlab.run(whole, seed=1).hash()
