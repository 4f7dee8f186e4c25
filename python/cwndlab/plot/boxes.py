"""Box plots over seeds: median, quartiles and every run of a metric, one box per algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.metrics.summary import Column
from cwndlab.plot.palette import colour
from cwndlab.plot.style import SCREEN, Style


def boxes(values: Mapping[str, Mapping[int, float]], column: Column, targets: Mapping[tuple[str, int], str]) -> Any:
    """A plotly figure of ``values`` by algorithm and seed; whiskers reach to 1.5 quartile ranges (J. W. Tukey, 1977).

    ``targets`` is what a click on the point of an algorithm and a seed opens.

    Examples
    --------
    >>> import cwndlab
    >>> goodput = {"cubic": {1: 48e6, 2: 47e6, 3: 48e6}, "reno": {1: 40e6, 2: 41e6, 3: 42e6}}
    >>> figure = cwndlab.plot.boxes(goodput, cwndlab.metrics.COLUMNS["goodput_bps"], targets={})
    >>> len(figure.data)
    2
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for position, (name, runs) in enumerate(values.items()):
        figure.add_trace(
            go.Box(
                y=[value * column.factor for value in runs.values()],
                x=[name] * len(runs),
                name=name,
                customdata=[[seed, targets.get((name, seed), "")] for seed in runs],
                boxpoints="all",
                pointpos=0,
                jitter=0.4,
                quartilemethod="linear",
                marker={"size": 5, "color": colour(position)},
                line={"width": 1.2},
                hovertemplate="%{x}, seed %{customdata[0]}: %{y:.4g}<extra></extra>",
            )
        )
    figure.update_layout(
        title={"text": column.heading, "font_size": 14},
        height=300,
        margin={"l": 55, "r": 10, "t": 40, "b": 70},
        showlegend=False,
    )
    figure.update_yaxes(title_text=column.unit or column.title)
    return figure


def draw(values: Mapping[str, Sequence[float]], path: str, column: Column, style: Style = SCREEN) -> None:
    """The same by matplotlib."""
    from matplotlib.figure import Figure

    with style.applied():
        figure = Figure(figsize=style.size(max(4, 1.1 * len(values) + 1.5), 3.4), layout="constrained")
        axis = figure.subplots()
        scaled = [[value * column.factor for value in one] for one in values.values()]
        drawn = axis.boxplot(scaled, widths=0.5, patch_artist=True, medianprops={"color": "black"}, showfliers=False)
        for position, box in enumerate(drawn["boxes"]):
            box.set(facecolor=colour(position), alpha=0.45, hatch=style.hatch(position))
        for position, one in enumerate(scaled):
            axis.plot([position + 1] * len(one), one, "o", markersize=2.5, color="black", fillstyle="none", mew=0.6)
        turn: dict[str, Any] = {"rotation": 20, "ha": "right"} if sum(map(len, values)) > 30 else {}
        axis.set_xticks(range(1, len(values) + 1), list(values), **turn)
        axis.set_ylabel(column.heading)
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
        style.save(figure, path)
