"""Runs the universes of a space and judges its claims in each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cwndlab.engine import engine_version
from cwndlab.errors import RunError
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.measured import Measured, Row
from cwndlab.reproduction.multiverse.kept import save, valid
from cwndlab.reproduction.multiverse.robustness import Cell, Multiverse, robustness
from cwndlab.reproduction.multiverse.space import Space, spaces
from cwndlab.reproduction.payload import payload
from cwndlab.reproduction.verdicts import judge
from cwndlab.scenario.reader import check
from cwndlab.study.executor import Plan, threads
from cwndlab.study.executor import results as results_of
from cwndlab.study.spec import Measure, Point, Progress, Study
from cwndlab.study.store import Store


def multiverse(
    target: str = "",
    *,
    quick: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    out: Path | str | None = None,
    results: Path | str | None = None,
) -> Iterator[Multiverse]:
    """Evaluates the claims of papers over combinations of what the papers leave open.

    Parameters
    ----------
    target
        A paper; an empty text is all of them.
    quick
        Fewer universes: the first ones of the same sample. Durations and repetitions are the same.
    seed
        The seed of the first repetition.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all that are not in ``out``.
    out
        A folder that keeps finished runs; they are not run again.
    results
        A folder that keeps the outcomes of finished spaces (`cwndlab.reproduction.multiverse.kept`); a space whose
        dimensions, claims and behaviour are unchanged is not run again.

    Yields
    ------
    Multiverse
        The spaces as they finish.

    Raises
    ------
    ScenarioError
        There is no such paper.
    RecordsError
        ``out`` is in use by another process, or holds something else.
    """
    folder = None if results is None else Path(results)
    kept = [None if folder is None else valid(folder, space, quick=quick, seed=seed) for space in spaces(target)]
    with Store(out, write=True) as store:
        plans = [
            _Plan(space, quick, seed) if one is None else one for space, one in zip(spaces(target), kept, strict=True)
        ]
        left = {key for plan in plans if isinstance(plan, _Plan) for key in plan.keys_of_runs()}
        left -= set(store.keys()["key"])
        total = len(left)
        if progress is not None:
            progress(0, total)
        for plan in plans:
            if isinstance(plan, Multiverse):
                yield plan
                continue
            for job, row in results_of(Plan(plan.study, store), store, threads(workers)):
                if isinstance(row, RunError):
                    raise row
                left.discard(job.key)
                if progress is not None:
                    progress(total - len(left), total)
            result = plan.result(store)
            if folder is not None:
                save(result, folder)
            yield result


class _Plan:
    """The runs of a space: a point for each different scenario and measure."""

    def __init__(self, space: Space, quick: bool, seed: int) -> None:
        self._space, self._quick, self._seed = space, quick, seed
        self._universes = space.sample(quick=quick)
        self._cases: list[list[tuple[int, Case]]] = []
        numbers: dict[tuple[str, str], int] = {}
        points: list[Point] = []
        measures: list[Measure] = []
        for universe in self._universes:
            mine = []
            for case in space.cases(universe):
                checked = check(json.dumps(case.scenario), "json")
                measure = Measure(None, payload=partial(payload, case.measure))
                key = (checked.hash, measure.digest)
                if key not in numbers:
                    numbers[key] = len(points)
                    points.append(Point(len(points), dict(case.labels), checked.hash, checked.document))
                    measures.append(measure)
                mine.append((numbers[key], case))
            self._cases.append(mine)
        self._measures = measures
        self.study = Study(
            points=points,
            seeds=range(seed, seed + space.repetitions),
            measure=lambda point, of_seed: measures[point.number],
        )

    def keys_of_runs(self) -> set[str]:
        """The keys of all runs."""
        return {self.study.job(point, seed).key for point in self.study.points for seed in self.study.seeds}

    def result(self, store: Store) -> Multiverse:
        """Judges every claim in every universe."""
        jobs = {
            (point.number, repetition): self.study.job(point, seed).key
            for point in self.study.points
            for repetition, seed in enumerate(self.study.seeds)
        }
        kept = store.payloads(set(jobs.values()), engine_version(), {one.digest for one in self._measures})
        size = Size(0.0, self._space.repetitions)
        cells: list[list[Cell]] = []
        base = list(self._space.claims(self._space.base))
        for universe, cases in zip(self._universes, self._cases, strict=True):
            rows = [
                Row(case.labels, repetition, kept[jobs[number, repetition]]["values"])
                for number, case in cases
                for repetition in range(self._space.repetitions)
            ]
            measured = Measured(size, rows)
            claims = self._space.claims(universe)
            cells.append([Cell(universe, judge(self._space.id, claim, measured)) for claim in claims])
        by_claim = [list(column) for column in zip(*cells, strict=True)]
        found = robustness(self._space, base, by_claim)
        return Multiverse(self._space, self._quick, self._seed, self._universes, found, len(jobs))
