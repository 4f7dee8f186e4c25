"""One run of a sweep, from scenario to row: the same on a thread, in a process, on a machine of a cluster."""

from __future__ import annotations

import hashlib
import inspect
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab.engine import engine_version
from cwndlab.errors import RunError
from cwndlab.metrics import summary
from cwndlab.metrics.numbers import metrics_version, numbers
from cwndlab.simulate import run_text

if TYPE_CHECKING:
    from cwndlab.records import Records

Row = dict[str, Any]


class Job(NamedTuple):
    """A run to do."""

    cell: int
    seed: int
    hash: str
    """Of its scenario."""


@dataclass(frozen=True)
class Measure:
    """What of a run becomes a row."""

    start_s: float | None = None
    end_s: float | None = None
    slower: tuple[str, ...] = ()
    """Metrics beyond those of one pass."""
    more: Callable[[Records], Mapping[str, float | None]] | None = None

    def __call__(self, records: Records) -> Row:
        """The numbers of a run, and what it cost."""
        found: Row = dict(numbers(records, start_s=self.start_s, end_s=self.end_s))
        if self.slower:
            found |= summary(records, only=self.slower, start_s=self.start_s, end_s=self.end_s)
        if self.more is not None:
            found |= {name: None if value is None else float(value) for name, value in self.more(records).items()}
        found["packets"] = sum(row["sent_packets"] for row in records.rows("flows"))
        found["host"] = platform.node()
        return found

    @property
    def version(self) -> str:
        """Changes whenever the same run would give other numbers."""
        parts = [metrics_version(), repr(self.start_s), repr(self.end_s), *self.slower]
        if self.more is not None:
            parts.append(inspect.getsource(self.more))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def key(scenario_hash: str, seed: int, engine: str, measure: str) -> str:
    """What a run is kept under: equal keys, equal rows."""
    return hashlib.sha256(f"{scenario_hash} {seed} {engine} {measure}".encode()).hexdigest()[:32]


def batch(jobs: Sequence[tuple[Job, str]], measure: Measure, expected: tuple[str, str]) -> list[tuple[Job, Row | str]]:
    """Several runs, one after another, in a worker of a cluster: each with its row, or the text of its error.

    ``expected`` are the versions of engine and metrics that the rows are kept under.
    """
    mine = (engine_version(), metrics_version())
    if mine != expected:
        raise VersionError(platform.node(), mine[0] if mine[0] != expected[0] else f"{mine[0]} with other metrics")
    found: list[tuple[Job, Row | str]] = []
    for job, document in jobs:
        began = time.perf_counter()
        try:
            row = measure(run_text(document, seed=job.seed))
            found.append((job, row | {"wall_s": time.perf_counter() - began}))
        except RunError as error:
            found.append((job, str(error)))
    return found


class VersionError(Exception):
    """A worker of another version: (its host, its version)."""
