"""Distribution functions: RTT, queueing delay, completion times; one line per run, all flows together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.metrics import distribution
from cwndlab.metrics.distribution import Of
from cwndlab.plot.palette import colour
from cwndlab.plot.panels import titled
from cwndlab.plot.style import SCREEN, Style

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Kinds, and their axes.
CDFS: dict[Of, str] = {
    "rtt": "RTT, ms",
    "queue": "delay in the bottleneck's queue, ms",
    "completion": "completion time, s",
}
#: Points per line at most.
MOST_POINTS = 400


class Steps(NamedTuple):
    """One distribution: values ascending and the share, in %, of what is at most so large."""

    values: list[float]
    shares: list[float]


def steps(records: Records, of: Of) -> Steps:
    """The distribution of a run, thinned to evenly spaced shares where it has many values; both ends are kept."""
    table = distribution(records, of)
    if len(table) > MOST_POINTS:
        wanted = (table["share"] * MOST_POINTS).ceil()
        first = wanted.ne_missing(wanted.shift(-1))
        table = table.filter(first | (table["value"] == table["value"][0]))
    return Steps(table["value"].round_sig_figs(5).to_list(), (100 * table["share"]).round(3).to_list())


def cdf(runs: Mapping[str, Records] | Records, of: Of, targets: Mapping[str, str] | None = None) -> Any:
    """A plotly figure; nothing where no run has a value. ``runs`` are as for `series`; ``targets`` is what a click on a
    run's line opens.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> figure = cwndlab.plot.cdf(records, "rtt")
    >>> len(figure.data)
    1
    """
    import plotly.graph_objects as go

    found = {name: steps(records, of) for name, records in titled(runs).items()}
    if not any(one.values for one in found.values()):
        return None
    figure = go.Figure()
    for position, (name, one) in enumerate(found.items()):
        figure.add_trace(
            go.Scatter(
                x=one.values,
                y=one.shares,
                name=name,
                meta=(targets or {}).get(name),
                mode="lines",
                line={"shape": "hv", "color": colour(position), "width": 1.6},
                hovertemplate="%{y:.1f} % have at most %{x:.4g}",
            )
        )
    figure.update_layout(
        height=320,
        margin={"l": 60, "r": 20, "t": 40, "b": 50},
        showlegend=len(found) > 1,
        legend={"orientation": "h", "y": 1.0, "yref": "container", "yanchor": "top", "x": 1, "xanchor": "right"},
    )
    figure.update_xaxes(title_text=CDFS[of], rangemode="tozero")
    figure.update_yaxes(title_text="share with at most this, %", range=[0, 101])
    return figure


def draw(runs: Mapping[str, Records], of: Of, path: str, style: Style = SCREEN) -> bool:
    """The same by matplotlib; answers whether there was anything to draw."""
    from matplotlib.figure import Figure

    found = {name: steps(records, of) for name, records in runs.items()}
    if not any(one.values for one in found.values()):
        return False
    with style.applied():
        figure = Figure(figsize=style.size(6, 3.6), layout="constrained")
        axis = figure.subplots()
        for position, (name, one) in enumerate(found.items()):
            look = style.line(position, len(one.values))
            axis.plot(one.values, one.shares, drawstyle="steps-post", label=name, **look)
        axis.set_xlim(left=0)
        axis.set_ylim(0, 101)
        axis.set_xlabel(CDFS[of])
        axis.set_ylabel("share with at most this, %")
        axis.grid(alpha=0.3)
        if len(found) > 1:
            axis.legend(frameon=False)
        style.save(figure, path)
    return True
