"""Timeouts, retransmissions and congestion events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import MeasuredRun, Numbers, flow_table, of_flows

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records


@of_flows("congestion events", "", together="sum", counts=True, source="RFC 9438")
def congestion_events(run: MeasuredRun) -> Numbers:
    """Recoveries + timeouts + ECN reductions."""
    return run.gained("congestion_events")


@of_flows("resent", "packets", direction=-1, together="sum", counts=True)
def retransmitted_packets(run: MeasuredRun) -> Numbers:
    """Packets retransmitted."""
    return run.gained("retransmitted_packets")


@of_flows("timeouts", "", direction=-1, together="sum", counts=True, source="RFC 6298, section 5")
def _timeouts(run: MeasuredRun) -> Numbers:
    """Retransmission timers expired."""
    return run.gained("timeouts")


TIMEOUTS = (congestion_events, retransmitted_packets, _timeouts)


def timeouts(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow over the interval: ``timeouts`` (expired retransmission timers), ``retransmitted_packets``,
    ``congestion_events`` (recoveries, timeouts, ECN reductions: one per window, RFC 9438).

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.timeouts(records).select("timeouts", "retransmitted_packets").row(0)
    (0, 234)
    """
    return flow_table(MeasuredRun(records, start_s, end_s), TIMEOUTS[::-1])
