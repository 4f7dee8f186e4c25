"""Sweeps on Dask: workers that are killed, clusters that are not there, schedulers that go away."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.errors import RunError, ScenarioError
from cwndlab.study import cluster
from cwndlab.study.cluster import Cluster, connected, on
from cwndlab.study.result import Result
from cwndlab.study.store import Store
from cwndlab.study.sweeps import Sweep, sweep

Called = tuple[int, str, str]

# Dask leaves sockets and loops to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore")


def question(seeds: int = 3, duration: str = "300 ms") -> Sweep:
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    base = cwndlab.Scenario(duration=duration, dumbbell=path, flows=[cwndlab.Flow("reno", rtt="20 ms")])
    return Sweep(base=base, product={"flow[0].rtt": ["20 ms", "40 ms"]}, seeds=range(seeds))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes."""
    with connected(Cluster.parse("local:2")) as client:
        yield client


def test_rows_of_a_cluster_are_those_of_threads(client: Any, tmp_path: Path) -> None:
    assert sweep(question(), out=tmp_path / "dask", executor=on(client)).outcome.ran == 6
    sweep(question(), out=tmp_path / "threads")
    theirs, ours = (Result.read(tmp_path / name).runs for name in ("dask", "threads"))
    assert theirs.drop("wall_s", "host").equals(ours.drop("host"))


def test_a_killed_worker_costs_no_row_and_repeats_none(client: Any, tmp_path: Path) -> None:
    killed: list[int] = []

    def progress(done: int, total: int) -> None:
        if done >= 20 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    outcome = sweep(question(100), out=tmp_path / "out", executor=on(client), progress=progress).outcome
    assert killed
    assert (outcome.total, outcome.ran, outcome.failed) == (200, 200, [])
    # What landed before the kill did not land again.
    assert sum(part["rows"] for part in Store(tmp_path / "out").manifest["parts"]) == 200
    assert Result.read(tmp_path / "out").runs["key"].n_unique() == 200


def test_a_worker_of_another_version_is_told(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "engine_version", lambda: "9.9.9")
    with pytest.raises(RunError, match=r"has cwndlab .*, not 9\.9\.9: its rows would have another version"):
        sweep(question(), out=tmp_path / "out", executor=on(client))


def test_a_scheduler_that_goes_away_leaves_what_was_finished(tmp_path: Path) -> None:
    from distributed import LocalCluster

    scheduler = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    gone = threading.Event()

    def progress(done: int, total: int) -> None:
        if done >= 5 and not gone.is_set():
            gone.set()
            threading.Thread(target=scheduler.close).start()

    out = tmp_path / "out"
    with (
        connected(Cluster.parse(scheduler.scheduler_address)) as client,
        pytest.raises(RunError, match="finished runs are kept; the same command resumes there"),
    ):
        sweep(question(10_000), out=out, executor=on(client, patience_s=2.0), progress=progress)
    kept = len(Result.read(out).runs)
    assert 5 <= kept < 20_000
    assert sweep(question(kept), out=out).outcome.resumed >= kept


def test_a_cluster_that_is_not_there_is_told_within_seconds(tmp_path: Path, cli: Callable[..., Called]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = tmp_path / "grid.toml"
    file.write_text('[sweep]\nbase = "single"\nseeds = 2\n')
    status, _, said = cli("sweep", file, "--out", tmp_path / "out", "--cluster", f"tcp://127.0.0.1:{port}")
    assert status == 1
    assert said.startswith(f"--cluster tcp://127.0.0.1:{port}: no scheduler answers within 5 s")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mars", "'mars' is not a cluster"),
        ("tcp://host", "'tcp://host' is not a cluster"),
        ("local:none", "'none' is not a number of processes"),
        ("slurm:jobs=none", "jobs=none is not a number"),
        ("slurm:queue", "'queue' has no value"),
    ],
)
def test_what_is_no_cluster_is_told(text: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        Cluster.parse(text)


def test_the_job_of_slurm_asks_for_what_was_written() -> None:
    script = Cluster.parse(
        "slurm:jobs=4,cores=8,memory=16GB,queue=long,account=net,walltime=02:00:00,extra=--exclusive;--nice=10"
    ).script()
    lines = script.splitlines()
    for wanted in (
        "-p long",
        "-A net",
        "-n 1",
        "--cpus-per-task=8",
        "--mem=15G",
        "-t 02:00:00",
        "--exclusive",
        "--nice=10",
    ):
        assert f"#SBATCH {wanted}" in lines, wanted
    # One process per core: the cores of a job share no interpreter.
    assert "--nworkers 8 " in script
    assert "--nthreads 1 " in script
    with pytest.raises(ScenarioError, match="slurm has no 'que'"):
        Cluster.parse("slurm:que=long").script()


def test_without_slurm_it_is_told() -> None:
    if shutil.which("sbatch"):
        pytest.skip("SLURM is here")
    with (
        pytest.raises(RunError, match="there is no 'sbatch' on this machine"),
        connected(Cluster.parse("slurm:jobs=1")),
    ):
        pass


def test_slurm_runs_it(tmp_path: Path) -> None:
    if not shutil.which("sbatch"):
        pytest.skip("SLURM is not here: its job script is tested, not its queue")
    with connected(Cluster.parse("slurm:jobs=1,cores=1,memory=1GB,walltime=00:10:00")) as client:
        assert sweep(question(), out=tmp_path / "out", executor=on(client, patience_s=300.0)).outcome.ran == 6
