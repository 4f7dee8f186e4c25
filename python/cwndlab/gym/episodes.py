"""Episodes of many simulations side by side: actions in, observations and rewards out. Needs no other library."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cwndlab import engine
from cwndlab.custom import base_name
from cwndlab.errors import ArgumentError, Parameter, parameter_fault, unknown_name
from cwndlab.gym.actions import Action
from cwndlab.gym.agents import Agents
from cwndlab.gym.intervals import Array
from cwndlab.gym.observations import Observation
from cwndlab.gym.paths import Episode, Paths
from cwndlab.gym.policy import EVERY
from cwndlab.gym.rewards import Reward

__all__ = ["Episodes"]


class Episodes:
    """n simulations, each with one flow whose window a policy sets.

    A step runs each simulation to the next decision of its flow. The environments of gymnasium are built on this
    class; a search without gradients may use it directly.

    Parameters
    ----------
    paths
        The distribution of scenarios.
    count
        n.
    observation, reward, action
        What the policy observes, its reward, and the effect of its action; an observation, a reward and an action may
        be given by name.
    every
        When a policy decides: ``"rtt"``, ``"interval"`` or ``"ack"``.
    interval_ms
        The interval, with ``every="interval"``.

    Raises
    ------
    ScenarioError
        A name is unknown, or a number out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import Episodes, LinkPaths
    >>> episodes = Episodes(LinkPaths(rate_mbps=12, rtt_ms=20), count=2)
    >>> for row in range(2):
    ...     _ = episodes.start(row, np.random.default_rng(row))
    >>> rewards, ended = episodes.step([0.0, 1.0])
    >>> rewards.shape, ended.tolist(), episodes.observations.shape
    ((2,), [False, False], (2, 20))
    """

    def __init__(
        self,
        paths: Paths,
        count: int = 1,
        *,
        observation: str | Observation = "plain",
        reward: str | Reward = "plain",
        action: str | Action = "power-window",
        every: str = "rtt",
        interval_ms: float = 10,
    ) -> None:
        if count < 1:
            raise ArgumentError(parameter_fault("count", f"'{count}' is not a number of simulations", example=1))
        if every not in EVERY:
            raise ArgumentError(unknown_name(Parameter("every"), "kind of decision", every, EVERY))
        self.observation = Observation(observation) if isinstance(observation, str) else observation
        self.action = Action(action) if isinstance(action, str) else action
        self._paths = paths
        interval = f", interval_ms={np.format_float_positional(interval_ms, trim='-')}" if every == "interval" else ""
        #: The algorithm of the policy's flow: ``external`` with its parameters.
        self.algorithm = f"external(every={every}{interval})"
        fields = engine.decision_fields()
        self._reports: Array = np.full((count, len(fields)), np.nan)
        self._actions: Array = np.zeros((count, 1))
        self._agents = Agents(count, self.observation, self.action, reward)
        self._batch = engine.SimulationBatch(self._reports, self._actions, self._agents.handle)
        self._done: Array = self._reports[:, fields.index("done")]
        self._done[:] = 1
        #: The time in each simulation, s.
        self.time: Array = self._reports[:, fields.index("time")]
        #: The last interval of each flow.
        self.intervals = now = self._agents.intervals
        self._measured = {
            "time": self.time,
            "throughput": now.throughput,
            "rtt": now.rtt_mean,
            "loss_ratio": now.loss_ratio,
            "cwnd": now.cwnd,
        }

    @property
    def count(self) -> int:
        """The number of simulations."""
        return len(self._reports)

    @property
    def observations(self) -> Array:
        """The observations, of shape (n, size); a view that the next step changes."""
        return self._agents.observations

    def start(self, row: int, rng: np.random.Generator) -> Episode:
        """Starts another episode of a simulation, which runs to its first decision.

        Parameters
        ----------
        row
            Index of the simulation.
        rng
            Source of chance: it draws scenario and seed.

        Returns
        -------
        Episode
            What was drawn.
        """
        episode = self._paths.sample(rng, self.algorithm)
        self.start_episode(row, episode)
        return episode

    def start_episode(self, row: int, episode: Episode) -> None:
        """Starts a given episode, such as the same one for several policies.

        Raises
        ------
        ScenarioError
            It has not one flow that the policy decides for: the decisions of several would be taken for those of one.
        """
        flows = json.loads(episode.document)["flow"]
        decided = sum(one.get("count", 1) for one in flows if base_name(one.get("algorithm") or "") == "external")
        if decided != 1:
            what = f"{decided} flows have the algorithm 'external', and a policy decides for one"
            raise ArgumentError(parameter_fault("episode", what, hint="give the other flows another algorithm"))
        self._agents.restart(row, fair_rate=episode.fair_rate, base_rtt=episode.base_rtt)
        self._batch.start(row, episode.document, "json", episode.seed)

    def step(self, actions: Sequence[float] | Array | NDArray[np.float32]) -> tuple[Array, NDArray[np.bool_]]:
        """Applies an action to each flow and runs each simulation to its next decision.

        If a simulation ends, the rest of its last interval has no reward, and the observation remains that of the
        last decision. Simulations that have ended before, or that were not started, remain as they are.

        Parameters
        ----------
        actions
            n numbers in [−1, 1].

        Returns
        -------
        rewards : ndarray
            The rewards of the intervals after the actions.
        ended : ndarray of bool
            If the simulation has reached the end of its scenario.

        Raises
        ------
        ScenarioError
            There is not a number for each simulation.
        """
        given = np.asarray(actions, dtype=np.float64)
        fits = given.shape == self._done.shape
        if fits:
            self._actions[:, 0] = given
        if not (fits and self._batch.step()):
            what = f"an array of shape {given.shape} is not a number for each of {self.count} simulations"
            raise ArgumentError(parameter_fault("actions", what, hint="give numbers in [−1, 1]"))
        ended = self._done != 0
        return self._agents.rewards(ended), ended

    def measured(self) -> dict[str, Array]:
        """Numbers of the last interval of each flow: ``time`` (s), ``throughput`` (segments/s), ``rtt`` (s),
        ``loss_ratio`` and ``cwnd`` (segments); a copy. Of an episode that has ended only the time is a number.
        """
        return {name: values.copy() for name, values in self._measured.items()}

    def measured_of(self, row: int) -> dict[str, float]:
        """The numbers of `measured` of one flow."""
        return {name: values.item(row) for name, values in self._measured.items()}
