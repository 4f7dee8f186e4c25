"""The page of an audit: both windows over time, their difference, and the departures."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from cwndlab.plot.description import Axis, Events, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.reports.page import Page
from cwndlab.reports.tables import Cell, Table, cell
from cwndlab.validation.audit import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cwndlab.validation.audit import AuditResult

# Departures that the page lists.
_LISTED = 200


def audit_page(result: AuditResult) -> str:
    """The page as HTML."""
    page = Page()
    facts = [
        f"{result.protocol} sender of {result.connection}, compared with {result.algorithm}: {result.headline()}.",
        result.severity(),
        f"Datagrams of {result.mss_bytes} B, initial window {result.initial_cwnd_bytes} B. Times count from the first "
        "event of the log.",
    ]
    return page.render(
        "audit.html",
        title=f"Audit of {result.log}",
        footer=f"{result.windows} windows compared",
        commands=[f"cwndlab audit {quote(result.log)} --as '{result.algorithm}' --report audit.html"],
        facts=[f"{one[0].upper()}{one[1:]}" for one in facts if one],
        windows=page.figure(_figure(result), "windows") if result.series else None,
        groups=_groups(result) if result.groups else None,
        departures=_departures(result) if result.departures else None,
        assumptions=[one[0].upper() + one[1:] + "." for one in [*result.assumptions(), *result.notes]],
    )


def _figure(result: AuditResult) -> Figure:
    mss = result.mss_bytes
    seconds = [row[0] / 1e3 for row in result.series]
    windows = (
        Series("logged", seconds, [row[1] / mss for row in result.series], position=0),
        Series("reference", seconds, [row[2] / mss for row in result.series], position=1),
    )
    marks = Events(
        "departure",
        "cross",
        [one.time_ms / 1e3 for one in result.departures],
        [one.logged_bytes / mss for one in result.departures],
    )
    residual = Series(
        "logged − reference", seconds, [(row[1] - row[2]) / mss for row in result.series], position=2, legend=False
    )
    return Figure(
        "audit",
        "logged and reference window over time",
        Axis("time since the first event of the log, s"),
        (
            Panel(Axis("cwnd, segments", from_zero=True), windows, events=(marks,) if marks.x else ()),
            Panel(Axis("difference, segments"), (residual,), height=0.5),
        ),
        shares_x=True,
        unified=True,
    )


# Classes of a cell by severity.
_CLASSES = {Severity.SERIOUS: "outcome bad", Severity.MODERATE: "outcome open", Severity.SLIGHT: "outcome muted"}


def _groups(result: AuditResult) -> Table:
    header = [("kind", "text"), ("severity", "text"), ("meaning", "wrap"), ("source", "wrap"), ("departures", "")]
    header += [("ACKs", ""), ("largest,\nsegments", ""), ("largest,\n%", ""), ("first, s", "")]
    rows = []
    for one in result.groups:
        texts = [one.kind, str(one.severity), one.meaning, one.source, str(one.departures), str(one.acks)]
        texts += [f"{one.largest_segments:.1f}", f"{one.largest_percent:.0f}", f"{one.first_ms / 1e3:.6f}"]
        kinds = [kind for _, kind in header]
        kinds[1] = _CLASSES[one.severity]
        rows.append([cell(text, kind) for text, kind in zip(texts, kinds, strict=True)])
    return Table("Kinds of departures, the most serious first", header, rows)


def _departures(result: AuditResult) -> Table:
    header = [("time, s", "number"), ("kind", "text"), ("event", "wrap"), ("logged, B", ""), ("reference, B", "")]
    header += [("state of the reference", "wrap"), ("source", "wrap")]
    kinds = [kind for _, kind in header]
    rows = []
    for one in result.departures[:_LISTED]:
        texts = [
            *(f"{one.time_ms / 1e3:.6f}", one.kind, one.event),
            f"{one.logged_before_bytes} → {one.logged_bytes}",
            f"{one.reference_before_bytes} → {one.reference_bytes}",
        ]
        cells = [cell(text, kind) for text, kind in zip(texts, kinds, strict=False)]
        state = [(f"{name} {text}", "") for name, text in state_rows(one.state_before, one.state_after) if "→" in text]
        rows.append([*cells, Cell(state or [("unchanged", "")], "wrap"), cell(one.source, "wrap")])
    rest = result.departure_count - len(rows)
    caption = "Departures, and what changed in the state" + (f"; {rest} more are not listed" if rest > 0 else "")
    return Table(caption, header, rows)


def state_rows(before: Mapping[str, float | str], after: Mapping[str, float | str]) -> list[tuple[str, str]]:
    """Names and values of two states, those that differ first.

    >>> state_rows({"phase": "slow start", "w_segments": 12.5}, {"phase": "recovery", "w_segments": 12.5})
    [('phase', 'slow start → recovery'), ('w_segments', '12.5')]
    """

    def text(state: Mapping[str, float | str], name: str) -> str:
        value = state.get(name, "–")
        return value if isinstance(value, str) else f"{value:.6g}"

    names = sorted({*before, *after}, key=lambda name: (name != "phase", name))
    rows = [(name, text(before, name), text(after, name)) for name in names]
    changed = [(name, f"{one} → {other}") for name, one, other in rows if one != other]
    return changed + [(name, one) for name, one, other in rows if one == other]
