"""Distribution functions: RTT, queueing delay, completion times; one line per run, all flows together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.metrics import distribution
from cwndlab.metrics.distribution import Of
from cwndlab.plot.description import Axis, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.plot.panels import titled
from cwndlab.plot.series import positions

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Kinds, and their axes.
CDFS: dict[Of, str] = {
    "rtt": "RTT, ms",
    "queue": "delay in the bottleneck's queue, ms",
    "completion": "completion time, s",
}
#: Maximum number of points per line.
MOST_POINTS = 400


class Steps(NamedTuple):
    """One distribution: ascending values, and for each the share, in %, of values up to it."""

    values: list[float]
    shares: list[float]


def steps(records: Records, of: Of) -> Steps:
    """The distribution of a run, thinned to evenly spaced shares if it has many values; both ends are kept."""
    table = distribution(records, of)
    if len(table) > MOST_POINTS:
        wanted = (table["share"] * MOST_POINTS).ceil()
        first = wanted.ne_missing(wanted.shift(-1))
        table = table.filter(first | (table["value"] == table["value"][0]))
    return Steps(table["value"].round_sig_figs(5).to_list(), (100 * table["share"]).round(3).to_list())


def cdf(runs: Mapping[str, Records] | Records, of: Of, targets: Mapping[str, str] | None = None) -> Figure | None:
    """A line for each run; ``None`` if no run has a value.

    ``runs`` are as for `series`; ``targets`` are the addresses that clicks on the runs' lines open.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> figure = cwndlab.plot.cdf(records, "rtt")
    >>> len(figure.to_plotly().data)
    1
    """
    runs = titled(runs)
    distributions = {name: steps(records, of) for name, records in runs.items()}
    if not any(one.values for one in distributions.values()):
        return None
    # With several runs, a line has the colour of its run; the line of a single run does not belong to one flow.
    first = 0 if len(runs) > 1 else 1 + max(positions(runs)[next(iter(runs))].values(), default=-1)
    lines = [
        Series(name, one.values, one.shares, kind="steps", position=position, opens=(targets or {}).get(name, ""))
        for position, (name, one) in enumerate(distributions.items(), first)
    ]
    return Figure(
        name=f"cdf-{of}",
        title=f"distribution of {CDFS[of]}",
        x=Axis(CDFS[of], from_zero=True),
        panels=(Panel(Axis("share with at most this, %", ends=(0, 101)), lines),),
        pixels=230,
    )
