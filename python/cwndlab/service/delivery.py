"""Delays of messages, and how many were in time, lost, or satisfying.

Times are arrays in nanoseconds of the run's clock, one value per message; one that was not delivered has infinity.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
Flags = NDArray[np.bool_]


def delays_ns(generated_ns: Times, delivered_ns: Times) -> Times:
    """Delivery − generation of each message, ns; infinite for one that was not delivered.

    >>> delays_ns(np.array([0.0, 10.0]), np.array([7.0, np.inf])).tolist()
    [7.0, inf]
    """
    return delivered_ns - generated_ns


def decided(generated_ns: Times, limit_ns: float, end_ns: float) -> Flags:
    """Messages whose outcome is known: generation + limit is not after the end of the run. The others are left out,
    because a message that is still under way is neither in time nor late.

    >>> decided(np.array([0.0, 80.0, 81.0]), limit_ns=20, end_ns=100).tolist()
    [True, True, False]
    """
    return generated_ns + limit_ns <= end_ns


def in_time(delays: Times, limit_ns: float) -> Flags:
    """Messages that were delivered within the limit, which is included.

    >>> in_time(np.array([20.0, 20.1, np.inf]), 20).tolist()
    [True, False, False]
    """
    return delays <= limit_ns


def nearest_rank(values: Times, percent: float) -> float | None:
    """The percentile by nearest rank: the value at place ⌈percent/100 · n⌉ in ascending order, in the unit of the
    values. ``None`` without values, and where it is infinite: a percentile of delays exists only if fewer messages are
    lost than it leaves out.

    Examples
    --------
    Of five values the 40th percentile is the second, since 0.4 · 5 = 2, and the 41st the third.

    >>> values = np.array([50.0, 20.0, 15.0, 35.0, 40.0])
    >>> nearest_rank(values, 40), nearest_rank(values, 41), nearest_rank(values, 100)
    (20.0, 35.0, 50.0)
    """
    if not len(values):
        return None
    # Rounded first: 99.9 / 100 · 1000 is a little more than 999.
    place = max(1, math.ceil(round(percent * len(values) / 100, 9)))
    value = float(np.partition(values, place - 1)[place - 1])
    return value if math.isfinite(value) else None


class ApdexCounts(NamedTuple):
    """Messages by satisfaction.

    Examples
    --------
    >>> ApdexCounts(satisfied=60, tolerating=30, frustrated=10).value
    0.75
    """

    satisfied: int
    tolerating: int
    frustrated: int

    @property
    def value(self) -> float | None:
        """Apdex, from 0 to 1; ``None`` without a message."""
        return (self.satisfied + self.tolerating / 2) / sum(self) if sum(self) else None


def apdex(times: Any, threshold: float) -> ApdexCounts:
    """Response times by satisfaction: satisfied up to T, tolerating up to 4 T, frustrated above; a failure, of infinite
    time, is frustrated. Apdex = (satisfied + tolerating / 2) / all.

    Source: the Application Performance Index, as monitoring tools document it (Apache SkyWalking, App Metrics).

    Parameters
    ----------
    times, threshold
        In one unit.

    Examples
    --------
    Of 100 responses 60 satisfy, 30 are tolerated: (60 + 15) / 100.

    >>> apdex([0.5] * 60 + [3.0] * 30 + [9.0] * 10, threshold=1.0).value
    0.75
    """
    values = np.asarray(times, dtype=float)
    satisfied, tolerated = int(np.sum(values <= threshold)), int(np.sum(values <= 4 * threshold))
    return ApdexCounts(satisfied, tolerated - satisfied, len(values) - tolerated)


def transfer_time_s(generated_ns: Times, delivered_ns: Times) -> float | None:
    """The time from the first generation to the last delivery, s, as of the images of a study that are sent one by one;
    ``None`` without messages, and if one of them did not arrive.

    >>> transfer_time_s(np.array([0.0, 1e9]), np.array([3e9, 2.5e9]))
    3.0
    """
    if not len(generated_ns) or not np.isfinite(delivered_ns).all():
        return None
    return float(delivered_ns.max() - generated_ns.min()) / 1e9
