"""Heat maps over two swept fields: the mean of a metric over seeds in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cwndlab.metrics.summary import Column
from cwndlab.plot.style import SCREEN, Style, grid_text
from cwndlab.statistics.digits import number

# Cells in which the value is written.
_MOST_TEXTS = 150


def heat(
    across: tuple[str, Sequence[str]],
    up: tuple[str, Sequence[str]],
    values: Sequence[Sequence[float | None]],
    column: Column,
    targets: Sequence[Sequence[str]],
) -> Any:
    """A plotly figure: ``across`` and ``up`` are fields and their values, ``values`` rows from the lowest one of ``up``
    on. ``targets`` is what a click on a cell opens.

    Examples
    --------
    >>> import cwndlab
    >>> column = cwndlab.metrics.COLUMNS["utilisation"]
    >>> rows = [[0.85, 0.98], [0.91, 0.99]]
    >>> buffers, rates = ("buffer", ["0.1 bdp", "1 bdp"]), ("rate", ["10 Mbps", "50 Mbps"])
    >>> figure = cwndlab.plot.heat(buffers, rates, rows, column, targets=[["", ""]] * 2)
    >>> len(figure.data)
    1
    """
    import plotly.graph_objects as go

    scaled = [[None if value is None else value * column.factor for value in row] for row in values]
    few = sum(map(len, scaled)) <= _MOST_TEXTS
    figure = go.Figure(
        go.Heatmap(
            x=list(across[1]),
            y=list(up[1]),
            z=scaled,
            customdata=[list(row) for row in targets],
            text=[["" if value is None else number(value) for value in row] for row in scaled] if few else None,
            texttemplate="%{text}" if few else None,
            colorscale="Cividis",
            colorbar={"title": {"text": column.unit or column.title, "side": "right"}, "thickness": 14},
            xgap=1,
            ygap=1,
            hoverongaps=False,
            hovertemplate=f"{across[0]} %{{x}}, {up[0]} %{{y}}: %{{z:.4g}}<extra></extra>",
        )
    )
    figure.update_layout(height=max(300, 30 * len(up[1]) + 140), margin={"l": 90, "r": 10, "t": 30, "b": 60})
    figure.update_xaxes(type="category", title_text=across[0], showgrid=False)
    figure.update_yaxes(type="category", title_text=up[0], showgrid=False)
    return figure


def draw(
    across: tuple[str, Sequence[str]],
    up: tuple[str, Sequence[str]],
    values: list[list[float | None]],
    path: str,
    column: Column,
    style: Style = SCREEN,
) -> None:
    """The same by matplotlib."""
    from matplotlib.figure import Figure

    scaled = [[None if value is None else value * column.factor for value in row] for row in values]
    filled = [[float("nan") if value is None else value for value in row] for row in scaled]
    present = [value for row in scaled for value in row if value is not None]
    middle = (min(present) + max(present)) / 2 if present else 0.0
    with style.applied():
        width = 0.6 * len(across[1]) + 2.2
        figure = Figure(
            figsize=style.size(max(4, width), 0.42 * len(up[1]) + 1.6, wide=len(across[1]) > 9), layout="constrained"
        )
        axis = figure.subplots()
        image = axis.imshow(filled, origin="lower", aspect="auto", cmap="cividis")
        if len(present) <= _MOST_TEXTS:
            for row, place, value in grid_text(scaled):
                shade = "black" if value > middle else "white"
                axis.text(place, row, number(value), ha="center", va="center", fontsize=6, color=shade)
        axis.set_xticks(range(len(across[1])), list(across[1]), rotation=30 if len(across[1]) > 6 else 0)
        axis.set_yticks(range(len(up[1])), list(up[1]))
        axis.set_xlabel(across[0])
        axis.set_ylabel(up[0])
        figure.colorbar(image, ax=axis, label=column.heading)
        style.save(figure, path)
