"""The command that repeats a comparison from its scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.custom import name_by
from cwndlab.errors import ScenarioError
from cwndlab.files import json_text
from cwndlab.scenario.document import Scenario
from cwndlab.study.axes import exact
from cwndlab.study.compare import with_algorithm
from cwndlab.study.fields import plain, split_at_commas
from cwndlab.study.header import Header
from cwndlab.study.result import Result


def again_compared(result: Result) -> list[str] | None:
    """The words of the command that repeats a comparison from its scenario, ``scenario.toml``; ``None`` where no
    command can say it.

    It cannot where several things vary, or named alternatives do, where the metrics end early, where seeds are no
    consecutive numbers, and where a class is in no file or has a name that is not its own.
    """
    header = result.header
    if not header.compared or len(header.columns) > 1 or header.end_s is not None:
        return None
    parts = [
        _alternatives(result),
        _listed("--flows", header.flows),
        _listed("--against", None if header.against is None else [header.against]),
        _seeds(header),
        _interval(header),
        _listed("--metrics", header.metrics),
        _classes(header.scenario.get("algorithms") or {}),
    ]
    known = [words for words in parts if words is not None]
    options = [word for words in known for word in words]
    return ["cwndlab", "compare", "scenario.toml", *options] if len(known) == len(parts) else None


def _listed(option: str, values: Sequence[str] | None) -> list[str] | None:
    """An option with values joined by commas."""
    if values is None:
        return []
    text = ",".join(values)
    return [option, text] if split_at_commas(text) == list(values) else None


def _alternatives(result: Result) -> list[str] | None:
    """The algorithms, or the field with its values, if with them the scenario is that of each cell."""
    name, scenario = result.compared, result.scenario
    values = [exact(value) for value in result.points[name]]
    try:
        if name == "algorithm":
            given = (result.flows, result.against)
            made = [Scenario.from_json(json_text(with_algorithm(scenario, one, *given))) for one in values]
        else:
            made = [scenario.with_({name: plain(one)}) for one in values]
    except ScenarioError:
        return None
    if [one.hash for one in made] != result.points["scenario_hash"].to_list():
        return None
    words = _listed("--algorithms", values)
    if name == "algorithm" or words is None:
        return words
    return ["--over", f"{name}={words[1]}"]


def _seeds(header: Header) -> list[str] | None:
    """The seeds, and how many more a rule adds."""
    first, count = header.seeds[0], len(header.seeds)
    if list(header.seeds) != list(range(first, first + count)):
        return None
    words = ["--seed", str(first), "--repetitions", str(count)]
    if header.until is not None:
        rule, _, most = header.until.rpartition(", at most ")
        words += ["--until", rule, "--at-most", most]
    return words


def _interval(header: Header) -> list[str] | None:
    """What is left out of each run."""
    if header.start_s is None:
        return [] if header.warm_up is None else ["--warm-up", header.warm_up]
    start = exact(float(header.start_s))
    return ["--warm-up", f"{start} s"] if "e" not in start else None


def _classes(classes: Mapping[str, Mapping[str, Any]]) -> list[str] | None:
    """The files of classes that a scenario uses."""
    files = []
    for name, one in classes.items():
        file = one.get("file") or ""
        is_found = file.endswith(".rs") or (file.endswith(".py") and name_by(one.get("class", "")) == name)
        if not is_found:
            return None
        files.append(file)
    return [word for file in dict.fromkeys(files) for word in ("--algorithm-file", file)]
