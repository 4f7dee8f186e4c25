"""The CCM-SS paper: Ahmad et al., IEEE Access 6, 2018, with three baselines.

What the paper contradicts in itself, and what is assumed: buffers in "percent" of BDP are fractions of it (the Hamilton
suite that it cites); Figure 12 runs to 800 s though runs last 600 s; its Eq. 17 is inverted; slow start's +1 per ACK is
called congestion avoidance. The delay of the bottleneck is a quarter of the shortest RTT, since the paper gives none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import polars as pl

from cwndlab.metrics import summary
from cwndlab.reproduce.claims import Finding, judge_ratio, judge_welch
from cwndlab.run import run_many

#: The band of B·D in which μ can change where slow start ends: between 0.2 (μ = 1) and 0.3 (μ = 1.5).
BAND = (0.2, 0.3)

NS2 = {"profile": "ns2", "stack": {"initial_window": 2, "ack_every": 1}}
_LINUX = {"profile": "linux", "stack": {"mss": "1460 B", "header": "40 B", "ack": "40 B"}}


@dataclass(frozen=True)
class Baseline:
    """What CCM-SS is held against."""

    name: str
    base: str
    module: str
    stack: dict[str, Any]


BASELINES = (
    Baseline("paper", "cubic-ns2+hystart/sack", "cubic-ns2+ccm-ss/sack", NS2),
    Baseline("today", "cubic+hystart/rack", "cubic+ccm-ss/rack", _LINUX),
    Baseline("mu alone", "cubic-ns2+ccm-ss(mu=1)/sack", "cubic-ns2+ccm-ss/sack", NS2),
)


@dataclass(frozen=True)
class Cell:
    """A point of the grid: bottleneck in Mbit/s, buffer in BDP, RTTs in ms."""

    bandwidth: int
    buffer: float
    rtts: tuple[int, int]


@dataclass(frozen=True)
class Size:
    """How large an experiment is run."""

    duration_s: float
    late_start_s: float
    repetitions: int
    bandwidths: tuple[int, ...]
    buffers: tuple[float, ...]
    partners: int


QUICK = Size(40.0, 15.0, 4, (50, 150, 250), (0.1, 0.5), 2)
FULL = Size(600.0, 150.0, 3, (50, 100, 150, 200, 250), (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.5, 1.0, 1.5, 2.0), 8)

_SETS: dict[tuple[str, str], tuple[int, range]] = {
    ("long", "different"): (100, range(50, 191, 20)),
    ("long", "similar"): (190, range(50, 191, 20)),
    ("short", "different"): (50, range(2, 17, 2)),
    ("short", "similar"): (16, range(2, 17, 2)),
}


def pairs(length: str, kind: str, size: Size) -> list[tuple[int, int]]:
    """The RTT pairs of a set, spread evenly where fewer than eight are run."""
    first, others = _SETS[length, kind]
    seconds = list(others)
    step = max(1, len(seconds) // size.partners)
    return [(first, second) for second in seconds[step - 1 :: step][: size.partners]]


def document(
    cell: Cell, algorithm: str, stack: dict[str, Any], *, duration_s: float, starts: tuple[float, float]
) -> dict[str, Any]:
    """The scenario of a cell."""
    flows = [
        {"algorithm": algorithm, "rtt": f"{rtt} ms", "start": f"{start} s", **stack}
        for rtt, start in zip(cell.rtts, starts, strict=True)
    ]
    return {
        "schema_version": 1,
        "title": f"ccm-ss {cell.bandwidth} Mbit/s, {cell.buffer} BDP, {cell.rtts[0]} and {cell.rtts[1]} ms",
        "duration": f"{duration_s} s",
        "start_jitter": "rtt",
        "dumbbell": {
            "bottleneck": {
                "rate": f"{cell.bandwidth} Mbps",
                "delay": f"{min(cell.rtts) / 4} ms",
                "queue": {"capacity": f"{cell.buffer} bdp"},
            },
            "access": {"rate": f"{2 * cell.bandwidth} Mbps"},
        },
        "flow": flows,
    }


@dataclass
class Outcome:
    """What one run gave."""

    values: dict[str, float | None]
    exits: int
    in_band: int


Key = tuple[str, Cell, int]
Progress = Callable[[int, int], Any]


def _exits(records: Any) -> tuple[int, int]:
    """Slow-start exits that CCM-SS held against B·D, and how many fell where μ can matter."""
    left = records.events.filter(
        (pl.col("kind") == "slow-start-exit") & pl.col("pipe_segments").is_not_null() & (pl.col("pipe_segments") > 0)
    )
    if len(left) == 0:
        return 0, 0
    mss = int(records.flows["mss_bytes"][0])
    share = left["cwnd_after_bytes"] / mss / left["pipe_segments"]
    return len(left), int(share.is_between(*BAND, closed="left").sum())


def run_cells(
    algorithms: Sequence[tuple[str, dict[str, Any]]],
    cells: Sequence[Cell],
    size: Size,
    *,
    late: bool,
    seed: int,
    workers: int | None,
    progress: Progress | None,
) -> dict[Key, Outcome]:
    """Every algorithm in every cell with the same seeds."""
    starts = (1.0, size.late_start_s if late else 2.0)
    keys: list[Key] = []
    jobs: list[tuple[Any, int]] = []
    for repetition in range(size.repetitions):
        for cell in cells:
            for algorithm, stack in algorithms:
                keys.append((algorithm, cell, repetition))
                jobs.append(
                    (document(cell, algorithm, stack, duration_s=size.duration_s, starts=starts), seed + repetition)
                )
    found: dict[Key, Outcome] = {}
    for index, records in run_many(jobs, workers=workers, progress=progress):
        exits, band = _exits(records)
        found[keys[index]] = Outcome(summary(records), exits, band)
    return found


def per_seed(
    found: dict[Key, Outcome], algorithm: str, metric: str, cells: Sequence[Cell], size: Size
) -> list[float | None]:
    """The mean of a metric over the cells, one value per seed; nothing where no cell has one."""
    out: list[float | None] = []
    for repetition in range(size.repetitions):
        values = [found[algorithm, cell, repetition].values[metric] for cell in cells]
        numbers = [value for value in values if value is not None]
        out.append(fmean(numbers) if numbers else None)
    return out


def _band(id: str, name: str, found: dict[Key, Outcome], algorithm: str) -> Finding:
    mine = [outcome for (one, _, _), outcome in found.items() if one == algorithm]
    exits, inside = sum(one.exits for one in mine), sum(one.in_band for one in mine)
    share = inside / exits if exits else None
    reason = f"{inside} of {exits} exits of {algorithm} lay between {BAND[0]} and {BAND[1]} of B·D, the only place where μ can matter; the paper counts none"
    return Finding(
        id, f"{name}: share of slow-start exits where mu can matter", "–", share, None, None, "not testable", reason
    )


def _algorithms(baseline: Baseline) -> list[tuple[str, dict[str, Any]]]:
    return [(baseline.base, baseline.stack), (baseline.module, baseline.stack)]


Direction = Literal["lower", "higher"]

#: Metric, title, direction, published ratio if a size is given, the paper's words.
Claim = tuple[str, str, Direction, float | None, str]


def compare_modules(
    id: str,
    cells: Sequence[Cell],
    size: Size,
    claims: Sequence[Claim],
    *,
    late: bool = False,
    split: Callable[[Cell], str] | None = None,
    **run: Any,
) -> Iterator[Finding]:
    """Each claim for each baseline, over all cells together or per ``split`` of them."""
    for baseline in BASELINES:
        found = run_cells(_algorithms(baseline), cells, size, late=late, **run)
        groups: dict[str, list[Cell]] = {}
        for cell in cells:
            groups.setdefault(split(cell) if split else "", []).append(cell)
        for group, members in groups.items():
            for metric, title, direction, ratio, words in claims:
                base, module = (per_seed(found, one, metric, members, size) for one in (baseline.base, baseline.module))
                place = f" at {group}" if group else ""
                yield judge_ratio(
                    id,
                    f"{baseline.name}: {title}{place}, CCM-SS / {'mu = 1' if 'mu=1' in baseline.base else 'HyStart'}",
                    base,
                    module,
                    published=ratio,
                    direction=direction,
                    words=words,
                )
        yield _band(id, baseline.name, found, baseline.module)


def _cells(size: Size, bandwidths: Sequence[int], rtts: Sequence[tuple[int, int]]) -> list[Cell]:
    return [Cell(bandwidth, buffer, pair) for bandwidth in bandwidths for buffer in size.buffers for pair in rtts]


def fig12a(size: Size, **run: Any) -> Iterator[Finding]:
    """Packet loss rate, long RTTs: 10 % lower on average."""
    cells = _cells(size, (250,), pairs("long", "different", size))
    return compare_modules(
        "ccm-ss/fig12a",
        cells,
        size,
        [("drops_per_s", "drops per second", "lower", 0.90, "10 % lower on average")],
        **run,
    )


def fig12b(size: Size, **run: Any) -> Iterator[Finding]:
    """Packet loss rate, short RTTs: slightly lower."""
    cells = _cells(size, (250,), pairs("short", "different", size))
    return compare_modules(
        "ccm-ss/fig12b", cells, size, [("drops_per_s", "drops per second", "lower", None, "slightly lower")], **run
    )


def fig13a(size: Size, **run: Any) -> Iterator[Finding]:
    """Goodput over the bandwidth: higher at every one."""
    cells = _cells(size, size.bandwidths, pairs("long", "different", size))
    claim: list[Claim] = [("sent_goodput_bps", "goodput", "higher", None, "higher at every bandwidth")]
    return compare_modules("ccm-ss/fig13a", cells, size, claim, split=lambda cell: f"{cell.bandwidth} Mbit/s", **run)


def fig13b(size: Size, **run: Any) -> Iterator[Finding]:
    """Goodput over the RTT: higher."""
    cells = _cells(size, (250,), [*pairs("long", "similar", size), *pairs("short", "similar", size)])
    claim: list[Claim] = [("sent_goodput_bps", "goodput", "higher", None, "higher")]
    return compare_modules(
        "ccm-ss/fig13b", cells, size, claim, split=lambda cell: f"{cell.rtts[0]} and {cell.rtts[1]} ms", **run
    )


def fig14(size: Size, **run: Any) -> Iterator[Finding]:
    """Two flows, the second late: converges sooner, fairer."""
    cells = _cells(size, (250,), [(100, 190)])
    claims: list[Claim] = [
        ("convergence_s", "convergence time", "lower", None, "converges faster"),
        ("jain", "Jain's index of goodputs", "higher", None, "fairer"),
    ]
    return compare_modules("ccm-ss/fig14", cells, size, claims, late=True, **run)


def table4(size: Size, **run: Any) -> Iterator[Finding]:
    """The four sets with Welch's t-test on the loss rate."""
    baseline = BASELINES[0]
    for (length, kind), _ in _SETS.items():
        cells = _cells(size, (250,), pairs(length, kind, size))
        found = run_cells(_algorithms(baseline), cells, size, late=False, **run)
        for metric, title in (("drops_per_s", "drops per second"), ("sent_goodput_bps", "goodput")):
            first, second = (
                [value for value in per_seed(found, one, metric, cells, size) if value is not None]
                for one in (baseline.base, baseline.module)
            )
            yield judge_welch("ccm-ss/table4", f"{length} RTT, {kind}: {title}", first, second, below=0.05)


def claim18(size: Size, **run: Any) -> Iterator[Finding]:
    """Loss, goodput, fairness and convergence against five others: 18 % better."""
    cells = _cells(size, (250,), [(100, 190)])
    others = [
        "reno+standard/sack",
        "highspeed+standard/sack",
        "bic+standard/sack",
        "cubic-ns2+standard/sack",
        "ctcp+standard/sack",
    ]
    module = BASELINES[0].module
    found = run_cells([(name, NS2) for name in [*others, module]], cells, size, late=True, **run)
    claims: list[tuple[str, str, Direction, float]] = [
        ("drops_per_s", "drops per second", "lower", 0.82),
        ("sent_goodput_bps", "goodput", "higher", 1.18),
        ("jain", "Jain's index", "higher", 1.18),
        ("convergence_s", "convergence time", "lower", 0.82),
    ]
    for other in others:
        for metric, title, direction, ratio in claims:
            base, mine = (per_seed(found, one, metric, cells, size) for one in (other, module))
            yield judge_ratio(
                "ccm-ss/claim18",
                f"{title}, CUBIC with CCM-SS / {other.split('+')[0]}",
                base,
                mine,
                published=ratio,
                direction=direction,
                words="18 % better",
            )


FIGURES: dict[str, Callable[..., Iterator[Finding]]] = {
    "fig12a": fig12a,
    "fig12b": fig12b,
    "fig13a": fig13a,
    "fig13b": fig13b,
    "fig14": fig14,
    "table4": table4,
    "claim18": claim18,
}
