"""The page of a campaign on a real path."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from cwndlab.engine import version
from cwndlab.metrics import COLUMNS
from cwndlab.plot import bars, charts
from cwndlab.reports.page import figure, page
from cwndlab.reports.sections import over_time
from cwndlab.reports.tables import table

if TYPE_CHECKING:
    from cwndlab.live.results import Measurement


def measurement_page(found: Measurement) -> str:
    """Its table, means, differences within rounds, the time of day, and the first complete round over time."""
    asked = found.question
    complete = len(found.seeds)
    intro = (
        f"{len(found.algorithms)} algorithms, each once in every round, in an order drawn by seed {asked.seed}: "
        f"{asked.size_bytes / 1e6:g} MB a transfer from {asked.url} over {asked.transport.upper()}. {complete} of "
        f"{asked.rounds} rounds are complete. The algorithm is the sender's, chosen for each connection. Throughput is "
        "payload over the time from the request to the last byte; a ± b is a mean with half of its 95 % interval "
        "(Student's t)."
    )
    parts = [f"<p>{html.escape(intro)}</p>"]
    if found.notes:
        parts.append("<ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in found.notes) + "</ul>")
    if not found.rows:
        parts.append("<p>No transfer has been finished.</p>")
        return page("A measurement", parts, footer=f"cwndlab {version()}", figures=False)
    parts += ["<h2>Throughput of every round</h2>", table(*found.table())]
    parts += [figure(charts.figure(_graph(found)), "rounds", "throughput of each round by algorithm")]
    parts += ["<h2>Means and intervals</h2>", table(*found.means()), '<div class="bars">']
    for metric in found.judged():
        drawn = bars(found.algorithms, [found.estimate(name, metric) for name in found.algorithms], COLUMNS[metric])
        parts.append(figure(drawn, f"bars-{metric}", f"{COLUMNS[metric].heading} of each algorithm"))
    parts.append("</div>")
    header, rows = found.differences()
    if rows:
        parts += ["<h2>Differences within rounds</h2>", f'<p class="quiet">{html.escape(found.method())}</p>']
        parts.append(table(header, rows))
    if found.effects():
        parts += ["<h2>Time of day</h2>", table(*found.day()), f'<p class="quiet">{html.escape(_FACTORS)}</p>']
        parts.append(table(*found.factors()))
    if found.examples:
        parts += over_time(found.examples, f"Over time, round {found.seeds[0]}")
        notes = [f"{name}: {note}" for name, records in found.examples.items() for note in records.notes]
        parts.append("<h3>Notes</h3><ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>")
    return page(
        f"Throughput from {asked.url}",
        parts,
        footer=f"cwndlab {version()} · seed {asked.seed} · {len(found.rows)} transfers",
    )


_FACTORS = (
    "Analysis of variance of the throughput. Algorithms, and whether their differences depend on the part of the day, "
    "are held against what is left within rounds; parts of the day against the rounds within a part."
)


def _graph(found: Measurement) -> charts.Chart:
    values = found.by_seed("goodput_bps")
    curves = [
        charts.Curve(name, [float(n) for n in values[name]], [rate / 1e6 for rate in values[name].values()])
        for name in found.algorithms
    ]
    return charts.Chart("rounds", "Throughput of every round", "round", "throughput, Mbit/s", curves)
