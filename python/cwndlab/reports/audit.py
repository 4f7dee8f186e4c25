"""The page of an audit: both windows over time, their difference, and the departures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.plot.description import Axis, Events, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.reports.page import Page
from cwndlab.reports.tables import Table, table

if TYPE_CHECKING:
    from cwndlab.validation.audit import AuditResult

# Departures that the page lists.
_LISTED = 200


def audit_page(result: AuditResult) -> str:
    """The page as HTML."""
    page = Page()
    share = "none" if result.share is None else f"{100 * result.share:.2f} %"
    facts = [
        f"{result.protocol} sender of {result.connection}, compared with {result.algorithm}: of {result.acks} ACKs "
        f"{result.explained} are explained ({share}), with {result.departure_count} departures.",
        f"Datagrams of {result.mss_bytes} B, initial window {result.initial_cwnd_bytes} B.",
    ]
    return page.render(
        "audit.html",
        title=f"Audit of {result.log}",
        footer=f"{result.windows} windows compared",
        commands=[f"cwndlab audit LOG --as '{result.algorithm}' --report PAGE.html"],
        facts=facts,
        windows=page.figure(_figure(result), "windows") if result.series else None,
        groups=_groups(result) if result.groups else None,
        departures=_departures(result) if result.departures else None,
        assumptions=[one[0].upper() + one[1:] + "." for one in [*result.assumptions(), *result.notes]],
    )


def _figure(result: AuditResult) -> Figure:
    begin, mss = result.series[0][0], result.mss_bytes
    seconds = [(row[0] - begin) / 1e3 for row in result.series]
    windows = (
        Series("logged", seconds, [row[1] / mss for row in result.series], position=0),
        Series("reference", seconds, [row[2] / mss for row in result.series], position=1),
    )
    marks = Events(
        "departure",
        "cross",
        [(one.time_ms - begin) / 1e3 for one in result.departures],
        [one.logged_bytes / mss for one in result.departures],
    )
    residual = Series(
        "logged − reference", seconds, [(row[1] - row[2]) / mss for row in result.series], position=2, legend=False
    )
    return Figure(
        "audit",
        "logged and reference window over time",
        Axis("time since the first logged window, s"),
        (
            Panel(Axis("cwnd, segments", from_zero=True), windows, events=(marks,) if marks.x else ()),
            Panel(Axis("difference, segments"), (residual,), height=0.5),
        ),
        shares_x=True,
        unified=True,
    )


def _groups(result: AuditResult) -> Table:
    rows = [
        [one.kind, one.meaning, one.source, str(one.departures), str(one.acks), f"{one.first_ms:.3f}"]
        for one in result.groups
    ]
    return table("Kinds of departures", ["kind", "meaning", "source", "departures", "ACKs", "first, ms"], rows)


def _departures(result: AuditResult) -> Table:
    rows = [
        [
            f"{one.time_ms:.3f}",
            one.kind,
            one.event,
            f"{one.logged_before_bytes} → {one.logged_bytes}",
            f"{one.reference_before_bytes} → {one.reference_bytes}",
            state_text(one.state_before),
            state_text(one.state_after),
            one.source,
        ]
        for one in result.departures[:_LISTED]
    ]
    rest = result.departure_count - len(rows)
    caption = "Departures" + (f"; {rest} more are not listed" if rest > 0 else "")
    header = ["time, ms", "kind", "event", "logged, B", "reference, B", "state before", "state after", "source"]
    return table(caption, header, rows)


def state_text(state: object) -> str:
    """The named numbers of a state in one line.

    >>> state_text({"phase": "slow start", "w_segments": 12.5, "epoch_start_s": "infinite"})
    'slow start, w_segments 12.5, epoch_start_s infinite'
    """
    assert isinstance(state, dict)
    written = {name: value if isinstance(value, str) else f"{value:.6g}" for name, value in state.items()}
    numbers = [f"{name} {value}" for name, value in written.items() if name != "phase"]
    return ", ".join([str(state.get("phase", "unknown")), *numbers])
