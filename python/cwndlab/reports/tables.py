"""Tables of a page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cwndlab.metrics import COLUMNS
from cwndlab.metrics.summary import FLOW_COLUMNS
from cwndlab.statistics.digits import number

if TYPE_CHECKING:
    import polars as pl

# Columns of words.
_TEXTS = ("metric", "algorithm", "link", "part", "effect of", "verdict", "minus", "sender", "begins")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of a page; columns of words, and what a verdict says, are marked."""
    said = {
        "higher": "told",
        "lower": "told",
        "no difference": "untold",
        "no relevant difference": "untold",
        "inconclusive": "untold",
        "undecided after Holm": "untold",
    }

    def row(tag: str, cells: Sequence[str]) -> str:
        marks = [
            "text" if name in _TEXTS else said.get(cell.partition(",")[0], "")
            for name, cell in zip(header, cells, strict=True)
        ]
        texts = (
            f'<{tag} class="{mark}">{html.escape(cell)}</{tag}>' if mark else f"<{tag}>{html.escape(cell)}</{tag}>"
            for mark, cell in zip(marks, cells, strict=True)
        )
        return f"<tr>{''.join(texts)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><thead>{row('th', header)}</thead><tbody>{body}</tbody></table>"


def frame_table(frame: pl.DataFrame) -> str:
    """A table of metrics, in the units in which they are shown; columns without any value are left out."""
    names = [name for name in frame.columns if frame[name].null_count() < len(frame)]
    columns = COLUMNS | FLOW_COLUMNS
    header = [
        f"{columns[name].title}\n{columns[name].unit}" if name in columns else name.replace("_", " ") for name in names
    ]
    rows = []
    for row in frame.select(names).iter_rows():
        cells = []
        for name, value in zip(names, row, strict=True):
            factor = columns[name].factor if name in columns else 1.0
            cells.append("–" if value is None else value if isinstance(value, str) else _number(value, factor))
        rows.append(cells)
    return table(header, rows)


def _number(value: float, factor: float) -> str:
    return str(value) if isinstance(value, int) and factor == 1.0 else number(value * factor)
