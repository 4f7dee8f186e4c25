#!/usr/bin/env python3
"""Tabulates examples/media-coexistence.toml: what a call gets beside a TCP flow, by control, queue and algorithm.

`python tools/media_coexistence.py` is a generated block of docs/matrix.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from cwndlab.study.result import Result

ROOT = Path(__file__).resolve().parents[1]


def _compared() -> Result:
    """The comparison, run anew."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cwndlab", "compare", "examples/media-coexistence.toml", "--by", "control"]
        subprocess.run([*command, "--out", f"{folder}/result"], capture_output=True, check=True, cwd=ROOT)
        return Result.read(f"{folder}/result")


def table(runs: pl.DataFrame) -> list[str]:
    """A row per queue and algorithm of the other flow, a cell per control: share of the call, delay of its packets."""
    controls = list(dict.fromkeys(runs["@control"]))
    lines = [f"| queue | other flow | {' | '.join(controls)} |", f"|---|---|{'---|' * len(controls)}"]
    for queue in dict.fromkeys(runs["@queue"]):
        for other in dict.fromkeys(runs["@other"]):
            cells = []
            for control in controls:
                of_both = (pl.col("@queue") == queue) & (pl.col("@other") == other)
                rows = runs.filter(of_both & (pl.col("@control") == control))
                share, delay = (rows[name].to_numpy().mean() for name in ("share@call", "p95_one_way_delay_ms@call"))
                cells.append(f"{100 * share:.0f} %, {delay:.0f} ms")
            lines.append(f"| {queue} | `{other}` | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(table(_compared().runs)) + "\n")
