"""What the classes of traffic of a preset get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cwndlab import service

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Flows whose transfers are timed.
_TIMED = {"study_s": "ct", "priors_s": "priors"}


def measure_classes(records: Records) -> dict[str, float | None]:
    """Of each class the share of late messages, the median and the 99th percentile of their delay and the mean age of
    information; the times of the CT study and of prior studies; packets dropped by queues."""
    found: dict[str, float | None] = {}
    for row in service.measured(records):
        name = row["class"]
        found[f"{name}_late"] = 1 - row["in_time"] / row["decided"] if row["decided"] else None
        for percent in (50, 99):
            delay = row[f"p{percent}_delay_s"]
            found[f"{name}_delay_p{percent}_ms"] = None if delay is None else delay * 1e3
        found[f"{name}_age_s"] = row["age_mean_s"]
    transfers = records.transfers.join(records.flows.select("flow", "name"), on="flow")
    for metric, flow in _TIMED.items():
        ended = transfers.filter(pl.col("name").str.starts_with(flow) & pl.col("end_ns").is_not_null())
        times = (ended["end_ns"] - ended["start_ns"]).to_numpy() / 1e9
        found[metric] = float(times.mean()) if len(times) else None
    found["drops"] = float(records.flows["queue_drops"].sum())
    return found
