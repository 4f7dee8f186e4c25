"""The connection of a cellular device to the network (RRC), as a sequence of states over the activities of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from cwndlab.energy.accounts import check

#: ``promotion``; connected and listening (``active``), or in short or long cycles of discontinuous reception
#: (``short``, ``long``); idle with paging each cycle (``idle``) or each extended cycle (``edrx``); asleep and not
#: reachable (``psm``).
State: TypeAlias = Literal["promotion", "active", "short", "long", "idle", "edrx", "psm"]


@dataclass(frozen=True, kw_only=True)
class Timers:
    """The timers of a network for its devices, s.

    Parameters
    ----------
    tail_s
        From the last packet to the release of the connection.
    drx_after_s
        From the last packet to discontinuous reception.
    on_s, short_s, short_for_s, long_s
        Time of listening in each cycle, length of the short cycles, their time in all, and length of the long cycles.
    paging_s
        The cycle of paging while idle.
    edrx_s, window_s
        The extended cycle, and the time in it in which paging follows ``paging_s``; ``None`` without extended cycles.
    active_s
        T3324: from the release to power saving mode; ``None`` without it.
    tau_s, update_s
        T3412: from the release to the next tracking area update, and how long that lasts; without power saving mode
        updates are not counted.

    Raises
    ------
    ArgumentError
        A cycle or T3412 is not above 0, or another time is below 0.

    Examples
    --------
    >>> Timers(tail_s=10).long_s
    0.32
    """

    tail_s: float
    drx_after_s: float = 0.1
    on_s: float = 0.01
    short_s: float = 0.04
    short_for_s: float = 0.64
    long_s: float = 0.32
    paging_s: float = 1.28
    edrx_s: float | None = None
    window_s: float = 2.56
    active_s: float | None = None
    tau_s: float | None = None
    update_s: float = 1.0

    def __post_init__(self) -> None:
        check(
            self,
            above=("short_s", "long_s", "paging_s", "edrx_s", "tau_s"),
            least=("tail_s", "drx_after_s", "on_s", "short_for_s", "window_s", "active_s", "update_s"),
        )


class Interval(NamedTuple):
    """A state of the connection, from start to end, s."""

    state: State
    start_s: float
    end_s: float


class Wait(NamedTuple):
    """A wait that is uniform between two bounds with each probability; s. The probabilities add up to one."""

    parts: tuple[tuple[float, float, float], ...]

    @property
    def mean_s(self) -> float:
        """Σ probability × (shortest + longest) / 2."""
        return sum(probability * (shortest + longest) / 2 for probability, shortest, longest in self.parts)

    @property
    def max_s(self) -> float:
        """The longest wait."""
        return max(longest for probability, _, longest in self.parts if probability > 0)

    def exceeds(self, wait_s: float) -> float:
        """The probability of a longer wait.

        Examples
        --------
        >>> Wait(((0.5, 0.0, 0.0), (0.5, 0.0, 2.0))).exceeds(1.0)
        0.25
        """
        return sum(share * _above(wait_s, shortest, longest) for share, shortest, longest in self.parts)


def _above(value: float, shortest: float, longest: float) -> float:
    if shortest <= value < longest:
        return (longest - value) / (longest - shortest)
    return float(value < shortest)


def certain_wait(wait_s: float) -> Wait:
    """A wait that is known."""
    return Wait(((1.0, wait_s, wait_s),))


def periodic_wait(cycle_s: float, on_s: float) -> Wait:
    """The wait of an arrival at any time for a receiver that listens for ``on_s`` of each cycle.

    Examples
    --------
    By hand: 31/32 of the arrivals find it off, and wait 155 ms on average.

    >>> round(periodic_wait(0.32, 0.01).mean_s, 6)
    0.150156
    """
    on_s = min(on_s, cycle_s)
    return Wait(((on_s / cycle_s, 0.0, 0.0), (1 - on_s / cycle_s, 0.0, cycle_s - on_s)))


def state_wait(state: State, timers: Timers) -> Wait:
    """The wait of a downlink message that finds the device in a state, promotion not included.

    It is zero in the state ``psm``, whose end depends on the device: it connects, or updates its tracking area.
    """
    if state in ("short", "long"):
        return periodic_wait(timers.short_s if state == "short" else timers.long_s, timers.on_s)
    if state == "idle":
        return Wait(((1.0, 0.0, timers.paging_s),))
    if state == "edrx" and timers.edrx_s is not None:
        share = min(1.0, timers.window_s / timers.edrx_s)
        return Wait(((share, 0.0, timers.paging_s), (1 - share, 0.0, max(0.0, timers.edrx_s - timers.window_s))))
    return certain_wait(0.0)


class _Connection:
    """Intervals that follow each other without gaps, up to the end of the run."""

    def __init__(self, end_s: float) -> None:
        self.intervals: list[Interval] = []
        self._at, self._end_s = 0.0, end_s

    def extend(self, state: State, until_s: float) -> None:
        """The state until then; nothing where that time has passed."""
        until_s = min(until_s, self._end_s)
        if until_s > self._at:
            start_s = self._at
            if self.intervals and self.intervals[-1].state == state:
                start_s = self.intervals.pop().start_s
            self.intervals.append(Interval(state, start_s, until_s))
            self._at = until_s

    def quiet(self, last_s: float, until_s: float, timers: Timers) -> None:
        """Connected without a packet since ``last_s``."""
        discontinuous = last_s + timers.drx_after_s
        self.extend("active", min(until_s, discontinuous))
        self.extend("short", min(until_s, discontinuous + timers.short_for_s))
        self.extend("long", until_s)

    def released(self, since_s: float, until_s: float, timers: Timers) -> None:
        """Idle or asleep."""
        idle: State = "idle" if timers.edrx_s is None else "edrx"
        if timers.active_s is None:
            self.extend(idle, until_s)
        else:
            self.extend(idle, min(until_s, since_s + timers.active_s))
            self.extend("psm", until_s)


def connection(
    activities: Iterable[tuple[float, float]], end_s: float, timers: Timers, promotion_s: float
) -> list[Interval]:
    """The states of a connection, from 0 to the end of the run.

    An activity of a released device begins with a promotion. Before the first one the device has been released for
    long, and T3412 begins at 0.

    Parameters
    ----------
    activities
        Begin and end of what the device sends and receives, s, in the order of the begins; they may overlap.
    end_s
        The end of the run.
    timers, promotion_s
        The timers of the network, and the time from idle to connected.

    Examples
    --------
    A message at 10 s, a tail of 5 s, and power saving mode 2 s after the release:

    >>> timers = Timers(tail_s=5, drx_after_s=1, short_for_s=0, active_s=2)
    >>> [(state, start, end) for state, start, end in connection([(10, 11)], 60, timers, 0.5)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('psm', 0.0, 10), ('promotion', 10, 10.5), ('active', 10.5, 12), ('long', 12, 16), ('idle', 16, 18),
     ('psm', 18, 60)]
    """
    found = _Connection(end_s)
    released = -float("inf")
    pending = None  # end of the last activity, while connected
    for begin, end in _with_updates(activities, end_s, timers, promotion_s):
        if pending is not None and begin > pending + timers.tail_s:
            released = pending + timers.tail_s
            found.quiet(pending, released, timers)
            pending = None
        if pending is None:
            found.released(released, begin, timers)
            found.extend("promotion", begin + promotion_s)
            pending = begin + promotion_s
        elif begin > pending:
            found.quiet(pending, begin, timers)
        pending = max(pending, end)
        found.extend("active", pending)
    if pending is not None:
        released = pending + timers.tail_s
        found.quiet(pending, released, timers)
    found.released(released, end_s, timers)
    return found.intervals


def _with_updates(
    activities: Iterable[tuple[float, float]], end_s: float, timers: Timers, promotion_s: float
) -> Iterator[tuple[float, float]]:
    """The activities, and tracking area updates where none came for T3412."""
    period = timers.tau_s if timers.active_s is not None else None
    release = -float("inf")
    for begin, end in (*activities, (end_s, end_s)):
        while period is not None and max(release, 0.0) + period < min(begin, end_s):
            update = max(release, 0.0) + period
            yield update, update + timers.update_s
            release = update + max(promotion_s, timers.update_s) + timers.tail_s
        if begin < end_s:
            yield begin, end
        promoted = begin + promotion_s if begin > release else begin
        release = max(release, max(promoted, end) + timers.tail_s)
