"""Which kept results are of an earlier behaviour: the published ones, at both sizes, and the universes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cwndlab.reproduction.cases import measure_name
from cwndlab.reproduction.catalogue import find, spaces
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.kept import KeptResults, scenario_key
from cwndlab.reproduction.multiverse.kept import stale as stale_space
from cwndlab.reproduction.witnesses import Witnesses
from cwndlab.reproduction.work import Work


def stale_results(folder: Path | str, target: str = "") -> Iterator[str]:
    """Runs the probes and witnesses of a folder of kept results, and names what behaves otherwise now.

    Readings (`cwndlab.reproduction.multiverse.joint`) have no probes.

    Parameters
    ----------
    folder
        It is only read.
    target
        ``PAPER``, ``PAPER/FIGURE``, or an empty text for all of them.

    Yields
    ------
    str
        A line for each experiment and size, and each space of universes: what differs, and which command runs it again.

    Raises
    ------
    ScenarioError
        There is no such experiment.
    RecordsError
        The folder cannot be read.

    Examples
    --------
    >>> list(stale_results("nothing here"))
    []
    """
    kept, chosen = KeptResults(folder), find(target)
    if kept.perturbed(None):
        chosen = tuple(one.perturbed() for one in chosen)
    for one in chosen:
        for is_quick in (True, False):
            if what := _difference(kept, one, quick=is_quick):
                again = f"cwndlab reproduce {one.id}{' --quick' if is_quick else ''} --results {folder}"
                yield f"{one.id}, {'quick' if is_quick else 'full'} size: {what}; run `{again}`"
    for paper in dict.fromkeys(one.paper for one in chosen) if "/" not in target else ():
        for space in spaces(paper):
            if what := stale_space(Path(folder), space):
                again = f"cwndlab reproduce {paper} --multiverse --results {folder}"
                yield f"{space.id}, universes: {what}; run `{again}`"


def _difference(kept: KeptResults, one: Experiment, *, quick: bool) -> str:
    """What differs in the first case whose kept rows would not be used (`cwndlab.reproduction.run.restore`)."""
    # Also the cases with a placebo, which decide outcomes. What is kept of further repetitions counts only where a
    # claim asks for them: then the first ones have the same behaviour.
    work = Work(one, one.size(quick=quick), more=False)
    for number, many in work.first.items():
        case = work.cases[number]
        by_seed = kept.by_seed(scenario_key(case.scenario))
        for rows in (by_seed.get(seed, []) for seed in range(work.seed, work.seed + many)):
            # Rows of another measure of the same scenario are none of this experiment's; one that has only been renamed
            # has another name there.
            name = measure_name(case.measure)
            mine = next((kept.difference(row["engine"], case.measure) for row in rows if row["measure"] == name), "")
            if mine and all(kept.difference(row["engine"], case.measure) for row in rows):
                return mine
    changed = Witnesses(kept, work.cases, work.seed).differences(work.first)
    if not changed:
        return ""
    return f"{len(changed)} of {len(work.cases)} cases have another behaviour ({next(iter(changed.values()))})"
