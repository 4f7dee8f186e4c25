"""Heat maps over two swept fields: the mean of a metric over seeds in each cell."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.metrics.core import Metric
from cwndlab.plot.description import Axis, Heat, Panel
from cwndlab.plot.figure import Figure


def heat(
    across: tuple[str, Sequence[str]],
    up: tuple[str, Sequence[str]],
    values: Sequence[Sequence[float | None]],
    column: Metric,
    targets: Sequence[Sequence[str]] = (),
) -> Figure:
    """A cell for each pair of values of the fields ``across`` and ``up`` (name and values).

    ``values`` are rows from the lowest value of ``up`` on; ``targets`` are the addresses that clicks on cells open.

    Examples
    --------
    >>> import cwndlab
    >>> column = cwndlab.metrics.COLUMNS["utilisation"]
    >>> rows = [[0.85, 0.98], [0.91, 0.99]]
    >>> buffers, rates = ("buffer", ["0.1 bdp", "1 bdp"]), ("rate", ["10 Mbps", "50 Mbps"])
    >>> figure = cwndlab.plot.heat(buffers, rates, rows, column, targets=[["", ""]] * 2)
    >>> len(figure.to_plotly().data)
    1
    """
    scaled = [[None if value is None else value * column.factor for value in row] for row in values]
    return Figure(
        name="heat",
        title=f"{column.heading} by {across[0]}" + (f" and {up[0]}" if up[0] else ""),
        x=Axis(across[0], categories=list(across[1])),
        panels=(Panel(Axis(up[0], categories=list(up[1])), heat=Heat(scaled, column.heading, targets)),),
        legend=False,
        pixels=max(200, 30 * len(up[1]) + 40),
        inches=(max(4, 0.6 * len(across[1]) + 2.2), 0.42 * len(up[1]) + 1.6),
    )
