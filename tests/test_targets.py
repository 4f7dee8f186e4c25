"""Targets of the benchmarks: tables of the documentation say where a measurement misses one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benches"))
from targets import MISSED, cell  # noqa: E402 (a module of benches/)

#: The column that a target is for, by the headers of tables with targets: the first of these that there is.
MEASURED = (
    "ratio to one flow",
    "resident bytes, with its plan and four links",
    "bytes of state per active flow of 0.2 Mbit/s, with its packets in flight",
    "ns_per_ack",
    "ratio",
    "measured",
)
PAGES = ("performance.md", "playground.md")


def targets(page: str) -> Iterator[tuple[str, float, str]]:
    """Row, measured value and cell of each target in the tables of a page."""
    header: list[str] = []
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        cells = [one.strip() for one in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif "target" in header and not set(line) <= set("|-: "):
            row = dict(zip(header, cells, strict=True))
            value = next(row[name] for name in MEASURED if row.get(name))
            if re.match(r"[≥≤<]|[0-9.]+ to", row["target"]):
                yield line, float(value.replace(",", "")), row["target"]


@pytest.mark.parametrize("page", PAGES)
def test_a_missed_target_is_marked(page: str) -> None:
    found = list(targets(page))
    assert len(found) >= 5
    wrong = [line for line, value, target in found if cell(target.removesuffix(MISSED), value) != target]
    assert wrong == []


def test_a_target_is_missed_on_its_other_side() -> None:
    cells = [cell("≥ 9", 9.0), cell("≥ 9", 8.9), cell("≤ 3", 3.0), cell("≤ 3", 3.01), cell("< 1", 1.0), cell("–", 5.0)]
    assert cells == ["≥ 9", "≥ 9 (missed)", "≤ 3", "≤ 3 (missed)", "< 1 (missed)", "–"]
    assert [cell("0.8 to 1.2", value) for value in (0.79, 0.8, 1.2)] == [
        "0.8 to 1.2 (missed)",
        "0.8 to 1.2",
        "0.8 to 1.2",
    ]
