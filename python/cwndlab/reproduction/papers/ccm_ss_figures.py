"""Charts, tables and explanations of the CCM-SS paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any, TypeAlias

from cwndlab.metrics.fill import FULL as BUSY
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Table
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.verdicts import ratio

#: The readings of the paper's file.
Readings: TypeAlias = "Sequence[Mapping[str, Any]]"


def _run(measured: Measured, readings: Readings) -> Readings:
    """The readings that were run."""
    names = measured.points("reading")
    return [reading for reading in readings if reading["name"] in names]


def _sides(reading: Mapping[str, Any]) -> list[dict[str, str]]:
    """Labels of CCM-SS, and of the baseline."""
    return [{"reading": reading["name"], "module": module} for module in reading["sides"]]


def losses(measured: Measured, name: str, readings: Readings) -> list[Chart]:
    """Drops over time, the mean of all cells."""
    curves = []
    for reading in _run(measured, readings):
        for side in _sides(reading):
            lines = [
                line
                for line in measured.lines
                if line.name == "drops_per_s" and all(line.labels[key] == value for key, value in side.items())
            ]
            means = [
                fmean(value or 0.0 for value in values) for values in zip(*(line.y for line in lines), strict=True)
            ]
            curves.append(Curve(side["module"], list(lines[0].x), means, panel=reading["panel"]))
    note = "".join(
        f"In the panel '{first.panel}' both lines are the same. "
        for first, second in pairwise(curves)
        if first.panel == second.panel and first.y == second.y
    )
    return [Chart(name, "Packet loss rate over time", "time, s", "drops, 1/s", curves, note=note.strip())]


def windows(measured: Measured, sides: Mapping[str, str]) -> list[Chart]:
    """The windows of both flows, as in the figure: a panel for each side, with its letter."""
    buffers = measured.points("buffer_bdp")
    buffer = buffers[len(buffers) // 2]
    curves = []
    for module, letter in sides.items():
        for flow in (1, 2):
            line = measured.line(f"cwnd_{flow}", reading="both bounds", module=module, buffer_bdp=buffer)
            panel = f"({letter}) {module}"
            curves.append(Curve(f"flow {flow}", list(line.x), list(line.y), panel=panel))
    title = f"Windows of two flows, {buffer} BDP of buffer, first repetition"
    return [Chart("fig14", title, "time, s", "cwnd, segments", curves)]


def converged(measured: Measured, readings: Readings) -> list[Table]:
    """How many runs converged, and when; fairness."""
    rows: list[Sequence[str | float | None]] = []
    for reading in _run(measured, readings):
        for side in _sides(reading):
            near, fair = (measured.estimate(metric, **side) for metric in ("convergence_or_end_s", "jain_together"))
            count = sum(1 for _ in measured.rows_of(side))
            reached = int(measured.total("converged", **side))
            rows.append(
                [
                    f"{reading['name']}: {side['module']}",
                    f"{reached} of {count}",
                    near.mean if near.n else None,
                    near.low,
                    near.high,
                    fair.mean,
                    fair.low,
                    fair.high,
                ]
            )
    header = ("module", "converged", "after, or until the end, s", "low", "high", "Jain index", "low", "high")
    return [Table("Convergence and fairness", header, rows)]


def over_others(measured: Measured, others: Mapping[str, str], quantities: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """CUBIC with CCM-SS over each of the others, by quantity."""
    mine, names = "CUBIC with CCM-SS", list(others)
    curves = []
    for quantity in quantities:
        title, term = quantity["name"], quantity["term"]
        found = [
            ratio(
                measured.pairs(term["metric"], {"variant": mine, **term["where"]}, {"variant": other, **term["where"]})
            )
            for other in names
        ]
        curves.append(Curve.of("measured", names, found, panel=title))
        curves.append(Curve("published", names, [quantity["better"]] * len(names), panel=title, published=True))
    title = f"{mine} over each of the others"
    return [Chart("claim18", title, "competitor", "ratio", curves, kind="bars", shared_y=False)]


def never_full(measured: Measured) -> list[str]:
    """Slow starts with runs that never fill the line."""
    sentences = []
    for name in measured.points("module"):
        rows = list(measured.rows_of({"module": name}))
        never = sum(row.values["time_to_full_utilisation_s"] is None for row in rows)
        if never:
            sentences.append(
                f"{name} does not keep the line {BUSY:.0%} busy for a sampling interval in {never} of {len(rows)} runs."
            )
    return sentences


def exits_in_band(measured: Measured, name: str, base: str, algorithm: str) -> list[str]:
    """How often μ could matter: counted on the side with μ = 1, since CCM-SS' own lower bound is 0.3."""
    side = {"reading": name, "module": base}
    exits, inside = (int(measured.total(metric, **side)) for metric in ("exits", "exits_in_band"))
    return [
        f"{name}: {inside} of {exits} slow-start exits of {algorithm} lay between 0.2 and 0.3 of B·D, the only place "
        "where μ = 1.5 decides otherwise than μ = 1; the paper counts none."
    ]
