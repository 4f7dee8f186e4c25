"""Share over time: what part of all goodputs each flow has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cwndlab.metrics import flows_over_time
from cwndlab.plot import panels
from cwndlab.plot.palette import colour
from cwndlab.plot.series import MOST_FLOWS, Line
from cwndlab.plot.style import SCREEN, Style

if TYPE_CHECKING:
    from cwndlab.records import Records

AXIS = "share of all goodput, %"
# Windows of a run: a share of less time tells more of bursts than of shares.
_WINDOWS = 60


def lines(records: Records) -> list[Line]:
    """The shares of the flows that are drawn, at the same times for all: 0 where a flow does not live."""
    flows = records.flows.head(MOST_FLOWS)
    table = flows_over_time(records, window_s=panels.end_s([records]) / _WINDOWS, start_s=0.0)
    times = sorted(set(table["time_s"].to_list()))
    found = []
    for position, (flow, name) in enumerate(flows.select("flow", "name").rows()):
        mine = table.filter(table["flow"] == flow)
        shares = dict(zip(mine["time_s"].to_list(), mine["share"].to_list(), strict=True))
        values = [round(100 * (shares.get(time) or 0.0), 2) for time in times]
        found.append(Line(name, [round(time, 4) for time in times], list(values), position))
    return found


def share(runs: Mapping[str, Records] | Records) -> Any:
    """A plotly figure: one panel per run, the flows' shares stacked. ``runs`` are as for `series`.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> figure = cwndlab.plot.share({"cubic and reno": records})
    >>> len(figure.data)
    2
    """
    import plotly.graph_objects as go

    runs = panels.titled(runs)
    figure = panels.interactive(list(runs), AXIS, end_s=panels.end_s(runs.values()), top=100)
    named: set[str] = set()
    for position, records in enumerate(runs.values()):
        for line in lines(records):
            figure.add_trace(
                go.Scatter(
                    x=line.time_s,
                    y=line.values,
                    name=line.label,
                    legendgroup=line.label,
                    showlegend=line.label not in named,
                    stackgroup=f"run{position}",
                    line={"color": colour(line.position), "width": 0.6},
                    mode="lines",
                    hovertemplate="%{y:.1f} %",
                ),
                **panels.place(position, len(runs)),
            )
            named.add(line.label)
    return figure


def draw(runs: Mapping[str, Records], path: str, style: Style = SCREEN) -> None:
    """The same by matplotlib; the ending of ``path`` says in which format."""
    with style.applied():
        _draw(runs, path, style)


def _draw(runs: Mapping[str, Records], path: str, style: Style) -> None:
    figure, axes = panels.still(list(runs), AXIS, end_s=panels.end_s(runs.values()), style=style)
    for axis, records in zip(axes, runs.values(), strict=True):
        found = lines(records)
        if found and found[0].time_s:
            areas = axis.stackplot(
                found[0].time_s,
                [[value or 0.0 for value in line.values] for line in found],
                colors=[colour(line.position) for line in found],
                labels=[line.label for line in found],
                alpha=0.75,
            )
            for line, area in zip(found, areas, strict=True):
                area.set(hatch=style.hatch(line.position), edgecolor="black" if style.paper else None, linewidth=0.3)
    axes[0].set_ylim(0, 100)
    panels.legend(figure, axes[0], style)
    style.save(figure, path)
