"""Runs experiments: runs that the store has are not repeated, common runs are run once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from cwndlab.engine import engine_version
from cwndlab.errors import Fault, Parameter, RunError, ScenarioError
from cwndlab.files import parsed
from cwndlab.reproduction import case_study
from cwndlab.reproduction.cases import Case, described, measure_name
from cwndlab.reproduction.catalogue import find
from cwndlab.reproduction.claims import Finding
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.kept import KeptResults, Message, Probe, SizeName, kind, origin, scenario_key
from cwndlab.reproduction.result import Reproduction, Reproductions
from cwndlab.reproduction.site import write_experiment, write_index
from cwndlab.reproduction.witnesses import Witnesses
from cwndlab.reproduction.work import Payloads, Work
from cwndlab.simulate import check_first_seed
from cwndlab.study.executor import Executor, Plan, threads
from cwndlab.study.executor import results as results_of
from cwndlab.study.spec import Job, Progress, Study
from cwndlab.study.spec import Row as StoredRow
from cwndlab.study.store import Store

# Values of a label that a message lists.
_MOST_VALUES = 12


def reproduce(
    target: str = "",
    *,
    quick: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    out: Path | str | None = None,
    results: Path | str | None = None,
    only: Mapping[str, str] | None = None,
    message: Message | None = None,
    perturb: bool | None = None,
) -> Reproductions:
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
        Called with the number of finished runs and of all that are not in ``out`` or ``results``.
    out
        A folder for the site: a page per experiment as it ends, an index, and ``runs``, the finished runs, which are
        not run again.
    results
        A folder that keeps the rows of finished runs (`cwndlab.reproduction.kept`), for another day, machine or
        version; they are not run again as long as the behaviour behind them is unchanged.
    only
        Runs the cases with these labels only and evaluates nothing, since claims need all cases.
    message
        Called with remarks on rows of ``results`` that are not used, and with the number of runs that have findings.
    perturb
        Whether each repetition varies what nobody measures exactly, as in `cwndlab.run`. By default as the rows in
        ``results`` are, and true where there are none.

    Returns
    -------
    Reproductions
        The experiments with their claims. On Ctrl-C it has those that are finished, and ``stopped`` is true.

    Raises
    ------
    ScenarioError
        There is no such experiment, no case with the labels of ``only``, or the rows in ``results`` were made with the
        other value of ``perturb``.
    RecordsError
        ``out`` or ``results`` is in use by another process, or holds something else.
    """
    chosen = find(target)
    check_first_seed(seed)
    name: SizeName = "quick" if quick else "full"
    command = " ".join(
        ["cwndlab reproduce", target or "--all", *(["--quick"] if quick else []), *([f"--seed {seed}"] * (seed != 1))]
    )
    done, stopped = list[Reproduction](), False
    try:
        with ExitStack() as stack:
            store = stack.enter_context(case_study.store_of(out, write=True))
            kept = None if results is None else stack.enter_context(closing(KeptResults(results, write=True)))
            if perturb is not False if kept is None else kept.perturbed(perturb, message):
                chosen = tuple(one.perturbed() for one in chosen)
            else:
                command += " --no-perturb"
            first = first_studies(chosen, quick=quick, seed=seed, only=only)
            count = _Count(progress)
            for work, studies in first:
                _prepare(work, studies, store, kept, count, message)
            for work, studies in first:
                keep = None if kept is None else partial(_Keeper, kept, work, name, store, command)
                begin, found, made = time.process_time(), Counter[str](), 0
                payloads: dict[tuple[int, int], Mapping[str, Any]] = {}
                findings: list[Finding] = []
                left = studies
                while left:
                    for study in left:
                        made += _run(study, store, keep, threads(workers), found, count)
                        payloads |= _payloads(study, store)
                    if only:
                        break
                    findings, needs = work.settled(payloads)
                    left = work.studies(needs)
                    _prepare(work, left, store, kept, count, message)
                if found and message is not None:
                    codes = ", ".join(f"{code} in {many}" for code, many in found.most_common())
                    message(f"{work.experiment.id}: findings of {made} runs: {codes}")
                if only:
                    continue
                cpu_s = time.process_time() - begin if made else 0.0
                outcome = Reproduction(
                    work.experiment,
                    quick,
                    seed,
                    work.base,
                    work.measured(payloads),
                    findings,
                    cpu_s,
                    _run_findings(work, payloads),
                )
                done.append(outcome)
                if out is not None:
                    write_experiment(outcome, Path(out))
    except KeyboardInterrupt:
        stopped = True
    if out is not None and done:
        write_index(Path(out))
    return Reproductions(tuple(done), stopped)


class _Count:
    """Runs that have ended, of all that have to be made; more are added as claims need them."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._all, self._ended = progress, set[str](), 0

    def add(self, keys: set[str]) -> None:
        """Adds runs."""
        if self._progress is not None and (not self._all or not keys <= self._all):
            self._all |= keys
            self._progress(self._ended, len(self._all))

    def ended(self) -> None:
        """Counts a run that has ended."""
        self._ended += 1
        if self._progress is not None:
            self._progress(self._ended, len(self._all))


def first_studies(
    chosen: Sequence[Experiment], *, quick: bool, seed: int, only: Mapping[str, str] | None = None
) -> list[tuple[Work, list[Study]]]:
    """The first runs of experiments; raises if no case of any has the labels of ``only``."""
    works = [Work(one, one.size(quick=quick), seed, more=not quick) for one in chosen]
    found = [(work, _limited(work, only)) for work in works]
    if only and not any(studies for _, studies in found):
        text = ", ".join(f"{label}={value}" for label, value in only.items())
        there = f"{works[0].experiment.id} has {_labels(works[0])}"
        raise ScenarioError(Fault(Parameter("only"), f"no case has {text}", there))
    return found


def _limited(work: Work, only: Mapping[str, str] | None) -> list[Study]:
    """The first runs of an experiment; of its own cases those with some labels, where ``only`` asks for them."""
    if not only:
        return work.studies(work.first)
    wanted = set(only.items())
    needs = {
        number: work.first[number]
        for number, case in enumerate(work.base)
        if wanted <= {(name, str(value)) for name, value in case.labels.items()}
    }
    return work.studies(needs)


def _labels(work: Work) -> str:
    """Labels of the cases, each with its first values."""
    shown = []
    for label in work.base[0].labels:
        values = list(dict.fromkeys(str(case.labels[label]) for case in work.base))
        shown.append(f"{label}={'|'.join(values[:_MOST_VALUES])}{'|…' if len(values) > _MOST_VALUES else ''}")
    return ", ".join(shown)


def _prepare(
    work: Work,
    studies: Sequence[Study],
    store: Store,
    kept: KeptResults | None,
    count: _Count,
    message: Message | None,
) -> None:
    """Restores the kept rows of studies, and counts the runs that are left."""
    for study in studies:
        if kept is not None:
            restore(kept, work.experiment, work.cases, study, store, message)
        count.add(case_study.missing(study, store))


def _run(
    study: Study,
    store: Store,
    keep: Callable[[Study], _Keeper] | None,
    executor: Executor,
    found: Counter[str],
    count: _Count,
) -> int:
    """Makes the runs that the store lacks, and counts their findings; returns how many it made."""
    plan = Plan(study, store)
    keeper = None if keep is None else keep(study)
    seen: set[str] = set()
    try:
        for job, row in results_of(plan, store, executor):
            if isinstance(row, RunError):
                raise row
            # Cases with one scenario share its runs.
            if job.key in seen:
                continue
            seen.add(job.key)
            found.update(_codes(row))
            if keeper is not None:
                keeper.landed(job, row)
            count.ended()
    finally:
        if keeper is not None:
            keeper.finish()
    return plan.total - plan.resumed


def _payloads(study: Study, store: Store) -> dict[tuple[int, int], Mapping[str, Any]]:
    """What the store has of the runs of a study, by case and repetition, with what they report about themselves."""
    jobs = {
        (point.number, repetition): study.job(point, seed).key
        for point in study.points
        for repetition, seed in enumerate(study.seeds)
    }
    measures = {study.measure_of(point, seed).digest for point in study.points for seed in study.seeds}
    found: dict[str, Mapping[str, Any]] = {}
    for row in store.of_keys(set(jobs.values()), engine_version(), measures):
        found[row["key"]] = {"findings": _codes(row), "told": _told(row), **parsed(row["payload"])}
    return {place: found[key] for place, key in jobs.items()}


def _run_findings(work: Work, payloads: Payloads) -> list[Mapping[str, Any]]:
    """What the runs of the base cases report about themselves, each with its place."""
    findings = []
    for (number, repetition), payload in sorted(payloads.items(), key=lambda one: one[0]):
        if number < len(work.base):
            place = f"{described(work.base[number].labels)}, repetition {repetition + 1}"
            findings += [row | {"text": f"{place}: {row['text']}"} for row in payload.get("told", ())]
    return findings


def restore(
    kept: KeptResults,
    experiment: Experiment,
    cases: Sequence[Case],
    study: Study,
    store: Store,
    message: Message | None = None,
) -> int:
    """Copies the kept rows of a study to its store, those with valid probes; returns how many the study has there."""
    present = set(store.keys()["key"])
    used, refused = 0, {}
    jobs = {(point.number, seed): study.job(point, seed) for point in study.points for seed in study.seeds}
    witnesses = Witnesses(kept, cases, study.seeds[0])
    changed = witnesses.differences(number for (number, _), job in jobs.items() if job.key not in present)
    for number in changed:
        witnesses.refuse(number)
    for point in study.points:
        case = cases[point.number]
        scenario = scenario_key(case.scenario)
        for seed in study.seeds:
            job = jobs[point.number, seed]
            if job.key in present:
                used += 1
                continue
            for row in kept.rows(scenario, seed):
                if reason := kept.difference(row["engine"], case.measure):
                    # Rows of another measure of the same scenario are none of this study's.
                    if row["measure"] == measure_name(case.measure):
                        refused[point.number, seed] = f"{kind(case.scenario)}: {changed.get(point.number, reason)}"
                    continue
                if case.trace is not None and seed == study.seeds[0] and not kept.has_curves(row):
                    continue  # kept as a later repetition, which has no curves
                refused.pop((point.number, seed), None)
                own = {"key": job.key, "scenario_hash": job.hash, "seed": job.seed, "engine": engine_version()}
                store.add(own | {"measure": study.measure_of(point, seed).digest, "payload": row["payload"]})
                present.add(job.key)
                used += 1
                break
    if refused and message is not None:
        reasons = list(dict.fromkeys(refused.values()))
        more = f", and {len(reasons) - 1} more reasons" if len(reasons) > 1 else ""
        what = "kept runs are not used, since the behaviour has changed"
        message(f"{experiment.id}: {len(refused)} {what} ({reasons[0]}{more})")
    return used


def _codes(row: StoredRow) -> list[str]:
    """The codes of what a run reports about itself, notes apart."""
    return sorted({one["code"] for one in _told(row)})


def _told(row: StoredRow) -> list[Mapping[str, Any]]:
    """What a run reports about itself, notes apart."""
    return [one for one in parsed(row.get("findings") or "[]") if one["severity"] != "note"]


class _Keeper:
    """Copies the rows of an experiment from the study's store to the kept results."""

    def __init__(self, kept: KeptResults, work: Work, size: SizeName, store: Store, command: str, study: Study) -> None:
        self._kept, self._experiment, self._size, self._study = kept, work.experiment, size, study
        self._cases = work.cases
        self._representatives = Work(work.experiment, work.experiment.quick, more=False).cases
        self._command = command
        self._probes: dict[tuple[str, str], Probe] = {}
        self._keys = [scenario_key(case.scenario) for case in self._cases]
        self._store = store
        self._added: set[str] = set()
        self._made = 0
        self._copy()
        self._begin_s = time.process_time()

    def _copy(self) -> None:
        """Keeps those rows of the store that are kept nowhere yet."""
        jobs = [self._study.job(point, seed) for point in self._study.points for seed in self._study.seeds]
        present = set(self._store.keys()["key"]) - self._added
        if not present:
            return
        missing = []
        for job in jobs:
            rows, measure = self._kept.rows(self._keys[job.point], job.seed), self._cases[job.point].measure
            if job.key in present and all(self._kept.difference(row["engine"], measure) for row in rows):
                missing.append(job)
        points, seeds = self._study.points, self._study.seeds
        measures = {self._study.measure_of(point, seed).digest for point in points for seed in seeds}
        rows = self._store.of_keys({job.key for job in missing}, engine_version(), measures)
        there = {row["key"]: row for row in rows}
        for job in missing:
            self._add(job, there[job.key])

    def _probe(self, number: int) -> Probe:
        case = self._cases[number]
        of = (measure_name(case.measure), kind(case.scenario))
        if of not in self._probes:
            self._probes[of] = self._kept.probe_of(case, self._representatives)
        return self._probes[of]

    def _add(self, job: Job, row: StoredRow) -> None:
        payload = parsed(row["payload"])
        found = {"findings": payload.get("findings", _codes(row))}
        self._kept.add(self._keys[job.point], job.seed, self._probe(job.point), payload | found)
        self._added.add(job.key)

    def landed(self, job: Job, row: StoredRow) -> None:
        """Keeps the row of a run that has ended now."""
        self._add(job, row)
        self._made += 1

    def finish(self) -> None:
        """Keeps also the rows of runs that ended just before an interrupt, and what the index says of the
        experiment."""
        self._copy()
        if self._probes:
            cpu_s = time.process_time() - self._begin_s
            spent = {"cpu_s": cpu_s, "runs_made": self._made} if self._made else {}
            probes = sorted(probe.digest for probe in self._probes.values())
            self._kept.note(self._experiment, self._size, **spent, probes=probes, **origin(self._command))
            self._kept.save()
