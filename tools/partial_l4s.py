#!/usr/bin/env python3
"""Draws and tabulates examples/partial-l4s.toml: what a user gains by Prague, and the other one loses, by queue.

`python tools/partial_l4s.py` is the generated block of docs/howto-l4s.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from cwndlab.study.result import Result

ROOT = Path(__file__).resolve().parents[1]
PICTURE = "partial-l4s.svg"
METRICS = ("share@user", "mean_rtt_ms@user", "mean_rtt_ms@other")


def _compared() -> Result:
    """The comparison, run anew."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cwndlab", "compare", "examples/partial-l4s.toml", "--by", "sender"]
        subprocess.run([*command, "--out", f"{folder}/result"], capture_output=True, check=True, cwd=ROOT)
        return Result.read(f"{folder}/result")


def table(runs: pl.DataFrame) -> list[str]:
    """A row per queue, a cell per sender: the user's share of both goodputs, and what both wait, ms."""
    base_ms = 25.0
    senders = list(dict.fromkeys(runs["@sender"]))
    lines = [f"| queue | {' | '.join(senders)} |", f"|---|{'---|' * len(senders)}"]
    for queue in dict.fromkeys(runs["@queue"]):
        cells = []
        for sender in senders:
            rows = runs.filter((pl.col("@queue") == queue) & (pl.col("@sender") == sender))
            share, *rtts = (
                sum(rows[name]) / len(rows) for name in ("share@user", "mean_rtt_ms@user", "mean_rtt_ms@other")
            )
            waits = " and ".join(f"{rtt - base_ms:.1f}" for rtt in rtts)
            cells.append(f"{100 * share:.0f} %, {waits} ms")
        lines.append(f"| {queue} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Markdown."""
    result = _compared()
    result.plot("share@user", x="@queue", by="@sender", kind="bars").save(ROOT / "docs" / "pictures" / PICTURE)
    alt = "Share of a user with CUBIC, Prague and Prague with its detection beside CUBIC, for seven queues"
    sys.stdout.write("\n".join([f"![{alt}](pictures/{PICTURE})", "", *table(result.runs)]) + "\n")


if __name__ == "__main__":
    main()
