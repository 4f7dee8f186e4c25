"""Agents: what the flows of learning environments measure, observe and gain, in arrays that the engine writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from cwndlab import engine
from cwndlab.files import json_text
from cwndlab.gym.actions import Action
from cwndlab.gym.intervals import Array, Intervals
from cwndlab.gym.observations import Observation
from cwndlab.gym.rewards import REWARDS, PathFacts, Reward, reward_of

__all__ = ["Agents"]


class Agents:
    """n flows that policies decide for.

    The engine computes observations and rewards with the functions of `Policy` as an algorithm, and writes them into
    these arrays; the reward that is a function in Python is computed here.

    Parameters
    ----------
    count
        n.
    observation, action, reward
        As in `Episodes`.

    Examples
    --------
    >>> import numpy as np
    >>> from cwndlab.gym import Action, Observation
    >>> from cwndlab.gym.agents import Agents
    >>> agents = Agents(1, Observation("plain", history=1), Action(), "plain")
    >>> agents.restart(0, fair_rate=100, base_rtt=0.05)
    >>> agents.push(0, [0.1, 12, 9, 1, 0.06, 0.0, 0.06, 0.05, 10, np.nan])
    >>> agents.intervals.throughput, agents.rewards(np.array([False])).round(3), agents.decide(0, 1.0)[0]
    (array([90.]), array([0.65]), 20.0)
    """

    def __init__(self, count: int, observation: Observation, action: Action, reward: str | Reward) -> None:
        function = reward_of(reward)
        name = next((name for name, one in REWARDS.items() if one is function), None)
        self._function = function if name is None else None
        #: The last interval of each flow.
        self.intervals = Intervals(np.full((count, len(engine.interval_fields())), np.nan))
        #: The observations, of shape (n, size).
        self.observations: Array = np.empty((count, observation.size))
        self._rewards: Array = np.zeros((count, 1))
        self._facts = PathFacts(np.ones(count), np.ones(count))
        arrays = (self.intervals.values, self.observations, self._rewards)
        #: The same for the engine.
        self.handle = engine.Agents(*arrays, json_text(asdict(observation)), json_text(asdict(action)), name)

    def restart(self, row: int, *, fair_rate: float, base_rtt: float) -> None:
        """Forgets the intervals of a flow whose connection begins anew, on a path with these facts."""
        self._facts.fair_rate[row], self._facts.base_rtt[row] = fair_rate, base_rtt
        self.handle.restart(row, fair_rate, base_rtt)

    def push(self, row: int, measured: Sequence[float]) -> None:
        """Appends an interval of a flow, given by the first `MEASURED` of ``engine.interval_fields()``."""
        self.handle.push(row, measured)

    def decide(self, row: int, action: float) -> tuple[float, float]:
        """Window (segments) and pacing rate (segments/s) after an action; NaN: unchanged."""
        return self.handle.decide(row, action)

    def rewards(self, ended: NDArray[np.bool_]) -> Array:
        """The reward of the last interval of each flow; 0 where it has ended."""
        found = self._rewards[:, 0] if self._function is None else self._function(self.intervals, self._facts)
        return np.where(ended, 0, found)
