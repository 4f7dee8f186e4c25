"""Plans a reproduction: which runs are left, and what they cost, from a few of them that are run for a moment."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cwndlab.reproduction.case_study import store_of
from cwndlab.reproduction.catalogue import find
from cwndlab.reproduction.kept import KeptResults, Message
from cwndlab.reproduction.run import first_studies, restore
from cwndlab.study.calibration import expected_cpu_s
from cwndlab.study.spec import Point
from cwndlab.study.store import Store

# Points of an experiment that are run for a moment, at most.
_MOST_POINTS = 4
# Such a run has so many packets at full rate, and at most so many, and lasts so long after the last start: slow start
# over long RTTs is over by then.
_PACKETS, _MOST_PACKETS, _SETTLED_S = 40_000, 8_000_000, 20.0


@dataclass(frozen=True)
class PlannedExperiment:
    """What is left of an experiment, and what it costs."""

    id: str
    cases: int
    runs: int
    shared: int
    """Runs of an earlier experiment of the plan, which has their cost."""
    left: int
    """Runs that neither the folders nor an earlier experiment have."""
    cpu_s: float
    """CPU time of the runs that are left, estimated on this machine."""
    all_cpu_s: float
    """CPU time of all runs that are not shared."""

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


@dataclass(frozen=True)
class ReproductionPlan:
    """The plan of some experiments."""

    experiments: Sequence[PlannedExperiment]
    took_s: float

    @property
    def cpu_s(self) -> float:
        """CPU time of all runs that are left."""
        return sum(one.cpu_s for one in self.experiments)


def plan(
    target: str = "",
    *,
    quick: bool = False,
    seed: int = 1,
    out: Path | str | None = None,
    results: Path | str | None = None,
    only: Mapping[str, str] | None = None,
    message: Message | None = None,
    perturb: bool | None = None,
) -> ReproductionPlan:
    """Counts the runs of published experiments, and estimates what those that are left cost here.

    Of each experiment at most four points are run for a moment, as `cwndlab.study.calibration` describes.
    Kept results are compared with the present behaviour, as before a reproduction.

    Parameters
    ----------
    target, quick, seed, out, results, only, message, perturb
        As in `cwndlab.reproduction.reproduce`. Nothing is written.

    Examples
    --------
    >>> one = plan("windows-lte/fig1", quick=True).experiments[0]
    >>> one.runs == one.left > 0, one.cpu_s > 0
    (True, True)
    """
    began = time.perf_counter()
    chosen = find(target)
    planned: list[PlannedExperiment] = []
    with ExitStack() as stack:
        present = set(store_of(out).keys()["key"])
        memory = stack.enter_context(Store(None, write=True))
        kept = None if results is None else stack.enter_context(closing(KeptResults(results)))
        if perturb is not False if kept is None else kept.perturbed(perturb, message):
            chosen = tuple(one.perturbed() for one in chosen)
        seen: set[str] = set()
        for work, studies in first_studies(chosen, quick=quick, seed=seed, only=only):
            for study in studies:
                if kept is not None:
                    restore(kept, work.experiment, work.cases, study, memory, message)
            done = present | set(memory.keys()["key"])
            points: list[Point] = []
            new: list[int] = []
            left: list[int] = []
            for study in studies:
                for point in study.points:
                    keys = {study.job(point, one).key for one in study.seeds} - seen
                    seen |= keys
                    if keys:
                        points.append(point)
                        new.append(len(keys))
                        left.append(len(keys - done))
            all_s, left_s = expected_cpu_s(
                points,
                [new, left],
                most=_MOST_POINTS,
                packets=_PACKETS,
                settled_s=_SETTLED_S,
                most_packets=_MOST_PACKETS,
            )
            cases = sum(len(study.points) for study in studies)
            runs = sum(len(study.points) * len(study.seeds) for study in studies)
            id = work.experiment.id
            planned.append(PlannedExperiment(id, cases, runs, runs - sum(new), sum(left), left_s, all_s))
    return ReproductionPlan(planned, time.perf_counter() - began)
