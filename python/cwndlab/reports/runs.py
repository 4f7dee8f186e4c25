"""The runs behind the figures of a page: their metrics, and the time series of as many runs as fit.

Metrics are columns of 32-bit floats, series columns of 16-bit steps of their largest value (less than a pixel), both in
base64. `page.js` unpacks them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cwndlab.metrics.summary import COLUMNS
from cwndlab.plot.description import Axis, Panel
from cwndlab.plot.figure import Figure
from cwndlab.plot.palette import ALL_COLOURS
from cwndlab.plot.series import MOST_FLOWS, MOST_LINKS, SERIES, Line, lines

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Maximum bytes of a page for series; plotly itself takes 4.8 million.
ROOM = 1_500_000
# Points per line: as many as fit, between these limits.
_FEWEST, _MOST = 60, 400
_BYTES_PER_POINT = 8 / 3
# Maximum number of runs whose metrics a page holds; beyond it, the page has only the means.
MOST_RUNS = 20_000
#: Shown for a run without series.
WITHOUT = (
    "This page holds no time series of this run. `cwndlab report` on the folder of its records draws them; "
    "`cwndlab run` with its scenario and seed makes them again."
)


class Group(NamedTuple):
    """The runs behind a mark."""

    title: str
    runs: list[int]


def packed(
    fields: Mapping[str, Sequence[object]],
    metrics: Mapping[str, Sequence[float | None]],
    groups: Sequence[Group],
    series: Iterable[tuple[int, Callable[[], Records]]] = (),
    *,
    flows: int = 1,
    first_colour: int = 0,
) -> dict[str, Any]:
    """The data of a page.

    Parameters
    ----------
    fields, metrics:
        A value for each run.
    groups:
        The runs behind marks.
    series:
        Functions that read the records of a run, by its place; they are called one after the other.
    flows:
        The largest number of flows of a run.
    first_colour:
        The position of the first colour that the page does not use otherwise.
    """
    count = len(next(iter(fields.values())))
    data: dict[str, Any] = {
        "colours": list(ALL_COLOURS),
        "without": WITHOUT,
        "runs": {
            "count": count,
            "fields": [_words(name, values) for name, values in fields.items()],
            "metrics": [described(name) | {"data": single(values)} for name, values in metrics.items()],
        },
        "groups": [{"title": group.title, "runs": group.runs} for group in groups],
    }
    wanted = list(series)
    if wanted:
        per_run = 3 * min(flows, MOST_FLOWS) + 2 * MOST_LINKS
        points = int(ROOM / _BYTES_PER_POINT / per_run / len(wanted))
        points = max(_FEWEST, min(_MOST, points))
        data["series"] = {}
        left = ROOM
        for place, read in _in_turn(wanted, groups):
            one = pack(read(), points, first_colour)
            left -= sum(len(line["data"]) for panel in one for line in panel["lines"])
            if left < 0:
                break
            if one:
                data["series"][str(place)] = one
        present = {panel["kind"] for panels in data["series"].values() for panel in panels}
        kinds = [kind for kind in SERIES if kind in present]
        data["frames"] = {str(columns): _frame(kinds, columns) for columns in (1, 2)}
    return data


def described(name: str) -> dict[str, Any]:
    """The presentation of a metric; a measure of an experiment has its unit in its name."""
    if name not in COLUMNS:
        return {"key": name, "title": name.replace("_", " "), "unit": "", "factor": 1.0}
    shown = COLUMNS[name]
    return {"key": name, "title": shown.title, "unit": shown.unit, "factor": shown.factor}


def single(values: Iterable[float | None]) -> str:
    """Numbers as 32-bit floats, little-endian, in base64; a missing value is NaN."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype="<f4")
    return base64.b64encode(numbers.tobytes()).decode("ascii")


def pack(records: Records, points: int, first_colour: int = 0) -> list[dict[str, Any]]:
    """The time series of a run: a panel per kind, with at most ``points`` points per line."""
    if not len(records.samples):
        return []
    panels = []
    beyond = min(len(records.flows), MOST_FLOWS)
    for kind, what in SERIES.items():
        first = first_colour + (0 if what.of_flows else beyond)
        packed_lines = [_packed(line, first) for line in lines(records, kind, points=points) if line.time_s]
        if packed_lines:
            panels.append({"kind": kind, "axis": what.axis, "lines": packed_lines})
    return panels


def _frame(kinds: Sequence[str], columns: int) -> dict[str, Any]:
    """The layout of one run's time series, or of two runs side by side: a panel per kind, which the script fills."""
    panels = [
        Panel(Axis(SERIES[kind].axis, from_zero=True), title=f"run {column + 1}" if row == 0 and columns > 1 else "")
        for row, kind in enumerate(kinds)
        for column in range(columns)
    ]
    figure = Figure(
        "run",
        "time series",
        Axis("time, s", from_zero=True),
        panels,
        columns=columns,
        shares_x=True,
        shares_y="row",
        unified=True,
        pixels=150,
    )
    return {"kinds": list(kinds), "layout": figure.spec()["layout"]}


def _packed(line: Line, first: int) -> dict[str, Any]:
    values = np.array([np.nan if value is None else value for value in line.values])
    most = float(np.nanmax(values, initial=0.0)) or 1.0
    steps = np.where(np.isnan(values), 65535, np.rint(np.nan_to_num(values) / most * 65534)).astype("<u2")
    count = len(line.time_s)
    return {
        "name": line.label,
        "position": first + line.position,
        "from": line.time_s[0],
        "step": (line.time_s[-1] - line.time_s[0]) / max(1, count - 1),
        "most": most,
        "data": base64.b64encode(steps.tobytes()).decode("ascii"),
    }


def _words(name: str, values: Sequence[object]) -> dict[str, Any]:
    words = list(dict.fromkeys(str(value) for value in values))
    at = {word: place for place, word in enumerate(words)}
    return {"name": name, "words": words, "at": [at[str(value)] for value in values]}


def _in_turn(
    wanted: Sequence[tuple[int, Callable[[], Records]]], groups: Sequence[Group]
) -> list[tuple[int, Callable[[], Records]]]:
    """The first of each group, then the second ones, and so on, so that every group has some if room is short."""
    rank = {run: turn for group in groups for turn, run in enumerate(group.runs)}
    return sorted(wanted, key=lambda one: rank.get(one[0], len(rank)))
