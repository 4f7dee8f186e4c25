"""Time series: window, goodput, RTT, queue and loss of one or several runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.metrics import window
from cwndlab.plots.palette import colour, dash

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Points per trace at most; more are thinned evenly.
MOST_POINTS = 2000
#: Flows drawn one by one at most; beyond, the first ones.
MOST_FLOWS = 8

#: What can be drawn: title of the axis.
SERIES = {
    "cwnd": "cwnd, segments",
    "goodput": "goodput, Mbit/s",
    "rtt": "RTT, ms",
    "queue": "bottleneck queue, packets",
    "loss": "bottleneck drops, 1/s",
}


@dataclass(frozen=True)
class Trace:
    """One line: its label, seconds, values, positions of run and flow."""

    label: str
    time_s: list[float]
    values: list[float | None]
    run: int
    flow: int


def traces(records: Records, kind: str, *, label: str = "", run: int = 0) -> list[Trace]:
    """The lines of ``kind`` for one run: per flow, or of the bottleneck."""
    prefix = f"{label}, " if label else ""
    if kind in ("queue", "loss"):
        index, name = window.bottleneck(records)
        table = records.link_samples.filter(pl.col("link") == index).sort("time_ns")
        values = table["queue_packets"].cast(pl.Float64) if kind == "queue" else _per_second(table, "dropped_packets")
        return [_trace(f"{prefix}{name}", table["time_ns"], values, run, 0)]
    flows = records.flows.select("flow", "name", "mss_bytes").head(MOST_FLOWS).rows()
    several = len(records.flows) > 1
    return [
        _trace(
            f"{prefix}{name}" if several or not label else label,
            table["time_ns"],
            _flow_values(table, kind, mss),
            run,
            flow,
        )
        for flow, name, mss in flows
        if len(table := records.samples.filter(pl.col("flow") == flow).sort("time_ns"))
    ]


def _flow_values(table: pl.DataFrame, kind: str, mss: int) -> pl.Series:
    if kind == "cwnd":
        return table["cwnd_bytes"] / mss
    if kind == "goodput":
        return _per_second(table, "delivered_bytes") * 8e-6
    return table["srtt_ns"] / 1e6


def _per_second(table: pl.DataFrame, counter: str) -> pl.Series:
    """The rate of a counter between samples."""
    step = table["time_ns"].cast(pl.Float64).diff().fill_null(float(table["time_ns"][0])) / 1e9
    gain = table[counter].cast(pl.Float64).diff().fill_null(float(table[counter][0]))
    return gain / step


def _trace(label: str, time_ns: pl.Series, values: pl.Series, run: int, flow: int) -> Trace:
    step = max(1, -(-len(values) // MOST_POINTS))
    time = (time_ns.cast(pl.Float64) / 1e9).gather_every(step).to_list()
    thin = values.gather_every(step)
    return Trace(
        label,
        [round(one, 4) for one in time],
        [round(one, 4) if one is not None else None for one in thin.to_list()],
        run,
        flow,
    )


def series(runs: Mapping[str, Records], kind: str) -> Any:
    """A plotly figure of ``kind``: one panel per run, stacked, with a common time axis."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    labels = list(runs)
    figure = make_subplots(
        rows=len(labels),
        cols=1,
        shared_xaxes=True,
        shared_yaxes="all",
        vertical_spacing=min(0.05, 0.3 / len(labels)),
        subplot_titles=labels if len(labels) > 1 else None,
    )
    flows_named: set[str] = set()
    for row, label in enumerate(labels, start=1):
        for trace in traces(runs[label], kind, run=row - 1):
            by_flow = kind not in ("queue", "loss")
            line = {"color": colour(trace.flow if by_flow else 0), "width": 1.4, "dash": dash(0)}
            first = trace.label not in flows_named
            flows_named.add(trace.label)
            figure.add_trace(
                go.Scatter(
                    x=trace.time_s,
                    y=trace.values,
                    name=trace.label,
                    legendgroup=trace.label,
                    showlegend=first,
                    line=line,
                    mode="lines",
                    hovertemplate="%{x:.1f} s: %{y:.1f}",
                ),
                row=row,
                col=1,
            )
    figure.update_xaxes(title_text="time, s", row=len(labels), col=1)
    middle = (len(labels) + 1) // 2
    figure.update_yaxes(title_text=SERIES[kind], row=middle, col=1)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(
        height=max(320, 130 * len(labels) + 120),
        margin={"l": 70, "r": 20, "t": 40, "b": 50},
        hovermode="x unified",
        legend={"orientation": "h", "y": 1.0, "yref": "container", "yanchor": "top", "x": 1, "xanchor": "right"},
    )
    return figure


def draw(runs: Mapping[str, Records], kind: str, path: str) -> None:
    """The same as a PNG or SVG by matplotlib; the ending of ``path`` says which."""
    from matplotlib.figure import Figure

    labels = list(runs)
    figure = Figure(figsize=(8, max(2.6, 1.5 * len(labels) + 0.8)), layout="constrained")
    axes = figure.subplots(len(labels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axis, label in zip(axes, labels, strict=True):
        for trace in traces(runs[label], kind):
            axis.plot(
                trace.time_s,
                trace.values,
                color=colour(trace.flow if kind not in ("queue", "loss") else 0),
                linewidth=0.9,
                label=trace.label,
            )
        if len(labels) > 1:
            axis.set_title(label, fontsize=9, loc="left")
        axis.grid(alpha=0.3)
    axes[0].set_ylim(bottom=0)  # after all: the panels share their axis
    axes[0].legend(fontsize=7, loc="upper right", ncols=4)
    axes[-1].set_xlabel("time, s")
    figure.supylabel(SERIES[kind], fontsize=10)
    figure.savefig(path, dpi=150)
