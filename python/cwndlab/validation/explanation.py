"""How an algorithm explains a log: its corrections, and the forms in which Linux has algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cwndlab.catalogue import KERNEL_ALGORITHMS, OTHER_KERNEL_ALGORITHMS


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


class Form(NamedTuple):
    """A module of Linux that differs from the source of its algorithm: the algorithm with these parameters, and the
    releases that have it."""

    algorithm: str
    releases: str

    @property
    def settings(self) -> dict[str, str]:
        """The parameters by which it differs."""
        return _settings(self.algorithm)

    @property
    def slow_start(self) -> str:
        """Its slow start, if that is one of its own."""
        return self.algorithm.partition("+")[2]


def _forms() -> Iterator[Form]:
    for releases, modules in {**OTHER_KERNEL_ALGORITHMS, "Linux": KERNEL_ALGORITHMS}.items():
        yield from (Form(one, releases) for one in modules.values() if "(" in one)


#: The modules of Linux by their congestion avoidance.
FORMS = {
    growth: tuple(form for form in _forms() if growth_of(form.algorithm) == growth)
    for growth in dict.fromkeys(growth_of(form.algorithm) for form in _forms())
}


def form_of(algorithm: str) -> Form | None:
    """The module of Linux whose parameters an algorithm has; of several, the one with the most."""
    settings = _settings(algorithm).items()
    fitting = [one for one in FORMS.get(growth_of(algorithm), ()) if one.settings.items() <= settings]
    return max(fitting, key=lambda one: len(one.settings), default=None)


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
    def form(self) -> Form | None:
        """The module of Linux that it is, where that differs from the source."""
        return form_of(self.algorithm)

    @property
    def changed(self) -> tuple[str, float] | None:
        """The parameter that is neither that of the source nor of Linux, and its value."""
        form = self.form.settings if self.form else {}
        found = [(name, value) for name, value in _settings(self.algorithm).items() if name not in form]
        return (found[0][0], float(found[0][1])) if found else None

    @property
    def label(self) -> str:
        """The algorithm for readers: ``bic as in Linux + standard`` in place of the parameters of its module."""
        if not self.form:
            return self.algorithm
        changed = f"({self.changed[0]}={self.changed[1]:g})" if self.changed else ""
        start = f" + {self.slow_start.partition('(')[0]}" if self.slow_start else ""
        return f"{self.growth}{changed} as in {self.form.releases}{start}"

    @property
    def slow_start(self) -> str:
        """The slow start, if it is one of its own."""
        return self.algorithm.partition("+")[2]
