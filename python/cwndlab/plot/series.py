"""Time series: window, goodput, RTT, queue and loss of one or several runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

from cwndlab.errors import ScenarioError, unknown_name
from cwndlab.metrics import flows_over_time, links_over_time
from cwndlab.metrics.core import MeasuredRun
from cwndlab.plot.description import Axis, Events, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.plot.moments import moments
from cwndlab.plot.palette import COLOURS
from cwndlab.plot.panels import end_s, over_time, titled

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Maximum number of points per line, and of all lines of a figure.
MOST_POINTS, MOST_OF_ALL = 2000, 24_000
#: Maximum number of drawn flows, one per colour, and of drawn bottlenecks of a single run.
MOST_FLOWS, MOST_LINKS = len(COLOURS), 4
# A bottleneck beside the first one is drawn from this mean queue on, in packets.
_LEAST_QUEUE = 0.1
# Rates are means over at least this part of a run, since a repaired loss delivers many segments at once.
_RATE_WINDOWS = 150
# Events marked in the window of a single run, with their markers.
_MARKS: dict[str, tuple[str, Literal["diamond", "triangle", "cross", "square"]]] = {
    "slow-start-exit": ("slow-start exit", "diamond"),
    "recovery": ("loss (recovery begins)", "triangle"),
    "timeout": ("RTO", "cross"),
    "ecn": ("ECN reduction", "square"),
}
# Maximum number of marked events of a kind.
_MOST_MARKS = 300
# Of `GROWTH[+SLOW_START][/RECOVERY]` the first part with its parameters.
_HEAD = re.compile(r"[^+/(]*(?:\([^)]*\))?")


class TimeSeries(NamedTuple):
    """A kind of time series: title of the axis, column of the metric over time, factor to the axis' unit."""

    axis: str
    column: str
    factor: float = 1.0
    of_flows: bool = True
    is_rate: bool = False


#: Kinds of time series.
SERIES = {
    "cwnd": TimeSeries("cwnd, segments", "cwnd_segments"),
    "goodput": TimeSeries("goodput, Mbit/s", "goodput_bps", 1e-6, is_rate=True),
    "rtt": TimeSeries("RTT, ms", "rtt_ms"),
    "queue": TimeSeries("bottleneck queue, packets", "queue_packets", of_flows=False),
    "loss": TimeSeries("bottleneck drops, 1/s", "drops_per_s", of_flows=False, is_rate=True),
}


class Line(NamedTuple):
    """One line: its label, seconds, values, position among those of its panel."""

    label: str
    time_s: list[float]
    values: list[float | None]
    position: int


def lines(records: Records, kind: str, *, runs: int = 1, points: int | None = None) -> list[Line]:
    """The lines of ``kind`` for one of the ``runs`` of a figure: per flow, or per bottleneck with a queue (only the
    first one if there are several runs). Each has at most ``points`` points, if given."""
    what = known(kind)
    flows = drawn_flows(records)
    several = MOST_LINKS if runs == 1 else 1
    count = (len(flows) if what.of_flows else several) * runs
    duration = end_s([records])
    width = duration / (points or min(MOST_POINTS, MOST_OF_ALL // count))
    if what.is_rate:
        width = max(width, duration / _RATE_WINDOWS)
    if what.of_flows:
        table, key = flows_over_time(records, window_s=width, start_s=0.0), "flow"
        labels = dict(zip(flows["flow"], labels_of(flows), strict=True))
    else:
        table, key = links_over_time(records, window_s=width, start_s=0.0), "link"
        busy = records.links.filter(pl.col("mean_queue_packets") >= _LEAST_QUEUE)["name"].to_list()
        names = table["link"].unique(maintain_order=True).to_list()
        labels = {name: name for name in names[:1] + [name for name in names[1:several] if name in busy]}
    made = []
    for position, (one, label) in enumerate(labels.items()):
        mine = table.filter(pl.col(key) == one)
        values = (mine[what.column] * what.factor).round_sig_figs(5)
        made.append(Line(label, mine["time_s"].round(4).to_list(), values.to_list(), position))
    return made


def drawn_flows(records: Records) -> pl.DataFrame:
    """The rows of the drawn flows: all, or those that delivered most if there are many."""
    flows = records.flows
    if len(flows) <= MOST_FLOWS:
        return flows
    most = flows.sort("delivered_bytes", descending=True, maintain_order=True).head(MOST_FLOWS)["flow"]
    return flows.filter(pl.col("flow").is_in(most.implode()))


def positions(runs: Mapping[str, Records]) -> dict[str, dict[str, int]]:
    """The positions of the colours of all lines, by run and label, so that no two labels of a figure have the same.

    With several runs, a flow that only one of them has, such as that of the compared algorithm, has the colour of its
    run, as in bars and distributions. Other flows and the bottlenecks follow after all runs.
    """
    flows = {name: labels_of(drawn_flows(records)) for name, records in runs.items()}
    known: dict[str, int] = {}
    following = 0 if len(runs) == 1 else len(runs)
    for place, (name, labels) in enumerate(flows.items()):
        others = {label for other, some in flows.items() if other != name for label in some}
        own = [label for label in labels if label not in others and len(runs) > 1]
        for label in labels:
            if label in known:
                continue
            is_first = label in own[:1]
            known[label] = place if is_first else following
            following += not is_first
    made = {}
    for name, records in runs.items():
        links = [link["name"] for link in MeasuredRun(records).bottlenecks]
        named = {label: known[label] for label in flows[name]}
        made[name] = {link: following + at for at, link in enumerate(links)} | named
    return made


def known(kind: str) -> TimeSeries:
    """The kind of time series of this name; raises ``ScenarioError`` for another name."""
    if kind not in SERIES:
        raise ScenarioError(unknown_name("kind", "time series", kind, SERIES))
    return SERIES[kind]


def series(runs: Mapping[str, Records] | Records, kind: str) -> Figure:
    """The time series ``kind`` (`SERIES`): one panel per run, with common axes. Lines have their colour by flow.

    Parameters
    ----------
    runs:
        Records by the title of their panel, or those of one run.
    kind:
        ``cwnd``, ``goodput``, ``rtt``, ``queue`` or ``loss``.

    Raises
    ------
    ScenarioError
        For an unknown kind.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> figure = cwndlab.plot.series(records, "cwnd")
    >>> len(figure.to_plotly().data) > 0
    True
    """
    runs, what = titled(runs), known(kind)
    is_single = len(runs) == 1
    tints = positions(runs)
    panels = [
        panel_of(records, kind, tints[name], runs=len(runs), title="" if is_single else name)
        for name, records in runs.items()
    ]
    ends, legend = end_s(runs.values()), what.of_flows or is_single
    return over_time(kind, f"{what.axis} over time", panels, ends, legend=legend)


def panel_of(records: Records, kind: str, tints: Mapping[str, int], *, runs: int = 1, title: str = "") -> Panel:
    """The panel of a run that is one of ``runs`` of a figure, with the positions of the colours of its lines."""
    drawn = [
        Series(line.label, line.time_s, line.values, position=tints[line.label])
        for line in lines(records, kind, runs=runs)
    ]
    events = marks(records) if kind == "cwnd" and runs == 1 else ()
    return Panel(Axis(SERIES[kind].axis, from_zero=True), drawn, title, events, moments=moments(records))


def present(runs: Iterable[Records]) -> list[str]:
    """The kinds of time series that some run has: an emulated path has no queue, UDP no window, and a run without
    samples has none."""
    sampled = [records for records in runs if len(records.samples)]
    return [kind for kind in SERIES if any(_has_points(records, kind) for records in sampled)]


def _has_points(records: Records, kind: str) -> bool:
    return any(value is not None for line in lines(records, kind, points=2) for value in line.values)


def marks(records: Records) -> list[Events]:
    """The events of the drawn flows, at the windows before them."""
    flows = drawn_flows(records).select("flow", "mss_bytes")
    events = records.events.join(flows, on="flow").sort("time_ns")
    made = []
    for kind, (label, sign) in _MARKS.items():
        rows = events.filter(pl.col("kind") == kind).head(_MOST_MARKS)
        if len(rows):
            windows = (rows["cwnd_before_bytes"] / rows["mss_bytes"]).round_sig_figs(5).to_list()
            made.append(Events(label, sign, (rows["time_ns"] / 1e9).round(4).to_list(), windows))
    return made


def flow_labels(records: Records) -> dict[str, int]:
    """The flows with a congestion control among those that `lines` draws: index by label."""
    flows = drawn_flows(records)
    labels = zip(labels_of(flows), flows["flow"], algorithms_of(flows), strict=True)
    return {label: flow for label, flow, algorithm in labels if algorithm}


def algorithms_of(flows: pl.DataFrame) -> list[str | None]:
    """The algorithm of each flow; nothing for a flow over UDP, which the table calls ``none`` (docs/records.md)."""
    return [None if one == "none" else one for one in flows["algorithm"].to_list()]


def labels_of(flows: pl.DataFrame) -> list[str]:
    """The name of each flow with its RTT, and with its algorithm if the flows have different ones and the name is not
    the algorithm's."""
    algorithms = _short(algorithms_of(flows))
    labels = []
    for name, base, algorithm in zip(flows["name"], flows["base_rtt_ns"], algorithms, strict=True):
        facts = [algorithm] if algorithm and algorithm != name else []
        facts += [f"{base / 1e6:.4g} ms"] if base else []
        labels.append(f"{name} ({', '.join(facts)})" if facts else name)
    return labels


def _short(algorithms: list[str | None]) -> list[str | None]:
    """The part that distinguishes the algorithms: congestion avoidance alone, or the whole text if that is the same;
    nothing if all are equal."""
    different = {one for one in algorithms if one}
    if len(different) < 2:
        return [None] * len(algorithms)
    heads = {one: head.group() for one in different if (head := _HEAD.match(one))}
    shown = heads if len(set(heads.values())) == len(different) else {one: one for one in different}
    return [shown[one] if one else None for one in algorithms]
