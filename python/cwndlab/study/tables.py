"""Results as text: the tables that commands print and pages show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cwndlab.errors import Fault, ScenarioError, parameter_fault
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import verdict_of
from cwndlab.scenario.declared import near
from cwndlab.statistics import Difference, Estimate, Verdict, estimate
from cwndlab.statistics.digits import effect_size, interval, mean_with_interval, p_value
from cwndlab.study.result import Result
from cwndlab.study.spec import Row

__all__ = [
    "SHOWN",
    "averaged",
    "by_cell",
    "cell",
    "cells",
    "differences",
    "heading",
    "means",
    "pairs",
    "pivot",
    "shown",
]

#: The metrics of a sweep that are shown unless others are named.
SHOWN = ("goodput_bps", "utilisation", "jain", "queue_ms", "drops_per_s")
_OF_COMPARISON = ("goodput_bps", "utilisation", "loss_ratio", "jain", "queue_ms", "retransmitted_packets")
#: What follows goodput and share of single flows.
_WITH_FLOWS = ("utilisation", "loss_ratio", "queue_ms")

Cells = list[list[str]]


def shown(result: Result) -> Sequence[str]:
    """The metrics of a comparison that the terminal shows."""
    if result.header["metrics"]:
        return list(result.header["metrics"])
    return _OF_COMPARISON if result.flows is None else (*result.of_flows, *_WITH_FLOWS)


def means(result: Result, metrics: Sequence[str] | None = None) -> tuple[list[str], Cells]:
    """Header and cells of a comparison: mean ± half of the 95 % interval, and the number of values where some runs
    have none."""
    metrics = metrics or shown(result)
    header = ["algorithm", *(f"{COLUMNS[metric].title}\n{COLUMNS[metric].unit}".strip() for metric in metrics)]
    return header, [[name, *(cell(result, name, metric) for metric in metrics)] for name in result.algorithms]


def cell(result: Result, algorithm: str, metric: str) -> str:
    """A metric of an algorithm in a comparison."""
    one = result.estimate(algorithm, metric)
    if one.n == 0:
        return "–"
    text = mean_with_interval(one, COLUMNS[metric].factor)
    return text if one.n == len(result.seeds) else f"{text} ({one.n} of {len(result.seeds)})"


def differences(result: Result, metrics: Sequence[str] | None = None) -> tuple[list[str], list[list[str | Verdict]]]:
    """Header and cells of the paired differences of a comparison to its first algorithm; the last cell of a row is the
    verdict."""
    titles = ("metric", "difference", "95 % interval", "p (Holm)", "Welch p", "effect", "n", "verdict")
    rows: list[list[str | Verdict]] = []
    for (name, metric), (delta, adjusted) in result.comparisons().items():
        if metrics is not None and metric not in metrics:
            continue
        column = COLUMNS[metric]
        mean, low, high = interval(delta.paired, column.factor)
        rows.append(
            [
                name,
                f"{column.title} {column.unit}".strip(),
                mean,
                f"{low} … {high}" if low else "–",
                p_value(adjusted),
                p_value(delta.welch_p),
                effect_size(delta.effect),
                pairs(delta),
                verdict_of(metric, delta, adjusted),
            ]
        )
    return [f"minus {result.algorithms[0]}", *titles], rows


def pairs(delta: Difference) -> str:
    """The number of pairs, and how many of them differ where some do not."""
    count = delta.paired.n
    return str(count) if delta.differing == count else f"{delta.differing} of {count} differ"


def by_cell(result: Result, metrics: Sequence[str] = SHOWN) -> list[Row]:
    """One row per cell that has a run: ``cell``, its labels, ``runs``, for each metric its mean, ``_low`` and
    ``_high`` of the 95 % interval, and ``_n``, the number of values, and ``findings``: by code, the number of runs that
    have it."""
    runs = result.runs
    known = [name for name in runs.columns if runs[name].dtype.is_numeric()] or list(COLUMNS)
    faults = [
        parameter_fault("metrics", f"no metric is called '{name}'", hint=near(name, known))
        for name in metrics
        if name not in known
    ]
    if faults and len(runs):
        raise ScenarioError(*faults)
    rows = []
    for part in runs.partition_by("cell", maintain_order=True):
        first = part.row(0, named=True)
        row: Row = {"cell": first["cell"], **{name: first[name] for name in result.columns}, "runs": len(part)}
        for metric in metrics:
            one = estimate(part[metric].drop_nulls().to_list())
            row |= {metric: one.mean if one.n else None, f"{metric}_low": one.low, f"{metric}_high": one.high}
            row[f"{metric}_n"] = one.n
        found = {(one["code"], one["seed"]) for one in result.findings_of(first["cell"])}
        codes = [code for code, _ in sorted(found)]
        row["findings"] = {code: codes.count(code) for code in dict.fromkeys(codes)}
        rows.append(row)
    return rows


def cells(rows: Sequence[Row], metrics: Sequence[str]) -> tuple[list[str], Cells]:
    """Header and cells of the rows of `by_cell`. Labels have the shortest end of their name that no other has."""
    labels = _labels(rows)
    header = ["cell", *short(labels), "runs", *(heading(metric) for metric in metrics)]
    lines = []
    for row in rows:
        texts = [_text(row[name]) for name in labels]
        lines.append([str(row["cell"]), *texts, str(row["runs"]), *(_value(row, metric) for metric in metrics)])
    return header, lines


def heading(metric: str) -> str:
    """A metric's title and unit."""
    return COLUMNS[metric].heading if metric in COLUMNS else metric


def _value(row: Row, metric: str) -> str:
    """Mean ± half of the interval."""
    mean, low, high = row[metric], row[f"{metric}_low"], row[f"{metric}_high"]
    if mean is None:
        return "–"
    # A cell has its runs, and no interval of several of them only where they are all the same.
    constant = low is None and row[f"{metric}_n"] > 1
    return mean_with_interval(Estimate(mean, low, high, row[f"{metric}_n"], constant), _factor(metric))


def _factor(metric: str) -> float:
    return COLUMNS[metric].factor if metric in COLUMNS else 1.0


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def short(names: Sequence[str]) -> list[str]:
    """The shortest end of each dotted name that no other has.

    >>> short(["dumbbell.bottleneck.rate", "dumbbell.access.rate", "flow[*].rtt", "@set"])
    ['bottleneck.rate', 'access.rate', 'rtt', 'set']
    """
    ends = []
    for name in names:
        steps = name.lstrip("@").split(".")
        for count in range(1, len(steps) + 1):
            end = ".".join(steps[-count:])
            if sum(one.lstrip("@") == end or one.endswith("." + end) for one in names) <= 1:
                break
        ends.append(end)
    return ends


def pivot(rows: Sequence[Row], down: str, across: str, metric: str) -> tuple[list[str], Cells]:
    """Header and cells of ``metric`` over two labels of the rows of `by_cell`; the mean over all others."""
    vertical, horizontal = (_label(name, _labels(rows)) for name in (down, across))
    ups, sides = (list(dict.fromkeys(row[name] for row in rows)) for name in (vertical, horizontal))
    lines = []
    for up in ups:
        line = [_text(up)]
        for side in sides:
            here = [row[metric] for row in rows if row[vertical] == up and row[horizontal] == side]
            numbers = [value for value in here if value is not None]
            line.append(f"{sum(numbers) / len(numbers) * _factor(metric):.4g}" if numbers else "–")
        lines.append(line)
    return [f"{short([vertical])[0]} \\ {short([horizontal])[0]}", *(_text(side) for side in sides)], lines


def averaged(rows: Sequence[Row], down: str, across: str) -> str:
    """The labels over which a pivot's values are means; empty where each is of one cell."""
    labels = _labels(rows)
    used = {_label(name, labels) for name in (down, across)}
    counts = {name: len({row[name] for row in rows}) for name in labels if name not in used}
    called = dict(zip(labels, short(labels), strict=True))
    texts = [f"{count} values of {called[name]}" for name, count in counts.items() if count > 1]
    return f"each value is a mean over {', '.join(texts)}" if texts else ""


def _labels(rows: Sequence[Row]) -> list[str]:
    """The columns between those of the cell and of its number of runs."""
    names = list(rows[0])
    return names[names.index("cell") + 1 : names.index("runs")]


def _label(name: str, labels: Sequence[str]) -> str:
    for full, end in zip(labels, short(labels), strict=True):
        if name in (full, end, full.lstrip("@")):
            return full
    ends = [full for full in labels if full.endswith("." + name)]
    if len(ends) == 1:
        return ends[0]
    raise ScenarioError(Fault("--pivot", f"no field is called '{name}'", near(name, [*short(labels)])))
