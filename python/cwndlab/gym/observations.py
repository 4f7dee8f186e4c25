"""Observations: numbers of the last monitor intervals that a policy decides by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cwndlab.errors import ArgumentError, Parameter, parameter_fault, unknown_name
from cwndlab.gym.intervals import Array

__all__ = ["OBSERVATIONS", "Features", "Observation"]


@dataclass(frozen=True)
class Features:
    """The numbers of one interval, which the engine computes.

    Parameters
    ----------
    names
        Their names.
    low, high
        Their least and greatest values, to which they are limited.
    neutral
        Their values before the first interval.
    history
        The usual number of intervals in an observation.
    source
        Where they come from.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    neutral: tuple[float, ...]
    history: int
    source: str


#: The kinds of features by name.
OBSERVATIONS: dict[str, Features] = {
    "plain": Features(
        names=("throughput_ratio", "queueing_delay_ratio", "loss_ratio", "window_ratio", "latency_gradient"),
        low=(0, 0, 0, 0, -1),
        high=(1, 10, 1, 10, 1),
        neutral=(0, 0, 0, 0, 0),
        history=4,
        source="cwndlab: throughput by its maximum, queueing delay by the least RTT, loss, window by the estimated BDP",
    ),
    "aurora": Features(
        names=("latency_gradient", "latency_ratio", "send_ratio"),
        low=(-1, 1, 0),
        high=(10, 10_000, 1000),
        neutral=(0, 1, 1),
        history=10,
        source="N. Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019; "
        "bounds of PCC-RL, src/common/sender_obs.py",
    ),
    "orca": Features(
        names=(
            "throughput_ratio",
            "pacing_ratio",
            "loss_rate_ratio",
            "acked_ratio",
            "duration_s",
            "rtt_ratio",
            "delay_metric",
        ),
        low=(0, 0, 0, 0, 0, 0, 0),
        high=(1, 10, 100, 100, 100, 1, 1),
        neutral=(0, 0, 0, 0, 0, 0, 0),
        history=10,
        source="S. Abbasloo et al., Classic Meets Modern: A Pragmatic Learning-Based Congestion Control for the "
        "Internet, SIGCOMM 2020; Orca's rl-module/envwrapper.py without its normaliser",
    ),
}


#: The longest history, intervals.
MAX_HISTORY = 1_000_000


@dataclass(frozen=True)
class Observation:
    """A kind of features and the number of intervals.

    Parameters
    ----------
    kind
        ``"plain"``, ``"aurora"`` or ``"orca"``.
    history
        Number of intervals, by default that of the kind: 4, 10 and 10.

    Raises
    ------
    ScenarioError
        The kind is unknown, or the history is empty or longer than `MAX_HISTORY`.

    Examples
    --------
    >>> from cwndlab.gym import Observation
    >>> Observation("aurora").features.names, Observation("aurora").size
    (('latency_gradient', 'latency_ratio', 'send_ratio'), 30)
    """

    kind: str = "plain"
    history: int = 0

    def __post_init__(self) -> None:
        if self.kind not in OBSERVATIONS:
            raise ArgumentError(unknown_name(Parameter("observation"), "observation", self.kind, OBSERVATIONS))
        if self.history < 0:
            raise ArgumentError(
                parameter_fault("history", f"'{self.history}' is not a number of intervals", example=10)
            )
        if self.history > MAX_HISTORY:
            reason = f"'{self.history}' is more than {MAX_HISTORY} intervals"
            raise ArgumentError(parameter_fault("history", reason, example=10))
        object.__setattr__(self, "history", self.history or self.features.history)

    @property
    def features(self) -> Features:
        """The features of one interval."""
        return OBSERVATIONS[self.kind]

    @property
    def size(self) -> int:
        """The length of an observation: the features of ``history`` intervals, the oldest first."""
        return self.history * len(self.features.names)

    @property
    def low(self) -> Array:
        """The least values of an observation."""
        return np.tile(np.array(self.features.low, dtype=np.float64), self.history)

    @property
    def high(self) -> Array:
        """The greatest values of an observation."""
        return np.tile(np.array(self.features.high, dtype=np.float64), self.history)
