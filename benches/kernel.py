"""cwndlab in the kernel's TCP: latency of decisions, cost of a call, comparison with the kernel's own algorithms.

`make bench`; as root. `python benches/kernel.py latency`, `cost` or `beside` runs one part. Prints Markdown tables.

Latency is the time from a report of the kernel to the application of its decision at a later ACK, as counted by the
eBPF program. The comparison runs the same scenario over the emulator with the kernel's own algorithm and with cwndlab's
in the datapath. The two alternate, five times each, so that disturbances of the machine affect both.
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
REPETITIONS = 5
DURATION = "6 s"


def scenario(algorithm: str, rate: str, rtt: str, queue: int, duration: str = DURATION) -> cwndlab.Scenario:
    bottleneck = cwndlab.Link(rate=rate, delay="5 ms", queue=cwndlab.DropTail(f"{queue} packets"))
    flow = cwndlab.Flow(algorithm, rtt=rtt)
    return cwndlab.Scenario(duration=duration, dumbbell=cwndlab.Dumbbell(bottleneck), flows=[flow])


def latency() -> Iterator[str]:
    """A row per rate: percentiles of the latency, reports, lost reports."""
    yield "| algorithm | reports | path | goodput | reports sent | lost | decided p50, p99 | applied p50, p99 |"
    yield "|---|---|---|---|---|---|---|---|"
    for algorithm, report in (("reno", "ack"), ("reno", "rtt"), ("bbr1", "ack")):
        for rate, rtt, queue in (("100 Mbps", "40 ms", 333), ("500 Mbps", "10 ms", 417)):
            with attach([algorithm], report=report, timeout_s=60) as datapath:
                path = scenario(algorithm, rate, rtt, queue)
                records = emulate(path, seed=1, accept_late=True, datapath="cwndlab")
            total = datapath.totals[0]
            flow = records.flows.row(0, named=True)
            goodput = 8 * flow["delivered_bytes"] / records.runs["duration_ns"][0] * 1e3
            decided, applied = (
                ", ".join(f"{total[key][share] / 1e3:.0f} µs" for share in ("p50_ns", "p99_ns"))
                for key in ("decided", "applied")
            )
            yield (
                f"| {algorithm} | {report} | {rate}, {rtt} | {goodput:.1f} Mbit/s | {total['reports']} | "
                f"{total['lost']} | {decided} | {applied} |"
            )


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
    records = emulate(path, seed=seed, accept_late=True, datapath=datapath)
    flow = records.flows.row(0, named=True)
    return {
        "goodput": 8 * flow["delivered_bytes"] / records.runs["duration_ns"][0] * 1e3,
        "rtt": flow["mean_rtt_ns"] / 1e6,
        "retransmitted": flow["retransmitted_packets"],
    }


def beside() -> Iterator[str]:
    """A row per algorithm and path: medians with the kernel's and with cwndlab's algorithm, and their difference."""
    yield "| algorithm | path | goodput, kernel → cwndlab | mean RTT | retransmitted packets |"
    yield "|---|---|---|---|---|"
    for algorithm in PAIRS:
        with attach([algorithm], report="ack", timeout_s=60):
            for rate, rtt, queue in PATHS:
                path = scenario(algorithm, rate, rtt, queue)
                runs: dict[str, list[dict[str, float]]] = {"kernel": [], "cwndlab": []}
                for seed in range(REPETITIONS):
                    for datapath, measurements in runs.items():
                        measurements.append(_measured(path, seed, datapath))
                cells = []
                for key, unit in (("goodput", " Mbit/s"), ("rtt", " ms"), ("retransmitted", "")):
                    kernel, cwndlabs = (statistics.median(run[key] for run in each) for each in runs.values())
                    difference = f"{100 * (cwndlabs / kernel - 1):+.1f} %" if kernel else "–"
                    cells.append(f"{kernel:.1f} → {cwndlabs:.1f}{unit} ({difference})")
                yield f"| {algorithm} | {rate}, {rtt}, {queue} packets | {' | '.join(cells)} |"


def main() -> int:
    """Prints the selected tables; without arguments all."""
    if os.geteuid() != 0:
        sys.stderr.write("benches/kernel.py: registration with the kernel requires root\n")
        return 0
    parts = {"latency": latency, "cost": cost, "beside": beside}
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
