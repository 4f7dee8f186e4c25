"""cwndlab in the kernel's TCP: latency of decisions, cost of a call, comparisons with kernel and simulator.

`make bench`; as root. `python benches/kernel.py latency`, `cost`, `classes`, `schedules` or `beside` runs one part.
Prints tables in Markdown.

Latency is the time from a report of the kernel to the application of its decision at a later ACK, as counted by the
eBPF program. The comparison runs the same scenario over the emulator with the kernel's own algorithm and with cwndlab's
in the datapath. The two alternate, seven times each, so that disturbances of the machine affect both.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cwndlab
from cwndlab.emulation import emulate
from cwndlab.kernel import attach

#: rate, base RTT, queue in packets
PATHS = (
    ("10 Mbps", "40 ms", 33),
    ("20 Mbps", "80 ms", 133),
    ("50 Mbps", "20 ms", 83),
    ("50 Mbps", "100 ms", 200),
    ("100 Mbps", "40 ms", 333),
)
#: Linux' Reno halves the window; RFC 5681, and cwndlab's default, halve FlightSize.
PAIRS = ("reno(base=cwnd)", "cubic-linux")
REPETITIONS = 7
DURATION = "6 s"
#: Runs of each row of `latency`, and the percentiles of its columns.
LATENCY_RUNS = 3
PERCENTILES = [(key, share) for key in ("decided", "applied") for share in ("p50_ns", "p99_ns")]


def scenario(
    algorithm: str,
    rate: str,
    rtt: str,
    queue: int,
    duration: str = DURATION,
    classes: Any = None,
    control: cwndlab.Control | None = None,
) -> cwndlab.Scenario:
    bottleneck = cwndlab.Link(rate=rate, delay="5 ms", queue=cwndlab.DropTail(f"{queue} packets"))
    flow = cwndlab.Flow(algorithm, rtt=rtt, control=control)
    return cwndlab.Scenario(duration=duration, dumbbell=cwndlab.Dumbbell(bottleneck), flows=[flow], algorithms=classes)


def _results(records: cwndlab.Records) -> tuple[float, float, float]:
    """Goodput in Mbit/s, mean RTT in ms, retransmitted packets."""
    flow = records.flows.row(0, named=True)
    goodput = 8 * flow["delivered_bytes"] / records.runs["duration_ns"][0] * 1e3
    return goodput, flow["mean_rtt_ns"] / 1e6, flow["retransmitted_packets"]


def latency() -> Iterator[str]:
    """A row per algorithm, schedule and rate: percentiles of the latency, reports, lost reports."""
    yield (
        "| algorithm | reports | path | goodput | reports sent | lost | decided p50 | p99 | applied p50 | p99 | "
        "at the next ACK or transmission |"
    )
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for algorithm, report in (("reno", "ack"), ("reno", "rtt"), ("bbr1", "ack")):
        for rate, rtt, queue in (("100 Mbps", "40 ms", 333), ("500 Mbps", "10 ms", 417)):
            path = scenario(algorithm, rate, rtt, queue)
            goodputs, totals = [], []
            for seed in range(1, LATENCY_RUNS + 1):
                with attach([algorithm], report=report, timeout_s=60) as datapath:
                    goodputs.append(_results(emulate(path, seed=seed, accept_late=True, datapath="cwndlab"))[0])
                totals.append(datapath.totals[0])
            sent, lost = (sum(total[key] for total in totals) for key in ("reports", "lost"))
            cells = [
                f"{algorithm} | {report} | {rate}, {rtt} | {statistics.median(goodputs):.1f} Mbit/s | {sent} | {lost}",
                *(_spread([total[key][share] for total in totals]) for key, share in PERCENTILES),
                f"{_at_next(totals):.1%}",
            ]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"Medians of {LATENCY_RUNS} runs, with the largest; sums of the reports."


def _spread(times_ns: list[float]) -> str:
    """The median and the largest of some times."""
    return f"{statistics.median(times_ns) / 1e3:.0f} ({max(times_ns) / 1e3:.0f}) µs"


def _at_next(totals: list[dict[str, Any]]) -> float:
    """The share of the decisions that applied at the first ACK or transmission after their report."""
    return sum(total["applied_at_next"] for total in totals) / sum(total["applied"]["count"] for total in totals)


@contextmanager
def _counted() -> Iterator[None]:
    """Enables the kernel's statistics of eBPF programs: calls and run time, in fdinfo (BPF_ENABLE_STATS)."""
    attributes = (ctypes.c_uint32 * 2)(0, 0)  # BPF_STATS_RUN_TIME
    calls = {"x86_64": 321, "aarch64": 280}
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(calls[os.uname().machine], 32, attributes, 8)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "BPF_ENABLE_STATS")
    try:
        yield
    finally:
        os.close(descriptor)


def _calls() -> tuple[int, int]:
    """Run time in ns and calls of all eBPF programs that this process has loaded."""
    sums = [0, 0]
    for path in Path("/proc/self/fdinfo").iterdir():
        try:
            lines = dict(line.split(":", 1) for line in path.read_text(encoding="ascii").splitlines() if ":" in line)
        except OSError:
            continue
        if "prog_type" in lines:
            sums = [sums[0] + int(lines["run_time_ns"]), sums[1] + int(lines["run_cnt"])]
    return sums[0], sums[1]


def cost() -> Iterator[str]:
    """The cost of a call of the program, the kernel's overhead of counting included."""
    yield "| algorithm | reports | calls of the program | ns per call | calls per report |"
    yield "|---|---|---|---|---|"
    for algorithm, report in (("reno", "ack"), ("reno", "rtt"), ("bbr1", "ack")):
        with _counted(), attach([algorithm], report=report, timeout_s=60) as datapath:
            emulate(scenario(algorithm, *PATHS[-1]), seed=1, accept_late=True, datapath="cwndlab")
            (spent, calls), reports = _calls(), datapath.totals[0]["reports"]
        yield f"| {algorithm} | {report} | {calls} | {spent / calls:.0f} | {calls / reports:.1f} |"


def _measured(path: cwndlab.Scenario, seed: int, datapath: Any) -> dict[str, float]:
    results = _results(emulate(path, seed=seed, accept_late=True, datapath=datapath))
    return dict(zip(("goodput", "rtt", "retransmitted"), map(float, results), strict=True))


#: Quantities of the comparison: label and unit, and the difference that counts as none.
COMPARED = (
    ("goodput", "goodput, Mbit/s", 0.05),
    ("rtt", "mean RTT, ms", 0.05),
    ("retransmitted", "retransmitted", 0.10),
)


def beside() -> Iterator[str]:
    """A row per algorithm, path and quantity: medians with the kernel's and with cwndlab's algorithm, least and largest
    run of each, the difference of the medians, and the kernel's spread: largest less smallest of its own runs."""
    yield "| algorithm | path | quantity | kernel | cwndlab | difference | spread of the kernel | holds |"
    yield "|---|---|---|---|---|---|---|---|"
    for algorithm in PAIRS:
        with attach([algorithm], report="ack", timeout_s=60):
            for rate, rtt, queue in PATHS:
                path = scenario(algorithm, rate, rtt, queue)
                runs: dict[str, list[dict[str, float]]] = {"kernel": [], "cwndlab": []}
                for seed in range(REPETITIONS):
                    for datapath, measurements in runs.items():
                        measurements.append(_measured(path, seed, datapath))
                for key, label, tolerance in COMPARED:
                    yield f"| {algorithm} | {rate}, {rtt}, {queue} packets | {label} | " + _compared(
                        *([run[key] for run in each] for each in runs.values()), tolerance
                    )


def _compared(kernel: list[float], library: list[float], tolerance: float) -> str:
    """The rest of a row. Counts differ by one between any two runs, so that a difference of one is none."""
    base, other = statistics.median(kernel), statistics.median(library)
    difference, spread = other - base, max(kernel) - min(kernel)
    is_count = all(value.is_integer() for value in [*kernel, *library])
    if abs(difference) <= max(tolerance * base, float(is_count)):
        verdict = "yes"
    else:
        verdict = "within the kernel's spread" if abs(difference) <= spread else "**no**"
    digits = 0 if is_count else 1

    def runs(each: list[float]) -> str:
        return f"{statistics.median(each):.{digits}f} ({min(each):.{digits}f} to {max(each):.{digits}f})"

    percent = (f"{100 * difference / base:+.1f} %", f"{100 * spread / base:.1f} %") if base else ("–", "–")
    return f"{' | '.join([runs(kernel), runs(library), *percent, verdict])} |"


#: Algorithms whose results depend on the report schedule, and Reno.
SCHEDULED = ("reno", "phcc", "vegas", "fast", "yeah")


#: A decision takes effect at the next transmission. Any delay between two ACKs gives the same results.
DELAYED = cwndlab.Control(delay="100 us")
#: Changes of the path that no real path excludes: ms of the RTT, packets of the queue.
RTT_CHANGES_MS, QUEUE_CHANGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5), (-1, 0, 1, 2)


def _cells(results: tuple[float, float, float]) -> str:
    goodput, rtt, retransmitted = results
    return f"{goodput:.1f} Mbit/s | {rtt:.1f} ms | {retransmitted:.0f}"


def _simulated_nearby(algorithm: str, rate: str, rtt: str, queue: int) -> str:
    """Least and largest results of the simulator, with decisions that are delayed as in the kernel, on this path and on
    those that differ from it a little."""
    paths = [
        scenario(algorithm, rate, f"{float(rtt.split()[0]) + more} ms", queue + change, "10 s", control=DELAYED)
        for more in RTT_CHANGES_MS
        for change in QUEUE_CHANGES
    ]
    columns = zip(*(_results(cwndlab.run(path, seed=1)) for path in paths), strict=True)
    (a, b), (c, d), (e, f) = ((min(column), max(column)) for column in columns)
    return f"{a:.1f} to {b:.1f} Mbit/s | {c:.1f} to {d:.1f} ms | {e:.0f} to {f:.0f}"


def schedules() -> Iterator[str]:
    """A row per algorithm, path and schedule: the simulator, and the kernel with this schedule."""
    yield "| algorithm | path | run | goodput | mean RTT | retransmitted packets |"
    yield "|---|---|---|---|---|---|"
    for algorithm in SCHEDULED:
        for rate, rtt, queue in PATHS[1], PATHS[4]:
            path = scenario(algorithm, rate, rtt, queue, "10 s")
            start = f"| {algorithm} | {rate}, {rtt}, {queue} packets |"
            yield f"{start} simulator | {_cells(_results(cwndlab.run(path, seed=1)))} |"
            yield f"{start} simulator, delayed, similar paths | {_simulated_nearby(algorithm, rate, rtt, queue)} |"
            for report in ("ack", "rtt"):
                with attach([algorithm], report=report, timeout_s=60):
                    records = emulate(path, seed=1, accept_late=True, datapath="cwndlab")
                yield f"{start} kernel, report `{report}` | {_cells(_results(records))} |"


def classes() -> Iterator[str]:
    """A row per algorithm and rate: latency of a class in Python beside that of the library's Reno."""
    (name, kind), *_ = cwndlab.custom.load(Path(__file__).parents[1] / "examples" / "own_algorithm.py").items()
    yield "| algorithm | path | goodput | reports sent | lost | decided p50, p99 | applied p50, p99 |"
    yield "|---|---|---|---|---|---|---|"
    for algorithm in ("reno", name):
        for rate, rtt, queue in (("20 Mbps", "40 ms", 67), ("100 Mbps", "40 ms", 333)):
            path = scenario(algorithm, rate, rtt, queue, classes={name: kind})
            with attach([algorithm], report="ack", timeout_s=60, classes={name: kind}) as datapath:
                records = emulate(path, seed=1, accept_late=True, datapath="cwndlab")
            total = datapath.totals[0]
            goodput = _results(records)[0]
            start = f"| {algorithm} | {rate}, {rtt} | {goodput:.1f} Mbit/s | {total['reports']} | {total['lost']} | "
            yield start + " | ".join(_latency(total[key]) for key in ("decided", "applied")) + " |"


def _latency(counted: dict[str, float]) -> str:
    """Median and 99th percentile."""
    return ", ".join(f"{counted[share] / 1e3:.0f} µs" for share in ("p50_ns", "p99_ns"))


def main() -> int:
    """Prints the selected tables; without arguments all."""
    if os.geteuid() != 0:
        sys.stderr.write("benches/kernel.py: registration with the kernel requires root\n")
        return 0
    parts = {"latency": latency, "cost": cost, "classes": classes, "schedules": schedules, "beside": beside}
    for name in sys.argv[1:] or list(parts):
        for line in parts[name]():
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        sys.stdout.write("\n")
    sys.stdout.write(
        f"Load of the machine during the measurement: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
