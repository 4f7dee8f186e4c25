"""Validation against Linux in virtual time: kernels as hosts of the simulator's own path (``docs/linux.md``).

The paths are those of `cwndlab.validation.kernel`, whose flows become transfers of the hosted stack ``linux``. Each run
is lines of ``linux.csv`` in a folder, where a second call resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, RecordsError, ScenarioError
from cwndlab.linux import CONTROLLERS, faults, release, with_kernels
from cwndlab.simulate import run_jobs
from cwndlab.validation import kernel
from cwndlab.validation.kernel import Run, Verdict
from cwndlab.validation.references.paths import Paths, Trial, read
from cwndlab.validation.references.reference import kernel_paths

#: Of the folder of a campaign: the runs of Linux in virtual time.
FILE = "linux.csv"
#: The simulator's algorithms that follow those of the kernel.
_OURS = {theirs: ours for ours, theirs in reversed(CONTROLLERS.items())}
#: Fields of a stack by which the simulator follows the kernel, which has them of itself.
_OF_THE_SIMULATOR = ("initial_window", "initial_receive_window", "tso_burst", "rto_granularity")


def between_kernels(trial: Trial, repetition: int = 0) -> dict[str, Any]:
    """The scenario of a repetition of a trial with kernels in place of its flows.

    The trial's parameters of algorithms and stacks are those by which the simulator follows the kernel.

    Examples
    --------
    >>> (trial,) = read(kernel_paths(), paths=["plain-20"], algorithms=["bbr"]).trials
    >>> between_kernels(trial)["flow"][0]["workload"]["controller"]
    'bbr'
    """
    flows = []
    document = trial.repetition(repetition)
    for sender, flow in zip(trial.senders, document["flow"], strict=True):
        stack = {name: value for name, value in flow.get("stack", {}).items() if name not in _OF_THE_SIMULATOR}
        flows.append(flow | {"algorithm": _OURS[sender], "stack": stack})
    return with_kernels(document | {"flow": flows}, trial.settings)


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
    """Runs what ``folder`` does not have yet; then judges all of it.

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
    RecordsError
        Where ``beside`` has no run of these, or the runs of the folder are of another kernel than the stack's.
    RunError
        Where the stack ``linux`` is missing or fails.

    Examples
    --------
    >>> from pathlib import Path
    >>> campaign(Path("linux-runs"), paths=["plain-20"], repetitions=2)  # doctest: +SKIP
    """
    selected = _selected(paths, algorithms, file, say)
    wanted = _wanted(selected, repetitions)
    if beside is not None:
        _runs(beside, selected)
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / FILE
    runs = kernel.kept(store, selected)
    have = {run.key() for run in runs}
    todo = [(trial, seed) for trial, seed in wanted if (trial.path, trial.algorithm, seed) not in have]
    if have and (built := release()) is not None and (others := {run.kernel for run in runs} - {built}):
        what = f"has runs of Linux {', '.join(sorted(others))}, and the stack is Linux {built}"
        raise RecordsError(Fault(str(store), what, "name another folder"))
    done = len(wanted) - len(todo)
    jobs = [(between_kernels(trial, seed), seed) for trial, seed in todo]
    for index, records in run_jobs(jobs, workers=workers):
        trial, seed = todo[index]
        counts = kernel.counts_simulated(records)
        of = records.flows["profile"][0].removeprefix("Linux ")
        if trial.transfers:
            loss = trial.document["dumbbell"]["bottleneck"].get("loss", {}).get("p", 0.0)
            counts = kernel.without_probes_of_ends(counts, loss, len(records.transfers))
        kernel.keep(store, kernel.measure(records, trial, seed, counts=counts, kernel=of))
        done += 1
        if progress is not None:
            progress(done, len(wanted))
    return _judged(store, selected, wanted, beside, workers)


def judge_kept(
    folder: Path,
    *,
    repetitions: int | None = None,
    workers: int | None = None,
    file: Path | None = None,
    beside: Path | None = None,
) -> tuple[list[Verdict], list[str]]:
    """Judges the runs of a folder; kernels do not run.

    Parameters
    ----------
    folder, repetitions, workers, file, beside
        As of `campaign`.

    Returns
    -------
    tuple
        The verdicts, and notes. The last note lists what is missing, if anything is: ``Not measured yet: ...``.

    Raises
    ------
    RecordsError
        Where ``linux.csv`` or ``beside`` has no run of the bundled paths.

    Examples
    --------
    >>> from pathlib import Path
    >>> judge_kept(Path("linux-runs"))  # doctest: +SKIP
    """
    every = _selected(None, None, file, lambda _: None)
    store = folder / FILE
    have = {run.key() for run in _runs(store, every)}
    known = {path for path, _, _ in have}
    selected = replace(every, trials=tuple(trial for trial in every.trials if trial.path in known))
    wanted = _wanted(selected, repetitions)
    kept = [(trial, seed) for trial, seed in wanted if (trial.path, trial.algorithm, seed) in have]
    verdicts, notes = _judged(store, selected, kept, beside, workers)
    missing = [f"{trial.path} {trial.algorithm} {seed}" for trial, seed in wanted if (trial, seed) not in kept]
    missing += sorted({trial.path for trial in every.trials} - known)
    return verdicts, notes + ([f"Not measured yet: {', '.join(missing)}"] if missing else [])


def _selected(
    paths: list[str] | None, algorithms: list[str] | None, file: Path | None, say: Callable[[str], None]
) -> Paths:
    every = read(file or kernel_paths(), paths=paths, algorithms=algorithms)
    has_kernels = [trial for trial in every.trials if not any(_faults_of(flow) for flow in trial.document["flow"])]
    selected = replace(every, trials=tuple(has_kernels))
    if left := sorted({trial.path for trial in every.trials} - {trial.path for trial in selected.trials}):
        say(f"left out: {', '.join(left)}: their workloads are not of hosted stacks")
    if not selected.trials:
        raise ScenarioError(Fault("--paths", "no path has a workload of hosted stacks", "name another one"))
    return selected


def _faults_of(flow: Mapping[str, Any]) -> list[Fault]:
    """What kernels do not have of the workload of a flow."""
    return list(faults("flow", {"workload": flow.get("workload", {})}))


def _wanted(selected: Paths, repetitions: int | None) -> list[tuple[Trial, int]]:
    count = repetitions or selected.repetitions
    return [(trial, seed) for seed in range(1, count + 1) for trial in selected.trials]


def _runs(file: Path, selected: Paths) -> list[Run]:
    """The runs of a file that must have some."""
    if not file.is_file():
        raise RecordsError(Fault(str(file), "no such file", "name the runs of a kernel, such as kernel-runs/runs.csv"))
    if not (runs := kernel.kept(file, selected)):
        raise RecordsError(Fault(str(file), "has no run of these paths and algorithms", "name others, or another file"))
    return runs


def _judged(
    store: Path, selected: Paths, wanted: list[tuple[Trial, int]], beside: Path | None, workers: int | None
) -> tuple[list[Verdict], list[str]]:
    asked = {(trial.path, trial.algorithm, seed) for trial, seed in wanted}
    real = [run for run in kernel.kept(store, selected) if run.key() in asked]
    note = f"Linux {', '.join(sorted({run.kernel for run in real}))} in virtual time: {len(asked)} runs"
    if beside is not None:
        machine = _runs(beside, selected)
        return kernel.judge(selected, real, machine), [
            f"{note}, in the column of the simulator",
            *kernel.notes(machine),
        ]
    simulated: list[Run] = []
    for index, records in run_jobs([(trial.repetition(seed), seed) for trial, seed in wanted], workers=workers):
        trial, seed = wanted[index]
        simulated += kernel.measure(records, trial, seed, counts=kernel.counts_simulated(records))
    return kernel.judge(selected, simulated, real), [note]
