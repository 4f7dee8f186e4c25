"""What a sweep adds to its runs: share of the cores that is used, overhead per run on threads and on Dask, memory.

`make bench`.

A thousand one-second runs of two flows on 20 to 200 Mbit/s, as the issue of a sweep of short runs has them. The engine
alone runs the same scenarios and seeds one after another, without Python's metrics and without a store; what the sweep
takes more, in CPU, is its overhead. Busy is CPU over what the cores had left: what other processes of the machine used
meanwhile is taken off. Memory is the peak of a process after a hundred runs and after all. Prints Markdown tables.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RUNS = 1000
RATES = ("20 Mbps", "50 Mbps", "100 Mbps", "200 Mbps")


def question(runs: int) -> Any:
    """The sweep: four rates, so many runs in all."""
    import cwndlab
    from cwndlab.sweeps import Sweep

    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="10 ms"))
    flows = [cwndlab.Flow("cubic", rtt="40 ms"), cwndlab.Flow("reno", rtt="60 ms")]
    base = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows)
    return Sweep(base=base, product={"dumbbell.bottleneck.rate": RATES}, seeds=range(runs // len(RATES)))


def _cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _machine_s() -> float:
    """CPU seconds that the whole machine has used."""
    fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = (int(field) for field in fields[:8])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def alone(runs: int) -> dict[str, float]:
    """The engine without the rest."""
    from cwndlab.run import run_text

    asked = question(runs)
    documents = [asked.checked(cell).document for cell in range(len(asked))]
    run_text(documents[0], seed=0)
    before = _cpu_s(resource.RUSAGE_SELF)
    for seed in asked.seeds:
        for document in documents:
            run_text(document, seed=seed)
    return {"cpu_s": _cpu_s(resource.RUSAGE_SELF) - before}


def threads(runs: int) -> dict[str, float]:
    """The sweep on a thread per core."""
    import numpy  # noqa: F401  what is imported once is no overhead of a run
    import polars  # noqa: F401
    from cwndlab.run import available_cores
    from cwndlab.sweeps import sweep

    asked = question(runs)
    place = tempfile.mkdtemp()
    sweep(question(8), out=f"{place}/warm")
    wall, cpu, machine = time.perf_counter(), _cpu_s(resource.RUSAGE_SELF), _machine_s()
    outcome = sweep(asked, out=f"{place}/out")
    assert outcome.ran == len(asked) * len(asked.seeds)
    wall, cpu, machine = (
        time.perf_counter() - wall,
        _cpu_s(resource.RUSAGE_SELF) - cpu,
        _machine_s() - machine,
    )
    left = available_cores() * wall - max(0.0, machine - cpu)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu_s": cpu, "wall_s": wall, "busy": cpu / max(left, cpu), "rss_mb": memory}


def dask(runs: int) -> dict[str, float]:
    """The sweep on two processes: CPU of workers, scheduler and this process."""
    from cwndlab.sweeps import sweep
    from cwndlab.sweeps.cluster import Cluster, connected, on

    asked = question(runs)
    place = tempfile.mkdtemp()
    with connected(Cluster.parse("local:2")) as client:
        sweep(question(80), out=f"{place}/warm", executor=on(client))

        def workers() -> float:
            return float(sum(client.run(_worker_cpu_s).values()))

        wall, cpu, before = time.perf_counter(), _cpu_s(resource.RUSAGE_SELF), workers()
        sweep(asked, out=f"{place}/out", executor=on(client))
        wall = time.perf_counter() - wall
        return {"cpu_s": _cpu_s(resource.RUSAGE_SELF) - cpu + workers() - before, "wall_s": wall}


def _worker_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def fresh(part: str, runs: int) -> dict[str, float]:
    """A part in a process of its own."""
    command = [sys.executable, __file__, part, str(runs)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """The table."""
    engine = min((fresh("alone", RUNS) for _ in range(2)), key=lambda one: one["cpu_s"])
    local = min((fresh("threads", RUNS) for _ in range(2)), key=lambda one: one["cpu_s"])
    few, many = fresh("threads", RUNS // 10), fresh("threads", 3 * RUNS)
    remote = min((fresh("dask", RUNS) for _ in range(2)), key=lambda one: one["cpu_s"])
    rows = [
        ("CPU of the engine alone, ms per run", engine["cpu_s"] / RUNS * 1e3, "", "{:.2f}"),
        ("overhead on threads, CPU ms per run", (local["cpu_s"] - engine["cpu_s"]) / RUNS * 1e3, "< 2", "{:.2f}"),
        ("overhead on Dask, CPU ms per run", (remote["cpu_s"] - engine["cpu_s"]) / RUNS * 1e3, "< 10", "{:.2f}"),
        ("cores busy, %", local["busy"] * 100, "> 90", "{:.0f}"),
        ("runs per second on threads", RUNS / local["wall_s"], "", "{:.0f}"),
        (f"peak memory after {RUNS // 10:,} runs, MB", few["rss_mb"], "", "{:.0f}"),
        (f"peak memory after {RUNS:,} runs, MB", local["rss_mb"], "as above", "{:.0f}"),
        (f"peak memory after {3 * RUNS:,} runs, MB", many["rss_mb"], "as above", "{:.0f}"),
    ]
    print(f"| a sweep of {RUNS:,} one-second runs | measured | wanted |\n|---|---:|---:|")  # noqa: T201
    for title, value, wanted, form in rows:
        print(f"| {title} | {form.format(value)} | {wanted} |")  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps({"alone": alone, "threads": threads, "dask": dask}[sys.argv[1]](int(sys.argv[2]))))  # noqa: T201
    else:
        main()
