"""The description of a sweep: a base scenario, fields that vary, seeds; read from TOML or Python."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

from cwndlab.custom import line_of
from cwndlab.errors import Error, Fault, ScenarioError, text_of
from cwndlab.files import json_text
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.numbers import NAMES
from cwndlab.metrics.of_flow import groups, is_flow, parse
from cwndlab.scenario import presets
from cwndlab.scenario.declared import Entry, near
from cwndlab.scenario.declared import faults as declared_faults
from cwndlab.scenario.document import Scenario, toml_value
from cwndlab.scenario.reader import Checked, check
from cwndlab.statistics.sequential import Until
from cwndlab.study.compare import repeated
from cwndlab.study.fields import places, plain, shown
from cwndlab.study.spec import Measure, Point, Study
from cwndlab.study.values import (
    MOST_LEVELS,
    count,
    is_list,
    is_number,
    levels,
    listed,
    not_text,
    not_texts,
    plain_scalar,
    short,
    unsupported,
)

if TYPE_CHECKING:
    from cwndlab.records import Records

_VALUES = {"type": "array", "minItems": 1}
_BY_FIELD = {"type": "object", "additionalProperties": _VALUES}
_NUMBER = {"type": "number", "minimum": 0}

#: Fields of the table `[sweep]`.
ENTRIES = (
    Entry(
        "base",
        (str,),
        "a preset or a file, such as 'two-flows'",
        "the scenario: a preset or a file",
        {"type": "string"},
    ),
    Entry("title", (str,), "a line of text", "one line on what it shows", {"type": "string"}),
    Entry("set", (dict,), '{ duration = "10 s" }', "fields of the scenario that are changed first", {"type": "object"}),
    Entry(
        "algorithms",
        (list,),
        '["cubic", "reno"]',
        "algorithms of every flow, one after another",
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ),
    Entry(
        "product", (dict,), '"flow[0].rtt" = ["20 ms", "40 ms"]', "values by field; all combinations are run", _BY_FIELD
    ),
    Entry(
        "zip",
        (list,),
        "[[sweep.zip]] tables",
        "tables of values by field, which change together",
        {"type": "array", "items": _BY_FIELD},
    ),
    Entry(
        "seeds",
        (int, list),
        "seeds = 10, or [1, 2, 3]",
        "how many seeds from 1 on, or which",
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
            ],
            "default": 10,
        },
    ),
    Entry(
        "until",
        (str,),
        '"goodput_bps within 2 %"',
        "seeds are added until this interval is reached",
        {"type": "string"},
    ),
    Entry(
        "at_most", (int,), "a whole number", "the most seeds that `until` may take", {"type": "integer", "minimum": 1}
    ),
    Entry(
        "metrics",
        (list,),
        '["p95_queue_ms"]',
        "metrics in the table of results",
        {"type": "array", "items": {"type": "string"}},
    ),
    Entry("start_s", (int, float), "seconds", "metrics begin here, s", _NUMBER),
    Entry("end_s", (int, float), "seconds", "metrics end here, s", _NUMBER),
)
#: Each cell is a scenario that is checked before the first run: more of them would not begin within minutes.
MOST_CELLS = 100_000
#: Runs of a sweep: cells × seeds, or × ``at_most``.
MOST_RUNS = 10_000_000
_SHOWN_FAULTS = 20
_UNTIL = 'write until = "goodput_bps within 2 %"'


@dataclass(frozen=True)
class Axis:
    """Fields that change together: ``values[i][j]`` is the i-th value of ``fields[j]``."""

    fields: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Scenarios × algorithms × seeds.

    Parameters
    ----------
    base
        The scenario.
    seeds
        The seeds of each cell.
    product
        Values by field; all combinations are run. Fields have the names of ``--set``, and ``flow[*].rtt`` is that of
        every flow; a name that begins with ``@`` is a label without a field.
    zips
        Mappings from fields to values that change together.
    algorithms
        The algorithms that all flows use in turn.
    title
        One line on what it shows.
    until, at_most
        ``"goodput_bps within 2 %"`` adds seeds to a cell until its 95 % interval is so narrow, up to ``at_most``.
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
    seeds: Sequence[int]
    product: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    zips: Sequence[Mapping[str, Sequence[Any]]] = ()
    algorithms: Sequence[str] = ()
    title: str = ""
    until: str | None = None
    at_most: int | None = None
    start_s: float | None = None
    end_s: float | None = None
    metrics: Sequence[str] = ()
    measure: Callable[[Records], Mapping[str, float | None]] | None = None

    def __post_init__(self) -> None:
        faults = [*self._kind_faults()] or [*self._faults()]
        if faults:
            raise ScenarioError(*faults)
        seeds = tuple(dict.fromkeys(listed(self.seeds)))
        object.__setattr__(self, "seeds", seeds)
        object.__setattr__(self, "base", repeated(self.base, self.most))
        object.__setattr__(self, "product", _by_field(self.product))
        object.__setattr__(self, "zips", tuple(_by_field(fields) for fields in self.zips))

    def _kind_faults(self) -> Iterator[Fault]:
        """The faults of arguments of another type; the other checks rely on the types."""
        if not isinstance(self.base, Scenario):
            hint = "write cwndlab.presets.load('two-flows'), or a cwndlab.Scenario"
            yield Fault("sweep.base", f"{short(self.base)} is not a scenario", hint)
        if not is_list(self.seeds):
            given: Any = self.seeds
            hint = f"write range(1, {given + 1})" if type(given) is int else "write seeds = [1, 2, 3]"
            yield Fault("sweep.seeds", f"{short(given)} is not a list of seeds", hint)
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
        if not is_list(self.zips):
            yield Fault("sweep.zip", f"{short(self.zips)} is not a list of tables", "write [[sweep.zip]] tables")
        groups = [("sweep.product", self.product)]
        groups += [(f"sweep.zip[{index}]", one) for index, one in enumerate(self.zips if is_list(self.zips) else ())]
        for place, fields in groups:
            yield from _field_faults(fields, place)

    def perturbed(self, perturb: bool | None) -> Sweep:
        """The same sweep of the perturbed scenario; itself where ``perturb`` is ``None``."""
        return self if perturb is None else replace(self, base=self.base.perturbed(perturb))

    def _faults(self) -> Iterator[Fault]:
        yield from self._seed_faults()
        yield from self._rule_faults()
        yield from self._metric_faults()
        if self.start_s is not None and self.end_s is not None and self.start_s >= self.end_s:
            yield Fault(
                "sweep.end_s", f"the interval from {self.start_s:g} to {self.end_s:g} s is empty", "end it later"
            )
        taken: dict[str, str] = {}
        for place, fields in self._groups():
            lengths = {name: len(values) for name, values in fields.items()}
            for name, length in lengths.items():
                if length == 0:
                    yield Fault(f'{place}."{name}"', "has no value", "give it one, or leave it out")
                if name in taken:
                    yield Fault(f'{place}."{name}"', f"is also in {taken[name]}", "one of them would be lost")
                taken[name] = place
            if place.startswith("sweep.zip") and len(set(lengths.values())) > 1:
                each = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
                yield Fault(place, f"fields that change together have equally many values; {each}", "fill up the short")
        yield from self._size_faults()

    def _seed_faults(self) -> Iterator[Fault]:
        """The faults of the seeds, the first one alone of a list."""
        if count(self.seeds) == 0:
            yield Fault("sweep.seeds", "there is none, so nothing runs", "write seeds = 10, or a list of them")
        if count(self.seeds) > MOST_RUNS:
            return  # reported as too many runs
        # `until` and `at_most` add the numbers after the largest one.
        most = 2**63 - (self.at_most or 0)
        for seed in listed(self.seeds):
            if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < most:
                yield Fault("sweep.seeds", f"{short(seed)} is not a seed", "a seed is a whole number from 0 on")
                return

    def _rule_faults(self) -> Iterator[Fault]:
        if self.until is None:
            if self.at_most is not None:
                yield Fault("sweep.at_most", "there is no rule to stop before", _UNTIL)
            return
        seeds = count(self.seeds)
        if self.at_most is None:
            yield Fault("sweep.at_most", "a cell that never settles would run for ever", "write at_most = 100")
        elif self.at_most < seeds:
            yield Fault("sweep.at_most", f"{self.at_most} is less than the {seeds} seeds", "write more")
        try:
            Until.parse(self.until, NAMES, at_most=max(2, self.at_most or seeds), at_least=seeds)
        except ScenarioError as error:
            yield from (fault._replace(where="sweep.until", hint=_UNTIL) for fault in error.faults[:1])

    def _metric_faults(self) -> Iterator[Fault]:
        for name in self.metrics:
            if name not in COLUMNS:
                yield Fault("sweep.metrics", f"no metric is called '{name}'", near(name, list(COLUMNS)))
            elif (one := parse(name)) is not None:
                document = json.loads(self.base.to_json())
                if not is_flow(document, one.flow):
                    there = ", ".join(groups(document))
                    yield Fault("sweep.metrics", f"'{name}': no flow is called '{one.flow}'", f"there are {there}")

    def _size_faults(self) -> Iterator[Fault]:
        """The faults of a sweep that would not begin, or not end."""
        cells = len(self.algorithms) or 1
        for values in self.product.values():
            cells *= len(values)
        for fields in self.zips:
            cells *= max(map(len, fields.values()), default=1)
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
        for index, fields in enumerate(self.zips):
            yield f"sweep.zip[{index}]", fields

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What varies, the last one fastest."""
        axes = [Axis(("algorithm",), tuple((one,) for one in self.algorithms))] if self.algorithms else []
        axes += [Axis((name,), tuple((one,) for one in values)) for name, values in self.product.items()]
        axes += [Axis(tuple(fields), tuple(zip(*fields.values(), strict=True))) for fields in self.zips if fields]
        return tuple(axes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, one per field."""
        return tuple(name for axis in self.axes for name in axis.fields)

    @property
    def rule(self) -> Until | None:
        """When a cell has enough."""
        if self.until is None:
            return None
        first = len(self.seeds)
        return Until.parse(self.until, NAMES, at_most=max(2, self.at_most or first), at_least=first)

    @property
    def most(self) -> int:
        """The runs that a cell has at most."""
        return self.at_most or len(self.seeds)

    def __len__(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    def values(self, index: int) -> dict[str, Any]:
        """The values of a cell's columns."""
        chosen: list[tuple[str, Any]] = []
        for axis in reversed(self.axes):
            index, at = divmod(index, len(axis.values))
            chosen = [*zip(axis.fields, axis.values[at], strict=True), *chosen]
        return dict(chosen)

    def checked(self, index: int) -> Checked:
        """The scenario of a cell; raises with its faults."""
        changes = []
        for name, value in self.values(index).items():
            if name.startswith("@"):
                continue
            path = "flow[*].algorithm" if name == "algorithm" else name
            changes += [(one, toml_value(value)) for one in places(path, self._document)]
        return check(self.base.to_json(), "json", changes=changes, classes=self.base.classes)

    @property
    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = self.__dict__.get("_read") or json.loads(self.base.to_json())
        self.__dict__["_read"] = document
        return document

    def points(self) -> list[Point]:
        """Every cell, checked; raises with the faults of all, each with the cell that has it."""
        points: list[Point] = []
        faults: dict[Fault, list[int]] = {}
        for index in range(len(self)):
            try:
                checked = self.checked(index)
            except ScenarioError as error:
                for one in error.faults:
                    faults.setdefault(one, []).append(index)
                continue
            labels = {name: value if _is_plain(value) else shown(value) for name, value in self.values(index).items()}
            points.append(Point(index, labels, checked.hash, checked.document))
        if faults:
            raise ScenarioError(*self._summarised(faults))
        return points

    def _summarised(self, faults: Mapping[Fault, Sequence[int]]) -> Iterator[Fault]:
        """A fault of every cell is the base's or a field's; any other one names the first cell that has it."""
        for fault, cells in list(faults.items())[:_SHOWN_FAULTS]:
            if len(cells) == len(self):
                yield fault
                continue
            label = ", ".join(f"{name} = {shown(value)}" for name, value in self.values(cells[0]).items())
            more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
            yield Fault(f"cell {cells[0]} ({label}){more}: {fault.where}", fault.what, fault.hint)
        if len(faults) > _SHOWN_FAULTS:
            yield Fault("", f"and {len(faults) - _SHOWN_FAULTS} faults more", "")

    def study(self) -> Study:
        """The runs of the sweep; raises with the faults of all cells."""
        return Study(
            points=self.points(),
            seeds=self.seeds,
            measure=Measure(tuple(sorted(self.metrics)), self.start_s, self.end_s, columns=self.measure),
            rule=self.rule,
            classes=self.base.classes,
            header={
                "title": self.title,
                "columns": list(self.columns),
                "axes": [list(axis.fields) for axis in self.axes],
                "seeds": [int(seed) for seed in self.seeds],
                "until": self.until,
                "start_s": self.start_s,
                "end_s": self.end_s,
                "metrics": None,
                "further": list(dict.fromkeys(self.metrics)),
                "notes": [],
                "scenario": json.loads(self.base.to_json()),
            },
        )


def _is_plain(value: object) -> bool:
    """Whether a label is a number or a text as it is; larger whole numbers are not exact as numbers of a table."""
    return isinstance(value, str | float) or (type(value) is int and abs(value) <= 2**53)


def _by_field(fields: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    return {name: listed(values) for name, values in fields.items()}


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
            yield Fault(where, "is not a name of a field", "write a text such as 'flow[0].rtt'")
        elif not is_list(values):
            hint = 'write "flow[0].rtt" = ["20 ms"]; a field with dots stands in quotes'
            yield Fault(where, "no list of values", hint)
        else:
            yield from islice(
                (one for value in values for one in unsupported(plain_scalar(value), where)), _SHOWN_FAULTS
            )


def read(
    path: str | Path, *, changes: Sequence[tuple[str, str]] = (), classes: Mapping[str, type] | None = None
) -> Sweep:
    """The sweep in a file: TOML, or Python that defines ``sweep = Sweep(…)``. ``changes`` are made to the base."""
    path = Path(path)
    if path.suffix == ".py":
        made: Sweep = python_value(path, "sweep", Sweep)
        if not changes and not classes:
            return made
        base = made.base
        return replace(
            made,
            base=Scenario.from_json(base.to_json(), algorithms={**base.classes, **(classes or {})}).with_(
                {name: plain(value) for name, value in changes}
            ),
        )
    document = toml_document(path, "name a sweep in TOML or Python")
    table = document.pop("sweep", None)
    if not isinstance(table, dict):
        raise ScenarioError(Fault(str(path), "has no table [sweep]", "docs/sweeps.md shows one"))
    return from_table(table, document, where="sweep", folder=path.parent, changes=changes, classes=classes)


def toml_document(path: Path, hint: str) -> dict[str, Any]:
    """A TOML file as plain values."""
    text = text_of(path, hint)
    try:
        document = tomllib.loads(text)
    except RecursionError:
        document = None
    except ValueError as error:  # also of a number with thousands of digits
        raise ScenarioError(Fault(str(path), f"this is no TOML: {error}", "")) from None
    if document is None or levels(document) > MOST_LEVELS:
        what = f"tables or lists are nested more than {MOST_LEVELS} levels deep"
        raise ScenarioError(Fault(str(path), what, "write a flatter document"))
    return document


def python_value(path: Path, name: str, kind: type) -> Any:
    """The value of ``name`` in a file of Python, which is run; raises unless it is a ``kind``."""
    text_of(path, f"name a file of Python that defines `{name} = …`")
    try:
        value = run_path(str(path)).get(name)
    except Error:
        raise
    except (Exception, SystemExit) as error:
        what = f"ended with {type(error).__name__}: {error}".rstrip(": ")
        raise ScenarioError(Fault(line_of(path, error), what, f"`python {path}` shows more")) from error
    if not isinstance(value, kind):
        what = f"has no '{name}' that is a {kind.__name__}"
        raise ScenarioError(Fault(str(path), what, f"write `{name} = cwndlab.study.sweeps.{kind.__name__}(…)`"))
    return value


def from_table(
    table: dict[str, Any],
    inline: dict[str, Any],
    *,
    where: str,
    folder: Path,
    changes: Sequence[tuple[str, str]] = (),
    classes: Mapping[str, type] | None = None,
) -> Sweep:
    """A table like ``[sweep]``; ``inline`` is the scenario beside it, if there is one."""
    faults = list(declared_faults(table, ENTRIES, where))
    faults += [one for name, value in inline.items() for one in unsupported(value, name)]
    settings = table.get("set")
    for name, value in settings.items() if isinstance(settings, dict) else ():
        faults += unsupported(value, f'{where}.set."{name}"')
    seeds = table.get("seeds", 10)
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        seeds = range(1, seeds + 1)
    if inline and "base" in table:
        there = ", ".join(sorted(inline))
        faults.append(Fault(f"{where}.base", f"there is a scenario in the file, too ({there})", "leave one out"))
    elif not inline and "base" not in table:
        faults.append(
            Fault(f"{where}.base", "there is no scenario", 'write base = "two-flows", or the scenario itself')
        )
    if faults:
        raise ScenarioError(*faults)
    pairs = [*((name, toml_value(value)) for name, value in table.get("set", {}).items()), *changes]
    spread = [
        (one, value) for name, value in pairs for one in places(name, inline or _document_of(table["base"], folder))
    ]
    base = _base(table.get("base"), inline, folder, spread, classes)
    names = ("title", "algorithms", "until", "at_most", "metrics", "start_s", "end_s")
    given = {key: table[key] for key in names if key in table}
    try:
        return Sweep(base=base, seeds=seeds, product=table.get("product", {}), zips=table.get("zip", ()), **given)
    except ScenarioError as error:
        # The table has another name in a tuning.
        renamed = (f._replace(where=re.sub(r"^sweep\b", lambda _: where, f.where)) for f in error.faults)
        raise ScenarioError(*renamed) from None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _file_of(name: str, folder: Path) -> Path:
    return folder / name if _is_file(folder / name) else presets.folder() / f"{name}.toml"


def _document_of(name: str, folder: Path) -> dict[str, Any]:
    path = _file_of(name, folder)
    return toml_document(path, "") if _is_file(path) else {}


def _base(
    name: str | None,
    inline: dict[str, Any],
    folder: Path,
    changes: Sequence[tuple[str, str]],
    classes: Mapping[str, type] | None,
) -> Scenario:
    if name is None:
        checked = check(json_text(inline), "json", folder=folder, changes=changes, classes=classes)
        return Scenario.from_json(checked.document, algorithms=classes)
    path = _file_of(name, folder)
    if not _is_file(path):
        presets.load(name)  # its error lists the presets
    return Scenario.load(path, changes=changes, algorithms=classes)
