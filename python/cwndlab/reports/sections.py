"""Sections that several kinds of pages have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cwndlab.plot import CDFS, SERIES, cdf, overview, phase, series, share
from cwndlab.plot.series import MOST_FLOWS, present
from cwndlab.records import Records
from cwndlab.reports.page import Page, Placed
from cwndlab.scenario.document import Scenario

#: Runs that are drawn side by side with linked panels; of more, each quantity has a figure of its own.
MOST_ABREAST = 3


def described_scenario(scenario: Scenario) -> str:
    """What a scenario is, in a sentence: flows, duration, bottleneck."""
    document = scenario.document
    flows: dict[str, int] = {}
    for flow in document["flow"]:
        kind = "UDP" if flow.get("transport") == "udp" else str(flow.get("algorithm", "TCP"))
        flows[kind] = flows.get(kind, 0) + int(flow.get("count", 1))
    count = sum(flows.values())
    kinds = ", ".join(f"{many} {kind}" if len(flows) > 1 else kind for kind, many in flows.items())
    line = document.get("dumbbell", {}).get("bottleneck", {})
    queue = line.get("queue", {})
    words = (
        queue if isinstance(queue, str) else " ".join(str(queue[key]) for key in ("kind", "capacity") if key in queue)
    )
    path = [f"{line[key]}" for key in ("rate", "delay") if key in line] + ([f"queue {words}"] if words else [])
    name = next(
        (one.replace("_", " ") for one in ("dumbbell", "parking_lot", "wlan") if one in document), "network of links"
    )
    over = f"{name}{' of ' if path else ''}{', '.join(path)}"
    title = f"“{scenario.title}”: " if scenario.title else ""
    return f"{title}{count} flow{'s' if count > 1 else ''} ({kinds}) for {scenario.duration} over a {over}."


class OverTime(NamedTuple):
    """Figures of runs over time, and the note above them."""

    heading: str
    note: str
    figures: Sequence[Placed]
    phases: Sequence[Placed]
    distributions: Sequence[Placed]


def over_time(
    page: Page, runs: Mapping[str, Records], heading: str, opens: Mapping[str, str] | None = None, *, linked: bool
) -> OverTime:
    """Time series and distributions of runs; ``linked`` panels of all quantities share the axis of time."""
    opens = opens or {}
    behind = list(opens.items())
    if not all(len(records.samples) for records in runs.values()):
        return OverTime(heading, "The scenario takes no samples, so there is no figure over time.", [], [], [])
    flows = max(len(records.flows) for records in runs.values())
    note = f"The {MOST_FLOWS} of {flows} flows that delivered most are drawn." if flows > MOST_FLOWS else ""
    if linked:
        figures = [page.figure(overview(runs), "overview", opens=behind)]
    else:
        figures = [
            page.figure(series(runs, kind), f"series-{kind}", heading=SERIES[kind].axis)
            for kind in present(runs.values())
        ]
    phases = []
    if flows > 1:
        figures.append(page.figure(share(runs), "series-share", heading="share of all goodput, %"))
        phases = [
            page.figure(phase(records, name, opens.get(name, "")), f"phase-{at}", opens=behind[at : at + 1])
            for at, (name, records) in enumerate(runs.items())
            if len(records.flows) == 2
        ]
    distributions = []
    for of, axis in CDFS.items():
        one = cdf(runs, of, opens)
        if one is not None:
            distributions.append(page.figure(one, f"cdf-{of}", heading=axis, opens=behind))
    return OverTime(heading, note, figures, phases, distributions)
