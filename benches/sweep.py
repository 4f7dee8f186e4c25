"""The overhead of a sweep: CPU per run on threads and on Dask, utilisation of the cores, memory; and the accuracy of
the estimates of `--dry-run`.

`make bench`.

A thousand one-second runs of two flows on 20 to 200 Mbit/s. The engine alone runs the same scenarios and seeds one
after another, without Python's metrics and without a store; the additional CPU time of the sweep is its overhead. CPU
times are minima over three processes, which alternate. Utilisation is CPU time / (time of the cores − CPU time of other
processes). Memory is the peak of a process after a hundred runs and after all. The estimates are for sweeps of mixed
cost: four algorithms on 20 to 200 Mbit/s, short and long runs. Prints Markdown tables; `python benches/sweep.py
overhead` or `… estimate` only one of them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from targets import cell

RUNS = 1000
# The longer runs of the mixed sweeps, s.
LONG_S = (5, 60)
RATES = ("20 Mbps", "50 Mbps", "100 Mbps", "200 Mbps")


def short_runs(runs: int) -> Any:
    """A sweep over four rates, with ``runs`` runs in total."""
    import cwndlab
    from cwndlab.study.sweeps import Sweep

    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="10 ms"))
    flows = [cwndlab.Flow("cubic", rtt="40 ms"), cwndlab.Flow("reno", rtt="60 ms")]
    base = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=flows)
    return Sweep(base=base, product={"dumbbell.bottleneck.rate": RATES}, seeds=range(runs // len(RATES)))


def mixed(durations: Sequence[str]) -> Any:
    """A sweep of mixed cost: four algorithms, three rates, three RTTs, two buffers, two durations; one seed."""
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
    """CPU time of all processes of the machine, s."""
    fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]
    user, nice, system, _, _, irq, soft, steal = (int(field) for field in fields[:8])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def _measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of a call, with its CPU and wall-clock time and its utilisation of the cores that others left."""
    from cwndlab.engine import available_cores

    wall, cpu, machine = time.perf_counter(), _cpu_s(resource.RUSAGE_SELF), _machine_s()
    result = work()
    wall, cpu, machine = (
        time.perf_counter() - wall,
        _cpu_s(resource.RUSAGE_SELF) - cpu,
        _machine_s() - machine,
    )
    available = available_cores() * wall - max(0.0, machine - cpu)
    return result, {"cpu_s": cpu, "wall_s": wall, "utilisation": cpu / max(available, cpu)}


def alone(runs: int) -> dict[str, float]:
    """The engine without the sweep."""
    from cwndlab.simulate import run_text

    campaign = short_runs(runs)
    documents = [campaign.checked(cell).document for cell in range(len(campaign))]
    run_text(documents[0], seed=0)
    before = _cpu_s(resource.RUSAGE_SELF)
    for seed in campaign.seeds:
        for document in documents:
            run_text(document, seed=seed)
    return {"cpu_s": _cpu_s(resource.RUSAGE_SELF) - before}


def threads(runs: int) -> dict[str, float]:
    """The sweep on one thread per core."""
    import numpy  # noqa: F401  imports are not part of the overhead of a run
    import polars  # noqa: F401
    from cwndlab.study.sweeps import sweep

    campaign = short_runs(runs)
    folder = tempfile.mkdtemp()
    sweep(short_runs(8), out=f"{folder}/warm")
    result, cost = _measured(lambda: sweep(campaign, out=f"{folder}/out"))
    assert result.outcome.ran == len(campaign) * len(campaign.seeds)
    return cost | {"rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def dask(runs: int) -> dict[str, float]:
    """The sweep on two processes: CPU of workers, scheduler and this process."""
    from cwndlab.study.cluster import Cluster, connected, on
    from cwndlab.study.sweeps import sweep

    campaign = short_runs(runs)
    folder = tempfile.mkdtemp()
    with connected(Cluster.parse("local:2")) as client:
        sweep(short_runs(80), out=f"{folder}/warm", executor=on(client))

        def workers() -> float:
            return float(sum(client.run(_worker_cpu_s).values()))

        wall, cpu, before = time.perf_counter(), _cpu_s(resource.RUSAGE_SELF), workers()
        sweep(campaign, out=f"{folder}/out", executor=on(client))
        wall = time.perf_counter() - wall
        return {"cpu_s": _cpu_s(resource.RUSAGE_SELF) - cpu + workers() - before, "wall_s": wall}


def _worker_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def estimated(long_s: int) -> dict[str, float]:
    """The estimate of `--dry-run` for a mixed sweep, and the measured cost of the sweep on threads."""
    from cwndlab.engine import available_cores
    from cwndlab.study.sweeps import sweep
    from cwndlab.study.sweeps.estimate import estimate
    from cwndlab.study.sweeps.run import left

    campaign, folder = mixed(("1 s", f"{long_s} s")), f"{tempfile.mkdtemp()}/out"
    cores = available_cores()
    expected = estimate(campaign, *left(campaign, folder), workers=cores)
    result, cost = _measured(lambda: sweep(campaign, out=folder))
    return {
        "runs": len(campaign),
        "calibrated": expected.calibrated,
        "expected_packets": expected.packets,
        "packets": float(result.runs["packets"].sum()),
        "expected_cpu_s": expected.cpu_s,
        "expected_wall_s": expected.hours * 3600,
        "expected_wall_under_load_s": expected.hours * 3600 * expected.crowding,
    } | cost


PARTS = {"alone": alone, "threads": threads, "dask": dask, "estimated": estimated}


def in_new_process(part: str, size: int) -> dict[str, float]:
    """Measures a part in a new process."""
    command = [sys.executable, __file__, part, str(size)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def overhead() -> None:
    """Prints the table of the overhead of a sweep."""
    measured: dict[str, list[dict[str, float]]] = {"alone": [], "threads": [], "dask": []}
    for _ in range(3):
        # The parts alternate, because the load of a shared machine changes the cost of a run.
        for part, results in measured.items():
            results.append(in_new_process(part, RUNS))
    engine, local, remote = (min(results, key=lambda one: one["cpu_s"]) for results in measured.values())
    few, many = in_new_process("threads", RUNS // 10), in_new_process("threads", 3 * RUNS)
    utilisation = max(one["utilisation"] for one in measured["threads"])
    rows = [
        ("CPU of the engine alone, ms per run", engine["cpu_s"] / RUNS * 1e3, "", "{:.2f}"),
        ("overhead on threads, CPU ms per run", (local["cpu_s"] - engine["cpu_s"]) / RUNS * 1e3, "≤ 1", "{:.2f}"),
        ("overhead on Dask, CPU ms per run", (remote["cpu_s"] - engine["cpu_s"]) / RUNS * 1e3, "≤ 3", "{:.2f}"),
        ("utilisation of the cores, %", utilisation * 100, "≥ 95", "{:.0f}"),
        ("runs per second on threads", RUNS / local["wall_s"], "", "{:.0f}"),
        (f"peak memory after {RUNS // 10:,} runs, MB", few["rss_mb"], "", "{:.0f}"),
        (f"peak memory after {RUNS:,} runs, MB", local["rss_mb"], "as above", "{:.0f}"),
        (f"peak memory after {3 * RUNS:,} runs, MB", many["rss_mb"], "as above", "{:.0f}"),
    ]
    print(f"| a sweep of {RUNS:,} one-second runs | measured | target |\n|---|---:|---:|")  # noqa: T201
    for title, value, target, form in rows:
        print(f"| {title} | {form.format(value)} | {cell(target, value)} |")  # noqa: T201


def estimates() -> None:
    """Prints the table of estimates and measured costs of sweeps."""
    print("| a mixed sweep | | `--dry-run` | measured | ratio | target |\n|---|---|---:|---:|---:|---:|")  # noqa: T201
    for long_s in LONG_S:
        one = in_new_process("estimated", long_s)
        title = f"{one['runs']:.0f} runs of 1 and {long_s} s, {one['calibrated']:.0f} calibrated"
        rows = [
            ("packets, millions", one["expected_packets"] / 1e6, one["packets"] / 1e6),
            ("CPU, s", one["expected_cpu_s"], one["cpu_s"]),
            ("wall, s, on idle cores", one["expected_wall_s"], one["wall_s"]),
            ("wall, s, under the load of the calibration", one["expected_wall_under_load_s"], one["wall_s"]),
        ]
        for quantity, expected, measured in rows:
            ratio = expected / measured
            target = cell("0.8 to 1.2", ratio) if quantity.startswith(("CPU", "wall, s, on idle")) else ""
            cells = (title, quantity, f"{expected:.1f}", f"{measured:.1f}", f"{ratio:.2f}", target)
            print(f"| {' | '.join(cells)} |")  # noqa: T201
        utilisation = one["utilisation"] * 100
        target = cell("≥ 95", utilisation)
        print(f"| {title} | utilisation of the cores, % |  | {utilisation:.0f} |  | {target} |", flush=True)  # noqa: T201


def main(parts: list[str]) -> None:
    """Prints the selected tables; without arguments both."""
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
