"""A table of strings, and its output formats: text, HTML, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

from cwndlab.errors import ArgumentError, Parameter, unknown_name
from cwndlab.files import csv_cell
from cwndlab.scenario.html import html_table

__all__ = ["FORMS", "Table", "notebook"]

#: The output formats of a table.
FORMS = ("text", "html", "markdown", "latex", "csv")
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--"}
_LATEX |= {letter: "\\" + letter for letter in "&%$#_{}"} | {
    "−": "$-$",
    "…": r"\dots{}",
    "µ": r"\textmu{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
}


@dataclass(frozen=True)
class Table:
    """A table for people.

    Parameters
    ----------
    caption
        What the rows are.
    header
        The titles of the columns; the second line of a title is its unit.
    rows
        The cells.
    labels
        The number of first columns with words, which are left-aligned; the others are numbers, and right-aligned.
    values
        The same rows for programs, with numbers in place of strings; for CSV, which leaves out tables within them.
    words
        The titles of further columns that are words.

    Examples
    --------
    >>> table = Table("means", ["algorithm", "goodput\\nMbit/s"], [["reno", "4.7 ± 0.2"]], 1, [{"goodput_bps": 4.7e6}])
    >>> print(table)
                 goodput
    algorithm     Mbit/s
    reno       4.7 ± 0.2
    >>> print(table.to("markdown"))
    | algorithm | goodput, Mbit/s |
    |:--|--:|
    | reno | 4.7 ± 0.2 |
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    labels: int = 1
    values: Sequence[dict[str, Any]] = ()
    words: Collection[str] = ("verdict",)

    def to(self, form: str) -> str:
        """The table as ``"text"``, ``"html"``, ``"markdown"``, ``"latex"`` (booktabs) or ``"csv"``.

        Raises
        ------
        ArgumentError
            There is no such form.
        """
        if form not in FORMS:
            raise ArgumentError(unknown_name(Parameter("form"), "form", form, FORMS))
        made: str = getattr(self, f"_{form}")()
        return made

    def __str__(self) -> str:
        return self._text()

    def _repr_html_(self) -> str:
        return self._html()

    def is_text(self, at: int) -> bool:
        """Whether a column has words: a label, or one of ``words``."""
        return at < self.labels or self.header[at] in self.words

    @property
    def titles(self) -> list[str]:
        """The titles of the columns in one line each."""
        return [title.replace("\n", ", ") for title in self.header]

    def _cells(self) -> list[list[str]]:
        return [[str(cell) for cell in row] for row in self.rows]

    def _text(self) -> str:
        heads = [title.split("\n") for title in self.header]
        height = max(map(len, heads), default=0)
        lines = [[([""] * height + one)[at - height] for one in heads] for at in range(height)] + self._cells()
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.header))]
        made = []
        for line in lines:
            cells = [
                text.ljust(width) if self.is_text(at) else text.rjust(width)
                for at, (text, width) in enumerate(zip(line, widths, strict=True))
            ]
            made.append("  ".join(cells).rstrip())
        return "\n".join(made)

    def _html(self) -> str:
        return html_table(self.caption, self.titles, self._cells(), labels=self.labels)

    def _markdown(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

        rule = "|" + "|".join(":--" if self.is_text(at) else "--:" for at in range(len(self.header))) + "|"
        return "\n".join([line(self.titles), rule, *map(line, self._cells())])

    def _latex(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return " & ".join("".join(_LATEX.get(letter, letter) for letter in cell) for cell in cells) + r" \\"

        heads = [[*title.split("\n"), ""][:2] for title in self.header]
        units = [line([unit for _, unit in heads])] if any(unit for _, unit in heads) else []
        columns = "".join("l" if self.is_text(at) else "r" for at in range(len(self.header)))
        top = [
            *([f"% {self.caption}"] if self.caption else []),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line([title for title, _ in heads]),
            *units,
            r"\midrule",
        ]
        return "\n".join([*top, *map(line, self._cells()), r"\bottomrule", r"\end{tabular}"])

    def _csv(self) -> str:
        text = StringIO()
        first = self.values[0] if self.values else dict.fromkeys(self.titles)
        names = [name for name, value in first.items() if not isinstance(value, dict)]
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        if self.values:
            writer.writerows([_rounded(row.get(name)) for name in names] for row in self.values)
        else:
            writer.writerows(self._cells())
        return text.getvalue().rstrip("\n")


def notebook(table: Table, lines: Sequence[str]) -> str:
    """The HTML that a notebook shows for a result: its findings, then its table."""
    return "".join(f"<p>{escape(line).replace(chr(10), '<br>')}</p>" for line in lines) + table.to("html")


def _rounded(value: Any) -> Any:
    """A value with six significant digits: more than any interval resolves."""
    return float(f"{value:.6g}") if isinstance(value, float) else csv_cell(value)
