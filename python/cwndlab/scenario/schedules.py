"""The steps of the schedules of a scenario's links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cwndlab.scenario.units import duration_s

# A schedule with a short period has no end of steps.
_MOST_ROUNDS = 1000


def step_times_s(document: Mapping[str, Any], end_s: float) -> list[float]:
    """Times of the steps of all schedules after the start and before the end, each once, s.

    Examples
    --------
    >>> link = {"repeat": "2 s", "schedule": [{"at": "0 s", "rate": "1 Mbps"}, {"at": "1.5 s", "rate": "2 Mbps"}]}
    >>> step_times_s({"link": [link]}, 5.0)
    [1.5, 2.0, 3.5, 4.0]
    """
    times = {round(time, 4) for link in _links(document) for time in _steps(link, end_s)}
    return sorted(times)


def hand_over_times_s(document: Mapping[str, Any], end_s: float) -> list[float]:
    """Times of the reconfigurations of all links after the start and before the end, each once, s.

    Examples
    --------
    >>> hand_over_times_s({"link": [{"reconfiguration": {"min_delay": "8 ms"}}]}, 40.0)
    [15.0, 30.0]
    """
    spans = {
        duration_s(link["reconfiguration"].get("every", "15 s"), "every")
        for link in _links(document)
        if "reconfiguration" in link
    }
    return sorted({round(n * span, 4) for span in spans for n in range(1, _MOST_ROUNDS) if n * span < end_s})


def _links(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from document.get("link", ())
    yield from document.get("parking_lot", {}).get("hops", ())
    dumbbell = document.get("dumbbell", {})
    yield from (dumbbell[key] for key in ("bottleneck", "reverse") if key in dumbbell)


def _steps(link: Mapping[str, Any], end_s: float) -> Iterator[float]:
    period = duration_s(link["repeat"], "repeat") if "repeat" in link else end_s
    for step in link.get("schedule", ()):
        time = duration_s(step["at"], "at")
        for _ in range(_MOST_ROUNDS):
            if time >= end_s:
                break
            if time > 0:
                yield time
            time += period
