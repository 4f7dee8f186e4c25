"""The cells of a study: what varies, the names of the cells, their runs and findings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cwndlab.errors import ArgumentError, Fault, Parameter, ScenarioError, near, parameter_fault, unknown_metric
from cwndlab.files import json_text
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.of_flow import flow_metrics
from cwndlab.scenario.document import Scenario
from cwndlab.study.axes import Axis, axes, short
from cwndlab.study.axes import labels as cell_labels
from cwndlab.study.equal_results import equal_algorithms, equal_seeds, outcomes
from cwndlab.study.findings import SEVERITIES, finding
from cwndlab.study.header import Header
from cwndlab.study.spec import Row

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_NAMED", "SHOWN", "Cells", "unmeasured"]

#: Columns of `Cells.runs` that are neither labels nor metrics.
_OTHERS = ("cell", "seed", "from_s", "packets", "wall_s", "host", "key", "scenario_hash", "findings", "levels", "air")
#: Columns of the store.
_HIDDEN = {"cell", "packets", "wall_s", "host", "key", "scenario_hash", "findings", "levels", "air"}
#: The metrics that tables show by default, and those that follow goodput and share of single flows.
SHOWN = ("goodput_bps", "utilisation", "loss_ratio", "jain", "queue_ms", "retransmitted_packets")
_WITH_FLOWS = ("utilisation", "loss_ratio", "queue_ms")
#: Cells that a message names.
MOST_NAMED = 12
# Scenarios that are read to find what they share.
_MOST_READ = 1000

Labels = tuple[Any, ...]


class Cells:
    """The cells of a study with their runs.

    Parameters
    ----------
    header
        What was run.
    points
        A row per cell.
    runs
        A row per run.
    """

    def __init__(self, header: Header, points: pl.DataFrame, runs: pl.DataFrame) -> None:
        self.header, self.points, self.runs = header, points, runs

    @property
    def title(self) -> str:
        """One line on what it shows; may be empty."""
        return self.header.title

    @property
    def columns(self) -> list[str]:
        """The names of the labels."""
        return list(self.header.columns)

    @property
    def is_comparison(self) -> bool:
        """Whether at most one thing varies."""
        return len(self.axes) <= 1

    @property
    def compared(self) -> str:
        """The label whose values are compared: ``algorithm``, or one of another axis."""
        if self.header.compared or not self.columns:
            return self.header.compared or "scenario"
        return "algorithm" if "algorithm" in self.columns else self.columns[0]

    @cached_property
    def axes(self) -> list[Axis]:
        """What varies: each label, or several that change together (`cwndlab.study.sweeps.Sweep.zip`)."""
        return axes(self.points, self.header.axes)

    def axis(self, name: str, *, parameter: str = "x") -> Axis:
        """The axis with this name or label, or with this end of one.

        Raises
        ------
        ArgumentError
            There is none.
        """
        for axis in self.axes:
            if name in (axis.name, *axis.columns, *(one.lstrip("@") for one in axis.columns)):
                return axis
        known = [label.lstrip("@") for axis in self.axes for label in axis.columns]
        ends = {
            end: axis
            for axis in self.axes
            for label, end in zip(known, short(known), strict=True)
            for own in axis.columns
            if own.lstrip("@") == label
        }
        if name in ends:
            return ends[name]
        raise ArgumentError(
            parameter_fault(parameter, f"nothing that varies is called '{name}'", hint=near(name, known))
        )

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario before its fields varied."""
        return Scenario.from_json(json_text(self.header.scenario))

    def scenario_of(self, cell: int) -> Scenario:
        """The scenario of a cell, with which `cwndlab.run` repeats any of its runs to the bit."""
        if not 0 <= cell < len(self.points):
            raise ScenarioError(Fault(f"cell {cell}", "does not exist", f"there are 0 to {len(self.points) - 1}"))
        return Scenario.from_json(self.points["scenario"][cell])

    def documents(self) -> list[dict[str, Any]]:
        """The scenarios of the cells as plain values; a sample if there are very many cells."""
        return [json.loads(one) for one in self.points["scenario"].gather_every(1 + len(self.points) // _MOST_READ)]

    @cached_property
    def labels_by_cell(self) -> dict[int, str]:
        """The name of each cell: the texts of its values on all axes."""
        return cell_labels(self.points, self.axes)

    @property
    def labels(self) -> list[str]:
        """The names of the cells, in their order: algorithms, or whatever varies."""
        return list(dict.fromkeys(self.labels_by_cell.values()))

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds, with those that a stopping rule added."""
        first = list(self.header.seeds)
        return first + sorted(set(self.runs["seed"]) - set(first))

    @property
    def flows(self) -> list[str] | None:
        """The flows that used the compared algorithms; ``None`` means all."""
        return self.header.flows

    @property
    def against(self) -> str | None:
        """The algorithm of the other flows over TCP; ``None`` if they kept their own."""
        return self.header.against

    @property
    def unfinished(self) -> str:
        """A remark on missing runs; empty if the study is complete."""
        if self.header.complete:
            return ""
        return f"unfinished: {len(self.runs)} of {self.header.total} runs exist"

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics of a row."""
        return [name for name in self.runs.columns if name not in _OTHERS and name not in self.columns]

    @cached_property
    def further(self) -> list[str]:
        """The metrics that a sweep requests by name, and the columns of its own function."""
        return [*self.header.further, *(name for name in self.metrics if name not in COLUMNS)]

    @property
    def of_flows(self) -> list[str]:
        """Goodput and share of each table of flows over TCP, ``METRIC@FLOW``, if some do not use the compared
        algorithms."""
        return flow_metrics(self.header.scenario, self.flows)

    @property
    def shown(self) -> list[str]:
        """The metrics that tables show by default, those that were requested first."""
        if self.header.metrics:
            return list(self.header.metrics)
        usual = SHOWN if self.flows is None else (*self.of_flows, *_WITH_FLOWS)
        names = dict.fromkeys((*self.further, *usual))
        return [name for name in names if name in self.metrics and (self.runs[name].count() or name in self.further)]

    @cached_property
    def rows(self) -> list[Row]:
        """The runs as dictionaries, by seed, then in the order of the cells; without columns of the store."""
        frame = self.runs.sort("seed", "cell").drop(_HIDDEN, strict=False)
        return frame.to_dicts()

    def grouped(self, by: str = "algorithm") -> dict[Labels, dict[Any, dict[int, Row]]]:
        """The runs by the labels of other axes, the value of the label ``by``, and the seed."""
        others = self._apart(by)
        groups: dict[Labels, dict[Any, dict[int, Row]]] = {}
        for row in self.runs.iter_rows(named=True):
            group = groups.setdefault(tuple(row[name] for name in others), {})
            group.setdefault(row.get(by), {})[row["seed"]] = row
        return groups

    def _comparable(self) -> str:
        """The compared label, or another label of its axis with distinct values; ``None`` if there is none."""
        names = self.axis(self.compared).columns if self.axes else ()
        rows = len(self.axis(self.compared).rows) if self.axes else 0
        return next(
            (name for name in (self.compared, *names) if name in names and self.points[name].n_unique() == rows), ""
        )

    def _apart(self, by: str) -> list[str]:
        """The labels that change apart from ``by``; raises if its values do not identify those of its axis."""
        if by not in self.columns:
            return list(self.columns)
        axis = self.axis(by)
        if self.points[by].n_unique() < len(axis.rows):
            what = f"has one value for several of {', '.join(axis.columns)}, which change together"
            raise ScenarioError(Fault(by, what, "name a label with a value for each"))
        return [name for name in self.columns if name not in axis.columns]

    @cached_property
    def _by_label(self) -> dict[str, dict[int, Row]]:
        """The runs by the names of their cells, then by seed."""
        made: dict[str, dict[int, Row]] = {label: {} for label in self.labels}
        for row in self.runs.iter_rows(named=True):
            made[self.labels_by_cell[row["cell"]]][row["seed"]] = row
        return made

    def _of(self, label: str, parameter: str = "label") -> dict[int, Row]:
        if label not in self._by_label:
            what = f"no cell is called '{label}'"
            raise ArgumentError(parameter_fault(parameter, what, hint=near(str(label), self.labels[:MOST_NAMED])))
        return self._by_label[label]

    def rows_of(self, label: str) -> list[Row]:
        """The runs of a cell as in `rows`, by seed."""
        return [{name: row[name] for name in row if name not in _HIDDEN} for _, row in sorted(self._of(label).items())]

    @cached_property
    def groups(self) -> dict[Labels, dict[str, str]]:
        """The names of the cells that are compared with each other: by the texts of the other axes, then by that of
        the compared one."""
        made: dict[Labels, dict[str, str]] = {}
        if not self.axes:
            return {(): {label: label for label in self.labels}}
        at = self.axes.index(self.axis(self.compared))
        for row in self.points.iter_rows(named=True):
            words = [axis.text_of(row) for axis in self.axes]
            made.setdefault((*words[:at], *words[at + 1 :]), {})[words[at]] = self.labels_by_cell[row["cell"]]
        return made

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
        """Findings on flows that never ran in some run: differences from such runs have no verdict."""
        texts = [row["text"] for row in self.findings_of() if row["code"] == "never-starts"]
        return list(dict.fromkeys(texts))

    @cached_property
    def remarks(self) -> list[Row]:
        """Findings on several runs, as rows of the table ``findings``."""
        found = []
        if self.idle_flows and len(self.points) > 1:
            found.append(finding("flow-never-ran", "a flow never starts, so there are no verdicts"))
        measured = outcomes(self.grouped(self._comparable()), self.columns)
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
        """The findings for readers: those on several runs, then those of single runs. Texts that differ only in
        numbers, such as a time, are merged into the first one, with the count of runs."""
        same: dict[tuple[str, int | None, int | None, str], list[Row]] = {}
        for row in self.findings_of():
            kind = (row["code"], row["flow"], row["link"], _NUMBER.sub("", row["text"]))
            same.setdefault(kind, []).append(row)
        rows = list(self.remarks)
        for (code, *_), found in same.items():
            many = len({(row["cell"], row["seed"]) for row in found})
            first = ", which differ in numbers" if len({row["text"] for row in found}) > 1 else ""
            where = f" [{many} of {len(self.runs)} runs{first}]" if first or many < len(self.runs) else ""
            rows.append(finding(code, found[0]["text"] + where))
        return rows


def unmeasured(name: str, known: Sequence[str]) -> Fault:
    """The fault of a metric that runs lack, or that does not exist.

    >>> print(unmeasured("p95_queue_ms", ["queue_ms"]))
    metrics: the runs have no 'p95_queue_ms'
      hint: request it: metrics = ["p95_queue_ms"]
    """
    if name in COLUMNS and name not in known:
        return Fault(Parameter("metrics"), f"the runs have no '{name}'", f'request it: metrics = ["{name}"]')
    return unknown_metric(Parameter("metrics"), name, known)


#: A number within a text, but not in a name such as ``flow1``.
_NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(\.\d+)?(e[+-]?\d+)?")


def _shown(row: Row) -> Row:
    return {name: row[name] for name in ("code", "severity", "text")}
