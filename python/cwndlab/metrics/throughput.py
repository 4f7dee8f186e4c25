"""Throughput: all bytes that a flow put on the wire, headers and retransmissions included, per time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cwndlab.metrics.core import MeasuredRun, Numbers, flow_table, of_bytes, run_table

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_bytes("throughput", source="RFC 5166, section 2.1.1")
def throughput_bps(run: MeasuredRun) -> Numbers:
    """8 × bytes put on the wire, headers and retransmissions included, / time."""
    sent, wire = run.flows["sent_bytes"], run.flows["wire_bytes"]
    return run.gained("sent_bytes") * np.divide(wire, sent, out=np.ones_like(wire), where=sent > 0)


THROUGHPUT = (throughput_bps,)


def throughput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``throughput_bps`` = 8 × bytes put on the wire / time, over what the flow lived of the interval.

    Samples count payload only: headers within an interval follow from the flow's mean share of them over its life,
    which is exact for the whole run.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> (cwndlab.metrics.throughput(records)["throughput_bps"] / 1e6).round(1).to_list()
    [50.0]
    """
    return flow_table(MeasuredRun(records, start_s, end_s), THROUGHPUT)


def total_throughput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``throughput_bps`` of all flows together, over the whole interval, as `total_goodput` is.

    It is not a sum of the flows' throughputs, which are over the time that each one lived.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> (cwndlab.metrics.total_throughput(records, start_s=6)["throughput_bps"] / 1e6).round(1).to_list()
    [100.5]
    """
    return run_table(MeasuredRun(records, start_s, end_s), THROUGHPUT)
