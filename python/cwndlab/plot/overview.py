"""A run at a glance: window, throughput, RTT, queue and drops over one time axis, with events and phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.plot.description import Axis, Band, Panel
from cwndlab.plot.figure import Figure
from cwndlab.plot.moments import moments
from cwndlab.plot.panels import end_s, titled
from cwndlab.plot.series import SERIES, drawn_flows, marks, panel_of, positions, present

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Phases of a flow, with the positions of their colours.
PHASES = {"slow start": -1, "recovery": -2, "RTO recovery": -3}
# Events that end the first slow start of a flow, and one after a timeout.
_ENDS = ("slow-start-exit", "recovery", "ecn", "timeout")


def phases(records: Records) -> dict[int, dict[str, list[tuple[float, float]]]]:
    """Slow start, recovery and RTO recovery of the drawn flows, as spans in seconds, by flow and phase.

    Recovery ends with the row ``recovered`` of ``events``. The first slow start ends with ``slow-start-exit``, else
    with the first loss, ECN echo or timeout; slow start after a timeout ends at the first sample whose window is not
    below the threshold.
    """
    made = {}
    last = end_s([records])
    for flow in drawn_flows(records)["flow"].to_list():
        rows = records.events.filter(pl.col("flow") == flow).sort("time_ns").select("time_ns", "kind").rows()
        events = [(time / 1e9, kind) for time, kind in rows]
        samples = records.samples.filter(pl.col("flow") == flow)
        above = samples.filter(pl.col("cwnd_bytes") >= pl.col("ssthresh_bytes"))["time_ns"].to_list()
        spans: dict[str, list[tuple[float, float]]] = {name: [] for name in PHASES}
        spans["slow start"] += _slow_starts(events, [time / 1e9 for time in above], last)
        for begin, name in (("recovery", "recovery"), ("timeout", "RTO recovery")):
            spans[name] += _recoveries(events, begin, last)
        made[flow] = {name: _rounded(one) for name, one in spans.items() if one}
    return made


def _recoveries(events: list[tuple[float, str]], begin: str, last: float) -> Iterator[tuple[float, float]]:
    for place, (start, kind) in enumerate(events):
        if kind == begin:
            ends = (time for time, other in events[place + 1 :] if other in ("recovered", "timeout", "close"))
            yield start, next(ends, last)


def _slow_starts(events: list[tuple[float, str]], above: list[float], last: float) -> Iterator[tuple[float, float]]:
    exits = [time for time, kind in events if kind == "slow-start-exit"]
    for place, (start, kind) in enumerate(events):
        after = events[place + 1 :]
        if kind == "established":
            ends = exits or [time for time, other in after if other in (*_ENDS, "close")]
            yield start, next((time for time in ends if time > start), last)
        elif kind == "timeout":
            ends = [time for time in above if time > start][:1]
            ends += [time for time, other in after if other in ("recovery", "ecn", "timeout", "close")]
            yield start, min(ends, default=last)


def _rounded(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(round(start, 4), round(end, 4)) for start, end in spans if end > start]


def overview(runs: Mapping[str, Records] | Records) -> Figure:
    """Linked panels of a run, or of two or three side by side; they share one time axis and zoom together.

    The window has marks at losses, RTOs, ECN reductions and slow-start exits; the lowest panel shows the phases of each
    flow as bands, which in a run with one flow also lie behind its window.

    Parameters
    ----------
    runs:
        Records by the title of their column, or those of one run.

    Raises
    ------
    ArgumentError
        No run has anything to draw.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> figure = cwndlab.plot.overview(records)
    >>> len(figure.to_plotly().data) > 0
    True
    """
    runs = titled(runs)
    kinds, tints = present(runs.values()), positions(runs)
    panels = []
    for row, kind in enumerate(kinds):
        for name, records in runs.items():
            title = name if row == 0 and len(runs) > 1 else ""
            panel = panel_of(records, kind, tints[name], runs=len(runs), title=title)
            if not SERIES[kind].of_flows and len(panel.series) == 1:
                # The axis names the one bottleneck.
                panel = replace(panel, series=[replace(panel.series[0], legend=False)])
            if kind == "cwnd":
                panel = replace(panel, events=marks(records), bands=_behind(records), height=1.4)
            panels.append(panel)
    lanes = [_lanes(records) for records in runs.values()]
    if any(lane.bands for lane in lanes):
        panels += lanes
    if not panels:
        hint = "run again with a sample_interval above zero"
        raise ArgumentError(parameter_fault("runs", "no run has samples or phases", hint=hint))
    names = " and ".join(runs) if len(runs) > 1 else "run"
    return Figure(
        name="overview",
        title=f"{names} over time",
        x=Axis("time, s", from_zero=True, ends=(0, end_s(runs.values()))),
        panels=panels,
        columns=len(runs),
        shares_x=True,
        shares_y="row",
        unified=True,
        pixels=150,
        inches=(8 if len(runs) == 1 else 11, 1.6 * len(kinds) + 1.6),
    )


def _behind(records: Records) -> list[Band]:
    """The phases of the one flow of a run, over the whole height of a panel."""
    if len(records.flows) > 1:
        return []
    return [
        Band(name, spans, PHASES[name])
        for of_flow in phases(records).values()
        for name, spans in of_flow.items()
        if spans
    ]


def _lanes(records: Records) -> Panel:
    """A row for each flow with its phases."""
    names = drawn_flows(records)["name"].to_list()
    by_flow = phases(records)
    bands = [
        Band(name, of_flow[name], PHASES[name], place)
        for place, of_flow in enumerate(by_flow.values())
        for name in PHASES
        if of_flow.get(name)
    ]
    height = max(0.35, 0.16 * len(names))
    return Panel(Axis("phase", categories=names), bands=bands, moments=moments(records), height=height)
