"""Runs of the simulator: from a scenario to its records."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from cwndlab import engine
from cwndlab.custom import Classes, CustomAlgorithm, validate_classes
from cwndlab.errors import NoRandomElementWarning
from cwndlab.records import Records
from cwndlab.scenario.document import ScenarioLike


def run(scenario: ScenarioLike, *, seed: int, algorithms: Classes | None = None) -> Records:
    """Runs ``scenario``, or plain values in the shape of its TOML, with ``seed`` and returns what it recorded.

    ``algorithms`` are custom classes (`cwndlab.custom`) by the names by which flows call them, beside those of the
    scenario. The same scenario, seed and version give the same bits on any machine. Ctrl-C stops it within
    milliseconds. Raises ``AlgorithmError`` where such a class fails.
    """
    text, constructors = engine_document(scenario, validate_classes(algorithms))
    return Records(engine.run(text, "json", seed, constructors=constructors))


def run_text(text: str, *, seed: int) -> Records:
    """Runs a scenario that is JSON already."""
    return Records(engine.run(text, "json", seed))


#: The note where several seeds gave the same run.
NO_RANDOM_ELEMENT = (
    'the scenario has no random element, so all seeds gave the same run; start_jitter = "rtt" would add random starts'
)


def run_many(
    jobs: Sequence[tuple[ScenarioLike, int]],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
) -> Iterator[tuple[int, Records]]:
    """Runs every (scenario, seed) of ``jobs`` on ``workers`` threads, by default one per core; ``algorithms`` as in
    `run`. Classes of one's own run one at a time, whatever the number of threads.

    Yields (index of the job, records) in the order in which runs finish, and calls ``progress(done, total)``. A run's
    records do not depend on the number of workers. Ctrl-C, an error or an early end of the iteration stops what still
    runs; what was yielded is kept. Issues a ``NoRandomElementWarning`` at the end where every run of a scenario, with
    several seeds, gave the same totals of its flows and links.

    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> flows = [cwndlab.Flow("reno", rtt="40 ms")]
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows, start_jitter="rtt")
    >>> sorted(index for index, _ in cwndlab.run_many([(scenario, seed) for seed in range(3)]))
    [0, 1, 2]
    """
    totals: dict[str, dict[int, str]] = {}
    for index, records in run_jobs(jobs, workers=workers, progress=progress, algorithms=algorithms):
        outcome = hashlib.sha256(repr((records.rows("flows"), records.rows("links"))).encode()).hexdigest()
        totals.setdefault(records.scenario_hash, {})[records.seed] = outcome
        yield index, records
    if any(len(seeds) > 1 and len(set(seeds.values())) == 1 for seeds in totals.values()):
        warnings.warn(NO_RANDOM_ELEMENT, NoRandomElementWarning, stacklevel=2)


def run_jobs(
    jobs: Sequence[tuple[ScenarioLike, int]],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
) -> Iterator[tuple[int, Records]]:
    """`run_many` without its warning, for callers that report equal runs themselves."""
    given = validate_classes(algorithms)

    def simulate(job: tuple[ScenarioLike, int], cancel: engine.Cancel) -> engine.RecordsHandle:
        scenario, seed = job
        text, constructors = engine_document(scenario, given)
        return engine.run(text, "json", seed, cancel, constructors=constructors)

    with closing(engine.dispatch_all(simulate, jobs, workers, progress)) as results:
        for index, handle in results:
            yield index, Records(handle)


def engine_document(
    scenario: ScenarioLike, given: Mapping[str, CustomAlgorithm]
) -> tuple[str, dict[str, Callable[..., object]] | None]:
    """The scenario as JSON, and the factories of the objects of its classes."""
    if isinstance(scenario, Mapping):
        document = dict(scenario)
    else:
        given = {**validate_classes(scenario.classes), **given}
        if not given:
            return scenario.to_json(), None
        document = json.loads(scenario.to_json())
    if not given:
        return json.dumps(document), None
    entries = {name: algorithm.entry for name, algorithm in given.items()}
    document["algorithms"] = {**document.get("algorithms", {}), **entries}
    return json.dumps(document), {name: algorithm.make for name, algorithm in given.items()}
