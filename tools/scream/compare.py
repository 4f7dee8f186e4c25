#!/usr/bin/env python3
"""Prints the figures of our `scream2` beside those of the authors' code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cwndlab.validation.references.media import ours

CELLS = Path(__file__).resolve().parents[2] / "known-answers" / "scream" / "cells.json"


def main() -> None:
    """Markdown: a row per cell; in each column ours, the draft's constants, the authors' constants."""
    cells: list[dict[str, Any]] = json.loads(CELLS.read_text(encoding="utf-8"))["cells"]
    lines = [
        "| cell | rate, Mbit/s | queue p95, ms | missing, % | marked, % | start, s | reactions, s |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for cell, own in zip(cells, ours(cells), strict=True):
        three = [own, cell["draft"], cell["code"]]
        columns = [
            [" + ".join(f"{rate:.2f}" for rate in one["mbps"]) for one in three],
            [f"{one['queue_ms']:.0f}" for one in three],
            [f"{one['missing']:.1%}"[:-1] for one in three],
            [f"{one['marked']:.1%}"[:-1] for one in three],
            [f"{one['start_s']:.1f}" for one in three],
            [f"{one['down_s']:.1f} / {one['up_s']:.1f}" if "up_s" in one else "" for one in three],
        ]
        texts = [", ".join(one) if any(one) else "–" for one in columns]
        lines.append(f"| {cell['name']} | " + " | ".join(texts) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
