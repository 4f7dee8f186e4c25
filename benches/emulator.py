"""The emulator on this machine: goodput of kernel TCP relative to the ideal, lateness, and results of the calibration.

`make bench`.

One CUBIC flow of the kernel over a drop-tail queue of one BDP, with the base RTT and rate of the table. Goodput is
measured from the third of eight seconds on. The ideal is the line's rate × payload / packet size (1448 / 1500 bytes,
with timestamps). The table has the median over several runs and the maximum lateness. The load is that of the machine
during the measurement. Prints Markdown.
"""

from __future__ import annotations

import os
import sys
from statistics import median
from typing import Any

#: Rate, base RTT, target of goodput / ideal. The target of the 99th percentile of lateness is 100 us.
PATHS = (("100 Mbps", "40 ms", 0.97), ("500 Mbps", "10 ms", 0.95), ("1 Gbps", "10 ms", 0.97))
RUNS = 3
WARM_UP_S, DURATION_S = 2, 8
COLUMNS = (
    "path",
    "goodput / ideal",
    "target",
    "lateness p50, us",
    "p99, us",
    "p99.9, us",
    "maximum, us",
    "base RTT, measured − expected, ms",
    "rate, measured / line",
    "capacity, packets",
    "priority",
)


def scenario(rate: str, rtt: str) -> Any:
    """One bulk flow over one bottleneck of this rate."""
    import cwndlab

    bottleneck = cwndlab.Link(rate=rate, delay="1 ms", queue=cwndlab.DropTail("1 bdp"))
    flow = cwndlab.Flow("cubic", rtt=rtt)
    return cwndlab.Scenario(duration=f"{DURATION_S} s", dumbbell=cwndlab.Dumbbell(bottleneck), flows=[flow])


def measure(rate: str, rtt: str, seed: int) -> dict[str, Any]:
    """The measurements of one run."""
    from cwndlab.emulation import emulate_with_timing
    from cwndlab.records import Records

    emulated, timing = emulate_with_timing(scenario(rate, rtt), seed=seed, late_s=1.0)
    records: Records = emulated
    samples = records.rows("samples")
    start = next(row for row in samples if row["time_ns"] >= WARM_UP_S * 1e9)
    end = samples[-1]
    bps = 8e9 * (end["delivered_bytes"] - start["delivered_bytes"]) / (end["time_ns"] - start["time_ns"])
    link = next(row for row in records.rows("links") if row["rate_bps"] is not None)
    calibration = {row["quantity"]: row for row in records.rows("calibration")}
    return {
        "goodput": bps / (link["rate_bps"] * 1448 / 1500),
        **{name: timing[f"late_{name}_ns"] / 1e3 for name in ("p50", "p99", "p999", "max")},
        "rtt_ms": (calibration["base_rtt_ns"]["measured"] - calibration["base_rtt_ns"]["expected"]) / 1e6,
        "rate": calibration["rate_bps"]["measured"] / calibration["rate_bps"]["expected"],
        "capacity": [calibration["capacity_packets"][which] for which in ("measured", "expected")],
        "real_time": timing["real_time"],
    }


def row(rate: str, rtt: str, target: float) -> str:
    """The row of a path."""
    runs = [measure(rate, rtt, seed) for seed in range(1, RUNS + 1)]
    medians = {name: median(run[name] for run in runs) for name in ("goodput", "p50", "p99", "p999", "rtt_ms", "rate")}
    exact = all(run["capacity"][0] == run["capacity"][1] for run in runs)
    capacity = f"{runs[0]['capacity'][1]:.0f}, " + ("exact" if exact else "not exact")
    cells = (
        f"{rate}, {rtt}",
        f"{medians['goodput']:.2%}",
        f"{target:.0%}",
        *(f"{medians[name]:.0f}" for name in ("p50", "p99", "p999")),
        f"{max(run['max'] for run in runs):.0f}",
        f"{medians['rtt_ms']:.3f}",
        f"{medians['rate']:.4f}",
        capacity,
        "SCHED_FIFO" if all(run["real_time"] for run in runs) else "none",
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Prints the table, or the reason why it cannot be measured."""
    from cwndlab.errors import RunError

    lines = [f"| {' | '.join(COLUMNS)} |", "|---" + "|---:" * 8 + "|---|---|"]
    before = os.getloadavg()[0]
    try:
        lines += [row(*path) for path in PATHS]
    except RunError as error:
        sys.stdout.write(f"not measured: {error}\n")
        return 0
    after = os.getloadavg()[0]
    lines += [
        "",
        f"Medians of {RUNS} runs and their maximum; {os.cpu_count()} cores, load {before:.1f} to {after:.1f}.",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
