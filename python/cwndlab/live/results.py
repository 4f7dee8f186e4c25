"""What a campaign found: the paper's table, means with intervals, differences within rounds, the time of day."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from cwndlab.errors import RecordsError
from cwndlab.live.campaign import State
from cwndlab.live.schedule import PARTS, zone_of
from cwndlab.live.spec import CampaignSpec
from cwndlab.live.store import place_of, read_journal, read_spec
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import verdict_of
from cwndlab.records import Records
from cwndlab.statistics import Difference, Effect, Estimate, Verdict, blocks, difference, estimate, holm
from cwndlab.statistics.digits import effect_size, interval, mean_and_half, number

#: What is judged: the family over which Holm's correction goes, times the pairs of algorithms.
JUDGED = ("goodput_bps", "mean_rtt_ms", "loss_ratio")
_ALL = (*JUDGED, "retransmitted_packets", "timeouts")
# Significance level of a factor.
_ALPHA = 0.05


@dataclass(repr=False)
class Measurement:
    """A campaign as far as it has come. ``rows`` has one entry per finished transfer; a transfer that a breaker ended
    has no throughput, and its round is none of those that are compared."""

    question: CampaignSpec
    rows: list[dict[str, Any]]
    folder: Path | None = None
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<Measurement of {', '.join(self.algorithms)} from {self.question.url}: {len(self.rows)} transfers>"

    @classmethod
    def read(cls, folder: Path | str) -> Measurement:
        """What `cwndlab measure` keeps in a folder; it may be under way."""
        folder = Path(folder)
        return cls.of(State(read_spec(folder), read_journal(folder)), folder)

    @classmethod
    def of(cls, state: State, folder: Path | None = None) -> Measurement:
        """What is done of a campaign."""
        rows = [state.finished[key] for key in sorted(state.finished)]
        made = cls(state.question, rows, folder)
        made.notes = made._notes(state)
        return made

    @property
    def algorithms(self) -> list[str]:
        """In the order of the request."""
        return list(self.question.algorithms)

    @cached_property
    def seeds(self) -> list[int]:
        """Rounds that are complete: every transfer of the round is complete."""
        complete = {(row["round"], row["algorithm"]) for row in self.rows if row["ended"] == "complete"}
        numbers = sorted({row["round"] for row in self.rows})
        return [number for number in numbers if all((number, name) in complete for name in self.algorithms)]

    def by_seed(self, metric: str) -> dict[str, dict[int, float]]:
        """A metric of every complete transfer: by algorithm, then by round."""
        result: dict[str, dict[int, float]] = {name: {} for name in self.algorithms}
        for row in self.rows:
            if row["ended"] == "complete" and row.get(metric) is not None:
                result[row["algorithm"]][row["round"]] = row[metric]
        return result

    def estimate(self, algorithm: str, metric: str) -> Estimate:
        """Mean and 95 % interval over rounds."""
        return estimate(list(self.by_seed(metric)[algorithm].values()))

    def judged(self) -> list[str]:
        """Those of `JUDGED` that have a value in some transfer."""
        return [metric for metric in JUDGED if any(row.get(metric) is not None for row in self.rows)]

    @cached_property
    def examples(self) -> dict[str, Records]:
        """The records of the first complete round."""
        if self.folder is None or not self.seeds:
            return {}
        result = {}
        for name in self.algorithms:
            try:
                result[name] = Records.read(place_of(self.folder, self.seeds[0], name))
            except RecordsError:
                self.notes.append(f"the records of round {self.seeds[0]}, {name} are not there any more")
        return result

    # What decides.

    def comparisons(self) -> dict[tuple[str, str, str], tuple[Difference, float | None]]:
        """Every difference within complete rounds, second minus first, by (first, second, metric), with the p-value of
        the paired t-test after Holm's correction over all of them."""
        result = {}
        for metric in self.judged():
            values = self.by_seed(metric)
            for one, other in combinations(self.algorithms, 2):
                both = [n for n in self.seeds if n in values[one] and n in values[other]]
                if both:
                    first, second = ([values[name][n] for n in both] for name in (one, other))
                    result[one, other, metric] = difference(first, second)
        adjusted = holm([delta.p for delta in result.values()])
        return {key: (delta, p) for (key, delta), p in zip(result.items(), adjusted, strict=True)}

    def parts(self) -> dict[int, str]:
        """The part of the day of each complete round: that of its first transfer."""
        result: dict[int, tuple[str, str]] = {}
        for row in self.rows:
            if row["round"] in self.seeds:
                result[row["round"]] = min(result.get(row["round"], (row["at"], row["part"])), (row["at"], row["part"]))
        return {number: part for number, (_, part) in result.items()}

    def effects(self, metric: str = "goodput_bps") -> list[Effect]:
        """Part of the day, algorithm, and whether the second depends on the first (`cwndlab.statistics.blocks`)."""
        values, parts = self.by_seed(metric), self.parts()
        rounds = [n for n in self.seeds if all(n in values[name] for name in self.algorithms)]
        return blocks([{name: values[name][n] for name in self.algorithms} for n in rounds], [parts[n] for n in rounds])

    def method(self) -> str:
        """How it is tested, in a sentence."""
        count = sum(p is not None for _, p in self.comparisons().values())
        return (
            f"Paired t-test within the {len(self.seeds)} complete rounds; p after Holm's correction for the {count} "
            "comparisons judged here. Effect: Hedges' g of the pairs, with its 95 % interval."
        )

    # How it is shown: header and cells.

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Throughput of every round in Mbit/s, as the paper's Table 1 has it, then means with half of their 95 %
        intervals."""
        zone = zone_of(self.question.zone)
        header = ["round", "begins", "part", *(f"{name}\nMbit/s" for name in self.algorithms)]
        cells = []
        for n in sorted({row["round"] for row in self.rows}):
            mine = {row["algorithm"]: row for row in self.rows if row["round"] == n}
            first = min(mine.values(), key=lambda row: str(row["at"]))
            begins = datetime.fromisoformat(first["at"]).astimezone(zone)
            shown = [_rate(mine.get(name)) for name in self.algorithms]
            cells.append([str(n), f"{begins:%Y-%m-%d %H:%M}", first["part"], *shown])
        cells.append(["mean", "", "", *(self.cell(name, "goodput_bps") for name in self.algorithms)])
        return header, cells

    def cell(self, algorithm: str, metric: str) -> str:
        """A metric of an algorithm for people to read."""
        one, factor = self.estimate(algorithm, metric), COLUMNS[metric].factor
        if not one.n:
            return "–"
        return mean_and_half(one.mean * factor, None if one.half is None else one.half * factor)

    def means(self) -> tuple[list[str], list[list[str]]]:
        """What else was measured, mean ± half of the 95 % interval."""
        shown = [metric for metric in _ALL if any(row.get(metric) is not None for row in self.rows)]
        header = [
            "algorithm",
            "sender",
            *(f"{COLUMNS[metric].title}\n{COLUMNS[metric].unit}".strip() for metric in shown),
        ]
        header += ["idle RTT\nms", "loaded RTT\nms"]
        cells = []
        for name in self.algorithms:
            mine = [row for row in self.rows if row["algorithm"] == name and row["ended"] == "complete"]
            senders = ", ".join(dict.fromkeys(str(row["sender_algorithm"]) for row in mine)) or "–"
            apart = [
                _median([row[key] for row in mine if row[key] is not None]) for key in ("idle_rtt_ms", "loaded_rtt_ms")
            ]
            cells.append([name, senders, *(self.cell(name, metric) for metric in shown), *apart])
        return header, cells

    def differences(self) -> tuple[list[str], list[list[str | Verdict]]]:
        """Header and cells of the differences within rounds."""
        header = [
            "algorithm",
            "minus",
            "metric",
            "difference",
            "95 % interval",
            "ratio",
            "p (Holm)",
            "effect",
            "n",
            "verdict",
        ]
        cells: list[list[str | Verdict]] = []
        for (one, other, metric), (delta, adjusted) in self.comparisons().items():
            column = COLUMNS[metric]
            mean, low, high = interval(delta.paired, column.factor)
            cells.append(
                [
                    other,
                    one,
                    f"{column.title} {column.unit}".strip(),
                    mean,
                    f"{low} … {high}" if low else "–",
                    "–" if delta.ratio is None else f"{delta.ratio:.3f}",
                    _p(adjusted),
                    effect_size(delta.effect),
                    str(delta.paired.n),
                    verdict_of(metric, delta, adjusted),
                ]
            )
        return header, cells

    def day(self) -> tuple[list[str], list[list[str]]]:
        """Mean throughput by part of the day."""
        parts = self.parts()
        values = self.by_seed("goodput_bps")
        header = ["part", "rounds", *(f"{name}\nMbit/s" for name in self.algorithms)]
        cells = []
        for part in (part for part in PARTS if part in parts.values()):
            mine = [n for n in self.seeds if parts[n] == part]
            shown = [estimate([values[name][n] / 1e6 for n in mine if n in values[name]]) for name in self.algorithms]
            cells.append(
                [part, str(len(mine)), *(mean_and_half(one.mean, one.half) if one.n else "–" for one in shown)]
            )
        return header, cells

    def factors(self) -> tuple[list[str], list[list[str]]]:
        """The analysis of variance of the throughput."""
        names = {
            "group": "part of the day",
            "blocks": "rounds within a part",
            "treatment": "algorithm",
            "treatment × group": "algorithm × part of the day",
            "rest": "rest",
        }
        header = ["effect of", "squares (Mbit/s)²", "df", "F", "p", "verdict"]
        cells = []
        for one in self.effects():
            verdict = "" if one.p is None else "shown" if one.p < _ALPHA else "not shown"
            if one.p is None and one.name in ("group", "treatment", "treatment × group"):
                verdict = "undetermined: too few rounds" if one.freedom else "one part of the day only"
            cells.append(
                [
                    names[one.name],
                    number(one.squares * 1e-12),
                    str(one.freedom),
                    "–" if one.f is None else number(one.f),
                    _p(one.p),
                    verdict,
                ]
            )
        return header, cells

    def as_dict(self) -> dict[str, Any]:
        """Everything but time series, for programs."""
        tested = []
        for (one, other, metric), (delta, adjusted) in self.comparisons().items():
            tested.append(
                {
                    "algorithm": other,
                    "minus": one,
                    "metric": metric,
                    "difference": delta.paired.mean,
                    "low": delta.paired.low,
                    "high": delta.paired.high,
                    "ratio": delta.ratio,
                    "n": delta.paired.n,
                    "p": delta.p,
                    "adjusted_p": adjusted,
                    "wilcoxon_p": delta.wilcoxon_p,
                    "verdict": str(verdict_of(metric, delta, adjusted)),
                }
            )
        means = []
        for name in self.algorithms:
            for metric in _ALL:
                result = self.estimate(name, metric)
                mean = result.mean if result.n else None
                entry = {"algorithm": name, "metric": metric, "mean": mean, "low": result.low, "high": result.high}
                means.append(entry | {"n": result.n})
        return {
            "question": self.question.as_dict(),
            "rows": self.rows,
            "complete_rounds": self.seeds,
            "summary": means,
            "differences": tested,
            "factors": [one.__dict__ for one in self.effects()],
            "method": self.method(),
            "notes": self.notes,
        }

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)

    def _notes(self, state: State) -> list[str]:
        left = state.todo()
        notes = []
        if left:
            count = self.question.rounds * len(self.algorithms)
            notes.append(f"{len(left)} of {count} transfers are left; the same command goes on")
        for row in self.rows:
            if row["ended"] != "complete":
                notes.append(f"round {row['round']}, {row['algorithm']}: the circuit breaker ended it: {row['why']}")
        broken = {row["round"] for row in self.rows if row["ended"] != "complete"}
        if broken:
            notes.append(f"{len(broken)} rounds are not complete and are not compared")
        failed = sum(row["kind"] == "transfer" and row["ended"] == "failed" for row in state.rows)
        again = sum(row["kind"] == "transfer" for row in state.rows) - len(state.finished) - failed
        if failed + again > 0:
            notes.append(f"{failed + again} transfers did not come whole for reasons of the network and were repeated")
        ends = {row["id"] for row in state.rows if row["kind"] == "transfer"}
        killed = sum(row["kind"] == "begin" and row["id"] not in ends for row in state.rows)
        if killed:
            notes.append(f"{killed} transfers were under way when the campaign was stopped, and were repeated whole")
        return notes


def _rate(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    if row["ended"] != "complete" or row["goodput_bps"] is None:
        return row["ended"]  # type: ignore[no-any-return]
    return number(row["goodput_bps"] / 1e6)


def _median(values: Sequence[float]) -> str:
    return number(median(values)) if values else "–"


def _p(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"
