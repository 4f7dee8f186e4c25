"""Goodput: payload delivered in order for the first time, per time (RFC 5166, section 2.1.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import MeasuredRun, Numbers, flow_table, of_bytes, run_table

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_bytes("goodput", direction=1, source="RFC 5166, section 2.1.1")
def goodput_bps(run: MeasuredRun) -> Numbers:
    """8 × payload delivered in order for the first time / time."""
    return run.gained("delivered_bytes")


@of_bytes("sent − retransmitted", direction=1, source="the CCM-SS paper")
def sent_goodput_bps(run: MeasuredRun) -> Numbers:
    """8 × (payload sent − payload retransmitted) / time."""
    return run.gained("sent_bytes") - run.gained("retransmitted_bytes")


GOODPUT = (goodput_bps, sent_goodput_bps)


def goodput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``goodput_bps`` = 8 × delivered / time, ``sent_goodput_bps`` = 8 × (sent − retransmitted) / time, the
    form of the papers.

    The time is what the flow lived of the interval, from its start until all was acknowledged (the papers' transfer
    time). Null where it did not live in it.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> (cwndlab.metrics.goodput(records)["goodput_bps"] / 1e6).round(1).to_list()
    [44.6]
    """
    return flow_table(MeasuredRun(records, start_s, end_s), GOODPUT)


def total_goodput(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``goodput_bps`` and ``sent_goodput_bps`` of all flows together, over the whole interval.

    It is not a sum of the flows' goodputs, which are over the time that each one lived.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> (cwndlab.metrics.total_goodput(records, start_s=6)["goodput_bps"] / 1e6).round(1).to_list()
    [96.5]
    """
    return run_table(MeasuredRun(records, start_s, end_s), GOODPUT)
