"""The tables of docs/audit.md: known-answers/stacks.json with the departures of findings.toml."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULT = HERE.parents[1] / "known-answers" / "stacks.json"


def share(row: dict[str, Any]) -> str:
    """Explained ACKs of the decisive ones, per cent, rounded down: 100 stands for all."""
    return f"{int(1000 * row['decisive_explained'] / row['decisive']) / 10:.1f}" if row["decisive"] else "–"


def first(rows: list[dict[str, Any]]) -> str:
    """The first departure over the first path that has one."""
    row = next((one for one in rows if one["first"]), None)
    if row is None:
        return "none"
    departure = row["first"]
    return f"`{departure['kind']}`, {departure['time_ms'] / 1e3:.2f} s ({row['path']}); {departure['source']}"


def table() -> str:
    """The shares of all runs, the paths, and the confirmed departures."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    paths: dict[str, Any] = tomllib.loads((HERE / "runs.toml").read_text(encoding="utf-8"))["paths"]
    findings: list[dict[str, str]] = tomllib.loads((HERE / "findings.toml").read_text(encoding="utf-8"))["finding"]
    names = list(paths)
    lines = [
        f"`{result['command']}`, {result['machine']}, {result['date']}; explained ACKs, of the decisive ones, %:",
        "",
        f"| stack | algorithm | audited as | {' | '.join(names)} | first departure |",
        f"|---|---|---|{'---:|' * len(names)}---|",
    ]
    runs: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in result["rows"]:
        runs.setdefault((f"{row['stack']} {row['version']}", row["algorithm"], row["reference"]), []).append(row)
    for (stack, algorithm, reference), rows in runs.items():
        by_path = {row["path"]: row for row in rows}
        shares = " | ".join(share(by_path[name]) if name in by_path else "–" for name in names)
        lines.append(f"| {stack} | {algorithm} | `{reference}` | {shares} | {first(rows)} |")
    lines += ["", *(f"- **{name}**: {path['text']}; {path['megabytes']} MB." for name, path in paths.items())]
    lines += [
        "",
        "Departures that stand in the source; `patched`: the share of all ACKs before and after a change (2026-11-23):",
        "",
    ]
    lines += ["| stack | algorithm | the stack | the reference | source | patched |", "|---|---|---|---|---|---|"]
    columns = ("stack", "algorithm", "does", "standard", "source", "patched")
    lines += [f"| {' | '.join(one[name] for name in columns)} |" for one in findings]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
