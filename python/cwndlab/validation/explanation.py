"""How an algorithm explains a log: its corrections, and the forms in which Linux has algorithms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from cwndlab.catalogue import KERNEL_ALGORITHMS


class Miss(NamedTuple):
    """A window that an algorithm does not explain; time in ms, windows in bytes."""

    time_ms: float
    acks: int
    kind: str
    logged_bytes: int
    reference_bytes: int


class Unknown(NamedTuple):
    """What no log has, of a model-based or paced algorithm: its random numbers, and whether it fills its window."""

    seed: int = 0
    fills_when_paced: bool = False


#: What is assumed of it at first.
USUAL = Unknown()


def growth_of(algorithm: str) -> str:
    """The congestion avoidance of an algorithm, without slow start and parameters."""
    return algorithm.partition("+")[0].partition("(")[0]


def _settings(algorithm: str) -> dict[str, str]:
    """The parameters of its congestion avoidance."""
    found = re.match(r"[\w-]+\(([^)]*)\)", algorithm)
    pairs = (one.partition("=") for one in found[1].split(",")) if found else ()
    return {name.strip(): value.strip() for name, _, value in pairs}


#: The algorithms of Linux by their congestion avoidance, where a module differs from the source.
LINUX = {growth_of(one): one for one in KERNEL_ALGORITHMS.values() if "(" in one}


def form_of(growth: str) -> dict[str, str]:
    """The parameters by which the module of Linux differs from the source."""
    return _settings(LINUX.get(growth, ""))


@dataclass(frozen=True)
class Explanation:
    """How an algorithm explains a log.

    ``surprise_bits`` is the length of the corrections that make its windows those of the log, and ``explained`` the
    part of the log's bits that it saves: those of the corrections to a window that never changes. ``misses`` counts the
    corrections, and ``kinds`` has the counts by kind, as of the departures of an audit. ``misfit`` is the unexplained
    part, without the bits of a changed parameter, divided by that which 19 of 20 flows of such an algorithm leave at
    most: above 1 the sender has a variant of it, or another algorithm.
    """

    algorithm: str
    surprise_bits: float
    explained: float
    misfit: float
    misses: int
    kinds: dict[str, int]
    log_bits: float
    acks: int
    app_limited: int
    miss_list: tuple[Miss, ...] = field(repr=False)
    #: The algorithm is model-based or paced, and is compared with a larger tolerance.
    coarse: bool = field(repr=False)
    unknown: Unknown = field(repr=False)

    @property
    def growth(self) -> str:
        """The congestion avoidance, without slow start and parameters."""
        return growth_of(self.algorithm)

    @property
    def as_linux(self) -> bool:
        """Whether it has the parameters by which a module of Linux differs from the source."""
        return bool(form_of(self.growth)) and form_of(self.growth).items() <= _settings(self.algorithm).items()

    @property
    def changed(self) -> tuple[str, float] | None:
        """The parameter that is neither that of the source nor of Linux, and its value."""
        form = form_of(self.growth) if self.as_linux else {}
        found = [(name, value) for name, value in _settings(self.algorithm).items() if name not in form]
        return (found[0][0], float(found[0][1])) if found else None

    @property
    def label(self) -> str:
        """The algorithm for readers: ``bic as in Linux + standard`` in place of the parameters of its module."""
        if not self.as_linux:
            return self.algorithm
        changed = f"({self.changed[0]}={self.changed[1]:g})" if self.changed else ""
        start = f" + {self.slow_start.partition('(')[0]}" if self.slow_start else ""
        return f"{self.growth}{changed} as in Linux{start}"

    @property
    def slow_start(self) -> str:
        """The slow start, if it is one of its own."""
        return self.algorithm.partition("+")[2]
