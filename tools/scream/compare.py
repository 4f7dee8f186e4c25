#!/usr/bin/env python3
"""Prints the figures of our `scream2` beside those of the authors' code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cwndlab.validation.references.media import MILLISECONDS, QUEUE, RATE, agreement, ours

CELLS = Path(__file__).resolve().parents[2] / "known-answers" / "scream" / "cells.json"
Figures = dict[str, Any]


def column(three: list[Figures], text: Callable[[Figures], str], value: Callable[[Figures], float]) -> str:
    """Ours, the build with the draft's rules with our deviation from it, the authors' build."""
    own, draft, code = three
    there = value(draft)
    apart = f" ({round(value(own) / there - 1, 2) + 0.0:+.0%})"
    return f"{text(own)}; {text(draft)}{apart}; {text(code)}"


def main() -> None:
    """Markdown: a row per cell and the number of cells that agree."""
    cells: list[Figures] = json.loads(CELLS.read_text(encoding="utf-8"))["cells"]
    lines = [
        "| cell | rate, Mbit/s | delay p95, ms | start, s | steps down, up, s |",
        "|---|---|---|---|---|",
    ]
    found = ours(cells)
    for cell, own in zip(cells, found, strict=True):
        three = [own, cell["draft"], cell["code"]]
        rate = column(
            three, lambda one: " + ".join(f"{flow:.2f}" for flow in one["mbps"]), lambda one: sum(one["mbps"])
        )
        delay = column(three, lambda one: f"{one['queue_ms']:.0f}", lambda one: one["queue_ms"])
        start = "; ".join(f"{one['start_s']:.1f}" for one in three)
        steps = "; ".join(f"{one['down_s']:.1f}, {one['up_s']:.1f}" for one in three if "up_s" in one) or "–"
        lines.append(f"| {cell['name']} | {rate} | {delay} | {start} | {steps} |")
    for variant, name in (("draft", "the draft's rules"), ("code", "the authors' simulator")):
        rates, delays = zip(
            *(agreement(own, cell[variant]) for cell, own in zip(cells, found, strict=True)), strict=True
        )
        lines += ["", f"Beside {name} {sum(rates)} of {len(cells)} rates are within {RATE:.0%},"]
        lines[-1] += f" and {sum(delays)} delays within {QUEUE:.0%} or {MILLISECONDS} ms."
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
