"""What a sweep found, as tables: a row per cell, or two fields against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics import COLUMNS
from cwndlab.scenario.declared import near
from cwndlab.statistics import estimate
from cwndlab.statistics.digits import mean_and_half
from cwndlab.study.sweeps.execution import rows_of
from cwndlab.study.sweeps.store import Store

if TYPE_CHECKING:
    import polars as pl

#: What is shown unless it is told.
SHOWN = ("goodput_bps", "utilisation", "jain", "queue_ms", "drops_per_s")


def columns_of(store: Store) -> list[str]:
    """The columns of the fields that were swept."""
    found: list[str] = store.manifest.get("request", {}).get("columns", [])
    return found


def summary(place: str | Path, metrics: Sequence[str] = SHOWN) -> list[dict[str, Any]]:
    """One row per cell that has a run: ``cell``, its fields, ``runs``, and for each metric its mean, and ``_low`` and
    ``_high`` of the 95 % interval."""
    store = Store(place)
    rows = rows_of(store)
    _check(metrics, rows)
    fields = columns_of(store)
    found = []
    for part in rows.partition_by("cell", maintain_order=True):
        first = part.row(0, named=True)
        entry: dict[str, Any] = {"cell": first["cell"], **{name: first[name] for name in fields}, "runs": len(part)}
        for metric in metrics:
            one = estimate(part[metric].drop_nulls().to_list())
            entry |= {metric: one.mean if one.n else None, f"{metric}_low": one.low, f"{metric}_high": one.high}
        found.append(entry)
    return found


def _check(metrics: Sequence[str], rows: pl.DataFrame) -> None:
    known = [name for name in rows.columns if rows[name].dtype.is_numeric()] or list(COLUMNS)
    faults = [
        Fault("--metrics", f"no metric is called '{name}'", near(name, known)) for name in metrics if name not in known
    ]
    if faults and len(rows):
        raise ScenarioError(*faults)


def table(found: Sequence[dict[str, Any]], metrics: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Header and cells for people. Fields by the shortest end of their name that no other has."""
    fields = _fields(found)
    header = ["cell", *short(fields), "runs", *(heading(metric) for metric in metrics)]
    cells = []
    for row in found:
        texts = [text_of_field(row[name]) for name in fields]
        cells.append([str(row["cell"]), *texts, str(row["runs"]), *(value(row, metric) for metric in metrics)])
    return header, cells


def heading(metric: str) -> str:
    """A metric's title and unit."""
    return COLUMNS[metric].heading if metric in COLUMNS else metric


def value(row: dict[str, Any], metric: str) -> str:
    """Mean ± half of the interval."""
    mean, low, high = row[metric], row[f"{metric}_low"], row[f"{metric}_high"]
    if mean is None:
        return "–"
    factor = COLUMNS[metric].factor if metric in COLUMNS else 1.0
    half = None if low is None or high is None else (high - low) / 2 * factor
    return mean_and_half(mean * factor, half)


def text_of_field(value: Any) -> str:
    """A field's value."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def short(names: Sequence[str]) -> list[str]:
    """The shortest end of each dotted name that no other has.

    >>> short(["dumbbell.bottleneck.rate", "dumbbell.access.rate", "flow[*].rtt", "@set"])
    ['bottleneck.rate', 'access.rate', 'rtt', 'set']
    """
    found = []
    for name in names:
        steps = name.lstrip("@").split(".")
        for count in range(1, len(steps) + 1):
            end = ".".join(steps[-count:])
            if sum(one.lstrip("@") == end or one.endswith("." + end) for one in names) <= 1:
                break
        found.append(end)
    return found


def pivot(found: Sequence[dict[str, Any]], rows: str, columns: str, metric: str) -> tuple[list[str], list[list[str]]]:
    """Header and cells of ``metric`` over two fields, the mean over all else of the cells' means (`averaged`)."""
    down, across = (_field(name, _fields(found)) for name in (rows, columns))
    ups, sides = (list(dict.fromkeys(row[name] for row in found)) for name in (down, across))
    factor = COLUMNS[metric].factor if metric in COLUMNS else 1.0
    cells = []
    for up in ups:
        line = [text_of_field(up)]
        for side in sides:
            values = [
                row[metric] for row in found if row[down] == up and row[across] == side and row[metric] is not None
            ]
            line.append(f"{sum(values) / len(values) * factor:.4g}" if values else "–")
        cells.append(line)
    return [f"{short([down])[0]} \\ {short([across])[0]}", *(text_of_field(side) for side in sides)], cells


def averaged(found: Sequence[dict[str, Any]], rows: str, columns: str) -> str:
    """Over what a pivot's values are means; empty where each is of one cell."""
    fields = _fields(found)
    shown = {_field(name, fields) for name in (rows, columns)}
    counts = {name: len({row[name] for row in found}) for name in fields if name not in shown}
    called = dict(zip(fields, short(fields), strict=True))
    words = [f"{count} values of {called[name]}" for name, count in counts.items() if count > 1]
    return f"each value is a mean over {', '.join(words)}" if words else ""


def _fields(found: Sequence[dict[str, Any]]) -> list[str]:
    """The columns of fields: between those of the cell and of its number of runs."""
    names = list(found[0])
    return names[names.index("cell") + 1 : names.index("runs")]


def _field(name: str, fields: Sequence[str]) -> str:
    for full, end in zip(fields, short(fields), strict=True):
        if name in (full, end, full.lstrip("@")):
            return full
    ends = [full for full in fields if full.endswith("." + name)]
    if len(ends) == 1:
        return ends[0]
    raise ScenarioError(Fault("--pivot", f"no field is called '{name}'", near(name, [*short(fields)])))
