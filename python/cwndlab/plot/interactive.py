"""Figures for plotly: traces and layout as plain data, which pages and notebooks pass to plotly's program.

The colours of text, grid and background are not set: a page takes them from its style, a notebook from plotly's
template.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from cwndlab.plot.description import Axis, Description, Events, Heat, Moments, Panel, Series
from cwndlab.plot.palette import colour
from cwndlab.statistics.digits import number

_SIGNS = {
    **{"diamond": "diamond", "triangle": "triangle-down", "cross": "x", "square": "square", "circle": "circle"},
    **{"left": "triangle-left", "right": "triangle-right"},
}
#: Markers of lines, by position.
LINE_SIGNS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")
# Red below zero, blue above.
_SIGNED = {"colorscale": "RdBu", "reversescale": True, "zmid": 0}
# Maximum number of cells of a heat map that show their values.
_MOST_TEXTS = 150
# Pixels around and between panels.
_LEFT, _RIGHT, _BOTTOM, _TOP = 70, 20, 55, 50
# Left of panels whose names are above their lanes.
_EDGE = 10
_ACROSS, _DOWN = 0.05, 46
# Full-height bands are shapes, which plotly draws one by one.
_MOST_SHAPES = 400
# Ticks of an axis of whole numbers.
_MOST_TICKS = 10
_GRAY = "#808080"
_FAINT = 0.3
# Lines of the kinds of moments.
_DOTTED = ("dot", "dash")


def spec(figure: Description) -> dict[str, Any]:
    """``data`` and ``layout`` of a plotly figure, as JSON has them."""
    data: list[dict[str, Any]] = []
    layout = _layout(figure)
    named: set[str] = set()
    for index, panel in enumerate(figure.panels):
        axes = {"xaxis": _reference("x", _x_axis(figure, index)), "yaxis": _reference("y", index)}
        if panel.heat is not None:
            data.append(_heat(figure, panel, panel.heat) | axes)
        data += [trace | axes for trace in _lanes(panel, named)]
        for series in panel.series:
            trace = _trace(figure, series, index) | axes
            if "showlegend" not in trace:
                trace |= {"showlegend": series.legend and series.label not in named, "legendgroup": series.label}
            named.add(series.label)
            data.append(trace)
        data += [trace | axes for trace in _marks(panel.events, named)]
        data += [trace | axes for trace in _moments(panel.moments, named)]
        for value, label in panel.thresholds:
            line, text = threshold(value, label, axes["xaxis"], axes["yaxis"])
            layout["shapes"].append(line)
            layout["annotations"].append(text)
        if not any((trace["xaxis"], trace["yaxis"]) == (axes["xaxis"], axes["yaxis"]) for trace in data):
            # Plotly has no pair of axes for a panel without a trace, and would place its time axis elsewhere.
            data.append({"type": "scatter", "x": [None], "y": [None], "showlegend": False, "hoverinfo": "skip"} | axes)
    return {"data": data, "layout": layout}


def threshold(value: float, label: str, x: str = "x", y: str = "y") -> tuple[dict[str, Any], dict[str, Any]]:
    """The line of a threshold across a panel, and its label, as plotly takes them."""
    place = {"xref": f"{x} domain", "yref": y}
    line = {
        "type": "line",
        "x0": 0,
        "x1": 1,
        "y0": value,
        "y1": value,
        "line": {"dash": "dash", "width": 1, "color": _GRAY},
    }
    text = {"x": 1, "y": value, "text": label, "showarrow": False, "xanchor": "right", "yanchor": "bottom"}
    return place | line, place | text | {"font": {"size": 10}}


def _reference(letter: str, index: int) -> str:
    return letter if index == 0 else f"{letter}{index + 1}"


def _x_axis(figure: Description, index: int) -> int:
    """The number of a panel's x axis: panels of one column that show the same range have it in common."""
    return index % figure.columns if figure.shares_x else index


def _layout(figure: Description) -> dict[str, Any]:
    heights = [
        max(panel.height for panel in figure.panels[row * figure.columns : (row + 1) * figure.columns])
        for row in range(figure.rows)
    ]
    gaps = _gaps(figure)
    inner = sum(heights) * figure.pixels + gaps * (figure.rows - 1)
    top = (64 if figure.shows_title else _TOP) if _has_legend(figure) else 40
    bottom = _BOTTOM if figure.x.title else 30
    left = _EDGE if all(panel.y.above for panel in figure.panels) else _LEFT
    layout: dict[str, Any] = {
        "height": round(inner + top + bottom),
        "margin": {"l": left, "r": _RIGHT, "t": top, "b": bottom},
        "hovermode": "x unified" if figure.unified else "closest",
        "barmode": "group",
        "legend": {
            "orientation": "h",
            "y": 1.0,
            "yref": "container",
            "yanchor": "top",
            "x": 1,
            "xanchor": "right",
        },
        "showlegend": _has_legend(figure),
        "annotations": [],
        "shapes": [],
    }
    if figure.unified and figure.shares_x:
        layout["hoversubplots"] = "axis"
    if figure.shows_title:
        layout["title"] = {"text": figure.title, "font": {"size": 14}}
    lower = inner
    for row, height in enumerate(heights):
        upper, lower = lower, lower - height * figure.pixels
        _row(figure, layout, row, (max(0.0, lower / inner), upper / inner))
        lower -= gaps
    return layout


def _gaps(figure: Description) -> int:
    """Pixels between rows: room for tick labels if each panel has its own, and for titles."""
    titled = any(panel.title for panel in figure.panels)
    return (14 if figure.shares_x else _DOWN) + (20 if titled else 0)


def _has_legend(figure: Description) -> bool:
    if not figure.legend:
        return False
    marked = any(panel.events or panel.bands or panel.moments for panel in figure.panels)
    return marked or len({series.label for series in figure.series if series.legend}) > 1


def _row(figure: Description, layout: dict[str, Any], row: int, domain: tuple[float, float]) -> None:
    """The axes of a row of panels, their titles, and annotations at positions of the page."""
    columns = figure.columns
    shares = figure.widths or [1.0] * columns
    widths = [(1 - _ACROSS * (columns - 1)) * share / sum(shares) for share in shares]
    for column, width in enumerate(widths):
        index = row * columns + column
        if index >= len(figure.panels):
            break
        panel, left = figure.panels[index], sum(widths[:column]) + column * _ACROSS
        x = panel.x or figure.x
        ends = (round(left, 5), round(left + width, 5))
        is_last = index + columns >= len(figure.panels)
        if is_last or not figure.shares_x:
            key = _reference("x", _x_axis(figure, index))
            layout[f"xaxis{key[1:]}"] = _axis(x, ends) | {"anchor": _reference("y", index)}
            if is_last:
                layout[f"xaxis{key[1:]}"]["title"] = {"text": x.title}
            if figure.shares_x and columns > 1:
                # If matching axes have a range, plotly no longer computes the range of the other direction.
                layout[f"xaxis{key[1:]}"].pop("range", None)
            if figure.shares_x and column:
                layout[f"xaxis{key[1:]}"]["matches"] = "x"
        y = _axis(panel.y, (round(domain[0], 5), round(min(1.0, domain[1]), 5)))
        if panel.is_lanes:
            y = _lane_axis(panel, y["domain"])
        y["anchor"] = _reference("x", _x_axis(figure, index))
        if figure.shares_y != "none":
            first = 0 if figure.shares_y == "all" else row * columns
            if index != first:
                y["matches"] = _reference("y", first)
            y["showticklabels"] = column == 0 and not panel.y.above
        if _shows_y_title(figure, row, column):
            # Panels of several quantities are low: quantity and unit are on lines of their own.
            several = figure.rows > 2 and len({panel.y.title for panel in figure.panels}) > 1
            text = panel.y.title.replace(", ", "<br>", 1) if several else panel.y.title
            # Plotly draws the title over tick labels that are words, unless it has its own distance.
            y["title"] = {"text": text} | ({} if panel.y.categories is None else {"standoff": 12})
        layout[f"yaxis{_reference('y', index)[1:]}"] = y
        if panel.title:
            layout["annotations"].append(_title(panel.title, sum(ends) / 2, domain[1]))
        _placed(figure, layout, index)


def _shows_y_title(figure: Description, row: int, column: int) -> bool:
    titles = {panel.y.title for panel in figure.panels}
    return column == 0 and (len(titles) > 1 or row == (figure.rows - 1) // 2)


def _axis(axis: Axis, domain: tuple[float, float]) -> dict[str, Any]:
    made: dict[str, Any] = {"domain": list(domain), "automargin": True}
    if axis.categories is not None:
        made |= {"type": "category", "categoryorder": "array", "categoryarray": list(axis.categories)}
    elif axis.log:
        made["type"] = "log"
    if axis.from_zero:
        made["rangemode"] = "tozero"
    if axis.ends is not None:
        made["range"] = [math.log10(end) for end in axis.ends] if axis.log else list(axis.ends)
        if axis.whole:
            low, high = axis.ends
            made |= {"tick0": math.ceil(low), "dtick": max(1, math.ceil((high - low) / _MOST_TICKS))}
    if axis.ticks:
        made |= {"tickmode": "array", "tickvals": list(axis.ticks), "ticktext": [f"{tick:g}" for tick in axis.ticks]}
    return made


def _lane_axis(panel: Panel, domain: Sequence[float]) -> dict[str, Any]:
    """An axis with a name at each whole number."""
    names = panel.y.categories or ()
    return {
        "domain": list(domain),
        "automargin": True,
        "range": list(panel.lane_ends),
        "showticklabels": not panel.y.above,
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "zeroline": False,
        "showgrid": False,
    }


def _title(text: str, x: float, y: float) -> dict[str, Any]:
    return {
        "text": text,
        "x": round(x, 5),
        "y": round(min(1.0, y), 5),
        "xref": "paper",
        "yref": "paper",
        "xanchor": "center",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 13},
    }


def _placed(figure: Description, layout: dict[str, Any], index: int) -> None:
    """Bands of a panel's whole height, names and words of lanes, and a word where a bar has no value."""
    panel = figure.panels[index]
    x, y = _reference("x", _x_axis(figure, index)), _reference("y", index)
    if panel.y.above and index % figure.columns == 0:
        names = panel.y.categories or ()
        named = zip(names, panel.opens or [""] * len(names), strict=True)
        layout["annotations"] += [_name(place, *one, panel, y) for place, one in enumerate(named) if one[0]]
    scale = math.log10 if (panel.x or figure.x).log else float
    for words in panel.words:
        at = {"x": scale(words.x), "y": words.place, "xref": x, "yref": y, "xanchor": "left", "yanchor": "middle"}
        layout["annotations"].append(at | {"text": words.text, "showarrow": False, "font": {"size": 11}})
    for band in panel.bands:
        for start, end in band.spans if band.place is None else ():
            if len(layout["shapes"]) < _MOST_SHAPES:
                shape = {"type": "rect", "x0": start, "x1": end, "y0": 0, "y1": 1, "layer": "below", "opacity": 0.25}
                shape |= {"xref": x, "yref": f"{y} domain", "fillcolor": colour(band.position), "line": {"width": 0}}
                layout["shapes"].append(shape)
    for number_, moments in enumerate(panel.moments):
        line = {"dash": _DOTTED[number_ % len(_DOTTED)], "width": 1, "color": _GRAY}
        for at_ in moments.x[: _MOST_SHAPES - len(layout["shapes"])]:
            shape = {"type": "line", "x0": at_, "x1": at_, "y0": 0, "y1": 1, "layer": "below", "line": line}
            layout["shapes"].append(shape | {"xref": x, "yref": f"{y} domain"})
    for series in panel.series:
        for place, value in zip(series.x, series.y, strict=True):
            if series.kind == "bars" and value is None and len(figure.series) == 1:
                note = {"text": "none", "x": place, "y": 0, "xref": x, "yref": y, "showarrow": False, "yshift": 9}
                layout["annotations"].append(note | {"font": {"size": 11}})


def _lanes(panel: Panel, named: set[str]) -> Iterator[dict[str, Any]]:
    """Bands as areas: those at a place of a category, and of full-height ones the sign for the legend."""
    half = panel.half
    for band in panel.bands:
        xs: list[float | None] = []
        ys: list[float | None] = []
        for start, end in band.spans if band.place is not None else ():
            place = band.place or 0
            xs += [start, end, end, start, None]
            ys += [place - half, place - half, place + half, place + half, None]
        tint = colour(band.position)
        yield {
            "type": "scatter",
            "mode": "lines" if xs else "markers",
            "x": xs or [None],
            "y": ys or [None],
            "fill": "toself" if xs else "none",
            "fillcolor": tint,
            "line": {"width": 0, "color": tint},
            "marker": {"symbol": "square", "size": 10, "color": tint, "opacity": 0.5},
            "name": band.label,
            "legendgroup": band.label,
            "showlegend": band.label not in named,
            "hoverinfo": "skip",
            "opacity": _FAINT if band.faint else 1.0,
        }
        named.add(band.label)


def _moments(moments: Sequence[Moments], named: set[str]) -> Iterator[dict[str, Any]]:
    """The signs of moments in the legend; shapes draw them."""
    for number_, one in enumerate(moments):
        yield {
            "type": "scatter",
            "mode": "lines",
            "x": [None],
            "y": [None],
            "line": {"dash": _DOTTED[number_ % len(_DOTTED)], "width": 1, "color": _GRAY},
            "name": one.label,
            "legendgroup": one.label,
            "showlegend": one.label not in named,
            "hoverinfo": "skip",
        }
        named.add(one.label)


def _marks(events: Sequence[Events], named: set[str]) -> Iterator[dict[str, Any]]:
    for mark in events:
        yield {
            "type": "scatter",
            "mode": "markers",
            "x": list(mark.x),
            "y": list(mark.y),
            "name": mark.label,
            "legendgroup": mark.label,
            "showlegend": mark.label not in named,
            "marker": {
                "symbol": _SIGNS[mark.sign],
                "size": 7,
                "color": "rgba(0,0,0,0)",
                "line": {"width": 1.2, "color": _GRAY},
            },
            "hovertemplate": "%{y:.4g}",
        }
        named.add(mark.label)


def _trace(figure: Description, series: Series, index: int) -> dict[str, Any]:
    if series.kind == "bars":
        return _bars(series)
    if series.kind == "box":
        return _box(series)
    if series.kind == "path":
        return _path(series)
    tint = colour(_first(series.position))
    trace: dict[str, Any] = {"type": "scatter", "x": list(series.x), "y": list(series.y), "name": series.label}
    trace["mode"] = "markers" if series.kind == "points" else "lines+markers" if series.signs else "lines"
    line: dict[str, Any] = {"color": tint, "width": 1.4}
    hover = "%{y:.4g}" if figure.unified else "%{x}: %{y:.4g}"
    if series.kind == "area":
        line["width"] = 0.6
        trace["stackgroup"] = f"panel{index}"
        hover = "%{y:.1f} %"
    elif series.kind == "steps":
        line["shape"] = "hv"
        hover = "%{y:.1f} % have at most %{x:.4g}"
    elif series.signs or series.sign:
        symbol = _SIGNS[series.sign] if series.sign else LINE_SIGNS[_first(series.position) % len(LINE_SIGNS)]
        hollow = {"symbol": f"{symbol}-open", "line": {"width": 1.6}} if series.published else {"symbol": symbol}
        trace["marker"] = {"color": tint, "size": 9 if series.kind == "points" else 7} | hollow
    elif series.kind == "points":
        trace["marker"] = {"color": tint, "size": 6}
    if series.sign:
        trace["cliponaxis"] = False
    if series.published:
        line["dash"] = "dash"
    if series.notes:
        trace["text"], hover = list(series.notes), "%{text}<extra></extra>"
    trace |= {"line": line, "hovertemplate": hover, **_opens(series)}
    error = _error(series, tint)
    return trace | ({"error_x" if series.along_x else "error_y": error} if error else {})


def _name(place: int, text: str, opens: str, panel: Panel, y: str) -> dict[str, Any]:
    """The name of a lane above it, from the left edge of the figure on; the script of a page breaks its lines."""
    at = {"x": 0, "y": place + panel.half + 0.04, "xref": "paper", "yref": y, "xanchor": "left", "yanchor": "bottom"}
    return at | {"text": text, "name": opens, "align": "left", "showarrow": False, "captureevents": bool(opens)}


def _first(position: int | Sequence[int]) -> int:
    return position if isinstance(position, int) else position[0]


def _opens(series: Series) -> dict[str, Any]:
    """The addresses of clicks, for the script of a page: ``meta`` for a series, ``customdata`` for its points."""
    if isinstance(series.opens, str):
        return {"meta": series.opens} if series.opens else {}
    return {"customdata": list(series.opens)}


def _bars(series: Series) -> dict[str, Any]:
    at = series.position
    tints: Any = colour(at) if isinstance(at, int) else [colour(one) for one in at]
    marker = {"color": "rgba(0,0,0,0)" if series.published else tints, "line": {"color": tints, "width": 1.2}}
    trace = {
        "type": "bar",
        "x": list(series.x),
        "y": list(series.y),
        "name": series.label,
        "marker": marker,
        "hovertemplate": "%{x}: %{y:.4g}%{text}<extra></extra>" if series.notes else "%{x}: %{y:.5g}",
        **_opens(series),
    }
    if series.notes:
        trace |= {"text": list(series.notes), "textposition": "none"}
    error = _error(series, "gray")
    return trace | ({"error_y": error} if error else {})


def _box(series: Series) -> dict[str, Any]:
    return {
        "type": "box",
        "x": list(series.x),
        "y": list(series.y),
        "name": series.label,
        "boxpoints": "all",
        "pointpos": 0,
        "jitter": 0.4,
        "quartilemethod": "linear",
        "marker": {"size": 5, "color": colour(_first(series.position))},
        "line": {"width": 1.2},
        "text": list(series.notes),
        "hovertemplate": "%{x}, %{text}: %{y:.4g}<extra></extra>",
        **_opens(series),
    }


def _path(series: Series) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": list(series.x),
        "y": list(series.y),
        "name": series.label,
        "mode": "lines+markers",
        "line": {"color": "rgba(128,128,128,0.5)", "width": 0.8},
        "marker": {
            "size": 4,
            "color": list(series.times),
            "colorscale": "Cividis",
            "colorbar": {"title": {"text": "time, s", "side": "right"}, "thickness": 10},
            "cmin": 0,
        },
        "text": [f"{time:.4g} s" for time in series.times],
        "hovertemplate": "%{text}: %{x:.4g} and %{y:.4g}<extra></extra>",
        "showlegend": False,
        **_opens(series),
    }


def _error(series: Series, tint: str) -> dict[str, Any] | None:
    if series.low is None or series.high is None or not any(end is not None for end in series.low):
        return None
    middles = series.x if series.along_x else series.y
    return {
        "type": "data",
        "symmetric": False,
        "array": _distances(series.high, middles),
        "arrayminus": _distances(middles, series.low),
        "thickness": 1.2,
        "width": 3,
        "color": tint,
    }


def _distances(above: Sequence[Any], below: Sequence[Any]) -> list[float | None]:
    pairs = zip(above, below, strict=True)
    return [None if upper is None or lower is None else upper - lower for upper, lower in pairs]


def _heat(figure: Description, panel: Panel, heat: Heat) -> dict[str, Any]:
    is_small = sum(map(len, heat.values)) <= _MOST_TEXTS
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": list(figure.x.categories or ()),
        "y": list(panel.y.categories or ()),
        "z": [list(row) for row in heat.values],
        "customdata": [list(row) for row in heat.opens],
        **(_SIGNED if heat.signed else {"colorscale": "Cividis"}),
        "colorbar": {"title": {"text": heat.title, "side": "right"}, "thickness": 14},
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": f"{figure.x.title} %{{x}}, {panel.y.title} %{{y}}: %{{z:.4g}}<extra></extra>",
        "showlegend": False,
    }
    if is_small:
        trace["text"] = [["" if value is None else number(value) for value in row] for row in heat.values]
        trace["texttemplate"] = "%{text}"
    return trace
