"""Harm to the other flow (R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, HotNets 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics.summary import COLUMNS, per_flow

if TYPE_CHECKING:
    from cwndlab.records import Records


def harm(
    records: Records,
    baseline: Records,
    *,
    metric: str = "goodput_bps",
    start_s: float | None = None,
    end_s: float | None = None,
) -> pl.DataFrame:
    """Per flow that both runs have, by its name: ``solo``, its ``metric`` in ``baseline``, where the flows that may
    harm it are not; ``beside``, the same in ``records``; ``harm``, the part of it that is lost.

    harm = (solo − beside) / solo where more of the metric is wanted, (beside − solo) / beside where less is: 0 without
    harm, 1 where all is lost, below 0 where the flow gains by the company. ``metric`` is a column of `per_flow` of
    which more or less is wanted, as goodput, RTT or completion time.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> user = cwndlab.Flow("reno", rtt="40 ms", name="user")
    >>> rival = cwndlab.Flow("cubic", rtt="40 ms", name="rival")
    >>> alone = cwndlab.run(cwndlab.Scenario(duration="10 s", dumbbell=path, flows=[user]), seed=1)
    >>> beside = cwndlab.run(cwndlab.Scenario(duration="10 s", dumbbell=path, flows=[user, rival]), seed=1)
    >>> table = cwndlab.metrics.harm(beside, alone)
    >>> table["name"].to_list(), table["harm"].round(2).to_list()
    (['user'], [0.55])
    """
    tables = [per_flow(one, start_s=start_s, end_s=end_s) for one in (records, baseline)]
    wanted = [name for name in tables[0].columns if name in COLUMNS and COLUMNS[name].direction]
    if metric not in wanted or metric not in tables[1].columns:
        raise ScenarioError(
            Fault("metric", f"'{metric}' is none by which a flow is harmed", f"take {', '.join(wanted)}")
        )
    beside, solo = (table.select("name", metric) for table in tables)
    both = beside.join(solo, on="name", suffix="_solo", maintain_order="left")
    if len(both) == 0:
        known = ", ".join(tables[1]["name"])
        raise ScenarioError(Fault("baseline", "has no flow that the records have", f"there are {known}"))
    now, then = pl.col(metric), pl.col(f"{metric}_solo")
    lost, of = (then - now, then) if COLUMNS[metric].direction > 0 else (now - then, now)
    return both.select("name", then.alias("solo"), now.alias("beside"), pl.when(of > 0).then(lost / of).alias("harm"))
