"""Paired differences between the values of a label, over common seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.metrics.margins import verdict_of
from cwndlab.statistics import Difference, Estimate, adjusted, difference
from cwndlab.study.spec import Row

__all__ = ["columns_of", "paired", "tests", "values", "verdict_columns"]

#: The runs of a value of a label, by seed.
Runs = Mapping[int, Row]
Test = tuple[Difference, float | None]
_NO_DIFFERENCE = difference([], [])


def values(runs: Runs, metric: str) -> dict[int, float]:
    """A metric by seed; runs without a value are left out."""
    return {seed: value for seed, row in sorted(runs.items()) if (value := row.get(metric)) is not None}


def paired(base: Runs, other: Runs, metric: str) -> Difference | None:
    """The difference of a metric to ``base`` over common seeds; ``None`` where there are none."""
    first, second = values(base, metric), values(other, metric)
    seeds = [seed for seed in first if seed in second]
    return difference([first[seed] for seed in seeds], [second[seed] for seed in seeds]) if seeds else None


def tests(
    groups: Mapping[tuple[Any, ...], Mapping[Any, Runs]], order: Sequence[Any], metrics: Sequence[str]
) -> dict[tuple[tuple[Any, ...], Any, str], Test]:
    """The differences to the first value of ``order`` within each group, and p-values after Holm's correction.

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
    p_values = adjusted(list(deltas.values()))
    return {key: (delta, p) for (key, delta), p in zip(deltas.items(), p_values, strict=True)}


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
    """The verdict on a difference as columns; nulls where it is not compared."""
    if test is None:
        return {"verdict": None, "wanted": None}
    verdict = verdict_of(metric, *test)
    return {"verdict": verdict.decision.value, "wanted": verdict.is_wanted}
