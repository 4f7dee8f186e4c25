#!/usr/bin/env python3
"""Prints the outcomes of a suite for several algorithms: a row per case and path, a column per algorithm.

`python tools/suite_outcomes.py rfc9331` is a generated table of docs/suites.md, and so is that of rfc8867.
"""

from __future__ import annotations

import sys

import cwndlab
from cwndlab.suites import Outcome, Verdict

ALGORITHMS = {
    "rfc9331": ("prague", "prague(fallback=on)", "dctcp", "cubic", "scream2"),
    "rfc8867": ("scream2", "gcc", "nada"),
}
#: Suites with too many statements for a table: of these the number that do not hold.
COUNTED = ("rfc8867",)


def _cell(outcome: Outcome, *, counted: bool) -> str:
    """The verdict, with what was seen of the statements that do not hold, or their number."""
    if outcome.verdict is not Verdict.FAILED:
        return {Verdict.PASSED: "passed", Verdict.NOT_APPLICABLE: "–"}.get(outcome.verdict, str(outcome.verdict))
    if counted:
        return f"**failed**: {len(outcome.failures)} of {len(outcome.statements)}"
    return "**failed**: " + "; ".join(f"{one.text} {one.got} (expected {one.expected})" for one in outcome.failures)


def main(name: str) -> None:
    """Markdown."""
    results = [cwndlab.suites.run(name, algorithm) for algorithm in ALGORITHMS[name]]
    lines = [
        f"| case, path | {' | '.join(f'`{one.algorithm}`' for one in results)} |",
        f"|---|{'---|' * len(results)}",
    ]
    for outcomes in zip(*(one.outcomes for one in results), strict=True):
        first = outcomes[0]
        cells = " | ".join(_cell(one, counted=name in COUNTED) for one in outcomes)
        lines.append(f"| `{first.case.name}`, {first.path.name} | {cells} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
