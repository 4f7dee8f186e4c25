"""Runs sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.engine import engine_version
from cwndlab.errors import ArgumentError, Fault, ScenarioError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.summary import NAMES, requested
from cwndlab.scenario.like import ScenarioLike
from cwndlab.study.arguments import Algorithms, algorithms_of, seeds_of
from cwndlab.study.cells import Cells, unmeasured
from cwndlab.study.executor import Executor, Plan, execute, threads
from cwndlab.study.result import Result
from cwndlab.study.spec import Measure, Point, Progress, Study
from cwndlab.study.store import Store
from cwndlab.study.sweeps.spec import Sweep
from cwndlab.study.tables import pivot_axes

if TYPE_CHECKING:
    from cwndlab.records import Records


def sweep(
    scenario: ScenarioLike | Sweep,
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    algorithms: Algorithms = (),
    alternatives: Mapping[str, Mapping[str, Mapping[str, Any] | ScenarioLike]] | None = None,
    seeds: int | Iterable[int] | None = None,
    metrics: str | Sequence[str] = (),
    measure: Callable[[Records], Mapping[str, float | None]] | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    until: str | None = None,
    at_most: int | None = None,
    perturb: bool | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    message: Callable[[str], Any] | None = None,
) -> Result:
    """Runs a scenario with every combination of values of its fields, algorithms and seeds.

    Parameters
    ----------
    scenario
        A `Scenario`, plain values, the name of a preset, a file, or a `Sweep` that describes everything except the
        executor.
    over
        Values by field, named as by ``--set``: ``{"dumbbell.bottleneck.rate": ["10 Mbps", "20 Mbps"]}``.
    algorithms
        Texts or custom classes that every flow over TCP uses in turn.
    alternatives
        Named alternatives of anything, as in `cwndlab.compare`.
    seeds
        The number of seeds of each cell, counted from 1, or the seeds themselves; by default 10.
    metrics, measure, start_s, end_s, until, at_most
        As in `Sweep`.
    perturb
        As in `cwndlab.run`. All cells of a seed have the same draws.
    out
        A folder, or any URL that fsspec supports, for the rows; what it has is not run again. Without it they are in
        memory.
    workers
        The number of threads, by default one per core.
    executor
        Runs elsewhere, such as on Dask (`cwndlab.study.cluster.on`).
    progress
        Called with the number of finished runs and of all.
    message
        Called with remarks on what ``out`` has.

    Returns
    -------
    Result
        The rows. A failed run is in its ``outcome``, and the others continue; on Ctrl-C ``outcome.stopped`` is true.

    Raises
    ------
    ScenarioError
        The faults of all cells, before anything runs.
    RecordsError
        ``out`` is in use by another process, or holds something else.
    AlgorithmError
        A class of yours failed; finished runs are kept.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    >>> rates = {"dumbbell.bottleneck.rate": ["5 Mbps", "10 Mbps"]}
    >>> result = cwndlab.sweep(scenario, over=rates, algorithms=["reno", "cubic"], seeds=range(3))
    >>> len(result.runs), result.summary(["goodput_bps"]).columns[:3]
    (12, ['algorithm', 'dumbbell.bottleneck.rate', 'metric'])
    """
    if isinstance(scenario, Sweep):
        spec = scenario
        given = [seeds, measure, until, at_most, start_s, end_s]
        if over or algorithms or alternatives or metrics or any(one is not None for one in given):
            what = "a Sweep has its own fields, algorithms, seeds, metrics and interval"
            raise ScenarioError(Fault("sweep", what, "leave out the other arguments, or name a scenario"))
    else:
        base, names = algorithms_of(scenario, algorithms)
        spec = Sweep(
            base=base,
            seeds=seeds_of(10 if seeds is None else seeds),
            product=over or {},
            alternatives=alternatives or {},
            algorithms=names,
            until=until,
            at_most=at_most,
            start_s=start_s,
            end_s=end_s,
            metrics=requested(metrics),
            measure=measure,
        )
    study = spec.perturbed(perturb).study()
    say = message or (lambda _: None)
    with Store(out, write=True) as store:
        store.note_others(engine_version(), study.measure_of(study.points[0], 0).digest)
        for note in store.notes:
            say(note)
        plan = Plan(study, store)
        if plan.resumed:
            say(f"{out}: {plan.resumed} of {plan.total} runs are already there and are not repeated")
        run_on = executor or threads(workers, spec.base.classes)
        result = execute(plan, store, executor=run_on, progress=progress, tolerant=True)
        result.notes += store.notes
    return result


def check_shown(spec: Sweep, metrics: Sequence[str] | None, pivot: str | None) -> None:
    """Raises ``ArgumentError`` if the table of a sweep that has not run will lack a metric, or an axis of ``pivot``.
    The names that the sweep's own function returns are not known before."""
    measured = [*NAMES, *spec.further]
    names = [name for name in metrics or () if name not in measured and (name in COLUMNS or spec.measure is None)]
    if names:
        raise ArgumentError(*(unmeasured(name, measured) for name in names))
    if pivot is not None:
        points = [Point(number, spec.labels(number), "") for number in range(len(spec))]
        frame = Study(points=points, seeds=spec.seeds, measure=Measure(), header=spec.header).table()
        pivot_axes(Cells(spec.header, frame, frame.clear()), pivot)


def left(spec: Sweep, out: str | Path) -> tuple[Sequence[Point], list[int]]:
    """The cells, and the number of runs of each that ``out`` lacks; raises with the faults of all cells."""
    plan = Plan(spec.study(), Store(out))
    return plan.study.points, [plan.left(point) for point in plan.study.points]
