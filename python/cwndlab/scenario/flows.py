"""Flows: algorithm, start, workload and route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from cwndlab.scenario.schema_tables import TABLES, Table
from cwndlab.scenario.workloads import Distribution, Workload

__all__ = ["Control", "Flow", "Service"]


@dataclass(frozen=True)
class Control(Table):
    """The algorithm runs remotely: it decides ``delay`` after an event, at most once per ``interval``.

    Examples
    --------
    >>> import cwndlab
    >>> cwndlab.Flow("cubic", rtt="40 ms", control=cwndlab.Control(delay="1 ms")).control.delay
    '1 ms'
    """

    _: KW_ONLY
    delay: str | None = None
    interval: str | None = None


@dataclass(frozen=True)
class Service(Table):
    """What a class of traffic asks of the network (`cwndlab.service` judges it); its messages are recorded.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.scenario import Service
    >>> alarms = Service(class_="alarms", deadline="500 ms", loss=0.0)
    >>> cwndlab.Flow("cubic", rtt="40 ms", service=alarms).service.to_document()
    {'class': 'alarms', 'deadline': '500 ms', 'loss': 0.0}
    """

    _: KW_ONLY
    class_: str | None = None
    deadline: str | None = None
    within: float | None = None
    lifetime: str | None = None
    loss: float | None = None
    gap: str | None = None
    age: str | None = None
    availability: float | None = None
    apdex: str | None = None
    playout: str | None = None


@dataclass(frozen=True)
class Flow(Table):
    """A flow: ``algorithm`` is ``GROWTH[+SLOW_START][/RECOVERY]``, or a custom class (`cwndlab.custom`).

    ``rtt`` (base, both ways) and ``direction`` belong to a dumbbell or a parking lot, ``enter`` and ``leave`` (routers)
    to a parking lot, ``from_``, ``to`` and the routes to a graph. With ``transport="udp"`` there is no algorithm.

    Parameters
    ----------
    algorithm
        ``AVOIDANCE[+SLOW_START][/RECOVERY]``, or a name of ``algorithms``; TCP only (required over TCP).
    transport
        Transport protocol (default: ``"tcp"``).
    name
        Unique name (default: ``flow<i>``).
    rtt
        Base RTT (dumbbell, parking lot, wireless LAN) (required there).
    direction
        Dumbbell, parking lot: ``"forward"`` or ``"reverse"``; wireless LAN: ``"download"`` or ``"upload"``
        (default: forward; download).
    start
        Start of the application (default: ``"0 s"``).
    stop
        Time at which the application stops (default: never).
    hold
        Time from the start of each flow to the stop of its application, such as that of a call (default: until
        ``stop``).
    reserve
        Rate that links with ``admission`` reserve for each flow, and media on whose access category ``acm`` is
        set (default: it is not asked).
    start_jitter
        Maximum of the uniform random delay of the start (default: the scenario's ``start_jitter``).
    count
        Number of flows; with more than one, names have the suffixes ``-1``, ``-2``, … (default: ``1``).
    start_step
        Time between their starts; a distribution gives random times, the exponential one a Poisson process
        (default: ``"0 s"``).
    workload
        Workload (default: ``bulk`` over TCP, required over UDP).
    dscp
        Class of its packets in both directions, for queues that serve by class (default: CS0).
    service
        What the class of traffic asks of the network; its messages are recorded.
    profile
        Stack profile (default: ``"linux"``).
    stack
        Parameters of the stack that override those of the profile.
    control
        Delay between transport and algorithm, as in the kernel datapath.
    saved_parameters
        Name of a store of saved parameters (RFC 9959), which flows share: a flow starts with those of the one
        of them that ended last, if none is active; ``careful-resume`` uses them (default: those of the flow's
        own last connection).
    enter
        Router where the flow enters (parking lot) (default: the first).
    leave
        Router where the flow leaves (parking lot) (default: the last).
    from_
        Source node (graph) (required in a graph).
    to
        Destination node (graph) (required in a graph).
    route
        Links of the forward route (graph) (default: the shortest by delay, then hops, then the order of the
        links).
    reverse_route
        Links of the reverse route (graph) (default: the shortest by delay, then hops, then the order of the
        links).

    Examples
    --------
    >>> import cwndlab
    >>> cwndlab.Flow("cubic+hystart/sack", rtt="40 ms", start="2 s").start
    '2 s'
    """

    algorithm: str | type | None = None
    _: KW_ONLY
    transport: str | None = None
    name: str | None = None
    rtt: str | None = None
    direction: str | None = None
    start: str | None = None
    stop: str | None = None
    hold: str | Distribution | None = None
    reserve: str | None = None
    start_jitter: str | None = None
    count: int | None = None
    start_step: str | Distribution | None = None
    workload: Workload | None = None
    dscp: str | None = None
    service: Service | None = None
    profile: str | None = None
    stack: Mapping[str, Any] | None = None
    control: Control | None = None
    saved_parameters: str | None = None
    enter: int | None = None
    leave: int | None = None
    from_: str | None = None
    to: str | None = None
    route: Sequence[str] | None = None
    reverse_route: Sequence[str] | None = None


@dataclass(frozen=True)
class WriteStep(Table):
    """A step of `cwndlab.scenario.workloads.ScheduledWrites`: from ``at`` on, after the start of the flow, the
    application writes at ``rate``, ``"unlimited"`` or a rate of payload; ``"0 Mbps"`` pauses.

    Examples
    --------
    >>> import cwndlab
    >>> steps = [cwndlab.scenario.WriteStep("0 s", "unlimited"), cwndlab.scenario.WriteStep("5 s", "1 Mbps")]
    >>> cwndlab.scenario.workloads.ScheduledWrites(steps=steps).to_document()["steps"][1]
    {'at': '5 s', 'rate': '1 Mbps'}
    """

    at: str
    rate: str


@dataclass(frozen=True)
class MediaStream(Table):
    """A stream of `cwndlab.scenario.workloads.Call`: ``frame_rate`` frames of size ``frame`` per second, in groups of
    ``group`` that begin with one of size ``first_frame``. Of all streams, data of the lowest ``priority`` is sent
    first. The receiver stops a group with a frame that arrives later than ``stop_after``.

    Examples
    --------
    >>> import cwndlab
    >>> audio = cwndlab.scenario.MediaStream(frame_rate=50, frame="80 B", priority=2)
    >>> cwndlab.scenario.workloads.Call(streams=[audio]).to_document()["streams"]
    [{'frame_rate': 50, 'frame': '80 B', 'priority': 2}]
    """

    frame_rate: float
    frame: str
    _: KW_ONLY
    priority: int | None = None
    group: int | None = None
    first_frame: str | None = None
    stop_after: str | None = None


TABLES.update({"control": Control, "service": Service, "steps": WriteStep, "streams": MediaStream})


def __dir__() -> list[str]:
    return __all__
