"""The result of a study: a row per run, means with intervals, paired differences with their verdicts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cwndlab.engine import version
from cwndlab.errors import ArgumentError, Parameter, RecordsError, unknown_name
from cwndlab.files import csv_cell, json_text
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.summary import requested
from cwndlab.records import Records, key_of
from cwndlab.service.judgement import frame, judge
from cwndlab.statistics import Decision, Difference, Estimate, estimate
from cwndlab.study.cells import MOST_NAMED, Cells, unmeasured
from cwndlab.study.differences import Test, columns_of, paired, tests, values, verdict_columns
from cwndlab.study.findings import lines
from cwndlab.study.header import Header
from cwndlab.study.rendering import Table, notebook
from cwndlab.study.spec import Outcome, Row
from cwndlab.study.store import Store, local, records_folder

if TYPE_CHECKING:
    import polars as pl

__all__ = ["JUDGED", "Result"]

#: The metrics that are compared by default: the family of Holm's correction.
JUDGED = (
    "goodput_bps",
    "utilisation",
    "loss_ratio",
    "drops_per_s",
    "jain",
    "queue_ms",
    "mean_rtt_ms",
    "retransmitted_packets",
    "timeouts",
    "convergence_s",
    "mean_completion_s",
)
#: The names for tab completion.
_PUBLIC = (
    *("against", "axes", "columns", "compared", "difference", "differences", "estimate", "examples", "findings"),
    *(
        "flows",
        "header",
        "labels",
        "levels",
        "metrics",
        "notes",
        "plot",
        "points",
        "read",
        "report",
        "runs",
        "save",
        "scenario",
    ),
    *("scenario_of", "seeds", "summary", "table", "title", "to_dict", "to_json", "values", "verdicts"),
)


class Result(Cells):
    """The result of a comparison or a sweep.

    Attributes
    ----------
    runs : polars.DataFrame
        A row per run: ``cell``, a column per label, ``seed``, each metric, ``packets``, ``host``, ``key`` and
        ``scenario_hash``; sorted by cell and seed. ``.to_pandas()`` converts it.
    points : polars.DataFrame
        A row per cell: ``cell``, its labels, ``scenario_hash`` and ``scenario`` (JSON).
    notes : list of str
        Remarks on how it was measured.
    examples : dict of str to Records
        The records of each algorithm's first seed, if a comparison kept them.

    Examples
    --------
    >>> import cwndlab
    >>> path = cwndlab.Dumbbell(bottleneck=cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[cwndlab.Flow("reno", rtt="40 ms")])
    >>> result = cwndlab.sweep(scenario, over={"flow[0].rtt": ["20 ms", "40 ms"]}, seeds=range(2))
    >>> result
    <Result: 2 cells of flow[0].rtt, 4 of 4 runs>
    >>> result.runs["flow[0].rtt"].to_list()
    ['20 ms', '20 ms', '40 ms', '40 ms']
    """

    def __init__(self, header: Header, points: pl.DataFrame, runs: pl.DataFrame, *, place: str = "") -> None:
        super().__init__(header, points, runs)
        self.place = place
        self.notes: list[str] = list(header.notes)
        self.examples: dict[str, Records] = {}
        self.outcome = Outcome(header.total, resumed=len(runs))

    def __dir__(self) -> list[str]:
        return [*_PUBLIC, *(name for name in super().__dir__() if name.startswith("__"))]

    @classmethod
    def of(cls, store: Store) -> Result:
        """The last study of an open store."""
        points = store.points()
        header = Header.of(store.manifest["study"])
        rows = store.runs(header.engine, header.measure).drop("engine", "measure", "payload", strict=False)
        runs = points.drop("scenario").join(rows, on="scenario_hash", how="inner", maintain_order="left")
        if header.until is None:
            shift = runs["shift"] if "shift" in runs.columns else 0
            runs = runs.filter((runs["seed"] - shift).is_in(list(header.seeds)))
        elif header.added is not None:
            import polars as pl

            # The folder may have rows of other seeds, of an earlier study.
            past = runs["seed"] - max(header.seeds)
            added = pl.Series([header.added.get(str(cell), 0) for cell in runs["cell"]], dtype=pl.Int64)
            runs = runs.filter(runs["seed"].is_in(list(header.seeds)) | ((past > 0) & (past <= added)))
        runs = runs.drop("shift", strict=False)
        return cls(header, points, runs.sort("cell", "seed"), place=store.place)

    @classmethod
    def read(cls, place: str | Path) -> Result:
        """The result in a folder or at any URL that fsspec supports, complete or not.

        Raises
        ------
        RecordsError
            The place holds no result, or one of another version.
        """
        result = cls.of(Store(place))
        for label, scenario in result._hashes.items() if result.header.compared else ():
            folder = result.records_of(label, result.seeds[0])
            if folder is not None and folder.is_dir():
                with suppress(RecordsError):  # another process writes it, or was stopped while it did
                    records = Records.read(folder)
                    # An earlier comparison in the folder may have had an alternative of this name.
                    result.examples |= {label: records} if records.scenario_hash == scenario else {}
        return result

    @property
    def _hashes(self) -> dict[str, str]:
        """The hash of each cell's scenario, by the name of the cell."""
        pairs = self.points.select("cell", "scenario_hash").iter_rows()
        return {self.labels_by_cell[cell]: scenario for cell, scenario in pairs}

    def __repr__(self) -> str:
        names = [label.lstrip("@") for label in self.columns]
        named = (bool(self.header.compared) or not names) and len(self.labels) <= MOST_NAMED
        what = ", ".join(self.labels) if named else f"of {', '.join(names)}"
        cells = f"{len(self.points)} cell{'s' if len(self.points) > 1 else ''}"
        return f"<Result: {cells} {what}, {len(self.runs)} of {max(self.outcome.total, len(self.runs))} runs>"

    def _repr_html_(self) -> str:
        from cwndlab.study.tables import levels

        made = notebook(self.table(), [*lines(self.finding_rows()), *self.verdicts()])
        service = levels(self)
        return made + (service.to("html") if service.rows else "")

    # Numbers.

    def by_seed(self, metric: str) -> dict[str, dict[int, float]]:
        """A metric of every run: by the name of the cell, then by seed."""
        return {label: values(runs, metric) for label, runs in self._by_label.items()}

    def values(self, label: str, metric: str) -> list[float]:
        """A metric of a cell, one value per seed; runs without a value are left out."""
        self._check([metric])
        return list(values(self._of(label), metric).values())

    def estimate(self, label: str, metric: str) -> Estimate:
        """Mean and 95 % interval of a cell, by its name in `labels`.

        Raises
        ------
        ArgumentError
            There is no such cell or metric.
        """
        return estimate(self.values(label, metric))

    def difference(self, label: str, metric: str, base: str | None = None) -> Difference | None:
        """The difference of a cell from ``base`` (the first one), over common seeds."""
        self._check([metric])
        return paired(self._of(base or self.labels[0], "base"), self._of(label), metric)

    def judged(self) -> list[str]:
        """The compared metrics that have a value in some run; the requested ones first."""
        names = self.header.metrics or dict.fromkeys((*self.further, *JUDGED, *self.of_flows))
        return [name for name in names if name in self.runs.columns and self.runs[name].count() > 0]

    def comparisons(self) -> dict[tuple[str, str], Test]:
        """Every difference from the first compared value, by the name of the cell and metric, with the p-value of the
        paired t-test after Holm's correction over all of them. There are none if a flow never ran."""
        if self.idle_flows or not self.axes:
            return {}
        order = list(self.axis(self.compared).texts)
        runs = {
            group: {text: self._by_label[label] for text, label in members.items()}
            for group, members in self.groups.items()
        }
        pairs = tests(runs, order, self.judged())
        return {(self.groups[group][name], metric): test for (group, name, metric), test in pairs.items()}

    # Tables.

    def summary(self, metrics: str | Sequence[str] | None = None) -> pl.DataFrame:
        """Means with 95 % intervals over seeds.

        Parameters
        ----------
        metrics
            One or several columns of `runs`; by default those that are compared.

        Returns
        -------
        polars.DataFrame
            A row per cell and metric: the labels, ``metric``, ``mean``, ``low``, ``high``, ``n``, and ``reason``, the
            reason for a missing interval.

        Raises
        ------
        ScenarioError
            A metric is unknown.
        """
        import polars as pl

        names = self.judged() if metrics is None else requested(metrics)
        self._check(names)
        rows: list[Row] = []
        for part in self.runs.partition_by("cell", maintain_order=True):
            labels = {name: part[name][0] for name in self.columns}
            for metric in names:
                one = estimate(part[metric].drop_nulls().to_list())
                mean = one.mean if one.n else None
                row = {"metric": metric, "mean": mean, "low": one.low, "high": one.high, "n": one.n}
                rows.append(labels | row | {"reason": one.reason})
        numbers = dict.fromkeys(("mean", "low", "high"), pl.Float64)
        overrides = {**numbers, "reason": pl.String} if rows else None
        return pl.DataFrame(rows, schema_overrides=overrides, infer_schema_length=None)

    def _check(self, metrics: Sequence[str]) -> None:
        faults = [unmeasured(name, self.metrics) for name in metrics if name not in self.runs.columns]
        if faults and len(self.runs):
            raise ArgumentError(*faults)

    def table(self, metrics: str | Sequence[str] | None = None) -> Table:
        """Means with half of their 95 % intervals, as people read them: a row per cell, a column per metric.

        Parameters
        ----------
        metrics
            One or several columns of `runs`; by default `shown`.

        Returns
        -------
        Table
            ``print`` shows it, a notebook too; ``.to("latex")``, ``"markdown"``, ``"html"``, ``"csv"`` and ``"text"``
            give it as text.

        Raises
        ------
        ArgumentError
            A metric is unknown.

        Examples
        --------
        >>> import cwndlab
        >>> result = cwndlab.compare("single", ["cubic"], seeds=1)
        >>> result.table(["goodput_bps"]).header
        ['algorithm', 'goodput\\nMbit/s']
        """
        from cwndlab.study.tables import means

        return means(self, None if metrics is None else requested(metrics))

    def differences(self, metrics: str | Sequence[str] | None = None, *, by: str | None = None) -> pl.DataFrame:
        """Paired differences over common seeds, from the first value of a label, within each group of other labels.

        Parameters
        ----------
        metrics
            One or several columns of `runs`; by default those that are compared.
        by
            The label whose values are compared; by default `compared`.

        Returns
        -------
        polars.DataFrame
            A row per pair and metric: the other labels, ``by``, ``metric``, ``difference`` with ``low`` and ``high``,
            ``pairs`` and the number of ``differing`` ones, ``p``, ``adjusted_p`` (Holm, over all rows), ``verdict``
            (values of `cwndlab.statistics.Decision`) and ``wanted``.

        Raises
        ------
        ScenarioError
            There is no such label or metric.
        """
        import polars as pl

        by = self._comparable() or self.compared if by is None else by
        if by not in self.columns:
            raise ArgumentError(unknown_name(Parameter("by"), "label", by, self.columns))
        names = self.judged() if metrics is None else requested(metrics)
        self._check(names)
        names = [] if self.idle_flows else names
        others = self._apart(by)
        order = list(self.points[by].unique(maintain_order=True))
        rows = []
        for (labels, name, metric), test in tests(self.grouped(by), order, names).items():
            delta, adjusted = test
            row = dict(zip(others, labels, strict=True)) | {by: name, "metric": metric}
            row |= {"difference": delta.paired.mean, "low": delta.paired.low, "high": delta.paired.high}
            row |= {"pairs": delta.paired.n, "differing": delta.differing, "p": delta.p, "adjusted_p": adjusted}
            rows.append(row | verdict_columns(metric, test))
        types: dict[str, Any] = {"verdict": pl.Enum([one.value for one in Decision]), "wanted": pl.Boolean}
        types |= dict.fromkeys(("difference", "low", "high", "p", "adjusted_p"), pl.Float64)
        return pl.DataFrame(rows, schema_overrides=types if rows else None, infer_schema_length=None)

    def levels(self) -> pl.DataFrame:
        """The service levels of each cell: whether each class of flows got what its ``service`` requires.

        Returns
        -------
        polars.DataFrame
            A row per class and cell: ``cell``, its labels, and the columns of `cwndlab.service.levels`; empty if no
            flow has a table ``service``.

        Examples
        --------
        >>> import cwndlab
        >>> len(cwndlab.compare("single", ["cubic"], seeds=1).levels())
        0
        """
        return self._levels

    @cached_property
    def _levels(self) -> pl.DataFrame:
        rows: list[Row] = []
        has_levels = "levels" in self.runs.columns
        for part in self.runs.partition_by("cell", maintain_order=True) if has_levels else []:
            measured = [json.loads(one) for one in part["levels"].drop_nulls()]
            labels = {name: part[name][0] for name in ("cell", *self.columns)}
            rows += [labels | row for row in judge(measured)]
        order = list(dict.fromkeys(row["class"] for row in rows))
        rows.sort(key=lambda row: order.index(row["class"]))
        return frame(rows, {name: self.points[name].dtype for name in ("cell", *self.columns)})

    def method(self) -> str:
        """A sentence on the test of the differences of a comparison."""
        if self.idle_flows:
            return "Differences are not evaluated, because a flow never ran."
        count = sum(delta.is_compared for delta, _ in self.comparisons().values())
        return (
            "Paired t-test over equal seeds; p after Holm's correction for the "
            f"{count} comparisons evaluated here. Effect: Hedges' g of the pairs, with its 95 % interval. "
            "Margins of relevance: docs/statistics.md."
        )

    def verdicts(self) -> list[str]:
        """A sentence on each compared cell: what the intervals of its differences from the base show."""
        from cwndlab.study.tables import verdicts

        return [f"{one.label}: {one.text}" for one in verdicts(self)]

    def entries(self) -> list[Row]:
        """One dictionary per cell and metric: its labels, mean, interval, and the difference from the base with its
        tests, effect sizes and verdict."""
        compared = self.comparisons()
        count = sum(delta.is_compared for delta, _ in compared.values())
        base = {label: next(iter(members.values())) for members in self.groups.values() for label in members.values()}
        labelled = {
            row["cell"]: {name: row[name] for name in self.columns} for row in self.points.iter_rows(named=True)
        }
        rows = []
        for cell, label in self.labels_by_cell.items():
            named = {self.compared: label} if self.is_comparison else labelled[cell]
            for metric in dict.fromkeys([*COLUMNS, *self.metrics]):
                one, test = estimate([*values(self._of(label), metric).values()]), compared.get((label, metric))
                row: Row = {**named, "metric": metric, "mean": one.mean if one.n else None}
                row |= {"low": one.low, "high": one.high, "n": one.n, "reason": one.reason}
                delta = None if base[label] == label else paired(self._of(base[label]), self._of(label), metric)
                row |= columns_of(delta)
                row |= {"adjusted_p": test[1] if test else None, "comparisons": count if test else None}
                rows.append(row | verdict_columns(metric, test))
        return rows

    # Output.

    def plot(
        self,
        y: str | Sequence[str],
        *,
        x: str | None = None,
        by: str | None = None,
        kind: Literal["lines", "bars", "points"] | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> Any:
        """A figure of means with their 95 % intervals.

        Parameters
        ----------
        y
            A metric, or several: one panel each. ``"levels"`` is the share of runs in which each class of flows missed
            its service level, over all cells.
        x
            A label of the horizontal axis. Or a metric: then each cell is a point, such as of delay and goodput.
            By default the first axis that is not compared.
        by
            The axis with a colour for each of its values, by default what is compared. Axes that are neither become
            panels with one scale.
        kind
            By default lines if x has quantities, and groups of bars if it has names.
        thresholds
            Values to mark by metric, in the unit of the figure. Delays near 150 ms have the one of ITU-T G.114.

        Returns
        -------
        Figure
            ``.save("figure.pdf", style="print")`` writes it for a paper.

        Raises
        ------
        ArgumentError
            There is no such axis or metric.

        Examples
        --------
        >>> import cwndlab
        >>> result = cwndlab.compare("single", ["cubic", "reno"], seeds=2)
        >>> [series.label for series in result.plot("goodput_bps", x="queue_ms").series]
        ['cubic', 'reno']
        """
        from cwndlab.reports.charts import figure, service_levels

        if y == "levels":
            return service_levels(self)
        return figure(self, y, x=x, by=by, kind=kind, marks=thresholds)

    def report(self, path: str | Path, **options: Any) -> None:
        """Writes one HTML page with tables and figures; ``options`` are those of `cwndlab.report`."""
        from cwndlab.saved import report

        report(self, path, **options)

    def records_of(self, algorithm: str, seed: int) -> Path | None:
        """The folder of the records of a run of a comparison; ``None`` if they are in memory only."""
        folder = local(self.place)
        return None if folder is None else records_folder(folder, algorithm, seed)

    def kept(self) -> dict[tuple[str, int], Callable[[], Records]]:
        """Functions that read the kept records of runs, by algorithm and seed."""
        readers: dict[tuple[str, int], Callable[[], Records]] = {}
        for algorithm, scenario in self._hashes.items():
            for seed in self.seeds:
                example, folder = self.examples.get(algorithm), self.records_of(algorithm, seed)
                if example is not None and example.seed == seed:
                    readers[algorithm, seed] = partial(_identity, example)
                elif folder is not None and folder.is_dir() and _is_of(folder, scenario):
                    readers[algorithm, seed] = partial(Records.read, folder)
        return readers

    def to_dict(self) -> dict[str, Any]:
        """Everything about a comparison except the time series, for programs."""
        names = ("flows", "against", "start_s", "end_s", "warm_up", "until", "metrics")
        return {
            "scenario": self.header.scenario,
            "scenario_hash": self.scenario.hash,
            "version": version(),
            "compared": self.compared,
            "algorithms": self.labels,
            "classes": self.header.scenario.get("algorithms"),
            **{name: getattr(self.header, name) for name in names},
            "method": self.method(),
            "seeds": self.seeds,
            "rows": self.rows,
            "summary": self.entries(),
            "levels": self.levels().to_dicts(),
            "notes": self.notes,
            "findings": self.finding_rows(),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json_text(self.to_dict(), indent=1, ensure_ascii=False)

    def save(self, place: str | Path) -> None:
        """Writes the result into a folder, or to any URL that fsspec supports, for `read`; of a comparison also
        ``comparison.json``, ``summary.csv`` and the records of each algorithm's first seed.

        Raises
        ------
        RecordsError
            The place is in use, cannot be written, or holds something else.
        """
        with Store(place, write=True) as store:
            versions = {"engine": self.header.engine, "measure": self.header.measure}
            known = set(store.keys()["key"])
            for row in self.runs.drop("cell", *self.columns).unique("key", maintain_order=True).to_dicts():
                if row["key"] not in known:
                    store.add(row | versions)
            store.describe(self.header.as_dict(), self.points)
            self.write_to(store)
        self.place = str(place)

    def write_to(self, store: Store) -> None:
        """Writes rows, header and notes into an open store, and the files of a comparison."""
        store.finish(self.runs, notes=self.notes)
        folder = local(store.place)
        if not self.header.compared or folder is None:
            return
        for algorithm, records in self.examples.items():
            records.save(records_folder(folder, algorithm, records.seed))
        if self.rows:
            store.put("summary.csv", _csv(self.entries()).encode())
            store.put("comparison.json", self.to_json().encode())


def _identity(records: Records) -> Records:
    return records


def _is_of(folder: Path, scenario: str) -> bool:
    """Whether records are of a scenario with this hash; what is damaged is an error of who reads it."""
    there = key_of(folder)
    return there is None or there.scenario_hash == scenario


def _csv(rows: Sequence[Row]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()
