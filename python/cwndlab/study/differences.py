"""Paired differences between the values of a label, over common seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import verdict_of
from cwndlab.statistics import Difference, Estimate, adjusted, difference
from cwndlab.study.spec import Row

__all__ = ["columns_of", "is_one_run", "paired", "tests", "values", "verdict_columns"]

#: The runs of a value of a label, by seed.
Runs = Mapping[int, Row]
Test = tuple[Difference, float | None]
_NO_DIFFERENCE = difference([], [])


def values(runs: Runs, metric: str) -> dict[int, float]:
    """A metric by seed; runs without a value are left out."""
    return {seed: value for seed, row in sorted(runs.items()) if (value := row.get(metric)) is not None}


#: Equal counts of at least this are not a coincidence: two that differ by chance, as Poisson's do, agree in one of
#: eleven cases, and three on both sides in one of ten thousand.
_NO_COINCIDENCE = 20


def is_one_run(runs: Runs) -> bool:
    """Whether runs of several seeds are one run, shifted in time: every count of events is the same, and one is too
    large for a coincidence. Values per time or per packet then differ only by the start of the measurement.

    >>> is_one_run({1: {"retransmitted_packets": 239, "timeouts": 0}, 2: {"retransmitted_packets": 239, "timeouts": 0}})
    True
    >>> is_one_run({1: {"retransmitted_packets": 239}, 2: {"retransmitted_packets": 240}})
    False
    >>> is_one_run({1: {"retransmitted_packets": 3}, 2: {"retransmitted_packets": 3}})
    False
    """
    counts = [values(runs, name) for name, column in COLUMNS.items() if column.counts]
    found = [set(one.values()) for one in counts if len(one) > 1]
    return all(len(one) == 1 for one in found) and any(max(one) >= _NO_COINCIDENCE for one in found)


def paired(base: Runs, other: Runs, metric: str) -> Difference | None:
    """The difference of a metric from ``base`` over common seeds; ``None`` if there are none. If the runs of both sides
    are one run each (`is_one_run`), it is the difference of their means: one result."""
    first, second = values(base, metric), values(other, metric)
    seeds = [seed for seed in first if seed in second]
    if not seeds:
        return None
    one, two = [first[seed] for seed in seeds], [second[seed] for seed in seeds]
    if is_one_run(base) and is_one_run(other):
        one, two = [fmean(one)] * len(one), [fmean(two)] * len(two)
    return difference(one, two)


def tests(
    groups: Mapping[tuple[Any, ...], Mapping[Any, Runs]], order: Sequence[Any], metrics: Sequence[str]
) -> dict[tuple[tuple[Any, ...], Any, str], Test]:
    """The differences from the first value of ``order`` within each group, and p-values after Holm's correction.

    Parameters
    ----------
    groups
        Runs by group, then by the value of the compared label.
    order
        The values of the compared label; the first one is the base.
    metrics
        What is compared.

    Returns
    -------
    dict
        By group, value and metric: the difference, and the adjusted p-value of the paired t-test over all of them.
    """
    deltas: dict[tuple[tuple[Any, ...], Any, str], Difference] = {}
    for group, members in groups.items():
        for name in order[1:]:
            for metric in metrics:
                if (delta := paired(members.get(order[0], {}), members.get(name, {}), metric)) is not None:
                    deltas[group, name, metric] = delta
    return adjusted(deltas)


def columns_of(delta: Difference | None) -> Row:
    """A difference with its intervals, tests and effect sizes, as columns."""
    if delta is None:
        delta = _NO_DIFFERENCE
    bootstrapped = delta.bootstrapped
    row: Row = {
        "difference": delta.paired.mean if delta.deltas else None,
        "difference_low": delta.paired.low,
        "difference_high": delta.paired.high,
        "bootstrap_low": bootstrapped.low,
        "bootstrap_high": bootstrapped.high,
        "pairs": delta.paired.n if delta.deltas else None,
        "differing": delta.differing if delta.deltas else None,
        "p": delta.p,
        "welch_p": delta.welch_p,
        "wilcoxon_p": delta.wilcoxon_p,
        "shapiro_p": delta.shapiro_p,
    }
    for name in ("effect", "effect_unpaired", "rank_biserial"):
        one: Estimate | None = getattr(delta, name)
        row |= {name: one.mean if one else None}
        row |= {f"{name}_low": one.low if one else None, f"{name}_high": one.high if one else None}
    return row


def verdict_columns(metric: str, test: Test | None) -> Row:
    """The verdict on a difference as columns; nulls if it is not compared."""
    if test is None:
        return {"verdict": None, "wanted": None}
    verdict = verdict_of(metric, *test)
    return {"verdict": verdict.decision.value, "wanted": verdict.is_wanted}
