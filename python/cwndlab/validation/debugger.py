"""Any moment of a simulated run: the event that an algorithm received, and its state before and after.

A run is fast and always the same, so that a moment is reached by running again. ``cwndlab debug`` prints it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cwndlab.custom import Classes, base_name, validate_classes
from cwndlab.engine import debug, debug_kinds
from cwndlab.errors import Fault, Parameter, ScenarioError, parameter_fault
from cwndlab.metrics.of_flow import flow_index, members
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.like import ScenarioLike, scenario_of
from cwndlab.simulate import engine_document, run

__all__ = [
    "Divergence",
    "Line",
    "LostPacket",
    "Moment",
    "Occupancy",
    "Place",
    "Snapshot",
    "View",
    "divergence",
    "first_difference",
    "kinds",
    "look",
]

#: No run is longer.
_LATEST_S = 1e9


@dataclass(frozen=True)
class Snapshot:
    """What an algorithm shows of itself between two events."""

    cwnd_bytes: int
    pacing_rate_bps: int | None
    ssthresh_bytes: int | str | None
    """``"unlimited"`` without a threshold, None where the algorithm reports none."""
    phase: str | None
    values: Mapping[str, float | str]
    """Its named numbers; a number that is not finite is a text."""


@dataclass(frozen=True)
class Place:
    """A method in the sources that handled an event."""

    entry: str
    """The catalogue's entry, or the class."""
    method: str
    file: str
    line: int
    references: Sequence[tuple[int, str]]
    """The equations and sections that its comments name: (line, comment)."""


@dataclass(frozen=True)
class Line:
    """An event before the moment, with the window and the rate after it."""

    number: int
    time_ns: int
    event: str
    cwnd_bytes: int
    pacing_rate_bps: int | None


@dataclass(frozen=True)
class Moment:
    """An event that an algorithm received."""

    number: int
    """Its number among the events of the connection, from 1. Sent segments are not counted."""
    connection: int
    """The connection of the flow, from 0."""
    time_ns: int
    event: str
    """The event in words."""
    fields: Mapping[str, Any]
    """What the transport reported, with units in the names."""
    before: Snapshot
    after: Snapshot
    returned: Mapping[str, Any] | None
    """The event that the algorithm returned."""
    places: Sequence[Place]


@dataclass(frozen=True)
class Occupancy:
    """A flow at the time at which a packet was dropped."""

    name: str
    packets: int
    """Its packets at the link, waiting or in transmission."""
    bytes: int
    """Their size on the wire."""
    transport: Mapping[str, Any] | None
    """Columns of the table ``samples``; None before its start."""


@dataclass(frozen=True)
class LostPacket:
    """The packet behind a congestion event, and the queue at its arrival.

    For a loss or a timeout it is the first missing segment, for an ECN echo the first packet that was marked since the
    previous congestion event.
    """

    fate: str
    """``"dropped"`` by the queue, ``"lost"`` by the loss model, or ``"marked"``."""
    link: str
    """The link's name."""
    time_ns: int
    """When it arrived at the link."""
    sent_ns: int
    """When its sender transmitted it."""
    sequence_bytes: int
    """Its first payload byte, from 0."""
    size_bytes: int
    """On the wire, headers included."""
    retransmission: bool
    count: int
    """Packets of the connection that were missing at the event; for an ECN echo, marked since the previous event."""
    capacity_packets: int | None
    capacity_bytes: int | None
    """The limits of the queue; None where there is none."""
    queue_packets: int | None
    queue_bytes: int | None
    """Length of the queue then, without the packet in transmission."""
    flows: Sequence[Occupancy]
    """All flows of the scenario."""


@dataclass(frozen=True)
class View:
    """A moment with its neighbours."""

    flow: str
    """The flow's name."""
    algorithm: str
    """Its algorithm."""
    moment: Moment | None
    """The event of the search; None where there is none."""
    earlier: Sequence[Line]
    later: Sequence[Moment]
    transport: Mapping[str, Mapping[str, Any] | None]
    """``before`` and ``after``: columns of the table ``samples``."""
    lost_packet: LostPacket | None
    """The packet behind a congestion event."""
    no_lost_packet: str | None
    """The reason why there is none."""


@dataclass(frozen=True)
class Divergence:
    """The first event after which two algorithms, given the same events, differ."""

    moment: Moment
    """The event, with the states of the flow's own algorithm."""
    before: Snapshot
    """The state of the other algorithm before it."""
    after: Snapshot
    """The state of the other algorithm after it."""
    places: Sequence[Place]
    """The methods of the other algorithm that handled it."""
    transport: Mapping[str, Mapping[str, Any] | None]
    """As in `View`."""
    lost_packet: LostPacket | None
    """As in `View`."""
    no_lost_packet: str | None
    """As in `View`."""


def kinds() -> dict[str, str]:
    """The kinds of events that `look` finds, with their descriptions; those that algorithms report have none.

    Examples
    --------
    >>> kinds()["reduction"]
    'an event after which the window is smaller'
    """
    return dict(debug_kinds())


def look(
    scenario: ScenarioLike,
    *,
    at_s: float | None = None,
    next: str | None = None,
    previous: str | None = None,
    flow: str | int = 0,
    seed: int = 1,
    context: int = 3,
    algorithms: Classes | None = None,
) -> View:
    """An event that a flow's algorithm receives: the first one at or after a time, or the next or previous of a kind.

    Parameters
    ----------
    scenario
        A `Scenario`, or plain values in the shape of its TOML.
    at_s
        The time, in seconds of the run. Required without ``next`` and ``previous``; by default ``next`` searches from
        the beginning, ``previous`` from the end.
    next, previous
        A kind of events (`kinds`), such as ``"reduction"`` or ``"loss"``: the first one at or after the time, or the
        last one before it.
    flow
        The flow's name, or its index, as in the table ``flows``.
    seed
        The seed of the run.
    context
        Number of events before and after it that are shown.
    algorithms
        Custom classes by name, as for `cwndlab.run`.

    Raises
    ------
    ScenarioError
        The scenario has a fault, or there is no such flow over TCP or no such kind.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.validation import debugger
    >>> path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="2 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    >>> view = debugger.look(scenario, at_s=0.3)
    >>> view.moment.event, view.moment.after.phase, view.moment.places[0].method
    ('an ACK of 1448 B', 'recovery', 'on_ack')
    >>> view = debugger.look(scenario, next="loss")
    >>> view.moment.event, view.lost_packet.fate, view.lost_packet.link
    ('congestion (loss)', 'dropped', 'bottleneck')
    """
    if next is not None and previous is not None:
        raise ScenarioError(Fault("next", "and previous search in different directions", "leave out one of them"))
    if at_s is None:
        if next is None and previous is None:
            raise ScenarioError(parameter_fault("at_s", "is missing", hint="write at_s=12.4, or next='reduction'"))
        at_s = 0.0 if previous is None else _LATEST_S
    answer = _answer(scenario, at_s, flow, seed, algorithms, context=context, next=next, previous=previous)
    moment = answer["moment"]
    return View(
        answer["flow"],
        answer["algorithm"],
        None if moment is None else _moment(moment),
        [Line(**one) for one in answer["earlier"]],
        [_moment(one) for one in answer["later"]],
        answer.get("transport", {"before": None, "after": None}),
        _lost_packet(answer),
        answer.get("no_lost_packet"),
    )


def divergence(
    scenario: ScenarioLike,
    against: str,
    *,
    from_s: float = 0.0,
    flow: str | int = 0,
    seed: int = 1,
    tolerance_bytes: int = 0,
    algorithms: Classes | None = None,
) -> Divergence | None:
    """The first event after which another algorithm has another window or pacing rate than the flow's own.

    Both receive the same events, those of the flow's own algorithm.

    Parameters
    ----------
    scenario
        A `Scenario`, or plain values in the shape of its TOML.
    against
        The other algorithm, such as ``"cubic(beta=0.5)"``.
    from_s
        The search begins at this time, in seconds of the run.
    flow, seed, algorithms
        As for `look`.
    tolerance_bytes
        Windows that differ by no more than this are equal.

    Returns
    -------
    None where the two do not differ.

    Raises
    ------
    ScenarioError
        The scenario or the algorithm has a fault, or there is no such flow over TCP.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.validation import debugger
    >>> path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="5 s", dumbbell=path, flows=[cwndlab.Flow("cubic", rtt="40 ms")])
    >>> found = debugger.divergence(scenario, "cubic(beta=0.5)")
    >>> found.moment.event, found.after.cwnd_bytes < found.moment.after.cwnd_bytes
    ('congestion (loss)', True)
    """
    answer = _answer(scenario, from_s, flow, seed, algorithms, against=against, tolerance_bytes=tolerance_bytes)
    moment = answer["moment"]
    if moment is None:
        return None
    other = moment.pop("other")
    places = [_place(one) for one in other["places"]]
    before, after = (Snapshot(**other[name]) for name in ("before", "after"))
    return Divergence(
        _moment(moment),
        before,
        after,
        places,
        answer["transport"],
        _lost_packet(answer),
        answer.get("no_lost_packet"),
    )


def first_difference(first: Records, second: Records, flow: str | int = 0) -> tuple[float, float | None] | None:
    """Where the windows of a flow in two runs differ for the first time, in the samples at the times that both have.

    Returns
    -------
    The time of the last equal sample, or 0, and that of the first different one, in seconds; None where all are equal.
    If all are equal and one run has later samples of the flow, the second time is None.

    Raises
    ------
    ScenarioError
        There is no such flow, or the runs have no samples of it at the same times.
    """
    windows = []
    for one in (first, second):
        index = flow_index(one.document, flow)
        windows.append({row["time_ns"]: row["cwnd_bytes"] for row in one.rows("samples") if row["flow"] == index})
    common = sorted(windows[0].keys() & windows[1].keys())
    if not common:
        what = "the two runs have no samples of the flow at the same times"
        raise ScenarioError(Fault("sample_interval", what, "run both with the same sample_interval"))
    equal_ns = 0
    for time_ns in common:
        if windows[0][time_ns] != windows[1][time_ns]:
            return equal_ns / 1e9, time_ns / 1e9
        equal_ns = time_ns
    return None if max(windows[0]) == max(windows[1]) else (equal_ns / 1e9, None)


def recorded(records: Records) -> tuple[Scenario, bool]:
    """The scenario of records, and whether this version gives the same records again."""
    return records.scenario, run(records.scenario, seed=records.seed).hash() == records.hash()


def _answer(
    scenario: ScenarioLike, at_s: float, flow: str | int, seed: int, algorithms: Classes | None, **options: Any
) -> dict[str, Any]:
    if not 0 <= at_s <= _LATEST_S:
        raise ScenarioError(Fault("at_s", f"{at_s} s is not a time of a run", "write 12.4"))
    given = validate_classes(algorithms)
    text, constructors = engine_document(scenario, given)
    document = json.loads(text)
    index = flow_index(document, flow, where=Parameter("flow"))
    try:
        found = debug(text, "json", seed, index, round(at_s * 1e9), constructors=constructors, **options)
    except ScenarioError as error:
        # The command line shows parameters of this function as its options.
        names = {"flow", "next", "previous", "against"}
        faults = (one._replace(where=Parameter(one.where)) if one.where in names else one for one in error.faults)
        raise type(error)(*faults) from None
    answer: dict[str, Any] = json.loads(found)
    answer["flow"] = members(document)[index][1]
    custom = ({} if isinstance(scenario, Mapping) else validate_classes(scenario_of(scenario).classes)) | given
    if answer["entry"] in custom:
        kind = custom[answer["entry"]].kind
        for moment in filter(None, [answer["moment"], *answer["later"]]):
            moment["places"] = _class_places(kind, moment["event"])
    against, moment = options.get("against"), answer["moment"]
    if moment is not None and against is not None and base_name(against) in custom:
        moment["other"]["places"] = _class_places(custom[base_name(against)].kind, moment["event"])
    return answer


def _class_places(kind: type, event: str) -> list[dict[str, Any]]:
    """The method of a class in Python that handled an event."""
    methods = {"an ACK": "on_ack", "congestion": "on_congestion", "the window": "on_window"}
    method = next(name for start, name in methods.items() if event.startswith(start))
    function = getattr(kind, method, None)
    if function is None:
        return []
    try:
        _, line = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or ""
    except (OSError, TypeError):
        return []
    return [{"entry": kind.__name__, "method": method, "file": file, "line": line, "references": []}]


def _lost_packet(answer: Mapping[str, Any]) -> LostPacket | None:
    one = answer.get("lost_packet")
    return None if one is None else LostPacket(**{**one, "flows": [Occupancy(**flow) for flow in one["flows"]]})


def _place(one: Mapping[str, Any]) -> Place:
    references = [(line, comment) for line, comment in one["references"]]
    return Place(one["entry"], one["method"], one["file"], one["line"], references)


def _moment(one: Mapping[str, Any]) -> Moment:
    return Moment(
        one["number"],
        one["connection"],
        one["time_ns"],
        one["event"],
        one["fields"],
        Snapshot(**one["before"]),
        Snapshot(**one["after"]),
        one["returned"],
        [_place(place) for place in one["places"]],
    )
