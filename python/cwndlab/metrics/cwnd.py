"""Mean congestion window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import MeasuredRun, Numbers, flow_table, of_flows

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_flows("cwnd", "segments", source="RFC 5681, section 2")
def mean_cwnd_segments(run: MeasuredRun) -> Numbers:
    """Mean of cwnd at the sampling instants / SMSS."""
    return run.mean("cwnd_bytes", until=run.flows["end_ns"]) / run.flows["mss_bytes"]


CWND = (mean_cwnd_segments,)


def cwnd(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_cwnd_segments`` = mean of the windows at the sampling instants, while the flow lived, / SMSS.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.cwnd(records)["mean_cwnd_segments"].round(1).to_list()
    [139.0]
    """
    return flow_table(MeasuredRun(records, start_s, end_s), CWND)
