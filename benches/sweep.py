"""What a sweep adds to its runs: share of the cores that is used, overhead per run on threads and on Dask, memory; and
how near an estimate of `--dry-run` comes to what the sweep then takes.

`make bench`.

A thousand one-second runs of two flows on 20 to 200 Mbit/s, as the issue of a sweep of short runs has them. The engine
alone runs the same scenarios and seeds one after another, without Python's metrics and without a store; what the sweep
takes more, in CPU, is its overhead. Each CPU is the least of three processes', which take turns. Busy is CPU over what
the cores had left: what other processes of the machine used meanwhile is taken off. Memory is the peak of a process
after a hundred runs and after all. The estimates are of sweeps of mixed cost: four algorithms on 20 to 200 Mbit/s,
short and long runs. Prints Markdown tables; `python benches/sweep.py overhead` or `… estimate` only one of them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RUNS = 1000
# The longer runs of the mixed sweeps, s.
LONG_S = (5, 60)
RATES = ("20 Mbps", "50 Mbps", "100 Mbps", "200 Mbps")


def question(runs: int) -> Any:
    """The sweep: four rates, so many runs in all."""
    import cwndlab
    from cwndlab.study.sweeps import Sweep

    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="10 ms"))
    flows = [cwndlab.Flow("cubic", rtt="40 ms"), cwndlab.Flow("reno", rtt="60 ms")]
    base = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows)
    return Sweep(base=base, product={"dumbbell.bottleneck.rate": RATES}, seeds=range(runs // len(RATES)))


def mixed(durations: Sequence[str]) -> Any:
    """A sweep of mixed cost: four algorithms, three rates, three RTTs, two buffers, two durations; a seed each."""
    import cwndlab
    from cwndlab.study.sweeps import Sweep

    path = cwndlab.Dumbbell(cwndlab.Link(rate="20 Mbps", delay="1 ms"))
    flows = [cwndlab.Flow("cubic", rtt="40 ms"), cwndlab.Flow("cubic", rtt="60 ms")]
    base = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows, start_jitter="rtt")
    return Sweep(
        base=base,
        algorithms=["cubic", "bbr1", "ledbat", "copa"],
        product={
            "dumbbell.bottleneck.rate": ("20 Mbps", "60 Mbps", "200 Mbps"),
            "flow[1].rtt": ("10 ms", "60 ms", "150 ms"),
            "dumbbell.bottleneck.queue.capacity": ("0.3 bdp", "2 bdp"),
            "duration": durations,
        },
        seeds=[1],
    )


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
    from cwndlab.simulate import run_text

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
    from cwndlab.engine import available_cores
    from cwndlab.study.sweeps import sweep

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
    from cwndlab.study.sweeps import sweep
    from cwndlab.study.sweeps.cluster import Cluster, connected, on

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


def estimated(long_s: int) -> dict[str, float]:
    """What `--dry-run` says of a mixed sweep, and what this then takes. On threads."""
    from cwndlab.engine import available_cores
    from cwndlab.study.sweeps import load, sweep
    from cwndlab.study.sweeps.estimate import estimate
    from cwndlab.study.sweeps.execution import left

    asked, place = mixed(("1 s", f"{long_s} s")), f"{tempfile.mkdtemp()}/out"
    cores = available_cores()
    told = estimate(asked, *left(asked, place), workers=cores)
    wall, cpu = time.perf_counter(), _cpu_s(resource.RUSAGE_SELF)
    sweep(asked, out=place)
    wall, cpu = time.perf_counter() - wall, _cpu_s(resource.RUSAGE_SELF) - cpu
    return {
        "runs": len(asked),
        "calibrated": told.calibrated,
        "told_packets": told.packets,
        "packets": float(load(place)["packets"].sum()),
        "told_cpu_s": told.cpu_s,
        "cpu_s": cpu,
        "told_wall_s": told.hours * 3600,
        "crowded_wall_s": told.hours * 3600 * told.crowding,
        "wall_s": wall,
    }


PARTS = {"alone": alone, "threads": threads, "dask": dask, "estimated": estimated}


def fresh(part: str, size: int) -> dict[str, float]:
    """A part in a process of its own."""
    command = [sys.executable, __file__, part, str(size)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def overhead() -> None:
    """The table of what a run costs beside the engine."""
    measured: dict[str, list[dict[str, float]]] = {"alone": [], "threads": [], "dask": []}
    for _ in range(3):
        # In turn, since the load of a shared machine changes what a run takes.
        for part, found in measured.items():
            found.append(fresh(part, RUNS))
    engine, local, remote = (min(found, key=lambda one: one["cpu_s"]) for found in measured.values())
    few, many = fresh("threads", RUNS // 10), fresh("threads", 3 * RUNS)
    busy = max(one["busy"] for one in measured["threads"])
    rows = [
        ("CPU of the engine alone, ms per run", engine["cpu_s"] / RUNS * 1e3, "", "{:.2f}"),
        ("overhead on threads, CPU ms per run", (local["cpu_s"] - engine["cpu_s"]) / RUNS * 1e3, "≤ 1", "{:.2f}"),
        ("overhead on Dask, CPU ms per run", (remote["cpu_s"] - engine["cpu_s"]) / RUNS * 1e3, "≤ 3", "{:.2f}"),
        ("cores busy, %", busy * 100, "≥ 95", "{:.0f}"),
        ("runs per second on threads", RUNS / local["wall_s"], "", "{:.0f}"),
        (f"peak memory after {RUNS // 10:,} runs, MB", few["rss_mb"], "", "{:.0f}"),
        (f"peak memory after {RUNS:,} runs, MB", local["rss_mb"], "as above", "{:.0f}"),
        (f"peak memory after {3 * RUNS:,} runs, MB", many["rss_mb"], "as above", "{:.0f}"),
    ]
    print(f"| a sweep of {RUNS:,} one-second runs | measured | target |\n|---|---:|---:|")  # noqa: T201
    for title, value, wanted, form in rows:
        print(f"| {title} | {form.format(value)} | {wanted} |")  # noqa: T201


def estimates() -> None:
    """The table of estimates beside what sweeps took."""
    print("| a mixed sweep | | `--dry-run` | the sweep | ratio | target |\n|---|---|---:|---:|---:|---:|")  # noqa: T201
    for long_s in LONG_S:
        found = fresh("estimated", long_s)
        title = f"{found['runs']:.0f} runs of 1 and {long_s} s, {found['calibrated']:.0f} calibrated"
        rows = [
            ("packets, millions", found["told_packets"] / 1e6, found["packets"] / 1e6),
            ("CPU, s", found["told_cpu_s"], found["cpu_s"]),
            ("wall, s, on free cores", found["told_wall_s"], found["wall_s"]),
            ("wall, s, on cores as free as at the calibration", found["crowded_wall_s"], found["wall_s"]),
        ]
        for what, told, took in rows:
            aim = "0.8 to 1.2" if what.startswith(("CPU", "wall, s, on free")) else ""
            print(f"| {title} | {what} | {told:.1f} | {took:.1f} | {told / took:.2f} | {aim} |", flush=True)  # noqa: T201


def main(parts: list[str]) -> None:
    """The tables that are asked for, or both."""
    for index, (name, part) in enumerate({"overhead": overhead, "estimate": estimates}.items()):
        if not parts or name in parts:
            if index and not parts:
                print()  # noqa: T201
            part()


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PARTS:
        print(json.dumps(PARTS[sys.argv[1]](int(sys.argv[2]))))  # noqa: T201
    else:
        main(sys.argv[1:])
