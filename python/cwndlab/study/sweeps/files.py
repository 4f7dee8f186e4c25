"""Sweeps in files: TOML, or Python that defines one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from runpy import run_path
from typing import Any

from cwndlab.custom import importable, line_of
from cwndlab.errors import Error, Fault, ScenarioError, text_of
from cwndlab.files import json_text
from cwndlab.scenario import presets
from cwndlab.scenario.declared import Entry
from cwndlab.scenario.declared import faults as declared_faults
from cwndlab.scenario.document import Scenario, toml_value
from cwndlab.scenario.reader import check
from cwndlab.study.sweeps.spec import Sweep
from cwndlab.study.values import MOST_LEVELS, levels, unsupported

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
        "alternatives",
        (dict,),
        "a table [sweep.alternatives.AXIS.NAME] for each alternative",
        "named alternatives by axis: fields that change, and `base` for a scenario of its own",
        {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": {"type": "object"}, "minProperties": 1},
        },
    ),
    Entry(
        "seeds",
        (int, list),
        "seeds = 10, or [1, 2, 3]",
        "the number of seeds, counted from 1, or a list of seeds",
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
        "at_most",
        (int,),
        "a whole number",
        "the maximum number of seeds with `until`",
        {"type": "integer", "minimum": 1},
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


def _with_bases(table: Mapping[str, Any], read: Callable[[str], Scenario]) -> dict[str, Any]:
    """Alternatives of a file with the scenarios that they name."""

    def made(one: Any) -> Any:
        is_named = isinstance(one, dict) and isinstance(one.get("base"), str)
        return {**one, "base": read(one["base"])} if is_named else one

    return {
        axis: {name: made(one) for name, one in members.items()} if isinstance(members, dict) else members
        for axis, members in table.items()
    }


def read(
    path: str | Path,
    *,
    changes: Sequence[tuple[str, str]] = (),
    classes: Mapping[str, type] | None = None,
    where: str = "sweep",
) -> Sweep:
    """The sweep in a file: TOML with a table ``where``, or Python that defines ``sweep = Sweep(…)``. ``changes`` are
    made to the base."""
    path = Path(path)
    if path.suffix == ".py":
        made: Sweep = python_value(path, "sweep", Sweep)
        if not changes and not classes:
            return made
        return _changed(made, changes, classes or {})
    document = toml_document(path, "name a sweep in TOML or Python")
    table = document.pop(where, None)
    if not isinstance(table, dict):
        raise ScenarioError(Fault(str(path), f"has no table [{where}]", "docs/sweeps.md shows one"))
    return from_table(table, document, where=where, folder=path.parent, changes=changes, classes=classes)


def _changed(made: Sweep, changes: Sequence[tuple[str, str]], classes: Mapping[str, type]) -> Sweep:
    """A sweep with changes to its base and to the scenarios that alternatives have of their own."""

    def changed(scenario: Scenario) -> Scenario:
        both = {**scenario.classes, **classes}
        return Scenario.from_json(scenario.to_json(), changes=changes, algorithms=both)

    alternatives = {
        axis: {name: one._replace(base=one.base and changed(one.base)) for name, one in members.items()}
        for axis, members in made.alternatives.items()
    }
    return replace(made, base=changed(made.base), alternatives=alternatives)


def toml_document(path: Path, hint: str) -> dict[str, Any]:
    """A TOML file as plain values."""
    text = text_of(path, hint)
    try:
        document = tomllib.loads(text)
    except RecursionError:
        document = None
    except ValueError as error:  # also raised for a number with thousands of digits
        raise ScenarioError(Fault(str(path), f"is not TOML: {error}", "")) from None
    if document is None or levels(document) > MOST_LEVELS:
        what = f"tables or lists are nested more than {MOST_LEVELS} levels deep"
        raise ScenarioError(Fault(str(path), what, "write a flatter document"))
    return document


def python_value(path: Path, name: str, kind: type) -> Any:
    """Runs a Python file and returns its value ``name``; raises unless that is a ``kind``."""
    text_of(path, f"name a Python file that defines `{name} = …`")
    try:
        with importable(path.resolve().parent):
            value = run_path(str(path)).get(name)
    except Error:
        raise
    except (Exception, SystemExit) as error:
        what = f"ended with {type(error).__name__}: {error}".rstrip(": ")
        raise ScenarioError(Fault(line_of(path, error), what, f"`python {path}` shows details")) from error
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
    if inline and "base" in table:
        there = ", ".join(sorted(inline))
        faults.append(
            Fault(f"{where}.base", f"there is a scenario in the file, too ({there})", "leave out one of them")
        )
    elif not inline and "base" not in table:
        faults.append(
            Fault(f"{where}.base", "there is no scenario", 'write base = "two-flows", or the scenario itself')
        )
    if faults:
        raise ScenarioError(*faults)
    pairs = [*((name, toml_value(value)) for name, value in table.get("set", {}).items()), *changes]
    base = _base(table.get("base"), inline, folder, pairs, classes)
    names = ("seeds", "product", "zip", "title", "algorithms", "until", "at_most", "metrics", "start_s", "end_s")
    given = {key: table[key] for key in names if key in table}
    alternatives = _with_bases(table.get("alternatives", {}), lambda name: _base(name, {}, folder, pairs, classes))
    try:
        return Sweep(base=base, alternatives=alternatives, **given)
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
