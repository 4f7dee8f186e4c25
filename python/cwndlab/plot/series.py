"""Time series: window, goodput, RTT, queue and loss of one or several runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics import flows_over_time, links_over_time
from cwndlab.plot import panels
from cwndlab.plot.palette import colour
from cwndlab.plot.style import SCREEN, Style

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Points per line, and of all lines of a figure, at most.
MOST_POINTS, MOST_OF_ALL = 2000, 24_000
#: Flows, and bottlenecks of a single run, that are drawn: the first ones.
MOST_FLOWS, MOST_LINKS = 8, 4
# A bottleneck beside the first one is drawn from this mean queue on, in packets.
_LEAST_QUEUE = 0.1
# Rates are drawn over windows no shorter than this part of a run: what a repaired loss delivers at once is no rate.
_RATE_WINDOWS = 150
# Events that are marked in the window of a single run: what is said, sign of plotly, sign of matplotlib.
_MARKS = {
    "slow-start-exit": ("end of slow start", "diamond", "D"),
    "recovery": ("recovery", "triangle-down", "v"),
    "timeout": ("timeout", "x", "x"),
}
# Events of a kind that are marked at most.
_MOST_MARKS = 300


class Series(NamedTuple):
    """What is drawn: title of the axis, column of the metric over time, factor to the axis' unit."""

    axis: str
    column: str
    factor: float = 1.0
    of_flows: bool = True
    is_rate: bool = False


#: Kinds of time series.
SERIES = {
    "cwnd": Series("cwnd, segments", "cwnd_segments"),
    "goodput": Series("goodput, Mbit/s", "goodput_bps", 1e-6, is_rate=True),
    "rtt": Series("RTT, ms", "rtt_ms"),
    "queue": Series("bottleneck queue, packets", "queue_packets", of_flows=False),
    "loss": Series("bottleneck drops, 1/s", "drops_per_s", of_flows=False, is_rate=True),
}


class Line(NamedTuple):
    """One line: its label, seconds, values, position among those of its panel."""

    label: str
    time_s: list[float]
    values: list[float | None]
    position: int


def lines(records: Records, kind: str, *, runs: int = 1, points: int | None = None) -> list[Line]:
    """The lines of ``kind`` for one of the ``runs`` of a figure: per flow, or per bottleneck with a
    queue (of several runs only the first one); of at most ``points`` each where that is given."""
    what = known(kind)
    flows = records.flows.head(MOST_FLOWS)
    several = MOST_LINKS if runs == 1 else 1
    count = (len(flows) if what.of_flows else several) * runs
    duration = panels.end_s([records])
    width = duration / (points or min(MOST_POINTS, MOST_OF_ALL // count))
    if what.is_rate:
        width = max(width, duration / _RATE_WINDOWS)
    if what.of_flows:
        table, key = flows_over_time(records, window_s=width, start_s=0.0), "flow"
        labels = dict(zip(flows["flow"], _labels(flows), strict=True))
    else:
        table, key = links_over_time(records, window_s=width, start_s=0.0), "link"
        busy = records.links.filter(pl.col("mean_queue_packets") >= _LEAST_QUEUE)["name"].to_list()
        names = table["link"].unique(maintain_order=True).to_list()
        labels = {name: name for name in names[:1] + [name for name in names[1:several] if name in busy]}
    found = []
    for position, (one, label) in enumerate(labels.items()):
        mine = table.filter(pl.col(key) == one)
        values = (mine[what.column] * what.factor).round_sig_figs(5)
        found.append(Line(label, mine["time_s"].round(4).to_list(), values.to_list(), position))
    return found


def known(kind: str) -> Series:
    """The kind of time series of this name; raises ``ScenarioError`` for another name."""
    if kind not in SERIES:
        raise ScenarioError(Fault("kind", f"no time series is called '{kind}'", f"there are {', '.join(SERIES)}"))
    return SERIES[kind]


def series(runs: Mapping[str, Records] | Records, kind: str) -> Any:
    """A plotly figure of ``kind`` (`SERIES`): one panel per run, with common axes. Lines share their colour by flow.

    ``runs`` are records by the title of their panel, or those of one run. Raises ``ScenarioError`` for an unknown kind.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> figure = cwndlab.plot.series(records, "cwnd")
    >>> len(figure.data) > 0
    True
    """
    import plotly.graph_objects as go

    runs, what = panels.titled(runs), known(kind)
    figure = panels.interactive(list(runs), what.axis, end_s=panels.end_s(runs.values()))
    named: set[str] = set()
    for position, records in enumerate(runs.values()):
        where = panels.place(position, len(runs))
        for line in lines(records, kind, runs=len(runs)):
            figure.add_trace(
                go.Scatter(
                    x=line.time_s,
                    y=line.values,
                    name=line.label,
                    legendgroup=line.label,
                    showlegend=line.label not in named and (SERIES[kind].of_flows or len(runs) == 1),
                    line={"color": colour(line.position), "width": 1.4},
                    mode="lines",
                    hovertemplate="%{y:.4g}",
                ),
                **where,
            )
            named.add(line.label)
        if kind == "cwnd" and len(runs) == 1:
            for _, (label, sign, _), times, windows in _marks(records):
                marker = {"symbol": sign, "size": 7, "color": "rgba(0,0,0,0)", "line": {"width": 1.2, "color": "gray"}}
                figure.add_trace(
                    go.Scatter(x=times, y=windows, name=label, mode="markers", marker=marker, hovertemplate="%{y:.4g}")
                )
    return figure


def draw(runs: Mapping[str, Records], kind: str, path: str, style: Style = SCREEN) -> None:
    """The same by matplotlib; the ending of ``path`` says in which format."""
    with style.applied():
        _draw(runs, kind, path, style)


def _draw(runs: Mapping[str, Records], kind: str, path: str, style: Style) -> None:
    figure, axes = panels.still(list(runs), SERIES[kind].axis, end_s=panels.end_s(runs.values()), style=style)
    for axis, records in zip(axes, runs.values(), strict=True):
        for line in lines(records, kind, runs=len(runs)):
            values = [float("nan") if value is None else value for value in line.values]
            axis.plot(line.time_s, values, label=line.label, **style.line(line.position, len(values)))
        if kind == "cwnd" and len(runs) == 1:
            for _, (label, _, sign), times, windows in _marks(records):
                face = {} if sign == "x" else {"facecolors": "none"}
                edge = {"c": "gray"} if sign == "x" else {"edgecolors": "gray"}
                axis.scatter(times, windows, marker=sign, s=16, linewidths=0.8, label=label, zorder=3, **face, **edge)
    axes[0].set_ylim(bottom=0)  # after all: the panels share their axes
    if SERIES[kind].of_flows or len(runs) == 1:
        panels.legend(figure, axes[0], style)
    style.save(figure, path)


def _marks(records: Records) -> Iterator[tuple[str, tuple[str, str, str], list[float], list[float]]]:
    """Events of the flows that are drawn: kind, its signs, seconds and windows."""
    flows = records.flows.head(MOST_FLOWS).select("flow", "mss_bytes")
    events = records.events.join(flows, on="flow").sort("time_ns")
    for kind, signs in _MARKS.items():
        found = events.filter(pl.col("kind") == kind).head(_MOST_MARKS)
        if len(found):
            windows = (found["cwnd_before_bytes"] / found["mss_bytes"]).round_sig_figs(5).to_list()
            yield kind, signs, (found["time_ns"] / 1e9).round(4).to_list(), windows


def _labels(flows: pl.DataFrame) -> list[str]:
    return [
        f"{name} ({base / 1e6:.4g} ms)" if base else name for name, base in flows.select("name", "base_rtt_ns").rows()
    ]
