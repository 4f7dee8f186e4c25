"""Results as text: the tables that commands print and pages show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cwndlab.errors import Fault, ScenarioError, parameter_fault
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import verdict_of
from cwndlab.scenario.declared import near
from cwndlab.statistics import Difference, Estimate, Verdict, estimate
from cwndlab.statistics.digits import effect_size, interval, mean_with_interval, p_value
from cwndlab.study.axes import folded, short, text
from cwndlab.study.result import Result
from cwndlab.study.spec import Row

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "SHOWN",
    "averaged",
    "by_axes",
    "by_cell",
    "cell",
    "cells",
    "differences",
    "heading",
    "means",
    "pairs",
    "pivot",
    "shown",
    "shown_of",
]

#: The metrics of a sweep that are shown, with those that it requests, unless others are named.
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
    header = [
        *short([result.compared]),
        *(f"{COLUMNS[metric].title}\n{COLUMNS[metric].unit}".strip() for metric in metrics),
    ]
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


def by_cell(result: Result, metrics: Sequence[str] | None = None) -> list[Row]:
    """One row per cell that has a run, for programs: ``cell``, its labels, ``runs``, for each metric its mean, ``_low``
    and ``_high`` of the 95 % interval, and ``_n``, the number of values, and ``findings``: by code, the number of runs
    that have it. The metrics are by default `SHOWN` and those that the sweep requests."""
    return _rows(result, result.runs, result.columns, metrics)


def by_axes(result: Result, metrics: Sequence[str] | None = None) -> list[Row]:
    """The rows of `by_cell` for people: a column per axis (`cwndlab.study.axes`) in place of one per label."""
    return _rows(result, folded(result.runs, result.axes), [axis.name for axis in result.axes], metrics)


def shown_of(result: Result, metrics: Sequence[str] | None = None) -> list[str]:
    """The metrics of a sweep that are shown; raises where the runs lack one."""
    names = list(dict.fromkeys([*SHOWN, *result.further] if metrics is None else metrics))
    runs = result.runs
    known = [name for name in runs.columns if runs[name].dtype.is_numeric()] or list(COLUMNS)
    faults = [
        parameter_fault("metrics", f"no metric is called '{name}'", hint=near(name, known))
        for name in names
        if name not in known
    ]
    if faults and len(runs):
        raise ScenarioError(*faults)
    return names


def _rows(result: Result, runs: pl.DataFrame, labels: Sequence[str], metrics: Sequence[str] | None) -> list[Row]:
    names, rows = shown_of(result, metrics), []
    for part in runs.partition_by("cell", maintain_order=True):
        first = part.row(0, named=True)
        row: Row = {"cell": first["cell"], **{name: first[name] for name in labels}, "runs": len(part)}
        for metric in names:
            one = estimate(part[metric].drop_nulls().to_list())
            row |= {metric: one.mean if one.n else None, f"{metric}_low": one.low, f"{metric}_high": one.high}
            row[f"{metric}_n"] = one.n
        found = {(one["code"], one["seed"]) for one in result.findings_of(first["cell"])}
        codes = [code for code, _ in sorted(found)]
        row["findings"] = {code: codes.count(code) for code in dict.fromkeys(codes)}
        rows.append(row)
    return rows


def cells(rows: Sequence[Row], metrics: Sequence[str]) -> tuple[list[str], Cells]:
    """Header and cells of the rows of `by_axes`. Axes have the shortest end of their name that no other has."""
    labels = _labels(rows)
    header = ["cell", *short(labels), "runs", *(heading(metric) for metric in metrics)]
    lines = []
    for row in rows:
        texts = [text(row[name]) for name in labels]
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


def pivot(result: Result, rows: Sequence[Row], down: str, across: str, metric: str) -> tuple[list[str], Cells]:
    """Header and cells of ``metric`` over two axes of the rows of `by_axes`; the mean over all others."""
    vertical, horizontal = _two(result, down, across)
    ups, sides = (list(dict.fromkeys(row[name] for row in rows)) for name in (vertical, horizontal))
    lines = []
    for up in ups:
        line = [text(up)]
        for side in sides:
            here = [row[metric] for row in rows if row[vertical] == up and row[horizontal] == side]
            numbers = [value for value in here if value is not None]
            line.append(f"{sum(numbers) / len(numbers) * _factor(metric):.4g}" if numbers else "–")
        lines.append(line)
    return [f"{short([vertical])[0]} \\ {short([horizontal])[0]}", *(text(side) for side in sides)], lines


def averaged(result: Result, rows: Sequence[Row], down: str, across: str) -> str:
    """The axes over which a pivot's values are means; empty where each is of one cell."""
    labels, used = _labels(rows), _two(result, down, across)
    counts = {name: len({row[name] for row in rows}) for name in labels if name not in used}
    called = dict(zip(labels, short(labels), strict=True))
    texts = [f"{count} values of {called[name]}" for name, count in counts.items() if count > 1]
    return f"each value is a mean over {', '.join(texts)}" if texts else ""


def _labels(rows: Sequence[Row]) -> list[str]:
    """The columns between those of the cell and of its number of runs."""
    names = list(rows[0])
    return names[names.index("cell") + 1 : names.index("runs")]


def _two(result: Result, down: str, across: str) -> tuple[str, str]:
    """The names of the two axes of a pivot."""
    vertical, horizontal = (_axis_named(result, name) for name in (down, across))
    if vertical == horizontal and down != across:
        what = f"'{down}' and '{across}' change together"
        raise ScenarioError(Fault("--pivot", what, "name fields that change independently"))
    return vertical, horizontal


def _axis_named(result: Result, name: str) -> str:
    """The name of the axis that a text means: its name, one of its labels, or the end of one."""
    owners = {label: axis.name for axis in result.axes for label in (axis.name, *axis.columns)}
    ends = dict(zip(owners, short(list(owners)), strict=True))
    meant = {owner for label, owner in owners.items() if name in (label, ends[label], label.lstrip("@"))}
    meant = meant or {owner for label, owner in owners.items() if label.endswith("." + name)}
    if len(meant) == 1:
        return meant.pop()
    raise ScenarioError(Fault("--pivot", f"no field is called '{name}'", near(name, list(ends.values()))))
