"""Tables of a page: cells of text, numbers and links, which templates draw and a page's script sorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cwndlab.metrics import COLUMNS
from cwndlab.metrics.summary import FLOW_COLUMNS
from cwndlab.statistics import Verdict
from cwndlab.statistics.digits import number
from cwndlab.study.rendering import Table as Presented

if TYPE_CHECKING:
    import polars as pl

# Columns of text.
_TEXTS = (
    *("metric", "algorithm", "link", "part", "effect of", "verdict", "minus", "sender", "begins", "name", "route"),
    *("method", "address", "ssid", "band", "note", "server"),
)


@dataclass(frozen=True)
class Cell:
    """A cell: lines of text, each a link if it has an address; ``small`` follows them in small letters."""

    lines: Sequence[tuple[str, str]]
    kind: str = ""
    small: str = ""


@dataclass(frozen=True)
class Table:
    """A table: caption, titles of columns with their classes, rows of cells, and rows that stay at the bottom."""

    caption: str
    header: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Cell]]
    foot: Sequence[Sequence[Cell]] = field(default=())


def cell(text: str, kind: str = "", href: str = "") -> Cell:
    """A cell of one line."""
    return Cell(((text, href),), kind)


def _verdict_class(text: str | Verdict) -> str:
    if not isinstance(text, Verdict):
        return ""
    return "shown" if text.is_difference else "quiet"


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str | Verdict]],
    *,
    opens: Sequence[str] = (),
    foot: int = 0,
) -> Table:
    """A table of strings; the titles identify columns of text; arguments as in `presented`."""
    words = [name for name in header if name in _TEXTS or name.startswith("minus ")]
    return presented(Presented(caption, header, rows, 0, words=words), opens=opens, foot=foot)


def presented(one: Presented, *, opens: Sequence[str] = (), foot: int = 0) -> Table:
    """A table of a result for a page, with columns of text and verdicts marked.

    Parameters
    ----------
    opens
        An address for the first cell of each row.
    foot
        The number of last rows that stay at the bottom when sorted, such as means.
    """
    kinds = ["text" if one.is_text(at) else "" for at in range(len(one.header))]
    rows = []
    for at, row in enumerate(one.rows):
        places = [opens[at] if at < len(opens) and place == 0 else "" for place in range(len(row))]
        marked = zip(row, kinds, places, strict=True)
        rows.append([cell(str(word), f"{kind} {_verdict_class(word)}".strip(), place) for word, kind, place in marked])
    end = len(rows) - foot
    return Table(one.caption, list(zip(one.header, kinds, strict=True)), rows[:end], rows[end:])


def frame_table(caption: str, frame: pl.DataFrame) -> Table:
    """A table of metrics, in the units in which they are shown; columns without any value are left out."""
    names = [name for name in frame.columns if frame[name].null_count() < len(frame)]
    columns = COLUMNS | FLOW_COLUMNS
    header = [
        f"{columns[name].title}\n{columns[name].unit}".strip() if name in columns else name.replace("_", " ")
        for name in names
    ]
    rows = []
    for row in frame.select(names).iter_rows():
        cells = []
        for name, value in zip(names, row, strict=True):
            factor = columns[name].factor if name in columns else 1.0
            cells.append("–" if value is None else value if isinstance(value, str) else _number(value, factor))
        rows.append(cells)
    return table(caption, header, rows)


def _number(value: float, factor: float) -> str:
    return str(value) if isinstance(value, int) and factor == 1.0 else number(value * factor)
