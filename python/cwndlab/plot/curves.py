"""Curves: the mean of a metric with its 95 % interval over one swept field, a line per value of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.metrics.summary import Column
from cwndlab.plot.palette import COLOURS, colour
from cwndlab.plot.style import SCREEN, Style
from cwndlab.statistics import Estimate

#: Lines that are drawn at most: the first ones.
MOST_LINES = len(COLOURS)
#: Signs of plotly's marks, by position.
SIGNS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")


def _ends(estimates: Sequence[Estimate | None], factor: float) -> tuple[list[float | None], list[float | None]]:
    means = [one.mean * factor if one is not None and one.n else None for one in estimates]
    halves = [None if one is None or one.half is None else one.half * factor for one in estimates]
    return means, halves


def curves(
    across: tuple[str, Sequence[str]],
    lines: Mapping[str, Sequence[Estimate | None]],
    column: Column,
    targets: Sequence[Sequence[str]],
) -> Any:
    """A plotly figure; ``targets`` is what a click on each line's points opens.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.statistics import estimate
    >>> lines = {"cubic": [estimate([9e6, 9.2e6]), estimate([18e6, 19e6])]}
    >>> column = cwndlab.metrics.COLUMNS["goodput_bps"]
    >>> figure = cwndlab.plot.curves(("rate", ["10 Mbps", "20 Mbps"]), lines, column, targets=[["", ""]])
    >>> len(figure.data)
    1
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for position, (name, estimates) in enumerate(list(lines.items())[:MOST_LINES]):
        means, halves = _ends(estimates, column.factor)
        figure.add_trace(
            go.Scatter(
                x=list(across[1]),
                y=means,
                name=name,
                mode="lines+markers",
                error_y={"type": "data", "array": halves, "thickness": 1.2},
                customdata=list(targets[position]),
                line={"color": colour(position), "width": 1.4},
                marker={"symbol": SIGNS[position % len(SIGNS)], "size": 8},
                hovertemplate="%{x}: %{y:.4g}",
            )
        )
    figure.update_layout(
        height=360,
        margin={"l": 65, "r": 15, "t": 45, "b": 55},
        legend={"orientation": "h", "y": 1.0, "yref": "container", "yanchor": "top", "x": 1, "xanchor": "right"},
    )
    figure.update_xaxes(type="category", title_text=across[0])
    figure.update_yaxes(title_text=column.heading, rangemode="tozero")
    return figure


def draw(
    across: tuple[str, Sequence[str]],
    lines: Mapping[str, Sequence[Estimate | None]],
    path: str,
    column: Column,
    style: Style = SCREEN,
) -> None:
    """The same by matplotlib."""
    from matplotlib.figure import Figure

    places = list(range(len(across[1])))
    with style.applied():
        figure = Figure(figsize=style.size(6, 3.8), layout="constrained")
        axis = figure.subplots()
        for position, (name, estimates) in enumerate(list(lines.items())[:MOST_LINES]):
            means, halves = _ends(estimates, column.factor)
            look = style.line(position, 1) | {"marker": "osD^vPX*"[position % 8], "markersize": 3.5, "markevery": 1}
            axis.errorbar(
                places,
                [float("nan") if mean is None else mean for mean in means],
                yerr=[0.0 if half is None else half for half in halves],
                label=name,
                capsize=2,
                elinewidth=0.6,
                **look,
            )
        axis.set_xticks(places, list(across[1]), rotation=30 if len(places) > 6 else 0)
        axis.set_xlabel(across[0])
        axis.set_ylabel(column.heading)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        if len(lines) > 1:
            axis.legend(frameon=False)
        style.save(figure, path)
