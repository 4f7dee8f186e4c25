"""Time to full utilisation: the time until the bottleneck is busy, a measure of slow starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics.core import MeasuredRun, of_run
from cwndlab.metrics.over_time import links_over_time

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Share of a sampling interval for which a fully used bottleneck is busy.
FULL = 0.9


def fill(
    records: Records, *, full: float = FULL, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """One row: ``time_to_full_utilisation_s``, from the start of the first flow to the end of the first sampling
    interval in which the first bottleneck was busy for at least the share ``full``; null if there is none by ``end_s``.

    ``start_s`` is ignored: the interval begins with the flow.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.fill(records)["time_to_full_utilisation_s"].to_list()
    [0.2]
    """
    lines = links_over_time(records, start_s=0.0, end_s=end_s)
    begin = float(records.flows["start_ns"].min()) / 1e9  # type: ignore[arg-type]
    first = lines["link"][0] if len(lines) else ""
    times = lines.filter((pl.col("link") == first) & (pl.col("utilisation") >= full) & (pl.col("time_s") > begin))
    duration = float(times["time_s"][0]) - begin if len(times) else None
    return pl.DataFrame({"time_to_full_utilisation_s": [duration]}, schema={"time_to_full_utilisation_s": pl.Float64})


@of_run("time to full utilisation", "s", direction=-1)
def time_to_full_utilisation_s(run: MeasuredRun) -> float | None:
    """Time from the start of the first flow until the bottleneck is 90 % busy."""
    return run.first(fill, "time_to_full_utilisation_s")


FILL = (time_to_full_utilisation_s,)
