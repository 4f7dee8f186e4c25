"""What holds together: the claims of a paper in one universe, which of them exclude each other, and a search for the
reading in which most hold.

A paper's claims are about one algorithm on one path, so that one set of choices should support them all. The search
counts only every second headline of the paper, in its order, from the first one on. The others judge what it finds,
with new seeds: the number of claims that a search reached says nothing about the claims that it did not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

from scipy.stats import fisher_exact

from cwndlab.errors import Fault, RecordsError, RunError, ScenarioError
from cwndlab.files import atomic_write, json_text, parsed
from cwndlab.lazy import extra
from cwndlab.reproduction import case_study
from cwndlab.reproduction.catalogue import PAPERS, spaces
from cwndlab.reproduction.multiverse.kept import load
from cwndlab.reproduction.multiverse.robustness import TALLIES, Multiverse, Tally, weakest_tally
from cwndlab.reproduction.multiverse.run import Work
from cwndlab.reproduction.universes import Dimension, Space, Universe
from cwndlab.simulate import check_first_seed
from cwndlab.study.executor import Plan, results, threads
from cwndlab.study.spec import Progress
from cwndlab.study.store import Store

#: A choice of each dimension of a paper, by the dimension's label.
Choices: TypeAlias = Mapping[str, str]
#: The tally of each headline, by its key.
Tallies: TypeAlias = Mapping[str, Tally]

#: The level at which two claims exclude each other, before the correction for the number of pairs.
_LEVEL = 0.05
#: Universes that the search tries, and at the quick size.
_TRIALS, _QUICK = 80, 8
#: Random proposals before the sampler learns.
_STARTUP = 20
#: How many universes of each space's sample the search begins with.
_FIRST = 4
#: Between the seeds of the search and those of the judgement.
_NEW_SEEDS = 1000
#: Repetitions of the judgement.
_REPETITIONS = 8


@dataclass(frozen=True)
class Together:
    """The claims of a space in the universe of its sample in which most hold."""

    space: Space
    universe: Universe
    best: Tallies
    """In that universe: most hold, and of such universes the fewest are opposite."""
    base: Tallies
    """At the base assumptions."""
    exclusive: Sequence[tuple[str, str]]
    """Pairs of headlines each of which holds somewhere, and never where the other does, though they would by chance
    (Fisher's exact test, Bonferroni's correction for the number of pairs)."""


def together(one: Multiverse) -> Together:
    """What holds together over the sample of a space."""
    by_headline = {key: found.together for key, found in one.by_headline().items()}
    by_universe = [{key: row.cells[at].tally for key, row in by_headline.items()} for at in range(len(one.universes))]
    at = max(range(len(by_universe)), key=lambda at: (score(by_universe[at]), -at))
    pairs = list(combinations(by_headline, 2))
    exclusive = [pair for pair in pairs if _excludes(by_universe, *pair, level=_LEVEL / len(pairs))]
    return Together(one.space, one.universes[at], by_universe[at], by_universe[0], exclusive)


def _excludes(by_universe: Sequence[Tallies], one: str, other: str, *, level: float) -> bool:
    able = [
        (mine[one] == "holds", mine[other] == "holds")
        for mine in by_universe
        if "cannot discriminate" not in (mine[one], mine[other])
    ]
    table = [[able.count((first, second)) for second in (True, False)] for first in (True, False)]
    each_holds = table[0][1] and table[1][0]
    return bool(each_holds) and table[0][0] == 0 and fisher_exact(table, alternative="less").pvalue < level


def score(tallies: Tallies) -> float:
    """How many claims hold; of equal numbers the one with fewer opposite is greater.

    >>> score({"a": "holds", "b": "opposite"}) < score({"a": "holds", "b": "ties"})
    True
    >>> score({"a": "holds", "b": "ties"}) < score({"a": "holds", "b": "holds"})
    True
    """
    states = list(tallies.values())
    return states.count("holds") - states.count("opposite") / (len(states) + 1)


@dataclass(frozen=True)
class Reading:
    """The choices that the search found, beside the base assumptions."""

    paper: str
    choices: Choices
    """Those that differ from the base assumptions, and without which fewer claims of the first half hold."""
    trials: int
    """Different sets of choices that were tried."""
    seeds: tuple[int, int]
    """The first seed of the search, and of the judgement."""
    repetitions: tuple[int, int]
    """Runs of each case in the search, and in the judgement."""
    chosen_by: Sequence[str]
    """The headlines that the search counted."""
    searched: tuple[Tallies, Tallies]
    """These at the base assumptions and in the reading, as the search saw them."""
    judged: tuple[Tallies, Tallies]
    """All headlines at the base assumptions and in the reading, with new seeds."""

    @property
    def unseen(self) -> tuple[Tallies, Tallies]:
        """The headlines that the search did not count, at the base assumptions and in the reading, with new seeds."""
        base, found = ({k: one for k, one in side.items() if k not in self.chosen_by} for side in self.judged)
        return base, found

    @property
    def is_recommended(self) -> bool:
        """Whether more of the claims that the search did not count hold than at the base assumptions, and no more of
        them are opposite."""
        base, found = (list(side.values()) for side in self.unseen)
        more = found.count("holds") > base.count("holds")
        return bool(self.choices) and more and found.count("opposite") <= base.count("opposite")


def path_of(folder: Path, paper: str) -> Path:
    """The file of a paper's reading."""
    return folder / "multiverse" / f"{paper}-joint.json"


def save(one: Reading, folder: Path | str) -> Path:
    """Writes a reading; returns the file's path."""
    path = path_of(Path(folder), one.paper)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write((json_text(asdict(one), ensure_ascii=False, indent=1) + "\n").encode())
    return path


def reading(folder: Path | str, paper: str) -> Reading | None:
    """What a folder has of a paper.

    Raises
    ------
    RecordsError
        The file cannot be read, or is of other dimensions or headlines than this version has.
    """
    path = path_of(Path(folder), paper)
    if not path.exists():
        return None
    try:
        content = parsed(path.read_bytes())
        pairs: dict[str, Any] = {
            name: tuple(content.pop(name)) for name in ("seeds", "repetitions", "searched", "judged")
        }
        found = Reading(**content, **pairs)
        dimensions = Joined(spaces(paper)).dimensions
        known = {one.key for one in PAPERS[paper].headlines}
        is_same = all(choice in dimensions[label].choices for label, choice in found.choices.items())
        is_same = is_same and all(known >= side.keys() and set(TALLIES) >= set(side.values()) for side in found.judged)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        is_same = False
    if not is_same:
        hint = f"run `cwndlab reproduce {paper} --joint --results {path.parent.parent}` again"
        raise RecordsError(Fault(str(path), "is not a reading of this version's dimensions and headlines", hint))
    return found


class Joined:
    """The spaces of a paper as one: the dimensions of all of them. Those of equal names and choices are the same."""

    def __init__(self, mine: Sequence[Space]) -> None:
        self.spaces = mine
        self.dimensions: dict[str, Dimension] = {}
        self._labels: list[dict[str, str]] = []
        for space in mine:
            labels = {}
            for one in space.dimensions:
                known = self.dimensions.get(one.name)
                is_other = known is not None and tuple(known.choices) != tuple(one.choices)
                labels[one.name] = f"{one.name} ({space.name})" if is_other else one.name
                self.dimensions.setdefault(labels[one.name], one)
            self._labels.append(labels)

    @property
    def base(self) -> dict[str, str]:
        """The base assumptions."""
        return {label: one.choices[0] for label, one in self.dimensions.items()}

    def universe(self, number: int, choices: Choices) -> Universe:
        """The universe of a space."""
        return {name: choices[label] for name, label in self._labels[number].items()}

    def choices(self, number: int, universe: Universe) -> Choices:
        """The base assumptions with the choices of a universe of one space."""
        labels = self._labels[number]
        return self.base | {labels[name]: choice for name, choice in universe.items()}


def search(
    paper: str,
    *,
    quick: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    out: Path | str | None = None,
    kept: Path | str | None = None,
) -> Reading:
    """Searches the choices of a paper for the reading in which most of its claims hold together.

    Parameters
    ----------
    paper
        Its name.
    quick
        A tenth of the trials.
    seed
        The seed of the search's first repetition, and of its proposals.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished trials and of all.
    out
        A folder with finished runs in ``runs``, which are not repeated.
    kept
        A folder with the outcomes of spaces; the search begins with their best universes. `save` writes the reading
        beside them.

    Raises
    ------
    ScenarioError
        There is no such paper, or it has no universes.
    RunError
        The extra ``tune`` is not installed.
    """
    check_first_seed(seed)
    mine = spaces(paper)
    if not mine:
        raise ScenarioError(Fault("reproduce --joint", f"'{paper}' has no universes", "name a paper that has some"))
    joined = Joined([space.perturbed() for space in mine])
    with case_study.store_of(out, write=True) as store:
        trier = _Trier(joined, seed, workers, store)
        keys = [one.key for one in PAPERS[paper].headlines if one.key in trier.keys]
        chosen_by = keys[::2]
        first = [joined.base, *_best_of(joined, chosen_by, kept)]
        count = _QUICK if quick else _TRIALS
        best = _searched(trier, first, chosen_by, count, seed, progress or (lambda done, total: None))
        best = _needed(trier, best, chosen_by)
        searched = tuple(_of(trier.tallies(one), chosen_by) for one in (joined.base, best))
        judge = _Trier(joined, seed + _NEW_SEEDS, workers, store, _REPETITIONS)
        judged = tuple(_of(judge.tallies(one), keys) for one in (joined.base, best))
    choices = {label: choice for label, choice in best.items() if choice != joined.base[label]}
    repetitions = (max(space.repetitions for space in joined.spaces), _REPETITIONS)
    seeds = (seed, seed + _NEW_SEEDS)
    return Reading(
        paper, choices, trier.tried, seeds, repetitions, chosen_by, (searched[0], searched[1]), (judged[0], judged[1])
    )


class _Trier:
    """Evaluates the headlines of a paper in sets of choices, each once."""

    def __init__(
        self, joined: Joined, seed: int, workers: int | None, store: Store, repetitions: int | None = None
    ) -> None:
        self._joined, self._seed, self._workers, self._store = joined, seed, workers, store
        self._repetitions = repetitions
        self._known: dict[tuple[str, ...], Tallies] = {}
        self.keys = {claim.headline for space in joined.spaces for claim in space.claims(space.base)}

    @property
    def dimensions(self) -> Mapping[str, Dimension]:
        """Those of the paper."""
        return self._joined.dimensions

    @property
    def tried(self) -> int:
        """How many sets were."""
        return len(self._known)

    def tallies(self, choices: Choices) -> Tallies:
        """Of a headline that several spaces have, the weakest one counts."""
        key = tuple(choices[label] for label in self._joined.dimensions)
        if key not in self._known:
            self._known[key] = self._run(choices)
        return self._known[key]

    def _run(self, choices: Choices) -> Tallies:
        found: dict[str, Tally] = {}
        for number, space in enumerate(self._joined.spaces):
            universe = self._joined.universe(number, choices)
            work = Work(space, [universe], self._seed, self._store, repetitions=self._repetitions)
            for _, row in results(Plan(work.first, self._store), self._store, threads(self._workers)):
                if isinstance(row, RunError):
                    raise row
            for headline, evidence in work.result().by_headline().items():
                mine = evidence.together.cells[0].tally
                found[headline] = weakest_tally([mine, found.get(headline, mine)])
        return found


def _of(tallies: Tallies, keys: Sequence[str]) -> Tallies:
    return {key: tallies[key] for key in keys}


def _best_of(joined: Joined, chosen_by: Sequence[str], kept: Path | str | None) -> Iterator[Choices]:
    """The best universes of each space's sample, by the headlines of the search alone."""
    known = {} if kept is None else {one.space.id: one for one in load(Path(kept), joined.spaces[0].paper)}
    for number, space in enumerate(joined.spaces):
        if space.id not in known:
            continue
        one = known[space.id]
        rows = {key: found.together for key, found in one.by_headline().items() if key in chosen_by}

        def value(at: int, rows: Mapping[str, Any] = rows) -> float:
            return score({key: row.cells[at].tally for key, row in rows.items()})

        for at in sorted(range(len(one.universes)), key=lambda at: -value(at))[:_FIRST]:
            yield joined.choices(number, one.universes[at])


def _searched(
    trier: _Trier, first: Sequence[Choices], chosen_by: Sequence[str], count: int, seed: int, progress: Progress
) -> Choices:
    with extra("tune"):
        import optuna
        from optuna.distributions import CategoricalDistribution
        from optuna.samplers import TPESampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = TPESampler(seed=seed % 2**32, n_startup_trials=_STARTUP)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for choices in first[:count]:
        study.enqueue_trial(dict(choices), skip_if_exists=True)
    ranges = {label: CategoricalDistribution(tuple(one.choices)) for label, one in trier.dimensions.items()}
    for done in range(count):
        progress(done, count)
        trial = study.ask(ranges)
        study.tell(trial, score(_of(trier.tallies(trial.params), chosen_by)))
    progress(count, count)
    # The earliest of equals, so that the base assumptions stay where nothing is better.
    best = max(study.get_trials(deepcopy=False), key=lambda trial: (trial.value, -trial.number))
    return dict(best.params)


def _needed(trier: _Trier, found: Choices, chosen_by: Sequence[str]) -> Choices:
    """The same with every choice taken back without which as many claims hold."""
    least = score(_of(trier.tallies(found), chosen_by))
    for label, one in trier.dimensions.items():
        without = {**found, label: one.choices[0]}
        if without != found and score(_of(trier.tallies(without), chosen_by)) >= least:
            found = without
    return found
