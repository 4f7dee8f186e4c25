"""The page of a comparison."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from cwndlab.errors import Fault, RecordsError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import judged as word_for
from cwndlab.plot import bars, boxes
from cwndlab.reports.page import Links, Page
from cwndlab.reports.runs import Group, packed
from cwndlab.reports.sections import over_time
from cwndlab.reports.tables import Table, table
from cwndlab.statistics.digits import interval
from cwndlab.study.comparison import Comparison

_METHOD = (
    "Higher or lower needs an interval that excludes zero and an adjusted p below 0.05; without the correction, one in "
    "twenty comparisons without any difference would be called different. Welch's test, which ignores the pairs, is "
    "shown beside."
)


class Verdict(NamedTuple):
    """An algorithm and a sentence about its differences to the first one."""

    algorithm: str
    text: str


def comparison_page(found: Comparison) -> str:
    """The page of a comparison."""
    if not found.rows:
        raise RecordsError(Fault("comparison", "holds no finished run", "run `cwndlab compare` again"))
    page, shown, behind = Page(), found.judged(), _behind(found)
    targets = {(row["algorithm"], row["seed"]): f"#run={at}" for at, row in enumerate(found.rows)}
    means, spreads = [], []
    for metric in shown:
        estimates = [found.estimate(algorithm, metric) for algorithm in found.algorithms]
        drawn = bars(found.algorithms, estimates, COLUMNS[metric], [target for _, target in behind])
        means.append(page.figure(drawn, f"bars-{metric}", opens=behind))
        if len(found.seeds) > 1:
            drawn = boxes(found.by_seed(metric), COLUMNS[metric], targets)
            spreads.append(page.figure(drawn, f"boxes-{metric}", opens=behind))
    header, rows = found.differences(shown)
    seeds = f"seeds {found.seeds[0]}–{found.seeds[-1]}"
    differences = table(f"Paired differences to {found.algorithms[0]}; n counts the pairs", header, rows)
    return page.render(
        "comparison.html",
        title=found.scenario.title or "Comparison of congestion controls",
        footer=f"scenario {found.scenario.hash} · {seeds} · {len(found.rows)} runs",
        commands=_commands(found),
        data=_packed(found),
        intro=_intro(found),
        base=found.algorithms[0],
        verdicts=_verdicts(found),
        means=_means(found, shown, [target for _, target in behind]),
        bars=means,
        boxes=spreads,
        differences=differences if rows else None,
        method=f"{found.method()} {_METHOD}",
        over_time=over_time(page, found.examples, f"Over time, seed {found.seeds[0]}", _examples(found), linked=False)
        if found.examples
        else None,
        scenarios=[("Scenario", found.scenario.to_toml())],
        notes=found.notes,
    )


def _behind(found: Comparison) -> Links:
    """What the marks of an algorithm open: its runs."""
    return [(name, f"#runs={at}") for at, name in enumerate(found.algorithms)]


def _examples(found: Comparison) -> dict[str, str]:
    """What the lines of an algorithm open: their run."""
    first = {row["algorithm"]: at for at, row in reversed(list(enumerate(found.rows))) if row["seed"] == found.seeds[0]}
    return {name: f"#run={first[name]}" for name in found.examples if name in first}


def _means(found: Comparison, shown: Sequence[str], opens: Sequence[str]) -> Table:
    """The table of the comparison with the number of runs of each algorithm."""
    header, rows = found.table(shown)
    runs = [sum(row["algorithm"] == name for row in found.rows) for name in found.algorithms]
    counted = [[name, str(n), *cells] for (name, *cells), n in zip(rows, runs, strict=True)]
    caption = "Mean ± half of the 95 % interval (Student's t) over n runs"
    return table(caption, [header[0], "n", *header[1:]], counted, opens=opens)


def _packed(found: Comparison) -> dict[str, Any]:
    fields = {name: [row[name] for row in found.rows] for name in ("algorithm", "seed")}
    places = {(row["algorithm"], row["seed"]): at for at, row in enumerate(found.rows)}
    groups = [
        Group(name, [at for (algorithm, _), at in places.items() if algorithm == name]) for name in found.algorithms
    ]
    series = [(places[key], read) for key, read in found.kept().items() if key in places]
    flows = max((len(records.flows) for records in found.examples.values()), default=1)
    metrics = {name: [row.get(name) for row in found.rows] for name in found.judged()}
    return packed(fields, metrics, groups, series, flows=flows)


def _intro(found: Comparison) -> str:
    used = "in every flow" if found.flows is None else f"in {', '.join(found.flows)}"
    used += "" if found.against is None else f", the other flows over TCP under {found.against}"
    count, total = len(found.rows), len(found.algorithms) * len(found.seeds)
    missing = "" if count == total else f" {count} of {total} runs finished."
    return (
        f"{len(found.algorithms)} algorithms, each {used}, {len(found.seeds)} runs each with the same seeds.{missing} "
        "a ± b is a mean with half of its 95 % interval (Student's t)."
    )


def _verdicts(found: Comparison) -> list[Verdict]:
    """A sentence for each algorithm but the first: what the intervals of its paired differences show."""
    judged = found.comparisons()
    made = []
    for name in found.algorithms[1:]:
        shown: list[str] = []
        equal: list[str] = []
        open_: list[str] = []
        for metric in found.judged():
            if (name, metric) not in judged:
                continue
            (delta, adjusted), column = judged[name, metric], COLUMNS[metric]
            says = word_for(metric, delta, adjusted)
            side = says.partition(",")[0]
            if side not in ("higher", "lower"):
                (equal if says in ("no difference", "no relevant difference") else open_).append(column.title)
                continue
            mean, *ends = (end.lstrip("-") for end in interval(delta.paired, column.factor))
            low, high = ends if side == "higher" else reversed(ends)
            unit = {"": "", "%": " points"}.get(column.unit, f" {column.unit}")
            shown.append(f"{column.title} {side} by {mean}{unit} ({low} to {high}){says.removeprefix(side)}")
        text = f"{'; '.join(shown) or 'no relevant difference is shown'}."
        text += f" No relevant difference: {', '.join(equal)}." if equal else ""
        text += f" Inconclusive: {', '.join(open_)}." if open_ else ""
        made.append(Verdict(name, text))
    return made


def _commands(found: Comparison) -> list[str]:
    """The command that makes the comparison again from the scenario on its page."""
    count = len(found.seeds)
    words = ["cwndlab", "compare", "scenario.toml", "--algorithms", ",".join(found.algorithms)]
    words += ["--flows", ",".join(found.flows)] if found.flows is not None else []
    words += ["--against", found.against] if found.against is not None else []
    words += ["--seed", str(found.seeds[0])]
    if found.until is None:
        words += ["--repetitions", str(count)]
    else:
        words += ["--until", found.until, "--at-most", str(count)]
    words += ["--metrics", ",".join(found.metrics)] if found.metrics else []
    return [shlex.join([*words, "--report", "page.html"])]
