"""Smoothness: the largest reduction in one RTT (RFC 5166, section 2.2.1; S. Floyd, M. Handley, J. Padhye, "A
Comparison of Equation-Based and AIMD Congestion Control", 2000)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import MeasuredRun, flow_values, of_run
from cwndlab.metrics.rounds import rounds

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


def smoothness(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``largest_cut``, the largest part of its window that the flow gave up within one mean RTT: 0 is
    smoothest, 0.5 Reno's halving, 0.3 CUBIC's, next to 1 a timeout.

    From the windows at the sampling instants; where these are further apart than the RTT, over the time between two of
    them. What PRR leaves unsent in recovery counts as given up. Null where there are no two instants.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.smoothness(records)["largest_cut"].round(2).to_list()
    [0.17]
    """
    largest: dict[int, float] = {}
    for one in rounds(records, start_s, end_s):
        k = one.width
        before, after = one.cwnd[:-k], one.cwnd[k:]
        known = (before > 0) & np.isfinite(after)
        if np.any(known):
            cuts = 1 - after[known] / before[known]
            largest[one.flow] = max(0.0, float(np.max(cuts)))
    return flow_values(records, "largest_cut", largest)


@of_run("largest cut in an RTT", "%", 100.0, direction=-1, source="RFC 5166, section 2.2.1")
def largest_cut(run: MeasuredRun) -> float | None:
    """Largest part of its cwnd that a flow gives up within one RTT; mean over flows."""
    return run.mean_over_flows(smoothness, "largest_cut")


SMOOTHNESS = (largest_cut,)
