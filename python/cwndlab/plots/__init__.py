"""Figures: one kind per file; plotly for pages, matplotlib for PNG and SVG, imported when something is drawn.

Colours go by position, never by algorithm. Every number comes from `cwndlab.metrics`.
"""

from cwndlab.plots.bars import bars
from cwndlab.plots.curves import Chart, Curve, curves
from cwndlab.plots.palette import COLOURS
from cwndlab.plots.series import SERIES, series
from cwndlab.plots.share import share

__all__ = ["COLOURS", "SERIES", "Chart", "Curve", "bars", "curves", "series", "share"]
