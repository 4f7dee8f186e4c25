"""Runs experiments: what is kept is not run again, what is common is run once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.reproduction.cases import Case, Size, Table
from cwndlab.reproduction.catalogue import find
from cwndlab.reproduction.claims import Finding
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Line, Measured, Row
from cwndlab.reproduction.store import Store, key
from cwndlab.reproduction.verdicts import judge
from cwndlab.scenario.reader import check
from cwndlab.simulate import run_jobs

if TYPE_CHECKING:
    from cwndlab.plot.charts import Chart

Progress = Callable[[int, int], Any]
#: Points of a line that is kept, at most.
MOST_POINTS = 1500


@dataclass(frozen=True, repr=False)
class Reproduction:
    """An experiment that was run."""

    experiment: Experiment
    quick: bool
    seed: int
    cases: Sequence[Case]
    measured: Measured
    findings: Sequence[Finding]
    cpu_s: float
    """CPU time of its runs that were not kept, of all threads; 0 where all were."""

    def __repr__(self) -> str:
        size = "quick" if self.quick else "full"
        return f"<Reproduction of {self.experiment.id}: {size}, seed {self.seed}, {len(self.findings)} findings>"

    @property
    def size(self) -> Size:
        """The size it was run in."""
        return self.measured.size

    @property
    def charts(self) -> Sequence[Chart]:
        """The published figure, redrawn."""
        return self.experiment.charts(self.measured)

    @property
    def tables(self) -> Sequence[Table]:
        """What stands beside."""
        return self.experiment.tables(self.measured)

    @property
    def why(self) -> Sequence[str]:
        """What tells why a claim does not hold."""
        return self.experiment.why(self.measured)


@dataclass(frozen=True)
class _Job:
    case: Case
    repetition: int
    key: str
    document: str


def reproduce(
    target: str = "",
    *,
    quick: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    runs: Path | None = None,
) -> Iterator[Reproduction]:
    """The experiments that ``PAPER``, ``PAPER/FIGURE`` or, for all, an empty text names, as they finish: in the size of
    the paper or, ``quick``, in minutes.

    Both sizes use the same code; durations, repetitions and grid points differ. Finished runs are kept in the folder
    ``runs``, and what it holds is not run again; ``progress(done, total)`` counts those that are left. Raises
    ``ScenarioError`` where nothing is called so.
    """
    chosen = find(target)
    store = Store(runs)
    planned = [_jobs(one, one.size(quick=quick), seed) for one in chosen]
    missing = {job.key for jobs in planned for job in jobs if store.get(job.key) is None}
    done, total = 0, len(missing)
    if progress is not None:
        progress(0, total)
    for experiment, jobs in zip(chosen, planned, strict=True):
        begin = time.process_time()
        left = list({job.key: job for job in jobs if store.get(job.key) is None}.values())
        questions = [(json.loads(job.document), seed + job.repetition) for job in left]
        for index, records in run_jobs(questions, workers=workers):
            store.put(left[index].key, _reduced(left[index], records))
            done += 1
            if progress is not None:
                progress(done, total)
        measured = _gathered(experiment.size(quick=quick), jobs, store)
        findings = [judge(experiment.id, claim, measured) for claim in experiment.claims(measured.size)]
        cases = [job.case for job in jobs if job.repetition == 0]
        cpu_s = time.process_time() - begin if left else 0.0
        yield Reproduction(experiment, quick, seed, cases, measured, findings, cpu_s)


def _jobs(experiment: Experiment, size: Size, seed: int) -> list[_Job]:
    jobs: list[_Job] = []
    for case in experiment.cases(size):
        checked = check(json.dumps(case.scenario), "json")
        for repetition in range(size.repetitions):
            trace = case.trace if repetition == 0 else None
            name = key(checked.hash, seed + repetition, case.measure, trace)
            jobs.append(_Job(case, repetition, name, checked.document))
    return jobs


def _reduced(job: _Job, records: Any) -> dict[str, Any]:
    """What is kept of a run."""
    values = dict(job.case.measure(records))
    lines: dict[str, Any] = {}
    if job.case.trace is not None and job.repetition == 0:
        for name, (x, y) in job.case.trace(records).items():
            step = -(-len(x) // MOST_POINTS)
            lines[name] = [list(x[::step]), list(y[::step])] if step else [[], []]
    return {"values": values, "lines": lines}


def _gathered(size: Size, jobs: Sequence[_Job], store: Store) -> Measured:
    rows, lines = [], []
    for job in jobs:
        kept = store.get(job.key)
        assert kept is not None
        rows.append(Row(job.case.labels, job.repetition, kept["values"]))
        if job.repetition == 0:
            lines += [Line(job.case.labels, name, x, y) for name, (x, y) in kept["lines"].items()]
    return Measured(size, rows, lines)
