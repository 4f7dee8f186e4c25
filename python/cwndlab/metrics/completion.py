"""Completion times of transfers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cwndlab.metrics.core import MeasuredRun, Metric, Numbers

if TYPE_CHECKING:
    from cwndlab.records import Records

_STATISTICS: dict[str, Callable[[Numbers], Any]] = {
    "mean_completion_s": np.mean,
    "median_completion_s": np.median,
    "p95_completion_s": lambda times: np.quantile(times, 0.95),
    "p99_completion_s": lambda times: np.quantile(times, 0.99),
}
_SCHEMA = {"transfers": pl.UInt32, **dict.fromkeys(_STATISTICS, pl.Float64)}
#: Transfers by size, each class up to so many bytes: those of M. Alizadeh et al., "pFabric", SIGCOMM 2013.
SIZES_BYTES = {"short": 100_000, "medium": 10_000_000, "long": None}


def completion_times(run: MeasuredRun, *, larger_than: float = -1.0, up_to: float = np.inf) -> tuple[Numbers, Numbers]:
    """Completion times in seconds, and the flow of each, of the transfers that began within the interval and were
    completed in the run, by their sizes in bytes."""
    begin, size = run.transfers["start_ns"], run.transfers["size_bytes"]
    inside = (begin >= run.span.start_ns) & (begin < run.span.end_ns) & (size > larger_than) & (size <= up_to)
    return (run.transfers["end_ns"] - begin)[inside] / 1e9, run.transfers["flow"][inside]


def _row(times: Numbers) -> dict[str, Any]:
    found = {name: float(of(times)) if len(times) else None for name, of in _STATISTICS.items()}
    return {"transfers": len(times)} | found


def _by_size(run: MeasuredRun, sizes_bytes: Mapping[str, int | None]) -> Iterator[dict[str, Any]]:
    least = 0
    for name, most in sizes_bytes.items():
        times, _ = completion_times(run, larger_than=least, up_to=np.inf if most is None else most)
        yield {"size": name} | _row(times)
        least = most or least


def _metric(name: str, title: str, formula: str) -> Metric:
    def one(run: MeasuredRun) -> float | None:
        times, _ = run.once(completion_times)
        return _STATISTICS[name](times) if len(times) else None

    return Metric(name, title, "s", direction=-1, formula=f"{formula} of end − start of the transfers", one=one)


def _metric_of_size(size: str, title: str) -> Metric:
    def one(run: MeasuredRun) -> float | None:
        found: dict[str, Any] = next(row for row in _by_size(run, SIZES_BYTES) if row["size"] == size)
        return found["p95_completion_s"]  # type: ignore[no-any-return]

    formula = f"95th percentile of end − start of the transfers {title}"
    source = 'M. Alizadeh et al., "pFabric", SIGCOMM 2013'
    name, title = f"p95_{size}_completion_s", f"completion {title}, 95th percentile"
    return Metric(name, title, "s", direction=-1, formula=formula, source=source, one=one)


COMPLETION = (
    _metric("mean_completion_s", "completion", "Mean"),
    _metric("p95_completion_s", "completion, 95th percentile", "95th percentile"),
    _metric("median_completion_s", "completion, median", "Median"),
    _metric("p99_completion_s", "completion, 99th percentile", "99th percentile"),
)
COMPLETION_BY_SIZE = (
    _metric_of_size("short", "to 100 kB"),
    _metric_of_size("medium", "to 10 MB"),
    _metric_of_size("long", "over 10 MB"),
)


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
    ('short', 244, 0.13)
    """
    times, flow = completion_times(MeasuredRun(records, start_s, end_s))
    rows = [{"flow": one} | _row(times[flow == one]) for one in np.unique(flow).tolist()]
    found = pl.DataFrame(rows, schema={"flow": records.flows.schema["flow"], **_SCHEMA})
    return records.flows.select("flow", "name", "algorithm").join(found, on="flow", maintain_order="left")


def total_completion(records: Records, *, start_s: float | None = None, end_s: float | None = None) -> pl.DataFrame:
    """One row: the same over the transfers of all flows; the times are null where there are none.

    Examples
    --------
    >>> import cwndlab
    >>> records = cwndlab.run(cwndlab.presets.load("short-flows").with_(duration="2 s"), seed=1)
    >>> cwndlab.metrics.total_completion(records)["transfers"].to_list()
    [244]
    """
    times, _ = completion_times(MeasuredRun(records, start_s, end_s))
    return pl.DataFrame([_row(times)], schema=_SCHEMA)


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
    [('short', 241), ('medium', 3), ('long', 0)]
    """
    rows = list(_by_size(MeasuredRun(records, start_s, end_s), sizes_bytes))
    return pl.DataFrame(rows, schema={"size": pl.String, **_SCHEMA})
