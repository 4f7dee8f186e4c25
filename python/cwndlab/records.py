"""A run's output tables, their frames, figures and pages.

The name of a column ends with its unit; ``docs/records.md`` describes all columns. A table becomes a polars frame,
without copying, at its first use.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.engine import RecordsHandle, read_records
from cwndlab.errors import ArgumentError, Parameter, RunError, ScenarioError, parameter_fault, unknown_name
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.html import html_table
from cwndlab.scenario.schedules import hand_over_times_s, step_times_s

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

TABLES = (
    "runs",
    "flows",
    "links",
    "samples",
    "link_samples",
    "events",
    "transfers",
    "messages",
    "packets",
    "stations",
    "cell_users",
    "link_events",
    "lateness",
    "calibration",
    "named_values",
    "findings",
)

#: Rows of the table of flows that a notebook shows.
_MOST_ROWS = 20


class RunKey(NamedTuple):
    """What tells one run in a folder from another."""

    scenario_hash: str
    seed: int
    version: str
    engine: str


def key_of(folder: Path) -> RunKey | None:
    """Which run a folder has, from its table ``runs`` alone; ``None`` where that is missing or damaged."""
    import polars as pl

    try:
        (row,) = pl.read_parquet(folder / "runs.parquet", columns=list(RunKey._fields)).rows()
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return None
    return RunKey(*row)


class Records:
    """All tables of one run, each a polars frame (``records.events``); scenario, seed and version are in its header.

    Examples
    --------
    >>> import cwndlab
    >>> link = cwndlab.Link(rate="10 Mbit/s", delay="10 ms")
    >>> path = cwndlab.Dumbbell(bottleneck=link)
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=path, flows=[cwndlab.Flow("cubic", rtt="40 ms")])
    >>> records = cwndlab.run(scenario, seed=1)
    >>> records.flows["algorithm"].to_list()
    ['cubic+hystart-pp/rack']
    """

    def __init__(self, handle: RecordsHandle) -> None:
        self._handle = handle

    @classmethod
    def read(cls, folder: str | Path) -> Records:
        """Reads the run in a folder that `save` wrote.

        Raises
        ------
        RecordsError
            If a file is truncated, altered, of another program or of another version.
        """
        return cls(read_records(folder))

    def save(self, folder: str | Path) -> None:
        """Writes one Parquet file per table into ``folder``: all or, on any error, none.

        Raises
        ------
        RecordsError
            If the folder holds another run, or if it cannot be written. The same simulation may be written again; an
            emulation is another run each time.

        Examples
        --------
        >>> import cwndlab, tempfile
        >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
        >>> flows = [cwndlab.Flow("cubic", rtt="40 ms")]
        >>> records = cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=flows), seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     records.save(folder)
        ...     cwndlab.Records.read(folder).hash() == records.hash()
        True
        """
        self._handle.write(folder)

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.frame(table)

    #: Without it, Python would iterate by ``records[0]``.
    __iter__ = None

    def __eq__(self, other: object) -> bool:
        return self.hash() == other.hash() if isinstance(other, Records) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.hash())

    def __reduce__(self) -> tuple[Any, ...]:
        with TemporaryDirectory() as folder:
            place = Path(folder) / "run"
            self.save(place)
            return _unpacked, ({file.name: file.read_bytes() for file in place.iterdir()},)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A table as plain dictionaries, one per row; for small tables where no frame is needed."""
        self._known(table)
        return self._handle.rows(table)  # type: ignore[arg-type]

    def frame(self, table: str) -> pl.DataFrame:
        """A table as a polars frame."""
        import polars as pl

        self._known(table)
        return pl.DataFrame(self._handle.table(table))  # type: ignore[arg-type]

    def to_pandas(self, table: str) -> pd.DataFrame:
        """A table as a pandas frame; a column of integers with missing values becomes one of floats.

        Raises
        ------
        RunError
            If pandas is not installed (``pip install 'cwndlab[pandas]'``).

        Examples
        --------
        >>> import cwndlab
        >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
        >>> flows = [cwndlab.Flow("cubic", rtt="40 ms")]
        >>> records = cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=flows), seed=1)
        >>> records.to_pandas("flows").loc[0, "base_rtt_ns"].item()
        40000000
        """
        try:
            import pandas as pd
        except ImportError:
            hint = "pip install 'cwndlab[pandas]'"
            raise RunError(("to_pandas", "the module pandas is not installed", hint)) from None
        return pd.DataFrame({column.name: column.to_numpy() for column in self.frame(table)})

    def plot(self, kind: str = "cwnd") -> Any:
        """A figure of the run, as the functions of `cwndlab.plot` return it.

        Parameters
        ----------
        kind
            Per flow over time ``"cwnd"`` (segments), ``"goodput"`` (Mbit/s) and ``"rtt"`` (ms); per bottleneck over
            time ``"queue"`` (packets) and ``"loss"`` (drops per second); ``"share"``, the flows' shares of the goodput;
            ``"phase"``, the window of the second flow over that of the first one; the distribution functions
            ``"cdf-rtt"``, ``"cdf-queue"`` and ``"cdf-completion"``; ``"overview"``, the quantities over time in linked
            panels with events and phases.

        Raises
        ------
        ScenarioError
            Where no figure has this name, and where the run has no data for it.

        Examples
        --------
        >>> import cwndlab
        >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
        >>> flows = [cwndlab.Flow("cubic", rtt="40 ms")]
        >>> records = cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=flows), seed=1)
        >>> records.plot("rtt") == cwndlab.plot.series(records, "rtt")
        True
        >>> records.plot("phase")
        Traceback (most recent call last):
        cwndlab.errors.ArgumentError: kind: the run has no data for 'phase'
          hint: it needs two flows
        """
        from cwndlab.plot import CDFS, SERIES, cdf, overview, phase, series, share
        from cwndlab.plot.phase import path_of

        distributions = {f"cdf-{of}": of for of in CDFS}
        kinds = [*SERIES, "share", "phase", "overview", *distributions]
        if kind not in kinds:
            raise ScenarioError(unknown_name(Parameter("kind"), "figure", kind, kinds))
        figure = None
        if kind in SERIES or kind == "share":
            drawn = share(self) if kind == "share" else series(self, kind)
            figure = drawn if any(value is not None for one in drawn.series for value in one.y) else None
        elif kind in distributions:
            figure = cdf(self, distributions[kind])
        elif kind == "overview":
            figure = overview(self)
        elif path_of(self).time_s:
            figure = phase(self, "run")
        if figure is None:
            hint = "it needs samples or transfers"
            if kind == "phase":
                hint = "it needs two flows" if len(self.flows) < 2 else "it needs samples of two flows over TCP"
            raise ArgumentError(parameter_fault("kind", f"the run has no data for '{kind}'", hint=hint))
        return figure

    def report(self, path: str | Path) -> None:
        """Writes the page of the run, self-contained HTML, as `cwndlab.report` does.

        Examples
        --------
        >>> import cwndlab, pathlib, tempfile
        >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
        >>> flows = [cwndlab.Flow("cubic", rtt="40 ms")]
        >>> records = cwndlab.run(cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=flows), seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = pathlib.Path(folder) / "run.html"
        ...     records.report(page)
        ...     page.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        from cwndlab.saved import report

        report(self, path)

    def height(self, table: str) -> int:
        """The number of rows of a table; needs no Polars."""
        self._known(table)
        return len(self._handle.table(table))  # type: ignore[arg-type]

    @staticmethod
    def _known(table: str) -> None:
        if table not in TABLES:
            raise ArgumentError(unknown_name(Parameter("table"), "table", table, TABLES))

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row: scenario hash, seed, engine, version, host, duration, notes."""
        return self.frame("runs")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Totals per flow."""
        return self.frame("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """Totals per link and direction."""
        return self.frame("links")

    @cached_property
    def samples(self) -> pl.DataFrame:
        """Flows at the sampling interval; counters are cumulative."""
        return self.frame("samples")

    @cached_property
    def link_samples(self) -> pl.DataFrame:
        """Links at the sampling interval; counters are cumulative."""
        return self.frame("link_samples")

    @cached_property
    def events(self) -> pl.DataFrame:
        """Events of flows: time, kind, cause, windows."""
        return self.frame("events")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """Completed transfers with start and end."""
        return self.frame("transfers")

    @cached_property
    def messages(self) -> pl.DataFrame:
        """Messages of flows with a service level, delivered or not."""
        return self.frame("messages")

    @cached_property
    def packets(self) -> pl.DataFrame:
        """Every packet at the entrance of every link, where the scenario sets ``packets``."""
        return self.frame("packets")

    @cached_property
    def stations(self) -> pl.DataFrame:
        """Stations of 802.11 at the sampling interval and at the end; counters are cumulative."""
        return self.frame("stations")

    @cached_property
    def cell_users(self) -> pl.DataFrame:
        """Users of cells by direction, at the sampling interval and at the end; counters are cumulative."""
        return self.frame("cell_users")

    @cached_property
    def link_events(self) -> pl.DataFrame:
        """Hand-overs and promotions of links on a cell."""
        return self.frame("link_events")

    @cached_property
    def lateness(self) -> pl.DataFrame:
        """Histogram of an emulation's lateness; empty for a simulation."""
        return self.frame("lateness")

    @cached_property
    def calibration(self) -> pl.DataFrame:
        """Properties of an emulated path, configured and measured; empty for a simulation."""
        return self.frame("calibration")

    @cached_property
    def named_values(self) -> pl.DataFrame:
        """Variables of algorithms and transport, where the scenario sets ``named_values``."""
        return self.frame("named_values")

    @cached_property
    def findings(self) -> pl.DataFrame:
        """What the run reports about itself, severe findings first; empty for a clean run."""
        return self.frame("findings")

    @cached_property
    def step_times_s(self) -> list[float]:
        """Times within the run of the steps of all links' schedules, s."""
        return step_times_s(self.document, int(self.rows("runs")[0]["duration_ns"]) / 1e9)

    @cached_property
    def hand_over_times_s(self) -> list[float]:
        """Times within the run of the reconfigurations of all links, s."""
        return hand_over_times_s(self.document, int(self.rows("runs")[0]["duration_ns"]) / 1e9)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that was run."""
        return Scenario.from_json(self._handle.scenario)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The scenario as plain values, in the shape of its TOML."""
        document: dict[str, Any] = json.loads(self._handle.scenario)
        return document

    @property
    def scenario_hash(self) -> str:
        """SHA-256 of the scenario's canonical form, in hex."""
        return self._handle.scenario_hash

    @property
    def seed(self) -> int:
        """The seed."""
        return self._handle.seed

    @property
    def version(self) -> str:
        """The version of the engine."""
        return self._handle.version

    @property
    def notes(self) -> list[str]:
        """Notes on the run, such as a queue that was floored at two packets."""
        return self._handle.notes

    def hash(self) -> str:
        """SHA-256 over the values of all tables, in hex: equal exactly when two runs recorded the same."""
        return self._handle.hash()

    def __repr__(self) -> str:
        return f"<Records of scenario {self.scenario_hash[:12]}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        """The run's table in a notebook: scenario, seed and flows."""
        run = self.rows("runs")[0]
        title = self.document.get("title") or f"scenario {self.scenario_hash[:12]}"
        heading = f"{title}, seed {self.seed}, {run['duration_ns'] / 1e9:g} s ({run['engine']}, {run['version']})"
        rows = [_cells(values) for values in _totals(self)]
        left_out = max(0, len(rows) - _MOST_ROWS)
        return html_table(heading, _HEADINGS, rows[:_MOST_ROWS], footer=f"{left_out} more flows" if left_out else "")


def _unpacked(files: dict[str, bytes]) -> Records:
    """Records from the files of their folder."""
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return Records.read(folder)


_HEADINGS = ("flow", "algorithm", "goodput, Mbit/s", "mean RTT, ms", "min. RTT, ms", "losses", "resent", "timeouts")


def _totals(records: Records) -> list[tuple[Any, ...]]:
    """The values of `_HEADINGS` per flow."""
    from cwndlab.metrics import goodput

    rates = dict(goodput(records).select("flow", "goodput_bps").rows())
    return [
        (
            flow["name"],
            flow["algorithm"],
            _scaled(rates.get(flow["flow"]), 1e-6),
            _scaled(flow["mean_rtt_ns"], 1e-6),
            _scaled(flow["min_rtt_ns"], 1e-6),
            flow["queue_drops"] + flow["wire_losses"],
            flow["retransmitted_packets"],
            flow["timeouts"],
        )
        for flow in records.rows("flows")
    ]


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _cells(values: tuple[Any, ...]) -> list[str]:
    return ["–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]
