"""A study: points × seeds, and the measure of each run."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.engine import engine_version
from cwndlab.errors import AlgorithmError, ArgumentError, Error, Fault, RunError, parameter_fault
from cwndlab.files import json_text
from cwndlab.metrics import COLUMNS, radio, summary, warm_up
from cwndlab.metrics.summary import NAMES, metrics_version
from cwndlab.service.per_run import measured, service_version
from cwndlab.statistics import mser
from cwndlab.study.header import Header
from cwndlab.study.sources import source

if TYPE_CHECKING:
    import polars as pl

    from cwndlab.records import Records
    from cwndlab.statistics import Until

#: Columns of a row, or of a table of rows, that are neither labels nor metrics.
_RESERVED = frozenset(
    {"air", "cell", "engine", "findings", "from_s", "host", "key", "levels", "measure", "packets", "payload", "runs"}
    | {"scenario", "scenario_hash", "seed", "shift", "wall_s"}
)

#: Ends of the columns of the interval of a metric, and of its number of values.
_ENDS = ("low", "high", "n")

Row = dict[str, Any]
Progress = Callable[[int, int], Any]


class Point(NamedTuple):
    """A scenario of a study."""

    number: int
    labels: dict[str, Any]
    """Values that distinguish it from the other points; ``algorithm`` is a label like any other."""
    hash: str
    """SHA-256 of the scenario's canonical form."""
    document: str = ""
    """The scenario, JSON."""
    shift: int = 0
    """What is added to each seed of the study, so that points do not share their random numbers."""


class Job(NamedTuple):
    """A run of a point."""

    point: int
    seed: int
    """Of the run: with the point's shift."""
    key: str
    """The key of its row in a store."""
    hash: str


@dataclass(frozen=True)
class Measure:
    """Reduces the records of a run to a row of numbers.

    Parameters
    ----------
    metrics
        Metrics beyond `cwndlab.metrics.summary.NAMES`, which every row has; ``None`` computes no metric at all.
    start_s, end_s
        The interval of the metrics, by default from the scenario's ``measure_from`` to its end.
    warm_up
        ``"mser"``: each run is measured from the cut of `cwndlab.metrics.warm_up` on.
    columns
        A function of records that returns further numbers by name.
    payload
        A function of records that returns any JSON value, kept as text.
    service
        Whether a row has what each class of flows got (`cwndlab.service.measured`).
    air
        Whether a row has what its busiest station lost, and why (`cwndlab.metrics.radio`).
    labels
        Names that ``columns`` cannot use, because points have them.

    Examples
    --------
    >>> Measure(start_s=1.0).digest == Measure(start_s=1.0).digest != Measure(start_s=2.0).digest
    True
    """

    metrics: tuple[str, ...] | None = ()
    start_s: float | None = None
    end_s: float | None = None
    warm_up: str | None = None
    columns: Callable[[Records], Mapping[str, float | None]] | None = None
    payload: Callable[[Records], Any] | None = None
    service: bool = False
    air: bool = False
    labels: tuple[str, ...] = ()

    def __call__(self, records: Records) -> Row:
        """The row of a run."""
        row: Row = {}
        if self.metrics is not None:
            start_s = self._start_s(records)
            row |= summary(records, metrics=[*NAMES, *self.metrics], start_s=start_s, end_s=self.end_s)
            row["from_s"] = start_s
            row["packets"] = sum(flow["sent_packets"] for flow in records.rows("flows"))
        if self.columns is not None:
            row |= self._further(records)
        row["findings"] = json_text(records.rows("findings"), separators=(",", ":"), ensure_ascii=False)
        if self.service:
            levels = measured(records, start_s=row.get("from_s", self.start_s), end_s=self.end_s)
            row["levels"] = json_text(levels, separators=(",", ":"), ensure_ascii=False)
        if self.air:
            row["air"] = json_text(
                _busiest(records, row.get("from_s", self.start_s), self.end_s), separators=(",", ":")
            )
        if self.payload is not None:
            row["payload"] = json_text(self.payload(records), separators=(",", ":"))
        # A number that is not finite is not a value: in memory, in the journal and in a file alike.
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        return finite | {"host": platform.node()}

    def _start_s(self, records: Records) -> float:
        cut = self.start_s if self.warm_up is None else warm_up(records, end_s=self.end_s)
        return float(records.rows("runs")[0]["measure_from_ns"]) / 1e9 if cut is None else cut

    def _further(self, records: Records) -> Row:
        """The numbers of the function of records; raises if a name is taken, or if they are no numbers by name."""
        assert self.columns is not None
        try:
            values = self.columns(records)
        except Error:
            raise
        except Exception as error:
            what = f"the function failed with {type(error).__name__}: {error}".rstrip(": ")
            # Its traceback begins in the function.
            inner = error.__traceback__ and error.__traceback__.tb_next
            raise AlgorithmError(Fault("measure", what, "")) from error.with_traceback(inner)
        if not isinstance(values, Mapping):
            what = f"a value of type {type(values).__name__} is not a mapping from names to numbers"
            raise ArgumentError(parameter_fault("measure", what, hint="return {'name': 1.0}"))
        faults: list[Fault] = []
        row: Row = {}
        for name, value in values.items():
            if what := self._taken(name, values):
                faults.append(parameter_fault("measure", what, hint="return another name"))
                continue
            try:
                row[name] = None if value is None else float(value)
            except (TypeError, ValueError, OverflowError):
                faults.append(parameter_fault("measure", f"'{name}' is not a number", hint="return 1.0, or None"))
        if faults:
            raise ArgumentError(*faults)
        return row

    def _taken(self, name: object, others: Container[object]) -> str:
        """Why a column of the function, which also returns ``others``, cannot have this name; empty if it can."""
        if not isinstance(name, str):
            return f"{name!r} is not a name"
        base, _, end = name.rpartition("_")
        if end in _ENDS and (base in COLUMNS or base in others):
            return f"'{name}' is a column of the table of means: of '{base}'"
        kinds = {"a metric": COLUMNS, "a label": self.labels, "a column of every row": _RESERVED}
        return next((f"'{name}' is {kind}" for kind, names in kinds.items() if name in names), "")

    @cached_property
    def digest(self) -> str:
        """Changes whenever the same run would give another row: with the sources of the metrics and functions, and with
        what the functions use."""
        parts = [metrics_version(), "findings", repr((self.metrics, self.start_s, self.end_s, self.warm_up))]
        parts += ["" if one is None else source(one) for one in (self.columns, self.payload)]
        # The cut is a statistic, outside of the metrics.
        parts += [] if self.warm_up is None else [source(mser)]
        parts += [service_version()] if self.service else []
        parts += [source(radio)] if self.air else []
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def has_air(documents: Iterable[str]) -> bool:
    """Whether some scenario, as JSON, has an 802.11 medium with a channel."""
    # Without the text nothing is read: a study may have very many scenarios.
    return any(
        '"channel"' in text and any("channel" in one for one in json.loads(text).get("medium", ()))
        for text in documents
    )


def _busiest(records: Records, start_s: float | None, end_s: float | None) -> Row:
    """The row of `cwndlab.metrics.radio` of the station that sent most on the first medium."""
    stations = radio(records, start_s=start_s, end_s=end_s).to_dicts()
    first = [one for one in stations if one["medium"] == stations[0]["medium"]]
    return max(first, key=lambda one: one["sent_packets"], default={})


@dataclass(frozen=True, kw_only=True)
class Study:
    """Points × seeds.

    Parameters
    ----------
    points
        The scenarios.
    seeds
        The seeds of each point; with ``rule`` the first ones.
    measure
        The measure, or a function of a point and a seed that returns it.
    rule
        Adds seeds to a point until the interval of its metric is narrow enough; needs a single measure.
    together
        Whether all points get the same seeds from ``rule``, so that they stay paired.
    classes
        Custom algorithms by the names that the scenarios use.
    header
        A description for readers of the store.
    """

    points: Sequence[Point]
    seeds: Sequence[int]
    measure: Measure | Callable[[Point, int], Measure]
    rule: Until | None = None
    together: bool = False
    classes: Mapping[str, type] = field(default_factory=dict)
    header: Header = field(default_factory=Header)

    def measure_of(self, point: Point, seed: int) -> Measure:
        """The measure of a run."""
        return self.measure if isinstance(self.measure, Measure) else self.measure(point, seed)

    def job(self, point: Point, seed: int) -> Job:
        """A run of a point by a seed of the study, with its key."""
        seed += point.shift
        parts = (point.hash, seed, engine_version(), self.measure_of(point, seed).digest)
        key = hashlib.sha256("{} {} {} {}".format(*parts).encode()).hexdigest()[:32]
        return Job(point.number, seed, key, point.hash)

    def table(self) -> pl.DataFrame:
        """A row per point: ``cell``, its labels, ``shift`` if there is one, ``scenario_hash``, ``scenario``. A label is
        a number or a string."""
        import polars as pl

        columns: dict[str, Any] = {"cell": [point.number for point in self.points]}
        for name in self.header.columns:
            values = [point.labels[name] for point in self.points]
            is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
            columns[name] = [float(value) if is_number else str(value) for value in values]
        if any(point.shift for point in self.points):
            columns["shift"] = [point.shift for point in self.points]
        columns["scenario_hash"] = [point.hash for point in self.points]
        columns["scenario"] = [point.document for point in self.points]
        return pl.DataFrame(columns)


@dataclass
class Outcome:
    """How the execution of a study ended."""

    total: int
    """Runs of the study; with a stopping rule, including the added ones."""
    resumed: int = 0
    """Runs that the store had before."""
    ran: int = 0
    failed: list[tuple[Job, RunError]] = field(default_factory=list)
    stopped: bool = False

    @property
    def finished(self) -> int:
        """Runs that are in the store."""
        return self.resumed + self.ran
