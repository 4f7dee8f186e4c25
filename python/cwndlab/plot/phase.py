"""Phase plots: the second flow's window against the first one's, from the start of the run to its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.errors import ArgumentError, parameter_fault
from cwndlab.metrics import flows_over_time
from cwndlab.plot.description import Axis, Panel, Series
from cwndlab.plot.figure import Figure
from cwndlab.plot.palette import COLOURS
from cwndlab.plot.panels import end_s

if TYPE_CHECKING:
    from cwndlab.records import Records

# Maximum number of points of a path.
_MOST_POINTS = 500
_GRAY = COLOURS.index("#808080")


class Path(NamedTuple):
    """The windows of the first two flows of a run while both exist."""

    time_s: list[float]
    first: list[float]
    second: list[float]


def path_of(records: Records) -> Path:
    """Seconds, the first flow's window and the second one's, in segments; empty in a run with fewer than two flows, of
    flows without a window, and without samples."""
    if len(records.flows) < 2:
        return Path([], [], [])
    table = flows_over_time(records, window_s=end_s([records]) / _MOST_POINTS, start_s=0.0)
    first, second = (
        table.filter(flow=flow).select("time_s", "cwnd_segments").drop_nulls()
        for flow in records.flows["flow"].head(2).to_list()
    )
    both = first.join(second, on="time_s", suffix="_second", maintain_order="left")
    windows = (both[name].round_sig_figs(5).to_list() for name in ("cwnd_segments", "cwnd_segments_second"))
    return Path(both["time_s"].round(4).to_list(), *windows)


def _names(runs: Iterable[Records]) -> tuple[str, list[str]]:
    """The axis of the first window, which all panels have in common, and that of the second one of each."""
    names = [records.flows["name"].head(2).to_list() for records in runs]
    firsts = {first for first, _ in names}
    across = names[0][0] if len(firsts) == 1 else "the first flow"
    return f"cwnd of {across}, segments", [f"cwnd of {second}, segments" for _, second in names]


def phase(runs: Mapping[str, Records] | Records, name: str = "", target: str = "") -> Figure:
    """The second flow's window over the first one's; on the dashed line both are equal.

    ``runs`` are records by the title of their panel, or those of one run with the title ``name``; runs with two flows
    are drawn, of more flows the first two. ``target`` is the address that a click opens.

    Raises
    ------
    ArgumentError
        No run has two flows with windows.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> figure = cwndlab.plot.phase(records, "cubic and reno")
    >>> len(figure.to_plotly().data) > 1
    True
    """
    chosen = {name: runs} if not isinstance(runs, Mapping) else runs
    paths = {title: path for title, records in chosen.items() if (path := path_of(records)).time_s}
    if not paths:
        hint = "give records of a run with two flows over TCP, and with samples"
        raise ArgumentError(parameter_fault("runs", "no run has two flows with windows", hint=hint))
    columns = min(3, len(paths))
    across, ups = _names(chosen[title] for title in paths)
    is_single = len(paths) == 1
    return Figure(
        name="phase",
        title=next(iter(paths)) if is_single and name else "window of the second flow",
        x=Axis(across, from_zero=True),
        panels=[
            Panel(Axis(up, from_zero=True), _lines(path, target), "" if is_single else title)
            for up, (title, path) in zip(ups, paths.items(), strict=True)
        ],
        columns=columns,
        shows_title=bool(name),
        legend=False,
        pixels=240,
        inches=(3.4 * columns + 0.6, 3.2 * -(-len(paths) // columns)),
    )


def _lines(path: Path, target: str) -> list[Series]:
    most = max([*path.first, *path.second, 1.0])
    equal = Series("both equal", [0.0, most], [0.0, most], position=_GRAY, published=True, legend=False)
    return [equal, Series("windows", path.first, list(path.second), "path", opens=target, times=path.time_s)]
