"""What a metric is, and the run's columns that the formulas read.

Each metric is declared once, in the file of its formula: a `Metric` with its name, title, unit, direction, formula and
source. The tables of this package, `cwndlab.metrics.summary`, the command line, the pages and the documentation read
the declarations.

Formulas are sums over numpy arrays, which `MeasuredRun` reads when they are used. A frame costs more than a short run's
few rows: those are read as plain rows, and only long tables become frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from cwndlab.metrics import interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cwndlab.records import Records

Numbers: TypeAlias = "NDArray[np.float64]"
Table: TypeAlias = "Callable[..., pl.DataFrame]"

_COUNTERS = ("delivered_bytes", "sent_bytes", "retransmitted_bytes", "retransmitted_packets", "timeouts")
_FLOWS = (
    *_COUNTERS,
    "start_ns",
    "end_ns",
    "mss_bytes",
    "wire_bytes",
    "recoveries",
    "ecn_reductions",
    "min_rtt_ns",
    "base_rtt_ns",
    "mean_rtt_ns",
)
_SAMPLES = ("time_ns", "flow", *_COUNTERS, "congestion_events", "srtt_ns", "cwnd_bytes", "rtt_sum_ns", "rtt_count")
_LINK_COUNTERS = ("sent_bytes", "dropped_packets", "lost_packets", "arrived_packets", "carriable_bytes")
_LINK_SAMPLES = ("time_ns", "link", *_LINK_COUNTERS, "queue_packet_ns", "queue_byte_ns", "queue_age_ns")
# Totals of a run whose names differ from those of the counters that samples have: columns that add up to them, and
# means over the run that lead to integrals.
_FLOW_TOTALS = {"congestion_events": ("recoveries", "timeouts", "ecn_reductions")}
_LINK_INTEGRALS = {"queue_packet_ns": "mean_queue_packets", "queue_byte_ns": "mean_queue_bytes"}
# A table of up to so many rows is read as rows: a frame costs as much as some hundred of them.
_FEW_ROWS = 256


@dataclass(frozen=True)
class Metric:
    """A metric, declared once, by `of_run`, `of_flows` or `of_links` at its formula.

    Attributes
    ----------
    name
        As rows, files and the command line have it; it ends with the unit of the values.
    title, unit
        As tables and figures show it.
    factor
        Leads from the values to the shown unit.
    direction
        1 where more of it is wanted, −1 where less, 0 where neither.
    source
        Whence the definition is; empty where it is nobody's in particular.
    formula
        What is computed, in a line.
    one
        The value of a run, where it does not follow from ``flows`` or ``links``.
    flows
        The value of each flow, not a number where a flow has none. Of several flows the values are put together by
        ``together``, which also gives the value of the run where there is no ``one``.
    links
        The value of each bottleneck; that of the run is the first one's.
    counts
        Whether its values are whole numbers.
    competed_for
        Whether more for one flow is less for another.
    """

    name: str
    title: str
    unit: str
    factor: float = 1.0
    direction: int = 0
    source: str = ""
    formula: str = ""
    one: Callable[[MeasuredRun], float | None] | None = None
    flows: Callable[[MeasuredRun], Numbers] | None = None
    links: Callable[[MeasuredRun], Numbers] | None = None
    together: Literal["mean", "sum", "min"] = "mean"
    counts: bool = False
    competed_for: bool = False

    @property
    def heading(self) -> str:
        """Title and unit in one line."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    def __call__(self, run: MeasuredRun) -> Numbers:
        """The value of each flow, or of each bottleneck."""
        values = self.flows or self.links
        assert values is not None, f"{self.name} has a value of the run alone"
        return values(run)

    def value(self, run: MeasuredRun, flows: Sequence[int] | None = None) -> float | None:
        """The value of a run, or of some of its ``flows`` (their indices); null where it has none."""
        value: Any = None
        if self.one is not None and flows is None:
            value = self.one(run)
        elif self.flows is not None:
            values = self(run) if flows is None else self(run)[list(flows)]
            known = values[~np.isnan(values)]
            value = _TOGETHER[self.together](known) if len(known) else None
        elif self.links is not None and run.bottlenecks:
            value = self(run)[0]
        return None if value is None or np.isnan(value) else float(value)


_TOGETHER: dict[str, Callable[[Numbers], Any]] = {"mean": np.mean, "sum": np.sum, "min": np.min}


def _declare(
    kind: str, title: str, unit: str, factor: float = 1.0, **more: Any
) -> Callable[[Callable[[MeasuredRun], Any]], Metric]:
    """Declares the metric that a function computes, under its name without underscores at its ends; its docstring is
    the formula. The parameters are those of `Metric`."""

    def declare(function: Callable[[MeasuredRun], Any]) -> Metric:
        formula = " ".join((function.__doc__ or "").split()).rstrip(".")
        return Metric(function.__name__.strip("_"), title, unit, factor, formula=formula, **more | {kind: function})

    return declare


#: Declare what a function computes for a run, for each of its flows, for each of its bottlenecks.
of_run, of_flows, of_links = (partial(_declare, kind) for kind in ("one", "flows", "links"))


def of_bytes(title: str, **more: Any) -> Callable[[Callable[[MeasuredRun], Numbers]], Metric]:
    """Declares the rate of the bytes of each flow that a function computes: over the time that the flow lived of the
    interval, and that of the run over the whole interval."""

    def declare(function: Callable[[MeasuredRun], Numbers]) -> Metric:
        declared: Metric = of_flows(title, "Mbit/s", 1e-6, together="sum", competed_for=True, **more)(function)
        return replace(
            declared,
            one=lambda run: float(8 * function(run).sum() / run.span.seconds),
            flows=lambda run: function(run) * run.bps_per_byte,
        )

    return declare


class MeasuredRun:
    """A run within an interval, as arrays in the order of its flows and of its bottlenecks."""

    def __init__(self, records: Records, start_s: float | None = None, end_s: float | None = None) -> None:
        run = interval.run_of(records)
        self.records = records
        self.span = interval.bounds(records, start_s, end_s)
        self.step_ns = int(run["sample_interval_ns"])
        self._duration_ns = int(run["duration_ns"])
        #: What a counter of each flow gained within the interval.
        self.gained: Callable[[str], Numbers] = cache(self._gained)
        #: What a counter of each bottleneck gained within the interval.
        self.link_gained: Callable[[str], Numbers] = cache(self._link_gained)
        #: What a function computes of the run.
        self.once: Callable[[Callable[[MeasuredRun], Any]], Any] = cache(lambda function: function(self))
        #: The table of a metric over the interval.
        self.table: Callable[[Table], pl.DataFrame] = cache(
            lambda metric: metric(records, start_s=start_s, end_s=end_s)
        )

    @cached_property
    def flow_rows(self) -> list[dict[str, Any]]:
        """Totals of each flow."""
        return self.records.rows("flows")

    @cached_property
    def flows(self) -> dict[str, Numbers]:
        """Columns of ``flows``."""
        return _columns(self.flow_rows, _FLOWS)

    @cached_property
    def link_rows(self) -> list[dict[str, Any]]:
        """Totals of each link."""
        return self.records.rows("links")

    @cached_property
    def bottlenecks(self) -> list[Mapping[str, Any]]:
        """Totals of each bottleneck, the first one first."""
        return interval.bottlenecks(self.link_rows, set(self._link_samples["link"].tolist()))

    @cached_property
    def samples(self) -> dict[str, Numbers]:
        """Columns of ``samples``."""
        return _read(self.records, "samples", _SAMPLES)

    @cached_property
    def transfers(self) -> dict[str, Numbers]:
        """Columns of ``transfers``."""
        return _read(self.records, "transfers", ("flow", "start_ns", "end_ns", "size_bytes"))

    @cached_property
    def _link_samples(self) -> dict[str, Numbers]:
        return _read(self.records, "link_samples", _LINK_SAMPLES)

    @cached_property
    def flow_of(self) -> NDArray[np.intp]:
        """The flow of each sample."""
        return self.samples["flow"].astype(np.intp)

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which samples lie within the interval."""
        time = self.samples["time_ns"]
        return (time > self.span.start_ns) & (time <= self.span.end_ns)

    @cached_property
    def bps_per_byte(self) -> Numbers:
        """8 bits / the time that each flow lived of the interval, from its start until all was acknowledged; not a
        number where it did not."""
        begin = np.maximum(self.flows["start_ns"], self.span.start_ns)
        end = np.fmin(self.flows["end_ns"], self.span.end_ns)
        lived = end > begin
        return np.where(lived, 8e9 / np.where(lived, end - begin, 1.0), np.nan)

    def _gained(self, name: str) -> Numbers:
        if self.span.end_ns != self._duration_ns:
            until = self.at(self.span.end_ns, name)
        else:
            until = sum((self.flows[part] for part in _FLOW_TOTALS.get(name, (name,))), np.zeros(len(self.flow_rows)))
        return until - self.at(self.span.start_ns, name)

    def at(self, time_ns: int, name: str) -> Numbers:
        """A column of the sample of each flow at a sampling instant; zero where it has none."""
        found = np.zeros(len(self.flow_rows))
        # No sample is taken at the beginning.
        if time_ns > 0:
            now = self.samples["time_ns"] == time_ns
            found[self.flow_of[now]] = self.samples[name][now]
        return found

    def mean(self, name: str, *, until: Numbers | None = None) -> Numbers:
        """Mean over the samples of each flow within the interval, and up to ``until``, that have a value."""
        values = self.samples[name]
        inside = self.inside & ~np.isnan(values)
        if until is not None:
            inside &= ~(self.samples["time_ns"] > until[self.flow_of])
        flow, count = self.flow_of[inside], len(self.flow_rows)
        total = np.bincount(flow, weights=values[inside], minlength=count)
        return ratio(total, np.bincount(flow, minlength=count))

    def gained_by_last(self, name: str) -> Numbers:
        """What a counter of each flow gained from the start to the flow's last sample within the interval."""
        last = np.zeros(len(self.flow_rows))
        # The last one of each flow stays: rows are in the order of time.
        flow = self.flow_of[self.inside]
        last[flow] = self.samples[name][self.inside]
        counted = np.bincount(flow, minlength=len(last)) > 0
        return last - np.where(counted, self.at(self.span.start_ns, name), 0.0)

    def of_links(self, name: str) -> Numbers:
        """A column of ``links``, of each bottleneck."""
        return np.array([link[name] for link in self.bottlenecks], dtype=np.float64)

    def _link_gained(self, name: str) -> Numbers:
        if self.span.end_ns != self._duration_ns:
            until = self._link_at(self.span.end_ns, name)
        elif name in _LINK_INTEGRALS:
            until = self.of_links(_LINK_INTEGRALS[name]) * self._duration_ns
        else:
            until = self.of_links(name)
        return until - self._link_at(self.span.start_ns, name)

    def _link_at(self, time_ns: int, name: str) -> Numbers:
        samples = self._link_samples
        if time_ns == 0:
            return np.zeros(len(self.bottlenecks))
        now = samples["time_ns"] == time_ns
        known = dict(zip(samples["link"][now].tolist(), samples[name][now].tolist(), strict=True))
        return np.array([known.get(link["link"], 0.0) for link in self.bottlenecks], dtype=np.float64)

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Bottlenecks whose waiting times do not follow from the bytes in the queue and the rate: the rate varies, or
        they are sampled on an 802.11 medium, which they share with others."""
        aged = self._link_samples["link"][~np.isnan(self._link_samples["queue_age_ns"])]
        return ~np.isnan(self.of_links("carriable_bytes")) | np.isin(self.of_links("link"), aged)

    def bottleneck_frame(self) -> pl.DataFrame:
        """``link``, ``rank``, ``name``, ``rate_bps`` and ``varies`` of each bottleneck."""
        rows = [
            {**link, "rank": rank, "varies": varies}
            for rank, (link, varies) in enumerate(zip(self.bottlenecks, self.varies.tolist(), strict=True))
        ]
        schema: dict[str, Any] = {"link": self.records.links.schema["link"], "rank": pl.UInt32, "name": pl.String}
        return pl.DataFrame(rows, schema=schema | {"rate_bps": pl.Float64, "varies": pl.Boolean})

    def first(self, table: Table, column: str) -> float | None:
        """A column of the first row of a table of a metric."""
        values = self.table(table)[column]
        return values[0] if len(values) else None

    def mean_over_flows(self, table: Table, column: str, **where: object) -> float | None:
        """The mean over the flows of a table that have a value, in the rows that have the values of ``where``."""
        return self.table(table).filter(**where)[column].mean()  # type: ignore[return-value]


def by_flow(table: Table, column: str) -> Callable[[MeasuredRun], Numbers]:
    """The value of each flow that a table has a row of."""

    def flows(run: MeasuredRun) -> Numbers:
        found = run.table(table)
        values = np.full(len(run.flow_rows), np.nan)
        values[found["flow"].to_numpy()] = found[column].cast(pl.Float64).to_numpy()
        return values

    return flows


def flow_values(records: Records, name: str, values: Mapping[int, float]) -> pl.DataFrame:
    """A table with a row per flow: ``name`` has the ``values`` of the flows that are in them."""
    column = pl.col("flow").replace_strict(values, default=None, return_dtype=pl.Float64)
    return records.flows.select("flow", "name", "algorithm", column.alias(name))


def flow_table(run: MeasuredRun, metrics: Iterable[Metric]) -> pl.DataFrame:
    """A row per flow: ``flow``, ``name``, ``algorithm``, and the metrics."""
    named = run.records.flows.select("flow", "name", "algorithm")
    return named.with_columns(_series(one, one(run)) for one in metrics)


def link_table(run: MeasuredRun, metrics: Iterable[Metric]) -> pl.DataFrame:
    """A row per bottleneck, the first one first: its name as ``link``, and the metrics."""
    named = pl.DataFrame({"link": [link["name"] for link in run.bottlenecks]}, schema={"link": pl.String})
    return named.with_columns(_series(one, one(run)) for one in metrics)


def run_table(run: MeasuredRun, metrics: Iterable[Metric]) -> pl.DataFrame:
    """One row: the metrics of the run."""
    return pl.DataFrame([pl.Series(one.name, [one.value(run)], dtype=pl.Float64) for one in metrics])


def _series(metric: Metric, values: Numbers) -> pl.Series:
    if metric.counts:
        return pl.Series(metric.name, values.astype(np.int64))
    return pl.Series(metric.name, values, nan_to_null=True)


def ratio(total: NDArray[Any], count: NDArray[Any]) -> Numbers:
    """``total`` / ``count``; not a number where that is zero."""
    found: Numbers = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return found


def _read(records: Records, table: str, names: Sequence[str]) -> dict[str, Numbers]:
    """Columns as floats: whole numbers are exact up to 2^53, which is 104 days in ns and 9 PB; null is NaN."""
    height = records.height(table)
    if height == 0:
        return dict.fromkeys(names, np.zeros(0))
    if height <= _FEW_ROWS:
        return _columns(records.rows(table), names)
    frame = records.frame(table)
    return {name: frame[name].to_numpy().astype(np.float64) for name in names}


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Numbers]:
    """Columns of plain rows, of which there is at least one, as floats."""
    values = np.array(list(map(itemgetter(*names), rows)), dtype=np.float64)
    return dict(zip(names, np.ascontiguousarray(values.T), strict=True))
