#!/usr/bin/env python3
"""Prints how far our cells of 802.11 are from ns-3's, by family, and the cells that are outside of the limits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

from cwndlab.validation.references.radio import deviations

CELLS = Path(__file__).resolve().parents[2] / "known-answers" / "ns3-radio" / "cells.json"
FAMILIES = {
    "hidden": "hidden stations",
    "exposed": "exposed stations, cells at a border",
    "aggregates": "A-MPDU: contention, errors, hidden stations",
    "rates": "rate adaptation: ideal, Minstrel-HT",
    "ax": "802.11ax: modes, guard intervals, widths, hidden stations",
    "edca": "EDCA: access categories",
}


def main() -> None:
    """Markdown: a row per family, a line per cell outside of the limits."""
    found = deviations(json.loads(CELLS.read_text(encoding="utf-8"))["cells"])
    lines = [
        "| cells | agree | deviation of the sum, median, largest | of a share, median, largest |",
        "|---|--:|--:|--:|",
    ]
    for family, title in FAMILIES.items():
        own = [one for one in found if one.family == family]
        sums = sorted(abs(one.throughput) for one in own)
        shares = sorted(one.share for one in own)
        agree = sum(one.agrees for one in own)
        numbers = f"{median(sums):.1%}, {sums[-1]:.1%} | {median(shares):.3f}, {shares[-1]:.3f}"
        lines.append(f"| {title} | {agree} of {len(own)} | {numbers} |")
    lines.append("")
    for one in found:
        if not one.agrees:
            theirs, ours = (", ".join(f"{rate:.1f}" for rate in rates) for rates in (one.ns3_mbps, one.our_mbps))
            lines.append(f"- {one.name}: ns-3 {theirs} Mbit/s, here {ours}.")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
