"""Phase plots: the second flow's window against the first one's, from the start of the run to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cwndlab.plot import panels
from cwndlab.plot.palette import colour
from cwndlab.plot.series import lines
from cwndlab.plot.style import SCREEN, Style

if TYPE_CHECKING:
    from cwndlab.records import Records

# Points of a path: more is a blot.
_MOST_POINTS = 500


def path_of(records: Records) -> tuple[list[float], list[float], list[float]]:
    """Seconds, the first flow's window and the second one's, in segments, while both live."""
    found = lines(records, "cwnd", points=_MOST_POINTS)
    if len(found) < 2:
        return [], [], []
    second = dict(zip(found[1].time_s, found[1].values, strict=True))
    both = [
        (time, first, other)
        for time, first in zip(found[0].time_s, found[0].values, strict=True)
        if first is not None and (other := second.get(time)) is not None
    ]
    times, firsts, others = zip(*both, strict=True) if both else ((), (), ())
    return list(times), list(firsts), list(others)


def _names(runs: Mapping[str, Records]) -> tuple[str, str]:
    records = next(records for records in runs.values() if len(records.flows) > 1)
    first, second, *_ = records.flows["name"].to_list()
    return f"cwnd of {first}, segments", f"cwnd of {second}, segments"


def phase(records: Records, name: str, target: str = "") -> Any:
    """A plotly figure of a run with two flows; on the dashed line both windows are equal. ``target`` is what a click
    opens.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> figure = cwndlab.plot.phase(records, "cubic and reno")
    >>> len(figure.data) > 1
    True
    """
    import plotly.graph_objects as go

    times, first, second = path_of(records)
    across, up = _names({name: records})
    most = max([*first, *second, 1.0])
    equal = {"color": "gray", "width": 1, "dash": "dash"}
    figure = go.Figure(go.Scatter(x=[0, most], y=[0, most], mode="lines", line=equal, hoverinfo="skip"))
    figure.add_trace(
        go.Scatter(
            x=first,
            y=second,
            mode="lines+markers",
            customdata=times,
            meta=target,
            line={"color": "rgba(128,128,128,0.5)", "width": 0.8},
            marker={
                "size": 4,
                "color": times,
                "colorscale": "Cividis",
                "colorbar": {"title": {"text": "time, s", "side": "right"}, "thickness": 10},
                "cmin": 0,
                "cmax": panels.end_s([records]),
            },
            hovertemplate="%{customdata:.4g} s: %{x:.4g} and %{y:.4g}<extra></extra>",
        )
    )
    figure.update_layout(
        title={"text": name, "font_size": 14},
        height=330,
        showlegend=False,
        margin={"l": 60, "r": 10, "t": 40, "b": 50},
    )
    figure.update_xaxes(title_text=across, rangemode="tozero")
    figure.update_yaxes(title_text=up, rangemode="tozero")
    return figure


def draw(runs: Mapping[str, Records], path: str, style: Style = SCREEN) -> None:
    """The same by matplotlib, a panel for each of the runs that have two flows."""
    from matplotlib.figure import Figure

    runs = {name: records for name, records in runs.items() if len(records.flows) > 1}
    columns = min(3, len(runs))
    rows = -(-len(runs) // columns)
    across, up = _names(runs)
    with style.applied():
        wide = columns > 1
        figure = Figure(figsize=style.size(3.4 * columns + 0.6, 3.2 * rows, wide=wide), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for empty in axes[len(runs) :]:
            empty.set_visible(False)
        for axis, (name, records) in zip(axes, runs.items(), strict=False):
            times, first, second = path_of(records)
            most = max([*first, *second, 1.0])
            axis.plot([0, most], [0, most], color="gray", linewidth=0.7, linestyle="--")
            axis.plot(first, second, color=colour(0), linewidth=0.4, alpha=0.6)
            dots = axis.scatter(first, second, c=times, s=3, cmap="cividis", vmin=0, zorder=3)
            for end, sign in ((0, "o"), (-1, "s")):
                if times:
                    axis.plot(first[end], second[end], sign, markersize=5, markerfacecolor="white", color="black")
            axis.set_xlim(left=0)
            axis.set_ylim(bottom=0)
            axis.set_xlabel(across)
            axis.set_ylabel(up)
            axis.grid(alpha=0.3)
            if len(runs) > 1:
                axis.set_title(name, loc="left", fontsize=8 if style.paper else 9)
            figure.colorbar(dots, ax=axis, label="time, s", fraction=0.05)
        style.save(figure, path)
