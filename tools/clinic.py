"""The picture and the table of docs/howto-clinic.md: service levels of a clinic behind several queues."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cwndlab.study.result import Result

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "clinic.svg"
COMPARISON = "examples/clinic-remedies.toml"


def markdown() -> str:
    """Runs the comparison, draws its picture, and returns the picture with a table: for each class and queue the share
    of messages in time and the 99th percentile of their delay, under CUBIC."""
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/clinic"
        command = [sys.executable, "-m", "cwndlab", "compare", COMPARISON, "--out", place, "--format", "json"]
        subprocess.run(command, capture_output=True, check=True, cwd=ROOT)
        result = Result.read(place)
    result.plot("levels").save(PICTURE)
    rows = [row for row in result.levels().to_dicts() if row["algorithm"] == "cubic"]
    queues = list(dict.fromkeys(row["@queue"] for row in rows))
    by_class: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_class.setdefault(row["class"], {})[row["@queue"]] = row
    alt = f"Runs that missed the service level of each class, for {len(queues)} queues and five algorithms"
    lines = [f"![{alt}](pictures/{PICTURE.name})", ""]
    lines += [f"| class | deadline | {' | '.join(queues)} |", "|---" * (2 + len(queues)) + "|"]
    for name, cells in by_class.items():
        deadline = next(iter(cells.values()))["deadline_s"]
        lines.append(f"| {name} | {deadline:g} s | {' | '.join(_cell(cells[queue]) for queue in queues)} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any]) -> str:
    share, delay = row["in_time"], row["p99_delay_s"]
    late = "–" if delay is None else f"{delay:.3g} s"
    return f"{100 * share:.4g} %, {late}; {row['verdict']}"
