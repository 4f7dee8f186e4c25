"""The page of a sweep: heat maps and curves over its fields, the runs behind every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS
from cwndlab.plot.curves import MOST_LINES, curves, is_ordered
from cwndlab.plot.heat import heat
from cwndlab.plot.interactive import LINE_SIGNS, threshold
from cwndlab.reports.charts import Asked, thresholds
from cwndlab.reports.page import Page
from cwndlab.reports.runs import MOST_RUNS, Group, described, packed, single
from cwndlab.reports.sections import again, described_scenario
from cwndlab.reports.tables import Table, presented, table
from cwndlab.simulate import run
from cwndlab.statistics import Estimate, estimate
from cwndlab.statistics.digits import number
from cwndlab.study.axes import short, text
from cwndlab.study.matrix import rows, unusual
from cwndlab.study.tables import chosen, levels, on_air, radio_or_control
from cwndlab.study.tables import differences as differences_table

if TYPE_CHECKING:
    from cwndlab.plot.figure import Figure
    from cwndlab.records import Records
    from cwndlab.study.result import Result

_ANYTHING = Asked()


class Grid:
    """The cells of a result over its axes: the requested axes first, then those with the most values, algorithms last;
    an axis with one value is left out."""

    def __init__(self, result: Result, asked: Asked = _ANYTHING) -> None:
        first = asked.axes(result)
        varied = [axis for axis in result.axes if len(axis.texts) > 1 and axis not in first]
        rest = sorted(varied, key=lambda axis: (axis.name.endswith("algorithm"), -len(axis.texts)))
        self.axes = [*first, *rest] or result.axes[:1]
        self.names = short([axis.name for axis in self.axes])
        self.result = result
        self.metrics = [name for name in result.metrics if name in COLUMNS and result.runs[name].count()]

    @cached_property
    def cells(self) -> dict[tuple[int, ...], int]:
        """The cells that have runs, by the places of their values."""
        places = [{row: at for at, row in enumerate(axis.rows)} for axis in self.axes]
        there = set(self.result.runs["cell"])
        rows = zip(*(self.result.points.select(axis.columns).rows() for axis in self.axes), strict=True)
        found = {
            tuple(at[value] for at, value in zip(places, row, strict=True)): cell
            for cell, row in zip(self.result.points["cell"], rows, strict=True)
            if cell in there
        }
        return dict(sorted(found.items()))

    @cached_property
    def runs(self) -> dict[int, list[int]]:
        """The rows of each cell."""
        made: dict[int, list[int]] = {}
        for at, cell in enumerate(self.result.runs["cell"]):
            made.setdefault(cell, []).append(at)
        return made

    @cached_property
    def _columns(self) -> dict[str, list[float | None]]:
        return {name: self.result.runs[name].to_list() for name in self.metrics}

    def estimate(self, place: tuple[int, ...], metric: str) -> Estimate | None:
        """Mean and interval over the seeds of a cell; ``None`` if the cell has no run."""
        column = self._columns[metric]
        runs = self.runs.get(self.cells.get(place, -1), ())
        values = [value for run in runs if (value := column[run]) is not None]
        return estimate(values) if values else None

    def place(self, across: int, up: int) -> tuple[int, ...]:
        """The cell at these values of the first two axes, with all other axes at their first value."""
        return (across, up, *[0] * len(self.axes))[: len(self.axes)]

    def title_of(self, place: tuple[int, ...]) -> str:
        """A cell in words."""
        pairs = zip(self.names, self.axes, place, strict=True)
        return ", ".join(f"{name} {axis.texts[at]}" for name, axis, at in pairs)


def _grid_of(result: Result, asked: Asked) -> Grid:
    grid = Grid(result, asked)
    what = None
    if not len(result.runs):
        what = "holds no finished run"
    elif not grid.metrics:
        what = "has no column that is a metric"
    if what is not None:
        raise RecordsError(Fault("sweep", what, "run `cwndlab sweep` again"))
    return grid


def sweep_page(
    result: Result,
    asked: Asked = _ANYTHING,
    *,
    series: int = 0,
) -> str:
    """The page of a sweep, which opens with the requested metrics. The first ``series`` runs of every cell are repeated
    for their time series."""
    grid, page = _grid_of(result, asked), Page()
    table = result.table(asked.metrics)
    metric = _first_metric(grid, asked.metrics)
    across, up = _axes(grid)
    cells, targets = _values(grid, metric)
    values = [[None if one is None else one.mean for one in row] for row in cells]
    named = dict(zip(_lines(*up), cells, strict=True))
    behind = [("cell by cell in the table", "#means")]
    at = {cell: n for n, cell in enumerate(grid.cells.values())}
    opens = [f"#runs={at[cell]}" for cell in result.runs["cell"].unique(maintain_order=True)]
    differences = differences_table(result, chosen(result, asked.metrics))
    service, air = levels(result), on_air(result)
    return page.render(
        "sweep.html",
        title=result.title or f"{result.scenario.title or 'A sweep'}: {', '.join(grid.names)}",
        footer=f"{len(result.runs)} runs in {len(grid.cells)} cells",
        commands=again(result, asked),
        run_findings=result.finding_rows(),
        data=_packed(grid, series, asked.marks),
        intro=_intro(grid),
        note=result.unfinished,
        choices=_choices(grid, metric),
        definitions=_definitions(grid),
        means=presented(table, opens=opens if len(opens) == len(table.rows) else ()),
        unusual=presented(unusual(rows(result))) if result.header.kind == "matrix" else None,
        levels=presented(service) if service.rows else None,
        air=presented(air) if air.rows else None,
        blame=radio_or_control(result),
        differences=presented(differences) if differences.rows else None,
        method=result.method() if differences.rows else "",
        heat=page.figure(heat(across, up, values, COLUMNS[metric], targets), "sweep-heat", opens=behind),
        curves=page.figure(
            curves(across, named, COLUMNS[metric], targets, thresholds(result, metric, asked.marks)),
            "sweep-curves",
            opens=behind,
        ),
        scenarios=[("Scenario", result.scenario.to_toml())],
        notes=result.notes,
    )


def _packed(grid: Grid, series: int, marks: Mapping[str, float] | None) -> dict[str, Any]:
    """The runs, if there are not too many, and the estimates of all cells."""
    result = grid.result
    groups = [Group(grid.title_of(place), grid.runs[cell]) for place, cell in grid.cells.items()]
    is_small = len(result.runs) <= MOST_RUNS
    fields: dict[str, list[object]] = {"runs": []}
    if is_small:
        fields = {
            name: [axis.text_of(row) for row in result.runs.select(axis.columns).iter_rows(named=True)]
            for name, axis in zip(grid.names, grid.axes, strict=True)
        }
        fields["seed"] = result.runs["seed"].to_list()
    metrics = {name: result.runs[name].to_list() for name in grid.metrics} if is_small else {}
    again = [(row, partial(_again, result, row)) for group in groups for row in group.runs[:series]]
    data = packed(fields, metrics, groups if is_small else [], again if is_small else [], flows=2)
    data["signs"] = list(LINE_SIGNS)
    data["sweep"] = {
        "fields": [
            {"name": name, "values": axis.texts, "lines": _lines(name, axis.texts)}
            for name, axis in zip(grid.names, grid.axes, strict=True)
        ],
        "cells": [list(place) for place in grid.cells],
        "metrics": [
            described(name)
            | {"data": single(_estimates(grid, name))}
            | {"thresholds": [threshold(*one) for one in thresholds(result, name, marks)]}
            for name in grid.metrics
        ],
    }
    return data


def _again(result: Result, row: int) -> Records:
    """Repeats the run of a row."""
    return run(result.scenario_of(result.runs["cell"][row]), seed=result.runs["seed"][row])


def _estimates(grid: Grid, metric: str) -> list[float | None]:
    """Mean, low, high and number of runs of each cell, one after the other."""
    flat: list[float | None] = []
    for place in grid.cells:
        one = grid.estimate(place, metric)
        flat += [None] * 4 if one is None else [one.mean, one.low, one.high, one.n]
    return flat


def _first_metric(grid: Grid, metrics: Sequence[str] | None) -> str:
    return next((name for name in (*(metrics or ()), *grid.result.shown) if name in grid.metrics), grid.metrics[0])


def _axes(grid: Grid) -> tuple[tuple[str, Sequence[str]], tuple[str, Sequence[str]]]:
    first, *rest = [(name, axis.texts) for name, axis in zip(grid.names, grid.axes, strict=True)]
    return first, rest[0] if rest else ("", [""])


def _lines(name: str, words: Sequence[str]) -> list[str]:
    """The labels of an axis's lines: its values, with the name of the axis if they are quantities."""
    if not name:
        return ["mean"]
    return [f"{name} {word}" for word in words] if is_ordered(words) else list(words)


def _values(grid: Grid, metric: str) -> tuple[list[list[Estimate | None]], list[list[str]]]:
    """The estimates over the first two axes, and the link of each."""
    across, up = _axes(grid)
    index = {place: at for at, place in enumerate(grid.cells)}
    places = [[grid.place(x, y) for x in range(len(across[1]))] for y in range(len(up[1]))]
    cells = [[grid.estimate(place, metric) for place in row] for row in places]
    return cells, [[f"#runs={index[place]}" if place in index else "" for place in row] for row in places]


def _intro(grid: Grid) -> str:
    fields = "; ".join(f"{name}: {', '.join(axis.texts)}" for name, axis in zip(grid.names, grid.axes, strict=True))
    sizes = sorted({len(runs) for runs in grid.runs.values()})
    runs = f"{sizes[0]} run{'s' if sizes[0] > 1 else ''}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} runs"
    count = len(grid.result.runs)
    more = (
        "" if count <= MOST_RUNS else f" With more than {number(MOST_RUNS)} runs, this page has only the cells' means."
    )
    what = described_scenario(grid.result.scenario, grid.result.documents())
    return (
        f"{what} {count} runs, {len(grid.cells)} combinations of {fields}, "
        f"with {runs} each. Intervals are 95 % intervals by Student's t over the runs of a cell.{more}"
    )


def _definitions(grid: Grid) -> list[Table]:
    """Tables of the values behind the page's short names."""
    made = []
    for label, axis in zip(grid.names, grid.axes, strict=True):
        if not axis.is_described:
            continue
        # The label itself is the first column.
        kept = [at for at, name in enumerate(axis.columns) if name != axis.name or not name.startswith("@")]
        names = short(axis.columns)
        rows = [[word, *(text(row[at]) for at in kept)] for word, row in zip(axis.texts, axis.rows, strict=True)]
        made.append(table(f"Values of {label}", [label, *(names[at] for at in kept)], rows))
    return made


class Choice(NamedTuple):
    """A list from which the user selects one value to draw."""

    id: str
    label: str
    values: Sequence[str]
    selected: int
    hidden: bool = False


def _choices(grid: Grid, metric: str) -> list[Choice]:
    """The metric, the two axes, and the values of all others."""
    up = min(1, len(grid.axes) - 1)
    headings = [COLUMNS[name].heading for name in grid.metrics]
    fixed = [
        Choice(f"sweep-at-{at}", name, axis.texts, 0, hidden=at in (0, up))
        for at, (name, axis) in enumerate(zip(grid.names, grid.axes, strict=True))
    ]
    return [
        Choice("sweep-metric", "metric", headings, grid.metrics.index(metric)),
        Choice("sweep-across", "across", grid.names, 0),
        Choice("sweep-up", "up", grid.names, up),
        *fixed,
    ]


def sweep_figures(result: Result, asked: Asked = _ANYTHING) -> dict[str, Figure]:
    """A heat map and curves of every metric over the first two axes."""
    grid, drawn = _grid_of(result, asked), {}
    across, up = _axes(grid)
    for metric in [name for name in asked.metrics or result.judged() if name in grid.metrics] or grid.metrics:
        cells, _ = _values(grid, metric)
        means = [[one.mean if one is not None else None for one in row] for row in cells]
        lines = dict(list(zip(_lines(*up), cells, strict=True))[:MOST_LINES])
        if len(up[1]) > 1:
            drawn[f"heat-{metric}"] = heat(across, up, means, COLUMNS[metric])
        drawn[f"curves-{metric}"] = curves(
            across, lines, COLUMNS[metric], thresholds=thresholds(result, metric, asked.marks)
        )
    return drawn
