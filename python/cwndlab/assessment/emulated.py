"""The emulated part of a dossier: selected cells between real kernels, and the same cells simulated.

``emulated.toml`` selects cells of ``cells.toml``, and shortens them. The algorithm, CUBIC and Reno run in the same
place, each with runs of its own, also where two of them are the same algorithm. A run whose deliveries were late is
repeated with fewer beside it, and left out if it is late alone, too.
"""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from cwndlab import engine
from cwndlab.assessment.controls import positive
from cwndlab.assessment.criteria import BASELINES, MINE, Control, Criterion, Family, Measure, controls, families
from cwndlab.assessment.judgement import Values, compared, judged, raw
from cwndlab.assessment.runs import labelled, simulated, study_of, values_of
from cwndlab.emulation import LATE_S
from cwndlab.errors import ArgumentError, Fault, Parameter, RunError
from cwndlab.files import json_text, parsed
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.study.executor import Executor, Plan, Results, Task, execute, threads
from cwndlab.study.result import Result
from cwndlab.study.spec import Job, Point, Row, Study
from cwndlab.study.store import Store

#: The assessed algorithm among the names of `BASELINES`, one of which it may be.
ASSESSED = "assessed"
#: Runs at a time, for each core: with more, the endpoints get too little of the processor.
_PER_CORE = 2
#: Seeds of the same cells in the simulator, whose runs cost little.
_SIMULATED_SEEDS = 10
_NOT_SELECTED = "no cell of it is among those that are emulated"
#: What the kernel must have is tried with this scenario.
_TRIAL = {
    "schema_version": 1,
    "duration": "50 ms",
    "dumbbell": {"bottleneck": {"rate": "4 Mbps", "delay": "1 ms", "queue": {"capacity": "1 bdp"}}},
}

Progress = Callable[[int, int], Any]


class _LateError(RunError):
    """The deliveries of a run were late."""


@dataclass(frozen=True)
class Selection:
    """The cells of a family that are emulated, or the ``reason`` why none is. ``partly`` says what is left out."""

    cells: Sequence[Sequence[Any]] = ()
    change: Mapping[str, Any] | None = None
    reason: str = ""
    partly: str = ""


@dataclass(frozen=True)
class Part:
    """The emulated part: plain values of the dossier, the entry of each measure, the controls, and the scenarios, JSON,
    by family and number of the cell."""

    content: dict[str, Any]
    entries: Mapping[Measure, dict[str, Any]]
    controls: Sequence[dict[str, Any]] = ()
    scenarios: Mapping[tuple[str, int], str] = field(default_factory=dict)


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("emulated.toml").read_text(encoding="utf-8"))


def runs_per_cell() -> int:
    """The number of runs of each algorithm in each cell."""
    return int(_document()["runs"])


def selection(family: str) -> Selection:
    """What is emulated of a family."""
    one = _document()["family"].get(family, {"reason": _NOT_SELECTED})
    return Selection(**{**one, "change": {**_document()["change"], **one.get("change", {})}})


def missing(algorithm: str) -> str:
    """Why this kernel cannot send with an algorithm; empty if it can.

    Raises
    ------
    ArgumentError
        Nothing can be emulated here: without root, or without ``/dev/net/tun``.
    """
    trouble = _trouble(algorithm)
    if trouble is not None and not trouble.where.startswith("flow["):
        raise ArgumentError(Fault(Parameter("emulate"), f"{trouble.where}: {trouble.what}", trouble.hint))
    return "" if trouble is None else trouble.what


def _trouble(algorithm: str) -> Fault | None:
    document = {**_TRIAL, "flow": [{"name": MINE, "algorithm": algorithm, "rtt": "10 ms"}]}
    try:
        engine.emulate(json_text(document), "json", 1)
    except RunError as error:
        return error.faults[0]
    return None


def emulated(
    rows: Sequence[Criterion],
    name: str,
    *,
    lacking: str,
    out: Path | None,
    workers: int | None,
    progress: Progress | None,
) -> Part:
    """Runs the selected cells of some rows between real kernels, and simulates the same cells.

    Parameters
    ----------
    rows
        The rows of the dossier.
    name
        The algorithm.
    lacking
        Why this kernel cannot send with it (`missing`): then nothing runs, and this is the reason of every measure.
    out
        The folder of the dossier, whose ``runs-emulated`` and ``runs-same-cells`` keep the finished runs.
    workers
        Runs at a time, by default two per core.
    progress
        Called with the number of finished runs and of all.

    Raises
    ------
    RunError
        A run failed.
    """
    measures = [one for row in rows for one in row.measures]
    if lacking:
        return Part({"reason": lacking}, {one: {"reason": lacking} for one in measures})
    asked = {one.family: {ASSESSED: name, **{base: base for base in BASELINES}} for one in measures}
    known = [one for one in controls() if selection(one.measure.family).cells and not any(map(missing, one.algorithms))]
    for control in known:
        asked.setdefault(control.measure.family, {}).update({one: one for one in control.algorithms})
    chosen = {one.name: one for one in families() if one.name in asked and selection(one.name).cells}
    real, same = (
        [point for family in chosen.values() for point in _points(family, asked[family.name], system)]
        for system in (f"Linux {platform.release()}", "")
    )
    study = study_of(real, runs_per_cell(), {})
    result, late = _emulate(study, None if out is None else out / "runs-emulated", workers, progress)
    place = None if out is None else out / "runs-same-cells"
    on_same_cells = simulated(study_of(same, _SIMULATED_SEEDS, {}), place, threads(workers), progress)
    values = values_of(result.runs, real)
    entries = _entries(measures, _common(values), values_of(on_same_cells.runs, same))
    mine = [(family.name, point) for family, point in real if point.labels["algorithm"] == ASSESSED]
    cells = {name: labelled([point for owner, point in mine if owner == name]) for name in dict(mine)}
    content = {"kernel": platform.release(), "runs": runs_per_cell(), "late": late, "families": cells}
    documents = {(family_name, point.number): point.document for family_name, point in mine}
    return Part(content, entries, _controls(known, values), documents)


def _points(family: Family, roles: Mapping[str, str], system: str) -> Iterator[tuple[Family, Point]]:
    """The selected cells with the algorithm of each role, on a ``system``; without one they are simulated.

    A cell has the same number for all roles. The title of a scenario names role and kernel, so that the runs of no
    other one count as its own.
    """
    chosen = selection(family.name)
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
            title = f"{family.title}, {role} on {system}" if system else family.title
            scenario = base.with_({**(chosen.change or {}), **mine, "title": title, "perturb": not system})
            yield family, Point(number, {**point.labels, "algorithm": role}, scenario.hash, scenario.to_json())


def _emulators(workers: int) -> Executor:
    """Runs between real kernels, some at a time."""

    def work(task: Task, cancel: engine.Cancel) -> Row | RunError:
        try:
            handle, timing = engine.emulate(task.document, "json", task.job.seed, cancel, late_ns=round(LATE_S * 1e9))
        except RunError as error:
            return error
        if timing["unreliable"] is not None:
            return _LateError(Fault("emulate", timing["unreliable"]))
        return task.measure(Records(handle))

    def executor(take: Callable[[], Task | None]) -> Results:
        with closing(engine.dispatch(work, take, workers)) as ended:
            for task, row in ended:
                yield task.job, row

    return executor


def _emulate(study: Study, place: Path | None, workers: int | None, progress: Progress | None) -> tuple[Result, int]:
    """The runs of a study between real kernels, and how many were late at each attempt."""
    first = workers or _PER_CORE * engine.available_cores()
    late: list[tuple[Job, RunError]] = []
    with Store(place, write=True) as store:
        for at_a_time in (first, -(-first // 2), 1):
            result = execute(
                Plan(study, store), store, executor=_emulators(at_a_time), progress=progress, tolerant=True
            )
            late = _late(result)
            if not late:
                break
    return result, len(late)


def _late(result: Result) -> list[tuple[Job, RunError]]:
    """The late runs of a result; raises if it was stopped, or if another run failed."""
    assert result.outcome is not None
    if result.outcome.stopped:
        raise KeyboardInterrupt
    for _, error in result.outcome.failed:
        if not isinstance(error, _LateError):
            raise error
    return result.outcome.failed


def _common(of: Callable[[Measure], Values]) -> Callable[[Measure], Values]:
    """Only the cells and seeds that every algorithm has a run of: one that was late is no loss of its algorithm."""

    def common(measure: Measure) -> Values:
        values = of(measure)
        if not values:
            return {}
        cells = set.intersection(*(set(one) for one in values.values()))
        kept = {cell: set.intersection(*(set(one[cell]) for one in values.values())) for cell in sorted(cells)}
        return {
            name: {cell: {seed: one[cell][seed] for seed in sorted(seeds)} for cell, seeds in kept.items() if seeds}
            for name, one in values.items()
        }

    return common


def _entries(
    measures: Sequence[Measure], real: Callable[[Measure], Values], same: Callable[[Measure], Values]
) -> dict[Measure, dict[str, Any]]:
    """What the dossier has of each measure: the findings, and those of the simulator on the same cells."""
    values = {one: got for one in measures if any((got := real(one)).values())}
    found, on_same_cells = (_found(each) for each in (values, {one: same(one) for one in values}))
    made: dict[Measure, dict[str, Any]] = {
        one: {"reason": selection(one.family).reason or "the deliveries of all of its runs were late"}
        for one in measures
    }
    for one, by_name in values.items():
        made[one] = {
            "partly": selection(one.family).partly,
            "raw": {name: raw(one, by_name[name]) for name in (ASSESSED, *BASELINES)},
            "against": {base: found[one, base] for base in BASELINES},
            "same_cells": {base: on_same_cells[one, base] for base in BASELINES},
        }
    return made


def _found(values: Mapping[Measure, Values]) -> dict[tuple[Measure, str], dict[str, Any]]:
    pairs = [(one, base) for one in values for base in BASELINES]
    every = [compared(one, base, values[one][ASSESSED], values[one][base]) for one, base in pairs]
    return dict(zip(pairs, judged(every), strict=True))


def _controls(known: Sequence[Control], of: Callable[[Measure], Values]) -> list[dict[str, Any]]:
    """The outcomes of the controls that this kernel can run."""
    common = _common(of)
    values = {one.measure: common(one.measure) for one in known}
    outcomes = positive([one for one in known if any(values[one.measure].values())], values)
    return [{**one, "what": f"emulated: {one['what']}"} for one in outcomes]
