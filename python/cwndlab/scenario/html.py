"""Tables of notebooks: plain HTML without styles, so that a notebook's own apply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html_table"]


def html_table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, footer: str = "", labels: int = 0
) -> str:
    """A table; all texts are escaped. Where ``labels`` says how many first columns are words, those are set to the left
    and the others to the right.

    >>> table = html_table("a & b", ["flow"], [["x<1"]])
    >>> table[:40], table.endswith("<tr><td>x&lt;1</td></tr></tbody></table>")
    ('<table><caption>a &amp; b</caption><thea', True)
    """

    def side(at: int) -> str:
        return f' style="text-align:{"left" if at < labels else "right"}"' if labels else ""

    def row(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}{side(at)}>{escape(cell)}</{tag}>" for at, cell in enumerate(cells)) + "</tr>"

    foot = f'<tfoot><tr><td colspan="{len(headings)}">{escape(footer)}</td></tr></tfoot>' if footer else ""
    body = "".join(row(cells, "td") for cells in rows)
    head = row(headings, "th")
    return f"<table><caption>{escape(caption)}</caption><thead>{head}</thead><tbody>{body}</tbody>{foot}</table>"


def __dir__() -> list[str]:
    return __all__
