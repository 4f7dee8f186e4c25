"""The scenario as frozen values: network, flows, duration, what to record.

Every class mirrors a table of the schema in ``docs/scenario.md``; a field left at ``None`` takes the schema's default.
A quantity is text with its unit (``"50 ms"``, ``"100 Mbit/s"``). A ``Scenario`` is checked by the engine when it is
built, all faults at once; two are equal when they mean the same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from cwndlab.custom import Classes, by_name
from cwndlab.engine import to_toml
from cwndlab.errors import Fault, OutputError, text_of
from cwndlab.scenario.cells import Cell
from cwndlab.scenario.flows import Flow
from cwndlab.scenario.html import html_table
from cwndlab.scenario.links import Link
from cwndlab.scenario.media import Medium, Propagation, Received, Wlan
from cwndlab.scenario.reader import Checked, check
from cwndlab.scenario.schema_tables import TABLES, Table, plain, value_of
from cwndlab.scenario.topology import Dumbbell, Node, ParkingLot

__all__ = ["NamedValues", "Scenario", "toml_value"]

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class NamedValues(Table):
    """Variables of the algorithms and of the transport in the table ``named_values`` of the records: which ``names``
    (all), the least ``interval`` between two snapshots (zero), and values ``on_change`` of which one is taken anyway.

    Examples
    --------
    >>> import cwndlab
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> values = cwndlab.scenario.NamedValues(names=["w_max_segments"])
    >>> flows = [cwndlab.Flow("cubic", rtt="40 ms")]
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=flows, named_values=values)
    >>> cwndlab.run(scenario, seed=1).frame("named_values")["name"].unique().to_list()
    ['w_max_segments']
    """

    names: Sequence[str] | None = None
    interval: str | None = None
    on_change: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Scenario(Table):
    """An experiment for an engine; one of ``dumbbell``, ``parking_lot`` or ``nodes`` with ``links``.

    ``algorithms`` are custom classes by the names that flows give them, ``{"mine": Mine}`` for
    ``Flow("mine(a=2)")``. The scenario then holds their descriptions, with which all but a run can be done without
    them.

    Parameters
    ----------
    duration
        Simulated time.
    flows
        The flows.
    dumbbell
        One bottleneck.
    parking_lot
        Bottlenecks in series.
    wlan
        A wireless LAN.
    media
        Media of 802.11 that links of a graph share.
    nodes
        Nodes of a graph (default: the nodes of the links).
    propagation
        Path loss between stations on media with a channel (default: log-distance, exponent 3).
    received
        Received powers of stations on media with a channel (default: by positions).
    links
        Links of a graph.
    title
        Title, one line (default: ``""``).
    algorithms
        User-defined algorithms; cwndlab writes this table for classes that the caller passes.
    sample_interval
        Sampling interval; zero disables samples (default: ``"100 ms"``).
    packets
        Record every packet (default: ``false``).
    named_values
        Record variables of the algorithms and of the transport (simulator only) (default: none).
    measure_from
        Start of the metrics; earlier samples are the warm-up (default: ``"0 s"``).
    start_jitter
        Default of the flows: maximum of the uniform random delay of a start (default: ``"0 s"``).
    perturb
        Each seed varies delays, rates, starts and the processing of packets by less than anybody measures
        (default: false).

    Examples
    --------
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
    cells: Sequence[Cell] | None = None
    nodes: Sequence[Node] | None = None
    propagation: Propagation | None = None
    received: Sequence[Received] | None = None
    links: Sequence[Link] | None = None
    title: str | None = None
    algorithms: Mapping[str, type | Mapping[str, Any]] | None = None
    sample_interval: str | None = None
    packets: bool | None = None
    named_values: NamedValues | None = None
    measure_from: str | None = None
    start_jitter: str | None = None
    perturb: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.algorithms or {}
        classes = _classes_in(self.flows) | {name: one for name, one in given.items() if not isinstance(one, Mapping)}
        described = {name: one for name, one in given.items() if isinstance(one, Mapping)}
        object.__setattr__(self, "flows", tuple(_in_words(flow) for flow in self.flows))
        object.__setattr__(self, "algorithms", described or None)
        checked = check(json.dumps(self.to_document()), "json", classes=classes)
        object.__setattr__(self, "algorithms", json.loads(checked.document).get("algorithms"))
        object.__setattr__(self, "_checked", checked)

    def _engine_form(self) -> Checked:
        checked: Checked = self.__dict__["_checked"]
        return checked

    @property
    def classes(self) -> dict[str, type]:
        """The classes in Python that are available, by name; those that were registered included."""
        return dict(self._engine_form().classes)

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
    def _from_checked(cls, checked: Checked) -> Self:
        """Builds it without a second check by the engine."""
        self = object.__new__(cls)
        document = {_PLURAL.get(key, key): value for key, value in json.loads(checked.document).items()}
        for field in fields(cls):
            value = document.get(field.name)
            object.__setattr__(self, field.name, None if value is None else value_of(field.name, value))
        object.__setattr__(self, "_checked", checked)
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
        return cls._from_checked(checked)

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        folder: str | Path | None = None,
        changes: Iterable[tuple[str, str]] = (),
        algorithms: Classes | None = None,
    ) -> Self:
        """Reads the same schema as JSON, otherwise as `from_toml`."""
        checked = check(text, "json", folder=_path(folder), changes=tuple(changes), classes=algorithms)
        return cls._from_checked(checked)

    @classmethod
    def load(
        cls, path: str | Path, *, changes: Iterable[tuple[str, str]] = (), algorithms: Classes | None = None
    ) -> Self:
        """Reads a file of TOML, or of JSON if its name ends with ``.json``, then applies ``changes`` as ``--set`` does;
        ``algorithms`` are classes by name."""
        path = Path(path)
        text = text_of(path, "name a scenario in TOML")
        kind: Literal["toml", "json"] = "json" if path.suffix == ".json" else "toml"
        return cls._from_checked(check(text, kind, folder=path.parent, changes=tuple(changes), classes=algorithms))

    @property
    def document(self) -> dict[str, Any]:
        """The scenario as plain values, in the shape of its TOML: a copy, whose change changes no scenario.

        >>> import cwndlab
        >>> cwndlab.presets.load("two-flows").document["flow"][0]["algorithm"]
        'cubic'
        """
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def to_toml(self) -> str:
        """The scenario as TOML."""
        return to_toml(self.to_json())

    def to_json(self) -> str:
        """The scenario as JSON."""
        return self._engine_form().document

    def save(self, path: str | Path) -> None:
        """Writes it as TOML."""
        try:
            Path(path).write_text(self.to_toml(), encoding="utf-8")
        except OSError as cause:
            raise OutputError(Fault(str(path), f"cannot be written ({cause.strerror})", "name another file")) from None

    def with_(self, changes: Mapping[str, Any] | None = None, /, **top: Any) -> Self:
        """The same scenario with other values: fields by their path, ``{"flow[1].rtt": "50 ms"}``, or by their name, as
        that of the constructor: ``flows=[…]``. A field that is set to ``None`` has its default.

        ``algorithms`` come to those that there are.

        >>> import cwndlab
        >>> cwndlab.presets.load("single").with_({"flow[*].rtt": "80 ms"}, title=None).title is None
        True
        """
        values = {**(changes or {}), **top}
        classes = self.classes | dict(values.pop("algorithms", {})) | _classes_in(list(values.values()))
        singular = {plural: name for name, plural in _PLURAL.items()}
        pairs = [
            (singular.get(path, path), None if value is None else toml_value(value)) for path, value in values.items()
        ]
        return self._from_checked(check(self.to_json(), "json", changes=pairs, classes=classes))

    def perturbed(self, perturb: bool | None) -> Self:
        """The same scenario with ``perturb``, by which each seed varies what nobody measures exactly; itself where that
        is ``None`` or the same.

        >>> import cwndlab
        >>> cwndlab.presets.load("single").perturbed(True).perturb
        True
        """
        if perturb is None or perturb == bool(self.perturb):
            return self
        return self.with_(perturb=perturb)

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hex."""
        return self._engine_form().hash

    @property
    def canonical(self) -> str:
        """The canonical form, JSON: units converted, defaults filled in."""
        return self._engine_form().canonical

    @property
    def notes(self) -> tuple[str, ...]:
        """What was derived, such as a queue that was floored at two packets."""
        return self._engine_form().notes

    def __repr__(self) -> str:
        title = f"'{self.title}', " if self.title else ""
        count = sum(flow.count or 1 for flow in self.flows)
        return f"<Scenario {title}{count} flow{'s' if count > 1 else ''}, {self.duration}, {self.hash[:12]}>"

    def _repr_html_(self) -> str:
        """The scenario's table in a notebook: links and flows, each with the fields that are set."""
        rows = [(kind, name, _fields(table)) for kind, name, table in _tables_of(self.document)]
        left_out = max(0, len(rows) - _MOST_ROWS)
        heading = f"{self.title or 'scenario'}, {self.duration} ({self.hash[:12]})"
        footer = f"{left_out} more" if left_out else ""
        return html_table(heading, ("table", "name", "fields"), rows[:_MOST_ROWS], footer=footer)

    def __eq__(self, other: object) -> bool:
        return self.hash == other.hash if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash)


# TOML names a list of tables by one of them.
_SINGULAR = {"flows": "flow", "links": "link", "nodes": "node", "media": "medium", "cells": "cell"}
_PLURAL = {one: many for many, one in _SINGULAR.items()}

TABLES.update({"flows": Flow, "links": Link, "nodes": Node, "received": Received, "named_values": NamedValues})


#: Rows of the table that a notebook shows.
_MOST_ROWS = 30


def _tables_of(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Kind, name and fields of a scenario's links, media and flows (plain values)."""
    for topology in ("dumbbell", "parking_lot", "wlan"):
        parts = document.get(topology, {})
        for name, part in parts.items():
            tables = part if isinstance(part, list) else [part]
            for index, table in enumerate(table for table in tables if isinstance(table, Mapping)):
                yield topology, f"{name}[{index}]" if isinstance(part, list) else name, table
        if plain_fields := {name: value for name, value in parts.items() if not isinstance(value, Mapping | list)}:
            yield topology, "", plain_fields
    for kind in ("medium", "cell", "link"):
        for index, table in enumerate(document.get(kind, ())):
            yield kind, table.get("name", f"{kind}[{index}]"), table
    for index, table in enumerate(document["flow"]):
        yield "flow", table.get("name", f"flow{index}"), table


def _fields(table: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else toml_value(value)}"
        for name, value in table.items()
        if name != "name"
    )


def _in_words(flow: Flow) -> Flow:
    """The flow with its algorithm's name for the class."""
    return replace(flow, algorithm=str(plain(flow.algorithm))) if isinstance(flow.algorithm, type) else flow


def _classes_in(value: object) -> dict[str, type]:
    """The custom classes in a value that is not yet plain, by name."""
    return by_name(_kinds_in(value))


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
            return "{ " + ", ".join(f"{_toml_key(key)} = {toml_value(item)}" for key, item in table.items()) + " }"
        case list() as items:
            return "[" + ", ".join(toml_value(item) for item in items) + "]"
        case str() as text:
            return _toml_text(text)
        case float() as number if not math.isfinite(number):
            return str(number)
        case other:
            return json.dumps(other)


def _toml_text(text: str) -> str:
    """A text in quotes. JSON escapes what TOML does, apart from the character DEL; it must not write surrogates."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_text(key)


def _path(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder)


def __dir__() -> list[str]:
    return __all__
