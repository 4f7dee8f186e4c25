"""Styles of still figures: for the screen, and for a paper that may be printed without colours.

A paper's figures have the width of a column (3.33 in, which fits the two-column formats of ACM and IEEE) or of both (7
in), text of 7 to 8 points as it will be printed, fonts embedded as outlines (Type 42, which submission systems accept;
SVG as paths), and no meaning that depends on colour: lines differ by dashes and marks, bars by hatching.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, BinaryIO, NamedTuple

from cwndlab.errors import RecordsError, parameter_fault
from cwndlab.lazy import extra
from cwndlab.plot.palette import colour

#: Formats of still figures.
FORMATS = ("png", "svg", "pdf")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
_SIGNS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p")
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo", "----", "||||", "****", "//..", "\\\\..")
# Marks on a line of a paper.
_MARKS_PER_LINE = 8
_PAPER = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "savefig.pad_inches": 0.01,
}
# Equal figures give equal files: no time, no random names.
_STEADY = {"svg.hashsalt": "cwndlab"}
_METADATA: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "ModDate": None},
}


class Style(NamedTuple):
    """The appearance of still figures."""

    name: str
    paper: bool
    dpi: int

    def size(self, width: float, height: float, *, wide: bool = False) -> tuple[float, float]:
        """Inches of a figure that has ``width`` × ``height`` on a screen."""
        if not self.paper:
            return width, height
        paper = 7.0 if wide else 3.33
        return paper, min(9.0, max(1.7, paper * height / width, 1.15 * height / 1.9 if not wide else 0.0))

    def line(self, position: int, points: int) -> dict[str, Any]:
        """The style of the ``position``-th line."""
        plain: dict[str, Any] = {"color": colour(position), "linewidth": 0.9}
        if not self.paper:
            return plain
        every = max(1, points // _MARKS_PER_LINE)
        return plain | {
            "linestyle": _DASHES[position % len(_DASHES)],
            "marker": _SIGNS[position % len(_SIGNS)],
            "markersize": 2.6,
            "markerfacecolor": "white",
            "markeredgewidth": 0.6,
            # The marks of several lines do not overlap.
            "markevery": ((position * every // 4) % every, every),
        }

    def face(self, position: int) -> dict[str, Any]:
        """The fill of the ``position``-th bar or area."""
        if not self.paper:
            return {"color": colour(position)}
        return {
            "facecolor": colour(position),
            "edgecolor": "black",
            "linewidth": 0.5,
            "hatch": _HATCHES[position % len(_HATCHES)],
        }

    def hatch(self, position: int) -> str:
        """The pattern of the ``position``-th area."""
        return _HATCHES[position % len(_HATCHES)] if self.paper else ""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """A context in which figures are made and saved in this style."""
        with extra("print"):
            import matplotlib as mpl

        values: dict[Any, Any] = {**_STEADY, **(_PAPER if self.paper else {})}
        with mpl.rc_context(values):
            yield

    def save(self, figure: Any, path: str | BinaryIO) -> None:
        """Writes a figure: in the format of the path's extension, or as PNG into a stream."""
        ending = path.rpartition(".")[2] if isinstance(path, str) else "png"
        figure.savefig(path, dpi=self.dpi, format=ending, metadata=_METADATA.get(ending))


#: For web pages and slides.
SCREEN = Style("screen", paper=False, dpi=150)
#: For a paper in two columns.
PRINT = Style("print", paper=True, dpi=600)
STYLES = {style.name: style for style in (SCREEN, PRINT)}


def chosen(formats: str, style: str, *, parameter: str = "format") -> tuple[list[str], Style]:
    """The formats that ``svg,pdf`` names and the style of this name.

    Parameters
    ----------
    parameter:
        The name of the caller's parameter for ``formats``.

    Raises
    ------
    RecordsError
        With every fault.
    """
    names = [name.strip() for name in formats.split(",") if name.strip()]
    faults = [
        parameter_fault(
            parameter, f"'{name}' is not a format of figures", hint=f"write {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
        for name in names or [formats]
        if name not in FORMATS
    ]
    if style not in STYLES:
        faults.append(parameter_fault("style", f"'{style}' is not a style", hint=f"write {' or '.join(STYLES)}"))
    if faults:
        raise RecordsError(*faults)
    return list(dict.fromkeys(names)), STYLES[style]


def grid_text(values: list[list[float | None]]) -> Iterator[tuple[int, int, float]]:
    """Row, column and value of each cell that has one."""
    for row, column in product(range(len(values)), range(len(values[0]) if values else 0)):
        value = values[row][column]
        if value is not None:
            yield row, column, value
