"""Studies on Dask: an address, worker processes of this machine, or jobs of SLURM.

    tcp://host:8786                          a running scheduler
    local:4                                  the number of processes of this machine
    slurm:jobs=8,cores=16,memory=32GB,…      the number of jobs; other options as in dask_jobqueue.SLURMCluster

Scenarios are sent as text, rows are returned. Several short runs are one call, because Dask needs milliseconds per
call. A call whose worker died is repeated on another one; rows that were stored before are not.
"""

from __future__ import annotations

import contextlib
import logging
import platform
import queue
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cwndlab.engine import available_cores, engine_version
from cwndlab.errors import AlgorithmError, Fault, RunError, ScenarioError, near
from cwndlab.lazy import extra
from cwndlab.metrics.summary import metrics_version
from cwndlab.simulate import run_text
from cwndlab.study.executor import Executor, Results, Task, measured
from cwndlab.study.spec import Job, Row

if TYPE_CHECKING:
    from distributed import Client

# How long to wait for a scheduler and for workers (jobs of a batch system may wait for hours).
CONNECT_S = 5.0
WORKERS_S = 30.0
# The target duration of a call with short runs, and its maximum number of runs.
_CALL_S = 0.25
_MOST_RUNS = 64
_POLL_S = 0.2
_HINT = "write --cluster tcp://host:8786, local:4, or slurm:jobs=8,cores=16,memory=32GB"
_RESUME = "finished runs are kept; the same command resumes there"


@dataclass(frozen=True)
class Cluster:
    """The value of ``--cluster``."""

    kind: str
    address: str = ""
    workers: int = 0
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """Reads it; raises ``ScenarioError``."""
        kind, _, rest = text.partition(":")
        if kind in ("tcp", "tls", "ws", "wss") and rest.startswith("//") and rest[2:].rpartition(":")[2].isdecimal():
            return cls("address", address=text)
        if kind == "local":
            if rest and not (rest.isascii() and rest.isdecimal() and 1 <= int(rest) <= 4096):
                raise ScenarioError(Fault("--cluster", f"'{rest}' is not a number of processes", "write local:4"))
            return cls("local", workers=int(rest) if rest else available_cores())
        if kind == "slurm":
            pairs = [part.partition("=") for part in rest.split(",") if part.strip()]
            for name, equals, value in pairs:
                if not equals or not name.strip() or not value.strip():
                    raise ScenarioError(Fault("--cluster", f"'{name}' has no value", _HINT))
            options = {name.strip(): value.strip() for name, _, value in pairs}
            for name in ("jobs", "cores"):
                if name in options and not (options[name].isdecimal() and int(options[name]) > 0):
                    raise ScenarioError(
                        Fault("--cluster", f"{name}={options[name]} is not a number", f"write {name}=4")
                    )
            options = {"jobs": "1", "cores": "1", "memory": "2GB", "walltime": "12:00:00"} | options
            return cls("slurm", workers=int(options["jobs"]) * int(options["cores"]), options=tuple(options.items()))
        raise ScenarioError(Fault("--cluster", f"'{text}' is not a cluster", _HINT))

    def slurm(self) -> Any:
        """The cluster of SLURM; one process per core, since a job's cores share no interpreter."""
        with extra("cluster"):
            from dask_jobqueue import SLURMCluster

        options: dict[str, Any] = dict(self.options)
        cores = int(options.pop("cores"))
        options.pop("jobs")
        directives = [part.strip() for part in options.pop("extra", "").split(";") if part.strip()]
        known = {"queue", "account", "memory", "walltime", "interface", "local_directory", "log_directory", "job_name"}
        for name in options:
            if name not in known:
                hint = near(name, sorted([*known, "jobs", "cores", "extra"]))
                raise ScenarioError(Fault("--cluster", f"slurm has no '{name}'", hint))
        try:
            return SLURMCluster(cores=cores, processes=cores, job_extra_directives=directives, **options)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ScenarioError(Fault("--cluster", f"dask_jobqueue rejects it: {error}", _HINT)) from None

    def script(self) -> str:
        """The script of a job of SLURM."""
        with contextlib.closing(self.slurm()) as made:
            text: str = made.job_script()
        return text


@contextmanager
def connected(cluster: Cluster) -> Iterator[Client]:
    """A client; raises ``RunError`` within seconds if there is no scheduler."""
    with extra("cluster"):
        import dask
        from distributed import Client, LocalCluster

    for name in ("distributed", "distributed.worker", "distributed.scheduler", "distributed.nanny", "distributed.core"):
        # Lost workers are reported by the executor.
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
                made.scale(jobs=int(dict(cluster.options)["jobs"]))
            client = Client(made or cluster.address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            _close(made)
            where = cluster.address or cluster.kind
            what = f"no scheduler answers within {CONNECT_S:g} s ({_line(error)})"
            raise RunError(
                Fault(f"--cluster {where}", what, "start one with `dask scheduler`, or write local:4")
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
    """Runs on the workers of ``client``.

    The executor raises ``RunError`` if there are no workers for ``patience_s``, if the connection to the scheduler is
    lost, if a worker has another version, or if a run ends one worker after another.
    """

    def execute(take: Callable[[], Task | None]) -> Results:
        return _results(client, take, patience_s)

    return execute


class VersionError(Exception):
    """A worker of another version: (its host, its version)."""


def _batch(tasks: Sequence[Task], expected: tuple[str, str]) -> list[tuple[Job, Row | str]]:
    """Several runs, one after another, in a worker: each with its row, or the text of its error.

    ``expected`` are the versions of engine and metrics that belong to the keys of the runs.
    """
    mine = (engine_version(), metrics_version())
    if mine != expected:
        raise VersionError(platform.node(), mine[0] if mine[0] != expected[0] else f"{mine[0]} with other metrics")
    rows: list[tuple[Job, Row | str]] = []
    for task in tasks:
        job, began = task.job, time.perf_counter()
        try:
            row = measured(task, run_text(task.document, seed=job.seed))
            rows.append((job, row | {"wall_s": time.perf_counter() - began}))
        except AlgorithmError:  # the user's own measure, which is likely to fail in each run
            raise
        except RunError as error:
            rows.append((job, str(error)))
    return rows


def _results(client: Client, take: Callable[[], Task | None], patience_s: float) -> Results:
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    running: dict[str, tuple[Any, list[Job]]] = {}
    workers = _Workers(client, patience_s)
    expected = (engine_version(), metrics_version())
    mean_s: float | None = None

    def fill() -> None:
        # Two calls per worker thread, and some in transit.
        while len(running) < 2 * workers.threads + 2:
            tasks: list[Task] = []
            size = 1 if mean_s is None else max(1, min(_MOST_RUNS, int(_CALL_S / mean_s)))
            while len(tasks) < size and (task := take()) is not None:
                tasks.append(task)
            if not tasks:
                return
            future = client.submit(_batch, tasks, expected, pure=False, retries=0)
            running[future.key] = (future, [task.job for task in tasks])
            future.add_done_callback(ended.put)

    try:
        workers.count(at_once=True)
        fill()
        while running:
            workers.count()
            try:
                future = ended.get(timeout=_POLL_S)
            except queue.Empty:
                fill()
                continue
            _, jobs = running.pop(future.key)
            rows = _result(future, jobs)
            times = [row["wall_s"] for _, row in rows if isinstance(row, dict)]
            if times:
                latest = sum(times) / len(times)
                mean_s = latest if mean_s is None else 0.8 * mean_s + 0.2 * latest
            future.release()
            fill()
            for job, row in rows:
                yield job, row if isinstance(row, dict) else RunError(Fault("run", row, ""))
            fill()
    finally:
        with contextlib.suppress(Exception):
            client.cancel([future for future, _ in running.values()], force=True)


def _result(future: Any, jobs: list[Job]) -> list[tuple[Job, Row | str]]:
    from distributed import KilledWorker

    try:
        rows: list[tuple[Job, Row | str]] = future.result(timeout=5)
    except VersionError as error:
        host, theirs = error.args
        what = f"has cwndlab {theirs}, not {engine_version()}: its rows would have another version"
        raise RunError(Fault(f"--cluster: worker on {host}", what, "install the same version everywhere")) from None
    except AlgorithmError:
        raise
    except KilledWorker:
        which = ", ".join(f"cell {job.point} seed {job.seed}" for job in jobs[:3])
        what = f"several workers died in the call that begins with {which}"
        raise RunError(Fault("--cluster", what, f"is their memory sufficient? {_RESUME}")) from None
    except Exception as error:
        if type(error).__name__ not in ("FutureCancelledError", "CancelledError", "CommClosedError", "TimeoutError"):
            what = f"a worker failed: {_line(error)} ({type(error).__name__})"
            raise RunError(
                Fault("--cluster", what, f"is cwndlab {engine_version()} installed there? {_RESUME}")
            ) from None
        raise _lost() from None
    return rows


def _lost() -> RunError:
    return RunError(Fault("--cluster", "the connection to the scheduler is lost", _RESUME))


class _Workers:
    """The number of worker threads, updated every other second."""

    def __init__(self, client: Client, patience_s: float) -> None:
        self._client, self._patience_s = client, patience_s
        self._counted_at = 0.0
        self._seen_at = time.monotonic()
        self.threads = 1

    def count(self, *, at_once: bool = False) -> None:
        """Raises if there are no workers for too long, or the scheduler is gone."""
        now = time.monotonic()
        if self._client.status != "running":
            raise _lost()
        if not at_once and now - self._counted_at < 2.0:
            return
        self._counted_at = now
        try:
            threads = sum(self._client.nthreads().values())
        except Exception:
            raise _lost() from None
        if threads:
            self.threads, self._seen_at = threads, now
        elif now - self._seen_at > self._patience_s:
            what = f"no worker for {self._patience_s:g} s"
            raise RunError(Fault("--cluster", what, f"start workers with `dask worker ADDRESS`; {_RESUME}"))
