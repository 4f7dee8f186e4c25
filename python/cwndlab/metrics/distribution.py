"""Distributions: what part of all RTT samples, of the time, or of all transfers had at most this much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from cwndlab.errors import ScenarioError, unknown_name
from cwndlab.metrics.completion import completion_times
from cwndlab.metrics.core import MeasuredRun

if TYPE_CHECKING:
    from cwndlab.records import Records

Of = Literal["rtt", "queue", "completion"]


def distribution(records: Records, of: Of, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """The empirical distribution function F(x) = P(X ≤ x): ``value`` ascending and ``share`` in (0, 1].

    ``of`` is ``rtt``, the mean RTT of each sampling interval of each flow in ms, weighted by the number of RTT samples
    in it; ``queue``, the delay of the bytes that wait at the first bottleneck, 8 × bytes / rate in ms, at the sampling
    instants (where the rate varies, the time for which the oldest packet has waited); or ``completion``, completion
    times in s of the transfers that began within the interval. Empty where there is
    nothing. Raises ``ScenarioError`` for another word.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> rtts = cwndlab.metrics.distribution(records, "rtt")
    >>> rtts.columns
    ['value', 'share']
    """
    if of not in get_args(Of):
        raise ScenarioError(unknown_name("of", "distribution", of, get_args(Of)))
    run, weight = MeasuredRun(records, start_s, end_s), pl.lit(1.0)
    if of == "completion":
        times, _ = completion_times(run)
        return _cumulated(pl.DataFrame({"value": times}).with_columns(weight.alias("weight")))
    span = run.span
    inside = (pl.col("time_ns") > span.start_ns) & (pl.col("time_ns") <= span.end_ns)
    if of == "queue":
        found = records.link_samples.filter(inside).join(run.bottleneck_frame().head(1), on="link")
        by_rate = 8e3 * pl.col("queue_bytes") / pl.col("rate_bps")
        delay = pl.when("varies").then(pl.col("queue_age_ns") / 1e6).otherwise(by_rate)
        return _cumulated(found.select(delay.alias("value"), weight.alias("weight")))
    gained = [
        (pl.col(name) - pl.col(name).shift(1, fill_value=0).over("flow")).alias(name)
        for name in ("rtt_sum_ns", "rtt_count")
    ]
    gains = records.samples.sort("flow", "time_ns").with_columns(gained).filter(inside & (pl.col("rtt_count") > 0))
    found = gains.drop_nulls("rtt_sum_ns")
    mean = pl.col("rtt_sum_ns") / pl.col("rtt_count") / 1e6
    return _cumulated(found.select(mean.alias("value"), pl.col("rtt_count").cast(pl.Float64).alias("weight")))


def _cumulated(found: pl.DataFrame) -> pl.DataFrame:
    steps = found.group_by("value").agg(pl.col("weight").sum()).sort("value")
    return steps.select("value", (pl.col("weight").cum_sum() / pl.col("weight").sum()).alias("share"))
