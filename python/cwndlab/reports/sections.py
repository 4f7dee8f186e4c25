"""Sections that several kinds of pages have."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cwndlab.plot import CDFS, SERIES, cdf, overview, phase, series, share
from cwndlab.plot.phase import path_of
from cwndlab.plot.series import MOST_FLOWS, present
from cwndlab.records import Records
from cwndlab.reports.charts import Asked
from cwndlab.reports.page import Page, Placed
from cwndlab.scenario.document import Scenario
from cwndlab.study.axes import exact
from cwndlab.study.result import Result

#: Maximum number of runs side by side with linked panels; with more, each quantity has its own figure.
MOST_ABREAST = 3
# Maximum number of algorithms in the sentence about a scenario.
_MOST_KINDS = 6


def described_scenario(scenario: Scenario, cells: Iterable[Mapping[str, Any]] = (), *, titled: bool = True) -> str:
    """A sentence on a scenario: its title, flows, duration, bottleneck; without the values that vary over ``cells``."""
    own = _facts(scenario.document)
    for cell in cells:
        other = _facts(cell)
        own = {name: fact for name, fact in own.items() if other.get(name) == fact}
    title = f"“{scenario.title}”: " if scenario.title and titled else ""
    flows = f"{own.get('count', 'flows')}{own.get('kinds', '')}"
    path = ", ".join(own[name] for name in ("rate", "delay", "queue") if name in own)
    place = own.get("place", "network")
    lasting = f" for {own['duration']}" if "duration" in own else ""
    return f"{title}{flows}{lasting} over a {place}{f' ({path})' if path else ''}."


def _facts(document: Mapping[str, Any]) -> dict[str, str]:
    """The parts of the sentence about a scenario, in words."""
    flows: dict[str, int] = {}
    for flow in document["flow"]:
        kind = "UDP" if flow.get("transport") == "udp" else str(flow.get("algorithm", "TCP"))
        flows[kind] = flows.get(kind, 0) + int(flow.get("count", 1))
    count = sum(flows.values())
    kinds = ", ".join(f"{many} {kind}" if 1 < many < count else kind for kind, many in flows.items())
    kinds = kinds if len(flows) <= _MOST_KINDS else f"{len(flows)} algorithms"
    facts = {"count": f"{count} flow{'s' if count > 1 else ''}", "kinds": f" ({kinds})"}
    facts["duration"] = str(document["duration"])
    line = document.get("dumbbell", {}).get("bottleneck", {})
    queue = line.get("queue", {})
    words = (
        queue if isinstance(queue, str) else " ".join(str(queue[key]) for key in ("kind", "capacity") if key in queue)
    )
    facts |= {"rate": f"{line['rate']}"} if "rate" in line else {}
    facts |= {"delay": f"delay {line['delay']}"} if "delay" in line else {}
    facts |= {"queue": f"queue {words}"} if words else {}
    names = {"dumbbell": "dumbbell", "parking_lot": "parking lot", "wlan": "Wi-Fi cell"}
    facts["place"] = next((name for key, name in names.items() if key in document), "network of links")
    return facts


def again(result: Result, asked: Asked) -> list[str]:
    """The command that makes the page of a result again; none if no folder keeps the result."""
    if not result.place:
        return []
    words = ["cwndlab", "report", result.place, *(["--metrics", ",".join(asked.metrics)] if asked.metrics else [])]
    words += [
        word for name, axis in (("--x", asked.x), ("--by", asked.by)) if axis is not None for word in (name, axis)
    ]
    for name, value in (asked.marks or {}).items():
        words += ["--threshold", f"{name}={exact(value)}"]
    return [shlex.join(words)]


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
    note = f"Of {flows} flows, the {MOST_FLOWS} that delivered most are drawn." if flows > MOST_FLOWS else ""
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
            if len(records.flows) == 2 and path_of(records).time_s
        ]
    distributions = []
    for of, axis in CDFS.items():
        one = cdf(runs, of, opens)
        if one is not None:
            distributions.append(page.figure(one, f"cdf-{of}", heading=axis, opens=behind))
    return OverTime(heading, note, figures, phases, distributions)
