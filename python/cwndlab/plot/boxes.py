"""Box plots over seeds: median, quartiles and every run of a metric, one box per algorithm."""

from __future__ import annotations

from collections.abc import Mapping

from cwndlab.metrics.core import Metric
from cwndlab.plot.description import Axis, Panel, Series
from cwndlab.plot.figure import Figure


def boxes(
    values: Mapping[str, Mapping[int, float]], column: Metric, targets: Mapping[tuple[str, int], str] | None = None
) -> Figure:
    """A box for each algorithm of ``values``, by algorithm and seed; whiskers extend to 1.5 interquartile ranges (J. W.
    Tukey, 1977).

    ``targets`` is the address that a click on the point of an algorithm and a seed opens.

    Examples
    --------
    >>> import cwndlab
    >>> goodput = {"cubic": {1: 48e6, 2: 47e6, 3: 48e6}, "reno": {1: 40e6, 2: 41e6, 3: 42e6}}
    >>> figure = cwndlab.plot.boxes(goodput, cwndlab.metrics.COLUMNS["goodput_bps"], targets={})
    >>> len(figure.to_plotly().data)
    2
    """
    opens = targets or {}
    series = [
        Series(
            name,
            [name] * len(runs),
            [value * column.factor for value in runs.values()],
            kind="box",
            position=position,
            opens=[opens.get((name, seed), "") for seed in runs],
            notes=[f"seed {seed}" for seed in runs],
        )
        for position, (name, runs) in enumerate(values.items())
    ]
    return Figure(
        name="boxes",
        title=column.heading,
        x=Axis("", categories=list(values)),
        panels=(Panel(Axis(column.heading), series),),
        shows_title=True,
        legend=False,
        pixels=205,
        inches=(max(4, 1.1 * len(values) + 1.5), 3.4),
    )
