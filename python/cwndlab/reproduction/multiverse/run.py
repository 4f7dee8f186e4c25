"""Runs the universes of a space and judges its claims in each."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cwndlab.engine import engine_version
from cwndlab.errors import RunError
from cwndlab.reproduction import case_study
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.catalogue import spaces
from cwndlab.reproduction.claims import Claim, Greater, Less, Overall
from cwndlab.reproduction.measured import Measured, Row
from cwndlab.reproduction.multiverse.kept import is_perturbed, save, valid
from cwndlab.reproduction.multiverse.robustness import TALLY, Cell, Multiverse, Tally, robustness
from cwndlab.reproduction.universes import Space, Universe
from cwndlab.reproduction.verdicts import judge
from cwndlab.simulate import check_first_seed
from cwndlab.study.executor import Plan, threads
from cwndlab.study.executor import results as results_of
from cwndlab.study.spec import Measure, Point, Progress, Study
from cwndlab.study.store import Store


def multiverse(
    target: str = "",
    *,
    quick: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
    out: Path | str | None = None,
    results: Path | str | None = None,
    perturb: bool | None = None,
) -> Generator[Multiverse, None, None]:
    """Evaluates the claims of papers over combinations of what the papers leave open.

    Parameters
    ----------
    target
        A paper; an empty text is all of them.
    quick
        Fewer universes: the first ones of the same sample. Durations and repetitions are the same.
    seed
        The seed of the first repetition.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all that are not in ``out``.
    out
        A folder for the site: the outcomes of a space as it ends, an index, and ``runs``, the finished runs, which are
        not run again.
    results
        A folder that keeps the outcomes of finished spaces (`cwndlab.reproduction.multiverse.kept`); a space whose
        dimensions, claims and behaviour are unchanged is not run again.
    perturb
        Whether each repetition varies what nobody measures exactly, as in `cwndlab.run`. By default as ``results`` has
        a space, and true where it has none; a space that it has with the other value is run again, and replaced.

    Yields
    ------
    Multiverse
        The spaces as they finish.

    Raises
    ------
    ScenarioError
        There is no such paper.
    RecordsError
        ``out`` is in use by another process, or holds something else.
    """
    check_first_seed(seed)
    folder = None if results is None else Path(results)
    report: Progress = progress or (lambda done, total: None)
    with case_study.store_of(out, write=True) as store:
        works: list[Multiverse | Work] = []
        for space in spaces(target):
            known = None if folder is None else is_perturbed(folder, space)
            if perturb or (perturb is None and known is not False):
                space = space.perturbed()
            done = None if folder is None else valid(folder, space, quick=quick, seed=seed)
            works.append(done or Work(space, space.sample(quick=quick), seed, store, quick=quick))
        left = {key for work in works if isinstance(work, Work) for key in case_study.missing(work.first, store)}
        total = len(left)
        report(0, total)
        for work in works:
            if isinstance(work, Multiverse):
                yield work
                continue
            for study in work.studies():
                new = case_study.missing(study, store) - left
                left |= new
                total += len(new)
                for job, row in results_of(Plan(study, store), store, threads(workers)):
                    if isinstance(row, RunError):
                        raise row
                    left.discard(job.key)
                    report(total - len(left), total)
            result = work.result()
            for place in (folder, out):
                if place is not None:
                    save(result, Path(place))
            yield result


class Work:
    """The runs of universes of a space: a point for each different scenario and measure; first the same number of
    repetitions for every universe, then more for those in which a claim is inconclusive.

    Parameters
    ----------
    space
        The space.
    universes
        Those to run.
    seed
        The seed of the first repetition.
    store
        Where finished runs are.
    quick
        Whether these are the universes of the quick size.
    repetitions
        Runs of each case at first, by default as the space says.
    """

    def __init__(
        self,
        space: Space,
        universes: Sequence[Universe],
        seed: int,
        store: Store,
        *,
        quick: bool = False,
        repetitions: int | None = None,
    ) -> None:
        self._space, self._quick, self._seed, self._store = space, quick, seed, store
        self._universes = universes
        self._repetitions = [repetitions or space.repetitions] * len(self._universes)
        self._cases: list[list[tuple[int, Case]]] = []
        numbers: dict[tuple[str, str], int] = {}
        self._points: list[Point] = []
        self._measures: list[Measure] = []
        for universe in self._universes:
            mine = []
            for case in space.cases(universe):
                point, measure = case_study.point_of(len(self._points), case), case_study.measure_of(case)
                key = (point.hash, measure.digest)
                if key not in numbers:
                    numbers[key] = point.number
                    self._points.append(point)
                    self._measures.append(measure)
                mine.append((numbers[key], case))
            self._cases.append(mine)
        self.first = self._study(range(len(self._points)), self._repetitions[0])

    def _study(self, numbers: Iterable[int], repetitions: int) -> Study:
        return Study(
            points=[self._points[number] for number in sorted(set(numbers))],
            seeds=range(self._seed, self._seed + repetitions),
            measure=lambda point, seed: self._measures[point.number],
        )

    def studies(self) -> Iterator[Study]:
        """The runs to do; the second study depends on the outcome of the first."""
        yield self.first
        most = self._space.at_most
        cells = zip(*(claim.cells for claim in self.result().claims), strict=True)
        open_ = [at for at, mine in enumerate(cells) if any(cell.finding.outcome == "inconclusive" for cell in mine)]
        if open_ and most > self._space.repetitions:
            for at in open_:
                self._repetitions[at] = most
            yield self._study((number for at in open_ for number, _ in self._cases[at]), most)

    def result(self) -> Multiverse:
        """Judges every claim in every universe."""
        study = self._study(range(len(self._points)), max(self._repetitions))
        jobs = {
            (number, repetition): study.job(self._points[number], self._seed + repetition).key
            for cases, many in zip(self._cases, self._repetitions, strict=True)
            for number, _ in cases
            for repetition in range(many)
        }
        kept = self._store.payloads(set(jobs.values()), engine_version(), {one.digest for one in self._measures})
        cells: list[list[Cell]] = []
        for universe, cases, many in zip(self._universes, self._cases, self._repetitions, strict=True):
            rows = [
                Row.of(case, repetition, kept[jobs[number, repetition]])
                for number, case in cases
                for repetition in range(many)
            ]
            measured = Measured(Size(0.0, many), rows)
            claims = self._space.claims(universe)
            cells.append([_cell(self._space, universe, claim, measured) for claim in claims])
        by_claim = [list(column) for column in zip(*cells, strict=True)]
        found = robustness(self._space, list(self._space.claims(self._space.base)), by_claim)
        runs, repetitions = len(set(jobs.values())), (self._space.repetitions, self._space.at_most)
        return Multiverse(self._space, self._quick, self._seed, self._universes, found, runs, repetitions)


def _cell(space: Space, universe: Universe, claim: Claim, measured: Measured) -> Cell:
    """A claim in a universe: its direction, and beside it whether its size is the published one."""
    relation = claim.relation
    if not isinstance(relation, (Greater, Less, Overall)) or relation.ratio is None:
        return Cell(universe, judge(space.id, claim, measured))
    size = judge(space.id, claim, measured)
    effect = abs(relation.ratio - 1) if relation.effect is None else relation.effect
    direction = replace(claim, relation=replace(relation, ratio=None, effect=effect))
    of_size: Tally = "ties" if size.outcome == "holds at another size" else TALLY[size.outcome]
    return Cell(universe, judge(space.id, direction, measured), of_size)
