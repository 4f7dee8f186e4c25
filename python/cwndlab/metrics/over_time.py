"""Metrics over time: one value per window of the interval, for flows and for bottlenecks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics.core import MeasuredRun
from cwndlab.metrics.interval import Span, check_number

if TYPE_CHECKING:
    from cwndlab.records import Records

_FLOW = ("delivered_bytes", "retransmitted_packets", "rtt_sum_ns", "rtt_count")
# A window that is longer than any run has the same rows; its nanoseconds are an integer of 64 bits.
_LONGEST_S = 1e9
_LINK = ("sent_bytes", "carriable_bytes", "dropped_packets", "queue_packet_ns", "queue_byte_ns")


def flows_over_time(
    records: Records, *, window_s: float | None = None, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """Per window and flow, while the flow lives: ``time_s`` (the window's end), ``cwnd_segments`` at that instant,
    ``goodput_bps`` = 8 × delivered / time, its ``share`` of all flows' goodputs, ``rtt_ms`` = sum of RTT samples /
    their number, ``retransmitted_packets``. Where the whole run has no RTT samples, as in a kernel, which reports the
    smoothed RTT alone, ``rtt_ms`` is that at the window's end.

    A window is the smallest multiple of the sampling interval that is no less than ``window_s``.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> table = cwndlab.metrics.flows_over_time(records, window_s=0.5)
    >>> table.select("time_s", "cwnd_segments").rows()
    [(0.5, 167.0), (1.0, 124.0)]
    """
    run = MeasuredRun(records, start_s, end_s)
    span, width_ns = run.span, _width_ns(run, window_s)
    flows = records.flows.select("flow", "name", "mss_bytes", "start_ns", "end_ns")
    table = (
        _instants(records.samples, span, width_ns).join(flows, on="flow", maintain_order="left").sort("flow", "time_ns")
    )
    lived = pl.min_horizontal("time_ns", "end_ns") - pl.max_horizontal("before_ns", "start_ns")
    table = _steps(table, "flow", _FLOW, span).with_columns(lived.alias("lived_ns")).filter(pl.col("lived_ns") > 0)
    rate = 8e9 * pl.col("delivered_bytes") / pl.col("lived_ns")
    all_flows = pl.col("delivered_bytes").sum().over("time_ns")
    rtt_ns: pl.Expr = pl.when(pl.col("rtt_count") > 0).then(pl.col("rtt_sum_ns") / pl.col("rtt_count"))
    if not records.samples["rtt_count"].sum():
        rtt_ns = pl.col("srtt_ns").cast(pl.Float64)
    return table.sort("time_ns", "flow").select(
        (pl.col("time_ns") / 1e9).alias("time_s"),
        "flow",
        "name",
        (pl.col("cwnd_bytes") / pl.col("mss_bytes")).alias("cwnd_segments"),
        rate.alias("goodput_bps"),
        pl.when(all_flows > 0).then(pl.col("delivered_bytes") / all_flows).alias("share"),
        (rtt_ns / 1e6).alias("rtt_ms"),
        "retransmitted_packets",
    )


def links_over_time(
    records: Records, *, window_s: float | None = None, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """Per window and bottleneck: ``time_s`` (the window's end), ``utilisation``, ``queue_packets`` and ``queue_ms``
    (time-weighted means), ``drops_per_s``, as the metrics of these names define them. Where the rate varies,
    ``queue_ms`` is the mean of the samples of the window: the time for which the oldest packet of the queue has waited.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> table = cwndlab.metrics.links_over_time(records, window_s=0.5)
    >>> table.filter(link="bottleneck")["utilisation"].round(2).to_list()
    [0.86, 1.0]
    """
    run = MeasuredRun(records, start_s, end_s)
    span, width_ns = run.span, _width_ns(run, window_s)
    table = _instants(_with_mean_age(records.link_samples, span, width_ns), span, width_ns)
    table = table.join(run.bottleneck_frame(), on="link").sort("link", "time_ns")
    table = _steps(table, "link", _LINK, span).sort("time_ns", "rank")
    length = pl.col("time_ns") - pl.col("before_ns")
    # In bit-nanoseconds, so that a full line has exactly 1; as floats, since 64-bit integers overflow above 9.2 Gbit/s.
    constant = pl.col("rate_bps") * length
    carriable = pl.when(pl.col("carriable_bytes").is_null()).then(constant).otherwise(8e9 * pl.col("carriable_bytes"))
    return table.select(
        (pl.col("time_ns") / 1e9).alias("time_s"),
        pl.col("name").alias("link"),
        pl.when(carriable > 0)
        .then((8e9 * pl.col("sent_bytes") / carriable).clip(upper_bound=1.0))
        .otherwise(0.0)
        .alias("utilisation"),
        (pl.col("queue_packet_ns") / length).alias("queue_packets"),
        pl.when("varies")
        .then(pl.col("mean_age_ns") / 1e6)
        .otherwise(8e3 * pl.col("queue_byte_ns") / length / pl.col("rate_bps"))
        .alias("queue_ms"),
        (1e9 * pl.col("dropped_packets") / length).alias("drops_per_s"),
    )


def _width_ns(run: MeasuredRun, window_s: float | None) -> int:
    """The length of a window, a multiple of the sampling interval."""
    check_number("window_s", 0.0 if window_s is None else window_s, example=1.0)
    step = max(1, run.step_ns)
    return max(1, math.ceil(round(min(window_s or 0.0, _LONGEST_S) * 1e9) / step)) * step


def _instants(samples: pl.DataFrame, span: Span, width_ns: int) -> pl.DataFrame:
    """The samples at the ends of the windows, and at the start of the first one."""
    time = pl.col("time_ns")
    inside = (time >= span.start_ns) & (time <= span.end_ns)
    return samples.filter(inside & ((time - span.start_ns) % width_ns == 0))


def _with_mean_age(samples: pl.DataFrame, span: Span, width_ns: int) -> pl.DataFrame:
    """The samples of links, with ``mean_age_ns``, the mean of ``queue_age_ns`` over the window that ends with each."""
    # A window has the samples after its start, up to and with its end.
    window = (pl.col("time_ns") - span.start_ns - 1) // width_ns
    return samples.with_columns(
        pl.col("queue_age_ns").mean().over("link", window).alias("mean_age_ns"),
    )


def _steps(table: pl.DataFrame, key: str, counters: tuple[str, ...], span: Span) -> pl.DataFrame:
    """Counters become what they gained since ``before_ns``, the instant before; the first ones count from zero."""
    before = pl.col("time_ns").shift(1, fill_value=span.start_ns).over(key).alias("before_ns")
    gained = [(pl.col(name) - pl.col(name).shift(1, fill_value=0).over(key)).alias(name) for name in counters]
    return table.with_columns(before, *gained).filter(pl.col("time_ns") > span.start_ns)
