"""The course of a sweep: what is left is handed out, what comes back is kept, a cell that settles gets no more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cwndlab.engine import engine_version
from cwndlab.errors import AlgorithmError, Error, RunError
from cwndlab.metrics.numbers import metrics_version
from cwndlab.simulate import run_each
from cwndlab.study.sweeps.spec import Cell, Sweep, shown
from cwndlab.study.sweeps.store import Store
from cwndlab.study.sweeps.tasks import Job, Measure, Row, key

if TYPE_CHECKING:
    import polars as pl

Answers: TypeAlias = Generator[tuple[Job, Row | RunError], None, None]
Executor: TypeAlias = Callable[[Callable[[], tuple[Job, str] | None], Measure], Answers]


@dataclass
class Outcome:
    """How a sweep ended."""

    place: str
    cells: int
    total: int
    """Runs that the sweep has; with a stopping rule, those that it came to have."""
    found_before: int
    """Of these, runs that were there already."""
    ran: int = 0
    failed: list[tuple[Job, str]] = field(default_factory=list)
    stopped: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def finished(self) -> int:
        """Runs that are kept."""
        return self.found_before + self.ran


class Plan:
    """Which runs there are, which are done, which come next. Seeds come round by round, so that at any time all cells
    have about as many runs."""

    def __init__(self, question: Sweep, cells: list[Cell], measure: Measure) -> None:
        self.question, self.cells = question, cells
        self._versions = (engine_version(), measure.version)
        self._rule = question.rule
        self._open: dict[int, dict[int, float | None]] = {}
        self._asked: dict[int, int] = {}
        self.total = len(cells) * len(question.seeds)
        self._jobs: Iterator[Job] = (Job(cell.number, seed, cell.hash) for seed in question.seeds for cell in cells)
        self._more: deque[Job] = deque()
        self._done: set[str] = set()
        if self._rule:
            self._open = {cell.number: {} for cell in cells}
            self._asked = {cell.number: len(question.seeds) for cell in cells}

    def key(self, job: Job) -> str:
        """What its row is kept under."""
        return key(job.hash, job.seed, *self._versions)

    def resume(self, kept: pl.DataFrame) -> int:
        """Takes in the runs that are there; returns how many of them this sweep has."""
        self._done = set(kept["key"])
        if self._rule is None:
            hashes: dict[str, int] = {}
            for cell in self.cells:
                hashes[cell.hash] = hashes.get(cell.hash, 0) + 1
            mine = kept.filter(kept["seed"].is_in(list(self.question.seeds)))
            return sum(hashes.get(one, 0) for one in mine["scenario_hash"])
        found = 0
        values = dict(zip(kept["key"], kept[self._rule.metric] if len(kept) else (), strict=True))
        for cell in self.cells:
            # Goes on as long as everything that was asked for is there.
            while cell.number in self._open:
                seeds = self._seeds(cell.number)
                missing = [one for one in seeds if self.key(Job(cell.number, one, cell.hash)) not in self._done]
                for one in set(seeds) - set(missing) - set(self._open[cell.number]):
                    found += 1
                    self._landed(Job(cell.number, one, cell.hash), values[self.key(Job(cell.number, one, cell.hash))])
                if missing:
                    break
        # What a cell got beyond its first seeds and is not there is asked for again.
        for cell in self.cells:
            for one in self._seeds(cell.number)[len(self.question.seeds) :] if cell.number in self._open else ():
                self._more.append(Job(cell.number, one, cell.hash))
        return found

    def _seeds(self, cell: int) -> list[int]:
        """The seeds that a cell was asked for: those of the file, then the numbers after them."""
        first = list(self.question.seeds)
        return first + [max(first) + 1 + n for n in range(self._asked[cell] - len(first))]

    def left(self, cell: Cell) -> int:
        """How many runs of a cell are still to be done, as far as is known."""
        if self._rule is not None:
            return self._asked[cell.number] - len(self._open[cell.number]) if cell.number in self._open else 0
        return sum(self.key(Job(cell.number, seed, cell.hash)) not in self._done for seed in self.question.seeds)

    def take(self) -> Job | None:
        """The next run; nothing where there is none now."""
        while True:
            job = next(self._jobs, None) or (self._more.popleft() if self._more else None)
            if job is None:
                return None
            if self.key(job) not in self._done:
                return job

    def landed(self, job: Job, row: Row | None) -> None:
        """A run has ended."""
        if self._rule is not None:
            self._landed(job, None if row is None else row.get(self._rule.metric), queue=True)

    def _landed(self, job: Job, value: float | None, *, queue: bool = False) -> None:
        assert self._rule is not None
        if job.cell not in self._open:
            return
        values = self._open[job.cell]
        values[job.seed] = value
        asked = self._asked[job.cell]
        if len(values) < asked:
            return
        there = [value for seed in self._seeds(job.cell) if (value := values[seed]) is not None]
        more = self._rule.more(asked, [there])
        if more == 0:
            del self._open[job.cell]
            return
        self._asked[job.cell] += more
        self.total += more
        if queue:
            self._more.extend(Job(job.cell, seed, job.hash) for seed in self._seeds(job.cell)[asked:])


def threads(workers: int | None, question: Sweep) -> Executor:
    """Runs on threads of this process: the engine needs no interpreter."""

    def execute(take: Callable[[], tuple[Job, str] | None], measure: Measure) -> Answers:
        def jobs() -> tuple[Job, str, int] | None:
            taken = take()
            return None if taken is None else (*taken, taken[0].seed)

        classes = question.base.classes or None
        with closing(run_each(jobs, measure, workers=workers, algorithms=classes)) as answers:
            yield from answers

    return execute


def sweep(
    question: Sweep,
    *,
    out: str | Path,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], Any] | None = None,
    say: Callable[[str], Any] | None = None,
) -> Outcome:
    """Runs what of ``question`` is not yet in ``out``, a folder or any URL of fsspec, and keeps each row at once.

    ``workers`` threads, by default one per core; another ``executor`` runs elsewhere (`cwndlab.study.sweeps.cluster`).
    The faults of all cells are raised before anything runs; an ``out`` that another process uses, or that holds
    something else, raises ``RecordsError``. On Ctrl-C the outcome says so; called again it goes on. A failed run is
    noted in the outcome, the others go on.
    """
    cells = question.cells()
    measure = Measure(question.start_s, question.end_s, tuple(sorted(question.metrics)), question.measure)
    plan = Plan(question, cells, measure)
    with Store(out, write=True, version=engine_version(), metrics=measure.version) as store:
        for note in store.notes:
            (say or (lambda _: None))(note)
        before = plan.resume(store.runs())
        outcome = Outcome(str(out), len(cells), plan.total, before, notes=list(store.notes))
        store.describe(_asked(question) | {"total": plan.total, "complete": False}, _table(question, cells))
        if before:
            (say or (lambda _: None))(f"{out}: {before} of {plan.total} runs are there, and are not repeated")

        def take() -> tuple[Job, str] | None:
            job = plan.take()
            return None if job is None else (job, cells[job.cell].document)

        report = progress or (lambda done, total: None)
        report(outcome.finished, plan.total)
        answers = (executor or threads(workers, question))(take, measure)
        try:
            with closing(answers):
                for job, row in answers:
                    if isinstance(row, AlgorithmError):
                        raise row
                    if isinstance(row, RunError):
                        outcome.failed.append((job, str(row)))
                        plan.landed(job, None)
                    else:
                        store.add({"key": plan.key(job), "scenario_hash": job.hash, "seed": job.seed, **row})
                        outcome.ran += 1
                        plan.landed(job, row)
                    outcome.total = plan.total
                    report(outcome.finished + len(outcome.failed), plan.total)
        except KeyboardInterrupt:
            outcome.stopped = True
        except Error:
            # What has finished is kept, in an answer as well.
            store.finish(rows_of(store), total=plan.total, complete=False)
            raise
        complete = not outcome.stopped and not outcome.failed
        store.finish(rows_of(store), total=plan.total, complete=complete)
    return outcome


def left(question: Sweep, out: str | Path) -> tuple[list[Cell], list[int]]:
    """The cells, and how many runs of each are not in ``out`` yet; raises with the faults of all cells."""
    cells = question.cells()
    measure = Measure(question.start_s, question.end_s, tuple(sorted(question.metrics)), question.measure)
    plan = Plan(question, cells, measure)
    plan.resume(Store(out, version=engine_version(), metrics=measure.version).runs())
    return cells, [plan.left(cell) for cell in cells]


def _asked(question: Sweep) -> dict[str, Any]:
    return {
        "title": question.title,
        "columns": list(question.columns),
        "seeds": [int(seed) for seed in question.seeds],
        "until": question.until,
        "at_most": question.at_most,
        "start_s": question.start_s,
        "end_s": question.end_s,
        "engine": engine_version(),
        "metrics": metrics_version(),
    }


def _table(question: Sweep, cells: Iterable[Cell]) -> pl.DataFrame:
    """The cells as a table: numbers stay numbers, all else is text."""
    import polars as pl

    cells = list(cells)
    columns: dict[str, Any] = {"cell": [cell.number for cell in cells]}
    for name in question.columns:
        values = [cell.values[name] for cell in cells]
        plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        columns[name] = [float(value) for value in values] if plain else [shown(value) for value in values]
    columns["scenario_hash"] = [cell.hash for cell in cells]
    columns["scenario"] = [cell.document for cell in cells]
    return pl.DataFrame(columns)


def unfinished(store: Store, rows: int) -> str:
    """What is missing of a sweep of which ``rows`` runs are there; empty where it came to its end."""
    asked = store.manifest.get("request", {})
    if asked.get("complete"):
        return ""
    return f"unfinished: {rows} of {asked['total']} runs are there" if "total" in asked else "unfinished"


def rows_of(store: Store) -> pl.DataFrame:
    """The answer: a row per run of the sweep, its cell's columns first. Two cells that mean the same scenario share
    its runs."""
    cells = store.cells().drop("scenario")
    asked = store.manifest.get("request", {})
    runs = store.runs()
    if asked.get("until") is None:
        runs = runs.filter(runs["seed"].is_in(asked.get("seeds", [])))
    return cells.join(runs, on="scenario_hash", how="inner", maintain_order="left").sort("cell", "seed")
