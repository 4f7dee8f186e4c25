"""The search: Optuna proposes parameters, sweeps measure them; no run is repeated.

Each trial has a new sampler, whose seed follows from the seed of the search and the number of finished trials: its
proposal depends only on these and their values. A killed search therefore continues as if it had not been killed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from cwndlab.engine import engine_version
from cwndlab.errors import Fault, RecordsError, RunError, ScenarioError
from cwndlab.files import json_text, parsed, save
from cwndlab.lazy import extra
from cwndlab.metrics.summary import NAMES, metrics_version
from cwndlab.study.findings import lines
from cwndlab.study.lock import FileLock
from cwndlab.study.rendering import Table, notebook
from cwndlab.study.spec import Progress, Row
from cwndlab.study.sweeps.run import sweep
from cwndlab.study.sweeps.spec import Sweep
from cwndlab.study.tuning.expression import Expression, NoValue
from cwndlab.study.tuning.spec import Constraint, Tuning, Value

# Random proposals before the sampler learns.
_STARTUP = 10
_EXCESS = "excess"
# A trial without a score, and what the sampler is told in its place.
_NO_SCORE = "no score"
_WORST = 1e300
#: The file of a result.
FILE = "tuning.json"


@dataclass(frozen=True)
class Score:
    """The score of a set of parameters on one side."""

    mean: float
    by_seed: tuple[float, ...]
    """The means over cells, one per seed, which are paired."""
    excess: tuple[float, ...]
    """The excess of each constraint, above zero if it does not hold."""


@dataclass(repr=False)
class TuningResult:
    """The outcome of a tuning."""

    question: Mapping[str, Any]
    """The description of the search: ``algorithm``, ``objective``, ``goal``, ``constraints``, ``seed``, ``ranges`` by
    parameter, and the values ``default``, ``published`` (as given) and ``tried`` (all of them)."""
    place: Path
    trials: list[Row]
    """``trial``, each parameter, ``score``, ``feasible``."""
    best: dict[str, Value] = field(default_factory=dict)
    scores: dict[tuple[str, str], Score] = field(default_factory=dict)
    """By side (``train``, ``test``) and set (``default``, ``published``, ``tuned``)."""
    complete: bool = False
    findings: list[Row] = field(default_factory=list)
    """The findings of its runs, as rows of the table ``findings``, each text once."""

    def __repr__(self) -> str:
        state = "complete" if self.complete else "unfinished"
        return f"<TuningResult in {self.place}: {len(self.trials)} trials, {state}, best {self.best}>"

    def _repr_html_(self) -> str:
        return notebook(self.table(), [*lines(self.findings), *self.verdicts()])

    def verdicts(self) -> list[str]:
        """The effect of the parameters on the score."""
        from cwndlab.study.tuning.tables import spread

        return [spread(self)] if self.complete else [f"unfinished: {len(self.trials)} trials exist"]

    def table(self) -> Table:
        """The scores of default, published and tuned parameters on both sides with their verdicts; of an unfinished
        search its trials."""
        from cwndlab.study.tuning.tables import table

        return table(self)

    def report(self, path: str | Path) -> None:
        """Writes one HTML page with the scores, the range of good parameters, and all trials."""
        from cwndlab.reports.page import tables_page
        from cwndlab.study.tuning.tables import landscape, trials

        tables = [self.table(), *([landscape(self), trials(self)] if self.complete else [])]
        title = f"{self.question['algorithm']}: {self.question['goal']} {self.question['objective']}"
        commands = [f"cwndlab report {self.place}"]
        save(tables_page(title, tables, self.verdicts(), commands=commands, run_findings=self.findings), path)

    def save(self, place: str | Path) -> None:
        """Writes ``tuning.json`` into a folder, for `cwndlab.load`; its runs stay where they are."""
        scores = [[*key, asdict(score)] for key, score in self.scores.items()]
        content = {**vars(self), "scores": scores}
        del content["place"]
        save(json_text(content, indent=1), Path(place) / FILE)

    @classmethod
    def read(cls, place: str | Path) -> TuningResult:
        """The result in a folder, complete or not.

        Raises
        ------
        RecordsError
            It holds none, or one of another version.
        """
        try:
            content = parsed((Path(place) / FILE).read_bytes())
            scores = {(side, name): Score(**score) for side, name, score in content.pop("scores")}
            return cls(place=Path(place), scores=scores, **content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            hint = "a folder that `cwndlab tune --out` of this version wrote"
            raise RecordsError(Fault(str(Path(place) / FILE), "is not the result of a search", hint)) from None


def tune(
    spec: Tuning,
    *,
    out: str | Path,
    trials: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> TuningResult:
    """Searches parameters and evaluates the best ones on held-out scenarios.

    Parameters
    ----------
    spec
        The tuning.
    out
        A folder that keeps trials and runs; the search resumes there.
    trials
        The number of trials, by default that of ``spec``.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all.

    Returns
    -------
    TuningResult
        Trials, the best parameters and their scores. On Ctrl-C it has only trials, and ``complete`` is false.

    Raises
    ------
    RecordsError
        ``out`` holds another tuning, or is in use.
    """
    place = Path(out)
    count = (spec if trials is None else replace(spec, trials=trials)).trials
    total = count * len(spec.train) * len(spec.train.seeds)
    with ExitStack() as stack:
        evaluator = _Evaluator(spec, place, workers, progress, total)
        evaluator.refuse()
        place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place)
        stack.callback(lock.release)
        # Optuna would wait for the lock of a killed process; ours shows that no other process runs.
        for left in place.glob("study.log.*"):
            left.unlink(missing_ok=True)
        study = _study(spec, place)
        try:
            reference = evaluator.reference("train")
            while (ended := _ended(study)) < count:
                _trial(study, spec, evaluator, reference, ended)
                _result(study, spec, place, evaluator).save(place)
            result = _result(study, spec, place, evaluator)
            result.best = _best(result.trials, spec)
            result.scores = evaluator.judge(result.best)
            result.complete, result.findings = True, evaluator.findings
        except KeyboardInterrupt:
            result = _result(study, spec, place, evaluator)
        result.save(place)
    return result


def _result(study: Any, spec: Tuning, place: Path, evaluator: _Evaluator) -> TuningResult:
    """The result of an unfinished search."""
    return TuningResult(_question(spec), place, _rows(study, spec), findings=evaluator.findings)


class _Evaluator:
    """Scores sets of parameters; their runs are kept in ``runs`` of the folder."""

    def __init__(self, spec: Tuning, place: Path, workers: int | None, progress: Progress | None, total: int) -> None:
        self._spec, self._place, self._workers = spec, place, workers
        self._progress = progress or (lambda done, total: None)
        self._total, self._before = total, 0
        self._findings: dict[tuple[str, str], Row] = {}
        self._objective = Expression.parse(spec.objective, "tune", list(NAMES))
        self._constraints = [Constraint.parse(text, "tune.constraints") for text in spec.constraints]

    @property
    def findings(self) -> list[Row]:
        """The findings of all runs so far, each text once."""
        return list(self._findings.values())

    def refuse(self) -> None:
        """Raises if the folder is a file, or holds something else."""
        if self._place.exists() and not self._place.is_dir():
            raise RecordsError(Fault(str(self._place), "is a file, not a folder", "choose another folder by --out"))
        # A tuning's folder may also have its page and figures, or what its user keeps there.
        is_ours = any((self._place / name).exists() for name in ("study.log", FILE))
        if self._place.exists() and not is_ours:
            # A process that was killed early leaves its lock, or a part of a file.
            ours = (".lock", "study.log", "runs")
            others = (path.name for path in self._place.iterdir() if not path.name.endswith(".partial"))
            if any(not name.startswith(ours) for name in others):
                raise RecordsError(Fault(str(self._place), "holds something else", "choose another folder by --out"))

    def rows(self, sweep_spec: Sweep) -> list[list[Row]]:
        """The rows of a sweep by cell."""
        out = self._place / "runs"
        result = sweep(sweep_spec, out=out, workers=self._workers, progress=lambda done, _: self._report(done))
        outcome = result.outcome
        self._before += outcome.total
        if outcome.stopped:
            raise KeyboardInterrupt
        if outcome.failed:
            job, error = outcome.failed[0]
            what = f"cell {job.point}, seed {job.seed}"
            raise RunError(Fault(what, str(error), "the same command retries it"))
        for one in result.findings_of():
            self._findings.setdefault((one["code"], one["text"]), one)
        return [part.rows(named=True) for part in result.runs.partition_by("cell", maintain_order=True)]

    def _report(self, done: int) -> None:
        now = self._before + done
        self._total = max(self._total, now)
        self._progress(now, self._total)

    def reference(self, side: str) -> list[float]:
        """The divisors of the values of each cell."""
        cells = self.rows(self._spec.sweep(side, [self._spec.default]))
        try:
            means = [fmean(self._objective(row) for row in cell) for cell in cells]
        except NoValue as error:
            what = f"'{error}' has no value in a run with the default parameters"
            raise ScenarioError(
                Fault(
                    f"tune.{self._spec.goal}",
                    what,
                    "write otherwise(metric, number) for a metric that may be missing",
                )
            ) from None
        if self._spec.scale == "absolute":
            return [1.0] * len(means)
        if min(map(abs, means)) == 0 or min(means) * max(means) < 0:
            what = "is zero, or has both signs, with the default parameters: no value can be relative to it"
            raise ScenarioError(Fault(f"tune.{self._spec.goal}", what, 'write scale = "absolute"'))
        return means

    def score(self, side: str, values: Mapping[str, Value], reference: Sequence[float]) -> Score | None:
        """The score of a set; ``None`` if the objective has no value in one of its runs."""
        cells = self.rows(self._spec.sweep(side, [values]))
        try:
            parts = [
                [self._objective(row) / abs(base) for row in cell] for cell, base in zip(cells, reference, strict=True)
            ]
            excess = tuple(fmean(one.excess(row) for cell in cells for row in cell) for one in self._constraints)
        except NoValue:
            return None
        by_seed = tuple(fmean(values) for values in zip(*parts, strict=True))
        return Score(fmean(by_seed), by_seed, excess)

    def judge(self, best: Mapping[str, Value]) -> dict[tuple[str, str], Score]:
        """Default, published and tuned, on both sides."""
        sets = {"default": self._spec.default, "tuned": best}
        if len(self._spec.tried) > 1:
            sets["published"] = self._spec.tried[1]
        scores = {}
        for side in ("train", "test"):
            reference = self.reference(side)
            for name, values in sets.items():
                score = self.score(side, values, reference)
                if score is not None:
                    scores[side, name] = score
        return scores


def _study(spec: Tuning, place: Path) -> Any:
    with extra("tune"):
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    _drop_torn_end(place / "study.log")
    storage = JournalStorage(JournalFileBackend(str(place / "study.log")))
    study = optuna.create_study(
        storage=storage, study_name="tune", load_if_exists=True, direction=spec.goal.replace("ise", "ize")
    )
    kept = study.user_attrs.get("spec")
    versions = [engine_version(), metrics_version()]
    if kept is None:
        study.set_user_attr("versions", versions)
        study.set_user_attr("spec", spec.digest)
        TuningResult(_question(spec), place, []).save(place)
    elif kept != spec.digest:
        hint = "choose another folder by --out, or delete this one"
        raise RecordsError(Fault(str(place), "holds another tuning", hint))
    elif study.user_attrs.get("versions") != versions:
        engine, metrics = study.user_attrs.get("versions") or ("of another version", "")
        what = f"holds trials of cwndlab {engine}" + (
            f" with other metrics ({metrics})" if engine == versions[0] else ""
        )
        hint = "their scores are not comparable with new ones: choose another folder by --out, or delete this one"
        raise RecordsError(Fault(str(place), what, hint))
    for trial in study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
        # A trial of a killed process; its runs are kept, and it is proposed again.
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


def _drop_torn_end(log: Path) -> None:
    """Cuts a log after its last complete line: a process or a machine that fails may leave part of one. That trial is
    repeated, and its runs are kept."""
    if not log.exists():
        return
    content = log.read_bytes()
    complete = 0
    for line in content.splitlines(keepends=True):
        try:
            parsed(line)
        except ValueError:
            break
        if not line.endswith(b"\n"):
            break
        complete += len(line)
    if complete < len(content):
        os.truncate(log, complete)


def _question(spec: Tuning) -> dict[str, Any]:
    names = ("algorithm", "objective", "goal", "seed")
    sets = {"default": spec.default, "published": dict(spec.published), "tried": spec.tried[-1]}
    ranges = {name: asdict(one) for name, one in spec.ranges.items()}
    return {
        **{name: getattr(spec, name) for name in names},
        "constraints": [*spec.constraints],
        "ranges": ranges,
        **sets,
    }


def _ended(study: Any) -> int:
    return sum(trial.state.name == "COMPLETE" for trial in study.get_trials(deepcopy=False))


def _trial(study: Any, spec: Tuning, evaluator: _Evaluator, reference: Sequence[float], ended: int) -> None:
    import optuna
    from optuna.samplers import TPESampler

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    study.sampler = TPESampler(
        seed=(spec.seed * 1_000_003 + ended) % 2**32,  # the range of NumPy's seeds
        n_startup_trials=_STARTUP,
        multivariate=True,
        constant_liar=False,
    )
    waiting = study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.WAITING])
    if ended < len(spec.tried) and not waiting and _is_searched(spec.tried[ended], spec):
        study.enqueue_trial(spec.tried[ended])
    trial = study.ask({name: _distribution(name, spec) for name in spec.ranges})
    score = evaluator.score("train", trial.params, reference)
    if score is None:
        # The worst value, so that the search avoids it.
        _exceed(trial, [_WORST for _ in spec.constraints])
        trial.set_user_attr(_NO_SCORE, True)
        study.tell(trial, -_WORST if spec.goal == "maximise" else _WORST)
        return
    _exceed(trial, score.excess)
    study.tell(trial, score.mean)


def _is_searched(values: Mapping[str, Value], spec: Tuning) -> bool:
    """Whether a set of parameters is within the ranges; the default and the published one need not be."""
    return all(
        values[name] in one.values if one.values else one.low <= values[name] <= one.high  # type: ignore[operator]
        for name, one in spec.ranges.items()
    )


def _exceed(trial: Any, excess: Sequence[float]) -> None:
    """Records the excess of a trial over each constraint."""
    trial.set_user_attr(_EXCESS, list(excess))
    for index, one in enumerate(excess):
        trial.set_constraint(str(index), one)


def _distribution(name: str, spec: Tuning) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    one = spec.ranges[name]
    if one.values:
        return CategoricalDistribution(one.values)
    return FloatDistribution(one.low, one.high, log=one.log)


def _rows(study: Any, spec: Tuning) -> list[Row]:
    rows: list[Row] = []
    for trial in study.get_trials(deepcopy=False):
        if trial.state.name == "COMPLETE":
            told = trial.user_attrs
            feasible = all(one <= 0 for one in told.get(_EXCESS, ())) and not told.get(_NO_SCORE, False)
            rows.append({"trial": len(rows), **trial.params, "score": trial.value, "feasible": feasible})
    return rows


def _best(rows: Sequence[Row], spec: Tuning) -> dict[str, Value]:
    """The best set that satisfies the constraints; the earliest of equals."""
    feasible = [row for row in rows if row["feasible"]]
    if not feasible:
        what = f"none of {len(rows)} trials satisfies the constraints"
        raise RunError(Fault("tune.constraints", what, "relax them, or run more trials"))
    pick = max if spec.goal == "maximise" else min
    best = pick(feasible, key=lambda row: row["score"])
    return {name: best[name] for name in spec.parameters}
