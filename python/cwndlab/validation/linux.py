"""Validation against Linux in virtual time: kernels as hosts of the simulator's own path (``docs/linux.md``).

The paths are those of `cwndlab.validation.kernel`, whose flows become transfers of the hosted stack ``linux``. Each run
is lines of ``linux.csv`` in a folder, where a second call resumes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cwndlab.errors import Fault, ScenarioError
from cwndlab.linux import with_kernels
from cwndlab.simulate import run_jobs
from cwndlab.validation import kernel
from cwndlab.validation.kernel import Run, Verdict
from cwndlab.validation.references.paths import read
from cwndlab.validation.references.reference import kernel_paths

#: Of the folder of a campaign: the runs of Linux in virtual time.
FILE = "linux.csv"


def campaign(
    folder: Path,
    *,
    paths: list[str] | None = None,
    algorithms: list[str] | None = None,
    repetitions: int | None = None,
    workers: int | None = None,
    file: Path | None = None,
    beside: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[list[Verdict], list[str]]:
    """Runs what ``folder`` does not have yet; then simulates and judges all of it.

    Parameters
    ----------
    folder
        Where ``linux.csv`` is or will be.
    paths, algorithms
        Names of those to run; all by default.
    repetitions
        Runs of each, with the seeds from 1 on; those of the file by default.
    workers
        Runs in parallel, each with two kernels a flow; one per core by default.
    file
        Other paths than the bundled ones.
    beside
        Runs of a machine's kernel, such as ``known-answers/kernel/runs.csv``, beside which those of Linux in virtual
        time are judged in place of the simulator's.
    progress, say
        Called with the number of runs done and of all, and with what a user should know.

    Returns
    -------
    tuple
        The verdicts, and notes. ``kernel`` is Linux in virtual time; with ``beside`` it is the machine's, and
        ``simulator`` is Linux in virtual time.

    Raises
    ------
    ScenarioError
        Where no path can be run.
    RunError
        Where the stack ``linux`` is missing or fails.

    Examples
    --------
    >>> campaign(Path("linux-runs"), paths=["plain-20"], repetitions=2)  # doctest: +SKIP
    """
    every = read(file or kernel_paths(), paths=paths, algorithms=algorithms)
    has_kernels = [trial for trial in every.trials if not any("workload" in flow for flow in trial.document["flow"])]
    selected = replace(every, trials=tuple(has_kernels))
    if left := sorted({trial.path for trial in every.trials} - {trial.path for trial in selected.trials}):
        say(f"left out: {', '.join(left)}: transfers and pauses are not of hosted stacks")
    if not selected.trials:
        raise ScenarioError(Fault("--paths", "no path is one of flows that always have data", "name another one"))
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / FILE
    wanted = [
        (trial, seed) for seed in range(1, (repetitions or selected.repetitions) + 1) for trial in selected.trials
    ]
    have = {run.key() for run in kernel.kept(store, selected)}
    todo = [(trial, seed) for trial, seed in wanted if (trial.path, trial.algorithm, seed) not in have]
    done = len(wanted) - len(todo)
    jobs = [(with_kernels(trial.document, trial.settings), seed) for trial, seed in todo]
    for index, records in run_jobs(jobs, workers=workers):
        trial, seed = todo[index]
        counts = kernel.counts_simulated(records)
        release = records.flows["profile"][0].removeprefix("Linux ")
        kernel.keep(store, kernel.measure(records, trial, seed, counts=counts, kernel=release))
        done += 1
        if progress is not None:
            progress(done, len(wanted))
    asked = {(trial.path, trial.algorithm, seed) for trial, seed in wanted}
    real = [run for run in kernel.kept(store, selected) if run.key() in asked]
    note = f"Linux {', '.join(sorted({run.kernel for run in real}))} in virtual time: {len(asked)} runs"
    if beside is not None:
        machine = kernel.kept(beside, selected)
        return kernel.judge(selected, real, machine), [
            f"{note}, in the column of the simulator",
            *kernel.notes(machine),
        ]
    simulated: list[Run] = []
    for index, records in run_jobs([(trial.document, seed) for trial, seed in wanted], workers=workers):
        trial, seed = wanted[index]
        simulated += kernel.measure(records, trial, seed, counts=kernel.counts_simulated(records))
    return kernel.judge(selected, simulated, real), [note]
