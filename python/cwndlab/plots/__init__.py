"""Figures: one kind per file; plotly for pages, matplotlib for PNG and SVG. Colours go by position, never by
algorithm."""

from cwndlab.plots.bars import bars
from cwndlab.plots.series import SERIES, Trace, series, traces

__all__ = ["SERIES", "Trace", "bars", "series", "traces"]
