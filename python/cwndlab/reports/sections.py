"""Sections that several kinds of pages have."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cwndlab.plot import CDFS, SERIES, cdf, phase, series, share
from cwndlab.plot.series import MOST_FLOWS, lines
from cwndlab.records import Records
from cwndlab.reports.page import figure

if TYPE_CHECKING:
    pass


def over_time(runs: Mapping[str, Records], heading: str, opens: Mapping[str, str] | None = None) -> list[str]:
    """Lines and distributions of runs side by side."""
    parts = [f"<h2>{html.escape(heading)}</h2>"]
    flows = max(len(records.flows) for records in runs.values())
    behind = list((opens or {}).items())
    if not all(len(records.samples) for records in runs.values()):
        return [*parts, "<p>The scenario takes no samples, so nothing is known over time.</p>"]
    if flows > MOST_FLOWS:
        parts.append(f'<p class="quiet">The first {MOST_FLOWS} of {flows} flows are drawn.</p>')
    for kind, what in SERIES.items():
        if not any(any(line.time_s for line in lines(records, kind, points=2)) for records in runs.values()):
            continue  # of a path that is not seen there are no queues
        drawn = figure(series(runs, kind), f"series-{kind}", f"{what.axis} over time")
        parts += [f"<h3>{html.escape(what.axis)}</h3>", drawn]
    if flows > 1:
        drawn = figure(share(runs), "series-share", "each flow's share of all goodput over time")
        parts += ["<h3>share of all goodput, %</h3>", drawn]
        parts += ["<h3>window of the second flow against that of the first</h3>"]
        parts += ['<p class="quiet">On the dashed line both are equal.</p><div class="bars">']
        for position, (name, records) in enumerate(runs.items()):
            if len(records.flows) > 1:
                says = f"the second flow's window against the first one's, {name}"
                one, mine = phase(records, name, (opens or {}).get(name, "")), behind[position : position + 1]
                parts.append(figure(one, f"phase-{position}", says, mine))
        parts.append("</div>")
    parts.append("<h2>Distributions</h2>")
    if len(runs) > 1:
        parts.append('<p class="quiet">Of the same runs, all flows together.</p>')
    for of, axis in CDFS.items():
        one = cdf(runs, of, opens)
        if one is not None:
            parts += [f"<h3>{html.escape(axis)}</h3>", figure(one, f"cdf-{of}", f"distribution of the {axis}", behind)]
    return parts


def about(toml: str, notes: Sequence[str]) -> list[str]:
    parts = ["<h2>Scenario</h2>", f"<pre>{html.escape(toml)}</pre>"]
    if notes:
        parts.append("<h3>Notes</h3><ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>")
    return parts
