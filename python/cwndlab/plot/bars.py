"""Bars with 95 % intervals: one metric, one bar per algorithm."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.metrics.core import Metric
from cwndlab.plot.description import Axis, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.statistics import Estimate


def bars(
    labels: Sequence[str],
    estimates: Sequence[Estimate],
    column: Metric,
    targets: Sequence[str] | None = None,
    thresholds: Sequence[tuple[float, str]] = (),
) -> Figure:
    """A bar for each label. A label without a value has the word "none"; one without an interval has no error bar.

    ``targets`` are the addresses that clicks on the bars open, ``thresholds`` values that are marked.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.statistics import estimate
    >>> goodput = [estimate([48e6, 47e6, 48e6]), estimate([40e6, 41e6, 42e6])]
    >>> figure = cwndlab.plot.bars(["cubic", "reno"], goodput, cwndlab.metrics.COLUMNS["goodput_bps"])
    >>> type(figure).__name__
    'Figure'
    """
    factor = column.factor
    one = Series(
        column.title,
        list(labels),
        [estimate.mean * factor if estimate.n else None for estimate in estimates],
        kind="bars",
        position=range(len(labels)),
        low=[None if estimate.low is None else estimate.low * factor for estimate in estimates],
        high=[None if estimate.high is None else estimate.high * factor for estimate in estimates],
        opens=tuple(targets or ()),
        notes=[f"{_half(estimate, factor)}, n = {estimate.n}" for estimate in estimates],
    )
    return Figure(
        name="bars",
        title=column.heading,
        x=Axis("", categories=list(labels)),
        panels=(Panel(Axis(column.heading, from_zero=True), (one,), thresholds=tuple(thresholds)),),
        shows_title=True,
        legend=False,
        pixels=205,
        inches=(max(4, 1.1 * len(labels) + 1.5), 3.4),
    )


def _half(estimate: Estimate, factor: float) -> str:
    if estimate.is_constant:
        return " in all runs"
    return "" if estimate.half is None else f" ± {estimate.half * factor:.2g}"
