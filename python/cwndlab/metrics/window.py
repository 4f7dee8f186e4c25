"""The interval that a metric covers, and counters over it. All metrics share it; it is no metric itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from cwndlab.records import Records


def bounds(records: Records, start_s: float | None, end_s: float | None) -> tuple[float, float]:
    """Start and end in seconds: as given, else the scenario's ``measure_from`` and the end of the run."""
    row = records.rows("runs")[0]
    start = row["measure_from_ns"] / 1e9 if start_s is None else start_s
    end = row["duration_ns"] / 1e9 if end_s is None else end_s
    return start, end


def gains(table: pl.DataFrame, key: str, counters: list[str], start_s: float, end_s: float) -> pl.DataFrame:
    """What cumulative ``counters`` gained per ``key`` between the last sample at or before ``start_s`` and ``end_s``.

    A flow that begins later counts from zero.
    """
    until = (
        table.filter(pl.col("time_ns") <= round(end_s * 1e9))
        .group_by(key, maintain_order=True)
        .agg(pl.col(counters).last())
    )
    before = (
        table.filter(pl.col("time_ns") <= round(start_s * 1e9))
        .group_by(key, maintain_order=True)
        .agg(pl.col(counters).last())
    )
    joined = until.join(before, on=key, how="left", suffix="_before")
    return joined.select(
        key,
        *(
            (pl.col(name).cast(pl.Float64) - pl.col(f"{name}_before").fill_null(0).cast(pl.Float64)).alias(name)
            for name in counters
        ),
    )


def alive(records: Records, start_s: float, end_s: float) -> pl.DataFrame:
    """Per flow the time in seconds within the interval after its start."""
    begin = pl.max_horizontal(pl.col("start_ns") / 1e9, pl.lit(start_s))
    return records.flows.select("flow", "algorithm", (pl.lit(end_s) - begin).clip(lower_bound=1e-9).alias("alive_s"))


def bottleneck(records: Records) -> tuple[int, str]:
    """Index and name of the bottleneck: the link so called, else the most used one of those that are sampled."""
    links = records.links
    named = links.filter(pl.col("name") == "bottleneck")
    if len(named) == 0:
        sampled = records.link_samples["link"].unique()
        named = links.filter(pl.col("link").is_in(sampled.implode())).sort("utilisation", descending=True).head(1)
    return int(named["link"][0]), str(named["name"][0])


def link_gains(records: Records, counters: list[str], start_s: float, end_s: float) -> dict[str, float]:
    """What the bottleneck's counters gained over the interval."""
    index, _ = bottleneck(records)
    table = gains(records.link_samples.filter(pl.col("link") == index), "link", counters, start_s, end_s)
    return {name: float(table[name][0]) if len(table) else 0.0 for name in counters}
