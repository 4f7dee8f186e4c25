"""The page of a comparison."""

from __future__ import annotations

import shlex
from typing import Any

from cwndlab.errors import Fault, RecordsError
from cwndlab.plot import bars, boxes
from cwndlab.reports.charts import Asked, figure, service_levels, thresholds
from cwndlab.reports.page import Links, Page, Placed
from cwndlab.reports.runs import Group, packed
from cwndlab.reports.sections import again, described_scenario, over_time
from cwndlab.reports.tables import presented
from cwndlab.study.axes import short
from cwndlab.study.commands import again_compared
from cwndlab.study.result import Result
from cwndlab.study.tables import chosen, column, levels, on_air, radio_or_control, verdicts
from cwndlab.study.tables import differences as differences_table

_METHOD = (
    "Higher or lower needs an interval that excludes zero and an adjusted p below 0.05; without the correction, one in "
    "twenty comparisons without any difference would be called different. Welch's test, which ignores the pairs, is "
    "shown as well."
)

_ANYTHING = Asked()


def comparison_page(comparison: Result, asked: Asked = _ANYTHING) -> str:
    """The page of a comparison, which opens with the requested metrics."""
    if not comparison.rows:
        raise RecordsError(Fault("comparison", "holds no finished run", "run `cwndlab compare` again"))
    page, behind = Page(), _behind(comparison)
    shown = list(dict.fromkeys([*chosen(comparison, asked.metrics), *comparison.judged()]))
    targets = {place: f"#run={at}" for at, place in enumerate(_places(comparison))}
    means, spreads = [], []
    is_single = comparison.is_comparison
    traded: list[Placed] = []
    if {"queue_ms", "goodput_bps"} <= set(shown) and len(comparison.labels) > 1:
        trade = figure(comparison, "goodput_bps", x="queue_ms", marks=asked.marks)
        traded = [page.figure(trade, "trade-off", heading="Goodput over delay")]
    for metric in shown:
        if not is_single:
            means.append(page.figure(asked.figure(comparison, metric), f"bars-{metric}"))
            continue
        estimates = [comparison.estimate(algorithm, metric) for algorithm in comparison.labels]
        drawn = bars(
            comparison.labels,
            estimates,
            column(metric),
            [target for _, target in behind],
            thresholds(comparison, metric, asked.marks),
        )
        means.append(page.figure(drawn, f"bars-{metric}", opens=behind))
        if len(comparison.seeds) > 1:
            drawn = boxes(comparison.by_seed(metric), column(metric), targets)
            spreads.append(page.figure(drawn, f"boxes-{metric}", opens=behind))
    differences, service = differences_table(comparison, shown), levels(comparison)
    air = on_air(comparison)
    seeds = f"seeds {comparison.seeds[0]}–{comparison.seeds[-1]}"
    return page.render(
        "comparison.html",
        title=_title(comparison),
        footer=f"scenario {comparison.scenario.hash} · {seeds} · {len(comparison.rows)} runs",
        commands=_commands(comparison, asked),
        run_findings=comparison.finding_rows(),
        data=_packed(comparison),
        intro=_intro(comparison),
        base=comparison.axis(comparison.compared).texts[0] if comparison.axes else "",
        verdicts=verdicts(comparison),
        means=presented(comparison.table(asked.metrics), opens=[target for _, target in behind]),
        levels=presented(service) if service.rows else None,
        air=presented(air) if air.rows else None,
        blame=radio_or_control(comparison),
        missed=page.figure(service_levels(comparison), "missed") if service.rows else None,
        # One printed page has the first figures.
        bars=[*means[:2], *traded, *means[2:]],
        narrow=is_single or len(comparison.axes) == 2,
        boxes=spreads,
        differences=presented(differences) if differences.rows else None,
        method=f"{comparison.method()} {_METHOD}",
        over_time=over_time(
            page, comparison.examples, f"Over time, seed {comparison.seeds[0]}", _examples(comparison), linked=False
        )
        if comparison.examples and len(comparison.labels) <= _MOST_NAMED
        else None,
        scenarios=[("Scenario", comparison.scenario.to_toml())],
        notes=comparison.notes,
    )


def _places(comparison: Result) -> list[tuple[str, int]]:
    """The cell and the seed of each run, in the order of `Result.rows`."""
    runs = comparison.runs.sort("seed", "cell")
    return [(comparison.labels_by_cell[cell], seed) for cell, seed in runs.select("cell", "seed").iter_rows()]


def _behind(comparison: Result) -> Links:
    """The links of an algorithm's marks: its runs."""
    return [(name, f"#runs={at}") for at, name in enumerate(comparison.labels)]


def _examples(comparison: Result) -> dict[str, str]:
    """The links of an algorithm's lines: their run."""
    first = {label: at for at, (label, seed) in enumerate(_places(comparison)) if seed == comparison.seeds[0]}
    return {name: f"#run={first[name]}" for name in comparison.examples if name in first}


def _packed(comparison: Result) -> dict[str, Any]:
    label = short([comparison.compared])[0] if comparison.is_comparison else "cell"
    there = _places(comparison)
    fields: dict[str, list[object]] = {label: [name for name, _ in there], "seed": [seed for _, seed in there]}
    places = {place: at for at, place in enumerate(there)}
    groups = [
        Group(name, [at for (algorithm, _), at in places.items() if algorithm == name]) for name in comparison.labels
    ]
    series = [(places[key], read) for key, read in comparison.kept().items() if key in places]
    flows = max((len(records.flows) for records in comparison.examples.values()), default=1)
    metrics = {name: [row.get(name) for row in comparison.rows] for name in comparison.judged()}
    return packed(fields, metrics, groups, series, flows=flows, first_colour=len(comparison.labels))


#: Algorithms that a title names.
_MOST_NAMED = 6


def _title(comparison: Result) -> str:
    """The compared values and the scenario, whose title may name algorithms that were not run."""
    if not comparison.is_comparison:
        axes = short([axis.name for axis in comparison.axes])
        title = comparison.title or comparison.scenario.title
        return (f"{title}: " if title else "") + " × ".join(axes)
    names = comparison.labels
    few = [", ".join(names[:-1]), names[-1]] if len(names) > 1 else names
    many = "algorithms" if comparison.compared == "algorithm" else f"values of {short([comparison.compared])[0]}"
    title = " and ".join(few) if len(names) <= _MOST_NAMED else f"{len(names)} {many}"
    title += "" if comparison.flows is None else f" in {', '.join(comparison.flows)}"
    return title + ("" if comparison.against is None else f" beside {comparison.against}")


def _intro(comparison: Result) -> str:
    seeds, scenario = len(comparison.seeds), f"{described_scenario(comparison.scenario, comparison.documents())} "
    count, total = len(comparison.rows), len(comparison.labels) * seeds
    missing = "" if count == total else f" {count} of {total} runs finished."
    method = f"{missing} a ± b is a mean with half of its 95 % interval (Student's t)."
    if not comparison.is_comparison:
        varied = zip(short([axis.name for axis in comparison.axes]), comparison.axes, strict=True)
        words = "; ".join(f"{name}: {', '.join(axis.texts)}" for name, axis in varied)
        many = f"{len(comparison.labels)} combinations of {words}"
        return f"{scenario}{many}; {seeds} runs each with the same seeds.{method}"
    if comparison.compared != "algorithm":
        values = f"{len(comparison.labels)} values of {short([comparison.compared])[0]}"
        return f"{scenario}{values}, {seeds} runs each with the same seeds.{method}"
    used = "in every flow" if comparison.flows is None else f"in {', '.join(comparison.flows)}"
    used += "" if comparison.against is None else f", the other flows over TCP under {comparison.against}"
    many = f"{len(comparison.labels)} algorithms, each {used}"
    return f"{scenario}{many}, {seeds} runs each with the same seeds.{method}"


def _commands(comparison: Result, asked: Asked) -> list[str]:
    """The command that repeats the comparison from the scenario on its page, or else makes the page from its folder."""
    words = again_compared(comparison) if asked == _ANYTHING else None
    return again(comparison, asked) if words is None else [shlex.join([*words, "--report", "page.html"])]
