"""δ-fair convergence time (D. Bansal, H. Balakrishnan, S. Floyd, S. Shenker, SIGCOMM 2001, section 4.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval
from cwndlab.metrics.core import MeasuredRun, of_run
from cwndlab.metrics.over_time import flows_over_time

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The δ of the paper's figures.
DELTA = 0.1


def delta_fairness(
    records: Records,
    *,
    delta: float = DELTA,
    window_s: float = 1.0,
    start_s: float | None = None,
    end_s: float | None = None,
) -> pl.DataFrame:
    """One row: ``delta_fair_s``, from the start of the last flow to the end of the first window of ``window_s`` in
    which every flow has at least (1 − δ) / n of the goodput of all n; ``reason`` where that does not happen by
    ``end_s``.

    With two flows it is the paper's: from (B − b₀, b₀) to ((1 + δ) / 2 · B, (1 − δ) / 2 · B). Only windows in which all
    flows live count. ``start_s`` does not matter.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow("reno", rtt="40 ms", start="2 s")]
    >>> records = cwndlab.run(cwndlab.Scenario(duration="30 s", dumbbell=path, flows=flows), seed=1)
    >>> cwndlab.metrics.delta_fairness(records).row(0)
    (5.0, None)
    """
    interval.check_number("delta", delta, example=DELTA, most=1.0)
    interval.check_number("window_s", window_s, example=1.0)
    span = interval.bounds(records, 0.0, end_s)
    count = len(records.flows)
    if count < 2:
        return _row(None, "fewer than two flows")
    begin = int(records.flows["start_ns"].max())  # type: ignore[arg-type]
    if len(records.samples) == 0 or begin >= span.end_ns:
        return _row(None, "no sample while all flows live")
    table = flows_over_time(records, window_s=window_s, start_s=0.0, end_s=end_s)
    shares = (
        table.filter(pl.col("time_s") > begin / 1e9)
        .group_by("time_s")
        .agg(pl.len().alias("flows"), pl.col("share").min())
        .filter(pl.col("flows") == count)
        .sort("time_s")
    )
    reached = shares.filter(pl.col("share") >= (1 - delta) / count)["time_s"]
    if len(shares) == 0:
        return _row(None, "no sample while all flows live")
    if len(reached) == 0:
        return _row(None, f"not within {float(shares['time_s'][-1]) - begin / 1e9:.4g} s")
    return _row(float(reached[0]) - begin / 1e9, None)


def _row(seconds: float | None, reason: str | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"delta_fair_s": [seconds], "reason": [reason]}, schema={"delta_fair_s": pl.Float64, "reason": pl.String}
    )


@of_run("δ-fair convergence", "s", direction=-1, source="D. Bansal et al., SIGCOMM 2001, section 4.2.2")
def delta_fair_s(run: MeasuredRun) -> float | None:
    """Time from the start of the last flow until each of n flows has (1 − δ) / n of the goodput, with δ = 0.1."""
    return run.first(delta_fairness, "delta_fair_s")


DELTA_FAIRNESS = (delta_fair_s,)
