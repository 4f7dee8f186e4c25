"""The page of a comparison."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import verdict_of
from cwndlab.plot import bars, boxes
from cwndlab.reports.page import Links, Page
from cwndlab.reports.runs import Group, packed
from cwndlab.reports.sections import over_time
from cwndlab.reports.tables import Table, table
from cwndlab.statistics import Decision
from cwndlab.statistics.digits import interval
from cwndlab.study.axes import short, text
from cwndlab.study.result import Result
from cwndlab.study.tables import differences as differences_table
from cwndlab.study.tables import means as means_table

_METHOD = (
    "Higher or lower needs an interval that excludes zero and an adjusted p below 0.05; without the correction, one in "
    "twenty comparisons without any difference would be called different. Welch's test, which ignores the pairs, is "
    "shown beside."
)


class Sentence(NamedTuple):
    """An algorithm and a sentence about its differences to the first one."""

    algorithm: str
    text: str


def comparison_page(comparison: Result) -> str:
    """The page of a comparison."""
    if not comparison.rows:
        raise RecordsError(Fault("comparison", "holds no finished run", "run `cwndlab compare` again"))
    page, shown, behind = Page(), comparison.judged(), _behind(comparison)
    targets = {(text(row[comparison.compared]), row["seed"]): f"#run={at}" for at, row in enumerate(comparison.rows)}
    means, spreads = [], []
    for metric in shown:
        estimates = [comparison.estimate(algorithm, metric) for algorithm in comparison.algorithms]
        drawn = bars(comparison.algorithms, estimates, COLUMNS[metric], [target for _, target in behind])
        means.append(page.figure(drawn, f"bars-{metric}", opens=behind))
        if len(comparison.seeds) > 1:
            drawn = boxes(comparison.by_seed(metric), COLUMNS[metric], targets)
            spreads.append(page.figure(drawn, f"boxes-{metric}", opens=behind))
    header, rows = differences_table(comparison, shown)
    seeds = f"seeds {comparison.seeds[0]}–{comparison.seeds[-1]}"
    differences = table(f"Paired differences to {comparison.algorithms[0]}; n counts the pairs", header, rows)
    return page.render(
        "comparison.html",
        title=_title(comparison),
        footer=f"scenario {comparison.scenario.hash} · {seeds} · {len(comparison.rows)} runs",
        commands=_commands(comparison),
        run_findings=comparison.finding_rows(),
        data=_packed(comparison),
        intro=_intro(comparison),
        base=comparison.algorithms[0],
        verdicts=_verdicts(comparison),
        means=_means(comparison, shown, [target for _, target in behind]),
        bars=means,
        boxes=spreads,
        differences=differences if rows else None,
        method=f"{comparison.method()} {_METHOD}",
        over_time=over_time(
            page, comparison.examples, f"Over time, seed {comparison.seeds[0]}", _examples(comparison), linked=False
        )
        if comparison.examples
        else None,
        scenarios=[("Scenario", comparison.scenario.to_toml())],
        notes=comparison.notes,
    )


def _behind(comparison: Result) -> Links:
    """What the marks of an algorithm open: its runs."""
    return [(name, f"#runs={at}") for at, name in enumerate(comparison.algorithms)]


def _examples(comparison: Result) -> dict[str, str]:
    """What the lines of an algorithm open: their run."""
    first = {
        text(row[comparison.compared]): at
        for at, row in reversed(list(enumerate(comparison.rows)))
        if row["seed"] == comparison.seeds[0]
    }
    return {name: f"#run={first[name]}" for name in comparison.examples if name in first}


def _means(comparison: Result, shown: Sequence[str], opens: Sequence[str]) -> Table:
    """The table of the comparison with the number of runs of each algorithm."""
    header, rows = means_table(comparison, shown)
    runs = [sum(text(row[comparison.compared]) == name for row in comparison.rows) for name in comparison.algorithms]
    counted = [[name, str(n), *cells] for (name, *cells), n in zip(rows, runs, strict=True)]
    caption = "Mean ± half of the 95 % interval (Student's t) over n runs"
    return table(caption, [header[0], "n", *header[1:]], counted, opens=opens)


def _packed(comparison: Result) -> dict[str, Any]:
    label = short([comparison.compared])[0]
    words = [text(row[comparison.compared]) for row in comparison.rows]
    fields = {label: words, "seed": [row["seed"] for row in comparison.rows]}
    places = {(text(row[comparison.compared]), row["seed"]): at for at, row in enumerate(comparison.rows)}
    groups = [
        Group(name, [at for (algorithm, _), at in places.items() if algorithm == name])
        for name in comparison.algorithms
    ]
    series = [(places[key], read) for key, read in comparison.kept().items() if key in places]
    flows = max((len(records.flows) for records in comparison.examples.values()), default=1)
    metrics = {name: [row.get(name) for row in comparison.rows] for name in comparison.judged()}
    return packed(fields, metrics, groups, series, flows=flows, first_colour=len(comparison.algorithms))


#: Algorithms that a title names.
_MOST_NAMED = 6


def _title(comparison: Result) -> str:
    """What was compared, and where: the title of the scenario may name algorithms that were not run."""
    names = comparison.algorithms
    few = [", ".join(names[:-1]), names[-1]] if len(names) > 1 else names
    many = "algorithms" if comparison.compared == "algorithm" else f"values of {comparison.compared}"
    title = " and ".join(few) if len(names) <= _MOST_NAMED else f"{len(names)} {many}"
    title += "" if comparison.flows is None else f" in {', '.join(comparison.flows)}"
    return title + ("" if comparison.against is None else f" beside {comparison.against}")


def _intro(comparison: Result) -> str:
    title, seeds = comparison.scenario.title, len(comparison.seeds)
    scenario = f"The scenario “{title}”: " if title else ""
    count, total = len(comparison.rows), len(comparison.algorithms) * seeds
    missing = "" if count == total else f" {count} of {total} runs finished."
    method = f"{missing} a ± b is a mean with half of its 95 % interval (Student's t)."
    if comparison.compared != "algorithm":
        values = f"{len(comparison.algorithms)} values of {comparison.compared}"
        return f"{scenario}{values}, {seeds} runs each with the same seeds.{method}"
    used = "in every flow" if comparison.flows is None else f"in {', '.join(comparison.flows)}"
    used += "" if comparison.against is None else f", the other flows over TCP under {comparison.against}"
    many = f"{len(comparison.algorithms)} algorithms, each {used}"
    return f"{scenario}{many}, {seeds} runs each with the same seeds.{method}"


def _verdicts(comparison: Result) -> list[Sentence]:
    """A sentence for each algorithm but the first: what the intervals of its paired differences show."""
    judged = comparison.comparisons()
    made = []
    for name in comparison.algorithms[1:]:
        shown: list[str] = []
        equal: list[str] = []
        open_: list[str] = []
        copies: list[str] = []
        for metric in comparison.judged():
            if (name, metric) not in judged:
                continue
            (delta, adjusted), column = judged[name, metric], COLUMNS[metric]
            verdict = verdict_of(metric, delta, adjusted)
            if verdict.decision is Decision.ONE_RESULT:
                copies.append(column.title)
                continue
            if not verdict.is_difference:
                (equal if verdict.is_equivalence else open_).append(column.title)
                continue
            mean, *ends = (end.lstrip("-") for end in interval(delta.paired, column.factor))
            low, high = ends if verdict.decision is Decision.HIGHER else reversed(ends)
            unit = {"": "", "%": " points"}.get(column.unit, f" {column.unit}")
            valuation = f", {verdict.valuation}" if verdict.valuation else ""
            shown.append(f"{column.title} {verdict.decision.value} by {mean}{unit} ({low} to {high}){valuation}")
        sentence = f"{'; '.join(shown) or 'no relevant difference is shown'}."
        sentence += f" No relevant difference: {', '.join(equal)}." if equal else ""
        sentence += f" Inconclusive: {', '.join(open_)}." if open_ else ""
        sentence += f" {len(comparison.seeds)} runs, one result: {', '.join(copies)}." if copies else ""
        made.append(Sentence(name, sentence))
    return made


def _commands(comparison: Result) -> list[str]:
    """The command that makes the comparison again from the scenario on its page."""
    count = len(comparison.seeds)
    words = ["cwndlab", "compare", "scenario.toml"]
    if comparison.compared == "algorithm":
        words += ["--algorithms", ",".join(comparison.algorithms)]
    else:
        words += ["--over", f"{comparison.compared}={','.join(comparison.header['values'])}"]
    words += ["--flows", ",".join(comparison.flows)] if comparison.flows is not None else []
    words += ["--against", comparison.against] if comparison.against is not None else []
    words += ["--seed", str(comparison.seeds[0])]
    until, metrics = comparison.header["until"], comparison.header["metrics"]
    if until is None:
        words += ["--repetitions", str(count)]
    else:
        words += ["--until", until, "--at-most", str(count)]
    words += ["--metrics", ",".join(metrics)] if metrics else []
    return [shlex.join([*words, "--report", "page.html"])]
