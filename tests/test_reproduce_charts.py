"""Charts of reproductions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction import (
    catalogue,
)


def test_a_chart_of_all_variants_has_as_many_colours() -> None:
    """PHCC's figures have eleven: PHCC was drawn as STCP and HCC as Reno when the palette had eight."""
    from cwndlab.plot.palette import COLOURS

    variants = catalogue.PAPERS["phcc"].document["algorithms"]

    assert len(set(COLOURS)) == len(COLOURS) >= len(variants)


def test_an_axis_of_close_lines_does_not_begin_at_zero() -> None:
    """Indices of 0.9985 and 0.9990 are one line on an axis from 0 to 1; bars begin at zero all the same."""

    def mode(kind: Any, *values: float) -> str | None:
        chart = Chart("c", "C", "x", "y", [Curve("a", [1, 2], list(values))], kind=kind)
        found: str | None = chart.figure().spec()["layout"]["yaxis"].get("rangemode")
        return found

    assert mode("lines", 0.9985, 0.9990) is None
    assert mode("lines", 0.3, 0.9990) == "tozero"
    assert mode("bars", 0.9985, 0.9990) == "tozero"


@pytest.mark.parametrize("kind", ["lines", "points", "bars"])
def test_curves_are_drawn_both_ways(kind: Any, tmp_path: Path) -> None:
    ours = Curve("ours", ["a", "b"], [1.0, None], [0.5, None], [1.5, None], panel="left")
    theirs = Curve("published", ["a", "b"], [2.0, 3.0], panel="right", published=True)
    chart = Chart("both", "Both", "x", "y", [ours, theirs], kind=kind)
    figure = chart.figure().to_plotly()
    assert [list(trace.y) for trace in figure.data] == [[1.0, None], [2.0, 3.0]]
    assert [annotation.text for annotation in figure.layout.annotations] == ["left", "right"]
    for ending in ("svg", "png"):
        chart.figure().save(tmp_path / f"both.{ending}")
        assert (tmp_path / f"both.{ending}").stat().st_size > 1000
