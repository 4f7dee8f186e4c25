"""RTT fairness: how goodputs go with round-trip times (T. V. Lakshman, U. Madhow, IEEE/ACM ToN 5, 1997)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics.core import MeasuredRun, of_run
from cwndlab.metrics.goodput import goodput

if TYPE_CHECKING:
    from cwndlab.records import Records


def rtt_fairness(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``rtt_ratio``, the longest base RTT / the shortest; ``goodput_ratio``, the goodput at the shortest / at
    the longest (means where several flows have it); ``rtt_exponent``, the a of goodput ∝ RTT^−a by least squares over
    the logarithms of all flows.

    0 where the RTT does not matter, 1 where goodput goes with 1 / RTT, 2 for Reno at a drop-tail queue (Lakshman and
    Madhow: between 1 and 2). With two flows the exponent is ln ``goodput_ratio`` / ln ``rtt_ratio``. Null where all
    RTTs are equal, or a flow gets nothing.

    Examples
    --------
    >>> import cwndlab
    >>> scenario = cwndlab.presets.load("s1").with_(duration="5 s")
    >>> records = cwndlab.run(scenario, seed=1)
    >>> cwndlab.metrics.rtt_fairness(records)["rtt_ratio"].round(2).to_list()
    [1.9]
    """
    rates = goodput(records, start_s=start_s, end_s=end_s).join(records.flows.select("flow", "base_rtt_ns"), on="flow")
    means = (
        rates.drop_nulls("goodput_bps").group_by("base_rtt_ns").agg(pl.col("goodput_bps").mean()).sort("base_rtt_ns")
    )
    found: dict[str, float | None] = {"rtt_ratio": None, "goodput_ratio": None, "rtt_exponent": None}
    if len(means) >= 2 and int(means["base_rtt_ns"][0]) > 0:
        found["rtt_ratio"] = float(means["base_rtt_ns"][-1]) / float(means["base_rtt_ns"][0])
        if means["goodput_bps"][-1] > 0:
            found["goodput_ratio"] = float(means["goodput_bps"][0]) / float(means["goodput_bps"][-1])
        found["rtt_exponent"] = _exponent(rates.drop_nulls("goodput_bps"))
    return pl.DataFrame([found], schema=dict.fromkeys(found, pl.Float64))


def _exponent(rates: pl.DataFrame) -> float | None:
    if not (rates["goodput_bps"] > 0).all():
        return None
    logs = [(math.log(rtt), math.log(rate)) for rtt, rate in rates.select("base_rtt_ns", "goodput_bps").iter_rows()]
    x, y = (sum(column) / len(logs) for column in zip(*logs, strict=True))
    slope: float = sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, _ in logs)
    return -slope


@of_run("RTT exponent", "", source="T. V. Lakshman, U. Madhow, IEEE/ACM ToN 5, 1997")
def rtt_exponent(run: MeasuredRun) -> float | None:
    """The a of goodput ∝ RTT^−a, by least squares over flows."""
    return run.first(rtt_fairness, "rtt_exponent")


RTT_FAIRNESS = (rtt_exponent,)
