"""The criteria of RFC 9743 and the scenarios of a dossier, as ``criteria.toml`` and ``cells.toml`` have them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cwndlab.catalogue import entries_of
from cwndlab.errors import ArgumentError, Parameter, ScenarioError, unknown_name
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.core import Metric
from cwndlab.metrics.margins import margin
from cwndlab.scenario.like import scenario_of
from cwndlab.study.spec import Point
from cwndlab.study.sweeps.files import from_table
from cwndlab.study.sweeps.spec import Sweep

#: The algorithms in whose place the assessed one is put, and their names in tables.
BASELINES = {"cubic": "CUBIC", "reno": "Reno"}
#: Flows whose names begin so use the assessed algorithm.
MINE = "mine"
#: The environments of campaigns on real paths, by transport.
ENVIRONMENTS = {"tcp": "live TCP", "quic": "live QUIC"}
#: Below this part of a fair share a flow is starved, as in `cwndlab.reproduction.controls.level`.
STARVED = 0.05
#: Seeds of each cell, and of each cell of a quick dossier.
SEEDS, QUICK_SEEDS = 10, 5
#: What a quick dossier keeps of five values; of another number it keeps the first and the last.
_QUICK = {5: (1, 3)}
BREAKER = Metric(
    name="breaker_ratio",
    title="rate / limit of RFC 8083",
    unit="",
    direction=-1,
    source="RFC 8083, section 4.3",
    formula="X R √(2 p / 3) / (10 s)",
)
#: The same of the assessed flow, which `cwndlab.assessment.envelope` computes from columns of a run.
OWN_BREAKER = replace(BREAKER, name="own_breaker_ratio")
#: Needs of algorithms that bring a form of ECN of their own.
_ECN_NEEDS = {"ecn", "l4s"}


@dataclass(frozen=True)
class Measure:
    """A metric of a family of cells, in which more or less is better."""

    family: str
    metric: str
    better: str
    what: str
    fair: float = 0.5
    """The share of the line that is fair, for metrics ``share@…``."""

    @property
    def direction(self) -> int:
        """1 where more is better, −1 where less is."""
        return 1 if self.better == "more" else -1

    @property
    def column(self) -> Metric:
        """The metric's title, unit and factor."""
        return next((one for one in (BREAKER, OWN_BREAKER) if one.name == self.metric), None) or COLUMNS[self.metric]

    @property
    def margin(self) -> float:
        """The relative change without practical relevance (`cwndlab.metrics.margins`)."""
        one = margin(self.metric)
        return one.share or one.amount

    @property
    def least(self) -> float:
        """The amount below which a difference counts as none."""
        one = margin(self.metric)
        return one.amount if one.share else 0.0


@dataclass(frozen=True)
class Criterion:
    """A row of a dossier. ``reason`` says why nothing is measured, ``partly`` what is left out of what is."""

    section: str
    title: str
    word: str
    measures: tuple[Measure, ...] = ()
    reason: str = ""
    partly: str = ""


@dataclass(frozen=True)
class Control:
    """A known result: the finding on ``algorithm`` against ``baseline``, or a value that every cell reaches."""

    what: str
    measure: Measure
    algorithm: str
    baseline: str = ""
    expected: str = ""
    least: float | None = None

    @property
    def algorithms(self) -> list[str]:
        """The algorithms that are run."""
        return [self.algorithm, *([self.baseline] if self.baseline else [])]


@dataclass(frozen=True)
class Family:
    """Scenarios that differ in the values of some fields; ``surface`` if these are rate, RTT and buffer. With
    ``keeps_ecn`` an algorithm that needs a form of ECN keeps it, whatever the cells say."""

    name: str
    title: str
    sweep: Sweep
    surface: bool
    keeps_ecn: bool = False

    def points(self, algorithms: Sequence[str]) -> list[Point]:
        """The scenarios with each algorithm in the flows whose names begin with ``mine``, numbered from 0 for each
        algorithm; all cells of the first algorithm come first."""
        flows = self.sweep.base.document["flow"]
        mine = [at for at, flow in enumerate(flows) if flow["name"].startswith(MINE)]
        using = {name: {f"flow[{at}].algorithm": name for at in mine} for name in dict.fromkeys(algorithms)}
        points = replace(self.sweep, alternatives={"algorithm": using, **self.sweep.alternatives}).points()
        cells = len(points) // len(using)
        if self.keeps_ecn:
            own = {name for name in using if _has_own_ecn(name)}
            points = [_with_own_ecn(point) if point.labels["algorithm"] in own else point for point in points]
        return [point._replace(number=point.number % cells) for point in points]


def _has_own_ecn(algorithm: str) -> bool:
    try:
        return any(_ECN_NEEDS.intersection(entry.needs) for entry in entries_of(algorithm))
    except ScenarioError:
        return False  # A class in Python has no needs.


def _with_own_ecn(point: Point) -> Point:
    """The cell without the ECN of the assessed flows, so that they have the form that their algorithm needs."""
    document = json.loads(point.document)
    for flow in document["flow"]:
        if flow["name"].startswith(MINE):
            flow.get("stack", {}).pop("ecn", None)
    scenario = scenario_of(document)
    return point._replace(hash=scenario.hash, document=scenario.to_json())


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def chosen(sections: Sequence[str]) -> tuple[Criterion, ...]:
    """The rows of these sections; all without any. Raises ``ScenarioError`` for a section without a row."""
    known = {one.section: one for one in criteria()}
    if faults := [unknown_name(Parameter("sections"), "section", one, known) for one in sections if one not in known]:
        raise ArgumentError(*faults)
    return tuple(one for name, one in known.items() if not sections or name in sections)


@cache
def criteria() -> tuple[Criterion, ...]:
    """The rows, in the order of the RFC's sections.

    Examples
    --------
    >>> len(criteria()), sum(bool(one.measures) for one in criteria())
    (27, 24)
    """
    return tuple(
        Criterion(**{**one, "measures": tuple(Measure(**each) for each in one.get("measures", ()))})
        for one in _toml("criteria.toml")["criterion"]
    )


@cache
def controls() -> tuple[Control, ...]:
    """The positive controls."""
    names = ("family", "metric", "better", "what")
    return tuple(
        Control(
            measure=Measure(**{name: one[name] for name in names}),
            **{name: value for name, value in one.items() if name not in names[:-1]},
        )
        for one in _toml("criteria.toml")["control"]
    )


def families(*, quick: bool = False, perturb: bool = True, classes: Mapping[str, type] | None = None) -> list[Family]:
    """The families of cells; ``quick`` leaves out most values, ``perturb`` is as in `cwndlab.run`."""
    document = _toml("cells.toml")
    return [_family(name, one, document, quick, perturb, classes) for name, one in document["family"].items()]


def _family(
    name: str,
    one: dict[str, Any],
    document: Mapping[str, Any],
    quick: bool,
    perturb: bool,
    classes: Mapping[str, type] | None,
) -> Family:
    surface, title, keeps_ecn = one.pop("grid", False), one.pop("title"), one.pop("keeps_ecn", False)
    product = document["grid"] if surface else one.pop("product", {})
    table = {"product": {field: _chosen(values) if quick else values for field, values in product.items()}}
    table |= {"alternatives": one.pop("alternatives", {})}
    base = deepcopy(document["base"])
    if "wlan" in one:
        del base["dumbbell"]
    for key, value in one.items():
        base[key] = {**base[key], **_merged(base[key], value)} if key == "dumbbell" else value
    base |= {"title": title, "perturb": perturb}
    sweep = from_table(table, base, where="sweep", folder=Path(), classes=classes)
    return Family(name, title, sweep, surface, keeps_ecn)


def _merged(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a dumbbell: those of the bottleneck's fields that a family gives replace the base's."""
    made = dict(given)
    if "bottleneck" in given:
        own = given["bottleneck"]
        kept = {key: value for key, value in base["bottleneck"].items() if not (key == "rate" and "trace" in own)}
        made["bottleneck"] = {**kept, **own}
    return made


def _chosen(values: Sequence[Any]) -> list[Any]:
    places = _QUICK.get(len(values), (0, len(values) - 1))
    return [values[at] for at in dict.fromkeys(places)]
