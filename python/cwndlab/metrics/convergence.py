"""Convergence time T3 − T2 (the CCM-SS paper): how long after its start a second flow comes near the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The share of the first flow's window at which the second has converged.
SHARE = 0.8


def convergence(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``convergence_s`` = T3 − T2. T2 is the start of the second flow, T3 the first sampling instant after it
    at which the second flow's cwnd ≥ 0.8 × the first flow's while both live; first and second are by their starts.

    Null with a ``reason`` where that does not happen by ``end_s``. ``start_s`` does not matter: T2 does.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow("reno", rtt="40 ms", start="2 s")]
    >>> records = cwndlab.run(cwndlab.Scenario(duration="30 s", dumbbell=path, flows=flows), seed=1)
    >>> cwndlab.metrics.convergence(records).row(0)
    (1.4, None)
    """
    end = interval.bounds(records, 0.0, end_s).end_ns
    flows = records.flows.sort("start_ns", "flow").rows(named=True)
    if len(flows) < 2:
        return _row(None, "fewer than two flows")
    first, second = flows[:2]
    begin = int(second["start_ns"])
    last = min(int(one["end_ns"]) if one["end_ns"] is not None else end for one in (first, second))
    sides = [
        records.samples.filter(
            (pl.col("flow") == one["flow"]) & (pl.col("time_ns") > begin) & (pl.col("time_ns") <= min(last, end))
        ).select("time_ns", (pl.col("cwnd_bytes") / one["mss_bytes"]).alias("cwnd"))
        for one in (first, second)
    ]
    both = sides[0].join(sides[1], on="time_ns", suffix="_second").sort("time_ns")
    if len(both) == 0:
        return _row(None, "no sample while both flows live")
    reached = both.filter(pl.col("cwnd_second") >= SHARE * pl.col("cwnd"))["time_ns"]
    if len(reached) == 0:
        return _row(None, f"not within {(int(both['time_ns'][-1]) - begin) / 1e9:.4g} s")
    return _row((int(reached[0]) - begin) / 1e9, None)


def _row(seconds: float | None, reason: str | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"convergence_s": [seconds], "reason": [reason]}, schema={"convergence_s": pl.Float64, "reason": pl.String}
    )
