"""The table of the published dossiers, from the pages in docs/assessments/: findings against CUBIC by algorithm.

    python tools/dossiers.py

`cwndlab assess ALGORITHM --seeds 5 --out DIR` writes `DIR/dossier.md`, which is the page. Folders may be shared: the
runs of CUBIC and Reno in the place of the algorithm are those of every dossier.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "docs" / "assessments"
FINDINGS = ("better than CUBIC", "as CUBIC", "worse than CUBIC", "unresolved")
HEAD = (
    "| algorithm | cells | seeds | better than CUBIC | as | worse | unresolved | worse in rows of the RFC |\n"
    "|---|---:|---:|---:|---:|---:|---:|---|"
)


def _found(pattern: str, text: str, page: Path) -> re.Match[str]:
    if match := re.search(pattern, text, re.MULTILINE):
        return match
    raise SystemExit(f"{page}: no text matches {pattern}; is it the dossier.md of `cwndlab assess`?")


def row(page: Path) -> tuple[int, str]:
    """How often the algorithm of a page is worse than CUBIC, and its row."""
    text = page.read_text(encoding="utf-8")
    name = _found(r"^# (\S+) by the criteria of RFC 9743", text, page)[1]
    cells, seeds = _found(r"^([\d,]+) cells × (\d+) seeds", text, page).groups()
    counted = _found(r"^- .*(?:CUBIC|unresolved).*$", text, page)[0]
    counts = {}
    for finding in FINDINGS:
        match = re.search(rf"(\d+) {finding}", counted)
        counts[finding] = int(match[1]) if match else 0
    section, worse = "", []
    for line in _found(r"^## Findings\n(?:(?!^## ).*\n)*", text, page)[0].splitlines():
        columns = [column.strip() for column in line.strip("|").split("|")]
        if not line.startswith("| ") or len(columns) < 5:
            continue
        section = columns[0] or section
        if columns[3] == "worse than CUBIC" and section not in worse:
            worse.append(section)
    shown = [*counts.values()]
    where = ", with kernels" if "Emulated:" in text else ""
    link = f"[`{name}`](assessments/{page.name}){where}"
    numbers = " | ".join(str(count) for count in shown)
    return counts["worse than CUBIC"], f"| {link} | {cells} | {seeds} | {numbers} | {', '.join(worse)} |"


def table() -> str:
    """The table, the algorithm that is worse in the fewest measures first."""
    rows = sorted(row(page) for page in PAGES.glob("*.md"))
    return "\n".join([HEAD, *(text for _, text in rows)])


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
