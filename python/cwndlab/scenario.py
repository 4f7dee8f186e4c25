"""The question as frozen values: network, flows, how long, what to record.

Every class mirrors a table of the schema in ``docs/scenario.md``; a field left at ``None`` takes the schema's default.
A quantity is text with its unit (``"50 ms"``, ``"100 Mbit/s"``). A ``Scenario`` is checked by the engine when it is
built, all faults at once; two are equal when they mean the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cwndlab.errors import Fault, OutputError, text_of
from cwndlab.losses import Loss
from cwndlab.media import Medium, Wlan
from cwndlab.queues import Queue
from cwndlab.routers import Agent
from cwndlab.run import Checked, check, to_toml
from cwndlab.tables import TABLES, Table, plain, value_of
from cwndlab.workloads import Distribution, Workload

if TYPE_CHECKING:
    from cwndlab.own import Classes

__all__ = [
    "Access",
    "Control",
    "Dumbbell",
    "Flow",
    "Harq",
    "Jitter",
    "Link",
    "Node",
    "ParkingLot",
    "Scenario",
    "Step",
    "TokenBucket",
    "Trace",
]

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Jitter(Table):
    """A delay of each packet drawn evenly from [0, ``spread``); with ``reorder`` packets may overtake each other."""

    spread: str
    _: KW_ONLY
    reorder: bool | None = None


@dataclass(frozen=True)
class Trace(Table):
    """A line that follows a trace in Mahimahi's format: ``file`` (or the name of a synthetic one) or ``text``;
    ``bytes`` of an opportunity (1500), and the ``offset`` at which the run begins in it."""

    file: str | None = None
    _: KW_ONLY
    text: str | None = None
    bytes: int | None = None
    offset: str | None = None


@dataclass(frozen=True)
class TokenBucket(Table):
    """Tokens at ``rate``, at most ``burst`` of them kept; a burst leaves at ``peak``, or in no time."""

    rate: str
    burst: str
    _: KW_ONLY
    peak: str | None = None


@dataclass(frozen=True)
class Step(Table):
    """A step of a schedule: from ``at`` on this ``rate`` (0 is an outage), ``delay``, ``loss`` probability."""

    at: str
    _: KW_ONLY
    rate: str | None = None
    delay: str | None = None
    loss: float | None = None


@dataclass(frozen=True)
class Harq(Table):
    """Retransmissions of a radio link: an attempt fails with ``probability`` (0.1), the next one is a ``round``
    (8 ms) later, at ``most`` 3."""

    _: KW_ONLY
    probability: float | None = None
    round: str | None = None
    most: int | None = None


@dataclass(frozen=True)
class Link(Table):
    """A queue, a line and a wire. ``name``, ``from_``, ``to`` and ``duplex`` only in a graph of nodes."""

    name: str | None = None
    _: KW_ONLY
    from_: str | None = None
    to: str | None = None
    duplex: bool | None = None
    rate: str | None = None
    trace: str | Trace | None = None
    """In place of ``rate``."""
    token_bucket: TokenBucket | None = None
    """In place of ``rate``."""
    schedule: Sequence[Step] | None = None
    repeat: str | None = None
    """Time after which the schedule begins anew."""
    harq: Harq | None = None
    delay: str | None = None
    queue: Queue | None = None
    loss: Loss | Sequence[Loss] | None = None
    jitter: Jitter | None = None
    duplicate: float | None = None
    agents: Sequence[str | Agent] | None = None
    """Router agents of the link: ``["rcp", Abc(eta=0.95)]``."""
    medium: str | None = None
    """It is on this medium of 802.11; then ``mcs``, ``streams``, ``short_guard`` or ``rate``, and ``frame_error``."""
    mcs: int | None = None
    streams: int | None = None
    short_guard: bool | None = None
    frame_error: float | None = None


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


@dataclass(frozen=True)
class Control(Table):
    """The algorithm is asked from afar: ``delay`` after an event, at most once per ``interval``."""

    _: KW_ONLY
    delay: str | None = None
    interval: str | None = None


@dataclass(frozen=True)
class Flow(Table):
    """A flow: ``algorithm`` is ``GROWTH[+SLOW_START][/RECOVERY]``, or a class of one's own (`cwndlab.own`).

    ``rtt`` (base, both ways) and ``direction`` belong to a dumbbell or a parking lot, ``enter`` and ``leave`` (routers)
    to a parking lot, ``from_``, ``to`` and the routes to a graph. With ``transport="udp"`` there is no algorithm.
    """

    algorithm: str | type | None = None
    _: KW_ONLY
    transport: str | None = None
    name: str | None = None
    rtt: str | None = None
    direction: str | None = None
    start: str | None = None
    stop: str | None = None
    start_jitter: str | None = None
    count: int | None = None
    start_step: str | Distribution | None = None
    workload: Workload | None = None
    profile: str | None = None
    stack: Mapping[str, Any] | None = None
    control: Control | None = None
    enter: int | None = None
    leave: int | None = None
    from_: str | None = None
    to: str | None = None
    route: Sequence[str] | None = None
    reverse_route: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Scenario(Table):
    """What is asked of an engine; one of ``dumbbell``, ``parking_lot`` or ``nodes`` with ``links``.

    ``algorithms`` are classes of one's own by the names by which flows call them, ``{"mine": Mine}`` for
    ``Flow("mine(a=2)")``. The scenario then holds their descriptions, with which all but a run can be done without
    them.

    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(cwndlab.Link(rate="100 Mbit/s", delay="10 ms", queue=cwndlab.DropTail("0.5 bdp")))
    >>> scenario = cwndlab.Scenario(duration="60 s", dumbbell=path, flows=[cwndlab.Flow("cubic", rtt="50 ms")])
    >>> scenario == scenario.with_({"flow[0].rtt": "0.05 s"})
    True
    >>> scenario.with_({"flow[0].rtt": "50"})
    Traceback (most recent call last):
    cwndlab.errors.ScenarioError: flow[0].rtt: '50' has no unit
      hint: write '50 ms' or '10 s'
    """

    duration: str
    flows: Sequence[Flow]
    dumbbell: Dumbbell | None = None
    parking_lot: ParkingLot | None = None
    wlan: Wlan | None = None
    media: Sequence[Medium] | None = None
    nodes: Sequence[Node] | None = None
    links: Sequence[Link] | None = None
    title: str | None = None
    algorithms: Mapping[str, type | Mapping[str, Any]] | None = None
    sample_interval: str | None = None
    packets: bool | None = None
    measure_from: str | None = None
    start_jitter: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.algorithms or {}
        classes = _classes_in(self.flows) | {name: one for name, one in given.items() if not isinstance(one, Mapping)}
        described = {name: one for name, one in given.items() if isinstance(one, Mapping)}
        object.__setattr__(self, "flows", tuple(_in_words(flow) for flow in self.flows))
        object.__setattr__(self, "algorithms", described or None)
        checked = check(json.dumps(self.to_document()), "json", classes=classes)
        object.__setattr__(self, "algorithms", json.loads(checked.document).get("algorithms"))
        self._keep(checked, classes)

    def _keep(self, checked: Checked, classes: Classes) -> None:
        object.__setattr__(self, "_checked", checked)
        object.__setattr__(self, "_classes", dict(classes))

    def _found(self) -> Checked:
        checked: Checked = self.__dict__["_checked"]
        return checked

    @property
    def classes(self) -> dict[str, type]:
        """The classes of one's own that are at hand, by name."""
        classes: dict[str, type] = self.__dict__["_classes"]
        return dict(classes)

    def __reduce__(self) -> tuple[Any, ...]:
        read = partial(type(self).from_json, algorithms=self.classes) if self.classes else type(self).from_json
        return read, (self.to_json(),)

    def to_document(self) -> dict[str, Any]:
        """The scenario as plain values, in the shape of its TOML."""
        document: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
        for key, value in super().to_document().items():
            document[_SINGULAR.get(key, key)] = value
        return document

    @classmethod
    def _from_checked(cls, checked: Checked, classes: Classes | None) -> Self:
        """Builds it without asking the engine a second time."""
        self = object.__new__(cls)
        document = {_PLURAL.get(key, key): value for key, value in json.loads(checked.document).items()}
        for field in fields(cls):
            value = document.get(field.name)
            object.__setattr__(self, field.name, None if value is None else value_of(field.name, value))
        self._keep(checked, classes or {})
        return self

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        folder: str | Path | None = None,
        changes: Iterable[tuple[str, str]] = (),
        algorithms: Classes | None = None,
    ) -> Self:
        """Reads TOML; files that it names are looked for in ``folder``.

        ``changes`` are pairs of path and value, as ``--set`` takes them; ``algorithms`` are classes by name.
        """
        checked = check(text, "toml", folder=_path(folder), changes=tuple(changes), classes=algorithms)
        return cls._from_checked(checked, algorithms)

    @classmethod
    def from_json(cls, text: str, *, folder: str | Path | None = None, algorithms: Classes | None = None) -> Self:
        """Reads the same schema as JSON."""
        return cls._from_checked(check(text, "json", folder=_path(folder), classes=algorithms), algorithms)

    @classmethod
    def load(
        cls, path: str | Path, *, changes: Iterable[tuple[str, str]] = (), algorithms: Classes | None = None
    ) -> Self:
        """Reads a TOML file, then applies ``changes`` as ``--set`` does; ``algorithms`` are classes by name."""
        path = Path(path)
        return cls.from_toml(
            text_of(path, "name a scenario in TOML"), folder=path.parent, changes=changes, algorithms=algorithms
        )

    def to_toml(self) -> str:
        """The scenario as TOML."""
        return to_toml(self.to_json())

    def to_json(self) -> str:
        """The scenario as JSON."""
        return self._found().document

    def save(self, path: str | Path) -> None:
        """Writes it as TOML."""
        try:
            Path(path).write_text(self.to_toml(), encoding="utf-8")
        except OSError as cause:
            raise OutputError(Fault(str(path), f"cannot be written ({cause.strerror})", "name another file")) from None

    def with_(self, changes: Mapping[str, Any] | None = None, /, **top: Any) -> Self:
        """The same scenario with other values: fields by their path, ``{"flow[1].rtt": "50 ms"}``, or by their name.

        ``algorithms`` come to those that there are.
        """
        values = {**(changes or {}), **top}
        classes = self.classes | dict(values.pop("algorithms", {})) | _classes_in(list(values.values()))
        pairs = [(path, toml_value(value)) for path, value in values.items()]
        return self._from_checked(check(self.to_json(), "json", changes=pairs, classes=classes), classes)

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex."""
        return self._found().hash

    @property
    def canonical(self) -> str:
        """The canonical form, JSON: units converted, defaults filled in."""
        return self._found().canonical

    @property
    def notes(self) -> tuple[str, ...]:
        """What was derived, such as a queue that was floored at two packets."""
        return self._found().notes

    def __repr__(self) -> str:
        title = f"'{self.title}', " if self.title else ""
        count = sum(flow.count or 1 for flow in self.flows)
        return f"<Scenario {title}{count} flow{'s' if count > 1 else ''}, {self.duration}, {self.hash[:12]}>"

    def __eq__(self, other: object) -> bool:
        return self.hash == other.hash if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)


# TOML names a list of tables by one of them.
_SINGULAR = {"flows": "flow", "links": "link", "nodes": "node", "media": "medium"}
_PLURAL = {one: many for many, one in _SINGULAR.items()}

TABLES.update(
    {
        "dumbbell": Dumbbell,
        "parking_lot": ParkingLot,
        "wire": Access,
        "bottleneck": Link,
        "reverse": Link,
        "access": Access,
        "hops": Link,
        "jitter": Jitter,
        "trace": Trace,
        "token_bucket": TokenBucket,
        "schedule": Step,
        "harq": Harq,
        "control": Control,
        "flows": Flow,
        "links": Link,
        "nodes": Node,
    }
)


def _in_words(flow: Flow) -> Flow:
    """The flow with its algorithm's name for the class."""
    return replace(flow, algorithm=str(plain(flow.algorithm))) if isinstance(flow.algorithm, type) else flow


def _classes_in(value: object) -> dict[str, type]:
    """The classes of one's own in a value that is not yet plain, by name."""
    kinds = _kinds_in(value)
    if not kinds:
        return {}
    from cwndlab.own import named

    return named(kinds)


def _kinds_in(value: object) -> list[type]:
    match value:
        case type():
            return [value]
        case Flow():
            return _kinds_in(value.algorithm)
        case list() | tuple():
            return [kind for item in value for kind in _kinds_in(item)]
        case _:
            return []


def toml_value(value: Any) -> str:
    """A value as TOML writes it in one line."""
    match plain(value):
        case dict() as table:
            return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in table.items()) + " }"
        case list() as items:
            return "[" + ", ".join(toml_value(item) for item in items) + "]"
        case other:
            return json.dumps(other)


def _path(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder)


def __dir__() -> list[str]:
    return __all__
