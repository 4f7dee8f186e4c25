"""The engine's speed: S1 to S4, scaling with flows and with the window, memory of idle flows; threads; cost of an ACK.

`make bench`.

Each measurement is a new native process, whose CPU time is measured. Prints Markdown tables: `python benches/engine.py
algorithms` only the last one, `… threads` only that of threads, `… engine` only the others.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from targets import cell

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("cwndlab-bench")
STACK = (
    'stack = { mss = "1460 B", header = "40 B", ack = "40 B", quick_acks = 0, tso_burst = false, auto_tuning = false }'
)


def lines(*arguments: str | Path) -> list[dict[str, Any]]:
    """The lines of JSON that the program prints."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(path: Path, repeats: int = 3) -> dict[str, Any]:
    """The fastest of several runs, because other processes of a shared machine only slow runs down."""
    runs = [lines("run", path, "1")[0] for _ in range(repeats)]
    return min(runs, key=lambda run: run["engine_s"])


def scenario(
    rate_mbps: float,
    flows: int,
    duration: str,
    *,
    packets: int,
    rtt: str = "50 ms",
    idle: bool = False,
    ssthresh: int | None = None,
) -> Path:
    """A dumbbell of equal flows, active or idle."""
    start = 'start = "1 h"' if idle else 'start_step = "1 ms"'
    stack = (
        STACK
        if ssthresh is None
        else STACK.replace(" }", f", initial_ssthresh = {ssthresh}, initial_window = {ssthresh} }}")
    )
    return write_scenario(rate_mbps, flows, duration, packets, [_flows(flows, rtt, start, stack)])


def many_flows(rate_mbps: float, flows: int, duration: str) -> Path:
    """A dumbbell of flows of ``rate_mbps`` each, with half a BDP of buffer. The flows have up to a hundred different
    RTTs from 40 to 60 ms. They start within half a second, with the RTTs in turn."""
    tables = min(flows, 100)
    step_ns = min(1_000_000, 500_000_000 // flows)
    rtts_us = [50_000 + round((index + 0.5) / tables * 20_000 - 10_000) for index in range(tables)]
    parts = []
    for index, rtt_us in enumerate(rtts_us):
        start = f'start = "{index * step_ns} ns"\nstart_step = "{tables * step_ns} ns"'
        parts.append(_flows(flows // tables, f"{rtt_us} us", start, STACK))
    segments = rate_mbps * 1e6 * 0.05 / (1500 * 8)
    return write_scenario(rate_mbps * flows, flows, duration, max(20, round(segments / 2 * flows)), parts)


def _flows(count: int, rtt: str, start: str, stack: str) -> str:
    """A table of flows."""
    return f"""[[flow]]
algorithm = "cubic+hystart-linux/rack"
rtt = "{rtt}"
count = {count}
{start}
{stack}
"""


def write_scenario(rate_mbps: float, flows: int, duration: str, packets: int, parts: list[str]) -> Path:
    """Writes a dumbbell with these tables of flows to a file."""
    text = f"""schema_version = 1
duration = "{duration}"
[dumbbell]
bottleneck = {{ rate = "{rate_mbps} Mbps", delay = "10 ms", queue = {{ capacity = "{packets} packets" }} }}
access = {{ rate = "{max(1000.0, 2 * rate_mbps / flows)} Mbps" }}
{"".join(parts)}"""
    file = Path(tempfile.mkdtemp()) / "bench.toml"
    file.write_text(text)
    return file


def table(header: list[str], rows: list[list[str]]) -> None:
    """Prints a Markdown table."""
    print("| " + " | ".join(header) + " |")  # noqa: T201
    print("|" + "---:|" * len(header))  # noqa: T201
    for row in rows:
        print("| " + " | ".join(row) + " |")  # noqa: T201
    print(flush=True)  # noqa: T201


#: Targets of the cost per packet with up to 10,000 flows and with 100,000 flows, relative to one flow.
TARGET, MANY_TARGET = 3, 6
#: Targets of the state of an active flow, and of the resident memory of an idle one, bytes.
ACTIVE_TARGET_BYTES, IDLE_TARGET_BYTES = 4096, 2048
#: Target of the speed on two threads relative to one.
THREADS_TARGET = 1.5
#: Numbers of threads for which the speed is computed from the parts of a run.
COMPUTED = (2, 16, 64)
#: Targets of the cost per ACK, ns: in general, and for model-based algorithms.
TARGET_NS, MODEL_TARGET_NS = 100, 200
MODELS = ("phcc", "bbr1", "bbr2-s2n", "bbr2-quiche", "bbr3", "copa")


def algorithms() -> None:
    """Prints nanoseconds per ACK, the minimum of nine passes over the events of the conformance battery."""
    rows = []
    for row in lines("algorithms"):
        name = str(row["algorithm"])
        target = MODEL_TARGET_NS if name.startswith(MODELS) else TARGET_NS
        rows.append([name, f"{row['ns_per_ack']:.0f}", cell(f"≤ {target}", row["ns_per_ack"])])
    table(["algorithm", "ns_per_ack", "target"], rows)


def threads() -> None:
    """Prints runs on one thread and on two, in turn, and what their parts would take on more."""
    rows = []
    paths = {"S2": ROOT / "scenarios" / "s2.toml", "S3": ROOT / "scenarios" / "s3.toml"}
    paths["S4"] = ROOT / "scenarios" / "s4.toml"
    paths |= {f"{flows:,} flows": many_flows(10.0, flows, "4 s") for flows in (1_000, 10_000)}
    for name, path in paths.items():
        runs = [[lines("run", path, "1", count)[0]["wall_s"] for count in ("1", "2")] for _ in range(3)]
        one, two = (min(times) for times in zip(*runs, strict=True))
        computed = lines("schedule", path, *map(str, COMPUTED))
        gains = [one / each["several_threads_s"] for each in computed]
        targeted = name in ("S4", "10,000 flows")
        rows.append(
            [
                name,
                f"{one:.3f}",
                f"{two:.3f}",
                f"{one / two:.2f}",
                cell(f"≥ {THREADS_TARGET}", one / two) if targeted else "–",
                f"{100 * computed[0]['links_s'] / one:.0f}",
                *(f"{gain:.2f}" for gain in gains),
            ]
        )
    header = ["scenario", "one thread, s", "two threads, s", "ratio", "target", "share of the links, %"]
    table([*header, *(f"computed, {count} cores" for count in COMPUTED)], rows)


def engine() -> None:
    """Prints the tables of the engine."""
    rows = []
    for name in ("s1", "s2", "s3", "s4"):
        run = measure(ROOT / "scenarios" / f"{name}.toml")
        rows.append(
            [
                name.upper(),
                f"{run['packets']:,}",
                f"{run['cpu_s']:.3f}",
                f"{run['packets'] / run['cpu_s'] / 1e6:.2f}",
                f"{run['peak_rss_mb']:.1f}",
                f"{run['events'] / run['packets']:.2f}",
            ]
        )
    table(["scenario", "packets", "CPU, s", "million packets per CPU s", "peak memory, MB", "events per packet"], rows)

    rows, base = [], None
    for flows in (1, 10, 100, 1_000, 10_000, 100_000):
        # The window of a flow is about 42 segments for all numbers of flows but the last, for which it is 4.
        is_large = flows > 10_000
        duration = "2 s" if is_large else "4 s" if flows >= 1000 else "20 s"
        run = measure(many_flows(1.0 if is_large else 10.0, flows, duration), repeats=1 if flows >= 10_000 else 2)
        cost = run["engine_s"] / run["packets"] * 1e9
        base = base or cost
        limit = MANY_TARGET if is_large else TARGET
        target = cell(f"≤ {limit}", cost / base) if flows > 1 else "–"
        rows.append(
            [
                f"{flows:,}",
                "1" if is_large else "10",
                f"{run['packets']:,}",
                f"{cost:.0f}",
                f"{cost / base:.2f}",
                target,
                f"{run['peak_rss_mb']:.1f}",
            ]
        )
    table(
        ["flows", "Mbit/s each", "packets", "ns per packet", "ratio to one flow", "target", "peak memory, MB"],
        rows,
    )

    rows, base = [], None
    for window in (100, 1_000, 10_000, 100_000):
        rate = window * 1500 * 8 / 0.1 / 1e6
        run = measure(
            scenario(rate, 1, "10 s" if window < 100_000 else "3 s", packets=window, rtt="100 ms", ssthresh=window),
            repeats=2,
        )
        cost = run["engine_s"] / run["packets"] * 1e9
        base = base or cost
        rows.append(
            [f"{window:,}", f"{run['packets']:,}", f"{cost:.0f}", f"{cost / base:.2f}", f"{run['peak_rss_mb']:.1f}"]
        )
    table(["window, segments", "packets", "ns per packet", "ratio to 100", "peak memory, MB"], rows)

    idle = (scenario(1000, flows, "1 s", packets=1000, idle=True) for flows in (1, 10_001))
    small, large = (lines("memory", path)[0] for path in idle)
    state = (large["state_bytes"] - small["state_bytes"]) / 10_000
    running, ended = ((large[name] - small[name]) * 1024 / 10_000 for name in ("peak_before_rows_kb", "peak_kb"))
    header = ["bytes of state per idle flow", "resident bytes, with its plan and four links", "target"]
    table(
        [*header, "with its rows of `flows` and `links`"],
        [[f"{state:.0f}", f"{running:.0f}", cell(f"≤ {IDLE_TARGET_BYTES}", running), f"{ended:.0f}"]],
    )
    small, large = (lines("memory", many_flows(0.2, flows, "2 s"))[0]["state_bytes"] for flows in (100, 10_000))
    state = (large - small) / 9_900
    table(
        ["bytes of state per active flow of 0.2 Mbit/s, with its packets in flight", "target"],
        [[f"{state:.0f}", cell(f"≤ {ACTIVE_TARGET_BYTES}", state)]],
    )


def main(parts: list[str]) -> None:
    """Prints the selected tables; without arguments all."""
    for name, part in {"engine": engine, "threads": threads, "algorithms": algorithms}.items():
        if not parts or name in parts:
            part()


if __name__ == "__main__":
    main(sys.argv[1:])
