"""Bars with 95 % intervals: one metric, one bar per algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cwndlab.metrics.summary import Column
from cwndlab.plot.palette import colour
from cwndlab.plot.style import SCREEN, Style
from cwndlab.statistics import Estimate


def bars(
    labels: Sequence[str], estimates: Sequence[Estimate], column: Column, targets: Sequence[str] | None = None
) -> Any:
    """A plotly figure. What has no value has no bar and says so; what has no interval has none. ``targets`` is what a
    click on each bar opens.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.statistics import estimate
    >>> goodput = [estimate([48e6, 47e6, 48e6]), estimate([40e6, 41e6, 42e6])]
    >>> figure = cwndlab.plot.bars(["cubic", "reno"], goodput, cwndlab.metrics.COLUMNS["goodput_bps"])
    >>> type(figure).__name__
    'Figure'
    """
    import plotly.graph_objects as go

    means = [one.mean * column.factor if one.n else None for one in estimates]
    halves = [one.half * column.factor if one.half is not None else None for one in estimates]
    figure = go.Figure(
        go.Bar(
            x=list(labels),
            y=means,
            error_y={"type": "data", "array": halves, "thickness": 1.4, "color": "gray"},
            marker_color=[colour(n) for n in range(len(labels))],
            customdata=[
                [_half(half), one.n, target]
                for half, one, target in zip(halves, estimates, targets or [""] * len(halves), strict=True)
            ],
            hovertemplate="%{x}: %{y:.4g}%{customdata[0]}, %{customdata[1]} runs<extra></extra>",
        )
    )
    for label, one in zip(labels, estimates, strict=True):
        if one.n == 0:
            figure.add_annotation(x=label, y=0, text="none", showarrow=False, yshift=9, font_size=11)
    figure.update_layout(
        title={"text": column.heading, "font_size": 14},
        height=300,
        margin={"l": 55, "r": 10, "t": 40, "b": 70},
        showlegend=False,
    )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=list(labels))
    figure.update_yaxes(rangemode="tozero", title_text=column.unit or column.title)
    return figure


def draw(
    labels: Sequence[str], estimates: Sequence[Estimate], path: str, column: Column, style: Style = SCREEN
) -> None:
    """The same by matplotlib."""
    with style.applied():
        _draw(labels, estimates, path, column, style)


def _draw(labels: Sequence[str], estimates: Sequence[Estimate], path: str, column: Column, style: Style) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=style.size(max(4, 1.1 * len(labels) + 1.5), 3.4), layout="constrained")
    axis = figure.subplots()
    places = list(range(len(labels)))
    for place, one in zip(places, estimates, strict=True):
        if one.n == 0:
            axis.annotate("none", (place, 0), ha="center", va="bottom", fontsize=8)
            continue
        half = None if one.half is None else one.half * column.factor
        ink = "black" if style.paper else "gray"
        axis.bar(place, one.mean * column.factor, yerr=half, ecolor=ink, capsize=3, **style.face(place))
    turn: dict[str, Any] = {"rotation": 20, "ha": "right"} if not style.paper or sum(map(len, labels)) > 30 else {}
    axis.set_xticks(places, list(labels), **turn)
    axis.set_ylabel(column.heading)
    axis.set_ylim(bottom=0)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    style.save(figure, path)


def _half(half: float | None) -> str:
    return "" if half is None else f" ± {half:.2g}"
