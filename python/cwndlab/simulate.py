"""Runs of the simulator: from a scenario to its records."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from cwndlab import engine
from cwndlab.custom import Classes, CustomAlgorithm, registered_in, validate_classes
from cwndlab.errors import ArgumentError, NoRandomElementWarning, parameter_fault
from cwndlab.records import Records
from cwndlab.scenario.like import ScenarioLike, scenario_of

#: Most threads of a run.
MOST_THREADS = 1024


def run(
    scenario: ScenarioLike,
    *,
    seed: int,
    algorithms: Classes | None = None,
    perturb: bool | None = None,
    threads: int = 1,
) -> Records:
    """Runs a scenario in the simulator and returns its records.

    The same scenario, seed and version give the same bits on any machine. Ctrl-C stops the run within milliseconds.

    Parameters
    ----------
    scenario
        A `Scenario`, plain values in the shape of its TOML, the name of a preset, or a file of TOML or JSON.
    seed
        Seed of all random numbers, from 0 to 2⁶⁴ − 1.
    algorithms
        Custom classes (`cwndlab.custom`) by the names that flows give, in addition to those of the scenario and the
        registered ones.
    perturb
        Whether the seed varies what nobody measures exactly: delays by 0.5 %, rates by 0.1 %, starts by one RTT, the
        processing of packets by 1 µs. By default as the scenario says.
    threads
        Number of threads, which changes no bit of the records. Several are faster with thousands of flows, and slower
        with few: one has the shared links, the others have the endpoints.

    Raises
    ------
    ScenarioError
        With every fault of the scenario.
    AlgorithmError
        If a custom class fails; its exception is the ``__cause__``.

    Warns
    -----
    OneThreadWarning
        Where several threads are asked for, and the scenario cannot be divided.

    Examples
    --------
    >>> import cwndlab
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    >>> cwndlab.run(scenario, seed=1).flows["min_rtt_ns"].item() / 1e6
    40.0832
    """
    check_seed(seed)
    if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= MOST_THREADS:
        wrong = f"'{threads}' is not a whole number from 1 to {MOST_THREADS}"
        raise ArgumentError(parameter_fault("threads", wrong, example=2))
    text, constructors = engine_document(perturbed(scenario, perturb), validate_classes(algorithms))
    return Records(engine.run(text, "json", seed, constructors=constructors, threads=threads))


def check_seed(seed: object) -> None:
    """Raises ``ArgumentError`` for what the engine does not take as a seed."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise ArgumentError(parameter_fault("seed", f"'{seed}' is not a whole number from 0 to 2⁶⁴ − 1", example=1))


#: More than any study repeats a run.
_REPETITIONS = 2**20


def check_first_seed(seed: int, repetitions: int = _REPETITIONS) -> None:
    """Raises ``ArgumentError`` where the seeds from this one on are not below 2⁶³, as tables of runs have them."""
    check_seed(seed)
    if seed + repetitions > 2**63:
        raise ArgumentError(parameter_fault("seed", f"seeds from {seed} on exceed 63 bits", example=1))


def perturbed(scenario: ScenarioLike, perturb: bool | None) -> ScenarioLike:
    """A scenario, or its plain values, with the field ``perturb``; as it is where that is ``None``."""
    if isinstance(scenario, Mapping):
        return dict(scenario) if perturb is None else {**scenario, "perturb": perturb}
    return scenario_of(scenario).perturbed(perturb)


def run_text(text: str, *, seed: int) -> Records:
    """Runs a scenario that is JSON already."""
    return Records(engine.run(text, "json", seed))


#: The note where two seeds or more gave the same run.
NO_RANDOM_ELEMENT = (
    "the scenario has no random element, so all seeds gave the same run; perturb = true varies it by less than anybody "
    "measures"
)


def run_many(
    jobs: Sequence[tuple[ScenarioLike, int]],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
) -> Iterator[tuple[int, Records]]:
    """Runs scenarios on threads; a run's records do not depend on the number of threads.

    Ctrl-C, an error or an early end of the iteration stops the runs in progress. Custom classes run one at a time.

    Parameters
    ----------
    jobs
        Pairs of scenario and seed.
    workers
        Number of threads, by default one per core.
    progress
        Is called with the number of finished runs and that of all runs.
    algorithms
        Custom classes by name, as in `run`.

    Yields
    ------
    tuple of int and Records
        Index of the job and its records, in the order in which runs finish.

    Warns
    -----
    NoRandomElementWarning
        At the end, where all runs of a scenario, with two seeds or more, gave the same totals of flows and links.

    Examples
    --------
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
    _check_jobs(jobs)

    def simulate(job: tuple[ScenarioLike, int], cancel: engine.Cancel) -> engine.RecordsHandle:
        scenario, seed = job
        text, constructors = engine_document(scenario, given)
        return engine.run(text, "json", seed, cancel, constructors=constructors)

    with closing(engine.dispatch_all(simulate, jobs, workers, progress)) as results:
        for index, handle in results:
            yield index, Records(handle)


def _check_jobs(jobs: object) -> None:
    """Raises where jobs are not pairs of a scenario and a seed."""
    hint = "write [(scenario, 1), (scenario, 2)]"
    if not isinstance(jobs, Sequence) or isinstance(jobs, str):
        what = f"a value of type {type(jobs).__name__} is not a list of pairs"
        raise ArgumentError(parameter_fault("jobs", what, hint=hint))
    for index, job in enumerate(jobs):
        if not isinstance(job, tuple | list) or len(job) != 2:
            what = f"number {index} is not a pair of a scenario and a seed"
            raise ArgumentError(parameter_fault("jobs", what, hint=hint))
        check_seed(job[1])


def engine_document(
    scenario: ScenarioLike, given: Mapping[str, CustomAlgorithm]
) -> tuple[str, dict[str, Callable[..., object]] | None]:
    """The scenario as JSON, and the factories of the objects of its classes."""
    if isinstance(scenario, Mapping):
        document = dict(scenario)
        given = {**validate_classes(registered_in(document)), **given}
    else:
        made = scenario_of(scenario)
        given = {**validate_classes(made.classes), **given}
        if not given:
            return made.to_json(), None
        document = made.document
    if not given:
        return json.dumps(document), None
    entries = {name: algorithm.entry for name, algorithm in given.items()}
    document["algorithms"] = {**document.get("algorithms", {}), **entries}
    return json.dumps(document), {name: algorithm.make for name, algorithm in given.items()}
