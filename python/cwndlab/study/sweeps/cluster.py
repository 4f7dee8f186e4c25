"""Sweeps on Dask: an address, worker processes of this machine, or jobs of SLURM.

    tcp://host:8786                          a scheduler that runs
    local:4                                  so many processes of this machine
    slurm:jobs=8,cores=16,memory=32GB,…      so many jobs; the other words are those of dask_jobqueue.SLURMCluster

Scenarios go out as text, rows come back. Several short runs make a task, so that Dask's milliseconds per task are
shared. A task whose worker died is given to another one; what was kept before is not run again.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.engine import available_cores, engine_version
from cwndlab.errors import Fault, RunError, ScenarioError
from cwndlab.lazy import extra
from cwndlab.metrics.numbers import metrics_version
from cwndlab.scenario.declared import near
from cwndlab.study.sweeps.execution import Answers, Executor
from cwndlab.study.sweeps.tasks import Job, Measure, Row, VersionError, batch

if TYPE_CHECKING:
    from distributed import Client

# What a scheduler has to answer in, and what workers have to be there in (jobs of a batch system may wait for hours).
CONNECT_S = 5.0
WORKERS_S = 30.0
# A task is so long, as far as its runs are short.
_TASK_S = 0.25
_MOST_RUNS = 64
_GLANCE_S = 0.2
_HINT = "write --cluster tcp://host:8786, local:4, or slurm:jobs=8,cores=16,memory=32GB"
_RESUME = "what was finished is kept; the same command goes on from there"


@dataclass(frozen=True)
class Cluster:
    """What ``--cluster`` says."""

    kind: str
    address: str = ""
    workers: int = 0
    words: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """Reads it; raises ``ScenarioError``."""
        kind, _, rest = text.partition(":")
        if kind in ("tcp", "tls", "ws", "wss") and rest.startswith("//") and rest[2:].rpartition(":")[2].isdecimal():
            return cls("address", address=text)
        if kind == "local":
            if rest and not (rest.isascii() and rest.isdecimal() and 1 <= int(rest) <= 4096):
                raise ScenarioError(Fault("--cluster", f"'{rest}' is no number of processes", "write local:4"))
            return cls("local", workers=int(rest) if rest else available_cores())
        if kind == "slurm":
            pairs = [part.partition("=") for part in rest.split(",") if part.strip()]
            for name, equals, value in pairs:
                if not equals or not name.strip() or not value.strip():
                    raise ScenarioError(Fault("--cluster", f"'{name}' has no value", _HINT))
            words = {name.strip(): value.strip() for name, _, value in pairs}
            for name in ("jobs", "cores"):
                if name in words and not (words[name].isdecimal() and int(words[name]) > 0):
                    raise ScenarioError(Fault("--cluster", f"{name}={words[name]} is no number", f"write {name}=4"))
            words = {"jobs": "1", "cores": "1", "memory": "2GB", "walltime": "12:00:00"} | words
            return cls("slurm", workers=int(words["jobs"]) * int(words["cores"]), words=tuple(words.items()))
        raise ScenarioError(Fault("--cluster", f"'{text}' is no cluster", _HINT))

    def slurm(self) -> Any:
        """The cluster of SLURM; one process per core, since a job's cores share no interpreter."""
        with extra("cluster"):
            from dask_jobqueue import SLURMCluster

        words: dict[str, Any] = dict(self.words)
        cores = int(words.pop("cores"))
        words.pop("jobs")
        directives = [part.strip() for part in words.pop("extra", "").split(";") if part.strip()]
        known = {"queue", "account", "memory", "walltime", "interface", "local_directory", "log_directory", "job_name"}
        for name in words:
            if name not in known:
                hint = near(name, sorted([*known, "jobs", "cores", "extra"]))
                raise ScenarioError(Fault("--cluster", f"slurm has no '{name}'", hint))
        try:
            return SLURMCluster(cores=cores, processes=cores, job_extra_directives=directives, **words)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ScenarioError(Fault("--cluster", f"dask_jobqueue refuses it: {error}", _HINT)) from None

    def script(self) -> str:
        """The job that SLURM would be given."""
        with contextlib.closing(self.slurm()) as made:
            text: str = made.job_script()
        return text


@contextmanager
def connected(cluster: Cluster) -> Iterator[Client]:
    """A client; raises ``RunError`` within seconds where nobody answers."""
    with extra("cluster"):
        import dask
        from distributed import Client, LocalCluster

    for name in ("distributed", "distributed.worker", "distributed.scheduler", "distributed.nanny", "distributed.core"):
        # What becomes of a worker is told by the sweep.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    made: Any = None
    settings: dict[str, Any] = {"distributed.comm.timeouts.connect": f"{CONNECT_S}s"}
    if cluster.kind == "local":
        # Samples of the workers' stacks are for Dask's dashboard, which does not run here.
        settings["distributed.worker.profile.enabled"] = False
    with dask.config.set(settings):
        try:
            if cluster.kind == "local":
                made = LocalCluster(
                    n_workers=cluster.workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            elif cluster.kind == "slurm":
                if shutil.which("sbatch") is None:
                    what = "there is no 'sbatch' on this machine"
                    raise RunError(Fault("--cluster slurm", what, "submit from a machine with SLURM"))
                made = cluster.slurm()
                made.scale(jobs=int(dict(cluster.words)["jobs"]))
            client = Client(made or cluster.address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            _close(made)
            where = cluster.address or cluster.kind
            what = f"no scheduler answers within {CONNECT_S:g} s ({_line(error)})"
            raise RunError(
                Fault(f"--cluster {where}", what, "start one by `dask scheduler`, or write local:4")
            ) from None
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):
                client.close(timeout=2)
            _close(made)


def _close(made: Any) -> None:
    if made is not None:
        with contextlib.suppress(Exception):
            made.close(timeout=5)


def _line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def on(client: Client, *, patience_s: float = WORKERS_S) -> Executor:
    """Runs on the workers of ``client``. Raises ``RunError`` where there are none for ``patience_s``, where the
    scheduler goes away, where a worker is of another version, or where a run kills one worker after another."""

    def execute(take: Callable[[], tuple[Job, str] | None], measure: Measure) -> Answers:
        return _course(client, take, measure, patience_s)

    return execute


def _course(
    client: Client, take: Callable[[], tuple[Job, str] | None], measure: Measure, patience_s: float
) -> Generator[tuple[Job, Row | RunError], None, None]:
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    running: dict[str, tuple[Any, list[Job]]] = {}
    crew = _Crew(client, patience_s)
    expected = (engine_version(), metrics_version())
    mean_s: float | None = None

    def fill() -> None:
        # Two tasks per worker thread, and some in between the scheduler and them.
        while len(running) < 2 * crew.threads + 2:
            jobs: list[tuple[Job, str]] = []
            size = 1 if mean_s is None else max(1, min(_MOST_RUNS, int(_TASK_S / mean_s)))
            while len(jobs) < size and (job := take()) is not None:
                jobs.append(job)
            if not jobs:
                return
            future = client.submit(batch, jobs, measure, expected, pure=False, retries=0)
            running[future.key] = (future, [job for job, _ in jobs])
            future.add_done_callback(ended.put)

    try:
        crew.look(at_once=True)
        fill()
        while running:
            crew.look()
            try:
                future = ended.get(timeout=_GLANCE_S)
            except queue.Empty:
                fill()
                continue
            _, jobs = running.pop(future.key)
            found = _result(future, jobs)
            times = [row["wall_s"] for _, row in found if isinstance(row, dict)]
            if times:
                latest = sum(times) / len(times)
                mean_s = latest if mean_s is None else 0.8 * mean_s + 0.2 * latest
            future.release()
            fill()
            for job, row in found:
                yield job, row if isinstance(row, dict) else RunError(Fault("run", row, ""))
            fill()
    finally:
        with contextlib.suppress(Exception):
            client.cancel([future for future, _ in running.values()], force=True)


def _result(future: Any, jobs: list[Job]) -> list[tuple[Job, Row | str]]:
    from distributed import KilledWorker

    try:
        found: list[tuple[Job, Row | str]] = future.result(timeout=5)
    except VersionError as error:
        host, theirs = error.args
        what = f"has cwndlab {theirs}, not {engine_version()}: its rows would be of another version"
        raise RunError(Fault(f"--cluster: worker on {host}", what, "install the same version everywhere")) from None
    except KilledWorker:
        who = ", ".join(f"cell {job.cell} seed {job.seed}" for job in jobs[:3])
        what = f"worker after worker died in a task that begins with {who}"
        raise RunError(Fault("--cluster", what, f"is its memory enough? {_RESUME}")) from None
    except Exception as error:
        if type(error).__name__ not in ("FutureCancelledError", "CancelledError", "CommClosedError", "TimeoutError"):
            what = f"a worker failed: {_line(error)} ({type(error).__name__})"
            raise RunError(
                Fault("--cluster", what, f"is cwndlab {engine_version()} installed there? {_RESUME}")
            ) from None
        raise _gone() from None
    return found


def _gone() -> RunError:
    return RunError(Fault("--cluster", "the scheduler has gone away", _RESUME))


class _Crew:
    """Who works, looked up every other second."""

    def __init__(self, client: Client, patience_s: float) -> None:
        self._client, self._patience_s = client, patience_s
        self._looked = 0.0
        self._seen = time.monotonic()
        self.threads = 1

    def look(self, *, at_once: bool = False) -> None:
        """Raises where nobody has worked for too long, or the scheduler has gone."""
        now = time.monotonic()
        if self._client.status != "running":
            raise _gone()
        if not at_once and now - self._looked < 2.0:
            return
        self._looked = now
        try:
            threads = sum(self._client.nthreads().values())
        except Exception:
            raise _gone() from None
        if threads:
            self.threads, self._seen = threads, now
        elif now - self._seen > self._patience_s:
            what = f"no worker for {self._patience_s:g} s"
            raise RunError(Fault("--cluster", what, f"start workers by `dask worker ADDRESS`; {_RESUME}"))
