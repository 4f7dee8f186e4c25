"""Pictures and tables of docs/bbr-questions.md: paired differences in each cell of a comparison in `examples`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pictures
from cwndlab.statistics import Estimate
from cwndlab.statistics.digits import interval, mean_with_interval
from cwndlab.study.result import Result
from cwndlab.study.tables import column

ROOT = Path(__file__).parents[1]
Row = dict[str, Any]
#: Rows by cell, metric and alternative.
Cells = Mapping[str, Mapping[str, Mapping[str, Row]]]


def markdown(question: str, by: str, alt: str, metrics: Sequence[str]) -> str:
    """Runs a comparison, draws the differences of the first metric, and returns the picture with a table per metric.

    Parameters
    ----------
    question
        The file in `examples`, without `bbr-` and the suffix.
    by
        The axis whose alternatives are compared with the first one.
    alt
        What the picture shows.
    metrics
        The metrics of the tables.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/result"
        command = [sys.executable, "-m", "cwndlab", "compare", f"examples/bbr-{question}.toml", "--by", by]
        subprocess.run([*command, "--out", place, "--format", "json"], capture_output=True, check=True, cwd=ROOT)
        result = Result.read(place)
        means, differences = (_by_cell(rows.to_dicts(), f"@{by}") for rows in (result.summary(), result.differences()))
    picture = f"bbr-{question}.svg"
    shown = {cell: rows[metrics[0]] for cell, rows in differences.items()}
    pictures.forest(shown, column(metrics[0]), ROOT / "docs" / "pictures" / picture)
    base = next(iter(next(iter(means.values()))[metrics[0]]))
    tables = (_table(means, differences, metric, base) for metric in metrics)
    return "\n\n".join([f"![{alt}](pictures/{picture})", *tables])


def _by_cell(rows: Sequence[Row], compared: str) -> dict[str, dict[str, dict[str, Row]]]:
    cells: dict[str, dict[str, dict[str, Row]]] = {}
    for row in rows:
        # A field that is a table changes together with an axis that has a name.
        axes = [name for name in row if (name.startswith("@") or "." in name) and name != compared]
        named = [str(row[name]) for name in axes if not str(row[name]).startswith(("[", "{"))]
        cells.setdefault(", ".join(named), {}).setdefault(row["metric"], {})[row[compared]] = row
    return cells


def _table(means: Cells, differences: Cells, metric: str, base: str) -> str:
    """The mean of the first alternative in each cell, and the differences of the others from it."""
    others = list(next(iter(differences.values()))[metric])
    lines = [f"| {column(metric).heading} | {base} | {' | '.join(f'{other} − {base}' for other in others)} |"]
    lines.append("|---|---:|" + "---:|" * len(others))
    for cell, metrics in differences.items():
        row = means[cell][metric][base]
        mean = mean_with_interval(_estimate(row, row["mean"], row["n"]), column(metric).factor)
        cells = (_difference(metrics[metric][other], metric) for other in others)
        lines.append(f"| {cell} | {mean} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _estimate(row: Row, mean: float, n: int) -> Estimate:
    return Estimate(mean, row["low"], row["high"], n, row["low"] is None and n > 1)


def _difference(row: Row, metric: str) -> str:
    """A difference with its interval; bold if its verdict is a difference."""
    mean, low, high = interval(_estimate(row, row["difference"], row["pairs"]), column(metric).factor)
    text = f"{mean} ({low} … {high})" if low else mean
    return f"**{text}**" if row["verdict"].startswith(("higher", "lower")) else text
