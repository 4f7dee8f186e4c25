"""Runs a study: starts the runs that its store lacks, keeps each row, adds seeds until a rule is satisfied."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cwndlab import engine
from cwndlab.custom import registered, validate_classes
from cwndlab.errors import AlgorithmError, Error, RunError
from cwndlab.records import Records
from cwndlab.study.result import Result
from cwndlab.study.spec import Job, Measure, Outcome, Point, Progress, Row, Study
from cwndlab.study.store import Store

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Executor", "Plan", "Results", "Task", "execute", "measured", "results", "run", "threads"]


class Task(NamedTuple):
    """A pending run: the scenario as JSON, and its measure."""

    job: Job
    document: str
    measure: Measure


Results: TypeAlias = Generator[tuple[Job, "Row | RunError"], None, None]
#: Runs the tasks that a function returns until it returns ``None`` while nothing runs.
Executor: TypeAlias = Callable[[Callable[[], "Task | None"]], Results]


def threads(workers: int | None = None, classes: Mapping[str, type] | None = None) -> Executor:
    """Runs on threads of this process, by default one per core: the engine needs no interpreter.

    Parameters
    ----------
    workers
        The number of threads.
    classes
        Custom algorithms by the names that the scenarios use.
    """
    available = {**registered(), **validate_classes(classes)}
    constructors = {name: algorithm.make for name, algorithm in available.items()} or None

    def simulate(task: Task, cancel: engine.Cancel) -> Row | RunError:
        try:
            handle = engine.run(task.document, "json", task.job.seed, cancel, constructors=constructors)
            return measured(task, Records(handle))
        except RunError as error:
            return error

    def execute(take: Callable[[], Task | None]) -> Results:
        with closing(engine.dispatch(simulate, take, workers)) as ended:
            for task, row in ended:
                yield task.job, row

    return execute


def measured(task: Task, records: Records) -> Row:
    """The row of a task; if the user's own measure fails, its error names cell and seed."""
    try:
        return task.measure(records)
    except AlgorithmError as error:
        where = f"cell {task.job.point}, seed {task.job.seed}"
        faults = (fault._replace(where=f"{where}: {fault.where}") for fault in error.faults)
        raise AlgorithmError(*faults) from error.__cause__


@dataclass
class _Group:
    """Points that get the same seeds, and the values of the rule's metric by point and seed."""

    count: int
    values: dict[int, dict[int, float | None]]

    def is_complete(self) -> bool:
        return all(len(values) >= self.count for values in self.values.values())


class Plan:
    """The runs of a study: those in the store, and those that come next.

    Seeds come round by round, so that at any time all points have about as many runs. Points with the same scenario
    share a run.
    """

    def __init__(self, study: Study, store: Store) -> None:
        assert study.rule is None or not any(point.shift for point in study.points), "a rule adds unshifted seeds"
        self.study = study
        self.points = {point.number: point for point in study.points}
        self.total = len(study.points) * len(study.seeds)
        self._first = list(study.seeds)
        self._seeds, self._last = frozenset(self._first), max(self._first, default=-1)
        self._jobs: Iterator[Job] = (study.job(point, seed) for seed in study.seeds for point in study.points)
        self._more: deque[Job] = deque()
        self._running: set[str] = set()
        self._groups = self._grouped()
        self._by_hash: dict[str, list[Point]] = {}
        for point in study.points:
            self._by_hash.setdefault(point.hash, []).append(point)
        kept = store.keys()
        self._done: set[str] = set(kept["key"])
        self._kept: dict[str, float | None] = {}
        self.resumed = self._counted(kept) if study.rule is None else self._resume(store)

    def _grouped(self) -> dict[int, _Group]:
        if self.study.rule is None:
            return {}
        count = len(self._first)
        if not self.study.together:
            return {number: _Group(count, {number: {}}) for number in self.points}
        group = _Group(count, {number: {} for number in self.points})
        return dict.fromkeys(self.points, group)

    def _counted(self, kept: pl.DataFrame) -> int:
        """The number of runs of the study that the store has."""
        return sum(
            self.study.job(point, seed).key == row["key"]
            for row in kept.select("key", "scenario_hash", "seed").iter_rows(named=True)
            for point in self._by_hash.get(row["scenario_hash"], ())
            if (seed := row["seed"] - point.shift) in self._seeds
        )

    def _resume(self, store: Store) -> int:
        """Evaluates the rule on the kept rows; returns the number of rows that the study uses."""
        rule, count = self.study.rule, 0
        assert rule is not None
        rows = store.runs(engine.engine_version(), self.study.measure_of(self.study.points[0], 0).digest)
        self._kept = dict(zip(rows["key"], rows[rule.metric] if len(rows) else (), strict=True))
        seen = dict.fromkeys(self.points, 0)
        # A group with all of its seeds gets more of them, which the store may have, too.
        while any(seen[number] < len(self.seeds_of(number)) for number in self.points):
            for number, point in self.points.items():
                for seed in self.seeds_of(number)[seen[number] :]:
                    seen[number] += 1
                    job = self.study.job(point, seed)
                    if job.key in self._kept:
                        count += 1
                        self._land(job, self._kept[job.key])
        for number, point in self.points.items():
            for seed in self.seeds_of(number)[len(self._first) :]:
                self._more.append(self.study.job(point, seed))
        return count

    def seeds_of(self, number: int) -> list[int]:
        """The seeds of a point so far: those of the study, then the numbers after them."""
        if number not in self._groups:
            return self._first
        return self._first + [self._last + 1 + n for n in range(self._groups[number].count - len(self._first))]

    def _has(self, number: int, seed: int) -> bool:
        """Whether a point has this seed so far."""
        more = len(self.seeds_of(number)) - len(self._first)
        return seed in self._seeds or self._last < seed <= self._last + more

    def added(self) -> dict[str, int] | None:
        """The numbers of seeds that the rule added to points so far, where it added any; None without a rule."""
        if self.study.rule is None:
            return None
        more = {str(number): group.count - len(self._first) for number, group in self._groups.items()}
        return {number: count for number, count in more.items() if count}

    def left(self, point: Point) -> int:
        """The number of remaining runs of a point, as far as known."""
        seeds = self.seeds_of(point.number)
        if not self._done:
            return len(seeds)  # without the keys of millions of runs
        return sum(self.study.job(point, seed).key not in self._done for seed in seeds)

    def take(self) -> Task | None:
        """The next run; ``None`` if there is none now."""
        while (job := next(self._jobs, None) or (self._more.popleft() if self._more else None)) is not None:
            if job.key in self._done:
                self._reuse(job)
                continue
            if job.key in self._running:
                continue
            self._running.add(job.key)
            point = self.points[job.point]
            return Task(job, point.document, self.study.measure_of(point, job.seed))
        return None

    def _reuse(self, job: Job) -> None:
        """Notes a run that the rule asks for now and that the store had from the beginning."""
        if job.key in self._kept and job.seed not in self._groups[job.point].values[job.point]:
            self.resumed += 1
            self._land(job, self._kept[job.key], extend=True)

    def landed(self, job: Job, row: Row | None) -> list[Job]:
        """Notes the end of a run; returns the runs of the study that share it."""
        self._running.discard(job.key)
        self._done.add(job.key)
        jobs = self._sharing(job)
        if self.study.rule is not None:
            for one in jobs:
                self._land(one, None if row is None else row.get(self.study.rule.metric), extend=True)
        return jobs

    def _sharing(self, job: Job) -> list[Job]:
        """The runs of the study that are this one: of points with the same scenario, the job's own point first."""
        points = self._by_hash[job.hash]
        if len(points) == 1:
            return [job]
        points = sorted(points, key=lambda point: point.number != job.point)
        found = [
            self.study.job(point, seed) for point in points if self._has(point.number, seed := job.seed - point.shift)
        ]
        return [one for one in found if one.key == job.key]

    def _land(self, job: Job, value: float | None, *, extend: bool = False) -> None:
        """Notes a value, and evaluates the rule once every point of the group has all its seeds."""
        assert self.study.rule is not None
        group = self._groups[job.point]
        group.values[job.point][job.seed] = value
        if not group.is_complete():
            return
        seeds = self.seeds_of(job.point)
        series = [[one for seed in seeds if (one := values[seed]) is not None] for values in group.values.values()]
        more = self.study.rule.more(group.count, series)
        group.count += more
        self.total += more * len(group.values)
        if extend and more:
            new = self.seeds_of(job.point)[-more:]
            self._more.extend(self.study.job(self.points[number], seed) for seed in new for number in group.values)


def results(plan: Plan, store: Store, executor: Executor) -> Results:
    """Runs the rest of a plan: yields each run with its row, which the store then has, or its error."""
    with closing(executor(plan.take)) as ended:
        for job, row in ended:
            if not isinstance(row, RunError):
                measure = plan.study.measure_of(plan.points[job.point], job.seed).digest
                kept = {"key": job.key, "scenario_hash": job.hash, "seed": job.seed}
                row = kept | {"engine": engine.engine_version(), "measure": measure} | row
                store.add(row)
            for one in plan.landed(job, None if isinstance(row, RunError) else row):
                yield one, row


def run(
    plan: Plan,
    store: Store,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    tolerant: bool = False,
) -> Outcome:
    """Runs the rest of a plan. On Ctrl-C the outcome is ``stopped``.

    Parameters
    ----------
    plan
        The plan of a study.
    store
        The store of its rows.
    executor
        Runs the tasks, by default on threads.
    progress
        Called with the number of finished runs and of all.
    tolerant
        Notes failed runs in the outcome; otherwise the first one raises its error, as that of a class of the user
        always does: it is likely to fail in each of its runs.

    Raises
    ------
    RunError
        A run failed, or the executor did. Runs that have finished are kept.
    """
    outcome = Outcome(plan.total, plan.resumed)
    told: list[tuple[int, int]] = []

    def note() -> None:
        outcome.total, outcome.resumed = plan.total, plan.resumed
        now = outcome.finished + len(outcome.failed), plan.total
        if progress is not None and told != [now]:
            told[:] = [now]
            progress(*now)

    try:
        note()
        with closing(results(plan, store, executor or threads(classes=plan.study.classes))) as ended:
            for job, row in ended:
                if not isinstance(row, RunError):
                    outcome.ran += 1
                elif tolerant and not isinstance(row, AlgorithmError):
                    outcome.failed.append((job, row))
                else:
                    raise row
                note()
        # The rule may ask for runs that the store has once the last one has ended.
        note()
    except KeyboardInterrupt:
        outcome.stopped = True
    return outcome


def execute(
    plan: Plan,
    store: Store,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    tolerant: bool = False,
) -> Result:
    """Runs the rest of a plan whose rows have one measure, and returns the result of its study.

    Parameters
    ----------
    plan
        The plan.
    store
        Its open store, which keeps the header of the study and its rows.
    executor, progress, tolerant
        As in `run`.

    Raises
    ------
    RunError
        As in `run`. The store has the rows of the finished runs.
    """
    study = plan.study
    measure = study.measure_of(study.points[0], 0).digest
    header = replace(study.header, engine=engine.engine_version(), measure=measure, total=plan.total, complete=False)
    store.describe(header.as_dict(), study.table())
    try:
        outcome = run(plan, store, executor=executor, progress=progress, tolerant=tolerant)
    except Error:
        store.amend(added=plan.added())
        store.finish(Result.of(store).runs, total=plan.total)
        raise
    is_complete = not outcome.stopped and not outcome.failed
    store.amend(added=plan.added())
    result = Result.of(store)
    result.outcome = outcome
    result.header = replace(result.header, total=plan.total, complete=is_complete)
    store.finish(result.runs, total=plan.total, complete=is_complete)
    return result
