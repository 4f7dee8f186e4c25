"""The result of a study: a row per run, means with intervals, paired differences with their verdicts."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.engine import version
from cwndlab.errors import Fault, ScenarioError, parameter_fault
from cwndlab.files import csv_cell, json_text
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.of_flow import flow_metrics
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.statistics import Decision, Difference, Estimate, estimate
from cwndlab.study.axes import Axis, axes, folded, text
from cwndlab.study.differences import Test, columns_of, paired, tests, values, verdict_columns
from cwndlab.study.equal_results import equal_algorithms, equal_seeds, outcomes
from cwndlab.study.findings import SEVERITIES, finding
from cwndlab.study.spec import Outcome, Row
from cwndlab.study.store import Store, local, records_folder

if TYPE_CHECKING:
    import polars as pl

__all__ = ["JUDGED", "Result"]

#: The metrics that are compared unless others are named: the family of Holm's correction.
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
#: Columns of `Result.runs` that are neither labels nor metrics.
_OTHERS = ("cell", "seed", "from_s", "packets", "wall_s", "host", "key", "scenario_hash", "findings")

Labels = tuple[Any, ...]


class Result:
    """What a comparison or a sweep measured.

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
        The records of each algorithm's first seed, where a comparison kept them.

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

    def __init__(self, header: Mapping[str, Any], points: pl.DataFrame, runs: pl.DataFrame, *, place: str = "") -> None:
        self.header = dict(header)
        self.points, self.runs, self.place = points, runs, place
        self.notes: list[str] = list(header["notes"])
        self.examples: dict[str, Records] = {}
        self.outcome = Outcome(header["total"], resumed=len(runs))

    @classmethod
    def of(cls, store: Store) -> Result:
        """The last study of an open store."""
        points = store.points()
        header = store.manifest["study"]
        rows = store.runs(header["engine"], header["measure"]).drop("engine", "measure", "payload", strict=False)
        if header["until"] is None:
            rows = rows.filter(rows["seed"].is_in(header["seeds"]))
        runs = points.drop("scenario").join(rows, on="scenario_hash", how="inner", maintain_order="left")
        return cls(header, points, runs.sort("cell", "seed"), place=store.place)

    @classmethod
    def read(cls, place: str | Path) -> Result:
        """The result in a folder or at any URL that fsspec knows, complete or not.

        Raises
        ------
        RecordsError
            The place holds no result, or one of another version.
        """
        result = cls.of(Store(place))
        if result.is_comparison:
            for algorithm in result.algorithms:
                folder = result.records_of(algorithm, result.seeds[0])
                if folder is not None and folder.is_dir():
                    result.examples[algorithm] = Records.read(folder)
        return result

    # What was run.

    @property
    def title(self) -> str:
        """One line on what it shows; may be empty."""
        return str(self.header["title"])

    @property
    def columns(self) -> list[str]:
        """The names of the labels."""
        return list(self.header["columns"])

    @property
    def is_comparison(self) -> bool:
        """Whether algorithms, or the values of the field that `cwndlab.compare` was called with, are all that
        varies."""
        return self.columns == [self.compared]

    @property
    def compared(self) -> str:
        """The label whose values a comparison compares: ``algorithm``, or a field of the scenario."""
        return str(self.header.get("compared", "algorithm"))

    @cached_property
    def axes(self) -> list[Axis]:
        """What varies: each label, or several that change together (`cwndlab.study.sweeps.Sweep.zips`)."""
        return axes(self.points, self.header.get("axes") or [[name] for name in self.columns])

    def axis(self, name: str) -> Axis:
        """The axis that has a name or a label.

        Raises
        ------
        ScenarioError
            There is none.
        """
        for axis in self.axes:
            if name in (axis.name, *axis.columns):
                return axis
        hint = f"there are {', '.join(self.columns)}"
        raise ScenarioError(parameter_fault("over", f"no label is called '{name}'", hint=hint))

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario before its fields varied."""
        return Scenario.from_json(json_text(self.header["scenario"]))

    def scenario_of(self, cell: int) -> Scenario:
        """The scenario of a cell, with which `cwndlab.run` repeats any of its runs to the bit."""
        if not 0 <= cell < len(self.points):
            raise ScenarioError(Fault(f"cell {cell}", "does not exist", f"there are 0 to {len(self.points) - 1}"))
        return Scenario.from_json(self.points["scenario"][cell])

    @property
    def algorithms(self) -> list[str]:
        """The algorithms that were compared, or the values of a field, in their order."""
        if self.compared not in self.points.columns:
            return []
        return [text(one) for one in self.points[self.compared].unique(maintain_order=True)]

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds, with those that a stopping rule added."""
        first = list(self.header["seeds"])
        return first + sorted(set(self.runs["seed"]) - set(first))

    @property
    def flows(self) -> list[str] | None:
        """The flows that used the compared algorithms; ``None`` means all."""
        return self.header.get("flows")

    @property
    def against(self) -> str | None:
        """The algorithm of the other flows over TCP; ``None`` where they kept theirs."""
        return self.header.get("against")

    @property
    def unfinished(self) -> str:
        """A remark on missing runs; empty where the study is complete."""
        if self.header.get("complete"):
            return ""
        return f"unfinished: {len(self.runs)} of {self.header['total']} runs are there"

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics of a row."""
        return [name for name in self.runs.columns if name not in _OTHERS and name not in self.columns]

    @cached_property
    def further(self) -> list[str]:
        """The metrics that a sweep requests by name, and the columns of its own function."""
        return [*self.header.get("further", ()), *(name for name in self.metrics if name not in COLUMNS)]

    @property
    def of_flows(self) -> list[str]:
        """Goodput and share of each table of flows over TCP, ``METRIC@FLOW``, where some do not use the compared
        algorithms."""
        return flow_metrics(self.header["scenario"], self.flows)

    def __repr__(self) -> str:
        labels = ", ".join(self.algorithms) if self.is_comparison else ", ".join(self.columns) or "one scenario"
        cells = "algorithms" if self.is_comparison else f"{len(self.points)} cells of"
        return f"<Result: {cells} {labels}, {len(self.runs)} of {max(self.outcome.total, len(self.runs))} runs>"

    def _repr_html_(self) -> str:
        return str(self.summary()._repr_html_())

    # Numbers.

    @cached_property
    def rows(self) -> list[Row]:
        """The runs as dictionaries, by seed, then in the order of the cells; without columns of the store."""
        hidden = {"cell", "packets", "wall_s", "host", "key", "scenario_hash", "findings"}
        frame = self.runs.sort("seed", "cell").drop(hidden, strict=False)
        return frame.to_dicts()

    def grouped(self, by: str = "algorithm") -> dict[Labels, dict[Any, dict[int, Row]]]:
        """The runs by the labels of other axes, the value of the label ``by``, and the seed."""
        others = self._apart(by)
        groups: dict[Labels, dict[Any, dict[int, Row]]] = {}
        for row in self.runs.iter_rows(named=True):
            group = groups.setdefault(tuple(row[name] for name in others), {})
            group.setdefault(row.get(by), {})[row["seed"]] = row
        return groups

    def _apart(self, by: str) -> list[str]:
        """The labels that do not change together with ``by``; raises where its values are not all of its axis."""
        if by not in self.columns:
            return list(self.columns)
        axis = self.axis(by)
        if self.points[by].n_unique() < len(axis.rows):
            what = f"has one value for several of {', '.join(axis.columns)}, which change together"
            raise ScenarioError(Fault(by, what, "name a label with a value for each"))
        return [name for name in self.columns if name not in axis.columns]

    @cached_property
    def _by_algorithm(self) -> dict[Any, dict[int, Row]]:
        if not self.is_comparison:
            what = f"varies {', '.join(self.columns) or 'nothing'}: a value of an algorithm is not defined"
            raise ScenarioError(Fault("result", what, "use summary() or differences()"))
        return {text(name): runs for name, runs in self.grouped(self.compared).get((), {}).items()}

    def by_seed(self, metric: str) -> dict[str, dict[int, float]]:
        """A metric of every run of a comparison: by algorithm, then by seed."""
        return {algorithm: values(self._by_algorithm.get(algorithm, {}), metric) for algorithm in self.algorithms}

    def values(self, algorithm: str, metric: str) -> list[float]:
        """A metric of an algorithm in a comparison, one value per seed; runs without a value are left out."""
        return list(values(self._by_algorithm.get(algorithm, {}), metric).values())

    def estimate(self, algorithm: str, metric: str) -> Estimate:
        """Mean and 95 % interval of an algorithm in a comparison."""
        return estimate(self.values(algorithm, metric))

    def difference(self, algorithm: str, metric: str, base: str | None = None) -> Difference | None:
        """The difference of an algorithm to ``base`` (the first one) in a comparison, over common seeds."""
        rows = self._by_algorithm
        return paired(rows.get(base or self.algorithms[0], {}), rows.get(algorithm, {}), metric)

    def judged(self) -> list[str]:
        """The metrics that are compared and have a value in some run."""
        names = self.header["metrics"] or dict.fromkeys((*JUDGED, *self.of_flows, *self.further))
        return [name for name in names if name in self.runs.columns and self.runs[name].count() > 0]

    def comparisons(self) -> dict[tuple[str, str], Test]:
        """Every difference to the first algorithm of a comparison, by algorithm and metric, with the p-value of the
        paired t-test after Holm's correction over all of them. There are none where a flow never ran."""
        if self.idle_flows:
            return {}
        pairs = tests({(): self._by_algorithm}, self.algorithms, self.judged())
        return {(name, metric): test for (_, name, metric), test in pairs.items()}

    # Findings.

    def findings_of(self, cell: int | None = None) -> list[Row]:
        """The findings of all runs, or of a cell: rows of the table ``findings`` with ``cell`` and ``seed``."""
        if "findings" not in self.runs.columns:
            return []
        rows = []
        for number, seed, found in self.runs.select("cell", "seed", "findings").iter_rows():
            if found and cell in (None, number):
                rows += [{"cell": number, "seed": seed, **row} for row in json.loads(found)]
        return rows

    @cached_property
    def idle_flows(self) -> list[str]:
        """Texts on flows that never ran in some run: differences to such runs have no verdict."""
        texts = [row["text"] for row in self.findings_of() if row["code"] == "never-starts"]
        return list(dict.fromkeys(texts))

    @cached_property
    def remarks(self) -> list[Row]:
        """Findings on several runs, as rows of the table ``findings``."""
        found = []
        if self.idle_flows and len(self.points) > 1:
            found.append(finding("flow-never-ran", f"{self.idle_flows[0]}; there are no verdicts"))
        measured = outcomes(self.grouped(self.compared), self.columns)
        found += [finding("equal-results", text) for text in equal_algorithms(measured)]
        return found + [finding("no-random-element", text) for text in equal_seeds(measured)]

    def findings(self) -> pl.DataFrame:
        """The findings of all runs, counted per cell, the worst first.

        Returns
        -------
        polars.DataFrame
            A row per cell and code: ``cell``, its labels, ``code``, ``severity``, ``runs`` (with this finding), and the
            ``text`` of the first of them. Findings on several runs have neither cell nor labels.
        """
        import polars as pl

        labels = {row["cell"]: {name: row[name] for name in self.columns} for row in self.points.iter_rows(named=True)}
        groups: dict[tuple[int, str], list[Row]] = {}
        for row in self.findings_of():
            groups.setdefault((row["cell"], row["code"]), []).append(row)
        empty = dict.fromkeys(self.columns)
        rows = [{"cell": None, **empty, **_shown(row), "runs": len(self.runs)} for row in self.remarks]
        rows += [
            {"cell": cell, **labels.get(cell, empty), **_shown(found[0]), "runs": len({row["seed"] for row in found})}
            for (cell, _), found in groups.items()
        ]
        rows.sort(key=lambda row: SEVERITIES.index(row["severity"]))
        texts = {"code": pl.String, "severity": pl.String, "text": pl.String}
        schema: dict[str, Any] = {"cell": pl.Int64} | {name: self.points[name].dtype for name in self.columns}
        schema |= {**texts, "runs": pl.Int64}
        return pl.DataFrame(rows, schema=schema)

    def finding_rows(self) -> list[Row]:
        """The findings for readers: those on several runs, then those of runs, each text once with its count."""
        by_text: dict[tuple[str, str], list[Row]] = {}
        for row in self.findings_of():
            by_text.setdefault((row["code"], row["text"]), []).append(row)
        rows = list(self.remarks)
        for (code, sentence), found in by_text.items():
            many = len({(row["cell"], row["seed"]) for row in found})
            where = "" if many == len(self.runs) else f" [{many} of {len(self.runs)} runs]"
            rows.append(finding(code, sentence + where))
        return rows

    # Tables.

    def summary(self, metrics: Sequence[str] | None = None) -> pl.DataFrame:
        """Means with 95 % intervals over seeds.

        Parameters
        ----------
        metrics
            Names of columns of `runs`; by default those that are compared.

        Returns
        -------
        polars.DataFrame
            A row per cell and metric: the labels, ``metric``, ``mean``, ``low``, ``high``, ``n``, and ``reason``, why
            there is no interval.

        Raises
        ------
        ScenarioError
            A metric is unknown.
        """
        import polars as pl

        names = self.judged() if metrics is None else list(metrics)
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
        faults = [
            parameter_fault("metrics", f"the runs have no column '{name}'", hint=f"there are {', '.join(self.metrics)}")
            for name in metrics
            if name not in self.runs.columns
        ]
        if faults:
            raise ScenarioError(*faults)

    def differences(self, metrics: Sequence[str] | None = None, *, by: str = "algorithm") -> pl.DataFrame:
        """Paired differences over common seeds, to the first value of a label, within each group of other labels.

        Parameters
        ----------
        metrics
            Names of columns of `runs`; by default those that are compared.
        by
            The label whose values are compared.

        Returns
        -------
        polars.DataFrame
            A row per pair and metric: the other labels, ``by``, ``metric``, ``difference`` with ``low`` and ``high``,
            ``pairs`` and how many of them are ``differing``, ``p``, ``adjusted_p`` (Holm, over all rows), ``verdict``
            (values of `cwndlab.statistics.Decision`) and ``wanted``.

        Raises
        ------
        ScenarioError
            There is no such label or metric.
        """
        import polars as pl

        if by not in self.columns:
            hint = f"there are {', '.join(self.columns)}"
            raise ScenarioError(parameter_fault("by", f"no label is called '{by}'", hint=hint))
        names = self.judged() if metrics is None else list(metrics)
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

    def method(self) -> str:
        """How the differences of a comparison are tested, in a sentence."""
        if self.idle_flows:
            return "No difference is judged, because a flow never ran."
        count = sum(delta.is_compared for delta, _ in self.comparisons().values())
        return (
            "Paired t-test over equal seeds; p after Holm's correction for the "
            f"{count} comparisons judged here. Effect: Hedges' g of the pairs, with its 95 % interval. "
            "Margins of relevance: docs/statistics.md."
        )

    def entries(self) -> list[Row]:
        """One dictionary per algorithm and metric of a comparison: mean, interval, and the difference to the first
        algorithm with its tests, effect sizes and verdict."""
        compared = self.comparisons()
        count = sum(delta.is_compared for delta, _ in compared.values())
        rows = []
        for algorithm in self.algorithms:
            for metric in dict.fromkeys([*COLUMNS, *self.metrics]):
                one, test = self.estimate(algorithm, metric), compared.get((algorithm, metric))
                row: Row = {self.compared: algorithm, "metric": metric, "mean": one.mean if one.n else None}
                row |= {"low": one.low, "high": one.high, "n": one.n, "reason": one.reason}
                is_base = algorithm == self.algorithms[0]
                row |= columns_of(None if is_base else self.difference(algorithm, metric))
                row |= {"adjusted_p": test[1] if test else None, "comparisons": count if test else None}
                rows.append(row | verdict_columns(metric, test))
        return rows

    # Output.

    def plot(self, metric: str, *, over: str | None = None) -> Any:
        """A figure of a metric, as the functions of `cwndlab.plot` return it.

        Parameters
        ----------
        metric
            A column of `runs`.
        over
            The horizontal axis, by one of its labels; by default the first one that is not ``algorithm``. The other
            axes become lines. A comparison has bars with intervals.

        Raises
        ------
        ScenarioError
            There is no such label or metric.
        """
        from cwndlab.plot import bars, curves

        self._check([metric])
        if self.is_comparison:
            return bars(self.algorithms, [self.estimate(name, metric) for name in self.algorithms], COLUMNS[metric])
        labels = [axis.name for axis in self.axes if axis.name != "algorithm"]
        across = self.axis(over or (labels or [""])[0])
        others = [axis.name for axis in self.axes if axis is not across]
        frame = folded(self.runs, self.axes)
        measured: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
        for *group, place, value in frame.select(*others, across.name, metric).iter_rows():
            at = measured.setdefault(tuple(group), {}).setdefault(place, [])
            at += [] if value is None else [value]
        places = list(frame[across.name].unique(maintain_order=True))
        lines = {
            ", ".join(map(text, group)) or metric: [estimate(members.get(one, [])) for one in places]
            for group, members in measured.items()
        }
        return curves((across.name.lstrip("@"), [text(one) for one in places]), lines, COLUMNS[metric])

    def report(self, path: str | Path) -> None:
        """Writes one HTML page with tables and figures (`cwndlab.report`)."""
        from cwndlab.reports import report

        report(self, path)

    def records_of(self, algorithm: str, seed: int) -> Path | None:
        """The folder of the records of a run of a comparison; ``None`` where they are in memory only."""
        folder = local(self.place)
        return None if folder is None else records_folder(folder, algorithm, seed)

    def kept(self) -> dict[tuple[str, int], Callable[[], Records]]:
        """Functions that read the records of those runs that have them, by algorithm and seed."""
        readers: dict[tuple[str, int], Callable[[], Records]] = {}
        for algorithm in self.algorithms:
            for seed in self.seeds:
                example, folder = self.examples.get(algorithm), self.records_of(algorithm, seed)
                if example is not None and example.seed == seed:
                    readers[algorithm, seed] = partial(_identity, example)
                elif folder is not None and folder.is_dir():
                    readers[algorithm, seed] = partial(Records.read, folder)
        return readers

    def to_dict(self) -> dict[str, Any]:
        """Everything about a comparison but the time series, for programs."""
        names = ("flows", "against", "start_s", "end_s", "warm_up", "until", "metrics")
        return {
            "scenario": self.header["scenario"],
            "scenario_hash": self.scenario.hash,
            "version": version(),
            "compared": self.compared,
            "algorithms": self.algorithms,
            "classes": self.header["scenario"].get("algorithms"),
            **{name: self.header.get(name) for name in names},
            "method": self.method(),
            "seeds": self.seeds,
            "rows": self.rows,
            "summary": self.entries(),
            "notes": self.notes,
            "findings": self.finding_rows(),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json_text(self.to_dict(), indent=1, ensure_ascii=False)

    def save(self, place: str | Path) -> None:
        """Writes the result into a folder, or to any URL that fsspec knows, for `read`; of a comparison also
        ``comparison.json``, ``summary.csv`` and the records of each algorithm's first seed.

        Raises
        ------
        RecordsError
            The place is in use, cannot be written, or holds something else.
        """
        with Store(place, write=True) as store:
            versions = {name: self.header[name] for name in ("engine", "measure")}
            known = set(store.keys()["key"])
            for row in self.runs.drop("cell", *self.columns).unique("key", maintain_order=True).to_dicts():
                if row["key"] not in known:
                    store.add(row | versions)
            store.describe(self.header, self.points)
            self.write_to(store)
        self.place = str(place)

    def write_to(self, store: Store) -> None:
        """Writes rows, header and notes into an open store, and the files of a comparison."""
        store.finish(self.runs, notes=self.notes)
        folder = local(store.place)
        if not self.is_comparison or folder is None:
            return
        for algorithm, records in self.examples.items():
            records.save(records_folder(folder, algorithm, records.seed))
        if self.rows:
            store.put("summary.csv", _csv(self.entries()).encode())
            store.put("comparison.json", self.to_json().encode())


def _shown(row: Row) -> Row:
    return {name: row[name] for name in ("code", "severity", "text")}


def _identity(records: Records) -> Records:
    return records


def _csv(rows: Sequence[Row]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()
