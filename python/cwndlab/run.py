"""From a scenario to its records; the only module that imports the engine."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from pathlib import Path as Folder
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from cwndlab import _engine
from cwndlab.errors import NoRandomElementWarning, RunError
from cwndlab.records import Records

if TYPE_CHECKING:
    from cwndlab.own import Classes, Own
    from cwndlab.scenario import Scenario

    Question: TypeAlias = Scenario | Mapping[str, Any]

_Job = TypeVar("_Job")
_Found = TypeVar("_Found")

# What is asked of the engine apart from runs: thin names, so that no other module imports it.
version = _engine.version
engine_version = _engine.engine_version
entries = _engine.algorithms
aliases = _engine.aliases
canonical_algorithm = _engine.canonical_algorithm
entry_in_kernel = _engine.entry_in_kernel
to_toml = _engine.to_toml
stack_fields = _engine.stack_fields
scenario_schema = _engine.scenario_schema
declarations = _engine.declarations
tables = _engine.tables
read_records = _engine.read
assemble_records = _engine.assemble
become_root = _engine.become_root
address = _engine.EmulatedPath.address
trace_kinds = _engine.trace_kinds
make_trace = _engine.make_trace
parse_trace = _engine.parse_trace
conformance_texts = _engine.conformance_texts
serve = _engine.serve
serve_limits = _engine.serve_limits
fetch = _engine.fetch
Server = _engine.Server
replay = _engine.replay
replay_courses = _engine.replay_courses


# What an algorithm of one's own is told.
Ack = _engine.Ack
Congestion = _engine.Congestion
DeliveryRate = _engine.DeliveryRate
Path = _engine.Path
Sent = _engine.Sent
Window = _engine.Window


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
    folder: Folder | None = None,
    changes: Sequence[tuple[str, str]] = (),
    classes: Classes | None = None,
) -> Checked:
    """Reads a scenario, changes fields, describes ``classes`` of one's own in it, checks all of it; raises
    ``ScenarioError`` with every fault."""
    entries = [(name, json.dumps(own.entry)) for name, own in _own(classes).items()]
    document, canonical, hash_, notes = _engine.check(
        text, format, folder=folder, changes=list(changes), algorithms=entries
    )
    return Checked(document, canonical, hash_, tuple(notes))


def run(scenario: Question, *, seed: int, algorithms: Classes | None = None) -> Records:
    """Runs ``scenario``, or plain values in the shape of its TOML, with ``seed`` and returns what it recorded.

    ``algorithms`` are classes of one's own (`cwndlab.own`) by the names by which flows call them, beside those of the
    scenario. The same scenario, seed and version give the same bits on any machine. Ctrl-C stops it within
    milliseconds. Raises ``AlgorithmError`` where such a class fails.
    """
    text, constructors = _asked(scenario, _own(algorithms))
    return Records(_engine.run(text, "json", seed, constructors=constructors))


def run_text(text: str, *, seed: int) -> Records:
    """Runs a scenario that is JSON already."""
    return Records(_engine.run(text, "json", seed))


def emulate(
    scenario: Question, *, seed: int, late_s: float, datapath: Literal["kernel", "cwndlab"] = "kernel"
) -> tuple[Records, dict[str, Any]]:
    """Runs ``scenario`` between real TCP of this machine (`cwndlab.emulation.emulate`): records, and the timing."""
    from cwndlab.kernel import serving

    text, _ = _asked(scenario, {})
    flows = json.loads(text).get("flow", []) if datapath == "cwndlab" else []
    with serving(flow["algorithm"] for flow in flows if flow.get("algorithm")) as remarks:
        records, timing = _engine.emulate(
            text, "json", seed, datapath=datapath, late_ns=round(late_s * 1e9), remarks=remarks
        )
    return Records(records), timing


def emulate_many(
    jobs: Sequence[tuple[Question, int]],
    *,
    workers: int,
    late_s: float,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[int, tuple[Records, dict[str, Any]]]]:
    """`emulate` for every (scenario, seed), ``workers`` at a time.

    Yields (index of the job, (records, timing)) in the order in which runs end. Each has namespaces of its own, so that
    they meet at the processor alone.
    """

    def work(job: tuple[Question, int], cancel: _engine.Cancel) -> tuple[_engine.Records, dict[str, Any]]:
        text, _ = _asked(job[0], {})
        return _engine.emulate(text, "json", job[1], cancel, late_ns=round(late_s * 1e9))

    with closing(_spread(work, jobs, workers, progress)) as several:
        for index, (records, timing) in several:
            yield index, (Records(records), timing)


def between(scenario: Question, *, seed: int, late_s: float, algorithm: str | None) -> _engine.EmulatedPath:
    """The two sides of ``scenario`` for programs (`cwndlab.emulation.EmulatedPath`)."""
    text, _ = _asked(scenario, {})
    return _engine.EmulatedPath(text, "json", seed, algorithm=algorithm, late_ns=round(late_s * 1e9))


#: Said where several seeds gave the same run.
NO_RANDOM_ELEMENT = (
    'the scenario has no random element, so all seeds gave the same run; start_jitter = "rtt" would add random starts'
)


def run_many(
    jobs: Sequence[tuple[Question, int]],
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
    jobs: Sequence[tuple[Question, int]],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
) -> Iterator[tuple[int, Records]]:
    """`run_many` without its warning, for callers that report equal runs themselves."""
    given = _own(algorithms)

    def simulate(job: tuple[Question, int], cancel: _engine.Cancel) -> _engine.Records:
        scenario, seed = job
        text, constructors = _asked(scenario, given)
        return _engine.run(text, "json", seed, cancel, constructors=constructors)

    with closing(_spread(simulate, jobs, workers, progress)) as several:
        for index, found in several:
            yield index, Records(found)


def conformance_many(
    texts: Sequence[str],
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
) -> Generator[tuple[int, tuple[list[dict[str, Any]], float | None, list[str]]], None, None]:
    """The conformance battery on several algorithms: (index, (rows, ns per ACK, notes)) in the order in which they end.

    ``algorithms`` are classes of one's own by name.
    """
    given = _own(algorithms)
    document = described(given)
    constructors = {name: own.make for name, own in given.items()}
    alone = Lock()

    def examine(text: str, cancel: _engine.Cancel) -> tuple[list[dict[str, Any]], float | None, list[str]]:
        own = text.partition("(")[0].partition("/")[0] in given
        # Two classes at once would wait for each other, and what an ACK costs would be the price of both.
        with alone if own else nullcontext():
            return _engine.conformance(
                text,
                quick=quick,
                cancel=cancel,
                scenario=document if own else None,
                constructors=constructors if own else None,
            )

    yield from _spread(examine, texts, workers, progress)


def run_each(
    take: Callable[[], tuple[_Job, str, int] | None],
    measure: Callable[[Records], _Found],
    *,
    workers: int | None = None,
    algorithms: Classes | None = None,
) -> Generator[tuple[_Job, _Found | RunError], None, None]:
    """Runs what ``take`` hands out, (mark, scenario as JSON, seed), on ``workers`` threads, and measures it there.

    ``take`` is asked again after each answer and says nothing where it has nothing now; the series ends when it says so
    while nothing runs. Yields (mark, what ``measure`` found), or the error of a run that failed. Records are let go at
    once: memory does not grow with the number of runs.
    """
    constructors = {name: own.make for name, own in _own(algorithms).items()} or None

    def simulate(job: tuple[_Job, str, int], cancel: _engine.Cancel) -> _Found | RunError:
        try:
            return measure(Records(_engine.run(job[1], "json", job[2], cancel, constructors=constructors)))
        except RunError as error:
            return error

    with closing(_flow(simulate, take, workers or available_cores())) as several:
        for job, found in several:
            yield job[0], found


def _spread(
    work: Callable[[_Job, _engine.Cancel], _Found],
    jobs: Sequence[_Job],
    workers: int | None,
    progress: Callable[[int, int], Any] | None,
) -> Generator[tuple[int, _Found], None, None]:
    """Does ``work`` on every job, on threads; an error, Ctrl-C or an early end stops what still runs."""
    waiting = iter(enumerate(jobs))
    done = 0
    if progress is not None:
        progress(0, len(jobs))

    def indexed(job: tuple[int, _Job], cancel: _engine.Cancel) -> _Found:
        return work(job[1], cancel)

    with closing(_flow(indexed, lambda: next(waiting, None), workers or available_cores())) as several:
        for (index, _), found in several:
            done += 1
            if progress is not None:
                progress(done, len(jobs))
            yield index, found


def _flow(
    work: Callable[[_Job, _engine.Cancel], _Found], take: Callable[[], _Job | None], workers: int
) -> Generator[tuple[_Job, _Found], None, None]:
    """Does ``work`` on what ``take`` hands out, until it has nothing while nothing runs."""
    cancel = _engine.Cancel()
    running: dict[Future[_Found], _Job] = {}
    # Tells which ended, where `concurrent.futures.wait` would look at all that run each time.
    ended: queue.SimpleQueue[Future[_Found]] = queue.SimpleQueue()
    with ThreadPoolExecutor(max_workers=workers) as pool:

        def fill() -> None:
            # Twice as many as there are workers: enough to keep them busy, few enough that a slow reader of a long
            # series does not pile up what was found.
            while len(running) < 2 * workers and (job := take()) is not None:
                future = pool.submit(work, job, cancel)
                running[future] = job
                future.add_done_callback(ended.put)

        try:
            fill()
            while running:
                try:
                    future = ended.get(timeout=_GLANCE_S)
                except queue.Empty:
                    fill()
                    continue
                job = running.pop(future)
                found = future.result()
                fill()
                yield job, found
                # What was found may have made more to do.
                fill()
        finally:
            cancel.set()
            for future in running:
                future.cancel()


def _own(classes: Classes | None) -> dict[str, Own]:
    """The classes, checked."""
    if not classes:
        return {}
    from cwndlab.own import several

    return several(classes)


def described_classes(classes: Classes | None) -> str | None:
    """`described` of classes that are not checked yet."""
    return described(_own(classes))


def described(given: Mapping[str, Own]) -> str | None:
    """What the engine is told of classes apart from a scenario, JSON; nothing where there are none."""
    entries = {name: own.entry for name, own in given.items()}
    return json.dumps({"schema_version": 1, "algorithms": entries}) if entries else None


def _asked(scenario: Question, given: Mapping[str, Own]) -> tuple[str, dict[str, Callable[..., object]] | None]:
    """The scenario as JSON, and what makes the objects of its classes."""
    if isinstance(scenario, Mapping):
        document = dict(scenario)
    else:
        given = {**_own(scenario.classes), **given}
        if not given:
            return scenario.to_json(), None
        document = json.loads(scenario.to_json())
    if not given:
        return json.dumps(document), None
    entries = {name: own.entry for name, own in given.items()}
    document["algorithms"] = {**document.get("algorithms", {}), **entries}
    return json.dumps(document), {name: own.make for name, own in given.items()}


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
