"""Curves over anything: lines with intervals, points, grouped bars; in several panels where there are groups.

A `Chart` holds numbers only, so that it can be drawn by plotly for pages and by matplotlib for files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cwndlab.lazy import extra
from cwndlab.plot.palette import colour
from cwndlab.statistics import Estimate

X = float | str


@dataclass(frozen=True)
class Curve:
    """One line or series of bars: ``low`` and ``high`` are ends of intervals where there are any."""

    label: str
    x: Sequence[X]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    panel: str = ""
    published: bool = False
    """Drawn dashed (hollow, for bars): the paper's figure, not ours."""

    @classmethod
    def of(
        cls, label: str, x: Sequence[X], estimates: Sequence[Estimate], *, factor: float = 1.0, panel: str = ""
    ) -> Curve:
        """Means with their intervals, in the unit that ``factor`` leads to."""

        def scaled(values: Sequence[float | None]) -> list[float | None]:
            return [None if value is None else value * factor for value in values]

        means = scaled([one.mean if one.n else None for one in estimates])
        return cls(
            label, x, means, scaled([one.low for one in estimates]), scaled([one.high for one in estimates]), panel
        )


@dataclass(frozen=True)
class Chart:
    """A figure as numbers. ``name`` is that of its file; panels stand in the order of their first curves."""

    name: str
    title: str
    x_title: str
    y_title: str
    curves: Sequence[Curve]
    kind: Literal["lines", "points", "bars"] = "lines"
    from_zero: bool = True
    log_x: bool = False
    shared_y: bool = True
    """Panels have one axis; else each has its own, for quantities of different units."""
    note: str = ""

    @property
    def panels(self) -> list[str]:
        """Titles of the panels."""
        return list(dict.fromkeys(curve.panel for curve in self.curves))

    @property
    def labels(self) -> list[str]:
        """Labels of all curves: one of the same label has the same colour in every panel."""
        return list(dict.fromkeys(curve.label for curve in self.curves))


#: Panels in a row.
_ABREAST = 3
#: More points than these are a trace, drawn without signs.
_MOST_SIGNS = 60


#: Lines of which all lie so near to the largest value cannot be told apart on an axis from zero.
_CLOSE = 0.9


def _from_zero(chart: Chart) -> bool:
    """Whether the axis begins at zero: not for lines that differ by a few per cent, where it would hide them."""
    if not chart.from_zero or chart.kind == "bars":
        return chart.from_zero
    values = [value for curve in chart.curves for value in curve.y if value is not None]
    return not values or min(values) <= _CLOSE * max(values)


def _grid(count: int) -> tuple[int, int]:
    columns = 2 if count == 4 else min(count, _ABREAST)
    return -(-count // columns), columns


def figure(chart: Chart) -> Any:
    """A plotly figure."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    panels, labels = chart.panels, chart.labels
    rows, columns = _grid(len(panels))
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_yaxes="all" if chart.shared_y else False,
        subplot_titles=panels if any(panels) else None,
        horizontal_spacing=0.04 if chart.shared_y else 0.07,
        vertical_spacing=0.25 / rows,
    )
    named: set[str] = set()
    for curve in chart.curves:
        position = panels.index(curve.panel)
        where = {"row": position // columns + 1, "col": position % columns + 1}
        tint = colour(labels.index(curve.label))
        common = {
            "x": list(curve.x),
            "y": list(curve.y),
            "name": curve.label,
            "legendgroup": curve.label,
            "showlegend": curve.label not in named,
            "error_y": _error(curve, tint if chart.kind != "bars" else "gray"),
            "hovertemplate": "%{x}: %{y:.5g}",
        }
        named.add(curve.label)
        if chart.kind == "bars":
            marker = {"color": "rgba(0,0,0,0)" if curve.published else tint, "line": {"color": tint, "width": 1.2}}
            figure.add_trace(go.Bar(**common, marker=marker), **where)
        else:
            signs = chart.kind == "points" or len(curve.x) <= _MOST_SIGNS
            mode = "markers" if chart.kind == "points" else "lines+markers" if signs else "lines"
            line = {"color": tint, "width": 1.5, "dash": "dash" if curve.published else "solid"}
            figure.add_trace(go.Scatter(**common, mode=mode, line=line, marker={"color": tint, "size": 6}), **where)
    figure.update_layout(
        height=110 + 290 * rows,
        barmode="group",
        margin={"l": 70, "r": 20, "t": 60, "b": 60},
        legend={"orientation": "h", "y": 1.0, "yref": "container", "yanchor": "top", "x": 1, "xanchor": "right"},
        hovermode="x unified" if chart.kind == "lines" else "closest",
    )
    figure.update_annotations(font_size=13)
    if _from_zero(chart):
        figure.update_yaxes(rangemode="tozero")
    if chart.log_x:
        figure.update_xaxes(type="log")
    figure.update_yaxes(title_text=chart.y_title, row=(rows + 1) // 2, col=1)
    for column in range(1, columns + 1):
        last = rows if (rows - 1) * columns + column <= len(panels) else rows - 1
        figure.update_xaxes(title_text=chart.x_title, row=last, col=column)
    return figure


def _error(curve: Curve, tint: str) -> dict[str, Any] | None:
    if curve.low is None or curve.high is None or not any(end is not None for end in curve.low):
        return None
    ups = [None if high is None or y is None else high - y for y, high in zip(curve.y, curve.high, strict=True)]
    downs = [None if low is None or y is None else y - low for y, low in zip(curve.y, curve.low, strict=True)]
    return {
        "type": "data",
        "symmetric": False,
        "array": ups,
        "arrayminus": downs,
        "thickness": 1.2,
        "width": 3,
        "color": tint,
    }


def draw(chart: Chart, path: str) -> None:
    """The same as a PNG, SVG or PDF by matplotlib; the ending of ``path`` says which."""
    with extra("print"):
        from matplotlib.figure import Figure

    panels, labels = chart.panels, chart.labels
    rows, columns = _grid(len(panels))
    figure = Figure(figsize=(7 if columns == 1 else 4 * columns, 3.4 * rows + 0.6), layout="constrained")
    axes = list(figure.subplots(rows, columns, sharey=chart.shared_y, squeeze=False).ravel())
    for empty in axes[len(panels) :]:
        empty.set_visible(False)
    for panel, axis in zip(panels, axes, strict=False):
        mine = [curve for curve in chart.curves if curve.panel == panel]
        axis.set_title(panel, fontsize=9, loc="left")
        axis.grid(alpha=0.3)
        axis.set_axisbelow(True)
        if chart.kind == "bars":
            _bars(axis, mine, labels)
        else:
            for curve in mine:
                _line(axis, curve, colour(labels.index(curve.label)), points=chart.kind == "points")
        if chart.log_x:
            axis.set_xscale("log")
    for axis in axes[: len(panels)] if _from_zero(chart) else ():
        axis.set_ylim(bottom=0)
    for axis in axes[: len(panels)]:
        # 0.9985 as such and not as an offset of 1.
        axis.yaxis.get_major_formatter().set_useOffset(False)
    figure.supxlabel(chart.x_title, fontsize=10)
    figure.supylabel(chart.y_title, fontsize=10)
    signs: dict[str, Any] = {}
    for axis in axes[: len(panels)]:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            signs.setdefault(label, handle)
    if len(signs) > 1:
        figure.legend(signs.values(), signs.keys(), fontsize=8, loc="outside upper right", ncols=min(5, len(signs)))
    figure.savefig(path, dpi=150)


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _line(axis: Any, curve: Curve, tint: str, *, points: bool) -> None:
    style = "" if points else "--" if curve.published else "-"
    sign = "o" if points or len(curve.x) <= _MOST_SIGNS else ""
    axis.plot(curve.x, _gaps(curve.y), linestyle=style, marker=sign, ms=3.5, color=tint, lw=1.1, label=curve.label)
    if curve.low is not None and curve.high is not None:
        axis.vlines(curve.x, _gaps(curve.low), _gaps(curve.high), color=tint, lw=0.9)


def _bars(axis: Any, mine: Sequence[Curve], labels: Sequence[str]) -> None:
    names = list(dict.fromkeys(str(x) for curve in mine for x in curve.x))
    width = 0.8 / len(mine)
    for number, curve in enumerate(mine):
        tint = colour(labels.index(curve.label))
        places = [names.index(str(x)) + (number - (len(mine) - 1) / 2) * width for x in curve.x]
        face = "none" if curve.published else tint
        axis.bar(places, _gaps(curve.y), width * 0.92, color=face, edgecolor=tint, label=curve.label)
        if curve.low is not None and curve.high is not None:
            axis.vlines(places, _gaps(curve.low), _gaps(curve.high), color="gray", lw=1)
    long = sum(len(name) for name in names) > 45
    axis.set_xticks(range(len(names)), names, rotation=30 if long else 0, ha="right" if long else "center", fontsize=8)
