"""The search: Optuna proposes, sweeps measure, and what was measured is never measured again.

The sampler is made anew for each trial, with a seed that follows from the search's and the number of trials that have
ended: what it proposes depends on nothing but that and on their values. So a search that was killed goes on as if it
had not been.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from cwndlab.engine import engine_version
from cwndlab.errors import Fault, RecordsError, RunError, ScenarioError
from cwndlab.files import parsed
from cwndlab.lazy import extra
from cwndlab.metrics.numbers import NAMES, metrics_version
from cwndlab.study.lock import FileLock
from cwndlab.study.sweeps.execution import Outcome, sweep
from cwndlab.study.sweeps.results import load
from cwndlab.study.sweeps.spec import Sweep
from cwndlab.study.tuning.expression import Expression, NoValue
from cwndlab.study.tuning.spec import Constraint, Tuning, Value

# Random proposals before the sampler learns.
_STARTUP = 10
_EXCESS = "excess"

Row = dict[str, Any]
Progress = Callable[[int, int], Any]


@dataclass(frozen=True)
class Score:
    """What a set of parameters is worth on one side."""

    mean: float
    by_seed: tuple[float, ...]
    """The means over cells, one per seed: what is paired."""
    excess: tuple[float, ...]
    """Of each constraint, above zero where it does not hold."""


@dataclass(repr=False)
class TuningResult:
    """How a tuning ended."""

    question: Tuning
    place: Path
    trials: list[Row]
    """``trial``, each parameter, ``score``, ``feasible``."""
    best: dict[str, Value]
    scores: dict[tuple[str, str], Score]
    """By side (``train``, ``test``) and who (``default``, ``published``, ``tuned``)."""
    complete: bool = True

    def __repr__(self) -> str:
        state = "complete" if self.complete else "unfinished"
        return f"<TuningResult in {self.place}: {len(self.trials)} trials, {state}, best {self.best}>"


def tune(
    question: Tuning,
    *,
    out: str | Path,
    trials: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> TuningResult:
    """Searches, and judges what was found on the held-back scenarios; goes on where ``out`` was left.

    Raises ``RecordsError`` where ``out`` holds another tuning or is in use. On Ctrl-C it judges nothing:
    ``complete`` is false.
    """
    place = Path(out)
    count = question.trials if trials is None else trials
    total = count * len(question.train) * len(question.train.seeds)
    with ExitStack() as stack:
        bench = _Bench(question, place, workers, progress, total)
        bench.refuse()
        place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place)
        stack.callback(lock.release)
        # Optuna's own lock of a process that was killed would be waited for; ours says that nobody is there.
        for left in place.glob("study.log.*"):
            left.unlink(missing_ok=True)
        study = _study(question, place)
        try:
            reference = bench.reference("train")
            while (ended := _ended(study)) < count:
                _trial(study, question, bench, reference, ended)
            rows = _rows(study, question)
            best = _best(rows, question)
            scores = bench.judge(best)
        except KeyboardInterrupt:
            return TuningResult(question, place, _rows(study, question), {}, {}, complete=False)
    return TuningResult(question, place, rows, best, scores)


class _Bench:
    """Measures sets of parameters; rows are kept in ``runs`` of the folder."""

    def __init__(
        self, question: Tuning, place: Path, workers: int | None, progress: Progress | None, total: int
    ) -> None:
        self._question, self._place, self._workers = question, place, workers
        self._progress = progress or (lambda done, total: None)
        self._total, self._before = total, 0
        self._objective = Expression.parse(question.objective, "tune", list(NAMES))
        self._constraints = [Constraint.parse(text, "tune.constraints") for text in question.constraints]

    def refuse(self) -> None:
        """Raises where the folder holds something else."""
        if self._place.exists():
            ours = (".lock", "study.log", "runs", "tuning.json")
            if any(not path.name.startswith(ours) for path in self._place.iterdir()):
                raise RecordsError(Fault(str(self._place), "holds something else", "choose another folder by --out"))

    def rows(self, asked: Sweep) -> list[list[Row]]:
        """The rows of a sweep by cell."""
        out = self._place / "runs"
        outcome: Outcome = sweep(asked, out=out, workers=self._workers, progress=lambda done, _: self._report(done))
        self._before += outcome.total
        if outcome.stopped:
            raise KeyboardInterrupt
        if outcome.failed:
            job, what = outcome.failed[0]
            raise RunError(Fault(f"cell {job.cell}, seed {job.seed}", what, "the same command tries it again"))
        return [part.rows(named=True) for part in load(out).partition_by("cell", maintain_order=True)]

    def _report(self, done: int) -> None:
        now = self._before + done
        self._total = max(self._total, now)
        self._progress(now, self._total)

    def reference(self, side: str) -> list[float]:
        """What each cell's values are divided by."""
        cells = self.rows(self._question.sweep(side, [self._question.default]))
        try:
            means = [fmean(self._objective(row) for row in cell) for cell in cells]
        except NoValue as error:
            what = f"'{error}' has no value in a run with the default parameters"
            raise ScenarioError(
                Fault(f"tune.{self._question.goal}", what, "write otherwise(metric, number) for what may not happen")
            ) from None
        if self._question.scale == "absolute":
            return [1.0] * len(means)
        if min(map(abs, means)) == 0 or min(means) * max(means) < 0:
            what = "is zero, or of both signs, with the default parameters: nothing can be relative to it"
            raise ScenarioError(Fault(f"tune.{self._question.goal}", what, 'write scale = "absolute"'))
        return means

    def score(self, side: str, values: Mapping[str, Value], reference: Sequence[float]) -> Score | None:
        """What a set is worth; nothing where the objective has no value in one of its runs."""
        cells = self.rows(self._question.sweep(side, [values]))
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
        who = {"default": self._question.default, "tuned": best}
        if len(self._question.tried) > 1:
            who["published"] = self._question.tried[1]
        found = {}
        for side in ("train", "test"):
            reference = self.reference(side)
            for name, values in who.items():
                score = self.score(side, values, reference)
                if score is not None:
                    found[side, name] = score
        return found


def _study(question: Tuning, place: Path) -> Any:
    with extra("tune"):
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    _drop_torn_end(place / "study.log")
    storage = JournalStorage(JournalFileBackend(str(place / "study.log")))
    study = optuna.create_study(
        storage=storage, study_name="tune", load_if_exists=True, direction=question.goal.replace("ise", "ize")
    )
    kept = study.user_attrs.get("question")
    versions = [engine_version(), metrics_version()]
    if kept is None:
        study.set_user_attr("versions", versions)
        study.set_user_attr("question", question.digest)
        (place / "tuning.json").write_text(json.dumps(_summary(question), indent=1), encoding="utf-8")
    elif kept != question.digest:
        hint = "choose another folder by --out, or delete this one"
        raise RecordsError(Fault(str(place), "holds another tuning", hint))
    elif study.user_attrs.get("versions") != versions:
        engine, metrics = study.user_attrs.get("versions") or ("of another version", "")
        what = f"holds trials of cwndlab {engine}" + (
            f" with other metrics ({metrics})" if engine == versions[0] else ""
        )
        hint = "their scores and ours are not comparable: choose another folder by --out, or delete this one"
        raise RecordsError(Fault(str(place), what, hint))
    for trial in study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
        # Of a process that was killed. Its runs are kept; it is proposed again.
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


def _drop_torn_end(log: Path) -> None:
    """Cuts a log after its last whole line: a process or a machine that fails may leave part of one. What it said is
    done again, and its runs are kept."""
    if not log.exists():
        return
    content = log.read_bytes()
    whole = 0
    for line in content.splitlines(keepends=True):
        try:
            parsed(line)
        except ValueError:
            break
        if not line.endswith(b"\n"):
            break
        whole += len(line)
    if whole < len(content):
        os.truncate(log, whole)


def _summary(question: Tuning) -> Row:
    return {
        "algorithm": question.algorithm,
        "objective": f"{question.goal} {question.objective}",
        "constraints": list(question.constraints),
        "seed": question.seed,
    }


def _ended(study: Any) -> int:
    return sum(trial.state.name == "COMPLETE" for trial in study.get_trials(deepcopy=False))


def _trial(study: Any, question: Tuning, bench: _Bench, reference: Sequence[float], ended: int) -> None:
    import optuna
    from optuna.samplers import TPESampler

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    study.sampler = TPESampler(
        seed=question.seed * 1_000_003 + ended,
        n_startup_trials=_STARTUP,
        multivariate=True,
        constant_liar=False,
    )
    waiting = study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.WAITING])
    if ended < len(question.tried) and not waiting:
        study.enqueue_trial(question.tried[ended])
    trial = study.ask({name: _distribution(name, question) for name in question.ranges})
    score = bench.score("train", trial.params, reference)
    if score is None:
        # As bad as can be, so that the search keeps away.
        _exceed(trial, [1e9 for _ in question.constraints])
        study.tell(trial, -1e9 if question.goal == "maximise" else 1e9)
        return
    _exceed(trial, score.excess)
    study.tell(trial, score.mean)


def _exceed(trial: Any, excess: Sequence[float]) -> None:
    """Notes how far a trial is beyond each constraint."""
    trial.set_user_attr(_EXCESS, list(excess))
    for index, one in enumerate(excess):
        trial.set_constraint(str(index), one)


def _distribution(name: str, question: Tuning) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    one = question.ranges[name]
    if one.values:
        return CategoricalDistribution(one.values)
    return FloatDistribution(one.low, one.high, log=one.log)


def _rows(study: Any, question: Tuning) -> list[Row]:
    found: list[Row] = []
    for trial in study.get_trials(deepcopy=False):
        if trial.state.name == "COMPLETE":
            feasible = all(one <= 0 for one in trial.user_attrs.get(_EXCESS, ())) and abs(trial.value) < 1e9
            found.append({"trial": len(found), **trial.params, "score": trial.value, "feasible": feasible})
    return found


def _best(rows: Sequence[Row], question: Tuning) -> dict[str, Value]:
    """The best set that keeps the constraints; the earliest of equals."""
    feasible = [row for row in rows if row["feasible"]]
    if not feasible:
        what = f"none of {len(rows)} trials keeps the constraints"
        raise RunError(Fault("tune.constraints", what, "loosen them, or try more"))
    pick = max if question.goal == "maximise" else min
    best = pick(feasible, key=lambda row: row["score"])
    return {name: best[name] for name in question.parameters}
