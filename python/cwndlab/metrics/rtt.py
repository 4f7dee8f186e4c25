"""Round-trip time: mean over all samples, the sender's smoothed one, and the smallest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import MeasuredRun, Numbers, flow_table, of_flows, ratio

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_flows("RTT", "ms", direction=-1, source="RFC 5166, section 2.1.2")
def mean_rtt_ms(run: MeasuredRun) -> Numbers:
    """Sum of the RTT samples / their number."""
    if len(run.samples["time_ns"]) == 0:
        return run.flows["mean_rtt_ns"] / 1e6
    return ratio(run.gained_by_last("rtt_sum_ns"), run.gained_by_last("rtt_count")) / 1e6


@of_flows("smoothed RTT", "ms", direction=-1, source="RFC 6298, section 2")
def srtt_ms(run: MeasuredRun) -> Numbers:
    """Mean of SRTT at the sampling instants, while the flow lived."""
    return run.mean("srtt_ns", until=run.flows["end_ns"]) / 1e6


@of_flows("minimum RTT", "ms", together="min")
def min_rtt_ms(run: MeasuredRun) -> Numbers:
    """The smallest RTT sample of the run."""
    return run.flows["min_rtt_ns"] / 1e6


RTT = (mean_rtt_ms, srtt_ms, min_rtt_ms)


def rtt(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_rtt_ms`` = sum of the RTT samples / their number; ``srtt_ms`` = mean of the smoothed RTT
    (RFC 6298) at the sampling instants, while the flow lived; ``min_rtt_ms`` of the flow's whole life. Null where there
    is none.

    The sum ends with the last sampling instant of the interval; a run without samples has the mean of its whole life.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.rtt(records)["min_rtt_ms"].round(1).to_list()
    [20.0]
    """
    return flow_table(MeasuredRun(records, start_s, end_s), RTT)
