"""Where the warm-up of a run ends, by MSER-5 (`cwndlab.statistics.mser`) on the goodput of all flows together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics.core import MeasuredRun
from cwndlab.statistics import mser

if TYPE_CHECKING:
    from cwndlab.records import Records


def warm_up(records: Records, *, end_s: float | None = None) -> float | None:
    """The seconds of the run's clock to leave out at its beginning: those that MSER-5 leaves out of the payload
    delivered per sampling interval. Nothing where it finds no cut in the first half, or the run has no samples.

    A flow that starts or ends on purpose in the middle of a run is not a warm-up; name a time there.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> cwndlab.metrics.warm_up(records)
    1.0
    """
    if len(records.samples) == 0:
        return None
    run = MeasuredRun(records, 0.0, end_s)
    totals = (
        records.samples.filter(pl.col("time_ns") <= run.span.end_ns)
        .group_by("time_ns")
        .agg(pl.col("delivered_bytes").sum())
        .sort("time_ns")
    )
    if totals.is_empty():
        return None
    # Nothing is delivered before the first sample of the first flow but in the interval that ends with it.
    gained = [0] * (int(totals["time_ns"][0]) // run.step_ns - 1)
    gained += totals["delivered_bytes"].diff().fill_null(totals["delivered_bytes"][0]).to_list()
    cut = mser(gained)
    return None if cut is None else cut * run.step_ns / 1e9
