"""What a router does for schemes that ask it, one class each: the ``agents`` of a link.

Made by ``tools/declared_files.py`` from the declarations in ``crates/network/src/router_assist/``: change those and run
``make docs``. A field left at ``None`` takes its default.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from cwndlab.scenario.tables import Table

__all__ = [
    "Abc",
    "Agent",
    "BandwidthStamp",
    "Perc",
    "QuickStart",
    "Rcp",
    "Sirens",
]


@dataclass(frozen=True)
class Agent(Table):
    """The router's half of a scheme."""

    FIELD: ClassVar[str] = "agents"
    TAG: ClassVar[str] = "scheme"


@dataclass(frozen=True)
class QuickStart(Agent):
    """Quick-Start (RFC 4782): routers grant or lower the rate that the SYN requests; asked by the slow start
    ``quick-start``.

    Parameters
    ----------
    theta
        Share of the line that may be granted (default: ``0.95``).
    interval
        Time for which a grant counts, and over which the load is measured (default: ``"200 ms"``).
    """

    KIND: ClassVar[str] = "quick-start"
    theta: float | None = None
    _: KW_ONLY
    interval: str | None = None


@dataclass(frozen=True)
class Sirens(Agent):
    """SIRENS: the routers write the bandwidth that is left; asked by the slow start ``alss-sirens``.

    Parameters
    ----------
    interval
        Time over which the load is measured (default: ``"100 ms"``).
    """

    KIND: ClassVar[str] = "sirens"
    interval: str | None = None


@dataclass(frozen=True)
class BandwidthStamp(Agent):
    """The stamp of the IoT algorithm: the bandwidth that is left when the connection begins; asked by ``iotcc``.

    Parameters
    ----------
    interval
        Time over which the load is measured (default: ``"100 ms"``).
    """

    KIND: ClassVar[str] = "bandwidth-stamp"
    interval: str | None = None


@dataclass(frozen=True)
class Rcp(Agent):
    """RCP: one rate for all flows of the line; asked by ``rcp``.

    Parameters
    ----------
    alpha
        Weight of the spare capacity (default: ``0.4``).
    beta
        Weight of the queue (default: ``0.4``).
    """

    KIND: ClassVar[str] = "rcp"
    alpha: float | None = None
    _: KW_ONLY
    beta: float | None = None


@dataclass(frozen=True, kw_only=True)
class Perc(Agent):
    """PERC: the exact max-min share, by messages; asked by ``perc``."""

    KIND: ClassVar[str] = "perc"


@dataclass(frozen=True)
class Abc(Agent):
    """ABC: every packet is marked "accelerate" or "brake"; asked by ``abc-wireless``.

    Parameters
    ----------
    eta
        Target utilisation (default: ``0.98``).
    delta
        Time in which a queue shall drain (default: ``"133 ms"``).
    threshold
        Queueing delay below which nothing brakes (default: ``"20 ms"``).
    """

    KIND: ClassVar[str] = "abc"
    eta: float | None = None
    _: KW_ONLY
    delta: str | None = None
    threshold: str | None = None


def __dir__() -> list[str]:
    return __all__
