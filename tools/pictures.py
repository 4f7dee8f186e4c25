"""Draws the pictures of README.md and docs/ that show a comparison; tools/refresh_docs.py calls it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cwndlab.files import atomic_write
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.core import Metric
from cwndlab.plot.palette import colour
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

mpl.rcParams["svg.hashsalt"] = "cwndlab"  # equal figures give equal files


def compared(command: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """The summary of a comparison, printed as JSON by this command: by algorithm and metric."""
    printed = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=True).stdout
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for row in json.loads(printed)["summary"]:
        table.setdefault(row["algorithm"], {})[row["metric"]] = row
    return table


def _scaled(row: dict[str, Any], factor: float) -> tuple[float, list[list[float]]]:
    """The mean in the unit of its column, and the distances of the interval's ends from it."""
    mean, low, high = (row[name] * factor for name in ("mean", "low", "high"))
    return mean, [[mean - low], [high - mean]]


def trade_off(table: dict[str, dict[str, dict[str, Any]]], across: str, up: str, file: Path) -> None:
    """A point for each algorithm with its 95 % intervals: one metric over another one, which has a logarithmic axis."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    order = sorted(table, key=lambda algorithm: table[algorithm][across]["mean"])
    for number, (algorithm, metrics) in enumerate(table.items()):
        x, y = (_scaled(metrics[name], COLUMNS[name].factor) for name in (across, up))
        axes.errorbar(x[0], y[0], xerr=x[1], yerr=y[1], fmt="o", color=colour(number), capsize=2)
        # Neighbours have their names on different sides.
        side, down, align = (7, 5, "left") if order.index(algorithm) % 2 == 0 else (-7, -14, "right")
        axes.annotate(algorithm, (x[0], y[0]), xytext=(side, down), textcoords="offset points", ha=align, fontsize=10)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")
    axes.margins(x=0.18, y=0.14)
    for axis, name in ((axes.xaxis, across), (axes.yaxis, up)):
        axis.set_label_text(COLUMNS[name].heading)
    axes.grid(alpha=0.3)
    file.parent.mkdir(exist_ok=True)
    with atomic_write(file) as part:
        figure.savefig(part, format="svg", metadata={"Date": None})


def forest(cells: dict[str, dict[str, dict[str, Any]]], metric: Metric, file: Path) -> None:
    """Paired differences of a metric with their 95 % intervals: a line for each cell, a colour for each alternative."""
    alternatives = list(next(iter(cells.values())))
    height = 0.22 * len(alternatives) + 0.1
    figure = Figure(figsize=(6.4, 0.9 + height * len(cells)), layout="constrained")
    axes = figure.add_subplot()
    for number, alternative in enumerate(alternatives):
        rows = [cell[alternative] for cell in cells.values()]
        middle = [row["difference"] * metric.factor for row in rows]
        ends = ([row[end] if row[end] is not None else row["difference"] for row in rows] for end in ("low", "high"))
        error = [[abs(end * metric.factor - mean) for end, mean in zip(side, middle, strict=True)] for side in ends]
        shift = (number - (len(alternatives) - 1) / 2) * 0.22 / height
        at = [-place - shift for place in range(len(cells))]
        ink = colour(number + 1)
        axes.errorbar(middle, at, xerr=error, fmt="o", color=ink, capsize=2, markersize=4, label=alternative)
    axes.axvline(0.0, color="grey", linewidth=0.8)
    axes.set_yticks([-place for place in range(len(cells))], list(cells))
    axes.set_xlabel(f"difference of {metric.heading}")
    axes.grid(alpha=0.3, axis="x")
    figure.legend(loc="outside upper center", ncols=len(alternatives), frameon=False)
    with atomic_write(file) as part:
        figure.savefig(part, format="svg", metadata={"Date": None})
