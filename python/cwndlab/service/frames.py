"""Video: frames that are late for their playout, and freezes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cwndlab.service.delivery import Times

#: Rendered frames over which a receiver averages their duration.
_FRAMES = 30
#: What a freeze adds to the average duration at least.
_FREEZE_NS = 150e6


class Freezes(NamedTuple):
    """Freezes of a video.

    Examples
    --------
    >>> Freezes(number=1, total_s=0.19).number
    1
    """

    number: int
    total_s: float


def late_share(delays: Times, playout_ns: float) -> float | None:
    """The share of frames that are lost, or later than their playout; ``None`` without frames.

    >>> late_share(np.array([50e6, 120e6, np.inf, 90e6]), 100e6)
    0.5
    """
    return float(np.mean(delays > playout_ns)) if len(delays) else None


def freezes(rendered_ns: Times) -> Freezes:
    """Freezes: a frame is frozen if the time until the next one is at least max(3 a, a + 150 ms), where a is the
    average duration of the last 30 rendered frames, or of as many as there are.

    Source: ``freezeCount`` and ``totalFreezesDuration`` of the W3C's statistics of WebRTC, as the documentation of
    several programs quotes them. The first frame has no average before it.

    Parameters
    ----------
    rendered_ns
        The times at which frames were rendered, ns.

    Examples
    --------
    By hand: frames of 40 ms freeze from 190 ms on, the larger one of 120 and 190 ms.

    >>> freezes(np.array([0, 40e6, 80e6, 269e6])), freezes(np.array([0, 40e6, 80e6, 270e6]))
    (Freezes(number=0, total_s=0.0), Freezes(number=1, total_s=0.19))
    """
    durations = np.diff(np.sort(rendered_ns[np.isfinite(rendered_ns)]))
    if len(durations) < 2:
        return Freezes(0, 0.0)
    sums = np.concatenate([[0.0], np.cumsum(durations)])
    ends = np.arange(1, len(durations))
    begins = np.maximum(ends - _FRAMES, 0)
    average = (sums[ends] - sums[begins]) / (ends - begins)
    frozen = durations[1:] >= np.maximum(3 * average, average + _FREEZE_NS)
    return Freezes(int(frozen.sum()), float(durations[1:][frozen].sum()) / 1e9)
