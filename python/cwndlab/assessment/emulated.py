"""The emulated part of a dossier: selected cells between real kernels, and the same cells simulated.

``emulated.toml`` selects the cells (`cwndlab.assessment.selected`). A run whose deliveries were late is repeated with
fewer beside it, and left out if it is late alone, too.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from cwndlab import engine
from cwndlab.assessment.criteria import MINE, Criterion
from cwndlab.assessment.runs import study_of, values_of
from cwndlab.assessment.selected import Cells, Part, Progress, document
from cwndlab.emulation import LATE_S
from cwndlab.errors import ArgumentError, Fault, Parameter, RunError
from cwndlab.files import json_text
from cwndlab.records import Records
from cwndlab.study.executor import Executor, Plan, Results, Task, execute
from cwndlab.study.result import Result
from cwndlab.study.spec import Job, Row, Study
from cwndlab.study.store import Store

#: The file with the selected cells.
FILE = "emulated.toml"
#: Runs at a time, for each core: with more, the endpoints get too little of the processor.
_PER_CORE = 2
#: What the kernel must have is tried with this scenario.
_TRIAL = {
    "schema_version": 1,
    "duration": "50 ms",
    "dumbbell": {"bottleneck": {"rate": "4 Mbps", "delay": "1 ms", "queue": {"capacity": "1 bdp"}}},
}


class _LateError(RunError):
    """The deliveries of a run were late."""


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
    trial = {**_TRIAL, "flow": [{"name": MINE, "algorithm": algorithm, "rtt": "10 ms"}]}
    try:
        engine.emulate(json_text(trial), "json", 1)
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
        return Part.absent(measures, lacking)
    selected = document(FILE)
    cells = Cells.of(selected, measures, name, lambda algorithm: not missing(algorithm))
    real = cells.points(f"Linux {platform.release()}")
    study = study_of(real, selected["runs"], {})
    result, late = _emulate(study, None if out is None else out / "runs-emulated", workers, progress)
    same = cells.simulated(None if out is None else out / "runs-same-cells", workers, progress)
    values = values_of(result.runs, real)
    content = {"kernel": platform.release(), "late": late}
    without = "the deliveries of all of its runs were late"
    return cells.part(real, values, same, content, environment="emulated", without=without, real_time=True)


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
