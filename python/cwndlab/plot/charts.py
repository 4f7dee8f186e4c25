"""Charts over any quantity: lines with intervals, points, grouped bars; in several panels if there are groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cwndlab.plot.description import Axis, Kind, Opens, Panel, Series, X
from cwndlab.plot.figure import Figure
from cwndlab.statistics import Estimate

# Panels in a row.
_ABREAST = 3
# A line with more points has no markers.
_MOST_SIGNS = 60
# Lines this close to the largest value cannot be distinguished on an axis from zero.
_CLOSE = 0.9


@dataclass(frozen=True)
class Curve:
    """One line or group of bars; ``low`` and ``high`` are the ends of intervals, if there are any."""

    label: str
    x: Sequence[X]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    panel: str = ""
    published: bool = False
    """Drawn dashed (hollow, for bars): a value of the paper, not of a run."""

    @classmethod
    def of(
        cls, label: str, x: Sequence[X], estimates: Sequence[Estimate], *, factor: float = 1.0, panel: str = ""
    ) -> Curve:
        """Means with their intervals, in the unit that results from ``factor``."""

        def scaled(values: Sequence[float | None]) -> list[float | None]:
            return [None if value is None else value * factor for value in values]

        means = scaled([one.mean if one.n else None for one in estimates])
        return cls(
            label, x, means, scaled([one.low for one in estimates]), scaled([one.high for one in estimates]), panel
        )


@dataclass(frozen=True)
class Chart:
    """The numbers of a figure. ``name`` is the name of its file; panels are in the order of their first curves."""

    name: str
    title: str
    x_title: str
    y_title: str
    curves: Sequence[Curve]
    kind: Literal["lines", "points", "bars"] = "lines"
    from_zero: bool = True
    log_x: bool = False
    whole_x: bool = False
    """All x, such as round numbers, are whole numbers, and so are the ticks."""
    x_from_zero: bool = False
    shared_y: bool | Literal["row"] = True
    """All panels, or those of a row, have the same y axis; without it each has its own, for quantities of different
    units."""
    columns: int = 0
    """Panels in a row; by default up to three."""
    thresholds: Sequence[tuple[float, str]] = ()
    """Marked values of y, with their labels."""
    note: str = ""

    @property
    def panels(self) -> list[str]:
        """Titles of the panels."""
        return list(dict.fromkeys(curve.panel for curve in self.curves))

    @property
    def labels(self) -> list[str]:
        """Labels of all curves; curves with the same label have the same colour in every panel."""
        return list(dict.fromkeys(curve.label for curve in self.curves))

    def figure(self, opens: Mapping[tuple[str, str], Opens] | None = None) -> Figure:
        """The figure of these numbers; ``opens`` are the addresses that clicks open, by panel and label."""
        panels = self.panels
        columns = self.columns or (2 if len(panels) == 4 else min(len(panels), _ABREAST))
        rows = -(-len(panels) // columns)
        y = Axis(self.y_title, from_zero=self._is_from_zero())
        return Figure(
            name=self.name,
            title=self.title,
            x=self._x_axis(),
            panels=[
                Panel(y, self._series(title, opens or {}), title, thresholds=tuple(self.thresholds)) for title in panels
            ],
            columns=columns,
            shares_x=self.x_from_zero,
            shares_y=self.shared_y if isinstance(self.shared_y, str) else "all" if self.shared_y else "none",
            unified=self.kind == "lines",
            pixels=250,
            inches=(7 if columns == 1 else 4 * columns, 3.4 * rows + 0.6),
        )

    def _x_axis(self) -> Axis:
        if not self.whole_x:
            return Axis(self.x_title, from_zero=self.x_from_zero, log=self.log_x, categories=self._categories())
        xs = [float(x) for curve in self.curves for x in curve.x]
        ends = (min(xs) - 0.5, max(xs) + 0.5) if xs else None
        return Axis(self.x_title, ends=ends, whole=True)

    def _series(self, panel: str, opens: Mapping[tuple[str, str], Opens]) -> list[Series]:
        kinds: dict[str, Kind] = {"lines": "line", "points": "points", "bars": "bars"}
        labels = self.labels
        return [
            Series(
                curve.label,
                [str(x) for x in curve.x] if self.kind == "bars" else list(curve.x),
                list(curve.y),
                kind=kinds[self.kind],
                position=labels.index(curve.label),
                low=curve.low,
                high=curve.high,
                signs=self.kind == "lines" and len(curve.x) <= _MOST_SIGNS,
                published=curve.published,
                opens=opens.get((panel, curve.label), ""),
            )
            for curve in self.curves
            if curve.panel == panel
        ]

    def _categories(self) -> list[str] | None:
        """The names along the axis, if it has names."""
        xs = dict.fromkeys(str(x) for curve in self.curves for x in curve.x)
        named = self.kind == "bars" or any(isinstance(x, str) for curve in self.curves for x in curve.x)
        return list(xs) if named else None

    def _is_from_zero(self) -> bool:
        """Whether the axis begins at zero: not for lines that differ by a few per cent, which would then look equal."""
        if not self.from_zero or self.kind == "bars":
            return self.from_zero
        values = [value for curve in self.curves for value in curve.y if value is not None]
        if not values or min(values) < 0 < max(values):
            return True
        nearest, farthest = sorted((abs(min(values)), abs(max(values))))
        return nearest <= _CLOSE * farthest
