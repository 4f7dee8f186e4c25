"""Windows from one round-trip time to the next; what the metrics of response to change share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from cwndlab.metrics.core import MeasuredRun
from cwndlab.metrics.rtt import mean_rtt_ms

if TYPE_CHECKING:
    from cwndlab.records import Records


class Rounds(NamedTuple):
    """A flow at the sampling instants of the interval at which it lived. ``round_s`` is its mean RTT; ``width`` the
    samples that are no less than it, ``part`` the RTT / the time that they span."""

    flow: int
    times_s: np.ndarray[Any, np.dtype[np.float64]]
    cwnd: np.ndarray[Any, np.dtype[np.float64]]
    open: np.ndarray[Any, np.dtype[np.bool_]]
    events: np.ndarray[Any, np.dtype[np.int64]]
    round_s: float
    width: int
    part: float


def rounds(records: Records, start_s: float | None, end_s: float | None) -> list[Rounds]:
    """Per flow with samples and RTTs. ``cwnd`` is in segments; ``open`` where the flow is neither in recovery nor in
    slow start: a window at or above ssthresh, or of a flow that never has one. Transfers that arrive each have a
    window, and their flow has none: it is not a number, and never ``open``."""
    run = MeasuredRun(records, start_s, end_s)
    span, step_s = run.span, run.step_ns / 1e9
    found = []
    for flow, mean_ms in zip(run.flow_rows, mean_rtt_ms(run).tolist(), strict=True):
        end_ns = flow["end_ns"]
        if math.isnan(mean_ms) or step_s == 0:
            continue
        low, high = max(span.start_ns, flow["start_ns"]), span.end_ns if end_ns is None else min(span.end_ns, end_ns)
        one = records.samples.filter(flow=flow["flow"]).sort("time_ns")
        threshold = one["ssthresh_bytes"]
        above = (one["cwnd_bytes"] >= threshold).fill_null(threshold.null_count() == len(threshold))
        above &= one["cwnd_bytes"].is_not_null()
        inside = one["time_ns"].is_between(low, high)
        width = max(1, math.ceil(mean_ms / 1e3 / step_s - 1e-9))
        found.append(
            Rounds(
                flow["flow"],
                one["time_ns"].filter(inside).to_numpy() / 1e9,
                one["cwnd_bytes"].filter(inside).cast(pl.Float64).to_numpy() / flow["mss_bytes"],
                (above & (one["state"] <= 1)).filter(inside).to_numpy(),
                one["congestion_events"].filter(inside).to_numpy(),
                mean_ms / 1e3,
                width,
                mean_ms / 1e3 / (width * step_s),
            )
        )
    return found
