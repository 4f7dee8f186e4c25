#!/usr/bin/env python3
"""Prints the rates of Prague and CUBIC through one bottleneck beside those that heistp/l4s-tests published.

known-answers/l4s-coexistence.csv has the published rates. The configuration of the published runs is known as far as
their scripts and kernel are: Prague 0.5 without independence of the RTT and without its state by rate, CUBIC with
Accurate ECN (tcp_ecn = 3), and the DualPI2 of that kernel. Each step of `STEPS` adds one part of it to the defaults.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

import cwndlab
import polars as pl

KEPT = Path(__file__).resolve().parents[1] / "known-answers" / "l4s-coexistence.csv"
SEEDS = range(1, 4)
#: Seconds: the duration, and the interval of the published means.
DURATION, START, END = 180, 118, 178
#: Slots of the pfifo at a rate, Mbit/s.
PFIFO = {10: 200, 50: 1000}
_CONSTANTS = {"update": "16 ms", "alpha": 0.16, "beta": 3.2, "l_min": "1 ms", "l_range": "0 s"}


@dataclass(frozen=True)
class Row:
    """A published run."""

    rate_mbps: int
    queue: str
    flows: tuple[tuple[str, int], tuple[str, int]]
    """Algorithm and base RTT, ms."""
    mbps: tuple[float, float]


@dataclass(frozen=True)
class Step:
    """A configuration of the flows and of DualPI2."""

    name: str
    prague: str = "prague"
    cubic: str = "cubic"
    ecn: str = "off"
    """ECN of CUBIC."""
    dualpi2: Mapping[str, Any] = field(default_factory=dict)


_OLD = "prague(target=0, transit=0)"
STEPS = (
    Step("defaults: Prague 0.7, RFC 9438, RFC 9332"),
    Step("and Prague without RTT independence, as its default was", _OLD),
    Step("and CUBIC with ECN", _OLD, ecn="accecn"),
    Step("and CUBIC as in Linux", _OLD, "cubic-linux", "accecn"),
    Step("and the constants of Linux' DualPI2", _OLD, "cubic-linux", "accecn", _CONSTANTS),
    Step(
        "and its random marks and its step from three packets on: the published configuration",
        *(_OLD, "cubic-linux", "accecn"),
        {**_CONSTANTS, "linux": True, "min_qlen_step": 2},
    ),
)


def rows() -> list[Row]:
    """The published runs."""
    lines = [line for line in KEPT.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [
        Row(
            int(one["rate_mbps"]),
            one["queue"],
            ((one["first"], int(one["first_rtt_ms"])), (one["second"], int(one["second_rtt_ms"]))),
            (float(one["first_mbps"]), float(one["second_mbps"])),
        )
        for one in csv.DictReader(lines)
    ]


def rates(row: Row, step: Step, seed: int) -> tuple[float, float]:
    """Our rates of a published run, Mbit/s."""
    queue: dict[str, Any] = {"kind": row.queue.replace("_", "-")}
    if row.queue == "dualpi2":
        queue.update(step.dualpi2)
    elif row.queue == "pfifo":
        queue = {"kind": "droptail", "capacity": f"{PFIFO[row.rate_mbps]} packets"}
    flows: list[dict[str, Any]] = []
    for name, rtt in row.flows:
        flow: dict[str, Any] = {"algorithm": getattr(step, name), "rtt": f"{rtt} ms"}
        flows.append({**flow, "stack": {"ecn": step.ecn}} if name == "cubic" else flow)
    document = {
        "schema_version": 1,
        "duration": f"{DURATION} s",
        "sample_interval": "1 s",
        "dumbbell": {"bottleneck": {"rate": f"{row.rate_mbps} Mbit/s", "queue": queue}},
        "flow": flows,
    }
    samples = cwndlab.run(document, seed=seed).samples
    first, second = (_mbps(samples, flow) for flow in (0, 1))
    return first, second


def _mbps(samples: pl.DataFrame, flow: int) -> float:
    inside = pl.col("time_ns").is_between(START * 10**9, END * 10**9)
    delivered = samples.filter((pl.col("flow") == flow) & inside)["delivered_bytes"]
    return 8e-6 * (int(delivered[-1]) - int(delivered[0])) / (END - START)


def measured(chosen: Sequence[Row], step: Step) -> list[tuple[float, float]]:
    """Our rates of these runs, means over the seeds."""
    with ThreadPoolExecutor() as pool:
        jobs = [[pool.submit(rates, row, step, seed) for seed in SEEDS] for row in chosen]
        pairs = [[job.result() for job in jobs_of_row] for jobs_of_row in jobs]
    return [(sum(a for a, _ in one) / len(one), sum(b for _, b in one) / len(one)) for one in pairs]


def deviations(chosen: Sequence[Row], ours: Sequence[tuple[float, float]]) -> list[float]:
    """By which factor our ratio of the two rates differs from the published one, at least 1."""
    pairs = zip(ours, chosen, strict=True)
    return [exp(abs(log(mine[0] / mine[1] * row.mbps[1] / row.mbps[0]))) for mine, row in pairs]


def _steps(known: Sequence[Row]) -> list[str]:
    """The table of the steps."""
    chosen = [row for row in known if row.queue == "dualpi2"]

    def equal(row: Row) -> bool:
        (first, rtt), (second, other) = row.flows
        return (first, second) == ("cubic", "prague") and rtt == other

    heads = [f"{row.rate_mbps} Mbit/s, {row.flows[0][1]} ms" for row in chosen if equal(row)]
    lines = [
        f"| Prague over CUBIC | {' | '.join(heads)} | ratios within 1.25 | median, largest factor |",
        f"|---|{'--:|' * (len(heads) + 2)}",
        f"| published | {' | '.join(f'{row.mbps[1] / row.mbps[0]:.2f}' for row in chosen if equal(row))} | | |",
    ]
    for step in STEPS:
        ours = measured(chosen, step)
        ratios = [f"{b / a:.2f}" for (a, b), row in zip(ours, chosen, strict=True) if equal(row)]
        found = deviations(chosen, ours)
        near = f"{sum(one <= 1.25 for one in found)} of {len(found)}"
        lines.append(f"| {step.name} | {' | '.join(ratios)} | {near} | {median(found):.2f}, {max(found):.2f} |")
    return lines


def _pairs(known: Sequence[Row]) -> list[str]:
    """The table of all published runs, with the last step."""
    columns = list(dict.fromkeys((row.queue, row.rate_mbps) for row in known))
    cells: dict[tuple[str, ...], dict[tuple[str, int], str]] = {}
    near = []
    for column in columns:
        chosen = [row for row in known if (row.queue, row.rate_mbps) == column]
        ours = measured(chosen, STEPS[-1])
        near.append(f"{sum(one <= 1.25 for one in deviations(chosen, ours))} of {len(chosen)}")
        for row, (first, second) in zip(chosen, ours, strict=True):
            pair = tuple(f"{name} {rtt}" for name, rtt in row.flows)
            cell = f"{row.mbps[0]:.1f} / {row.mbps[1]:.1f}; {first:.1f} / {second:.1f}"
            cells.setdefault(pair, {})[column] = cell
    heads = [f"{queue} {rate}" for queue, rate in columns]
    lines = [f"| flows, ms | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for pair, found in cells.items():
        lines.append(f"| {', '.join(pair)} | {' | '.join(found.get(column, '') for column in columns)} |")
    return [*lines, f"| ratios within 1.25 | {' | '.join(near)} |"]


def main() -> None:
    """Markdown: the table of the steps, and that of all published runs (published; here)."""
    known = rows()
    sys.stdout.write("\n".join([*_steps(known), "", *_pairs(known)]) + "\n")


if __name__ == "__main__":
    main()
