"""Mean congestion window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import Measured, Metric, flow_table

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records

CWND = (
    Metric(
        "mean_cwnd_segments",
        "cwnd",
        "segments",
        formula="mean of cwnd at the sampling instants / SMSS",
        source="RFC 5681, section 2",
        flows=lambda run: run.mean("cwnd_bytes", until=run.flows["end_ns"]) / run.flows["mss_bytes"],
    ),
)


def cwnd(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``mean_cwnd_segments`` = mean of the windows at the sampling instants, while the flow lived, / SMSS.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.cwnd(records)["mean_cwnd_segments"].round(1).to_list()
    [140.7]
    """
    return flow_table(Measured(records, start_s, end_s), CWND)
