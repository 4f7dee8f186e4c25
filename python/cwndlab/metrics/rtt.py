"""Round-trip time: mean over all samples, the sender's smoothed one, and the smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import Measured, Metric, Numbers, flow_table, ratio

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


def mean_rtts_ms(run: Measured) -> Numbers:
    """The mean RTT of each flow, in ms; not a number where it has no samples."""
    if len(run.samples["time_ns"]) == 0:
        return run.flows["mean_rtt_ns"] / 1e6
    return ratio(run.gained_by_last("rtt_sum_ns"), run.gained_by_last("rtt_count")) / 1e6


RTT = (
    Metric(
        "mean_rtt_ms",
        "RTT",
        "ms",
        direction=-1,
        formula="sum of the RTT samples / their number",
        source="RFC 5166, section 2.1.2",
        flows=mean_rtts_ms,
    ),
    Metric(
        "srtt_ms",
        "smoothed RTT",
        "ms",
        direction=-1,
        formula="mean of SRTT at the sampling instants",
        source="RFC 6298, section 2",
        flows=lambda run: run.mean("srtt_ns") / 1e6,
    ),
    Metric(
        "min_rtt_ms",
        "minimum RTT",
        "ms",
        formula="the smallest RTT sample of the run",
        flows=lambda run: run.flows["min_rtt_ns"] / 1e6,
        together="min",
    ),
)


def rtt(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_rtt_ms`` = sum of the RTT samples / their number; ``srtt_ms`` = mean of the smoothed RTT
    (RFC 6298) at the sampling instants; ``min_rtt_ms`` of the flow's whole life. Null where there is none.

    The sum ends with the last sampling instant of the interval; a run without samples has the mean of its whole life.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.rtt(records)["min_rtt_ms"].round(1).to_list()
    [20.0]
    """
    return flow_table(Measured(records, start_s, end_s), RTT)
