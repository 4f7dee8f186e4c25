"""Figures of a result: its metrics over what varies, in panels with one scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cwndlab.errors import ArgumentError, Parameter, parameter_fault, unknown_metric, unknown_name
from cwndlab.metrics.core import Metric
from cwndlab.plot.charts import Chart, Curve
from cwndlab.plot.curves import is_ordered
from cwndlab.plot.description import Moments
from cwndlab.plot.heat import heat
from cwndlab.study.axes import Axis, short
from cwndlab.study.tables import chosen, column

if TYPE_CHECKING:
    from cwndlab.plot.figure import Figure
    from cwndlab.study.result import Result

__all__ = ["Asked", "Kind", "figure", "service_levels", "thresholds"]

#: The one-way delay that ITU-T G.114 (05/2003) recommends not to exceed for conversations; in ms.
_G114_MS = 150.0
_DELAYS = ("queue_ms", "one_way_delay_ms")
# A threshold far above all values would only squeeze them.
_NEAR = 0.4


@dataclass(frozen=True)
class Asked:
    """The options of a page and its figures: the metrics, the axis along them, the axis with colours, and values to
    mark."""

    metrics: Sequence[str] | None = None
    x: str | None = None
    by: str | None = None
    marks: Mapping[str, float] | None = None

    def axes(self, result: Result) -> list[Axis]:
        """The requested axes; raises if an axis does not exist."""
        _check_marks(result, self.marks)
        named = (("x", self.x), ("by", self.by))
        return [result.axis(name, parameter=parameter) for parameter, name in named if name is not None]

    def figure(self, result: Result, metric: str) -> Figure:
        """The figure of a metric."""
        return figure(result, metric, x=self.x, by=self.by, marks=self.marks)


Kind = Literal["lines", "bars", "points"]
_KINDS = ("lines", "bars", "points")


def thresholds(result: Result, metric: str, given: Mapping[str, float] | None = None) -> list[tuple[float, str]]:
    """The values of a metric that its figures mark, in the displayed unit: the given ones, and for delays the 150 ms of
    ITU-T G.114 if a mean is near it."""
    marks = [
        (value, f"{value:g} {column(name).unit}".strip()) for name, value in (given or {}).items() if name == metric
    ]
    highest = result.runs[metric].max() if metric in result.runs.columns else None
    is_near = isinstance(highest, float) and highest >= _NEAR * _G114_MS
    if is_near and metric.partition("@")[0].endswith(_DELAYS) and metric not in (given or {}):
        marks.append((_G114_MS, "150 ms (ITU-T G.114)"))
    return marks


def figure(
    result: Result,
    y: str | Sequence[str],
    *,
    x: str | None = None,
    by: str | None = None,
    kind: Kind | None = None,
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """The figure of `Result.plot`."""
    _check_marks(result, marks)
    metrics = chosen(result, [y] if isinstance(y, str) else list(y))
    if not metrics:
        raise ArgumentError(parameter_fault("y", "names no metric", example="goodput_bps"))
    if kind is not None and kind not in _KINDS:
        raise ArgumentError(unknown_name(Parameter("kind"), "kind", kind, _KINDS))
    if x is not None and x in result.metrics:
        return _scatter(result, metrics, x, by, marks)
    colours = result.axis(by, parameter="by") if by is not None else None
    across = result.axis(x) if x is not None else _across(result, colours)
    if colours is None:
        colours = next(
            (axis for axis in (_compared(result), *result.axes) if axis is not None and axis is not across), None
        )
    rest = [axis for axis in result.axes if axis not in (across, colours)]
    places = across.texts if across is not None else ("",)
    lined = kind or ("lines" if across is not None and is_ordered(places) else "bars")
    curves = list(_curves(result, metrics, across, colours, rest))
    several = len(metrics) > 1
    name = short([across.name])[0] if across is not None else ""
    title = ", ".join(column(metric).heading for metric in metrics) + (f" by {name}" if name else "")
    return Chart(
        f"{lined}-{'-'.join(metrics)}",
        title,
        name,
        "" if several else column(metrics[0]).heading,
        curves,
        lined,
        shared_y="row" if several else True,
        columns=len(curves) // _per_panel(curves) // len(metrics) if several and rest else 0,
        thresholds=() if several else thresholds(result, metrics[0], marks),
    ).figure()


def _check_marks(result: Result, marks: Mapping[str, float] | None) -> None:
    """Raises if a value to mark belongs to no metric."""
    faults = [
        unknown_metric(Parameter("thresholds"), name, result.metrics)
        for name in marks or ()
        if name not in result.metrics
    ]
    if faults:
        raise ArgumentError(*faults)


def _per_panel(curves: Sequence[Curve]) -> int:
    """The number of curves of a panel."""
    return max(1, sum(curve.panel == curves[0].panel for curve in curves))


def _compared(result: Result) -> Axis | None:
    return result.axis(result.compared) if result.axes else None


def _across(result: Result, colours: Axis | None) -> Axis | None:
    """The first axis that is neither compared nor in colours; for a comparison, the compared axis."""
    free = [axis for axis in result.axes if axis is not colours]
    return next((axis for axis in free if axis is not _compared(result)), free[0] if free else None)


def _curves(
    result: Result, metrics: Sequence[str], across: Axis | None, colours: Axis | None, rest: Sequence[Axis]
) -> Iterator[Curve]:
    """A curve per value of ``colours`` in each panel: one per metric and values of ``rest``."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in result.points.iter_rows(named=True):
        panel = ", ".join(axis.text_of(row) for axis in rest)
        label = colours.text_of(row) if colours is not None else ""
        place = across.text_of(row) if across is not None else ""
        found.setdefault((panel, label), {})[place] = result.labels_by_cell[row["cell"]]
    for metric in metrics:
        for (panel, label), cells in found.items():
            places = [place for place in (across.texts if across is not None else ("",)) if place in cells]
            estimates = [result.estimate(cells[place], metric) for place in places]
            panels = [column(metric).heading] if len(metrics) > 1 else []
            title = ", ".join([*panels, *([panel] if panel else [])])
            yield Curve.of(
                label or column(metric).heading, places, estimates, factor=column(metric).factor, panel=title
            )


def _scatter(
    result: Result, metrics: Sequence[str], x: str, by: str | None, marks: Mapping[str, float] | None
) -> Figure:
    """A point per cell: one metric over another one."""
    if len(metrics) > 1:
        raise ArgumentError(parameter_fault("y", "only one metric can be drawn over a metric", hint="name one"))
    y, colours = metrics[0], result.axis(by, parameter="by") if by is not None else _compared(result)
    curves = []
    for row in result.points.iter_rows(named=True):
        label = result.labels_by_cell[row["cell"]]
        over, of = result.estimate(label, x), result.estimate(label, y)
        panel = ", ".join(axis.text_of(row) for axis in result.axes if axis is not colours)
        name = colours.text_of(row) if colours is not None else label
        curves.append(Curve.of(name, [over.mean * column(x).factor], [of], factor=column(y).factor, panel=panel))
    title = f"{column(y).heading} over {column(x).heading}"
    made = Chart(
        f"points-{y}-{x}",
        title,
        column(x).heading,
        column(y).heading,
        curves,
        "points",
        x_from_zero=True,
        thresholds=thresholds(result, y, marks),
    ).figure()
    # Marks of the horizontal axis are lines over the whole height.
    moments = tuple(Moments(f"{column(x).title}: {text}", [value]) for value, text in thresholds(result, x, marks))
    return replace(made, panels=[replace(panel, moments=moments) for panel in made.panels])


#: The share of runs in which a class of flows did not get its service level.
_MISSED = Metric("missed_runs", "runs that missed their service level", "%", 100.0, -1)


def service_levels(result: Result) -> Figure:
    """The share of runs in which each class of flows missed its service level, a column for each cell of the result."""
    rows = result.levels().to_dicts()
    if not rows:
        what = "'levels' has nothing to show: no flow states a service"
        raise ArgumentError(parameter_fault("y", what, example="goodput_bps"))
    classes = list(dict.fromkeys(row["class"] for row in rows))[::-1]
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    judged = [row for row in rows if row["judged_runs"]]
    missed = {(row["class"], row["cell"]): row["missed_runs"] / row["judged_runs"] for row in judged}
    labels = [result.labels_by_cell[cell] for cell in cells]
    return heat(
        (", ".join(short([axis.name for axis in result.axes])), labels),
        ("class", classes),
        [[missed.get((name, cell)) for cell in cells] for name in classes],
        _MISSED,
        [[""] * len(cells) for _ in classes],
    )
