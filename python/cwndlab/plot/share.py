"""Share over time: the part of all goodput that each flow has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cwndlab.metrics import flows_over_time
from cwndlab.plot.description import Axis, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.plot.moments import moments
from cwndlab.plot.panels import end_s, over_time, titled
from cwndlab.plot.series import Line, drawn_flows, labels_of, positions

if TYPE_CHECKING:
    from cwndlab.records import Records

AXIS = "share of all goodput, %"
# Number of intervals of a run; shorter ones would show bursts.
_WINDOWS = 60


def lines(records: Records) -> list[Line]:
    """The shares of the flows that are drawn, at the same times for all; 0 while a flow does not exist."""
    flows = drawn_flows(records)
    table = flows_over_time(records, window_s=end_s([records]) / _WINDOWS, start_s=0.0)
    times = sorted(set(table["time_s"].to_list()))
    made = []
    for position, (flow, label) in enumerate(zip(flows["flow"], labels_of(flows), strict=True)):
        mine = table.filter(table["flow"] == flow)
        shares = dict(zip(mine["time_s"].to_list(), mine["share"].to_list(), strict=True))
        values = [round(100 * (shares.get(time) or 0.0), 2) for time in times]
        made.append(Line(label, [round(time, 4) for time in times], list(values), position))
    return made


def share(runs: Mapping[str, Records] | Records) -> Figure:
    """The flows' shares stacked, one panel per run; ``runs`` are as for `series`.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> figure = cwndlab.plot.share({"cubic and reno": records})
    >>> len(figure.to_plotly().data)
    2
    """
    runs = titled(runs)
    tints = positions(runs)
    y = Axis(AXIS, ends=(0, 100))
    panels = [
        Panel(
            y,
            [Series(line.label, line.time_s, line.values, "area", tints[name][line.label]) for line in lines(records)],
            name if len(runs) > 1 else "",
            moments=moments(records),
        )
        for name, records in runs.items()
    ]
    return over_time("share", "share of all goodput over time", panels, end_s(runs.values()))
