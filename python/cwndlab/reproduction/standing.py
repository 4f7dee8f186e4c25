"""How far each experiment has come in a folder of kept results, and its outcomes from there. Nothing is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.files import parsed
from cwndlab.reproduction.cases import Case, measure_name
from cwndlab.reproduction.catalogue import find
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.kept import KeptResults, SizeName, scenario_key
from cwndlab.reproduction.result import Reproduction, Reproductions
from cwndlab.reproduction.work import MOST_REPETITIONS, Payloads, Work
from cwndlab.study.spec import Row as StoredRow

#: The plan that `cwndlab reproduce --all --dry-run --format json` printed, for experiments that have not begun.
PLAN = "plan.json"
# Repetitions without which there is no interval.
_LEAST_REPETITIONS = 2
# A mean over fewer runs says little: cheap and dear cases alternate.
_ENOUGH_RUNS = 0.2


@dataclass(frozen=True)
class Standing:
    """What a folder has of an experiment."""

    experiment: Experiment
    size: SizeName | None
    """The size that can be evaluated; full where that has two repetitions of each case or all that it needs."""
    repetitions: int
    """Repetitions of every case of that size that are there."""
    runs: int
    """Full-size runs that are there."""
    of: int
    """Full-size runs that the experiment needs."""
    cpu_s: float
    """CPU time of the full-size runs that were made for this folder."""
    hours_left: float | None
    """CPU hours of the full-size runs that are missing; none where nothing is known."""
    reproduction: Reproduction | None
    """Measurements and findings of that size."""

    @property
    def is_complete(self) -> bool:
        """Whether all full-size runs are there."""
        return self.runs == self.of

    @property
    def words(self) -> str:
        """What its outcomes are of, in words."""
        if self.size == "full" and self.repetitions < self.experiment.full.repetitions:
            return f"full size, {self.repetitions} of {self.experiment.full.repetitions} repetitions"
        return f"{self.size} size"

    @property
    def missing(self) -> float:
        """The share of full-size runs that are missing."""
        return 1 - self.runs / self.of

    def __repr__(self) -> str:
        return f"<Standing of {self.experiment.id}: {self.size}, {self.runs} of {self.of} full-size runs>"


def standings(folder: Path | str, target: str = "", *, seed: int = 1, size: SizeName | None = None) -> list[Standing]:
    """What a folder of kept results has of each experiment.

    Probes are not run: the rows are taken as they are. `cwndlab reproduce --all --results DIR --dry-run` compares them
    with the present behaviour.

    Parameters
    ----------
    folder
        A folder that `cwndlab reproduce --results` wrote.
    target
        ``PAPER`` or ``PAPER/FIGURE``; an empty text is all of them.
    seed
        The seed of the first repetition.
    size
        The size to evaluate; by default full size where it can be evaluated, else quick size.

    Raises
    ------
    RecordsError
        A file cannot be read, or is of another version.
    ScenarioError
        There is no such experiment.
    """
    kept = KeptResults(folder)
    plan = _plan(Path(folder) / PLAN)
    wanted: Sequence[SizeName] = ("full", "quick") if size is None else (size,)
    chosen = find(target)
    if kept.perturbed(None):
        chosen = tuple(one.perturbed() for one in chosen)
    return [_standing(kept, one, seed, plan.get(one.id, {}), wanted) for one in chosen]


def read(folder: Path | str, target: str = "", *, seed: int = 1) -> Reproductions:
    """The experiments that a folder of kept results has, evaluated; arguments as in `standings`."""
    known = standings(folder, target, seed=seed)
    there = tuple(one.reproduction for one in known if one.reproduction is not None)
    return Reproductions(there, unfinished=unfinished(known))


def unfinished(known: Sequence[Standing]) -> dict[str, str]:
    """What is missing at full size, in words, by id of the experiment."""
    found = {}
    for one in known:
        if not one.is_complete:
            left = "" if one.hours_left is None else f", {one.hours_left:.2f} CPU hours left"
            found[one.experiment.id] = f"{one.runs:,} of {one.of:,} full-size runs{left}"
    return found


def _plan(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        return {one["id"]: one for one in parsed(path.read_bytes())}
    except (OSError, ValueError, KeyError, TypeError):
        hint = "write it by `cwndlab reproduce --all --dry-run --format json`"
        raise RecordsError(Fault(str(path), "is not a plan of a reproduction", hint)) from None


def _standing(
    kept: KeptResults, one: Experiment, seed: int, planned: dict[str, Any], wanted: Sequence[SizeName]
) -> Standing:
    """The first of the wanted sizes that can be evaluated."""
    full = Work(one, one.full, seed, more=True)
    needs = full.first
    there = _rows(kept, full)
    runs = sum(repetition < needs[number] for number, repetition in there)
    of = sum(needs.values())
    facts = kept.facts(one, "full")
    size: SizeName | None = None
    repetitions = 0
    reproduction = None
    for name in wanted:
        work = full if name == "full" else Work(one, one.quick, seed, more=False)
        rows = there if name == "full" else _rows(kept, work)
        repetitions = _complete(rows, work)
        if repetitions >= min(_LEAST_REPETITIONS, work.size.repetitions):
            size = name
            if repetitions < work.size.repetitions:
                work = Work(one, replace(work.size, repetitions=repetitions), seed, more=False)
            cpu_s = kept.facts(one, name).get("cpu_s", 0.0)
            reproduction = _reproduction(work, name == "quick", rows, cpu_s)
            break
    hours = _hours_left(facts, planned, runs, of)
    return Standing(one, size, repetitions, runs, of, facts.get("cpu_s", 0.0), hours, reproduction)


def _rows(kept: KeptResults, work: Work) -> dict[tuple[int, int], Mapping[str, Any]]:
    """What is kept of the runs of an experiment, by case and repetition: those of the first look, and more."""
    found = {}
    for number, case in enumerate(work.cases):
        scenario = scenario_key(case.scenario)
        for repetition in range(max(work.size.repetitions, MOST_REPETITIONS)):
            rows = kept.rows(scenario, work.seed + repetition)
            if repetition == 0 and case.trace is not None:
                rows = [row for row in rows if kept.has_curves(row)]
            if row := _of_measure(rows, case):
                found[number, repetition] = parsed(row["payload"])
    return found


def _of_measure(rows: Sequence[StoredRow], case: Case) -> StoredRow | None:
    """The row of a case's measure; where a measure has another name now, the only row."""
    named = [row for row in rows if row["measure"] == measure_name(case.measure)]
    if named or len(rows) == 1:
        return (named or list(rows))[-1]
    return None


def _complete(rows: Payloads, work: Work) -> int:
    """How many repetitions all cases have."""
    cases = range(len(work.base))
    repetitions = 0
    while repetitions < work.size.repetitions and all((case, repetitions) in rows for case in cases):
        repetitions += 1
    return repetitions


def _reproduction(work: Work, quick: bool, rows: Payloads, cpu_s: float) -> Reproduction:
    findings, _ = work.settled(rows)
    return Reproduction(work.experiment, quick, work.seed, work.base, work.measured(rows), findings, cpu_s)


def _hours_left(facts: dict[str, Any], planned: dict[str, Any], runs: int, of: int) -> float | None:
    """From the runs that were made, else from the plan. Runs that are shared count for the first experiment only."""
    if runs == of:
        return 0.0
    new = planned["runs"] - planned["shared"] if planned else of
    if new == 0:
        return 0.0
    made = facts.get("runs_made", 0)
    if made >= _ENOUGH_RUNS * new:
        each_s = float(facts["cpu_s"]) / made
    elif planned:
        each_s = float(planned["all_cpu_s"]) / new
    else:
        return None
    return float(each_s * (of - runs) * new / of / 3600)
