"""The page of a sweep: heat maps and curves over its fields, the runs behind every cell."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.of_flow import parse
from cwndlab.plot.curves import MOST_LINES, curves
from cwndlab.plot.heat import heat
from cwndlab.plot.interactive import LINE_SIGNS
from cwndlab.plot.style import Style
from cwndlab.reports.page import Page
from cwndlab.reports.runs import MOST_RUNS, Group, described, packed, single
from cwndlab.reports.tables import Table, table
from cwndlab.simulate import run
from cwndlab.statistics import Estimate, estimate
from cwndlab.statistics.digits import number
from cwndlab.study.axes import Axis, folded, short, text

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records
    from cwndlab.study.result import Result

#: Columns of a sweep's table that are neither fields nor metrics of the page.
_APART = ("cell", "seed", "from_s", "packets", "wall_s", "host", "key", "scenario_hash", "findings")
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
    folder: str = "DIR"
    """The folder that holds it, as it was named; the word of the help texts if there is none."""
    findings: Sequence[Mapping[str, Any]] = ()
    """Findings of its runs, as rows of the table ``findings``."""
    axes: Sequence[Axis] = ()
    """What the columns of its fields stand for, where a field is an axis of several labels or of tables."""
    drawn: Sequence[str] = ()
    """The metrics that have figures of their own as files, by default all."""
    wanted: Sequence[str] = ()
    """The metrics that the sweep requests; the first one is selected on the page."""

    @classmethod
    def of(cls, result: Result, title: str, folder: str = "DIR") -> SweepResult:
        """The result as a page shows it: the run of a row can be repeated."""

        def again(row: int) -> Records:
            return run(result.scenario_of(result.runs["cell"][row]), seed=result.runs["seed"][row])

        frame = folded(result.runs, result.axes)
        return cls(
            frame,
            result.title or title,
            again,
            result.unfinished,
            folder,
            result.finding_rows(),
            result.axes,
            result.judged(),
            result.further,
        )

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
        made = {}
        for name in self.fields:
            column = self.frame[name].unique(maintain_order=True)
            made[name] = (column.sort() if column.dtype.is_numeric() else column).to_list()
        return made

    @cached_property
    def labels(self) -> dict[str, str]:
        """What each field is called: the shortest end of its path that no other field has."""
        return dict(zip(self.fields, short(self.fields), strict=True))

    def words(self, name: str) -> list[str]:
        """The values of a field as they are written."""
        return [text(value) for value in self.values[name]]

    @cached_property
    def cells(self) -> dict[tuple[int, ...], list[int]]:
        """The runs (rows of the table) of each combination of fields, by the places of their values."""
        places = {name: {value: at for at, value in enumerate(values)} for name, values in self.values.items()}
        made: dict[tuple[int, ...], list[int]] = {}
        for at, row in enumerate(self.frame.select(self.fields).iter_rows()):
            made.setdefault(
                tuple(places[name][value] for name, value in zip(self.fields, row, strict=True)), []
            ).append(at)
        return dict(sorted(made.items()))

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
        return ", ".join(f"{self.labels[name]} {text(self.values[name][at])}" for name, at in pairs)

    def described(self) -> list[tuple[str, Axis]]:
        """The axes whose values are only named by the words of the page, with what they are called."""
        return [(self.labels[axis.name], axis) for axis in self.axes if axis.name in self.labels and axis.is_described]


def _checked(sweep: SweepResult) -> None:
    what = None
    if not len(sweep.frame):
        what = "holds no finished run"
    elif not sweep.metrics:
        what = "has no column that is a metric"
    elif not sweep.fields:
        what = "has no column that is a field"
    if what is not None:
        raise RecordsError(Fault("sweep", what, "run `cwndlab sweep` again"))


def sweep_page(sweep: SweepResult, *, series: int = 0) -> str:
    """The page of a sweep, with the time series of the first ``series`` runs of every cell, which are run again."""
    _checked(sweep)
    page, metric = Page(), _first_metric(sweep)
    across, up = _axes(sweep)
    cells, targets = _grid(sweep, metric)
    values = [[None if one is None else one.mean for one in row] for row in cells]
    named = {_line(sweep, word): row for word, row in zip(up[1], cells, strict=True)}
    behind = [("cell by cell in the table", "#sweep-table")]
    return page.render(
        "sweep.html",
        title=sweep.title,
        footer=f"{len(sweep.frame)} runs in {len(sweep.cells)} cells",
        commands=[f"cwndlab report {shlex.quote(sweep.folder)}"],
        run_findings=sweep.findings,
        data=_packed(sweep, series),
        intro=_intro(sweep),
        note=sweep.note,
        choices=_choices(sweep),
        definitions=_definitions(sweep),
        heat=page.figure(heat(across, up, values, COLUMNS[metric], targets), "sweep-heat", opens=behind),
        curves=page.figure(curves(across, named, COLUMNS[metric], targets), "sweep-curves", opens=behind),
    )


def _packed(sweep: SweepResult, series: int) -> dict[str, Any]:
    """The runs, where they are not too many, and the estimates of all cells."""
    groups = [Group(sweep.title_of(cell), runs) for cell, runs in sweep.cells.items()]
    is_small = len(sweep.frame) <= MOST_RUNS
    fields: dict[str, list[object]] = {"runs": []}
    if is_small:
        fields = {sweep.labels[name]: [text(value) for value in sweep.frame[name]] for name in sweep.fields}
        if "seed" in sweep.frame.columns:
            fields["seed"] = sweep.frame["seed"].to_list()
    metrics = {name: sweep.frame[name].to_list() for name in sweep.metrics} if is_small else {}
    again = [(run, partial(sweep.again, run)) for runs in sweep.cells.values() for run in runs[:series] if sweep.again]
    data = packed(fields, metrics, groups if is_small else [], again if is_small else [], flows=2)
    data["signs"] = list(LINE_SIGNS)
    data["sweep"] = {
        "fields": [{"name": sweep.labels[name], "values": sweep.words(name)} for name in sweep.fields],
        "cells": [list(cell) for cell in sweep.cells],
        "metrics": [described(name) | {"data": single(_estimates(sweep, name))} for name in sweep.metrics],
    }
    return data


def _estimates(sweep: SweepResult, metric: str) -> list[float | None]:
    """Mean, low, high and number of runs of each cell, one after the other."""
    flat: list[float | None] = []
    for cell in sweep.cells:
        one = sweep.estimate(cell, metric)
        flat += [None] * 4 if one is None else [one.mean, one.low, one.high, one.n]
    return flat


def _first_metric(sweep: SweepResult) -> str:
    return next((name for name in (*sweep.wanted, *_FIRST) if name in sweep.metrics), sweep.metrics[0])


def _axes(sweep: SweepResult) -> tuple[tuple[str, list[str]], tuple[str, list[str]]]:
    first, *rest = [(sweep.labels[name], sweep.words(name)) for name in sweep.fields]
    return first, rest[0] if rest else ("", [""])


def _line(sweep: SweepResult, word: str) -> str:
    return f"{sweep.labels[sweep.fields[1]]} {word}" if len(sweep.fields) > 1 else "mean"


def _grid(sweep: SweepResult, metric: str) -> tuple[list[list[Estimate | None]], list[list[str]]]:
    """The estimates over the first two fields, and what each opens."""
    across, up = _axes(sweep)
    index = {cell: at for at, cell in enumerate(sweep.cells)}
    places = [[sweep.cell(x, y) for x in range(len(across[1]))] for y in range(len(up[1]))]
    cells = [[sweep.estimate(cell, metric) for cell in row] for row in places]
    return cells, [[f"#runs={index[cell]}" if cell in index else "" for cell in row] for row in places]


def _intro(sweep: SweepResult) -> str:
    fields = "; ".join(f"{sweep.labels[name]}: {', '.join(sweep.words(name))}" for name in sweep.fields)
    sizes = sorted({len(runs) for runs in sweep.cells.values()})
    runs = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    more = (
        ""
        if len(sweep.frame) <= MOST_RUNS
        else f" Of more than {number(MOST_RUNS)} runs only the cells' means are on this page."
    )
    return (
        f"{len(sweep.frame)} runs, {len(sweep.cells)} combinations of {fields}, with {runs} runs each. "
        f"Intervals are 95 % of Student's t over the runs of a cell.{more}"
    )


def _definitions(sweep: SweepResult) -> list[Table]:
    """Tables of what the words of the page stand for."""
    made = []
    for label, axis in sweep.described():
        # The label itself is the first column.
        kept = [at for at, name in enumerate(axis.columns) if name != axis.name or not name.startswith("@")]
        names = short(axis.columns)
        rows = [[word, *(text(row[at]) for at in kept)] for word, row in zip(axis.texts, axis.rows, strict=True)]
        made.append(table(f"Values of {label}", [label, *(names[at] for at in kept)], rows))
    return made


class Choice(NamedTuple):
    """A list from which one value is selected: what is drawn."""

    id: str
    label: str
    values: Sequence[str]
    selected: int
    hidden: bool = False


def _choices(sweep: SweepResult) -> list[Choice]:
    """The metric, the two fields, and the values of all others."""
    up = min(1, len(sweep.fields) - 1)
    labels = list(sweep.labels.values())
    headings = [COLUMNS[name].heading for name in sweep.metrics]
    fixed = [
        Choice(f"sweep-at-{at}", sweep.labels[name], sweep.words(name), 0, hidden=at in (0, up))
        for at, name in enumerate(sweep.fields)
    ]
    return [
        Choice("sweep-metric", "metric", headings, sweep.metrics.index(_first_metric(sweep))),
        Choice("sweep-across", "across", labels, 0),
        Choice("sweep-up", "up", labels, up),
        *fixed,
    ]


def sweep_figures(sweep: SweepResult, folder: Path, formats: Sequence[str], style: Style) -> list[Path]:
    """A heat map and curves of every metric over the first two fields, as files."""
    _checked(sweep)
    made = []
    across, up = _axes(sweep)
    for metric in [name for name in sweep.metrics if name in sweep.drawn] or sweep.metrics:
        cells, _ = _grid(sweep, metric)
        means = [[one.mean if one is not None else None for one in row] for row in cells]
        lines = {_line(sweep, word): row for word, row in list(zip(up[1], cells, strict=True))[:MOST_LINES]}
        drawn = {f"curves-{metric}": curves(across, lines, COLUMNS[metric])}
        if len(up[1]) > 1:
            drawn = {f"heat-{metric}": heat(across, up, means, COLUMNS[metric])} | drawn
        for ending in formats:
            for name, figure in drawn.items():
                made.append(folder / f"{name}.{ending}")
                figure.save(made[-1], style)
    return made
