"""Figures: one kind per file, each a `Figure` that plotly draws on pages and matplotlib in PNG, SVG and PDF files.

Colours go by position, never by algorithm. Every number comes from `cwndlab.metrics`.
"""

from cwndlab.plot.bars import bars
from cwndlab.plot.boxes import boxes
from cwndlab.plot.cdf import CDFS, cdf
from cwndlab.plot.charts import Chart, Curve
from cwndlab.plot.curves import curves
from cwndlab.plot.figure import Figure
from cwndlab.plot.heat import heat
from cwndlab.plot.overview import overview
from cwndlab.plot.palette import COLOURS
from cwndlab.plot.phase import phase
from cwndlab.plot.series import SERIES, series
from cwndlab.plot.share import share

__all__ = [
    "CDFS",
    "COLOURS",
    "SERIES",
    "Chart",
    "Curve",
    "Figure",
    "bars",
    "boxes",
    "cdf",
    "curves",
    "heat",
    "overview",
    "phase",
    "series",
    "share",
]


def __dir__() -> list[str]:
    return __all__
