"""Selected cells of a dossier in another environment than the simulator's own senders, and the same cells simulated.

A file such as ``emulated.toml`` selects cells of ``cells.toml``, and may shorten them. The algorithm, CUBIC and Reno
run in the same place, each with runs of its own, also where two of them are the same algorithm.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cwndlab.assessment.controls import positive
from cwndlab.assessment.criteria import BASELINES, MINE, Control, Family, Measure, controls, families
from cwndlab.assessment.judgement import Values, compared, judged, raw
from cwndlab.assessment.runs import labelled, named_seeds, simulated, study_of, values_of
from cwndlab.files import parsed
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.like import scenario_of
from cwndlab.study.executor import threads
from cwndlab.study.spec import Point

#: The assessed algorithm among the names of `BASELINES`, one of which it may be.
ASSESSED = "assessed"
#: Seeds of the same cells in the simulator, whose runs cost little.
SIMULATED_SEEDS = 10
_NOT_SELECTED = "no cell of it is among those selected"

Progress = Callable[[int, int], Any]
#: Changes the flows of a cell (a scenario as plain values, and the name of the algorithm) for an environment.
Placed = Callable[[Mapping[str, Any], str], Mapping[str, Any]]


@dataclass(frozen=True)
class Selection:
    """The cells of a family that are selected, or the ``reason`` why none is. ``partly`` says what is left out."""

    cells: Sequence[Sequence[Any]] = ()
    change: Mapping[str, Any] | None = None
    reason: str = ""
    partly: str = ""


@dataclass(frozen=True)
class Part:
    """The part of a dossier that another environment gives: plain values, the entry of each measure, the controls, and
    the scenarios, JSON, by family and number of the cell."""

    content: dict[str, Any]
    entries: Mapping[Measure, dict[str, Any]]
    controls: Sequence[dict[str, Any]] = ()
    scenarios: Mapping[tuple[str, int], str] = field(default_factory=dict)

    @classmethod
    def absent(cls, measures: Sequence[Measure], reason: str) -> Part:
        """Nothing runs, and this is the reason of every measure."""
        return cls({"reason": reason}, {one: {"reason": reason} for one in measures})


@cache
def document(file: str) -> dict[str, Any]:
    """The contents of a file with a selection."""
    return tomllib.loads(files(__package__).joinpath(file).read_text(encoding="utf-8"))


def selection(selected: Mapping[str, Any], family: str) -> Selection:
    """What a selection has of a family."""
    one = selected["family"].get(family, {"reason": _NOT_SELECTED})
    return Selection(**{**one, "change": {**selected.get("change", {}), **one.get("change", {})}})


@dataclass(frozen=True)
class Cells:
    """What runs: the families with selected cells, the algorithms of each by their roles, and the known controls."""

    selected: Mapping[str, Any]
    measures: Sequence[Measure]
    families: Mapping[str, Family]
    asked: Mapping[str, Mapping[str, str]]
    controls: Sequence[Control]

    @classmethod
    def of(
        cls, selected: Mapping[str, Any], measures: Sequence[Measure], name: str, can_run: Callable[[str], bool]
    ) -> Cells:
        """The cells of measures, and those of the controls all of whose algorithms can run."""
        asked = {one.family: {ASSESSED: name, **{base: base for base in BASELINES}} for one in measures}
        known = [
            one
            for one in controls()
            if selection(selected, one.measure.family).cells and all(map(can_run, one.algorithms))
        ]
        for control in known:
            asked.setdefault(control.measure.family, {}).update({one: one for one in control.algorithms})
        chosen = {one.name: one for one in families() if one.name in asked and selection(selected, one.name).cells}
        return cls(selected, measures, chosen, asked, known)

    def points(self, system: str, placed: Placed | None = None) -> list[tuple[Family, Point]]:
        """The cells with the algorithm of each role, on a ``system``, whose name keeps apart runs of different ones;
        without one they are simulated."""
        return [
            point
            for family in self.families.values()
            for point in points(self.selected, family, self.asked[family.name], system, placed)
        ]

    def part(
        self,
        real: Sequence[tuple[Family, Point]],
        values: Callable[[Measure], Values],
        same: Callable[[Measure], Values],
        content: Mapping[str, Any],
        *,
        environment: str,
        without: str,
        real_time: bool = False,
    ) -> Part:
        """The part that the values of an environment give, beside those of the simulator on the same cells.
        ``without``: why a measure has no value. ``real_time``: runs of equal seeds have nothing in common."""
        mine = [(family.name, point) for family, point in real if point.labels["algorithm"] == ASSESSED]
        cells = {name: labelled([point for owner, point in mine if owner == name]) for name in dict(mine)}
        found = entries(self.selected, self.measures, common(values), same, without, real_time=real_time)
        for kind in ("against", "same_cells"):
            named_seeds({(one, base): each for one in found for base, each in found[one].get(kind, {}).items()}, real)
        return Part(
            {**content, "runs": self.selected["runs"], "families": cells},
            found,
            control_outcomes(self.controls, values, environment, real_time=real_time),
            {(name, point.number): point.document for name, point in mine},
        )

    def simulated(
        self, place: Path | None, workers: int | None, progress: Progress | None
    ) -> Callable[[Measure], Values]:
        """The values of the simulator on the same cells; a folder keeps the runs."""
        same = self.points("")
        return values_of(simulated(study_of(same, SIMULATED_SEEDS, {}), place, threads(workers), progress).runs, same)


def points(
    selected: Mapping[str, Any],
    family: Family,
    roles: Mapping[str, str],
    system: str,
    placed: Placed | None = None,
) -> Iterator[tuple[Family, Point]]:
    """The selected cells of a family with the algorithm of each role.

    A cell has the same number for all roles. The title of a scenario names role and system, so that the runs of no
    other one count as its own.
    """
    chosen = selection(selected, family.name)
    by_values = {tuple(list(point.labels.values())[1:]): point for point in family.points(["cubic"])}
    for role, algorithm in roles.items():
        for number, values in enumerate(chosen.cells):
            point = by_values[tuple(values)]
            base = Scenario.from_json(point.document)
            mine = {
                f"flow[{at}].algorithm": algorithm
                for at, flow in enumerate(parsed(point.document.encode())["flow"])
                if flow["name"].startswith(MINE)
            }
            # Real hosts have variations of their own.
            perturb = not system or placed is not None
            title = f"{family.title}, {role} on {system}" if system else family.title
            scenario = base.with_({**(chosen.change or {}), **mine, "title": title, "perturb": perturb})
            if placed is not None:
                scenario = scenario_of(placed(scenario.document, algorithm))
            yield family, Point(number, {**point.labels, "algorithm": role}, scenario.hash, scenario.to_json())


def common(of: Callable[[Measure], Values]) -> Callable[[Measure], Values]:
    """Only the cells and seeds that every algorithm has a run of: one that was late is no loss of its algorithm."""

    def shared(measure: Measure) -> Values:
        values = of(measure)
        if not values:
            return {}
        cells = set.intersection(*(set(one) for one in values.values()))
        kept = {cell: set.intersection(*(set(one[cell]) for one in values.values())) for cell in sorted(cells)}
        return {
            name: {cell: {seed: one[cell][seed] for seed in sorted(seeds)} for cell, seeds in kept.items() if seeds}
            for name, one in values.items()
        }

    return shared


def entries(
    selected: Mapping[str, Any],
    measures: Sequence[Measure],
    real: Callable[[Measure], Values],
    same: Callable[[Measure], Values],
    without: str,
    *,
    real_time: bool,
) -> dict[Measure, dict[str, Any]]:
    """What the dossier has of each measure: the findings, and those of the simulator on the same cells. ``without`` is
    the reason of a measure that no run has a value of."""
    values = {one: got for one in measures if any((got := real(one)).values())}
    found = _found(values, real_time=real_time)
    on_same_cells = _found({one: same(one) for one in values}, real_time=False)
    made: dict[Measure, dict[str, Any]] = {
        one: {"reason": selection(selected, one.family).reason or without} for one in measures
    }
    for one, by_name in values.items():
        made[one] = {
            "partly": selection(selected, one.family).partly,
            "raw": {name: raw(one, by_name[name]) for name in (ASSESSED, *BASELINES)},
            "against": {base: found[one, base] for base in BASELINES},
            "same_cells": {base: on_same_cells[one, base] for base in BASELINES},
        }
    return made


def _found(values: Mapping[Measure, Values], *, real_time: bool) -> dict[tuple[Measure, str], dict[str, Any]]:
    pairs = [(one, base) for one in values for base in BASELINES]
    every = [compared(one, base, values[one][ASSESSED], values[one][base], real_time=real_time) for one, base in pairs]
    return dict(zip(pairs, judged(every), strict=True))


def control_outcomes(
    known: Sequence[Control], of: Callable[[Measure], Values], environment: str, *, real_time: bool = False
) -> list[dict[str, Any]]:
    """The outcomes of the controls that an environment can run."""
    shared = common(of)
    values = {one.measure: shared(one.measure) for one in known}
    outcomes = positive([one for one in known if any(values[one.measure].values())], values, real_time=real_time)
    return [{**one, "what": f"{environment}: {one['what']}"} for one in outcomes]
