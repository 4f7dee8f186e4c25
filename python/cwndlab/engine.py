"""The engine's functions and classes under plain names, and the threads that call it.

The only module that imports ``_engine``.
"""

from __future__ import annotations

import os
import platform
import queue
import shutil
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cwndlab import _engine
from cwndlab.errors import ArgumentError, Fault, Parameter, RunError, parameter_fault

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")

version = _engine.version
__version__: str = _engine.version()
engine_version = _engine.engine_version

# The catalogue of algorithms.
entries = _engine.algorithms
aliases = _engine.aliases
canonical_algorithm = _engine.canonical_algorithm
entry_in_kernel = _engine.entry_in_kernel

# Scenarios.
check = _engine.check
to_toml = _engine.to_toml
stack_fields = _engine.stack_fields
scenario_schema = _engine.scenario_schema
declarations = _engine.declarations
trace_kinds = _engine.trace_kinds
make_trace = _engine.make_trace
parse_trace = _engine.parse_trace

# Runs and their records.
Cancel = _engine.Cancel
RecordsHandle = _engine.Records
run = _engine.run
tables = _engine.tables
finding_codes = _engine.finding_codes
read_records = _engine.read
assemble_records = _engine.assemble

# Runs that are stepped.
Simulation = _engine.Simulation
SimulationBatch = _engine.SimulationBatch
Agents = _engine.Agents
decision_fields = _engine.decision_fields
interval_fields = _engine.interval_fields
interval_reward = _engine.interval_reward
action_factors = _engine.action_factors

# Algorithms in Rust files.
RustLibrary = _engine.RustLibrary

# Validation.
conformance = _engine.conformance
conformance_texts = _engine.conformance_texts
debug = _engine.debug
debug_kinds = _engine.debug_kinds
replay = _engine.replay
audit = _engine.audit
captured_transfer = _engine.captured_transfer
explain = _engine.explain
replay_cases = _engine.replay_cases
packetdrill = _engine.packetdrill

# The arguments of the methods of an algorithm in Python.
Ack = _engine.Ack
Congestion = _engine.Congestion
DeliveryRate = _engine.DeliveryRate
MediaFeedback = _engine.MediaFeedback
MediaFrame = _engine.MediaFrame
MediaPacket = _engine.MediaPacket
MediaSent = _engine.MediaSent
MediaSession = _engine.MediaSession
Path = _engine.Path
Sent = _engine.Sent
Window = _engine.Window


def stack_program(stack: str) -> str | None:
    """The program of a hosted stack that the engine starts: in a folder of ``CWNDLAB_STACKS`` or ``PATH``, or None."""
    folders = os.pathsep.join(filter(None, (os.environ.get(name) for name in ("CWNDLAB_STACKS", "PATH"))))
    return shutil.which(f"cwndlab-stack-{stack}", path=folders)


def require_stack(stack: str, option: str, built_by: str) -> None:
    """Raises `ArgumentError` at an option that needs a hosted stack if there is no program of it, with the command that
    builds it."""
    if stack_program(stack) is None:
        what = f"there is no cwndlab-stack-{stack} in CWNDLAB_STACKS or PATH"
        raise ArgumentError(Fault(Parameter(option), what, f"{built_by}, CWNDLAB_STACKS=build/stacks/bin"))


def _takes_linux(*_: Any, **__: Any) -> NoReturn:
    what = f"emulation and measurement take Linux; this system is {platform.system()}"
    raise RunError(Fault("system", what, "use a virtual machine with Linux; simulation runs on this system too"))


# Emulation, and measurements on real paths: the engine has them on Linux only.
if TYPE_CHECKING or hasattr(_engine, "emulate"):
    EmulatedPathHandle = _engine.EmulatedPath
    emulate = _engine.emulate
    become_root = _engine.become_root
    Server = _engine.Server
    serve = _engine.serve
    serve_limits = _engine.serve_limits
    fetch = _engine.fetch
else:
    EmulatedPathHandle = emulate = become_root = Server = serve = serve_limits = fetch = _takes_linux

# How often a waiting main thread looks for Ctrl-C. Polars installs a handler after which a lock that is waited for
# without end is not interrupted.
_POLL_S = 0.05


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def dispatch_all(
    work: Callable[[_Job, Cancel], _Result],
    jobs: Sequence[_Job],
    workers: int | None,
    progress: Callable[[int, int], Any] | None,
) -> Generator[tuple[int, _Result], None, None]:
    """Calls ``work`` for every job, on threads; an error, Ctrl-C or an early end stops the jobs in progress.

    Yields (index of the job, result) in the order in which jobs end.
    """
    waiting = iter(enumerate(jobs))
    done = 0
    if progress is not None:
        progress(0, len(jobs))

    def indexed(job: tuple[int, _Job], cancel: Cancel) -> _Result:
        return work(job[1], cancel)

    with closing(dispatch(indexed, lambda: next(waiting, None), workers)) as results:
        for (index, _), result in results:
            done += 1
            if progress is not None:
                progress(done, len(jobs))
            yield index, result


def dispatch(
    work: Callable[[_Job, Cancel], _Result], take: Callable[[], _Job | None], workers: int | None
) -> Generator[tuple[_Job, _Result], None, None]:
    """Calls ``work`` for the jobs of ``take``, until it returns ``None`` while no job runs.

    ``workers`` is the number of threads, by default one per core.
    """
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise ArgumentError(parameter_fault("workers", f"'{workers}' is not a number of threads", example=4))
    workers = workers or available_cores()
    cancel = Cancel()
    running: dict[Future[_Result], _Job] = {}
    # Names the futures that ended, where `concurrent.futures.wait` would look at all that run each time.
    ended: queue.SimpleQueue[Future[_Result]] = queue.SimpleQueue()
    with ThreadPoolExecutor(max_workers=workers) as pool:

        def fill() -> None:
            # Twice as many as there are workers: enough to keep them busy, few enough that a slow reader of a long
            # series does not pile up results.
            while len(running) < 2 * workers and (job := take()) is not None:
                future = pool.submit(work, job, cancel)
                running[future] = job
                future.add_done_callback(ended.put)

        try:
            fill()
            while running:
                try:
                    future = ended.get(timeout=_POLL_S)
                except queue.Empty:
                    fill()
                    continue
                job = running.pop(future)
                result = future.result()
                fill()
                yield job, result
                # The reader may have made more to do.
                fill()
        finally:
            cancel.set()
            for future in running:
                future.cancel()
