"""Runs experiments: runs that the store has are not repeated, common runs are run once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.engine import engine_version
from cwndlab.errors import RunError
from cwndlab.reproduction.cases import Case, Size, Table
from cwndlab.reproduction.cases import Measure as CaseMeasure
from cwndlab.reproduction.catalogue import find
from cwndlab.reproduction.claims import Finding
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Line, Measured, Row
from cwndlab.reproduction.verdicts import judge
from cwndlab.scenario.reader import check
from cwndlab.study.executor import Plan, results, threads
from cwndlab.study.spec import Measure, Point, Progress, Study
from cwndlab.study.store import Store

if TYPE_CHECKING:
    from cwndlab.plot.charts import Chart

#: The largest number of points of a curve that is kept.
MOST_POINTS = 1500


@dataclass(frozen=True, repr=False)
class Reproduction:
    """An experiment with its measurements and findings."""

    experiment: Experiment
    quick: bool
    seed: int
    cases: Sequence[Case]
    measured: Measured
    findings: Sequence[Finding]
    cpu_s: float
    """CPU time of its new runs, of all threads."""

    def __repr__(self) -> str:
        size = "quick" if self.quick else "full"
        return f"<Reproduction of {self.experiment.id}: {size}, seed {self.seed}, {len(self.findings)} findings>"

    @property
    def size(self) -> Size:
        """Its size."""
        return self.measured.size

    @property
    def charts(self) -> Sequence[Chart]:
        """The published figure, redrawn."""
        return self.experiment.charts(self.measured)

    @property
    def tables(self) -> Sequence[Table]:
        """Tables beside the figure."""
        return self.experiment.tables(self.measured)

    @property
    def why(self) -> Sequence[str]:
        """Explanations of claims that do not hold."""
        return self.experiment.why(self.measured)


def reproduce(
    target: str = "",
    *,
    quick: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    out: Path | str | None = None,
) -> Iterator[Reproduction]:
    """Runs published experiments and evaluates their claims.

    Parameters
    ----------
    target
        ``PAPER`` or ``PAPER/FIGURE``; an empty text is all of them.
    quick
        Minutes instead of the paper's size: durations, repetitions and grid points differ, the code does not.
    seed
        The seed of the first repetition.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all that are not in ``out``.
    out
        A folder that keeps finished runs; they are not run again.

    Yields
    ------
    Reproduction
        The experiments as they finish.

    Raises
    ------
    ScenarioError
        There is no such experiment.
    RecordsError
        ``out`` is in use by another process, or holds something else.
    """
    chosen = find(target)
    with Store(out, write=True) as store:
        studies = [_study(one, one.size(quick=quick), seed) for one in chosen]
        left = _left(studies, store)
        total = len(left)
        if progress is not None:
            progress(0, total)
        for experiment, study in zip(chosen, studies, strict=True):
            begin = time.process_time()
            plan = Plan(study, store)
            is_new = plan.resumed < plan.total
            for job, row in results(plan, store, threads(workers)):
                if isinstance(row, RunError):
                    raise row
                left.discard(job.key)
                if progress is not None:
                    progress(total - len(left), total)
            measured = _measured(experiment, experiment.size(quick=quick), study, store)
            findings = [judge(experiment.id, claim, measured) for claim in experiment.claims(measured.size)]
            cpu_s = time.process_time() - begin if is_new else 0.0
            yield Reproduction(experiment, quick, seed, experiment.cases(measured.size), measured, findings, cpu_s)


def _study(experiment: Experiment, size: Size, seed: int) -> Study:
    """The runs of an experiment: a point per case; curves of the first repetitions."""
    points, measures = [], []
    for number, case in enumerate(experiment.cases(size)):
        checked = check(json.dumps(case.scenario), "json")
        points.append(Point(number, dict(case.labels), checked.hash, checked.document))
        plain = Measure(None, payload=partial(payload, case.measure))
        traced = plain if case.trace is None else Measure(None, payload=partial(payload, case.measure, case.trace))
        measures.append((plain, traced))

    def measure_of(point: Point, of_seed: int) -> Measure:
        return measures[point.number][of_seed == seed]

    return Study(points=points, seeds=range(seed, seed + size.repetitions), measure=measure_of)


def _left(studies: Sequence[Study], store: Store) -> set[str]:
    """The keys of the runs that the store lacks."""
    keys = {study.job(point, seed).key for study in studies for point in study.points for seed in study.seeds}
    return keys - set(store.keys()["key"])


def payload(measure: CaseMeasure, *args: Any) -> dict[str, Any]:
    """The values of a run, and the points of its curves: ``trace`` may come before the records."""
    *traces, records = args
    curves: dict[str, Any] = {}
    for trace in traces:
        for name, (x, y) in trace(records).items():
            step = -(-len(x) // MOST_POINTS)
            curves[name] = [list(x[::step]), list(y[::step])] if step else [[], []]
    return {"values": dict(measure(records)), "curves": curves}


def _measured(experiment: Experiment, size: Size, study: Study, store: Store) -> Measured:
    """The rows of all runs, and the curves of the first repetitions."""
    cases = experiment.cases(size)
    jobs = {
        (point.number, repetition): study.job(point, seed).key
        for point in study.points
        for repetition, seed in enumerate(study.seeds)
    }
    measures = {study.measure_of(point, seed).digest for point in study.points for seed in study.seeds}
    kept = store.payloads(set(jobs.values()), engine_version(), measures)
    rows, curves = [], []
    for (number, repetition), key in jobs.items():
        labels = cases[number].labels
        rows.append(Row(labels, repetition, kept[key]["values"]))
        if repetition == 0:
            curves += [Line(labels, name, x, y) for name, (x, y) in kept[key]["curves"].items()]
    return Measured(size, rows, curves)
