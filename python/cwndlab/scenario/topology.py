"""Topologies: dumbbell, parking lot, and the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from cwndlab.scenario.links import Link
from cwndlab.scenario.queues import Queue
from cwndlab.scenario.routers import Agent
from cwndlab.scenario.tables import TABLES, Table

__all__ = ["Access", "Dumbbell", "Node", "ParkingLot"]


@dataclass(frozen=True)
class Access(Table):
    """The links between hosts and routers; what delay a flow's RTT asks for is theirs."""

    _: KW_ONLY
    rate: str | None = None
    queue: Queue | None = None
    agents: Sequence[str | Agent] | None = None
    """Of the routers at either end; those of the bottleneck, or of the first hop, unless given."""


@dataclass(frozen=True)
class Dumbbell(Table):
    """Sources — r1 — ``bottleneck`` — r2 — destinations; ``reverse`` is the way back."""

    bottleneck: Link
    _: KW_ONLY
    reverse: Link | None = None
    access: Access | None = None


@dataclass(frozen=True)
class ParkingLot(Table):
    """Routers in a row, joined by ``hops``."""

    hops: Sequence[Link]
    _: KW_ONLY
    reverse: Link | None = None
    access: Access | None = None


@dataclass(frozen=True)
class Node(Table):
    """A node of a graph."""

    name: str


TABLES.update(
    {
        "dumbbell": Dumbbell,
        "parking_lot": ParkingLot,
        "bottleneck": Link,
        "reverse": Link,
        "hops": Link,
        "wire": Access,
        "access": Access,
    }
)


def __dir__() -> list[str]:
    return __all__
