"""Phase plots: the second flow's window against the first one's, from the start of the run to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.plot.description import Axis, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.plot.palette import COLOURS
from cwndlab.plot.series import lines

if TYPE_CHECKING:
    from cwndlab.records import Records

# Maximum number of points of a path.
_MOST_POINTS = 500
_GRAY = COLOURS.index("#808080")


def path_of(records: Records) -> tuple[list[float], list[float], list[float]]:
    """Seconds, the first flow's window and the second one's, in segments, while both exist."""
    windows = lines(records, "cwnd", points=_MOST_POINTS)
    if len(windows) < 2:
        return [], [], []
    second = dict(zip(windows[1].time_s, windows[1].values, strict=True))
    both = [
        (time, first, other)
        for time, first in zip(windows[0].time_s, windows[0].values, strict=True)
        if first is not None and (other := second.get(time)) is not None
    ]
    times, firsts, others = zip(*both, strict=True) if both else ((), (), ())
    return list(times), list(firsts), list(others)


def _names(runs: Mapping[str, Records]) -> tuple[str, str]:
    records = next(iter(runs.values()))
    first, second, *_ = records.flows["name"].to_list()
    return f"cwnd of {first}, segments", f"cwnd of {second}, segments"


def phase(runs: Mapping[str, Records] | Records, name: str = "", target: str = "") -> Figure:
    """The second flow's window over the first one's; on the dashed line both are equal.

    ``runs`` are records by the title of their panel, or those of one run with the title ``name``; runs with two flows
    are drawn. ``target`` is the address that a click opens.

    Raises
    ------
    ArgumentError
        No run has two flows.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> figure = cwndlab.plot.phase(records, "cubic and reno")
    >>> len(figure.to_plotly().data) > 1
    True
    """
    chosen = {name: runs} if not isinstance(runs, Mapping) else runs
    chosen = {title: records for title, records in chosen.items() if len(records.flows) > 1}
    if not chosen:
        raise ArgumentError(parameter_fault("runs", "no run has two flows", hint="give records of a run with two"))
    columns = min(3, len(chosen))
    across, up = _names(chosen)
    is_single = len(chosen) == 1
    return Figure(
        name="phase",
        title=next(iter(chosen)) if is_single and name else "window of the second flow",
        x=Axis(across, from_zero=True),
        panels=[
            Panel(Axis(up, from_zero=True), _paths(records, target), "" if is_single else title)
            for title, records in chosen.items()
        ],
        columns=columns,
        shows_title=bool(name),
        legend=False,
        pixels=240,
        inches=(3.4 * columns + 0.6, 3.2 * -(-len(chosen) // columns)),
    )


def _paths(records: Records, target: str) -> list[Series]:
    times, first, second = path_of(records)
    most = max([*first, *second, 1.0])
    equal = Series("both equal", [0.0, most], [0.0, most], position=_GRAY, published=True, legend=False)
    return [equal, Series("windows", first, list(second), "path", opens=target, times=times)]
