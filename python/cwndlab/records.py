"""A run's output tables.

The name of a column ends with its unit; ``docs/records.md`` describes all columns. A table becomes a polars frame,
without copying, at its first use.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.engine import RecordsHandle, read_records
from cwndlab.scenario.document import Scenario

if TYPE_CHECKING:
    import polars as pl

TABLES = (
    "runs",
    "flows",
    "links",
    "samples",
    "link_samples",
    "events",
    "transfers",
    "packets",
    "stations",
    "lateness",
    "calibration",
)


class Records:
    """All tables of one run, each a polars frame (``records.events``); scenario, seed and version are in its header.

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
        """The run that ``folder`` holds; raises ``RecordsError`` for a file that is cut off, foreign or of another
        version."""
        return cls(read_records(folder))

    def write(self, folder: str | Path) -> None:
        """Writes one Parquet file per table into ``folder``: all or, on any error, none.

        A folder that holds another run is refused.
        """
        self._handle.write(folder)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A table as plain dictionaries, one per row; for small tables where no frame is needed."""
        self._known(table)
        return self._handle.rows(table)  # type: ignore[arg-type]

    def frame(self, table: str) -> pl.DataFrame:
        """A table as a polars frame."""
        import polars as pl

        self._known(table)
        return pl.DataFrame(self._handle.table(table))  # type: ignore[arg-type]

    def height(self, table: str) -> int:
        """The number of rows of a table; needs no Polars."""
        self._known(table)
        return len(self._handle.table(table))  # type: ignore[arg-type]

    @staticmethod
    def _known(table: str) -> None:
        if table not in TABLES:
            raise KeyError(f"no table is called '{table}'; there are {', '.join(TABLES)}")

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
    def packets(self) -> pl.DataFrame:
        """Every packet at the entrance of every link, where the scenario asks for it."""
        return self.frame("packets")

    @cached_property
    def stations(self) -> pl.DataFrame:
        """Stations of 802.11 at the sampling interval and at the end; counters are cumulative."""
        return self.frame("stations")

    @cached_property
    def lateness(self) -> pl.DataFrame:
        """Histogram of an emulation's lateness; empty for a simulation."""
        return self.frame("lateness")

    @cached_property
    def calibration(self) -> pl.DataFrame:
        """Properties of an emulated path, configured and measured; empty for a simulation."""
        return self.frame("calibration")

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
        """The version of the engine that ran it."""
        return self._handle.version

    @property
    def notes(self) -> list[str]:
        """What was noted about the run, such as a queue that was floored at two packets."""
        return self._handle.notes

    def hash(self) -> str:
        """SHA-256 over the values of all tables, in hex: equal exactly when two runs recorded the same."""
        return self._handle.hash()

    def __repr__(self) -> str:
        return f"<Records of scenario {self.scenario_hash[:12]}, seed {self.seed}>"
