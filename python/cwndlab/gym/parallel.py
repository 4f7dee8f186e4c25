"""Several policies on one link, with the interface of PettingZoo's `ParallelEnv`."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cwndlab import engine
from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.gym.actions import Action
from cwndlab.gym.agents import Agents
from cwndlab.gym.environments import spaces_of
from cwndlab.gym.intervals import MEASURED
from cwndlab.gym.observations import Observation
from cwndlab.gym.paths import CompetitionPaths
from cwndlab.gym.rewards import Reward
from cwndlab.gym.simulation import Decision, Simulation
from cwndlab.lazy import extra

with extra("learn"):
    from gymnasium import spaces
    from gymnasium.spaces.utils import flatten_space
    from gymnasium.utils import seeding

__all__ = ["ParallelCongestionEnv"]

_Observations: TypeAlias = dict[str, NDArray[np.float32]]


class ParallelCongestionEnv:
    """The windows of several flows on one link, each set by an agent.

    A step applies all actions and runs until every agent has come to its next decision, at the end of its round trip.
    An agent with a shorter round trip keeps its window meanwhile; its observation and reward are those of its last
    interval. All agents end together, by truncation, at the end of the scenario. The methods are those of PettingZoo's
    `ParallelEnv`, which needs not be installed.

    Parameters
    ----------
    agents
        Their number, at least two.
    paths
        The distribution of the link; ``others`` and ``count`` have no effect.
    observation, reward, action
        As in `Episodes`.

    Raises
    ------
    ScenarioError
        A name is unknown, or there are fewer than two agents.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import CompetitionPaths, ParallelCongestionEnv
    >>> environment = ParallelCongestionEnv(2, CompetitionPaths(rate_mbps=12, rtt_ms=20))
    >>> observations, _ = environment.reset(seed=1)
    >>> actions = {agent: np.zeros(1, np.float32) for agent in environment.agents}
    >>> observations, rewards, terminated, truncated, _ = environment.step(actions)
    >>> sorted(rewards), observations["flow_0"].shape
    (['flow_0', 'flow_1'], (20,))
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "cwndlab_parallel_v0", "render_modes": []}
    render_mode: str | None = None

    def __init__(
        self,
        agents: int = 2,
        paths: CompetitionPaths | None = None,
        *,
        observation: str | Observation = "plain",
        reward: str | Reward = "plain",
        action: str | Action = "power-window",
    ) -> None:
        if agents < 2:
            raise ArgumentError(parameter_fault("agents", f"'{agents}' is not a number of competitors", example=2))
        self._algorithm = "external(every=rtt)"
        self._paths = replace(paths or CompetitionPaths(), others=self._algorithm, count=agents - 1)
        self._observation = Observation(observation) if isinstance(observation, str) else observation
        action = Action(action) if isinstance(action, str) else action
        self._deciders = Agents(agents, self._observation, action, reward)
        self._measured = engine.interval_fields()[:MEASURED]
        self._generator: np.random.Generator | None = None
        self._simulation: Simulation | None = None
        #: Names of all agents: ``flow_0``, ``flow_1``, ….
        self.possible_agents = [f"flow_{index}" for index in range(agents)]
        # A pair for each agent, since each space has random numbers of its own.
        self._spaces = {agent: spaces_of(self._observation) for agent in self.possible_agents}
        #: Those of the present episode; none after its end.
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        """The space of an agent's observations, the same object at each call, as PettingZoo demands."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> Any:
        """The space of an agent's actions, the same object at each call."""
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Observations, dict[str, dict[str, Any]]]:
        """Starts another episode and runs to the first decisions; ``options`` has no effect."""
        del options
        if seed is not None or self._generator is None:
            self._generator = seeding.np_random(seed)[0]
        episode = self._paths.sample(self._generator, self._algorithm)
        self.close()
        self._simulation = Simulation(json.loads(episode.document), episode.seed)
        for row in range(len(self.possible_agents)):
            self._deciders.restart(row, fair_rate=episode.fair_rate, base_rtt=episode.base_rtt)
        self.agents = list(self.possible_agents)
        self._run()
        return self._observations(), {agent: {"path": dict(episode.facts)} for agent in self.agents}

    def step(
        self, actions: dict[str, NDArray[np.float32]]
    ) -> tuple[_Observations, dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Applies the actions of all agents and runs until each has come to its next decision."""
        if self._simulation is None or not self.agents:
            raise RuntimeError("no episode is running: call reset() before step()")
        for flow, agent in enumerate(self.agents):
            cwnd, rate = self._deciders.decide(flow, np.reshape(actions[agent], 1).item())
            if not math.isnan(cwnd):
                self._simulation.set_cwnd(flow, cwnd)
            if not math.isnan(rate):
                self._simulation.set_pacing(flow, rate)
        ended = not self._run()
        agents = self.agents
        gained = self._deciders.rewards(np.full(len(agents), ended))
        rewards = {agent: gained.item(index) for index, agent in enumerate(agents)}
        observations = self._observations()
        if ended:
            self.agents = []
        return (
            observations,
            rewards,
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, ended),
            {agent: {} for agent in agents},
        )

    @property
    def num_agents(self) -> int:
        """The number of agents of the present episode."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """The number of all agents."""
        return len(self.possible_agents)

    @property
    def unwrapped(self) -> ParallelCongestionEnv:
        """The environment itself, which wraps none."""
        return self

    def state(self) -> NDArray[np.float32]:
        """A view of all agents, for training in one place: their observations, one after another, of `state_space`."""
        if self._simulation is None:
            raise RuntimeError("no episode has begun: call reset() before state()")
        return self._deciders.observations.astype(np.float32).ravel()

    @property
    def state_space(self) -> Any:
        """The space of `state`."""
        return flatten_space(spaces.Tuple([self.observation_space(agent) for agent in self.possible_agents]))

    def render(self) -> None:
        """Shows nothing: there are no ``render_modes``."""

    def close(self) -> None:
        """Frees the simulation."""
        if self._simulation is not None:
            self._simulation.close()
            self._simulation = None

    def _run(self) -> bool:
        """Runs until each agent has come to a decision; false at the end of the scenario."""
        assert self._simulation is not None
        last: dict[int, Decision] = {}
        while len(last) < len(self.possible_agents):
            decision = self._simulation.next_decision()
            if decision is None:
                return False
            last[decision.flow] = decision
        for flow, decision in last.items():
            self._deciders.push(flow, [getattr(decision, name) for name in self._measured])
        return True

    def _observations(self) -> _Observations:
        values = self._deciders.observations.astype(np.float32)
        return {agent: values[index] for index, agent in enumerate(self.agents)}
