"""Time to fill the pipe: how long the first flow takes to keep the bottleneck busy; slow starts differ in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics.over_time import links_over_time

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The pipe is full when the line was busy for so much of a sampling interval.
FULL = 0.9


def fill(
    records: Records, *, full: float = FULL, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """One row: ``fill_s``, from the start of the first flow to the end of the first sampling interval in which the
    first bottleneck was busy for at least the part ``full``; null where it never was by ``end_s``.

    ``start_s`` does not matter: the flow's start does.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.fill(records)["fill_s"].to_list()
    [0.2]
    """
    lines = links_over_time(records, start_s=0.0, end_s=end_s)
    begin = float(records.flows["start_ns"].min()) / 1e9  # type: ignore[arg-type]
    first = lines["link"][0] if len(lines) else ""
    times = lines.filter((pl.col("link") == first) & (pl.col("utilisation") >= full) & (pl.col("time_s") > begin))
    return pl.DataFrame(
        {"fill_s": [float(times["time_s"][0]) - begin if len(times) else None]}, schema={"fill_s": pl.Float64}
    )
