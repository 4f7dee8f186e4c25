"""Figures: one kind per file; plotly for pages, matplotlib for PNG, SVG and PDF, imported when something is drawn.

Colours go by position, never by algorithm. Every number comes from `cwndlab.metrics`.
"""

from cwndlab.plots.bars import bars
from cwndlab.plots.boxes import boxes
from cwndlab.plots.cdf import CDFS, cdf
from cwndlab.plots.charts import Chart, Curve
from cwndlab.plots.curves import curves
from cwndlab.plots.heat import heat
from cwndlab.plots.palette import COLOURS
from cwndlab.plots.phase import phase
from cwndlab.plots.series import SERIES, series
from cwndlab.plots.share import share

__all__ = [
    "CDFS",
    "COLOURS",
    "SERIES",
    "Chart",
    "Curve",
    "bars",
    "boxes",
    "cdf",
    "curves",
    "heat",
    "phase",
    "series",
    "share",
]


def __dir__() -> list[str]:
    return __all__
