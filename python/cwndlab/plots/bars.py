"""Bars with 95 % intervals: one metric, one bar per algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cwndlab.plots.palette import colour
from cwndlab.statistics import Estimate


def bars(labels: Sequence[str], estimates: Sequence[Estimate], *, title: str, unit: str, factor: float) -> Any:
    """A plotly figure; ``factor`` leads from the metric's unit to ``unit``."""
    import plotly.graph_objects as go

    means = [one.mean * factor if one.n else None for one in estimates]
    halves = [(one.half or 0.0) * factor for one in estimates]
    figure = go.Figure(
        go.Bar(
            x=list(labels),
            y=means,
            error_y={"type": "data", "array": halves, "thickness": 1.4},
            marker_color=[colour(n) for n in range(len(labels))],
            hovertemplate="%{x}: %{y:.4g}<extra></extra>",
        )
    )
    axis = f"{title}, {unit}" if unit else title
    figure.update_layout(yaxis_title=axis, height=330, margin={"l": 70, "r": 20, "t": 20, "b": 80}, showlegend=False)
    figure.update_yaxes(rangemode="tozero")
    return figure


def draw(
    labels: Sequence[str], estimates: Sequence[Estimate], path: str, *, title: str, unit: str, factor: float
) -> None:
    """The same as a PNG or SVG by matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(4, 1.1 * len(labels) + 1.5), 3.2), layout="constrained")
    axis = figure.subplots()
    halves = [(one.half or 0.0) * factor for one in estimates]
    axis.bar(
        list(labels),
        [one.mean * factor for one in estimates],
        yerr=halves,
        color=[colour(n) for n in range(len(labels))],
        capsize=3,
    )
    axis.set_ylabel(f"{title}, {unit}" if unit else title)
    axis.tick_params(axis="x", rotation=20)
    axis.grid(axis="y", alpha=0.3)
    figure.savefig(path, dpi=150)
