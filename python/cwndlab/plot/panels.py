"""Small multiples: one panel per run, with common axes; two abreast once they are many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cwndlab.lazy import extra
from cwndlab.plot.style import SCREEN, Style

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Panels in one column; more stand in two.
MOST_ABOVE = 3


def titled(runs: Mapping[str, Records] | Records) -> Mapping[str, Records]:
    """Runs by the title of their panel; the records of one run make one panel."""
    return runs if isinstance(runs, Mapping) else {"run": runs}


def grid(count: int) -> tuple[int, int]:
    """Rows and columns for ``count`` panels."""
    columns = 1 if count <= MOST_ABOVE else 2
    return -(-count // columns), columns


def interactive(titles: Sequence[str], axis: str, *, end_s: float, top: float | None = None) -> Any:
    """An empty plotly figure with a panel for each title, time to ``end_s`` below and ``axis`` at the left."""
    from plotly.subplots import make_subplots

    rows, columns = grid(len(titles))
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_xaxes="all",
        shared_yaxes="all",
        horizontal_spacing=0.03,
        vertical_spacing=0.22 / rows,
        subplot_titles=list(titles) if len(titles) > 1 else None,
    )
    height = (190 if rows > 1 else 300) * rows + 90
    figure.update_layout(
        height=height,
        margin={"l": 70, "r": 20, "t": 50, "b": 50},
        hovermode="x unified",
        legend={"orientation": "h", "y": 1.0, "yref": "container", "yanchor": "top", "x": 1, "xanchor": "right"},
    )
    figure.update_annotations(font_size=13)
    if len(titles) == 1:
        figure.update_xaxes(range=[0, end_s])
    else:
        # A range of axes that match others makes plotly give up ranging the other direction by itself.
        figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    if top is not None:
        figure.update_yaxes(range=[0, top])
    figure.update_yaxes(title_text=axis, row=(rows + 1) // 2, col=1)
    for column in range(1, columns + 1):
        # The lowest panel of the column: where panels do not fill the last row, it stands in the row before.
        last = rows if (rows - 1) * columns + column <= len(titles) else rows - 1
        figure.update_xaxes(title_text="time, s", showticklabels=True, row=last, col=column)
    return figure


def place(position: int, count: int) -> dict[str, int]:
    """Row and column of a panel, as plotly counts."""
    _, columns = grid(count)
    return {"row": position // columns + 1, "col": position % columns + 1}


def still(titles: Sequence[str], axis: str, *, end_s: float, style: Style = SCREEN) -> tuple[Any, list[Any]]:
    """The same by matplotlib: a figure and the axes of its panels."""
    with extra("print"):
        from matplotlib.figure import Figure

    rows, columns = grid(len(titles))
    size = style.size(8 if columns == 1 else 11, max(2.8, 1.7 * rows + 0.9), wide=columns > 1)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for empty in axes[len(titles) :]:
        empty.set_visible(False)
        axes[len(titles) - columns].tick_params(labelbottom=True)
    for panel, title in zip(axes, titles, strict=False):
        if len(titles) > 1:
            panel.set_title(title, fontsize=8 if style.paper else 9, loc="left")
        panel.grid(alpha=0.3)
        panel.set_xlim(0, end_s)
    figure.supxlabel("time, s", fontsize=8 if style.paper else 10)
    figure.supylabel(axis, fontsize=8 if style.paper else 10)
    return figure, list(axes[: len(titles)])


def legend(figure: Any, panel: Any, style: Style = SCREEN) -> None:
    """The lines of a panel, named above all of a still figure."""
    columns = 3 if style.paper and figure.get_figwidth() < 5 else 5
    figure.legend(*panel.get_legend_handles_labels(), fontsize=7, loc="outside upper right", ncols=columns)


def end_s(runs: Iterable[Records]) -> float:
    """When the longest of the runs ends."""
    return max(int(records.rows("runs")[0]["duration_ns"]) for records in runs) / 1e9
