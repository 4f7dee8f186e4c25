"""From a scenario to its records; the only module that imports the engine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from cwndlab import _engine
from cwndlab.records import Records

if TYPE_CHECKING:
    from cwndlab.scenario import Scenario

    Question: TypeAlias = Scenario | Mapping[str, Any]

_Job = TypeVar("_Job")
_Found = TypeVar("_Found")

# What is asked of the engine apart from runs: thin names, so that no other module imports it.
version = _engine.version
entries = _engine.algorithms
aliases = _engine.aliases
canonical_algorithm = _engine.canonical_algorithm
to_toml = _engine.to_toml
read_records = _engine.read
conformance_texts = _engine.conformance_texts


# How often a waiting main thread looks for Ctrl-C. Polars installs a handler after which a lock that is waited for
# without end is not interrupted.
_GLANCE_S = 0.05


class Checked(NamedTuple):
    """A scenario that the engine found sound."""

    document: str
    """JSON in the shape of the TOML, files read in, changes applied."""
    canonical: str
    """The canonical form, JSON."""
    hash: str
    """SHA-256 of the canonical form, in hex."""
    notes: tuple[str, ...]
    """What was derived, such as a queue that was floored."""


def check(
    text: str,
    format: Literal["toml", "json"],
    *,
    folder: Path | None = None,
    changes: Sequence[tuple[str, str]] = (),
) -> Checked:
    """Reads a scenario, changes fields, checks all of it; raises ``ScenarioError`` with every fault."""
    document, canonical, hash_, notes = _engine.check(text, format, folder=folder, changes=list(changes))
    return Checked(document, canonical, hash_, tuple(notes))


def run(scenario: Question, *, seed: int) -> Records:
    """Runs ``scenario``, or plain values in the shape of its TOML, with ``seed`` and returns what it recorded.

    The same scenario, seed and version give the same bits on any machine. Ctrl-C stops it within milliseconds.
    """
    return Records(_engine.run(_json(scenario), "json", seed))


def run_many(
    jobs: Sequence[tuple[Question, int]],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[int, Records]]:
    """Runs every (scenario, seed) of ``jobs`` on ``workers`` threads, by default one per core.

    Yields (index of the job, records) in the order in which runs finish, and calls ``progress(done, total)``. A run's
    records do not depend on the number of workers. Ctrl-C, an error or an early end of the iteration stops what still
    runs; what was yielded is kept.

    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    >>> sorted(index for index, _ in cwndlab.run_many([(scenario, seed) for seed in range(3)]))
    [0, 1, 2]
    """

    def simulate(job: tuple[Question, int], cancel: _engine.Cancel) -> _engine.Records:
        scenario, seed = job
        return _engine.run(_json(scenario), "json", seed, cancel)

    with closing(_spread(simulate, jobs, workers, progress)) as several:
        for index, found in several:
            yield index, Records(found)


def conformance_many(
    texts: Sequence[str],
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[int, tuple[list[dict[str, Any]], float | None]]]:
    """The conformance battery on several algorithms: (index, (rows, ns per ACK)) in the order in which they end."""

    def examine(text: str, cancel: _engine.Cancel) -> tuple[list[dict[str, Any]], float | None]:
        return _engine.conformance(text, quick=quick, cancel=cancel)

    yield from _spread(examine, texts, workers, progress)


def _spread(
    work: Callable[[_Job, _engine.Cancel], _Found],
    jobs: Sequence[_Job],
    workers: int | None,
    progress: Callable[[int, int], Any] | None,
) -> Generator[tuple[int, _Found], None, None]:
    """Does ``work`` on every job, on threads; an error, Ctrl-C or an early end stops what still runs."""
    workers = workers or available_cores()
    cancel = _engine.Cancel()
    waiting = iter(enumerate(jobs))
    running: dict[Future[_Found], int] = {}
    with ThreadPoolExecutor(max_workers=workers) as pool:

        def start() -> None:
            for index, job in waiting:
                running[pool.submit(work, job, cancel)] = index
                return

        if progress is not None:
            progress(0, len(jobs))
        try:
            # Twice as many as there are workers: enough to keep them busy, few enough that a slow reader of a long
            # series does not pile up what was found.
            for _ in range(2 * workers):
                start()
            done = 0
            while running:
                finished, _ = wait(running, timeout=_GLANCE_S, return_when=FIRST_COMPLETED)
                for future in finished:
                    index = running.pop(future)
                    found = future.result()
                    start()
                    done += 1
                    if progress is not None:
                        progress(done, len(jobs))
                    yield index, found
        finally:
            cancel.set()
            for future in running:
                future.cancel()


def _json(scenario: Question) -> str:
    return json.dumps(scenario) if isinstance(scenario, Mapping) else scenario.to_json()


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
