"""Friendliness: what the flows of one algorithm get beside another over what they get beside their own kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics.goodput import goodput

if TYPE_CHECKING:
    from cwndlab.records import Records


def friendliness(
    records: Records, baseline: Records, *, algorithm: str, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """One row: ``friendliness`` = goodput of the flows of ``algorithm`` (as the table ``flows`` writes it) in
    ``records`` / that of the same flows in ``baseline``, where all flows are of that algorithm.

    1 where the other algorithm leaves them what their own kind would, 0 where it starves them; null where they get
    nothing in ``baseline`` either.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> def run(other):
    ...     flows = [cwndlab.Flow("reno", rtt="40 ms"), cwndlab.Flow(other, rtt="40 ms")]
    ...     return cwndlab.run(cwndlab.Scenario(duration="10 s", dumbbell=path, flows=flows), seed=1)
    >>> mixed, same = run("cubic"), run("reno")
    >>> table = cwndlab.metrics.friendliness(mixed, same, algorithm="reno+standard/rack")
    >>> table["friendliness"].round(2).to_list()
    [0.88]
    """
    mixed = goodput(records, start_s=start_s, end_s=end_s).filter(pl.col("algorithm") == algorithm)
    alone = goodput(baseline, start_s=start_s, end_s=end_s).filter(pl.col("flow").is_in(mixed["flow"].implode()))
    for place, table in (("records", mixed), ("baseline", alone.filter(pl.col("algorithm") == algorithm))):
        if len(table) == 0 or len(table) != len(mixed):
            known = ", ".join(sorted(set((records if place == "records" else baseline).flows["algorithm"])))
            raise ScenarioError(
                Fault(place, f"not all of the flows compared are of '{algorithm}'", f"there are {known}")
            )
    numerator, denominator = float(mixed["goodput_bps"].sum()), float(alone["goodput_bps"].sum())
    return pl.DataFrame(
        {"friendliness": [numerator / denominator if denominator else None]},
        schema={"friendliness": pl.Float64},
    )
