"""Timeouts, retransmissions and congestion events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab.metrics.core import Measured, Metric, flow_table

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records

TIMEOUTS = (
    Metric(
        "congestion_events",
        "congestion events",
        "",
        formula="recoveries + timeouts + ECN reductions",
        source="RFC 9438",
        flows=lambda run: run.gained("congestion_events"),
        together="sum",
        counts=True,
    ),
    Metric(
        "retransmitted_packets",
        "resent",
        "packets",
        direction=-1,
        formula="packets retransmitted",
        flows=lambda run: run.gained("retransmitted_packets"),
        together="sum",
        counts=True,
    ),
    Metric(
        "timeouts",
        "timeouts",
        "",
        direction=-1,
        formula="retransmission timers expired",
        source="RFC 6298, section 5",
        flows=lambda run: run.gained("timeouts"),
        together="sum",
        counts=True,
    ),
)


def timeouts(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow over the interval: ``timeouts`` (expired retransmission timers), ``retransmitted_packets``,
    ``congestion_events`` (recoveries, timeouts, ECN reductions: one per window, RFC 9438).

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.timeouts(records).select("timeouts", "retransmitted_packets").row(0)
    (0, 235)
    """
    return flow_table(Measured(records, start_s, end_s), TIMEOUTS[::-1])
