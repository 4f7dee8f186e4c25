"""Runs experiments: runs that the store has are not repeated, common runs are run once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from cwndlab.engine import engine_version
from cwndlab.errors import Fault, Parameter, RunError, ScenarioError
from cwndlab.files import parsed
from cwndlab.reproduction import case_study
from cwndlab.reproduction.cases import Case, Size, described, measure_name
from cwndlab.reproduction.catalogue import find
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.kept import KeptResults, Message, Probe, SizeName, kind, origin, scenario_key
from cwndlab.reproduction.measured import Line, Measured, Row
from cwndlab.reproduction.result import Reproduction, Reproductions
from cwndlab.reproduction.site import write_experiment, write_index
from cwndlab.reproduction.verdicts import judge
from cwndlab.simulate import check_seed
from cwndlab.study.executor import Plan, threads
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
    check_seed(seed)
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
            studies = studies_of(chosen, quick=quick, seed=seed, only=only)
            if kept is not None:
                for experiment, study in zip(chosen, studies, strict=True):
                    restore(kept, experiment, experiment.cases(experiment.size(quick=quick)), study, store, message)
            left = set[str]().union(*(case_study.missing(study, store) for study in studies))
            total = len(left)
            if progress is not None:
                progress(0, total)
            for experiment, study in zip(chosen, studies, strict=True):
                size = experiment.size(quick=quick)
                keeper = None if kept is None else _Keeper(kept, experiment, name, study, store, command)
                begin = time.process_time()
                plan = Plan(study, store)
                is_new = plan.resumed < plan.total
                found: Counter[str] = Counter()
                try:
                    for job, row in results_of(plan, store, threads(workers)):
                        if isinstance(row, RunError):
                            raise row
                        left.discard(job.key)
                        rows = parsed(row["findings"])
                        found.update({one["code"] for one in rows if one["severity"] != "note"})
                        if keeper is not None:
                            keeper.landed(job, row)
                        if progress is not None:
                            progress(total - len(left), total)
                finally:
                    if keeper is not None:
                        keeper.finish()
                if found and message is not None:
                    codes = ", ".join(f"{code} in {count}" for code, count in found.most_common())
                    message(f"{experiment.id}: findings of {plan.total - plan.resumed} runs: {codes}")
                if only:
                    continue
                cases = experiment.cases(size)
                measured, of_runs = _measured(cases, size, study, store)
                findings = [judge(experiment.id, claim, measured) for claim in experiment.claims(measured.size)]
                cpu_s = time.process_time() - begin if is_new else 0.0
                done.append(Reproduction(experiment, quick, seed, cases, measured, findings, cpu_s, of_runs))
                if out is not None:
                    write_experiment(done[-1], Path(out))
    except KeyboardInterrupt:
        stopped = True
    if out is not None and done:
        write_index(Path(out))
    return Reproductions(tuple(done), stopped)


def studies_of(
    chosen: Sequence[Experiment], *, quick: bool, seed: int, only: Mapping[str, str] | None = None
) -> list[Study]:
    """The runs of experiments; raises if no case of any has the labels of ``only``."""
    whole = [_study(one, one.size(quick=quick), seed) for one in chosen]
    if not only:
        return whole
    wanted = set(only.items())
    studies = [
        replace(
            study,
            points=[
                point
                for point in study.points
                if wanted <= {(name, str(value)) for name, value in point.labels.items()}
            ],
        )
        for study in whole
    ]
    if not any(study.points for study in studies):
        text = ", ".join(f"{label}={value}" for label, value in only.items())
        raise ScenarioError(Fault(Parameter("only"), f"no case has {text}", f"{chosen[0].id} has {_labels(whole[0])}"))
    return studies


def _labels(study: Study) -> str:
    """Labels of the points, each with its first values."""
    shown = []
    for label in study.points[0].labels:
        values = list(dict.fromkeys(str(point.labels[label]) for point in study.points))
        shown.append(f"{label}={'|'.join(values[:_MOST_VALUES])}{'|…' if len(values) > _MOST_VALUES else ''}")
    return ", ".join(shown)


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
    for point in study.points:
        case = cases[point.number]
        scenario = scenario_key(case.scenario)
        for seed in study.seeds:
            job = study.job(point, seed)
            if job.key in present:
                used += 1
                continue
            for row in kept.rows(scenario, seed):
                if reason := kept.difference(row["engine"], case.measure):
                    # Rows of another measure of the same scenario are none of this study's.
                    if row["measure"] == measure_name(case.measure):
                        refused[point.number, seed] = f"{kind(case.scenario)}: {reason}"
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


class _Keeper:
    """Copies the rows of an experiment from the study's store to the kept results."""

    def __init__(
        self,
        kept: KeptResults,
        experiment: Experiment,
        size: SizeName,
        study: Study,
        store: Store,
        command: str,
    ) -> None:
        self._kept, self._experiment, self._size, self._study = kept, experiment, size, study
        self._cases = experiment.cases(experiment.size(quick=size == "quick"))
        self._representatives = experiment.cases(experiment.quick)
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
        payloads = self._store.payloads({job.key for job in missing}, engine_version(), measures)
        for job in missing:
            self._add(job, payloads[job.key])

    def _probe(self, number: int) -> Probe:
        case = self._cases[number]
        of = (measure_name(case.measure), kind(case.scenario))
        if of not in self._probes:
            self._probes[of] = self._kept.probe_of(case, self._representatives)
        return self._probes[of]

    def _add(self, job: Job, payload: Mapping[str, Any]) -> None:
        self._kept.add(self._keys[job.point], job.seed, self._probe(job.point), payload)
        self._added.add(job.key)

    def landed(self, job: Job, row: StoredRow) -> None:
        """Keeps the row of a run that has ended now."""
        self._add(job, parsed(row["payload"]))
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


def _study(experiment: Experiment, size: Size, seed: int) -> Study:
    """The runs of an experiment: a point per case; curves of the first repetitions."""
    cases = experiment.cases(size)
    measures = [(case_study.measure_of(case), case_study.measure_of(case, traced=True)) for case in cases]
    return Study(
        points=[case_study.point_of(number, case) for number, case in enumerate(cases)],
        seeds=range(seed, seed + size.repetitions),
        measure=lambda point, of_seed: measures[point.number][of_seed == seed],
    )


def _measured(
    cases: Sequence[Case], size: Size, study: Study, store: Store
) -> tuple[Measured, list[Mapping[str, Any]]]:
    """The rows of all runs and the curves of the first repetitions, and what the runs report about themselves."""
    jobs = {
        (point.number, repetition): study.job(point, seed).key
        for point in study.points
        for repetition, seed in enumerate(study.seeds)
    }
    measures = {study.measure_of(point, seed).digest for point in study.points for seed in study.seeds}
    kept = {row["key"]: row for row in store.of_keys(set(jobs.values()), engine_version(), measures)}
    rows, curves, findings = [], [], []
    for (number, repetition), key in jobs.items():
        labels, found = cases[number].labels, parsed(kept[key]["payload"])
        rows.append(Row(labels, repetition, found["values"]))
        if repetition == 0:
            curves += [Line(labels, name, x, y) for name, (x, y) in found["curves"].items()]
        place = f"{described(labels)}, repetition {repetition + 1}"
        findings += [
            row | {"text": f"{place}: {row['text']}"}
            for row in parsed(kept[key].get("findings") or "[]")
            if row["severity"] != "note"
        ]
    return Measured(size, rows, curves), findings
