"""Calls of video over one bottleneck, which Ericsson's SCReAM ran, as scenarios of ours.

``known-answers/scream/cells.json`` has their descriptions and the figures of two builds: ``code``, with the settings
of the authors' simulator, and ``draft``, with the rules of draft-ietf-ccwg-rfc8298bis-screamv2 and without its options;
``tools/scream`` made them. The encoder is that of the workload ``adaptive-video``, the receiver reports every 40 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from cwndlab.simulate import run_many

#: Seeds on both sides, and seconds before the measurement.
SEEDS = (1, 2, 3, 4, 5)
WARM_UP_S = 20
#: Limits of agreement: of the sum of rates, and of the 95th percentile of the delay, relative or in ms.
RATE, QUEUE, MILLISECONDS = 0.15, 0.25, 5
#: IP and UDP headers, bytes.
_HEADERS = 28
#: The queueing delay that ends a reaction to a smaller rate: the target of the draft, ms.
_TARGET_MS = 60
#: The share of a rate that ends a start, and a reaction to a larger rate.
_REACHED = 0.7


def document(cell: Mapping[str, Any], control: str = "scream2") -> dict[str, Any]:
    """The scenario of a cell."""
    marks = cell["mark_above"]
    queue: dict[str, Any] = {"kind": "droptail", "capacity": f"{cell['capacity']} packets"}
    if marks is not None:
        queue |= {"kind": "step-ecn", "mark_above": marks}
    steps = [{"at": f"{at} s", "rate": f"{mbps} Mbps"} for at, mbps in cell["rates"][1:]]
    delay = f"{cell['rtt_ms'] / 2} ms"
    line: dict[str, Any] = {"from": "a", "to": "b", "rate": f"{cell['rates'][0][1]} Mbps", "delay": delay}
    line |= {"queue": queue, "duplex": False}
    if steps:
        line["schedule"] = steps
    if cell["loss"]:
        line["loss"] = {"kind": "bernoulli", "p": cell["loss"]}
    workload: dict[str, Any] = {"kind": "adaptive-video", "control": control, "feedback": "40 ms", "packet": "978 B"}
    workload |= {"max_rate": f"{cell['max_mbps']} Mbps"} | ({} if marks is None else {"ecn": "l4s"})
    return {
        "schema_version": 1,
        "title": cell["name"],
        "duration": f"{cell['until_s']} s",
        "packets": True,
        "link": [line, {"from": "b", "to": "a", "delay": delay, "duplex": False}],
        "flow": [
            {"from": "a", "to": "b", "transport": "udp", "start": f"{at} s", "workload": workload}
            for at in cell["starts_s"]
        ],
    }


def crossings(packets: pl.DataFrame) -> pl.DataFrame:
    """Packets of the bottleneck: time of departure or drop, flow, seconds in queue and line, bytes, fate."""
    leaves = pl.coalesce("departure_ns", "time_ns")
    return packets.filter(pl.col("link") == 0).select(
        (leaves / 1e9).alias("t"),
        "flow",
        ((leaves - pl.col("time_ns")) / 1e9).alias("queue_s"),
        (pl.col("size_bytes") - _HEADERS).alias("bytes"),
        "fate",
    )


def figures(cell: Mapping[str, Any], runs: Sequence[pl.DataFrame]) -> dict[str, Any]:
    """The figures of a cell, means over seeds: rates, queueing delay, losses, marks, times of reactions."""
    every = [_figures(cell, packets) for packets in runs]
    return {
        key: [round(fmean(flow), 4) for flow in zip(*values, strict=True)] if key == "mbps" else round(fmean(values), 4)
        for key, values in ((key, [one[key] for one in every]) for key in every[0])
    }


def _figures(cell: Mapping[str, Any], packets: pl.DataFrame) -> dict[str, Any]:
    since = WARM_UP_S + cell["starts_s"][-1]
    measured = packets.filter(pl.col("t").is_between(since, cell["until_s"]))
    delivered = measured.filter(pl.col("fate").is_in([0, 3]))
    seconds = cell["until_s"] - since
    flows = [delivered.filter(pl.col("flow") == flow)["bytes"].to_numpy() for flow in range(len(cell["starts_s"]))]
    carried = measured.filter(pl.col("fate") != 1)["queue_s"].to_numpy()
    found: dict[str, Any] = {
        "mbps": [float(flow.sum()) * 8e-6 / seconds for flow in flows],
        "queue_ms": float(np.quantile(carried, 0.95)) * 1e3,
        "missing": 1 - len(delivered) / len(measured),
        "marked": len(measured.filter(pl.col("fate") == 3)) / len(measured),
    }
    rates = _rates(packets, cell["until_s"])
    first = min(cell["rates"][0][1], cell["max_mbps"])
    found["start_s"] = _reaches(rates, 0, _REACHED * first)
    for (_, before), (at, rate) in zip(cell["rates"], cell["rates"][1:], strict=False):
        if rate > before:
            found["up_s"] = _reaches(rates, at, _REACHED * rate)
        else:
            found |= _drained(packets.filter((pl.col("t") >= at) & (pl.col("fate") != 1)), at)
    return found


def _drained(after: pl.DataFrame, at: float) -> dict[str, float]:
    """Seconds from a step down at `at` until the queue that it causes is below the target, and its peak in ms."""
    times, delays = after["t"].to_numpy(), after["queue_s"].to_numpy() * 1e3
    above = np.flatnonzero(delays > _TARGET_MS)
    if not len(above) or times[above[0]] > at + 5:
        return {"down_s": 0.0, "peak_ms": float(delays[times < at + 5].max())}
    below = above[0] + np.flatnonzero(delays[above[0] :] <= _TARGET_MS)
    until = below[0] if len(below) else len(times) - 1
    return {"down_s": float(times[until]) - at, "peak_ms": float(delays[above[0] : until + 1].max())}


def _rates(packets: pl.DataFrame, until: float) -> list[float]:
    """Delivered rate in the second before each tenth of a second, Mbit/s."""
    delivered = packets.filter(pl.col("fate").is_in([0, 3]))
    bins = dict(
        delivered.group_by((pl.col("t") * 10).cast(pl.Int64).alias("bin")).agg(pl.col("bytes").sum()).iter_rows()
    )
    return [sum(bins.get(index - back, 0) for back in range(1, 11)) * 8e-6 for index in range(int(until * 10) + 1)]


def _reaches(rates: Sequence[float], since: float, rate: float) -> float:
    """Seconds after `since` until the rate is there; until the end if it is never."""
    later = rates[int(since * 10) :]
    return next((index / 10 for index, one in enumerate(later) if one >= rate), len(later) / 10)


def agreement(found: Mapping[str, Any], expected: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether the rate and the delay are within the limits."""
    rate = sum(found["mbps"]) / sum(expected["mbps"]) - 1
    apart = abs(found["queue_ms"] - expected["queue_ms"])
    return abs(rate) <= RATE, apart <= max(MILLISECONDS, QUEUE * expected["queue_ms"])


def ours(cells: Iterable[Mapping[str, Any]], *, workers: int | None = None) -> list[dict[str, Any]]:
    """The figures of our `scream2` for each cell."""
    cells = list(cells)
    jobs = [(document(cell), seed) for cell in cells for seed in SEEDS]
    runs: list[pl.DataFrame] = [pl.DataFrame()] * len(jobs)
    for index, records in run_many(jobs, workers=workers):
        runs[index] = crossings(records.packets)
    return [figures(cell, runs[n * len(SEEDS) : (n + 1) * len(SEEDS)]) for n, cell in enumerate(cells)]
