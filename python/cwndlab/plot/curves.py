"""Curves: the mean of a metric with its 95 % interval over one swept field, with a line per value of another field. If
the field has names instead of quantities, bars replace the lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cwndlab.metrics.core import Metric
from cwndlab.plot.description import Axis, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.plot.palette import COLOURS
from cwndlab.statistics import Estimate

#: Maximum number of lines; the first ones are drawn.
MOST_LINES = len(COLOURS)
_QUANTITY = re.compile(r"[-+]?\.?\d")


def is_ordered(values: Sequence[str]) -> bool:
    """Whether the values of a field are quantities, such as ``10 ms``.

    >>> is_ordered(["5 Mbps", "10 Mbps"]), is_ordered(["droptail", "codel"])
    (True, False)
    """
    return all(map(_QUANTITY.match, values))


def curves(
    across: tuple[str, Sequence[str]],
    lines: Mapping[str, Sequence[Estimate | None]],
    column: Metric,
    targets: Sequence[Sequence[str]] = (),
    thresholds: Sequence[tuple[float, str]] = (),
) -> Figure:
    """A line for each of ``lines`` over the field ``across`` (its name and its values), or a group of bars.

    ``targets`` are the addresses that clicks on each line's points open, ``thresholds`` values that are marked.

    Examples
    --------
    >>> import cwndlab
    >>> from cwndlab.statistics import estimate
    >>> lines = {"cubic": [estimate([9e6, 9.2e6]), estimate([18e6, 19e6])]}
    >>> column = cwndlab.metrics.COLUMNS["goodput_bps"]
    >>> figure = cwndlab.plot.curves(("rate", ["10 Mbps", "20 Mbps"]), lines, column, targets=[["", ""]])
    >>> len(figure.to_plotly().data)
    1
    """
    factor, ordered = column.factor, is_ordered(across[1])
    series = [
        Series(
            name,
            list(across[1]),
            [one.mean * factor if one is not None and one.n else None for one in estimates],
            position=position,
            low=[None if one is None or one.low is None else one.low * factor for one in estimates],
            high=[None if one is None or one.high is None else one.high * factor for one in estimates],
            kind="line" if ordered else "bars",
            signs=ordered,
            opens=targets[position] if targets else "",
        )
        for position, (name, estimates) in enumerate(list(lines.items())[:MOST_LINES])
    ]
    return Figure(
        name="curves",
        title=f"{column.heading} by {across[0]}",
        x=Axis(across[0], categories=list(across[1])),
        panels=(Panel(Axis(column.heading, from_zero=True), series, thresholds=tuple(thresholds)),),
        pixels=270,
        inches=(6, 3.8),
    )
