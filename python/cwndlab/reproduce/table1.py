"""`ccm-ss/table1`: every slow start under one growth, on the CCM-SS paper's path.

The paper's Table 2 lists strengths and weaknesses in words. The one that all its modules share, losing less than
standard slow start at the beginning, is judged; time and goodput stand beside it as ratios to standard slow start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cwndlab import metrics
from cwndlab.reproduce.ccm_ss import NS2, Cell, Size, document, pairs
from cwndlab.reproduce.claims import Finding, geometric, judge_ratio, ratios
from cwndlab.run import run_many

if TYPE_CHECKING:
    from cwndlab.records import Records

#: What all are held against, and under which growth; flows begin at 1 and 2 s.
BASE, GROWTH, RECOVERY = "standard", "cubic-ns2", "sack"
_START_S, _EARLY_S, _LATE_S = 1.0, 11.0, 40.0


def _outcome(records: Records) -> dict[str, float | None]:
    """Drops per packet in the first 10 s, seconds until the pipe was full, goodput after 10 s."""
    early = metrics.loss(records, start_s=0, end_s=_EARLY_S).row(0, named=True)
    late = metrics.total_goodput(records, start_s=_EARLY_S, end_s=_LATE_S)
    return {
        "loss": early["loss_ratio"],
        "fill_s": metrics.fill(records)["fill_s"][0],
        "goodput": late["goodput_bps"][0],
    }


def table1(
    size: Size,
    *,
    seed: int,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[Finding]:
    """Three rows per slow start."""
    from cwndlab.algorithms import algorithms

    modules = list(algorithms("slow-start"))
    size = replace(size, duration_s=_LATE_S)
    cells = [Cell(250, buffer, rtts) for buffer in size.buffers for rtts in pairs("long", "different", size)]
    keys, jobs = [], []
    for entry in modules:
        for repetition in range(size.repetitions):
            for cell in cells:
                text = f"{GROWTH}+{entry.name}/{RECOVERY}"
                one = document(cell, text, NS2, duration_s=size.duration_s, starts=(_START_S, 2.0))
                one["dumbbell"]["bottleneck"]["agents"] = entry.agents
                keys.append((entry.name, repetition))
                jobs.append((one, seed + repetition))
    found: dict[tuple[str, int], list[dict[str, float | None]]] = {}
    for index, records in run_many(jobs, workers=workers, progress=progress):
        found.setdefault(keys[index], []).append(_outcome(records))

    def per_seed(name: str, metric: str) -> list[float | None]:
        out: list[float | None] = []
        for repetition in range(size.repetitions):
            values = [one[metric] for one in found[name, repetition]]
            numbers = [value for value in values if value is not None]
            # A module that never fills the pipe in one cell has no time there: no mean of the others stands for it.
            out.append(sum(numbers) / len(numbers) if len(numbers) == len(values) else None)
        return out

    for entry in modules:
        if entry.name != BASE:
            yield _losses(entry.name, per_seed(BASE, "loss"), per_seed(entry.name, "loss"))
            for metric, title in (("fill_s", "time to fill the pipe"), ("goodput", "goodput after 10 s")):
                yield _beside(f"{entry.name}: {title} / {BASE}", per_seed(BASE, metric), per_seed(entry.name, metric))


def _losses(name: str, base: list[float | None], other: list[float | None]) -> Finding:
    quantity = f"{name}: packets lost in the first 10 s / {BASE}"
    words = "fewer losses than slow start"
    if all(value == 0 for value in other) and all(value for value in base):
        # A ratio of zero has no logarithm, and needs none.
        reason = "it loses nothing in any repetition"
        return Finding("ccm-ss/table1", quantity, words, 0.0, 0.0, 0.0, "reproduced", reason)
    return judge_ratio("ccm-ss/table1", quantity, base, other, published=None, direction="lower", words=words)


def _beside(quantity: str, base: list[float | None], other: list[float | None]) -> Finding:
    """A ratio for which the paper has words and no size."""
    values = ratios(base, other)
    if not values:
        reason = "it does not fill the pipe in 40 s on every path"
        return Finding("ccm-ss/table1", quantity, "–", None, None, None, "not testable", reason)
    ratio = geometric(values)
    reason = "the paper's Table 2 has words and no size"
    return Finding("ccm-ss/table1", quantity, "–", ratio.mean, ratio.low, ratio.high, "not testable", reason)
