"""The search for the most harmful events, their reduction to few, and the confirmation with other seeds.

Optuna's tree-structured Parzen estimator proposes lists of events. Its proposals depend on the seed and on the values
of earlier batches only, so that the result is the same for any number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from cwndlab import statistics
from cwndlab.errors import ArgumentError, Fault, ScenarioError, parameter_fault
from cwndlab.lazy import extra
from cwndlab.scenario.like import ScenarioLike, scenario_of
from cwndlab.simulate import run_many
from cwndlab.study.attack.harms import HARMS, Goal, harm
from cwndlab.study.attack.result import STORY_SEED, AttackResult
from cwndlab.study.attack.world import KINDS, PATH, Event, World, shifted

#: Candidates that are proposed together, before any of them is measured.
_BATCH = 8
_SEARCH_SEEDS = (1, 2)
_CHOICE_SEEDS = (11, 12, 13, 14, 15)
_CONFIRM_SEEDS = tuple(range(STORY_SEED, STORY_SEED + 10))
#: Candidates that are compared again with other seeds.
_FINALISTS = 5
#: The share of the harm that must remain when an event is left out or rounded.
_REMAINS = 0.9


@dataclass(frozen=True)
class _Question:
    """What is attacked, and the yardstick."""

    algorithm: str
    against: str
    goal: Goal
    world: World
    workers: int | None

    def values(self, candidates: Sequence[Sequence[Event]], seeds: Sequence[int]) -> list[list[list[float]]]:
        """By candidate, algorithm (the attacked one, the baseline) and seed the value of `Harm`."""
        pairs = [(events, algorithm) for events in candidates for algorithm in (self.algorithm, self.against)]
        jobs = [(self.world.scenario(one, shifted(events, seed)), seed) for events, one in pairs for seed in seeds]
        kind = HARMS[self.goal]
        found = [0.0] * len(jobs)
        for index, records in run_many(jobs, workers=self.workers, algorithms=self.world.classes):
            found[index] = kind.value(records, self.world.duration_s)
        each = [found[start : start + len(seeds)] for start in range(0, len(found), len(seeds))]
        return [each[start : start + 2] for start in range(0, len(each), 2)]

    def harms(self, candidates: Sequence[Sequence[Event]], seeds: Sequence[int]) -> list[float]:
        """The mean harm of each candidate."""
        return [fmean(self.of_each(both)) for both in self.values(candidates, seeds)]

    def of_each(self, both: Sequence[Sequence[float]]) -> list[float]:
        """The harm by seed of the values of the attacked algorithm and the baseline."""
        least = HARMS[self.goal].least(self.world.forward.rate_bps)
        return [harm(self.goal, one, base, least) for one, base in zip(*both, strict=True)]


def attack(
    algorithm: str,
    against: str = "cubic",
    *,
    scenario: ScenarioLike = PATH,
    goal: Goal = "itself",
    trials: int = 200,
    most_events: int = 5,
    receivers: bool = True,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> AttackResult:
    """Searches events on a path that harm an algorithm most, compared with a baseline in its place.

    Parameters
    ----------
    algorithm, against
        The attacked algorithm and the baseline: names, or those of classes that ``scenario`` brings.
    scenario
        A dumbbell with a constant rate, by default 10 Mbit/s with an RTT of 40 ms, a buffer of one BDP, and 30 s. Its
        first flow is the attacked one; others are left out.
    goal
        The harm to maximise: to ``itself``, to ``others`` (a flow of CUBIC beside it), the ``difference``, or the
        ``delay`` of packets in the queue.
    trials
        Number of lists of events to try.
    most_events
        The longest list.
    receivers
        Also search over how the receiver acknowledges, which only the simulator can do.
    seed
        Seed of the search.
    workers
        Number of threads; the result does not depend on it.
    progress
        Is called with the number of tried lists and of all.

    Returns
    -------
    AttackResult
        The events that are left after the reduction, and their harm with seeds that chose nothing.

    Raises
    ------
    ScenarioError
        The scenario is no such path, or there is no such goal.
    """
    if goal not in HARMS:
        raise ScenarioError(Fault("goal", f"'{goal}' is no harm", f"write {', '.join(HARMS)}"))
    if trials < 1:
        raise ArgumentError(parameter_fault("trials", f"{trials} lists find nothing", example=200))
    question = _Question(algorithm, against, goal, World.of(scenario_of(scenario), beside=goal == "others"), workers)
    kinds = [kind for kind, known in KINDS.items() if receivers or not known.receiver]
    tried = _search(question, kinds, trials, most_events, seed, progress or (lambda done, total: None))
    finalists = sorted(tried, key=lambda one: (-one[1], one[0]))[:_FINALISTS]
    again = question.harms([events for events, _ in finalists], _CHOICE_SEEDS)
    found, before = max(zip((list(one) for one, _ in finalists), again, strict=True), key=lambda pair: pair[1])
    events = _rounded(question, _fewest(question, found, before), before)
    (both,) = question.values([events], _CONFIRM_SEEDS)
    (quiet,) = question.harms([[]], _CHOICE_SEEDS)
    return AttackResult(
        algorithm=algorithm,
        against=against,
        goal=goal,
        world=question.world,
        events=events,
        found=len(found),
        trials=len(tried),
        harm=statistics.estimate(question.of_each(both)),
        quiet=quiet,
        values=(both[0], both[1]),
    )


def _search(
    question: _Question, kinds: Sequence[str], trials: int, most: int, seed: int, progress: Callable[[int, int], Any]
) -> list[tuple[tuple[Event, ...], float]]:
    """The tried lists of events with their harm."""
    with extra("tune"):
        import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # The range of NumPy's seeds.
        first = seed % 2**32
        sampler = optuna.samplers.TPESampler(seed=first, multivariate=True, constant_liar=True, n_startup_trials=24)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    tried: list[tuple[tuple[Event, ...], float]] = []
    while len(tried) < trials:
        asked = [study.ask() for _ in range(min(_BATCH, trials - len(tried)))]
        candidates = [_proposed(one, kinds, most, question.world.duration_s) for one in asked]
        for trial, events, value in zip(asked, candidates, question.harms(candidates, _SEARCH_SEEDS), strict=True):
            study.tell(trial, value)
            tried.append((events, value))
        progress(len(tried), trials)
    return tried


def _proposed(trial: Any, kinds: Sequence[str], most: int, duration_s: float) -> tuple[Event, ...]:
    """The events of a proposal."""
    events = []
    for slot in range(most):
        kind = trial.suggest_categorical(f"kind {slot}", ["none", *kinds])
        numbers = [trial.suggest_float(f"{name} {slot}", 0.0, 1.0) for name in ("at", "length", "amount")]
        if kind != "none":
            at, length, amount = numbers
            events.append(Event.within(kind, at, length, amount, duration_s))
    return tuple(sorted(events))


def _fewest(question: _Question, events: list[Event], before: float) -> list[Event]:
    """Leaves out events, one at a time and the least needed first, as long as the harm remains."""
    while events:
        shorter = [events[:at] + events[at + 1 :] for at in range(len(events))]
        harms = question.harms(shorter, _CHOICE_SEEDS)
        best = max(range(len(events)), key=lambda at: harms[at])
        if harms[best] < _REMAINS * before:
            return events
        events = shorter[best]
    return events


def _rounded(question: _Question, events: list[Event], before: float) -> list[Event]:
    """Rounds the numbers of each event as far as the harm remains: to one digit, else to two."""
    for at in range(len(events)):
        for name in ("amount",) if KINDS[events[at].kind].receiver else ("at_s", "for_s", "amount"):
            for digits in (1, 2):
                changed = [*events[:at], _with_digits(events[at], name, digits), *events[at + 1 :]]
                if changed[at].end_s > question.world.duration_s:
                    continue
                if question.harms([changed], _CHOICE_SEEDS)[0] >= _REMAINS * before:
                    events = changed
                    break
    return sorted(events)


def _with_digits(one: Event, name: str, digits: int) -> Event:
    """The event with a number of this many digits; its start to a second, or to a tenth."""
    if name == "at_s":
        return replace(one, at_s=round(one.at_s, digits - 1))
    if name == "for_s":
        return replace(one, for_s=float(f"{one.for_s:.{digits}g}"))
    return replace(one, amount=float(f"{one.amount:.{digits}g}"))
