"""A figure that draws itself: with plotly in a notebook and on a page, with matplotlib in a file."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from cwndlab.plot.description import Description
from cwndlab.plot.interactive import spec
from cwndlab.plot.still import draw
from cwndlab.plot.style import Style, chosen


@dataclass(frozen=True, repr=False)
class Figure(Description):
    """A figure: its description, and the ways to draw it.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows"), seed=1)
    >>> figure = cwndlab.plot.series(records, "cwnd")
    >>> figure
    <Figure cwnd: cwnd, segments over time; 2 series>
    >>> len(figure.to_plotly().data) >= 2
    True
    """

    def __repr__(self) -> str:
        return f"<Figure {self.name}: {self.title}; {len(self.series)} series>"

    def spec(self) -> dict[str, Any]:
        """The figure as plotly's JSON: ``data`` and ``layout``."""
        return spec(self)

    def to_plotly(self) -> Any:
        """A `plotly.graph_objects.Figure`, to modify or to show."""
        import plotly.graph_objects as go

        return go.Figure(spec(self))

    def show(self) -> None:
        """Opens the figure in a browser, or in a notebook below the cell, as plotly does."""
        self.to_plotly().show()

    def save(self, path: Path | str, style: Style | str = "screen") -> None:
        """Writes the figure as PNG, SVG or PDF by the ending of ``path``; ``style`` is ``screen`` or ``print``."""
        look = style if isinstance(style, Style) else chosen(Path(path).suffix[1:], style, parameter="path")[1]
        draw(self, str(path), look)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """The figure in a notebook: plotly's, and with matplotlib a picture for viewers without plotly, such as pages
        of nbconvert and of code hosts."""
        bundle = self.to_plotly()._repr_mimebundle_(include=include, exclude=exclude)
        if find_spec("matplotlib") is None:
            return bundle
        picture = BytesIO()
        draw(self, picture)
        return {**bundle, "image/png": base64.b64encode(picture.getvalue()).decode("ascii")}
