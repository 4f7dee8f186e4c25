"""How the command line prints: tables for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from cwndlab.files import csv_cell, json_text

Row = Mapping[str, Any]


class Format(StrEnum):
    """What is printed on standard output."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


#: Control characters except tab and line feed, which a terminal would obey, and their Python escapes (ECMA-48).
_CONTROLS = {number: f"\\x{number:02x}" for number in (*range(9), *range(11, 32), *range(127, 160))}


def visible(text: str) -> str:
    """The text with control characters escaped: names come from files, and a terminal obeys escape sequences.

    >>> visible("a\\x1b[2J\\tb")
    'a\\\\x1b[2J\\tb'
    """
    return text.translate(_CONTROLS)


def say(text: str) -> None:
    """Prints a line for the user, not for a program, on standard error."""
    sys.stdout.flush()  # earlier output comes first
    print(visible(text), file=sys.stderr)  # noqa: T201


def say_seed(first: int, last: int | None = None) -> None:
    """Prints the seed, or the seeds from ``first`` to ``last``."""
    say(f"seed: {first}" if last in (None, first) else f"seeds: {first} to {last}")


def write(text: str) -> None:
    """Text on standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(value: object) -> None:
    """A value as JSON."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    write(json_text(value, indent=2, ensure_ascii=not is_unicode))


def write_csv(rows: Sequence[Row], columns: Sequence[str], *, header: bool = True) -> None:
    """Prints rows, below a header if ``header`` is set, and flushes; lists and tables within a cell are JSON."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if header:
        writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(row.get(column)) for column in columns])
    sys.stdout.flush()


def rounded(row: Row) -> Row:
    """A row with numbers of six significant digits, more than any interval resolves; JSON has all digits."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in row.items()}


def write_rows(rows: Sequence[Row], columns: Sequence[str], format: Format, *, wrap: Sequence[str] = ()) -> None:
    """One table in any format."""
    match format:
        case Format.json:
            write_json([{column: row.get(column) for column in columns} for row in rows])
        case Format.csv:
            write_csv(rows, columns)
        case Format.table:
            numbers = [column for column in columns if _are_numbers(row.get(column) for row in rows)]
            cells = [[text(row.get(column)) for column in columns] for row in rows]
            write_table(cells, columns, right=numbers, wrap=wrap)
        case Format.markdown | Format.latex:
            raise AssertionError("tables for papers are written by their commands")


def _are_numbers(values: Iterable[object]) -> bool:
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)


# Columns of a page if standard output is not a terminal.
_WIDTH = 120


def write_table(
    rows: Iterable[Sequence[object]], columns: Sequence[str], *, right: Sequence[str] = (), wrap: Sequence[str] = ()
) -> None:
    """Prints a table for people: columns in ``right`` are right-aligned, those in ``wrap`` wrap if room is short."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH
    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    for at, column in enumerate(columns):
        justify = "right" if column in right else "left"
        # A column that does not wrap is never cut, however narrow the terminal is.
        lines = [line for text in (column, *(row[at] for row in cells)) for line in text.split("\n")]
        width = None if column in wrap else max(map(cell_len, lines))
        table.add_column(column, justify=justify, no_wrap=column not in wrap, overflow="fold", min_width=width)  # type: ignore[arg-type]
    for row in cells:
        table.add_row(*row)
    # A long line is better than a truncated one.
    options = console.options.update(width=10_000)
    measured = Measurement.get(console, options, table)
    console.width = max(console.width, measured.minimum if wrap else measured.maximum)
    with console.capture() as page:
        console.print(table)
    for line in page.get().splitlines():
        write(line.rstrip())


def text(value: object) -> str:
    """A cell for people."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case list():
            return ", ".join(text(item) for item in value)
        case _:
            return str(value)


def span(seconds: float) -> str:
    """A time for people.

    >>> span(90), span(600), span(36000)
    ('90.0 s', '10 min', '10.0 h')
    """
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
