"""Pictures and tables of the how-tos of presets: the service levels of a comparison in `examples`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cwndlab.study.result import Result

ROOT = Path(__file__).parents[1]


def markdown(comparison: str, picture: str, alt: str, axes: Sequence[str], algorithm: str | None = None) -> str:
    """Runs a comparison, draws its picture, and returns the picture with a table: for each class and alternative the
    share of messages in time, the 99th percentile of their delay, and the verdict.

    Parameters
    ----------
    comparison
        Its file in `examples`, without the suffix.
    picture
        The file in `docs/pictures`.
    alt
        What the picture shows.
    axes
        The axes whose alternatives are the columns of the table.
    algorithm
        The algorithm of the table, where the comparison has several.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/result"
        command = [sys.executable, "-m", "cwndlab", "compare", f"examples/{comparison}.toml", "--by", axes[-1]]
        subprocess.run([*command, "--out", place, "--format", "json"], capture_output=True, check=True, cwd=ROOT)
        result = Result.read(place)
    result.plot("levels").save(ROOT / "docs" / "pictures" / picture)
    by_class: dict[str, dict[str, dict[str, Any]]] = {}
    for row in result.levels().to_dicts():
        if algorithm in (None, row.get("algorithm")):
            by_class.setdefault(row["class"], {})[", ".join(row[f"@{axis}"] for axis in axes)] = row
    columns = list(dict.fromkeys(column for cells in by_class.values() for column in cells))
    lines = [f"![{alt}](pictures/{picture})", ""]
    lines += [f"| class | deadline | {' | '.join(columns)} |", "|---" * (2 + len(columns)) + "|"]
    for name, cells in by_class.items():
        deadline = next(iter(cells.values()))["deadline_s"]
        lines.append(f"| {name} | {deadline:g} s | {' | '.join(_cell(cells[column]) for column in columns)} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any]) -> str:
    share, delay = row["in_time"], row["p99_delay_s"]
    late = "–" if delay is None else f"{delay:.3g} s"
    return f"{100 * share:.4g} %, {late}; {row['verdict']}"
