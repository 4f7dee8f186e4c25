"""cwndlab.gym: environments side by side, and those of several agents in one network."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from cwndlab import ScenarioError
from cwndlab.gym import (
    CompetitionPaths,
    CongestionEnv,
    CongestionVectorEnv,
    LinkPaths,
    OneOf,
    ParallelCongestionEnv,
)

# Environments side by side.


def test_a_step_of_environments_side_by_side_without_episodes_names_what_to_call() -> None:
    actions = np.zeros((2, 1), dtype=np.float32)
    environments = CongestionVectorEnv(2, LinkPaths(rate_mbps=12, rtt_ms=20, round_trips=10))
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before step\(\)"):
        environments.step(actions)
    environments.reset(seed=1)
    environments.step(actions)
    environments.close()
    for use in (lambda: environments.step(actions), environments.reset):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="the environment is closed"):
            use()


def test_environments_side_by_side_are_those_that_run_alone() -> None:
    many = CongestionVectorEnv(3, LinkPaths())
    observations, _ = many.reset(seed=5)
    alone = [CongestionEnv(LinkPaths()) for _ in range(3)]
    expected = [environment.reset(seed=5 + index)[0] for index, environment in enumerate(alone)]
    assert observations.tolist() == [one.tolist() for one in expected]
    for index in range(20):
        actions = np.array([[0.3], [math.cos(index)], [-0.2]], dtype=np.float32)
        observations, reward, _, truncated, _ = many.step(actions)
        for row, environment in enumerate(alone):
            one, gained, _, ended, _ = environment.step(actions[row])
            assert (observations[row].tolist(), reward[row], truncated[row]) == (one.tolist(), gained, ended)


def assert_same(one: Any, other: Any) -> None:
    """Equal numbers, arrays and texts, in tables of tables."""
    if isinstance(one, dict):
        assert sorted(one) == sorted(other)
        for key, value in one.items():
            assert_same(value, other[key])
    elif isinstance(one, tuple):
        for value, second in zip(one, other, strict=True):
            assert_same(value, second)
    else:
        np.testing.assert_array_equal(one, other)


def test_what_is_known_of_environments_side_by_side_is_as_gymnasium_has_it() -> None:
    """Beside gymnasium's own SyncVectorEnv, which makes the infos of single environments one."""
    paths = LinkPaths(rate_mbps=12, rtt_ms=OneOf([20, 40]), round_trips=20, loss=0.0)
    many = CongestionVectorEnv(2, paths)
    alone = gymnasium.vector.SyncVectorEnv([lambda: CongestionEnv(paths)] * 2)
    assert_same(many.reset(seed=[7, 3]), alone.reset(seed=[7, 3]))
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = rng.uniform(-1, 1, (2, 1)).astype(np.float32)
        assert_same(many.step(actions), alone.step(actions))
    # Without a seed an environment goes on with its random numbers.
    assert_same(many.reset(seed=[None, 9]), alone.reset(seed=[None, 9]))
    with pytest.raises(ScenarioError, match="seed: there are 3 seeds for 2 environments"):
        many.reset(seed=[1, 2, 3])


def test_the_step_after_the_end_of_an_episode_starts_another_one() -> None:
    """Gymnasium's AutoresetMode.NEXT_STEP: without a reward, and other environments go on."""
    many = CongestionVectorEnv(2, LinkPaths(rate_mbps=12, rtt_ms=OneOf([20, 40]), round_trips=20, loss=0.0))
    many.reset(seed=1)
    actions = np.zeros((2, 1), dtype=np.float32)
    ended = np.zeros(2, dtype=bool)
    restarts = 0
    for _ in range(100):
        _, reward, terminated, truncated, _ = many.step(actions)
        assert not terminated.any()
        assert (reward[ended] == 0).all()
        assert not truncated[ended].any()
        restarts += int(ended.sum())
        ended = truncated
    assert restarts >= 4


def test_registered_environments_take_arguments_of_their_paths_and_make_vectors() -> None:
    many = gymnasium.make_vec(
        "cwndlab/Link-v0", num_envs=4, vectorization_mode="vector_entry_point", rate_mbps=12, observation="aurora"
    )
    observations, _ = many.reset(seed=1)
    assert observations.shape == (4, 30)
    assert isinstance(many.unwrapped, CongestionVectorEnv)


# Several agents.


def test_agents_who_keep_their_window_share_the_link_by_their_windows() -> None:
    """Ten and forty segments in the same queue: a fifth and four fifths of the rate; the windows exceed the BDP."""
    environment = ParallelCongestionEnv(2, CompetitionPaths(rate_mbps=12, rtt_ms=20, queue_bdp=8, loss=0.0))
    environment.reset(seed=1)
    goals = {"flow_0": 10, "flow_1": 40}
    windows = dict.fromkeys(goals, 10.0)
    seen: dict[str, list[float]] = {agent: [] for agent in goals}
    for step in range(60):
        actions = {agent: np.array([math.log2(goals[agent] / windows[agent])], np.float32) for agent in goals}
        for agent, action in actions.items():
            windows[agent] *= 2 ** float(np.clip(action[0], -1, 1))
        observations, gained, *_ = environment.step(actions)
        assert sorted(observations) == sorted(gained) == ["flow_0", "flow_1"]
        if step >= 30:
            for agent in goals:
                seen[agent].append(gained[agent] + 0.25 * max(float(observations[agent][-4]), 0))
    # The reward without its term of delay is the throughput by the fair share, half of the rate.
    assert np.mean(seen["flow_0"]) == pytest.approx(0.4, abs=0.1)
    assert np.mean(seen["flow_1"]) == pytest.approx(1.6, abs=0.1)


def test_all_agents_end_together() -> None:
    environment = ParallelCongestionEnv(3, CompetitionPaths(rate_mbps=12, rtt_ms=20, round_trips=20))
    observations, infos = environment.reset(seed=1)
    assert sorted(observations) == sorted(infos) == environment.possible_agents == environment.agents
    while environment.agents:
        agents = list(environment.agents)
        actions = {agent: environment.action_space(agent).sample() for agent in agents}
        observations, rewards, terminated, truncated, _ = environment.step(actions)
        assert all(environment.observation_space(agent).contains(observations[agent]) for agent in agents)
        assert not any(terminated.values())
        assert len(set(truncated.values())) == 1
    assert set(truncated.values()) == {True}
    assert set(rewards.values()) == {0.0}  # no interval ended with the episode, and none is rewarded twice
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step"):
        environment.step(actions)


def test_the_environment_of_several_agents_has_all_of_pettingzoos_interface() -> None:
    """The members of `pettingzoo.ParallelEnv` 1.25, in the order of its source."""
    environment = ParallelCongestionEnv(3, CompetitionPaths(rate_mbps=12, rtt_ms=20, round_trips=20))
    members = "metadata agents possible_agents reset step render close state observation_space action_space num_agents"
    assert [one for one in (*members.split(), "max_num_agents", "unwrapped") if not hasattr(environment, one)] == []
    assert (environment.num_agents, environment.max_num_agents) == (0, 3)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before state"):
        environment.state()
    observations, _ = environment.reset(seed=1)
    assert (environment.num_agents, environment.unwrapped is environment) == (3, True)
    state = environment.state()
    assert environment.state_space.contains(state)
    assert state.tolist() == [number for one in observations.values() for number in one.tolist()]
    environment.render()


def test_a_seed_repeats_the_episode_of_all_agents() -> None:
    def play() -> list[Any]:
        environment = ParallelCongestionEnv(2, CompetitionPaths(queue_bdp=4))
        observations, _ = environment.reset(seed=3)
        rows = [{agent: one.tolist() for agent, one in observations.items()}]
        for step in range(10):
            actions = {agent: np.array([math.sin(step)], np.float32) for agent in environment.agents}
            observations, gained, *_ = environment.step(actions)
            rows += [{agent: one.tolist() for agent, one in observations.items()}, gained]
        return rows

    assert play() == play()
