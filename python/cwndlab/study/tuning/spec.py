"""The description of a tuning: an algorithm, ranges of its parameters, an objective, training and test scenarios."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from cwndlab.catalogue import Parameter, canonical, entries_of
from cwndlab.custom import CustomAlgorithm, base_name, described, registered, validate_classes
from cwndlab.errors import Fault, ScenarioError, near
from cwndlab.files import json_text
from cwndlab.metrics.summary import NAMES
from cwndlab.scenario.declared import Entry, schema
from cwndlab.scenario.declared import faults as declared_faults
from cwndlab.scenario.schema_tables import plain_scalar
from cwndlab.study.sweeps.files import ENTRIES as SWEEP_ENTRIES
from cwndlab.study.sweeps.files import from_table, python_value, toml_document
from cwndlab.study.sweeps.spec import Sweep
from cwndlab.study.tuning.expression import Expression
from cwndlab.study.values import is_list, is_number, listed, not_text, not_texts, short

#: The sampler considers all earlier trials before each one; with more of them, a search would not end.
MOST_TRIALS = 100_000
_TABLE = "docs/tuning.md shows one"
_SIDE = {key: value for key, value in schema(SWEEP_ENTRIES, "").items() if key != "description"}

#: Fields of the table `[tune]`.
ENTRIES = (
    Entry(
        "algorithm", (str,), _TABLE, "the algorithm whose parameters are searched", {"type": "string"}, required=True
    ),
    Entry(
        "fields",
        (list,),
        _TABLE,
        "fields of the scenario that hold the algorithm",
        {"type": "array", "items": {"type": "string"}},
    ),
    Entry("title", (str,), "a line of text", "one line on what is searched", {"type": "string"}),
    Entry("maximise", (str,), "an expression of metrics", "the objective to maximise", {"type": "string"}),
    Entry("minimise", (str,), "an expression of metrics", "the objective to minimise", {"type": "string"}),
    Entry(
        "constraints",
        (list,),
        _TABLE,
        "inequalities between expressions of metrics",
        {"type": "array", "items": {"type": "string"}},
    ),
    Entry("scale", (str,), '"relative" or "absolute"', "how the objective is averaged over cells", {"type": "string"}),
    Entry(
        "trials",
        (int,),
        "a whole number",
        "the number of settings to try",
        {"type": "integer", "minimum": 1, "maximum": MOST_TRIALS},
    ),
    Entry("seed", (int,), "a whole number", "seed of the search", {"type": "integer", "minimum": 0}),
    Entry(
        "parameters",
        (dict,),
        _TABLE,
        "the range of each parameter: `{ low = 0.5, high = 4, log = true }`, `{ values = [1, 2] }` or `{}`",
        {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "low": {"type": "number"},
                    "high": {"type": "number"},
                    "values": {"type": "array", "minItems": 1},
                    "log": {"type": "boolean"},
                },
                "additionalProperties": False,
            },
        },
        required=True,
    ),
    Entry("published", (dict,), _TABLE, "the parameters that its authors publish", {"type": "object"}),
    Entry("train", (dict,), _TABLE, "a sweep over which settings are searched", _SIDE, required=True),
    Entry("test", (dict,), _TABLE, "a sweep on which the best setting is evaluated", _SIDE, required=True),
)
Value = float | str


@dataclass(frozen=True)
class Range:
    """The range of a parameter: from ``low`` to ``high`` (evenly in its logarithm with ``log``), or among
    ``values``."""

    low: float | None = None
    high: float | None = None
    values: tuple[Value, ...] = ()
    log: bool = False


@dataclass(frozen=True)
class Constraint:
    """``left ≤ right``: the mean over all runs of ``left`` − ``right`` is at most zero."""

    text: str
    left: Expression
    right: Expression
    sign: int

    @classmethod
    def parse(cls, text: str, where: str) -> Constraint:
        """Reads ``"timeouts <= 1"``."""
        match = re.fullmatch(r"([^<>=]+)(<=|>=)([^<>=]+)", text) if isinstance(text, str) else None
        if match is None:
            raise ScenarioError(Fault(where, f"{short(text)} is not a constraint", 'write "timeouts <= 1"'))
        left, right = (Expression.parse(match[side], where, list(NAMES)) for side in (1, 3))
        return cls(text, left, right, 1 if match[2] == "<=" else -1)

    def excess(self, row: Mapping[str, float | None]) -> float:
        """The excess of a run over it."""
        return self.sign * (self.left(row) - self.right(row))


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """A search for an algorithm's parameters.

    ``parameters`` are named ``PART.NAME`` (``ccm-ss.mu``), or by the name alone if only one part has it; a range is
    the entry's own unless given. ``objective`` is an expression of metrics, to be maximised or minimised (``goal``).
    Its value in each run is taken as a ratio to the mean of the default parameters in the same cell (``scale``
    ``"relative"``) or as it is (``"absolute"``), and averaged over all runs. The search uses ``train`` alone.
    ``published`` are values that are evaluated as well. ``fields`` are the fields of the algorithm.
    """

    algorithm: str
    objective: str
    parameters: Mapping[str, Range | Mapping[str, Any]]
    train: Sweep
    test: Sweep
    goal: Literal["maximise", "minimise"] = "maximise"
    constraints: Sequence[str] = ()
    scale: Literal["relative", "absolute"] = "relative"
    published: Mapping[str, Value] = field(default_factory=dict)
    fields: Sequence[str] = ("flow[*].algorithm",)
    trials: int = 40
    seed: int = 1
    title: str = ""

    def __post_init__(self) -> None:
        faults = list(self._kind_faults()) or list(self._faults())
        if faults:
            raise ScenarioError(*faults)
        ranges = {self._full(name): self._range(name) for name in self.parameters}
        object.__setattr__(self, "parameters", ranges)
        object.__setattr__(self, "published", {self._full(name): one for name, one in self.published.items()})
        for given in self.tried:
            self._canonical(self.text(given))
        for side in ("train", "test"):
            _at(side, self.sweep(side, [{}]))

    def _kind_faults(self) -> Iterator[Fault]:
        """The faults of arguments of another type; the other checks rely on the types."""
        yield from not_text(self.algorithm, "tune.algorithm", '"cubic+ccm-ss/sack"')
        yield from not_text(self.objective, f"tune.{self.goal}", '"goodput_bps"')
        yield from not_text(self.title, "tune.title", "a line of text")
        yield from not_texts(self.constraints, "tune.constraints", '["timeouts <= 1"]')
        yield from not_texts(self.fields, "tune.fields", '["flow[*].algorithm"]')
        if self.goal not in ("maximise", "minimise"):
            yield Fault("tune.goal", f"{short(self.goal)} is not a goal", "write maximise or minimise")
        for name, value, low, high, example in (
            ("trials", self.trials, 1, MOST_TRIALS, 40),
            ("seed", self.seed, 0, 2**63 - 1, 1),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                upper = f"{high:,}" if high == MOST_TRIALS else "2⁶³ − 1"
                what = f"{short(value)} is not a whole number from {low} to {upper}"
                yield Fault(f"tune.{name}", what, f"write {name} = {example}")
        for name, table in (("parameters", self.parameters), ("published", self.published)):
            if not isinstance(table, Mapping):
                yield Fault(f"tune.{name}", f"{short(table)} is not a table of values by parameter", _TABLE)
                continue
            for key, given in table.items():
                where = f'tune.{name}."{key}"'
                if not isinstance(key, str):
                    yield Fault(where, "is not the name of a parameter", "write a string such as 'ccm-ss.mu'")
                elif name == "parameters" and not isinstance(given, Range | Mapping):
                    yield Fault(where, "is not a table", "write { low = 0.5, high = 4 }, or {}")
        for side in ("train", "test"):
            if not isinstance(getattr(self, side), Sweep):
                yield Fault(f"tune.{side}", "is not a sweep", "write cwndlab.study.sweeps.Sweep(…)")

    def _faults(self) -> Iterator[Fault]:
        if not self.parameters:
            yield Fault(
                "tune.parameters", "there is no parameter to search", 'write "ccm-ss.mu" = { low = 0.5, high = 4 }'
            )
        if not self.fields:
            what = "there is no field for the algorithm"
            yield Fault("tune.fields", what, 'write ["flow[*].algorithm"]')
        if self.scale not in ("relative", "absolute"):
            yield Fault("tune.scale", f"{short(self.scale)} is not a scale", "write relative or absolute")
        try:
            self._canonical(self.algorithm)
            Expression.parse(self.objective, f"tune.{self.goal}", list(NAMES))
            for index, text in enumerate(self.constraints):
                Constraint.parse(text, f"tune.constraints[{index}]")
        except ScenarioError as error:
            yield from (Fault(fault.where or "tune.algorithm", fault.what, fault.hint) for fault in error.faults)
            return
        for place, names in (("parameters", self.parameters), ("published", self.published)):
            full_names: dict[str, str] = {}
            for name in names:
                where = f'tune.{place}."{name}"'
                yield from self._unknown(name, where)
                for full in self._matches(name)[:1]:
                    if full in full_names:
                        yield Fault(where, f"is the same parameter as '{full_names[full]}'", "leave out one of them")
                    full_names[full] = name
        for name, value in self.published.items():
            where = f'tune.published."{name}"'
            if not any(
                name in (one, one.rpartition(".")[2]) or one == name.rpartition(".")[2] for one in self.parameters
            ):
                yield Fault(where, "is not among the parameters", near(name, list(self.parameters)))
            for full in self._matches(name)[:1]:
                yield from _value_faults(value, self._known()[full], where)

    @property
    def _classes(self) -> dict[str, CustomAlgorithm]:
        """The classes in Python of the training scenarios."""
        return {**registered(), **validate_classes(self.train.base.classes)}

    def _canonical(self, text: str) -> str:
        return canonical(text, described(self._classes))

    def _known(self) -> dict[str, Parameter]:
        """Parameters of the algorithm's parts by their full names; those of a class in Python have no range."""
        if custom := self._classes.get(base_name(self.algorithm)):
            return {
                f"{custom.name}.{name}": Parameter(name=name, unit="", default=float(value), low=low, high=high, doc="")
                for name, value in custom.parameters.items()
                for low, high in [custom.ranges.get(name, (None, None))]
            }
        return {f"{entry.name}.{one.name}": one for entry in entries_of(self.algorithm) for one in entry.parameters}

    def _matches(self, name: str) -> list[str]:
        return [full for full in self._known() if name in (full, full.partition(".")[2])]

    def _full(self, name: str) -> str:
        return self._matches(name)[0]

    def _unknown(self, name: str, where: str) -> Iterator[Fault]:
        known = list(self._known())
        matches = self._matches(name)
        if not matches:
            yield Fault(where, f"'{self.algorithm}' has no such parameter", near(name, known) if known else "")
        elif len(matches) > 1:
            yield Fault(where, f"several parts have it: {', '.join(matches)}", f"write '{matches[0]}'")
        elif name in self.parameters:
            yield from self._range_faults(name, self._known()[matches[0]], where)

    def _range_faults(self, name: str, parameter: Parameter, where: str) -> Iterator[Fault]:
        """The faults of a range."""
        given = self.parameters[name]
        if isinstance(given, Range):
            given = {key: value for key, value in vars(given).items() if value is not None and value not in ((), False)}
        for key in given:
            if key not in ("low", "high", "values", "log"):
                yield Fault(f"{where}.{key}", "no such field", "low, high, log, or values")
        if "values" in given:
            yield from _choice_faults(given, parameter, where)
        elif parameter.words:
            if {"low", "high", "log"} & given.keys():
                what = f"is one of {', '.join(parameter.words)}, and has no range"
                yield Fault(where, what, f'write {{}}, or {{ values = ["{parameter.words[0]}"] }}')
        else:
            yield from _span_faults(given, parameter, where)

    def _range(self, name: str) -> Range:
        given, parameter = self.parameters[name], self._known()[self._full(name)]
        if isinstance(given, Range):
            given = vars(given)
        values = tuple(dict.fromkeys(listed(given.get("values") or parameter.words)))
        if values:
            return Range(values=values)
        low, high = (
            given.get(end) if given.get(end) is not None else getattr(parameter, end) for end in ("low", "high")
        )
        assert low is not None
        assert high is not None
        return Range(float(low), float(high), log=bool(given.get("log")))

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of each parameter."""
        return {name: one for name, one in self.parameters.items() if isinstance(one, Range)}

    @property
    def tried(self) -> list[dict[str, Value]]:
        """The first settings: the default and the published one."""
        first: list[dict[str, Value]] = [self.default]
        published = {**self.default, **self.published}
        return first if published == first[0] else [*first, published]

    @property
    def default(self) -> dict[str, Value]:
        """The parameters as the algorithm's text has them, or the entry's own."""
        # In the canonical text the parts have the names that the parameters have, whatever was written.
        known, text_in_full = self._known(), self._canonical(self.algorithm)
        values: dict[str, Value] = {}
        for full in self.parameters:
            part, _, name = full.partition(".")
            written = re.search(rf"(?:^|[+/]){re.escape(part)}\(([^)]*)\)", text_in_full)
            pairs = dict(pair.replace(" ", "").split("=", 1) for pair in written[1].split(",")) if written else {}
            default = known[full].default
            text = pairs.get(name)
            values[full] = default if text is None else text if isinstance(default, str) else float(text)
        return values

    def text(self, values: Mapping[str, Value]) -> str:
        """The algorithm with these parameters.

        They follow the name of their part; a companion without a name in the text is added with its name.
        """
        is_named = all(_named(full, self.algorithm) for full in values)
        text = self.algorithm if is_named else self._canonical(self.algorithm)
        for full, value in values.items():
            part, _, name = full.partition(".")
            written = f"{name}={value if isinstance(value, str) else f'{value:.12g}'}"

            def put(match: re.Match[str], written: str = written, name: str = name) -> str:
                inside = [one.strip() for one in (match[3] or "").split(",") if one.strip()]
                kept = [one for one in inside if one.split("=")[0].strip() != name]
                return f"{match[1]}{match[2]}({', '.join([*kept, written])})"

            text = re.sub(rf"(^|[+/])({re.escape(part)})(?:\(([^)]*)\))?(?=$|[+/])", put, text)
        return text

    def sweep(self, side: str, tries: Sequence[Mapping[str, Value]]) -> Sweep:
        """The runs of several sets of parameters on one side."""
        base: Sweep = getattr(self, side)
        texts = [self.text(values) for values in tries]
        return replace(base, zip=[dict.fromkeys(self.fields, texts), *base.zip])

    @property
    def digest(self) -> str:
        """The digest of everything that the search depends on."""
        parts: list[Any] = [
            self.algorithm,
            self.objective,
            self.goal,
            self.scale,
            list(self.constraints),
            list(self.fields),
        ]
        parts += [{name: vars(one) for name, one in self.ranges.items()}, self.seed, dict(self.published)]
        parts += [
            # With the algorithm in the flows: the hash of a scenario has the sources of the classes that flows use.
            [point.hash for point in self.sweep("train", [self.default]).points()],
            list(self.train.seeds),
            self.train.start_s,
            self.train.end_s,
        ]
        return hashlib.sha256(json_text(parts, sort_keys=True).encode()).hexdigest()[:16]


def _choice_faults(given: Mapping[str, Any], parameter: Parameter, where: str) -> Iterator[Fault]:
    """The faults of a list of values to search."""
    values = given["values"]
    if not is_list(values):
        yield Fault(f"{where}.values", f"{short(values)} is not a list of values", "write { values = [1, 2, 4] }")
        return
    if len(values) == 0:
        yield Fault(
            f"{where}.values", "there is no value to try", "write { values = [1, 2, 4] }, or { low = 0.5, high = 4 }"
        )
    if {"low", "high", "log"} & given.keys():
        yield Fault(where, "has both values and a range", "leave out values, or low, high and log")
    for value in listed(values):
        faults = list(_value_faults(value, parameter, f"{where}.values"))
        yield from faults
        if faults:
            return


def _value_faults(value: object, parameter: Parameter, where: str) -> Iterator[Fault]:
    """The fault of a value that the parameter cannot have."""
    if parameter.words:
        if value not in parameter.words:
            yield Fault(where, f"{short(value)} is none of {parameter.domain}", f"write '{parameter.words[0]}'")
        return
    value = plain_scalar(value)
    if not is_number(value):
        yield Fault(where, f"{short(value)} is not a number", f"it is {parameter.domain}")
    elif not (parameter.low is None or parameter.low <= value) or not (
        parameter.high is None or value <= parameter.high
    ):
        yield Fault(where, f"{value:g} is not within {parameter.domain}", "stay within it")


def _span_faults(given: Mapping[str, Any], parameter: Parameter, where: str) -> Iterator[Fault]:
    """The faults of a range from ``low`` to ``high``."""
    low, high = (plain_scalar(given.get(end, getattr(parameter, end))) for end in ("low", "high"))
    if not isinstance(given.get("log", False), bool):
        yield Fault(f"{where}.log", f"{short(given['log'])} is neither true nor false", "write log = true")
    elif low is None or high is None:
        yield Fault(where, f"it is {parameter.domain}, which is unbounded", "write { low = 0.5, high = 4 }")
    elif not is_number(low) or not is_number(high) or not low < high:
        ends = " to ".join(f"{end:g}" if is_number(end) else short(end) for end in (low, high))
        yield Fault(where, f"from {ends} is not a range", "write { low = 0.5, high = 4 }")
    elif (parameter.low is not None and low < parameter.low) or (parameter.high is not None and high > parameter.high):
        yield Fault(where, f"{low} to {high} leaves {parameter.domain}", "stay within it")
    elif given.get("log") and low <= 0:
        yield Fault(where, "a logarithm begins above zero", "give low")


def _named(full: str, text: str) -> bool:
    return re.search(rf"(?:^|[+/]){re.escape(full.partition('.')[0])}(?=$|[+/(])", text) is not None


def _at(side: str, sweep: Sweep) -> None:
    """Raises the faults of a side's cells."""
    try:
        sweep.points()
    except ScenarioError as error:
        raise ScenarioError(*(Fault(f"tune.{side}: {one.where}", one.what, one.hint) for one in error.faults)) from None


def load(path: str | Path, *, classes: Mapping[str, type] | None = None) -> Tuning:
    """The tuning in a file: TOML, or Python that defines ``tuning = Tuning(…)``; its flows may use ``classes``."""
    path = Path(path)
    if path.suffix == ".py":
        if classes:
            what = "does not apply to a search in Python, which imports its classes"
            raise ScenarioError(Fault("--algorithm-file", what, "give them to its scenarios, or leave it out"))
        made: Tuning = python_value(path, "tuning", Tuning)
        return made
    document = toml_document(path, "name a tuning in TOML or Python")
    table = document.pop("tune", None)
    if not isinstance(table, dict):
        raise ScenarioError(Fault(str(path), "has no table [tune]", "docs/tuning.md shows one"))
    faults = list(declared_faults(table, ENTRIES, "tune"))
    goals = [goal for goal in ("maximise", "minimise") if goal in table]
    if len(goals) != 1 or not isinstance(table[goals[0]], str):
        faults.append(Fault("tune", "needs exactly one objective", 'write maximise = "goodput_bps", or minimise = "…"'))
    if isinstance(table.get("parameters"), dict):
        for name, one in table["parameters"].items():
            if not isinstance(one, dict):
                faults.append(
                    Fault(f'tune.parameters."{name}"', "is not a table", "write { low = 0.5, high = 4 }, or {}")
                )
    for side in ("train", "test"):
        part = table.get(side)
        for key in ("algorithms", "until", "at_most"):
            if isinstance(part, dict) and key in part:
                faults.append(Fault(f"tune.{side}.{key}", "has no place in a tuning", "leave it out"))
    if all(isinstance(table.get(side), dict) and "base" in table[side] for side in ("train", "test")):
        what = "is not used, since train and test have their own bases"
        faults += [Fault(key, what, "leave it out, or leave out a base") for key in document]
    if faults:
        raise ScenarioError(*faults)
    sides = {
        # A scenario beside the table is the base of both.
        side: from_table(
            table[side],
            {} if "base" in table[side] else document,
            where=f"tune.{side}",
            folder=path.parent,
            classes=classes,
        )
        for side in ("train", "test")
    }
    apart = ("maximise", "minimise", "train", "test")
    rest = {entry.name: table[entry.name] for entry in ENTRIES if entry.name in table and entry.name not in apart}
    goal: Any = goals[0]
    return Tuning(objective=table[goal], goal=goal, train=sides["train"], test=sides["test"], **rest)
