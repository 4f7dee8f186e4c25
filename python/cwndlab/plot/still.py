"""Figures drawn by matplotlib: PNG, SVG and PDF, for the screen or for a paper (`cwndlab.plot.style`)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, BinaryIO, Literal

from cwndlab.lazy import extra
from cwndlab.plot.description import Description, Events, Heat, Panel, Series
from cwndlab.plot.palette import colour
from cwndlab.plot.style import SCREEN, Style, grid_text
from cwndlab.statistics.digits import number

_SIGNS = {"diamond": "D", "triangle": "v", "cross": "x", "square": "s", "circle": "o", "left": "<", "right": ">"}
_LINE_SIGNS = "os^DvPX*"
_MOST_TEXTS = 150
# Entries of a legend in a row.
_MOST_COLUMNS = 5
# Left and right of a legend, in inches.
_MARGINS = 0.1
_GRAY = "#808080"
# Lines of the kinds of moments.
_DOTTED = (":", "--")
# Letters of a lane's name in a line of a whole figure.
_LETTERS = 110


def draw(figure: Description, path: str | BinaryIO, style: Style = SCREEN) -> None:
    """Writes a figure: in the format of the path's extension, or as PNG into a stream."""
    figure = _literal(figure)
    with style.applied():
        made, axes = _grid(figure, style)
        for axis, panel in zip(axes, figure.panels, strict=False):
            _panel(made, axis, figure, panel, style)
        _limits(figure, axes)
        _legend(made, axes, figure)
        style.save(made, path)


def _literal(value: Any) -> Any:
    """The same description whose texts matplotlib sets as they are: what is between two dollars it reads as
    mathematics, and names of algorithms and files may have them."""
    if isinstance(value, str):
        return value.replace("$", r"\$")
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _literal(getattr(value, one.name)) for one in fields(value)})
    return [_literal(one) for one in value] if isinstance(value, Sequence) else value


def _grid(figure: Description, style: Style) -> tuple[Any, list[Any]]:
    """A figure with the axes of its panels, titled."""
    with extra("print"):
        from matplotlib.figure import Figure

    rows, columns = figure.rows, figure.columns
    made = Figure(figsize=style.size(*figure.inches, wide=columns > 1), layout="constrained")
    heights = [figure.panels[row * columns].height for row in range(rows)]
    sharing: dict[str, Any] = {"none": False, "row": "row", "all": True}
    grid = made.subplots(
        rows,
        columns,
        sharex=figure.shares_x,
        sharey=sharing[figure.shares_y],
        squeeze=False,
        height_ratios=heights,
        width_ratios=list(figure.widths) or None,
    )
    axes = list(grid.ravel())
    for empty in axes[len(figure.panels) :]:
        empty.set_visible(False)
        axes[axes.index(empty) - columns].tick_params(labelbottom=True)
    titles = {panel.y.title for panel in figure.panels}
    size = 8 if style.paper else 10
    if len(figure.panels) == 1:
        axes[0].set_xlabel(figure.x.title)
        axes[0].set_ylabel(figure.panels[0].y.title)
    else:
        made.supxlabel(figure.x.title, fontsize=size)
        if len(titles) == 1:
            made.supylabel(*titles, fontsize=size)
    for index, panel in enumerate(figure.panels):
        if panel.x is not None:
            axes[index].set_xlabel(panel.x.title, fontsize=size)
        if len(titles) > 1 and index % columns == 0:
            axes[index].set_ylabel(panel.y.title.replace(", ", "\n", 1), fontsize=7 if style.paper else 8)
    return made, axes


def _panel(made: Any, axis: Any, figure: Description, panel: Panel, style: Style) -> None:
    if panel.title:
        axis.set_title(panel.title, fontsize=8 if style.paper else 9, loc="left")
    if panel.heat is not None:
        _heat(made, axis, figure, panel, panel.heat)
        return
    axis.grid(alpha=0.3, axis="y" if _has_bars(panel) else "x" if panel.y.above else "both")
    axis.set_axisbelow(True)
    if (panel.x or figure.x).log:
        axis.set_xscale("log")
    _bands(axis, panel, style)
    _areas(axis, [series for series in panel.series if series.kind == "area"], style)
    _bars(axis, figure, [series for series in panel.series if series.kind == "bars"], style)
    _boxes(axis, [series for series in panel.series if series.kind == "box"], style)
    for series in panel.series:
        if series.kind == "path":
            _path(made, axis, series)
        elif series.kind in ("line", "points", "steps"):
            _line(axis, series, figure, style)
    _marks(axis, panel.events)
    for number_, moments in enumerate(panel.moments):
        style_ = _DOTTED[number_ % len(_DOTTED)]
        for nth, x in enumerate(moments.x):
            label_ = moments.label if nth == 0 else None
            axis.axvline(x, label=label_, color=_GRAY, linestyle=style_, linewidth=0.8, zorder=1.5)
    for one in panel.words:
        axis.text(one.x, one.place, one.text, va="center", fontsize=6.5)
    for value, label in panel.thresholds:
        axis.axhline(value, color="black", linestyle="--", linewidth=0.8)
        place = {"xytext": (-2, 2), "textcoords": "offset points", "xycoords": ("axes fraction", "data")}
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}  # bars may stand behind it
        axis.annotate(label, (1, value), ha="right", va="bottom", fontsize=6.5, bbox=box, **place)
    _ticks(axis, figure, panel)


def _has_bars(panel: Panel) -> bool:
    return any(series.kind in ("bars", "box") for series in panel.series)


def _ticks(axis: Any, figure: Description, panel: Panel) -> None:
    ticks = (panel.x or figure.x).ticks
    if ticks:
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
    if panel.y.above:
        axis.tick_params(axis="y", left=False, labelleft=False)
        first = panel is figure.panels[0]
        letters = round(_LETTERS * figure.widths[0] / sum(figure.widths)) if figure.widths else _LETTERS
        for place, name in enumerate(panel.y.categories or () if first else ()):
            at, text = (0, place + panel.half + 0.04), textwrap.fill(name, letters)
            axis.annotate(text, at, xycoords=("axes fraction", "data"), va="bottom", fontsize=7).set_in_layout(False)
    elif panel.y.categories is not None:
        axis.set_yticks(range(len(panel.y.categories)), list(panel.y.categories), fontsize=7)
    elif hasattr(axis.yaxis.get_major_formatter(), "set_useOffset"):
        # 0.9985 itself and not an offset from 1.
        axis.yaxis.get_major_formatter().set_useOffset(False)
    if figure.x.whole:
        axis.locator_params(axis="x", integer=True, min_n_ticks=1)
    names = figure.x.categories
    if names is None or any(series.kind == "box" for series in panel.series):
        return
    is_long = sum(map(len, names)) > 45 / figure.columns or len(names) > 12
    turn: dict[str, Any] = {"rotation": 30, "ha": "right"} if is_long else {}
    axis.set_xticks(range(len(names)), list(names), **turn)


def _limits(figure: Description, axes: Sequence[Any]) -> None:
    """After all is drawn: panels may share their axes."""
    for axis, panel in zip(axes, figure.panels, strict=False):
        if panel.heat is not None:
            continue
        if panel.y.ends is not None:
            axis.set_ylim(*panel.y.ends)
        elif panel.y.categories is not None:
            axis.set_ylim(*panel.lane_ends)
        elif panel.y.from_zero:
            _to_zero(axis, "y")
        if (ends := (panel.x or figure.x).ends) is not None:
            axis.set_xlim(*ends)
        elif figure.x.from_zero and figure.x.categories is None:
            _to_zero(axis, "x")


def _to_zero(axis: Any, way: Literal["x", "y"]) -> None:
    """Extends the range to zero, which is its end where nothing drawn on it is beyond: plotly's ``tozero``."""
    group = axis.get_shared_x_axes() if way == "x" else axis.get_shared_y_axes()
    drawn = [getattr(one.dataLim, f"interval{way}") for one in group.get_siblings(axis)]
    least, most = min(ends[0] for ends in drawn), max(ends[1] for ends in drawn)
    low, high = getattr(axis, f"get_{way}lim")()
    getattr(axis, f"set_{way}lim")(low if least < 0 else 0.0, 0.0 if least < 0 and most <= 0 else high)


def _legend(made: Any, axes: Sequence[Any], figure: Description) -> None:
    signs: dict[str, Any] = {}
    for axis in axes[: len(figure.panels)]:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            signs.setdefault(label, handle)
    if figure.legend and len(signs) > 1:
        _fitting_legend(made, signs)


def _fitting_legend(made: Any, signs: Mapping[str, Any]) -> None:
    """A legend above the figure, in as many columns as its width has room for."""
    room = made.bbox.width - _MARGINS * made.dpi
    for columns in range(min(_MOST_COLUMNS, len(signs)), 0, -1):
        legend = made.legend(signs.values(), signs.keys(), fontsize=7, loc="outside upper right", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= room:
            return
        legend.remove()


def _gaps(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]


def _first(position: int | Sequence[int]) -> int:
    return position if isinstance(position, int) else position[0]


def _places(figure: Description, series: Series) -> list[Any]:
    """The x of points, as numbers if the axis has categories."""
    if figure.x.categories is None:
        return list(series.x)
    at = {name: place for place, name in enumerate(figure.x.categories)}
    return [at[str(one)] for one in series.x]


def _line(axis: Any, series: Series, figure: Description, style: Style) -> None:
    at, xs = _first(series.position), _places(figure, series)
    look = style.line(at, len(series.y))
    if series.signs or series.kind == "points":
        sign = _SIGNS[series.sign] if series.sign else _LINE_SIGNS[at % len(_LINE_SIGNS)]
        look |= {"marker": sign, "markersize": 5 if series.along_x else 3.5, "markevery": 1}
    if series.kind == "points":
        look |= {"linestyle": "none"} | ({"markerfacecolor": "none"} if series.published else {})
    elif series.published:
        look["linestyle"] = "--"
    if series.kind == "steps":
        look["drawstyle"] = "steps-post"
    axis.plot(xs, _gaps(series.y), label=series.label if series.legend else None, **look)
    if series.low is not None and series.high is not None:
        draw_lines, middles = (axis.hlines, series.y) if series.along_x else (axis.vlines, xs)
        draw_lines(middles, _gaps(series.low), _gaps(series.high), color=colour(at), lw=0.9)


def _areas(axis: Any, areas: Sequence[Series], style: Style) -> None:
    if not areas or not areas[0].x:
        return
    drawn = axis.stackplot(
        areas[0].x,
        [[value or 0.0 for value in series.y] for series in areas],
        colors=[colour(_first(series.position)) for series in areas],
        labels=[series.label for series in areas],
        alpha=0.75,
    )
    for series, area in zip(areas, drawn, strict=True):
        pattern = style.hatch(_first(series.position))
        area.set(hatch=pattern, edgecolor="black" if style.paper else None, linewidth=0.3)


def _bars(axis: Any, figure: Description, groups: Sequence[Series], style: Style) -> None:
    width = 0.8 / len(groups) if groups else 0.8
    for number_, series in enumerate(groups):
        shift = (number_ - (len(groups) - 1) / 2) * width
        middles = _places(figure, series)
        label: str | None = series.label
        for point, (middle, value) in enumerate(zip(middles, series.y, strict=True)):
            at = series.position if isinstance(series.position, int) else series.position[point]
            if value is None:
                if len(figure.series) == 1:
                    axis.annotate("none", (middle, 0), ha="center", va="bottom", fontsize=8)
                continue
            face = {"facecolor": "none", "edgecolor": colour(at)} if series.published else style.face(at)
            axis.bar(middle + shift, value, width * 0.94, label=label, **face)
            label = None
        if series.low is not None and series.high is not None:
            ink = "black" if style.paper else _GRAY
            xs = [middle + shift for middle in middles]
            axis.vlines(xs, _gaps(series.low), _gaps(series.high), color=ink, lw=1)


def _boxes(axis: Any, groups: Sequence[Series], style: Style) -> None:
    if not groups:
        return
    values = [[value for value in series.y if value is not None] for series in groups]
    drawn = axis.boxplot(values, widths=0.5, patch_artist=True, medianprops={"color": "black"}, showfliers=False)
    for series, box in zip(groups, drawn["boxes"], strict=True):
        at = _first(series.position)
        box.set(facecolor=colour(at), alpha=0.45, hatch=style.hatch(at))
    for place, one in enumerate(values):
        axis.plot([place + 1] * len(one), one, "o", markersize=2.5, color="black", fillstyle="none", mew=0.6)
    names = [series.label for series in groups]
    turn: dict[str, Any] = {"rotation": 20, "ha": "right"} if sum(map(len, names)) > 30 else {}
    axis.set_xticks(range(1, len(names) + 1), names, **turn)


def _path(made: Any, axis: Any, series: Series) -> None:
    axis.plot(series.x, _gaps(series.y), color=colour(0), linewidth=0.4, alpha=0.6)
    dots = axis.scatter(series.x, _gaps(series.y), c=series.times, s=3, cmap="cividis", vmin=0, zorder=3)
    for end, sign in ((0, "o"), (-1, "s")):
        if series.times:
            axis.plot(series.x[end], series.y[end], sign, markersize=5, markerfacecolor="white", color="black")
    made.colorbar(dots, ax=axis, label="time, s", fraction=0.05)


def _bands(axis: Any, panel: Panel, style: Style) -> None:
    half = panel.half
    for band in panel.bands:
        look: dict[str, Any] = {"facecolor": colour(band.position), "linewidth": 0}
        if style.paper:
            look |= {"hatch": style.hatch(band.position), "edgecolor": "gray"}
        if band.faint:
            look["alpha"] = 0.3
        label: str | None = band.label
        if band.place is not None:
            spans = [(start, end - start) for start, end in band.spans]
            axis.broken_barh(spans, (band.place - half, 2 * half), label=label, **look)
            continue
        for start, end in band.spans:
            axis.axvspan(start, end, alpha=0.22, label=label, **look)
            label = None


def _marks(axis: Any, events: Sequence[Events]) -> None:
    for mark in events:
        edge = {"c": _GRAY} if mark.sign == "cross" else {"edgecolors": _GRAY, "facecolors": "none"}
        axis.scatter(mark.x, mark.y, marker=_SIGNS[mark.sign], s=16, linewidths=0.8, label=mark.label, zorder=3, **edge)


def _heat(made: Any, axis: Any, figure: Description, panel: Panel, heat: Heat) -> None:
    rows = [list(row) for row in heat.values]
    present = [value for row in rows for value in row if value is not None]
    middle = (min(present) + max(present)) / 2 if present else 0.0
    most = max(map(abs, present), default=1.0)
    look = {"cmap": "RdBu", "vmin": -most, "vmax": most} if heat.signed else {"cmap": "cividis"}
    image = axis.imshow([_gaps(row) for row in rows], origin="lower", aspect="auto", **look)
    if len(present) <= _MOST_TEXTS:
        for row, place, value in grid_text(rows):
            is_light = abs(value) < 0.6 * most if heat.signed else value > middle
            shade = "black" if is_light else "white"
            axis.text(place, row, number(value), ha="center", va="center", fontsize=6, color=shade)
    across, up = list(figure.x.categories or ()), list(panel.y.categories or ())
    slant = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    turned = {} if len(across) <= 6 else slant if len(across) <= 12 else {"rotation": 90}
    axis.set_xticks(range(len(across)), across, **turned)
    axis.set_yticks(range(len(up)), up)
    made.colorbar(image, ax=axis, label=heat.title)
