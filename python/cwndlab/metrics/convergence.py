"""Convergence time: from the start of the second flow until its window is 80 % of the first one's (the CCM-SS
paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The share at which the flows count as converged.
SHARE = 0.8


def convergence(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: ``convergence_s`` = T3 − T2, T3 the first sample at which cwnd of flow 1 ≥ 0.8 cwnd of flow 0, T2
    the start
    of flow 1; nothing if that never happens or there are fewer than two flows. The interval does not matter."""
    flows = records.flows.sort("start_ns")
    found = None
    if len(flows) >= 2:
        first, second = flows["flow"][0], flows["flow"][1]
        begin = int(flows["start_ns"][1])
        sides = [
            records.samples.filter(pl.col("flow") == one).select("time_ns", "cwnd_bytes") for one in (first, second)
        ]
        both = sides[0].join(sides[1], on="time_ns", suffix="_second").filter(pl.col("time_ns") > begin)
        reached = both.filter(pl.col("cwnd_bytes_second") >= SHARE * pl.col("cwnd_bytes"))
        if len(reached):
            found = (int(reached["time_ns"][0]) - begin) / 1e9
    return pl.DataFrame({"convergence_s": [found]}, schema={"convergence_s": pl.Float64})
