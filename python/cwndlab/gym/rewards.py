"""Rewards of a monitor interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cwndlab import engine
from cwndlab.errors import ArgumentError, Parameter, unknown_name
from cwndlab.gym.intervals import Array, Intervals

__all__ = ["REWARDS", "PathFacts", "Reward", "aurora", "orca", "plain", "reward_of"]


@dataclass(frozen=True)
class PathFacts:
    """What the reward may know of the paths of n flows, and their policy does not.

    Parameters
    ----------
    fair_rate
        The flow's fair share of the link, segments per second.
    base_rtt
        The RTT without queues, seconds.
    """

    fair_rate: Array
    base_rtt: Array


#: Computes the rewards of n flows from their intervals and paths.
Reward: TypeAlias = Callable[[Intervals, PathFacts], Array]


def _computed(name: str, intervals: Intervals, paths: PathFacts) -> Array:
    """The reward of this name, computed by the engine."""
    rows = zip(intervals.values.tolist(), paths.fair_rate.tolist(), paths.base_rtt.tolist(), strict=True)
    return np.array([engine.interval_reward(name, *row) for row in rows])


def plain(intervals: Intervals, paths: PathFacts) -> Array:
    """Throughput by the fair share − ¼ · queueing delay by the base RTT − 2 · loss ratio.

    A flow alone on a link without random loss has its maximum, 1, at full utilisation with an empty queue: a window
    below the bandwidth-delay product (BDP) loses 1 % per 1 % of the BDP, one above it ¼ %. A packet sent in vain costs
    more than the throughput that it could have been.

    Parameters
    ----------
    intervals
        The intervals.
    paths
        Fair share and base RTT.

    Returns
    -------
    ndarray
        A reward for each flow.
    """
    return _computed("plain", intervals, paths)


def aurora(intervals: Intervals, paths: PathFacts) -> Array:
    """0.001 · (10 · throughput − 1000 · mean RTT − 2000 · loss ratio), in segments per second and seconds.

    Source: N. Jay et al., ICML 2019; the factor 0.001 and a mean RTT of 0 without samples are those of
    PCC-RL, ``src/gym/network_sim.py``.

    Parameters
    ----------
    intervals
        The intervals.
    paths
        Without an effect.

    Returns
    -------
    ndarray
        A reward for each flow.
    """
    return _computed("aurora", intervals, paths)


def orca(intervals: Intervals, paths: PathFacts) -> Array:
    """(throughput − 5 · loss rate) / greatest throughput so far · delay metric.

    The delay metric is 1 up to an SRTT of 1.25 times the least RTT, and from there on 1.25 · least RTT / SRTT.

    Source: S. Abbasloo et al., SIGCOMM 2020; the form is that of Orca's ``rl-module/envwrapper.py`` with the values of
    its ``params.json`` (a margin of 1.25, a weight of 5, no normaliser).

    Parameters
    ----------
    intervals
        The intervals.
    paths
        Without an effect.

    Returns
    -------
    ndarray
        A reward for each flow; 0 where nothing was acknowledged yet.
    """
    return _computed("orca", intervals, paths)


#: The rewards by name.
REWARDS: dict[str, Reward] = {"plain": plain, "aurora": aurora, "orca": orca}


def reward_of(reward: str | Reward) -> Reward:
    """The reward of this name, or the function itself.

    Raises
    ------
    ScenarioError
        No reward has this name.

    Examples
    --------
    >>> from cwndlab.gym import rewards
    >>> rewards.reward_of("aurora") is rewards.aurora
    True
    """
    if callable(reward):
        return reward
    if reward not in REWARDS:
        raise ArgumentError(unknown_name(Parameter("reward"), "reward", reward, REWARDS))
    return REWARDS[reward]


def __dir__() -> list[str]:
    return __all__
