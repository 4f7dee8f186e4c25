"""Small multiples over time: one panel per run, with common axes; in two columns if there are many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cwndlab.plot.description import Axis, Panel
from cwndlab.plot.figure import Figure

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Panels in one column; more are in two.
MOST_ABOVE = 3


def titled(runs: Mapping[str, Records] | Records) -> Mapping[str, Records]:
    """Runs by the title of their panel; the records of one run make one panel."""
    return runs if isinstance(runs, Mapping) else {"run": runs}


def over_time(name: str, title: str, panels: Sequence[Panel], end_s: float, *, legend: bool = True) -> Figure:
    """A figure of panels that share the time axis and the vertical axis."""
    columns = 1 if len(panels) <= MOST_ABOVE else 2
    rows = -(-len(panels) // columns)
    return Figure(
        name=name,
        title=title,
        x=Axis("time, s", from_zero=True, ends=(0, end_s)),
        panels=panels,
        columns=columns,
        shares_x=True,
        shares_y="all",
        legend=legend,
        unified=True,
        pixels=170 if rows > 1 else 260,
        inches=(8 if columns == 1 else 11, max(2.8, 1.7 * rows + 0.9)),
    )


def end_s(runs: Iterable[Records]) -> float:
    """The end of the longest of the runs, in seconds."""
    return max(int(records.rows("runs")[0]["duration_ns"]) for records in runs) / 1e9
