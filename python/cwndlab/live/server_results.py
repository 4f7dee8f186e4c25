"""The results of a campaign at one server: rounds, means with intervals, the time of day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from statistics import median
from typing import Any

from cwndlab.live.rates import RateUnit
from cwndlab.live.schedule import PARTS, zone_of
from cwndlab.live.spec import CampaignSpec
from cwndlab.metrics import COLUMNS
from cwndlab.statistics import Effect, Estimate, blocks, estimate
from cwndlab.statistics.digits import mean_with_interval, number

#: Rounds that begin within this time have no time of day to compare, also where it has a boundary of two parts.
DAY_BEGINS = timedelta(hours=1)


@dataclass(repr=False)
class ServerResults:
    """The finished transfers from one server, one row each. A transfer that a breaker ended has no throughput, and its
    block is not compared."""

    question: CampaignSpec
    server: str
    rows: list[dict[str, Any]]
    unit: RateUnit

    def __repr__(self) -> str:
        return f"<ServerResults of {self.label}: {len(self.rows)} transfers>"

    @property
    def label(self) -> str:
        """The name of the server in tables."""
        return self.question.label(self.server)

    @property
    def algorithms(self) -> list[str]:
        """In the order of the request."""
        return list(self.question.algorithms_of(self.server))

    @cached_property
    def rounds(self) -> list[int]:
        """The rounds of complete blocks: every transfer from this server is complete."""
        complete = {(row["round"], row["algorithm"]) for row in self.rows if row["ended"] == "complete"}
        numbers = sorted({row["round"] for row in self.rows})
        return [number for number in numbers if all((number, name) in complete for name in self.algorithms)]

    def by_round(self, metric: str) -> dict[str, dict[int, float]]:
        """A metric of every complete transfer: by algorithm, then by round."""
        result: dict[str, dict[int, float]] = {name: {} for name in self.question.columns}
        for row in self.rows:
            if row["ended"] == "complete" and row.get(metric) is not None:
                result[row["algorithm"]][row["round"]] = row[metric]
        return result

    def complete(self, metric: str) -> list[tuple[int, dict[str, float]]]:
        """A metric of the complete blocks that have it in every transfer: round, and value by algorithm."""
        values = self.by_round(metric)
        rounds = [n for n in self.rounds if all(n in values[name] for name in self.algorithms)]
        return [(n, {name: values[name][n] for name in self.algorithms}) for n in rounds]

    def estimate(self, algorithm: str, metric: str) -> Estimate:
        """Mean and 95 % interval over rounds."""
        return estimate(list(self.by_round(metric)[algorithm].values()))

    def parts(self) -> dict[int, str]:
        """The part of the day of each complete block: that of its first transfer."""
        result: dict[int, tuple[str, str]] = {}
        for row in self.rows:
            if row["round"] in self.rounds:
                result[row["round"]] = min(result.get(row["round"], (row["at"], row["part"])), (row["at"], row["part"]))
        return {n: part for n, (_, part) in result.items()}

    @cached_property
    def has_time_of_day(self) -> bool:
        """Whether the complete blocks are of several parts of the day, and not within `DAY_BEGINS` of each other."""
        begins = [datetime.fromisoformat(row["at"]) for row in self.rows if row["round"] in self.rounds]
        return len(set(self.parts().values())) > 1 and max(begins) - min(begins) >= DAY_BEGINS

    def effects(self, metric: str = "goodput_bps") -> list[Effect]:
        """Part of the day, algorithm, and whether the second depends on the first (`cwndlab.statistics.blocks`); none
        where the campaign has one time of day."""
        if not self.has_time_of_day or len(self.algorithms) < 2:
            return []
        values, parts = self.complete(metric), self.parts()
        return blocks([one for _, one in values], [parts[n] for n, _ in values])

    # Cells of tables.

    def table(self) -> list[list[str]]:
        """Throughput of every round, as the paper's Table 1 has it: round, begin, part of the day, values."""
        zone = zone_of(self.question.zone)
        cells = []
        for n in sorted({row["round"] for row in self.rows}):
            mine = {row["algorithm"]: row for row in self.rows if row["round"] == n}
            first = min(mine.values(), key=lambda row: str(row["at"]))
            begins = datetime.fromisoformat(first["at"]).astimezone(zone)
            shown = [_rate(mine.get(name), self.unit) for name in self.question.columns]
            cells.append([str(n), f"{begins:%Y-%m-%d %H:%M}", first["part"], *shown])
        return cells

    def cell(self, algorithm: str, metric: str) -> str:
        """A metric of an algorithm for people to read."""
        one = self.estimate(algorithm, metric)
        factor = self.unit.factor if metric == "goodput_bps" else COLUMNS[metric].factor
        if not one.n:
            return "–"
        return mean_with_interval(one, factor)

    def means(self, metrics: Sequence[str]) -> list[list[str]]:
        """By algorithm: the sender's name, means ± half of the 95 % interval, RTT when idle and under load."""
        cells = []
        for name in self.algorithms:
            mine = [row for row in self.rows if row["algorithm"] == name and row["ended"] == "complete"]
            senders = ", ".join(dict.fromkeys(str(row["sender_algorithm"]) for row in mine)) or "–"
            apart = [
                _median([row[key] for row in mine if row[key] is not None]) for key in ("idle_rtt_ms", "loaded_rtt_ms")
            ]
            cells.append([name, senders, *(self.cell(name, metric) for metric in metrics), *apart])
        return cells

    def day(self) -> list[list[str]]:
        """Mean throughput by part of the day: part, number of rounds, values; none if there is one time of day."""
        if not self.has_time_of_day:
            return []
        parts = self.parts()
        values = self.by_round("goodput_bps")
        cells = []
        for part in (part for part in PARTS if part in parts.values()):
            mine = [n for n in self.rounds if parts[n] == part]
            factor = self.unit.factor
            shown = [
                estimate([values[name][n] * factor for n in mine if n in values[name]])
                for name in self.question.columns
            ]
            cells.append([part, str(len(mine)), *(mean_with_interval(one) if one.n else "–" for one in shown)])
        return cells


def _rate(row: dict[str, Any] | None, unit: RateUnit) -> str:
    if row is None:
        return "–"
    if row["ended"] != "complete" or row["goodput_bps"] is None:
        return row["ended"]  # type: ignore[no-any-return]
    return number(row["goodput_bps"] * unit.factor)


def _median(values: Sequence[float]) -> str:
    return number(median(values)) if values else "–"
