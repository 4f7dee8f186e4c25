"""Completion times of transfers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from cwndlab.records import Records

_SPAN_S = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
_STATISTICS = (
    pl.len().alias("transfers"),
    _SPAN_S.mean().alias("mean_completion_s"),
    _SPAN_S.median().alias("median_completion_s"),
    _SPAN_S.quantile(0.95, "linear").alias("p95_completion_s"),
    _SPAN_S.quantile(0.99, "linear").alias("p99_completion_s"),
)
#: Transfers by size, each class up to so many bytes: those of M. Alizadeh et al., "pFabric", SIGCOMM 2013.
SIZES_BYTES = {"short": 100_000, "medium": 10_000_000, "long": None}


def completion(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """Per flow: ``transfers``, and mean, median, 95th and 99th percentile of ``end − start``, from the request to the
    last byte at the receiving application.

    Of the transfers that began within the interval and were completed in the run; flows without any have no row.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("short-flows").with_(duration="2 s"), seed=1)
    >>> table = cwndlab.metrics.completion(records)
    >>> table["name"][0], table["transfers"][0], round(table["median_completion_s"][0], 2)
    ('short', 250, 0.12)
    """
    found = began(records, start_s, end_s).group_by("flow").agg(*_STATISTICS)
    return records.flows.select("flow", "name", "algorithm").join(found, on="flow", maintain_order="left")


def total_completion(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: the same over the transfers of all flows; the times are null where there are none.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("short-flows").with_(duration="2 s"), seed=1)
    >>> cwndlab.metrics.total_completion(records)["transfers"].to_list()
    [250]
    """
    return began(records, start_s, end_s).select(*_STATISTICS)


def completion_by_size(
    records: Records,
    *,
    sizes_bytes: Mapping[str, int | None] = SIZES_BYTES,
    start_s: float | None = None,
    end_s: float | None = None,
) -> pl.DataFrame:
    """Per class of sizes, the smallest first: ``size``, and the same over the transfers of all flows that are larger
    than the class before and have no more bytes than this one (null: any number). Every class has a row.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("short-flows").with_(duration="2 s"), seed=1)
    >>> cwndlab.metrics.completion_by_size(records).select("size", "transfers").rows()
    [('short', 246), ('medium', 4), ('long', 0)]
    """
    found, least = began(records, start_s, end_s), 0
    rows = []
    for name, most in sizes_bytes.items():
        size = pl.col("size_bytes")
        inside = (size > least) & (size <= most) if most is not None else size > least
        rows.append(found.filter(inside).select(pl.lit(name).alias("size"), *_STATISTICS))
        least = most or least
    return pl.concat(rows)


def began(records: Records, start_s: float | None, end_s: float | None) -> pl.DataFrame:
    """The transfers that began within the interval and were completed in the run."""
    span = interval.bounds(records, start_s, end_s)
    return records.transfers.filter((pl.col("start_ns") >= span.start_ns) & (pl.col("start_ns") < span.end_ns))
