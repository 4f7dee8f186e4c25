"""The description of a sweep: a base scenario, fields that vary, seeds; read from TOML or Python."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.errors import Fault, ScenarioError, unknown_metric
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.of_flow import groups, is_flow, parse
from cwndlab.metrics.summary import NAMES
from cwndlab.scenario.document import Scenario, toml_value
from cwndlab.scenario.like import scenario_of
from cwndlab.scenario.reader import Checked, check
from cwndlab.scenario.schema_tables import plain_scalar
from cwndlab.service.per_run import requires
from cwndlab.statistics.sequential import Until
from cwndlab.study.arguments import seeds_of
from cwndlab.study.fields import shown
from cwndlab.study.header import Header
from cwndlab.study.spec import Measure, Point, Study, has_air
from cwndlab.study.values import (
    count,
    is_list,
    is_number,
    listed,
    not_text,
    not_texts,
    short,
    unsupported,
)

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Each cell is a scenario that is checked before the first run; with more of them, that takes minutes.
MOST_CELLS = 100_000
#: Runs of a sweep: cells × seeds, or × ``at_most``.
MOST_RUNS = 10_000_000
_SHOWN_FAULTS = 20
_UNTIL = 'write until = "goodput_bps within 2 %"'


class Alternative(NamedTuple):
    """A scenario by its differences from the base: ``changes`` by field; ``base`` if it has its own."""

    changes: Mapping[str, Any]
    base: Scenario | None = None


@dataclass(frozen=True)
class Axis:
    """Labels that change together: ``values[i][j]`` is the i-th value of ``fields[j]``, and ``choices[i]`` holds its
    changes."""

    fields: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    choices: tuple[Alternative, ...]

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]]) -> Axis:
        """Fields and their values: the first values are set together, then the second ones."""
        rows = tuple(zip(*columns.values(), strict=True))
        paths = {name: "flow[*].algorithm" if name == "algorithm" else name for name in columns}
        changes = [
            {paths[name]: value for name, value in zip(columns, row, strict=True) if not name.startswith("@")}
            for row in rows
        ]
        return cls(tuple(columns), rows, tuple(map(Alternative, changes)))


def repeated(scenario: Scenario, repetitions: int) -> Scenario:
    """The scenario as it is compared: with random starts if repetitions would otherwise be the same."""
    if repetitions > 1 and not scenario.perturb and scenario.start_jitter is None:
        return scenario.with_(start_jitter="rtt")
    return scenario


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Scenarios × algorithms × seeds.

    Parameters
    ----------
    base
        The scenario.
    seeds
        The number of seeds of each cell, counted from 1, or the seeds themselves; by default 10.
    product
        Values by field; all combinations are run. Fields have the names of ``--set``; ``flow[*].rtt`` stands for the
        RTT of every flow. A name that begins with ``@`` is a label without a field.
    zip
        Mappings from fields to values that change together.
    algorithms
        The algorithms that all flows use in turn.
    alternatives
        By the name of an axis, then by that of an alternative: the fields that it changes, or a scenario of its own
        (a `Scenario`, the name of a preset, a file). All combinations are run; the axis ``remedy`` has the label
        ``@remedy``.
    title
        One line on what it shows.
    until, at_most
        ``"goodput_bps within 2 %"`` adds seeds to a cell until its 95 % interval is narrow enough, up to ``at_most``.
    start_s, end_s
        The interval of the metrics.
    metrics
        Metrics beyond those that every row has.
    measure
        A function of records that returns further numbers by name.

    Raises
    ------
    ScenarioError
        Every fault of the arguments.

    Examples
    --------
    >>> import cwndlab
    >>> base = cwndlab.presets.load("single").with_(duration="1 s")
    >>> spec = Sweep(base=base, product={"dumbbell.bottleneck.rate": ["5 Mbps", "10 Mbps"]}, seeds=[1, 2, 3])
    >>> len(spec), spec.columns
    (2, ('dumbbell.bottleneck.rate',))
    """

    base: Scenario
    seeds: Sequence[int] = range(1, 11)
    product: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    zip: Sequence[Mapping[str, Sequence[Any]]] = ()
    algorithms: Sequence[str] = ()
    alternatives: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    title: str = ""
    until: str | None = None
    at_most: int | None = None
    start_s: float | None = None
    end_s: float | None = None
    metrics: Sequence[str] = ()
    measure: Callable[[Records], Mapping[str, float | None]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", scenario_of(self.base, parameter="base"))
        object.__setattr__(self, "seeds", seeds_of(self.seeds))
        faults = [*self._kind_faults()] or [*self._faults()]
        if faults:
            raise ScenarioError(*faults)
        seeds = tuple(self.seeds if isinstance(self.seeds, range) else dict.fromkeys(listed(self.seeds)))
        object.__setattr__(self, "seeds", seeds)
        object.__setattr__(self, "base", repeated(self.base, self.most))
        object.__setattr__(self, "alternatives", {name: self._made(of) for name, of in self.alternatives.items()})
        object.__setattr__(self, "product", _by_field(self.product))
        object.__setattr__(self, "zip", tuple(_by_field(fields) for fields in self.zip))

    def _kind_faults(self) -> Iterator[Fault]:
        """The faults of arguments of another type; the other checks rely on the types."""
        if not is_list(self.seeds):
            yield Fault("sweep.seeds", f"{short(self.seeds)} is not a list of seeds", "write seeds = 10, or [1, 2, 3]")
        yield from not_texts(self.algorithms, "sweep.algorithms", '["cubic", "reno"]')
        yield from not_texts(self.metrics, "sweep.metrics", '["p95_queue_ms"]')
        yield from not_text(self.title, "sweep.title", "a line of text")
        if self.until is not None:
            yield from not_text(self.until, "sweep.until", '"goodput_bps within 2 %"')
        if self.at_most is not None and (not isinstance(self.at_most, int) or isinstance(self.at_most, bool)):
            yield Fault("sweep.at_most", f"{short(self.at_most)} is not a whole number", "write at_most = 100")
        for name, time_s in (("start_s", self.start_s), ("end_s", self.end_s)):
            if time_s is not None and not (is_number(plain_scalar(time_s)) and time_s >= 0):
                yield Fault(f"sweep.{name}", f"{short(time_s)} is not a time", "write seconds from 0 on, such as 5.0")
        if self.measure is not None and not callable(self.measure):
            yield Fault("sweep.measure", f"{short(self.measure)} is not a function", "write a function of the records")
        if not is_list(self.zip):
            yield Fault("sweep.zip", f"{short(self.zip)} is not a list of tables", "write [[sweep.zip]] tables")
        groups = [("sweep.product", self.product)]
        groups += [(f"sweep.zip[{index}]", one) for index, one in enumerate(self.zip if is_list(self.zip) else ())]
        for place, fields in groups:
            yield from _field_faults(fields, place)
        if not isinstance(self.alternatives, Mapping):
            what, hint = f"{short(self.alternatives)} is not a table", "write alternatives = { remedy = { … } }"
            yield Fault("sweep.alternatives", what, hint)
        for name, members in self.alternatives.items() if isinstance(self.alternatives, Mapping) else ():
            where = f"sweep.alternatives.{name}"
            if not isinstance(name, str) or not name.strip():
                hint = "write a table [sweep.alternatives.AXIS.NAME] for each of them"
                yield Fault("sweep.alternatives", f"{short(name)} is not the name of an axis", hint)
            elif not isinstance(members, Mapping) or not members:
                yield Fault(where, "names no alternatives", f"write a table [{where}.NAME] for each of them")
            else:
                yield from _alternative_faults(where, members)
        if sum(any(map(_has_base, members.values())) for members in self._tables()) > 1:
            what = "two axes have scenarios of their own, but a cell can have only one"
            yield Fault("sweep.alternatives", what, "leave base out of one of them")

    def _tables(self) -> list[Mapping[str, Any]]:
        every = self.alternatives.values() if isinstance(self.alternatives, Mapping) else ()
        return [members for members in every if isinstance(members, Mapping)]

    def _made(self, members: Mapping[str, Any]) -> dict[str, Alternative]:
        """The alternatives of an axis, with their scenarios read."""
        made = {}
        for name, one in members.items():
            if isinstance(one, Alternative):
                made[name] = one
                continue
            is_changes = isinstance(one, Mapping) and "flow" not in one
            base = one.get("base") if is_changes else one
            read = None if base is None else repeated(scenario_of(base, parameter=f"alternatives.{name}"), self.most)
            changes = {path: value for path, value in one.items() if path != "base"} if is_changes else {}
            made[name] = Alternative(changes, read)
        return made

    def perturbed(self, perturb: bool | None) -> Sweep:
        """The same sweep of the perturbed scenario; itself if ``perturb`` is ``None``."""
        if perturb is None:
            return self
        others = {
            name: {key: one._replace(base=one.base and one.base.perturbed(perturb)) for key, one in members.items()}
            for name, members in self.alternatives.items()
        }
        return replace(self, base=self.base.perturbed(perturb), alternatives=others)

    def _faults(self) -> Iterator[Fault]:
        yield from self._seed_faults()
        yield from self._rule_faults()
        yield from self._metric_faults()
        if self.start_s is not None and self.end_s is not None and self.start_s >= self.end_s:
            yield Fault(
                "sweep.end_s", f"the interval from {self.start_s:g} to {self.end_s:g} s is empty", "end it later"
            )
        taken = {_column(name): f"sweep.alternatives.{name}" for name in self.alternatives}
        for place, fields in self._groups():
            lengths = {name: len(values) for name, values in fields.items()}
            for name, length in lengths.items():
                if length == 0:
                    yield Fault(f'{place}."{name}"', "has no value", "give it a value, or leave it out")
                if name in taken:
                    yield Fault(f'{place}."{name}"', f"is also in {taken[name]}", "one of them would be lost")
                taken[name] = place
            if place.startswith("sweep.zip") and len(set(lengths.values())) > 1:
                each = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
                yield Fault(
                    place,
                    f"fields that change together need equal numbers of values; {each}",
                    "add values to the short",
                )
        yield from self._size_faults()

    def _seed_faults(self) -> Iterator[Fault]:
        """The faults of the seeds; only the first one of a list."""
        if count(self.seeds) == 0:
            yield Fault("sweep.seeds", "there is no seed, so nothing runs", "write seeds = 10, or a list of them")
        if count(self.seeds) > MOST_RUNS:
            return  # reported as too many runs
        # `until` and `at_most` add the numbers after the largest one.
        most = 2**63 - (self.at_most or 0)
        is_range = isinstance(self.seeds, range)
        for seed in (*self.seeds[:1], *self.seeds[-1:]) if is_range else listed(self.seeds):
            if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < most:
                yield Fault("sweep.seeds", f"{short(seed)} is not a seed", "a seed is a whole number from 0 on")
                return

    def _rule_faults(self) -> Iterator[Fault]:
        if self.until is None:
            if self.at_most is not None:
                yield Fault("sweep.at_most", "there is no stopping rule", _UNTIL)
            return
        seeds = count(self.seeds)
        if self.at_most is None:
            yield Fault("sweep.at_most", "a cell whose interval stays wide would run forever", "write at_most = 100")
        elif self.at_most < seeds:
            yield Fault("sweep.at_most", f"{self.at_most} is less than the {seeds} seeds", "write more")
        elif self.at_most < 2:
            yield Fault("sweep.at_most", "one run has no interval", "write more")
        try:
            rule = Until.parse(self.until, COLUMNS, at_most=max(2, self.at_most or seeds), at_least=seeds)
        except ScenarioError as error:
            yield from (fault._replace(where="sweep.until", hint=_UNTIL) for fault in error.faults[:1])
        else:
            yield from self._flow_faults("sweep.until", rule.metric)

    def _metric_faults(self) -> Iterator[Fault]:
        for name in self.metrics:
            if name not in COLUMNS:
                yield unknown_metric("sweep.metrics", name, COLUMNS)
            else:
                yield from self._flow_faults("sweep.metrics", name)

    def _flow_faults(self, where: str, metric: str) -> Iterator[Fault]:
        """The fault of a metric of a flow that the scenario lacks."""
        one, document = parse(metric), self.base.document
        if one is not None and not is_flow(document, one.flow):
            there = ", ".join(groups(document))
            yield Fault(where, f"'{metric}': no flow is called '{one.flow}'", f"there are {there}")

    @property
    def further(self) -> list[str]:
        """The metrics beyond those that every row has: the requested ones, and that of the stopping rule."""
        rule = self.rule
        return list(dict.fromkeys([*self.metrics, *([] if rule is None or rule.metric in NAMES else [rule.metric])]))

    def _size_faults(self) -> Iterator[Fault]:
        """The faults of a sweep that is too large to begin or to end."""
        cells = len(self.algorithms) or 1
        for values in self.product.values():
            cells *= len(values)
        for fields in self.zip:
            cells *= max(map(len, fields.values()), default=1)
        for members in self.alternatives.values():
            cells *= len(members)
        if cells > MOST_CELLS:
            hint = "fewer values, or [[sweep.zip]] for values that change together"
            yield Fault("sweep", f"there are {cells:,} cells, at most {MOST_CELLS:,} are possible", hint)
        name = "sweep.seeds" if self.at_most is None else "sweep.at_most"
        runs = cells * max(count(self.seeds), self.at_most or 0)
        if cells <= MOST_CELLS and runs > MOST_RUNS:
            yield Fault(name, f"{runs:,} runs would not end, at most {MOST_RUNS:,} are possible", "write fewer")

    def _groups(self) -> Iterator[tuple[str, Mapping[str, Sequence[Any]]]]:
        if self.algorithms:
            yield "sweep.algorithms", {"algorithm": self.algorithms}
        yield "sweep.product", self.product
        for index, fields in enumerate(self.zip):
            yield f"sweep.zip[{index}]", fields

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What varies, the last one fastest."""
        axes = [
            Axis((_column(name),), tuple((one,) for one in members), (*members.values(),))
            for name, members in self.alternatives.items()
        ]
        axes += [Axis.of({"algorithm": self.algorithms})] if self.algorithms else []
        axes += [Axis.of({name: values}) for name, values in self.product.items()]
        axes += [Axis.of(fields) for fields in self.zip if fields]
        return tuple(axes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, one per field."""
        return tuple(name for axis in self.axes for name in axis.fields)

    @property
    def rule(self) -> Until | None:
        """The stopping rule of a cell."""
        if self.until is None:
            return None
        first = len(self.seeds)
        return Until.parse(self.until, COLUMNS, at_most=max(2, self.at_most or first), at_least=first)

    @property
    def most(self) -> int:
        """The maximum number of runs of a cell."""
        return self.at_most or len(self.seeds)

    def __len__(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    def _places(self, index: int) -> list[tuple[Axis, int]]:
        """The place of a cell on each axis."""
        places: list[tuple[Axis, int]] = []
        for axis in reversed(self.axes):
            index, at = divmod(index, len(axis.values))
            places.insert(0, (axis, at))
        return places

    def values(self, index: int) -> dict[str, Any]:
        """The values of a cell's columns."""
        named = (zip(axis.fields, axis.values[at], strict=True) for axis, at in self._places(index))
        return dict(pair for pairs in named for pair in pairs)

    def labels(self, index: int) -> dict[str, Any]:
        """The labels of a cell: its values as a table of cells has them."""
        return {name: value if _is_plain(value) else shown(value) for name, value in self.values(index).items()}

    def checked(self, index: int) -> Checked:
        """The scenario of a cell; raises with its faults."""
        chosen = self._choices(index)
        base = next((one.base for _, one in chosen if one.base is not None), self.base)
        changes = [(path, toml_value(value)) for _, one in chosen for path, value in one.changes.items()]
        return check(base.to_json(), "json", changes=changes, classes={**base.classes, **self.base.classes})

    def _choices(self, index: int) -> list[tuple[str, Alternative]]:
        """The changes of a cell, with the names of their axes."""
        return [(axis.fields[0].removeprefix("@"), axis.choices[at]) for axis, at in self._places(index)]

    def points(self, *, names_cells: bool = True) -> list[Point]:
        """Every cell, checked; raises with the faults of all, with the cell of each if ``names_cells``."""
        points: list[Point] = []
        faults: dict[Fault, list[int]] = {}
        lost: dict[Fault, None] = {}
        for index in range(len(self)):
            try:
                checked = self.checked(index)
            except ScenarioError as error:
                for one in error.faults:
                    faults.setdefault(one, []).append(index)
                continue
            for one in self._interval_faults(checked):
                faults.setdefault(one, []).append(index)
            lost.update(dict.fromkeys(self._lost(index, checked)))
            points.append(Point(index, self.labels(index), checked.hash, checked.document))
        if faults:
            raise ScenarioError(*(self._summarised(faults) if names_cells else faults))
        if lost:
            raise ScenarioError(*list(lost)[:_SHOWN_FAULTS])
        return points

    def _interval_faults(self, checked: Checked) -> Iterator[Fault]:
        """The fault of an interval of the metrics that a cell's run does not have."""
        if self.start_s is None and self.end_s is None:
            return
        run = json.loads(checked.canonical)
        start_ns = run["measure_from_ns"] if self.start_s is None else round(self.start_s * 1e9)
        end_ns = run["duration_ns"] if self.end_s is None else round(self.end_s * 1e9)
        if not start_ns < end_ns <= run["duration_ns"]:
            what = f"{start_ns / 1e9:g} s to {end_ns / 1e9:g} s is not an interval of the run"
            yield Fault("sweep.start_s, sweep.end_s", what, f"the run ends at {run['duration_ns'] / 1e9:g} s")

    def _lost(self, index: int, checked: Checked) -> Iterator[Fault]:
        """The faults of fields of a cell that an axis sets and a later axis sets again, or with a whole table."""
        names = [name for name, one in self._choices(index) for _ in one.changes]
        earlier: list[tuple[str, str]] = []
        for name, places in zip(names, checked.places, strict=True):
            for place in places:
                for other, set_before in earlier:
                    if other != name and (set_before == place or set_before.startswith((f"{place}.", f"{place}["))):
                        what = f"'{other}' and '{name}' both set it, so that one of the values would be lost"
                        yield Fault(set_before, what, "leave the field out of one of them")
            earlier += [(name, place) for place in places]

    def _summarised(self, faults: Mapping[Fault, Sequence[int]]) -> Iterator[Fault]:
        """A fault of every cell is one of the base or a field; any other fault names its first cell."""
        for fault, cells in list(faults.items())[:_SHOWN_FAULTS]:
            if len(cells) == len(self):
                yield fault
                continue
            label = ", ".join(f"{name} = {shown(value)}" for name, value in self.values(cells[0]).items())
            more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
            yield Fault(f"cell {cells[0]} ({label}){more}: {fault.where}", fault.what, fault.hint)
        if len(faults) > _SHOWN_FAULTS:
            yield Fault("", f"and {len(faults) - _SHOWN_FAULTS} more faults", "")

    def study(self) -> Study:
        """The runs of the sweep; raises with the faults of all cells."""
        points, names = self.points(), tuple(sorted(self.further))
        documents = [point.document for point in points]
        measure = Measure(names, self.start_s, self.end_s, columns=self.measure, labels=self.columns)
        return Study(
            points=points,
            seeds=self.seeds,
            measure=replace(measure, service=requires(documents), air=has_air(documents)),
            rule=self.rule,
            classes=self.base.classes,
            header=self.header,
        )

    @property
    def header(self) -> Header:
        """The header for readers of the rows."""
        return Header(
            scenario=self.base.document,
            seeds=[int(seed) for seed in self.seeds],
            columns=list(self.columns),
            axes=[list(axis.fields) for axis in self.axes],
            title=self.title,
            until=self.until,
            start_s=self.start_s,
            end_s=self.end_s,
            further=self.further,
        )


def _is_plain(value: object) -> bool:
    """Whether a table can hold a label as a number or string; larger whole numbers would not be exact."""
    return isinstance(value, str | float) or (type(value) is int and abs(value) <= 2**53)


def _by_field(fields: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    return {name: listed(values) for name, values in fields.items()}


def _column(axis: str) -> str:
    """The column of an axis of alternatives."""
    return axis if axis == "algorithm" else f"@{axis}"


def _has_base(one: Any) -> bool:
    """Whether an alternative has a scenario of its own."""
    return one.base is not None if isinstance(one, Alternative) else not isinstance(one, Mapping) or "base" in one


def _alternative_faults(where: str, members: Mapping[str, Any]) -> Iterator[Fault]:
    """The faults of values that no field can have."""
    for name, one in members.items():
        if isinstance(one, Mapping):
            for path, value in one.items():
                yield from () if path == "base" else unsupported(plain_scalar(value), f'{where}.{name}."{path}"')


def _field_faults(fields: object, place: str) -> Iterator[Fault]:
    """The faults of values by field that are of another type, or that no field can have."""
    if not isinstance(fields, Mapping):
        yield Fault(
            place, f"{short(fields)} is not a table of values by field", 'write "flow[0].rtt" = ["20 ms", "40 ms"]'
        )
        return
    for name, values in fields.items():
        where = f'{place}."{name}"'
        if not isinstance(name, str):
            yield Fault(where, "is not the name of a field", "write a string such as 'flow[0].rtt'")
        elif not is_list(values):
            hint = 'write "flow[0].rtt" = ["20 ms"]; quote a field with dots'
            yield Fault(where, "is not a list of values", hint)
        else:
            yield from islice(
                (one for value in values for one in unsupported(plain_scalar(value), where)), _SHOWN_FAULTS
            )
