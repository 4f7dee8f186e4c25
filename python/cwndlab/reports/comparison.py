"""The page of a comparison."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from cwndlab.engine import version
from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import verdict_of
from cwndlab.plot import bars, boxes
from cwndlab.reports.page import figure, page
from cwndlab.reports.runs import Group, packed
from cwndlab.reports.sections import about, over_time
from cwndlab.reports.tables import table
from cwndlab.statistics import Decision
from cwndlab.statistics.digits import interval
from cwndlab.study import tables
from cwndlab.study.result import Result

if TYPE_CHECKING:
    pass


def comparison_page(found: Result) -> str:
    """The page of a comparison."""
    if not found.rows:
        raise RecordsError(Fault("comparison", "holds no finished run", "run `cwndlab compare` again"))
    shown, behind = found.judged(), _behind(found)
    parts = [*_summary(found), "<h2>Means and intervals</h2>", table(*tables.means(found, shown))]
    parts.append('<div class="bars">')
    for metric in shown:
        estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
        drawn = bars(found.algorithms, estimates, COLUMNS[metric], [target for _, target in behind])
        parts.append(figure(drawn, f"bars-{metric}", f"{COLUMNS[metric].heading} of each algorithm", behind))
    parts.append("</div>")
    if len(found.seeds) > 1:
        parts.append('<details><summary>Every run: box plots over seeds</summary><div class="bars">')
        targets = {(row["algorithm"], row["seed"]): f"#run={at}" for at, row in enumerate(found.rows)}
        for metric in shown:
            drawn = boxes(found.by_seed(metric), COLUMNS[metric], targets)
            says = f"{COLUMNS[metric].heading} of every run of each algorithm"
            parts.append(figure(drawn, f"boxes-{metric}", says, behind))
        parts.append("</div></details>")
    header, rows = tables.differences(found, shown)
    if rows:
        parts += [f"<h2>Paired differences to {html.escape(found.algorithms[0])}</h2>", _how(found)]
        parts.append(table(header, rows))
    if found.examples:
        parts += over_time(found.examples, f"Over time, seed {found.seeds[0]}", _examples(found))
    parts += about(found.scenario.to_toml(), found.notes)
    seeds = f"seeds {found.seeds[0]}–{found.seeds[-1]}"
    return page(
        found.scenario.title or "Comparison of congestion controls",
        parts,
        footer=f"cwndlab {version()} · scenario {found.scenario.hash} · {seeds} · {len(found.rows)} runs",
        data=_packed(found),
    )


def _behind(found: Result) -> list[tuple[str, str]]:
    """What the marks of an algorithm open: its runs."""
    return [(name, f"#runs={at}") for at, name in enumerate(found.algorithms)]


def _examples(found: Result) -> dict[str, str]:
    """What the lines of an algorithm open: the run that they are of."""
    first = {row["algorithm"]: at for at, row in reversed(list(enumerate(found.rows))) if row["seed"] == found.seeds[0]}
    return {name: f"#run={first[name]}" for name in found.examples if name in first}


def _packed(found: Result) -> dict[str, Any]:
    fields = {name: [row[name] for row in found.rows] for name in ("algorithm", "seed")}
    places = {(row["algorithm"], row["seed"]): at for at, row in enumerate(found.rows)}
    groups = [
        Group(name, [at for (algorithm, _), at in places.items() if algorithm == name]) for name in found.algorithms
    ]
    series = [(places[key], read) for key, read in found.kept().items() if key in places]
    flows = max((len(records.flows) for records in found.examples.values()), default=1)
    metrics = {name: [row.get(name) for row in found.rows] for name in found.judged()}
    return packed(fields, metrics, groups, series, flows=flows)


def _summary(found: Result) -> list[str]:
    """What was compared, and in a sentence per algorithm what its intervals tell."""
    used = "in every flow" if found.flows is None else f"in {', '.join(found.flows)}"
    used += "" if found.against is None else f", the other flows over TCP under {found.against}"
    count, total = len(found.rows), len(found.algorithms) * len(found.seeds)
    missing = "" if count == total else f" {count} of {total} runs finished."
    intro = (
        f"{len(found.algorithms)} algorithms, each {used}, {len(found.seeds)} runs each with the same seeds.{missing} "
        "a ± b is a mean with half of its 95 % interval (Student's t)."
    )
    base, judged = found.algorithms[0], found.comparisons()
    items = []
    for name in found.algorithms[1:]:
        told: list[str] = []
        alike: list[str] = []
        untold: list[str] = []
        for metric in found.judged():
            if (name, metric) not in judged:
                continue
            (delta, adjusted), column = judged[name, metric], COLUMNS[metric]
            verdict = verdict_of(metric, delta, adjusted)
            if not verdict.is_difference:
                (alike if verdict.is_equivalence else untold).append(column.title)
                continue
            mean, *ends = (end.lstrip("-") for end in interval(delta.paired, column.factor))
            low, high = ends if verdict.decision is Decision.HIGHER else reversed(ends)
            unit = {"": "", "%": " points"}.get(column.unit, f" {column.unit}")
            valuation = f", {verdict.valuation}" if verdict.valuation else ""
            told.append(f"{column.title} {verdict.decision.value} by {mean}{unit} ({low} to {high}){valuation}")
        text = "; ".join(told) or "no relevant difference is shown"
        rest = f" No relevant difference: {', '.join(alike)}." if alike else ""
        rest += f" Inconclusive: {', '.join(untold)}." if untold else ""
        items.append(f"<li><b>{html.escape(name)}</b>: {html.escape(text)}.{html.escape(rest)}</li>")
    parts = [f"<p>{html.escape(intro)}</p>"]
    if items:
        parts += [f"<p>Against <b>{html.escape(base)}</b>, over pairs of equal seeds:</p><ul>", *items, "</ul>"]
    return parts


def _how(found: Result) -> str:
    return (
        f'<p class="quiet">{html.escape(found.method())} Higher or lower needs an interval that excludes zero '
        "and an adjusted p below 0.05; without the correction one in twenty would say so by chance alone if nothing "
        "differed. Welch's test, which takes no notice of pairs, stands beside them.</p>"
    )
