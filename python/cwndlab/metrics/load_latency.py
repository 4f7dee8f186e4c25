"""Latency under load: the increase of the RTT by a busy bottleneck, and responsiveness in round trips per minute
(draft-ietf-ippm-responsiveness)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics.core import MeasuredRun, of_run
from cwndlab.metrics.interval import check_number
from cwndlab.metrics.over_time import flows_over_time, links_over_time

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Share of a window for which a bottleneck under load is busy.
LOAD = 0.9


def load_latency(
    records: Records,
    *,
    window_s: float = 1.0,
    load: float = LOAD,
    start_s: float | None = None,
    end_s: float | None = None,
) -> pl.DataFrame:
    """Per flow: ``load_latency_ms`` = mean RTT − base RTT over the windows of ``window_s`` in which the first
    bottleneck was busy for at least the share ``load``; ``responsiveness_rpm`` = 60 000 ms / that mean RTT. Null if
    there is no such window, or the flow has no RTT in it.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.load_latency(records, window_s=0.2)["load_latency_ms"].round(1).to_list()
    [14.2]
    """
    check_number("load", load, example=LOAD, most=1.0)
    at = {"window_s": window_s, "start_s": start_s, "end_s": end_s}
    lines = links_over_time(records, **at)
    busy = lines.filter((pl.col("link") == (lines["link"][0] if len(lines) else "")) & (pl.col("utilisation") >= load))
    loaded = (
        flows_over_time(records, **at)
        .join(busy.select("time_s"), on="time_s", how="semi")
        .group_by("flow")
        .agg(pl.col("rtt_ms").mean())
    )
    return records.flows.join(loaded, on="flow", how="left", maintain_order="left").select(
        "flow",
        "name",
        "algorithm",
        (pl.col("rtt_ms") - pl.col("base_rtt_ns") / 1e6).alias("load_latency_ms"),
        (60_000 / pl.col("rtt_ms")).alias("responsiveness_rpm"),
    )


@of_run("latency under load", "ms", direction=-1, source="draft-ietf-ippm-responsiveness")
def load_latency_ms(run: MeasuredRun) -> float | None:
    """Mean RTT while the bottleneck is busy − base RTT; mean over flows."""
    return run.mean_over_flows(load_latency, "load_latency_ms")


@of_run("responsiveness under load", "1/min", direction=1, source="draft-ietf-ippm-responsiveness")
def responsiveness_rpm(run: MeasuredRun) -> float | None:
    """60 000 ms / mean RTT while the bottleneck is busy; mean over flows."""
    return run.mean_over_flows(load_latency, "responsiveness_rpm")


LOAD_LATENCY = (load_latency_ms, responsiveness_rpm)
