"""The page of a sweep: heat maps and curves over its fields, the runs behind every cell."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.engine import version
from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.of_flow import parse
from cwndlab.plot.curves import MOST_LINES, SIGNS, curves
from cwndlab.plot.curves import draw as draw_curves
from cwndlab.plot.heat import draw as draw_heat
from cwndlab.plot.heat import heat
from cwndlab.plot.style import Style
from cwndlab.reports.page import figure, page
from cwndlab.reports.runs import MOST_RUNS, Group, described, packed, single
from cwndlab.statistics import Estimate, estimate
from cwndlab.statistics.digits import mean_and_half, number

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records

#: Columns of a sweep's table that are neither fields nor metrics of the page.
_APART = ("cell", "seed", "from_s", "packets", "wall_s", "host", "key", "scenario_hash")
# Metrics that a figure shows first, where they have values.
_FIRST = ("goodput_bps", "utilisation", "jain", "queue_ms")


@dataclass
class SweepResult:
    """A sweep as a table: its fields as columns, ``seed``, and the metrics of `cwndlab.metrics.summary`. ``again``
    repeats the run of a row, which gives its time series."""

    frame: pl.DataFrame
    title: str = "A sweep"
    again: Callable[[int], Records] | None = None
    note: str = ""
    """What is missing of it."""

    @cached_property
    def fields(self) -> list[str]:
        """What was swept, those with the most values first, algorithms last; a column with one value only is none."""
        names = [name for name in self.frame.columns if name not in COLUMNS and name not in _APART]
        varied = [name for name in names if self.frame[name].n_unique() > 1] or names[:1]
        return sorted(varied, key=lambda name: (name.endswith("algorithm"), -self.frame[name].n_unique()))

    @cached_property
    def metrics(self) -> list[str]:
        """Metrics that have values."""
        names = [*COLUMNS, *(name for name in self.frame.columns if parse(name) is not None)]
        return [name for name in names if name in self.frame.columns and self.frame[name].count() > 0]

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """The values of each field: numbers ascending, words as they come."""
        found = {}
        for name in self.fields:
            column = self.frame[name].unique(maintain_order=True)
            found[name] = (column.sort() if column.dtype.is_numeric() else column).to_list()
        return found

    @cached_property
    def labels(self) -> dict[str, str]:
        """What each field is called: the shortest end of its path that no other field has."""
        found = {}
        for name in self.fields:
            parts = name.split(".")
            ends = [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
            others = [other for other in self.fields if other != name]
            found[name] = next((end for end in ends if not any(f".{one}".endswith(f".{end}") for one in others)), name)
        return found

    def words(self, name: str) -> list[str]:
        """The values of a field as they are written."""
        return [_word(value) for value in self.values[name]]

    @cached_property
    def cells(self) -> dict[tuple[int, ...], list[int]]:
        """The runs (rows of the table) of each combination of fields, by the places of their values."""
        places = {name: {value: at for at, value in enumerate(values)} for name, values in self.values.items()}
        found: dict[tuple[int, ...], list[int]] = {}
        for run, row in enumerate(self.frame.select(self.fields).iter_rows()):
            found.setdefault(
                tuple(places[name][value] for name, value in zip(self.fields, row, strict=True)), []
            ).append(run)
        return dict(sorted(found.items()))

    @cached_property
    def _columns(self) -> dict[str, list[float | None]]:
        return {name: self.frame[name].to_list() for name in self.metrics}

    def estimate(self, cell: tuple[int, ...], metric: str) -> Estimate | None:
        """Mean and interval over the seeds of a cell; nothing where the cell has no run."""
        column = self._columns[metric]
        values = [value for run in self.cells.get(cell, ()) if (value := column[run]) is not None]
        return estimate(values) if values else None

    def cell(self, across: int, up: int | None) -> tuple[int, ...]:
        """The cell of the first field's and the second one's values, all other fields at their first value."""
        rest = [0] * len(self.fields)
        rest[0] = across
        if up is not None and len(rest) > 1:
            rest[1] = up
        return tuple(rest)

    def title_of(self, cell: tuple[int, ...]) -> str:
        """A cell in words."""
        pairs = zip(self.fields, cell, strict=True)
        return ", ".join(f"{self.labels[name]} {_word(self.values[name][at])}" for name, at in pairs)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells for people: fields, runs, and mean ± half of the 95 % interval."""
        shown = [name for name in _FIRST if name in self.metrics] or self.metrics[:4]
        header = [*self.fields, "runs", *(f"{COLUMNS[name].title}\n{COLUMNS[name].unit}".strip() for name in shown)]
        rows = []
        for cell, runs in self.cells.items():
            words = [_word(self.values[name][at]) for name, at in zip(self.fields, cell, strict=True)]
            estimates = [(self.estimate(cell, name), COLUMNS[name].factor) for name in shown]
            told = [
                "–"
                if one is None
                else mean_and_half(one.mean * factor, None if one.half is None else one.half * factor)
                for one, factor in estimates
            ]
            rows.append([*words, str(len(runs)), *told])
        return header, rows


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _checked(found: SweepResult) -> None:
    what = None
    if not len(found.frame):
        what = "holds no finished run"
    elif not found.metrics:
        what = "has no column that is a metric"
    elif not found.fields:
        what = "has no column that is a field"
    if what is not None:
        raise RecordsError(Fault("sweep", what, "run `cwndlab sweep` again"))


def sweep_page(found: SweepResult, *, series: int = 0) -> str:
    """The page of a sweep, with the time series of the first ``series`` runs of every cell, which are run again."""
    _checked(found)
    metric = _first_metric(found)
    across, up = _axes(found)
    note = [f"<p><strong>{html.escape(found.note)}</strong></p>"] if found.note else []
    parts = [_intro(found), *note, "<h2>Over two fields</h2>", _choice(found)]
    cells, targets = _grid(found, metric)
    one = heat(
        across, up, [[None if one is None else one.mean for one in row] for row in cells], COLUMNS[metric], targets
    )
    named = {_line(found, word): row for word, row in zip(up[1], cells, strict=True)}
    lined = curves(across, named, COLUMNS[metric], targets)
    says = f"heat map of the chosen metric over {across[0]} and {up[0] or 'nothing else'}; the table has its values"
    behind = [("cell by cell in the table", "#sweep-table")]
    parts.append(f'<div id="sweep-heat">{figure(one, "sweep-heat-figure", says, behind)}</div>')
    parts.append('<table id="sweep-table"></table>')
    parts.append("<h2>Means and 95 % intervals</h2>")
    says = f"the chosen metric over {across[0]}, a line per {up[0] or 'metric'}"
    parts.append(f'<div id="sweep-curves">{figure(lined, "sweep-curves-figure", says, behind)}</div>')
    groups = [Group(found.title_of(cell), runs) for cell, runs in found.cells.items()]
    count = len(found.frame)
    few = count <= MOST_RUNS
    fields: dict[str, list[object]] = (
        {found.labels[name]: [_word(value) for value in found.frame[name]] for name in found.fields}
        if few
        else {"runs": []}
    )
    if few and "seed" in found.frame.columns:
        fields["seed"] = found.frame["seed"].to_list()
    metrics = {name: found.frame[name].to_list() for name in found.metrics} if few else {}
    told = [(run, partial(found.again, run)) for runs in found.cells.values() for run in runs[:series] if found.again]
    data = packed(fields, metrics, groups if few else [], told if few else [], flows=2)
    data["signs"] = list(SIGNS)
    data["sweep"] = {
        "fields": [{"name": found.labels[name], "values": found.words(name)} for name in found.fields],
        "cells": [list(cell) for cell in found.cells],
        "metrics": [described(name) | {"data": single(_estimates(found, name))} for name in found.metrics],
    }
    return page(found.title, parts, footer=f"cwndlab {version()} · {count} runs in {len(groups)} cells", data=data)


def _estimates(found: SweepResult, metric: str) -> list[float | None]:
    """Mean, low, high and number of runs of each cell, one after the other."""
    flat: list[float | None] = []
    for cell in found.cells:
        one = found.estimate(cell, metric)
        flat += [None] * 4 if one is None else [one.mean, one.low, one.high, one.n]
    return flat


def _first_metric(found: SweepResult) -> str:
    return next((name for name in _FIRST if name in found.metrics), found.metrics[0])


def _axes(found: SweepResult) -> tuple[tuple[str, list[str]], tuple[str, list[str]]]:
    first, *rest = [(found.labels[name], found.words(name)) for name in found.fields]
    return first, rest[0] if rest else ("", [""])


def _line(found: SweepResult, word: str) -> str:
    return f"{found.labels[found.fields[1]]} {word}" if len(found.fields) > 1 else "mean"


def _grid(found: SweepResult, metric: str) -> tuple[list[list[Estimate | None]], list[list[str]]]:
    """The estimates over the first two fields, and what each opens."""
    across, up = _axes(found)
    index = {cell: at for at, cell in enumerate(found.cells)}
    places = [[found.cell(x, y) for x in range(len(across[1]))] for y in range(len(up[1]))]
    cells = [[found.estimate(cell, metric) for cell in row] for row in places]
    return cells, [[f"#runs={index[cell]}" if cell in index else "" for cell in row] for row in places]


def _intro(found: SweepResult) -> str:
    fields = "; ".join(f"{name}: {', '.join(found.words(name))}" for name in found.fields)
    sizes = sorted({len(runs) for runs in found.cells.values()})
    runs = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    more = (
        ""
        if len(found.frame) <= MOST_RUNS
        else f" Of more than {number(MOST_RUNS)} runs only the cells' means are on this page."
    )
    return (
        f"<p>{len(found.frame)} runs, {len(found.cells)} combinations of {html.escape(fields)}, with {runs} runs each. "
        f"Intervals are 95 % of Student's t over the runs of a cell.{more}</p>"
    )


def _choice(found: SweepResult) -> str:
    """What is drawn: metric, the two fields, and the values of all others."""

    def select(name: str, words: Sequence[str], chosen: int) -> str:
        options = "".join(
            f'<option value="{at}"{" selected" if at == chosen else ""}>{html.escape(word)}</option>'
            for at, word in enumerate(words)
        )
        return f'<select id="{name}">{options}</select>'

    headings = [COLUMNS[name].heading for name in found.metrics]
    up = min(1, len(found.fields) - 1)
    parts = [
        f"<label>metric {select('sweep-metric', headings, found.metrics.index(_first_metric(found)))}</label>",
        f"<label>across {select('sweep-across', list(found.labels.values()), 0)}</label>",
        f"<label>up {select('sweep-up', list(found.labels.values()), up)}</label>",
    ]
    for at, name in enumerate(found.fields):
        hidden = " hidden" if at in (0, up) else ""
        chosen = select(f"sweep-at-{at}", found.words(name), 0)
        parts.append(f"<label{hidden}>{html.escape(found.labels[name])} {chosen}</label>")
    return f'<form id="sweep-choice" class="choice" aria-label="What is drawn">{"".join(parts)}</form>'


def sweep_figures(found: SweepResult, folder: Path, formats: Sequence[str], style: Style) -> list[Path]:
    """A heat map and curves of every metric over the first two fields, as files."""
    _checked(found)
    made = []
    across, up = _axes(found)
    for metric in found.metrics:
        cells, _ = _grid(found, metric)
        means = [[one.mean if one is not None else None for one in row] for row in cells]
        lines = {_line(found, word): row for word, row in list(zip(up[1], cells, strict=True))[:MOST_LINES]}
        for ending in formats:
            if len(up[1]) > 1:
                made.append(folder / f"heat-{metric}.{ending}")
                draw_heat(across, up, means, str(made[-1]), COLUMNS[metric], style)
            made.append(folder / f"curves-{metric}.{ending}")
            draw_curves(across, lines, str(made[-1]), COLUMNS[metric], style)
    return made
