"""Power save of 802.11 stations, computed from the frames of a run in which no station slept.

A sleeping station wakes up for beacons, for its own frames and, with TWT, for its service periods. A frame to it waits
at the access point until the station is awake and fetches it. The simulator delivered these frames at once: the waits
are what a single frame would have waited, and do not reach the flows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwndlab.energy.accounts import check
from cwndlab.energy.intervals import union
from cwndlab.errors import chosen


@dataclass(frozen=True, kw_only=True)
class PowerSave:
    """How 802.11 stations sleep.

    Parameters
    ----------
    mode
        ``"dtim"``: a frame to the station waits for the next beacon that it hears; the station then fetches it
        (PS-Poll). ``"u-apsd"``: or for the next frame that the station sends, a trigger, if that is earlier. ``"twt"``:
        for the next service period or the next frame that it sends; it hears no beacons.
    dtim
        The station hears each such beacon.
    beacon_s
        Interval of the beacons.
    period_s, service_s
        Interval and length of the service periods of TWT; the standard has units of 256 µs for the length.
    stay_s
        Time for which the station stays awake after a frame. Linux' dynamic power save has 0.1 s (secondary source).

    Raises
    ------
    ArgumentError
        A value is out of range.

    Examples
    --------
    >>> PowerSave(dtim=3).wake_s == 3 * 0.1024
    True
    """

    mode: Literal["dtim", "u-apsd", "twt"] = "dtim"
    dtim: int = 1
    beacon_s: float = 0.1024
    period_s: float = 1.0
    service_s: float = 32 * 256e-6
    stay_s: float = 0.0

    def __post_init__(self) -> None:
        chosen("mode", "mode", self.mode, dict.fromkeys(("dtim", "u-apsd", "twt")))
        check(self, above=("dtim", "beacon_s", "period_s"), least=("service_s", "stay_s"))

    @property
    def wake_s(self) -> float:
        """Time between two scheduled wake-ups."""
        return self.period_s if self.mode == "twt" else self.dtim * self.beacon_s


class Sleep(NamedTuple):
    """The time awake of a station, its scheduled wake-ups, and the wait of each frame to it."""

    awake_s: float
    wakes: int
    waits_s: NDArray[np.float64]


#: Begin and end of the frames of a station, from the queue to the end of their transmission, s; in order.
Frames = Sequence[tuple[float, float]]


def sleep(sent: Frames, received: Frames, run_s: float, save: PowerSave, beacon_awake_s: float) -> Sleep:
    """The time awake of a station, its scheduled wake-ups, and the wait of each frame to it.

    Parameters
    ----------
    sent, received
        The frames of the station and those to it, as the run delivered them.
    run_s
        The length of the run.
    save
        How it sleeps.
    beacon_awake_s
        Time awake for a beacon.

    Examples
    --------
    By hand: beacons at 0, 0.1, … 0.9 s keep it awake for 1 ms each. A frame to it at 0.25 s waits for the beacon at
    0.3 s; one at 0.6005 s finds it awake.

    >>> save = PowerSave(beacon_s=0.1)
    >>> one = sleep([], [(0.25, 0.252), (0.6005, 0.6015)], 1.0, save, 0.001)
    >>> round(one.awake_s, 6), one.wakes, one.waits_s.round(6).tolist()
    (0.0115, 10, [0.05, 0.0])
    """
    length = save.service_s if save.mode == "twt" else beacon_awake_s
    wakes = max(1, ceil(run_s / save.wake_s - 1e-9))
    awake = [(at * save.wake_s, at * save.wake_s + length) for at in range(wakes)]
    awake += [(begin, end + save.stay_s) for begin, end in sent]
    triggers = [begin for begin, _ in sent] if save.mode != "dtim" else []
    busy = union(awake)
    begins = [begin for begin, _ in busy]
    fetches = (-np.inf, -np.inf)
    waits = []
    for begin, end in received:
        last = busy[bisect_left(begins, begin + 1e-12) - 1]
        wait = 0.0
        if begin >= last[1] and not fetches[0] <= begin < fetches[1]:
            until = ceil(begin / save.wake_s - 1e-9) * save.wake_s
            trigger = bisect_left(triggers, begin)
            if trigger < len(triggers):
                until = min(until, triggers[trigger])
            wait = until - begin
        waits.append(wait)
        fetch = (begin + wait, end + wait + save.stay_s)
        fetches = (fetches[0], max(fetches[1], fetch[1])) if fetch[0] <= fetches[1] else fetch
        awake.append(fetch)
    total = sum(min(end, run_s) - begin for begin, end in union(awake) if begin < run_s)
    return Sleep(total, wakes, np.array(waits, dtype=float))
