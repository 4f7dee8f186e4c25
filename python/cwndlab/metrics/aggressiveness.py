"""Aggressiveness: the largest increase in one RTT without congestion (RFC 5166, section 2.2.1; S. Floyd, M. Handley,
J. Padhye, "A Comparison of Equation-Based and AIMD Congestion Control", 2000)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import MeasuredRun, flow_values, of_run
from cwndlab.metrics.rounds import rounds

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


def aggressiveness(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``aggressiveness_segments``, the largest gain of the window over one mean RTT, in segments per RTT,
    outside of slow start and recovery and with no congestion event in between. 1 for Reno with an ACK per segment, a
    half with delayed ACKs; it is the rate's increase, in segments per RTT per RTT, where the RTT stays.

    From the windows at the sampling instants: where these are further apart than the RTT, the gain between two of them
    spread evenly over its RTTs. 0 where the window never grows, null where nothing is left to measure.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.aggressiveness(records)["aggressiveness_segments"].round(1).to_list()
    [1.0]
    """
    largest: dict[int, float] = {}
    for one in rounds(records, start_s, end_s):
        k = one.width
        free = one.open[:-k] & one.open[k:] & (one.events[:-k] == one.events[k:])
        if np.any(free):
            largest[one.flow] = max(0.0, float(np.max((one.cwnd[k:] - one.cwnd[:-k])[free])) * one.part)
    return flow_values(records, "aggressiveness_segments", largest)


@of_run("aggressiveness", "segments/RTT", source="RFC 5166, section 2.2.1")
def aggressiveness_segments(run: MeasuredRun) -> float | None:
    """Largest increase of cwnd in one RTT without congestion; mean over flows."""
    return run.mean_over_flows(aggressiveness, "aggressiveness_segments")


AGGRESSIVENESS = (aggressiveness_segments,)
