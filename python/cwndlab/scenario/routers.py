"""Router agents, one class each: the ``agents`` of a link.

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
    """A router agent."""

    FIELD: ClassVar[str] = "agents"
    TAG: ClassVar[str] = "scheme"


@dataclass(frozen=True)
class QuickStart(Agent):
    """Quick-Start (RFC 4782): routers approve or reduce the rate requested in the SYN; requested by the slow start
    ``quick-start``.

    Parameters
    ----------
    theta
        Maximum share of the line for load and approved rates (default: ``0.95``).
    interval
        Period for which an approved rate is reserved, and over which the load is measured (default: ``"200
        ms"``).
    """

    KIND: ClassVar[str] = "quick-start"
    theta: float | None = None
    _: KW_ONLY
    interval: str | None = None


@dataclass(frozen=True)
class Sirens(Agent):
    """SIRENS: routers write the available bandwidth; requested by the slow start ``alss-sirens``.

    Parameters
    ----------
    interval
        Interval over which the load is measured (default: ``"100 ms"``).
    """

    KIND: ClassVar[str] = "sirens"
    interval: str | None = None


@dataclass(frozen=True)
class BandwidthStamp(Agent):
    """Stamp of the available bandwidth at the start of a connection; requested by the algorithm ``iotcc``.

    Parameters
    ----------
    interval
        Interval over which the load is measured (default: ``"100 ms"``).
    """

    KIND: ClassVar[str] = "bandwidth-stamp"
    interval: str | None = None


@dataclass(frozen=True)
class Rcp(Agent):
    """RCP: one rate for all flows of the line; requested by the algorithm ``rcp``.

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
    """PERC: computes exact max-min shares from messages; requested by the algorithm ``perc``."""

    KIND: ClassVar[str] = "perc"


@dataclass(frozen=True)
class Abc(Agent):
    """ABC: marks every packet "accelerate" or "brake"; requested by the algorithm ``abc-wireless``.

    Parameters
    ----------
    eta
        Target utilisation (default: ``0.98``).
    delta
        Target time for draining the queue (default: ``"133 ms"``).
    threshold
        Queueing delay up to which the target rate is not reduced (default: ``"20 ms"``).
    """

    KIND: ClassVar[str] = "abc"
    eta: float | None = None
    _: KW_ONLY
    delta: str | None = None
    threshold: str | None = None


def __dir__() -> list[str]:
    return __all__
