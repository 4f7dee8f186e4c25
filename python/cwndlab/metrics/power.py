"""Power: throughput over delay (L. Kleinrock, ICC 1979, "Power and Deterministic Rules of Thumb"; normalised there)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics.rtt import rtt
from cwndlab.metrics.utilisation import utilisation

if TYPE_CHECKING:
    from cwndlab.records import Records


def power(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``power`` = utilisation of the first bottleneck / (mean RTT / base RTT, mean over flows): 1 where the
    line is full and nothing waits, a half where it is full and RTTs have doubled. Null without a bottleneck or RTTs.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("single"), seed=1)
    >>> cwndlab.metrics.power(records)["power"].round(2).to_list()
    [0.54]
    """
    busy = utilisation(records, start_s=start_s, end_s=end_s)["utilisation"]
    means = rtt(records, start_s=start_s, end_s=end_s).join(records.flows.select("flow", "base_rtt_ns"), on="flow")
    stretch = means.select((pl.col("mean_rtt_ms") * 1e6 / pl.col("base_rtt_ns")).alias("stretch"))["stretch"].mean()
    found = float(busy[0]) / float(stretch) if len(busy) and stretch else None  # type: ignore[arg-type]
    return pl.DataFrame({"power": [found]}, schema={"power": pl.Float64})
