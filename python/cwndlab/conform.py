"""One algorithm, several places: the same events, and are the windows the same?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from cwndlab.run import replay as _replay
from cwndlab.run import replay_courses

COLUMNS = ("algorithm", "course", "place", "verdict", "windows", "differing", "most_segments", "first", "reason")


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What one place made of the events of one course."""

    algorithm: str
    course: str
    place: str
    """``simulator``, ``kernel`` (behind the decider of the kernel's datapath) or ``quic`` (behind the QUIC adapter)."""
    verdict: str
    """``same``; ``by nature``: windows part after something that the place cannot know; ``differs``: they part, or the
    algorithm is told something else, without such a reason; ``absent``: it does not run there."""
    windows: int
    """Windows that were compared."""
    differing: int
    """How many of them differ, in whole segments."""
    most_segments: int
    """By how many segments at most."""
    first: str | None
    """The first difference, in words; none where all are the same."""
    reason: str | None
    """Why it must be so, or why the algorithm is absent."""
    told: tuple[dict[str, Any], ...]
    """What the algorithm was told differently: the first of each reason, as ``event, time_ns, what, reason``."""

    @property
    def conforms(self) -> bool:
        """Nothing differs without a reason."""
        return self.verdict != "differs"

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"told": list(self.told)}


def conform(algorithm: str) -> tuple[Replayed, ...]:
    """Records what the simulator's TCP tells ``algorithm`` on each of some short courses, and tells it again in every
    place. Raises ``ScenarioError`` where no algorithm has this name.

    >>> {one.verdict for one in conform("reno") if one.course == "clean"}
    {'same'}
    """
    return tuple(Replayed(**{**row, "told": tuple(row["told"])}) for row in _replay(algorithm))


def courses() -> dict[str, str]:
    """The courses, and what happens on each."""
    return dict(replay_courses())
