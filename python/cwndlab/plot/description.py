"""The description of a figure: panels with series, events and bands over named axes.

It holds numbers and names only. `cwndlab.plot.interactive` draws it with plotly, `cwndlab.plot.still` with matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

X = float | str
Sign = Literal["diamond", "triangle", "cross", "square", "circle", "left", "right"]
#: The address that a click opens: one for a whole series, or one for each point.
Opens = str | Sequence[str]
Kind = Literal["line", "points", "steps", "area", "bars", "box", "path"]

_WORDS: dict[Kind, str] = {
    "line": "Line chart",
    "points": "Scatter plot",
    "steps": "Distribution function",
    "area": "Stacked areas",
    "bars": "Bar chart",
    "box": "Box plot",
    "path": "Phase plot",
}
# Maximum number of labels in a description; the number of the others follows.
_MOST_NAMED = 12


@dataclass(frozen=True)
class Axis:
    """An axis: quantity and unit as ``title``, and its range."""

    title: str
    from_zero: bool = False
    ends: tuple[float, float] | None = None
    log: bool = False
    categories: Sequence[str] | None = None
    """Names at equal distances, instead of numbers."""
    whole: bool = False
    """Ticks are at whole numbers."""
    ticks: Sequence[float] = ()
    """Where ticks are, instead of where the backend sets them."""
    above: bool = False
    """Names of categories stand above their lanes, over the width of the figure, and not beside them."""


@dataclass(frozen=True)
class Series:
    """Points of one label; ``position`` selects the colour, for bars one for each bar."""

    label: str
    x: Sequence[X]
    y: Sequence[float | None]
    kind: Kind = "line"
    position: int | Sequence[int] = 0
    low: Sequence[float | None] | None = None
    """Lower ends of the intervals, if there are any."""
    high: Sequence[float | None] | None = None
    signs: bool = False
    """A line has a marker at each point; points have that of their position."""
    sign: Sign | None = None
    """The sign of all points, instead of that of their position."""
    along_x: bool = False
    """The intervals are of x."""
    published: bool = False
    """Dashed (hollow, for bars): a value that is not measured here."""
    legend: bool = True
    opens: Opens = ""
    notes: Sequence[str] = ()
    """Text for each point, shown under the pointer."""
    times: Sequence[float] = ()
    """Seconds of each point of a path, which its colour shows."""


@dataclass(frozen=True)
class Events:
    """Marks of one kind of event."""

    label: str
    sign: Sign
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Moments:
    """Values of x of one kind, each a dotted line over the whole height of a panel."""

    label: str
    x: Sequence[float]


@dataclass(frozen=True)
class Band:
    """Spans of x of one kind of phase, over the whole height of a panel or at one ``place`` of its categories."""

    label: str
    spans: Sequence[tuple[float, float]]
    position: int
    place: int | None = None
    faint: bool = False
    """At a place: what is drawn over it shows."""


@dataclass(frozen=True)
class Heat:
    """A cell for each pair of categories; ``values`` has the rows from bottom to top."""

    values: Sequence[Sequence[float | None]]
    title: str
    """Quantity and unit of the values."""
    opens: Sequence[Sequence[str]]
    signed: bool = False
    """Colours tell values above zero from those below, and zero is white."""


@dataclass(frozen=True)
class Words:
    """A text in the lane at a ``place`` of the categories, which begins at x."""

    x: float
    place: int
    text: str


@dataclass(frozen=True)
class Panel:
    """One pair of axes and its contents."""

    y: Axis
    series: Sequence[Series] = ()
    title: str = ""
    events: Sequence[Events] = ()
    bands: Sequence[Band] = ()
    moments: Sequence[Moments] = ()
    heat: Heat | None = None
    height: float = 1.0
    """Relative to the other panels."""
    thresholds: Sequence[tuple[float, str]] = ()
    """Values of y with a dashed line, and their labels."""
    x: Axis | None = None
    """Its own horizontal axis, where that is not the figure's."""
    words: Sequence[Words] = ()
    opens: Sequence[str] = ()
    """What a click on the name of each category opens."""

    @property
    def is_lanes(self) -> bool:
        """Whether each category of y is a lane at a whole number, in which bands, points and words are."""
        return self.y.categories is not None and bool(self.bands or self.words)

    @property
    def half(self) -> float:
        """Half of the height of what is drawn in a lane; a name above it takes the rest."""
        return 0.2 if self.y.above else 0.36

    @property
    def lane_ends(self) -> tuple[float, float]:
        """Where the vertical axis of lanes begins and ends."""
        lanes = len(self.y.categories or ())
        return (-0.35, lanes - 0.15) if self.y.above else (-0.6, lanes - 0.4)


@dataclass(frozen=True)
class Description:
    """A figure. ``name`` is the name of its file; panels are placed row by row in ``columns``."""

    name: str
    title: str
    x: Axis
    panels: Sequence[Panel]
    columns: int = 1
    widths: Sequence[float] = ()
    """Of the columns, relative to each other; equal where none are given."""
    shares_x: bool = False
    """All panels show the same range of x, even when one is zoomed."""
    shares_y: Literal["none", "row", "all"] = "none"
    shows_title: bool = False
    legend: bool = True
    unified: bool = False
    """The pointer shows all values at one x."""
    pixels: int = 300
    """Height of a panel of relative height 1 on a page."""
    inches: tuple[float, float] = (6.0, 3.6)
    """Size of the whole figure as a file for the screen."""

    @property
    def rows(self) -> int:
        """Rows of panels."""
        return -(-len(self.panels) // self.columns)

    @property
    def series(self) -> list[Series]:
        """The series of all panels."""
        return [series for panel in self.panels for series in panel.series]

    @property
    def labels(self) -> list[str]:
        """Labels of all series, each once."""
        return list(dict.fromkeys(series.label for series in self.series))

    def sentence(self) -> str:
        """A sentence that describes the figure, for readers who do not see it."""
        kinds = list(dict.fromkeys(series.kind for series in self.series))
        if any(panel.heat is not None for panel in self.panels):
            kind = "Heat map"
        elif any(panel.y.above for panel in self.panels):
            kind = "Lanes"
        else:
            kind = " and ".join(_WORDS[one] for one in kinds) or "Chart"
        ys = list(dict.fromkeys(panel.y.title for panel in self.panels if panel.y.title))
        text = f"{kind}: {self.title}. "
        if ys and self.x.title:
            text += f"Vertical: {'; '.join(ys)}. Horizontal: {self.x.title}. "
        text += "".join(self._facts())
        return text.strip()

    def _facts(self) -> Iterator[str]:
        titles = [panel.title for panel in self.panels if panel.title]
        if titles:
            yield f"Panels: {_listed(titles)}. "
        if self.labels:
            yield f"Shown: {_listed(self.labels)}. "
        events = {mark.label: 0 for panel in self.panels for mark in panel.events}
        for panel in self.panels:
            for mark in panel.events:
                events[mark.label] += len(mark.x)
        if events:
            yield f"Events: {', '.join(f'{label} {count}' for label, count in events.items())}. "
        moments = {one.label: len(one.x) for panel in self.panels for one in panel.moments}
        if moments:
            yield f"Marked: {', '.join(f'{label} {count}' for label, count in moments.items())}. "
        bands = dict.fromkeys(band.label for panel in self.panels for band in panel.bands)
        if bands:
            yield f"Bands: {', '.join(bands)}. "
        values = [value for series in self.series for value in series.y if value is not None]
        if (
            values
            and not any(panel.is_lanes for panel in self.panels)
            and len({panel.y.title for panel in self.panels}) == 1
        ):
            yield f"Values from {min(values):.3g} to {max(values):.3g}."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
