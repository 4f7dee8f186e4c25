"""Responsiveness: RTTs of lasting congestion until a flow has halved (RFC 5166, section 2.2.1; S. Floyd, M. Handley,
J. Padhye, "A Comparison of Equation-Based and AIMD Congestion Control", 2000)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import MeasuredRun, flow_values, of_run
from cwndlab.metrics.rounds import rounds

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


def responsiveness(
    records: Records, *, at_s: float | None = None, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """Per flow: ``halving_rtts``, the mean RTTs from ``at_s``, when congestion sets in, to the first sampling instant
    at which the window is at most half of what it was then. By default from the last instant before the flow's first
    congestion event in the interval.

    Null where it does not halve by the end: congestion may not have lasted, and an algorithm that cuts by less does not
    halve at once. A scenario with a lasting cause (a step of the rate, a new flow) and ``at_s`` ask what RFC 5166 asks.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("rate-steps"), seed=1)
    >>> cwndlab.metrics.responsiveness(records)["halving_rtts"].round().to_list()
    [64.0, 68.0]
    """
    found: dict[int, float] = {}
    for one in rounds(records, start_s, end_s):
        if at_s is not None:
            first = int(np.searchsorted(one.times_s, at_s, side="right")) - 1
        else:
            grown = np.flatnonzero(np.diff(one.events) > 0)
            first = int(grown[0]) if len(grown) else -1
        if first < 0:
            continue
        halved = np.flatnonzero(one.cwnd[first:] <= one.cwnd[first] / 2)
        if len(halved):
            since = one.times_s[first] if at_s is None else at_s
            found[one.flow] = float(one.times_s[first + int(halved[0])] - since) / one.round_s
    return flow_values(records, "halving_rtts", found)


@of_run("responsiveness", "RTTs", source="RFC 5166, section 2.2.1")
def halving_rtts(run: MeasuredRun) -> float | None:
    """RTTs of lasting congestion until cwnd has halved; mean over flows."""
    return run.mean_over_flows(responsiveness, "halving_rtts")


RESPONSIVENESS = (halving_rtts,)
