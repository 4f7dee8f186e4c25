"""Topologies: dumbbell, parking lot, and the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from cwndlab.scenario.links import Link
from cwndlab.scenario.queues import Queue
from cwndlab.scenario.routers import Agent
from cwndlab.scenario.schema_tables import TABLES, Table

__all__ = ["Access", "Dumbbell", "Node", "ParkingLot"]


@dataclass(frozen=True)
class Access(Table):
    """The links between hosts and routers; they add the delay that a flow's RTT requires.

    Examples
    --------
    >>> import cwndlab
    >>> link = cwndlab.Link(rate="10 Mbit/s", delay="10 ms")
    >>> path = cwndlab.Dumbbell(bottleneck=link, access=cwndlab.Access(rate="1 Gbit/s"))
    >>> path.access.rate
    '1 Gbit/s'
    """

    _: KW_ONLY
    rate: str | None = None
    queue: Queue | None = None
    agents: Sequence[str | Agent] | None = None
    """Of the routers at either end; those of the bottleneck, or of the first hop, unless given."""


@dataclass(frozen=True)
class Dumbbell(Table):
    """Sources — r1 — ``bottleneck`` — r2 — destinations; ``reverse`` is the way back.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> path.bottleneck.rate
    '10 Mbit/s'
    """

    bottleneck: Link
    _: KW_ONLY
    reverse: Link | None = None
    access: Access | None = None


@dataclass(frozen=True)
class ParkingLot(Table):
    """Routers in a row, joined by ``hops``.

    Examples
    --------
    >>> import cwndlab
    >>> hop = cwndlab.Link(rate="10 Mbit/s", delay="5 ms")
    >>> flows = [cwndlab.Flow("reno", rtt="60 ms"), cwndlab.Flow("cubic", rtt="40 ms", enter=1, leave=2)]
    >>> scenario = cwndlab.Scenario(duration="2 s", parking_lot=cwndlab.ParkingLot([hop, hop]), flows=flows)
    >>> records = cwndlab.run(scenario, seed=1)
    >>> len(records.flows)
    2
    """

    hops: Sequence[Link]
    _: KW_ONLY
    reverse: Link | None = None
    access: Access | None = None


@dataclass(frozen=True)
class Node(Table):
    """A node of a graph; ``position`` ``(x, y)`` in metres and ``transmit_power`` in dBm are for media with a channel.

    Examples
    --------
    >>> import cwndlab
    >>> nodes = [cwndlab.Node("a"), cwndlab.Node("b")]
    >>> link = cwndlab.Link(from_="a", to="b", rate="10 Mbit/s", delay="10 ms")
    >>> flow = cwndlab.Flow("cubic", from_="a", to="b")
    >>> scenario = cwndlab.Scenario(duration="2 s", nodes=nodes, links=[link], flows=[flow])
    >>> cwndlab.run(scenario, seed=1).flows["delivered_bytes"][0] > 0
    True
    """

    name: str
    _: KW_ONLY
    position: Sequence[float] | None = None
    transmit_power: float | None = None
    count: int | None = None


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
