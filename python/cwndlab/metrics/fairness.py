"""Fairness: Jain's index (R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cwndlab.errors import ArgumentError, Parameter, unknown_name
from cwndlab.metrics.core import MeasuredRun, of_run
from cwndlab.metrics.goodput import goodput_bps
from cwndlab.metrics.over_time import flows_over_time
from cwndlab.metrics.sharing import rivals

if TYPE_CHECKING:
    from cwndlab.records import Records


def jain(values: Sequence[float]) -> float | None:
    """(Σx)² / (n Σx²): 1 where all are equal, 1/n where one has everything; nothing where all are zero, and nothing of
    fewer than two values, among which nothing is shared. `fairness` computes it from records.

    >>> round(jain([58, 72, 68]), 3)
    0.992
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares and len(values) > 1 else None


def _of_flows(run: MeasuredRun, flows: Collection[int]) -> float | None:
    rates = goodput_bps(run)[list(flows)]
    return jain(rates[~np.isnan(rates)].tolist())


@of_run("Jain index", "", direction=1, source="R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984")
def _jain(run: MeasuredRun) -> float | None:
    """(Σx)² / (n Σx²) over the goodputs x of the n flows that compete."""
    return _of_flows(run, rivals(run))


FAIRNESS = (_jain,)


def fairness(
    records: Records,
    *,
    flows: Sequence[str] | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> pl.DataFrame:
    """One row: ``jain`` of the goodputs of ``flows`` (their names) that lived in the interval; by default of those that
    share a bottleneck in one direction (`cwndlab.metrics.sharing`). Null where no two flows do, or only one lived.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> cwndlab.metrics.fairness(records, start_s=6)["jain"].round(2).to_list()
    [0.57]
    """
    run = MeasuredRun(records, start_s, end_s)
    return pl.DataFrame({"jain": [_of_flows(run, _named(run, flows))]}, schema={"jain": pl.Float64})


def fairness_over_time(
    records: Records,
    *,
    window_s: float = 1.0,
    flows: Sequence[str] | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> pl.DataFrame:
    """One row per window: ``time_s`` (its end) and ``jain`` of the goodputs in it, of the flows that lived in it; which
    flows count is as in `fairness`.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("two-flows").with_(duration="8 s"), seed=1)
    >>> cwndlab.metrics.fairness_over_time(records, window_s=2)["jain"].round(2).to_list()
    [None, None, 0.52, 0.57]
    """
    table = flows_over_time(records, window_s=window_s, start_s=start_s, end_s=end_s)
    table = table.filter(pl.col("flow").is_in(_named(MeasuredRun(records), flows)))
    rows = [
        {"time_s": time, "jain": jain(part["goodput_bps"].drop_nulls().to_list())}
        for (time,), part in table.group_by("time_s", maintain_order=True)
    ]
    return pl.DataFrame(rows, schema={"time_s": pl.Float64, "jain": pl.Float64})


def _named(run: MeasuredRun, flows: Sequence[str] | None) -> list[int]:
    """The flows of these names; by default those that compete."""
    if flows is None:
        return rivals(run)
    names = [flows] if isinstance(flows, str) else list(flows)
    known = [row["name"] for row in run.flow_rows]
    if faults := [unknown_name(Parameter("flows"), "flow", name, known) for name in names if name not in known]:
        raise ArgumentError(*faults)
    return [row["flow"] for row in run.flow_rows if row["name"] in names]
