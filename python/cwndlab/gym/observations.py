"""Observations: numbers of the last monitor intervals that a policy decides by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cwndlab.errors import ArgumentError, Parameter, parameter_fault, unknown_name
from cwndlab.gym.intervals import Array, Intervals

__all__ = ["OBSERVATIONS", "Features", "History", "Observation"]


@dataclass(frozen=True)
class Features:
    """The numbers of one interval.

    Parameters
    ----------
    names
        Their names.
    low, high
        Their least and greatest values; `of` keeps to them.
    neutral
        Their values before the first interval.
    history
        The usual number of intervals in an observation.
    source
        Where they come from.
    compute
        Computes them, of shape (n, number of names), from the intervals of n flows.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    neutral: tuple[float, ...]
    history: int
    source: str
    compute: Callable[[Intervals], tuple[Array, ...]]

    def of(self, intervals: Intervals) -> Array:
        """The features of each flow, within their bounds; the neutral value where one is not a number."""
        values = np.stack(self.compute(intervals), axis=1)
        values = np.where(np.isnan(values), self.neutral, values)
        clipped: Array = np.clip(values, self.low, self.high)
        return clipped


def _ratio(above: Array, below: Array, otherwise: float) -> Array:
    """The quotient, and another value where the divisor is not positive and finite."""
    result = np.full(len(above), float(otherwise))
    np.divide(above, below, out=result, where=(below > 0) & (below < np.inf))
    return result


def _plain(now: Intervals) -> tuple[Array, ...]:
    return (
        _ratio(now.throughput, now.largest_throughput, 0),
        _ratio(now.rtt_mean, now.min_rtt, 1) - 1,
        now.loss_ratio,
        _ratio(now.cwnd, now.largest_throughput * now.min_rtt, 0),
        now.rtt_slope,
    )


def _aurora(now: Intervals) -> tuple[Array, ...]:
    # sender_obs.py takes 1 for a ratio of 1000 or more.
    send_ratio = _ratio(now.sent, now.acked, 1)
    return (
        now.rtt_slope,
        _ratio(now.rtt_mean, now.least_rtt_mean, 1),
        np.where(send_ratio < 1000, send_ratio, 1),
    )


def delay_metric(now: Intervals) -> Array:
    """Orca's measure of delay: 1 up to an SRTT of 1.25 times the least RTT, from there on their quotient."""
    metric: Array = np.fmin(1.25 * _ratio(now.min_rtt, now.srtt, 1), 1)
    return metric


def loss_rate(now: Intervals) -> Array:
    """Lost segments per second of each interval."""
    return _ratio(now.lost, now.duration, 0)


def _orca(now: Intervals) -> tuple[Array, ...]:
    # Linux has a pacing rate whether or not a socket is paced.
    pacing = np.where(np.isfinite(now.pacing_rate), now.pacing_rate, _ratio(now.cwnd, now.srtt, 0))
    return (
        _ratio(now.throughput, now.largest_throughput, 0),
        _ratio(pacing, now.largest_throughput, 0),
        _ratio(5 * loss_rate(now), now.largest_throughput, 0),
        _ratio(now.acked, now.cwnd, 0),
        now.duration,
        _ratio(now.min_rtt, now.srtt, 1),
        delay_metric(now),
    )


#: The kinds of features by name.
OBSERVATIONS: dict[str, Features] = {
    "plain": Features(
        names=("throughput_ratio", "queueing_delay_ratio", "loss_ratio", "window_ratio", "latency_gradient"),
        low=(0, 0, 0, 0, -1),
        high=(1, 10, 1, 10, 1),
        neutral=(0, 0, 0, 0, 0),
        history=4,
        source="cwndlab: throughput by its maximum, queueing delay by the least RTT, loss, window by the estimated BDP",
        compute=_plain,
    ),
    "aurora": Features(
        names=("latency_gradient", "latency_ratio", "send_ratio"),
        low=(-1, 1, 0),
        high=(10, 10_000, 1000),
        neutral=(0, 1, 1),
        history=10,
        source="N. Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019; "
        "bounds of PCC-RL, src/common/sender_obs.py",
        compute=_aurora,
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
        compute=_orca,
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


class History:
    """The observations of n flows.

    Parameters
    ----------
    observation
        What is observed.
    count
        Number of flows.
    """

    def __init__(self, observation: Observation, count: int) -> None:
        self._features = observation.features
        width = len(self._features.names)
        self._values: Array = np.empty((count, observation.history, width))
        self._values[:] = self._features.neutral
        #: The observations, of shape (n, size).
        self.observations: Array = self._values.reshape(count, -1)

    def restart(self, row: int) -> None:
        """Forgets the intervals of a flow whose connection begins anew."""
        self._values[row] = self._features.neutral

    def push(self, intervals: Intervals, rows: NDArray[np.bool_] | None = None) -> None:
        """Appends the last interval of each flow, or of those where ``rows`` is true."""
        values = self._features.of(intervals)
        if rows is None:
            self._values[:, :-1] = self._values[:, 1:]
            self._values[:, -1] = values
        else:
            self._values[rows, :-1] = self._values[rows, 1:]
            self._values[rows, -1] = values[rows]
