"""The results of a campaign: those of each server, differences within rounds, and the comparison over all servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from cwndlab.errors import RecordsError
from cwndlab.files import json_text
from cwndlab.live.campaign import Block, State, block_name
from cwndlab.live.rates import RateUnit
from cwndlab.live.server_results import DAY_BEGINS, ServerResults
from cwndlab.live.spec import UNKNOWN, CampaignSpec
from cwndlab.live.store import read_journal, read_preflight, read_spec, transfer_folder
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import verdict_of
from cwndlab.records import Records
from cwndlab.statistics import Difference, Effect, Estimate, Verdict, adjusted, blocks, difference
from cwndlab.statistics.digits import effect_size, interval, number, p_value
from cwndlab.study.tables import pairs

#: Metrics that are compared. Holm's correction covers all pairs of algorithms in these metrics, of each server and over
#: all servers.
JUDGED = ("goodput_bps", "mean_rtt_ms", "loss_ratio")
_ALL = (*JUDGED, "retransmitted_packets", "timeouts")
# Significance level of a factor.
_ALPHA = 0.05
_ALL_SERVERS = "all servers"


class Pair(NamedTuple):
    """A comparison: the algorithm ``second`` minus ``first``, at ``server``, or over all servers (None)."""

    first: str
    second: str
    metric: str
    server: str | None


class Analysis(NamedTuple):
    """An analysis of variance: that of a server, whose groups are parts of the day, or over all servers (None), whose
    groups are the servers."""

    server: str | None
    effects: list[Effect]


@dataclass(repr=False)
class Measurement:
    """A campaign as far as it has come. ``rows`` has one entry per finished transfer; a transfer that a breaker ended
    has no throughput, and its block is not compared. ``missing`` has the blocks that their servers' failures left
    incomplete."""

    question: CampaignSpec
    rows: list[dict[str, Any]]
    folder: Path | None = None
    notes: list[str] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)
    #: The rounds that have begun, with the drawn order of servers and algorithms.
    rounds: list[dict[str, Any]] = field(default_factory=list)

    def __repr__(self) -> str:
        servers = ", ".join(self.question.servers)
        return f"<Measurement of {', '.join(self.algorithms)} from {servers}: {len(self.rows)} transfers>"

    @classmethod
    def read(cls, folder: Path | str) -> Measurement:
        """What `cwndlab measure` keeps in a folder; it may be under way."""
        folder = Path(folder)
        return cls.of(State(read_spec(folder), read_journal(folder)), folder)

    @classmethod
    def of(cls, state: State, folder: Path | None = None) -> Measurement:
        """What is done of a campaign."""
        spec = state.question
        keys = sorted(state.finished, key=lambda key: (key[0].round, spec.position(key[0].server), key[1]))
        rows = [state.finished[key] for key in keys]
        rounds = [_plain(row) for row in state.rows if row["kind"] == "round"]
        made = cls(spec, rows, folder, missing=[_plain(row) for row in state.missing()], rounds=rounds)
        made.notes = made._notes(state)
        return made

    @property
    def algorithms(self) -> list[str]:
        """In the order of the request."""
        return list(self.question.columns)

    @cached_property
    def unit(self) -> RateUnit:
        """The unit of rates in tables and figures."""
        return RateUnit.of(self.rows)

    @cached_property
    def servers(self) -> list[ServerResults]:
        """The results of each server, in the order of the request."""
        return [
            ServerResults(self.question, server, [row for row in self.rows if row["server"] == server], self.unit)
            for server in self.question.servers
        ]

    @cached_property
    def series(self) -> dict[str, tuple[ServerResults, str]]:
        """Server and algorithm by the label in figures: the algorithm and, with several servers, the server."""
        return {self.label_of(one.server, name): (one, name) for one in self.servers for name in one.algorithms}

    def label_of(self, server: str, algorithm: str) -> str:
        """The label of a series in figures."""
        return f"{algorithm}, {self.question.label(server)}" if len(self.question.servers) > 1 else algorithm

    def by_seed(self, metric: str) -> dict[str, dict[int, float]]:
        """A metric of every complete transfer: by the label in figures, then by round."""
        return {label: one.by_round(metric)[name] for label, (one, name) in self.series.items()}

    def estimate(self, label: str, metric: str) -> Estimate:
        """Mean and 95 % interval over rounds, by the label in figures."""
        one, name = self.series[label]
        return one.estimate(name, metric)

    def judged(self) -> list[str]:
        """Those of `JUDGED` that have a value in some transfer."""
        return [metric for metric in JUDGED if any(row.get(metric) is not None for row in self.rows)]

    @cached_property
    def examples(self) -> dict[str, Records]:
        """The records of each server's first complete block, by the label in figures."""
        result = {}
        for label, (one, name) in self.series.items():
            if self.folder is None or not one.rounds:
                continue
            block = Block(one.rounds[0], one.server)
            try:
                result[label] = Records.read(transfer_folder(self.folder, self.question, *block, name))
            except RecordsError:
                self.notes.append(f"the records of {block_name(self.question, block)}, {name} are not there any more")
        return result

    def finding_rows(self) -> list[dict[str, Any]]:
        """The findings of the transfers in `examples`, as rows of the table ``findings``, without notes."""
        return [
            {**row, "text": f"{name}: {row['text']}"}
            for name, records in (self.examples if self.rows else {}).items()
            for row in records.rows("findings")
            if row["severity"] != "note"
        ]

    @cached_property
    def preflight(self) -> list[dict[str, Any]]:
        """The inspection of each server's path before the first transfer from it."""
        inspections = [] if self.folder is None else read_preflight(self.folder)
        return [one for server in self.question.servers for one in inspections if one["server"] == server]

    # What decides.

    def comparisons(self) -> dict[Pair, tuple[Difference, float | None]]:
        """Every difference within complete blocks, second minus first: of each server and, with several servers, over
        all of them with the server as a blocking factor. The p-value is that of the paired t-test after Holm's
        correction over all of these comparisons together."""
        result = {}
        metrics = self.judged()
        for server in (*self.question.servers, None):
            for metric in metrics:
                for one, other in combinations(self.algorithms, 2):
                    first, second, groups = self._pairs(server, metric, one, other)
                    if first and (server is not None or len(set(groups)) > 1):
                        delta = difference(first, second, groups=groups if server is None else ())
                        result[Pair(one, other, metric, server)] = delta
        return adjusted(result)

    def _pairs(
        self, server: str | None, metric: str, one: str, other: str
    ) -> tuple[list[float], list[float], list[str]]:
        """The values of two algorithms in the complete blocks of a server, or of all (None), and their servers."""
        first, second, groups = [], [], []
        for results in self.servers:
            values = results.by_round(metric)
            for n in results.rounds if server in (None, results.server) else ():
                if n in values[one] and n in values[other]:
                    first.append(values[one][n])
                    second.append(values[other][n])
                    groups.append(results.server)
        return first, second, groups

    def analyses(self, metric: str = "goodput_bps") -> list[Analysis]:
        """The analysis of variance of each server, in groups of parts of the day, and over all servers, in groups of
        servers (`cwndlab.statistics.blocks`)."""
        result = [Analysis(one.server, one.effects(metric)) for one in self.servers]
        values = [
            (one.server, block) for one in self.servers if len(one.algorithms) > 1 for _, block in one.complete(metric)
        ]
        groups = [server for server, _ in values]
        if len(set(groups)) > 1:
            result.append(Analysis(None, blocks([block for _, block in values], groups)))
        return [one for one in result if one.effects]

    def method(self) -> str:
        """How it is tested, in a sentence."""
        effect = "Effect: Hedges' g of the pairs, with its 95 % interval."
        tested = [pair for pair, (delta, _) in self.comparisons().items() if delta.is_compared]
        if len(self.servers) == 1:
            return (
                f"Paired t-test within the {len(self.servers[0].rounds)} complete rounds; p after Holm's correction "
                f"for the {len(tested)} comparisons evaluated here. {effect}"
            )
        over_all = sum(pair.server is None for pair in tested)
        rounds = ", ".join(f"{len(one.rounds)} of {one.label}" for one in self.servers)
        blocking = (
            "Over all servers, the server is a blocking factor: the mean difference of all blocks is tested against "
            "the variation within servers. "
        )
        return (
            f"Paired t-test within the complete rounds of each server ({rounds}). {blocking if over_all else ''}"
            f"p after one Holm correction for the {len(tested)} comparisons evaluated here: "
            f"{len(tested) - over_all} of single servers and {over_all} over all servers. {effect}"
        )

    # How it is shown: header and cells. With several servers, the first column names the server.

    def _by_server(self, rows: Sequence[tuple[ServerResults, list[list[str]]]]) -> list[list[str]]:
        several = len(self.servers) > 1
        return [[one.label, *row] if several else row for one, cells in rows for row in cells]

    def _unit(self, metric: str) -> RateUnit:
        """The unit of a metric in tables."""
        return self.unit if metric == "goodput_bps" else RateUnit(COLUMNS[metric].unit, COLUMNS[metric].factor)

    def _header(self, *names: str) -> list[str]:
        return ["server", *names] if len(self.servers) > 1 else list(names)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Throughput of every round, as the paper's Table 1 has it, then means with half of their 95 % intervals."""
        header = self._header("round", "begins", "part", *(f"{name}\n{self.unit.name}" for name in self.algorithms))
        cells = self._by_server([(one, one.table()) for one in self.servers])
        return header, [*cells, *self.mean_rows()]

    def mean_rows(self) -> list[list[str]]:
        """The last rows of `table`: the means of each server."""
        return self._by_server(
            [
                (one, [["mean", "", "", *(one.cell(name, "goodput_bps") for name in self.algorithms)]])
                for one in self.servers
            ]
        )

    def means(self) -> tuple[list[str], list[list[str]]]:
        """What else was measured, mean ± half of the 95 % interval."""
        shown = [metric for metric in _ALL if any(row.get(metric) is not None for row in self.rows)]
        titles = [f"{COLUMNS[metric].title}\n{self._unit(metric).name}".strip() for metric in shown]
        header = self._header("algorithm", "sender", *titles, "idle RTT\nms", "loaded RTT\nms")
        return header, self._by_server([(one, one.means(shown)) for one in self.servers])

    def differences(self) -> tuple[list[str], list[list[str | Verdict]]]:
        """Header and cells of the differences within rounds."""
        header = self._header("algorithm", "minus", "metric", "difference", "95 % interval", "ratio", "p (Holm)")
        header += ["effect", "n", "verdict"]
        cells: list[list[str | Verdict]] = []
        for pair, (delta, p) in self.comparisons().items():
            unit = self._unit(pair.metric)
            mean, low, high = interval(delta.paired, unit.factor)
            there = [_ALL_SERVERS if pair.server is None else self.question.label(pair.server)]
            cells.append(
                [
                    *(there if len(self.servers) > 1 else ()),
                    pair.second,
                    pair.first,
                    f"{COLUMNS[pair.metric].title} {unit.name}".strip(),
                    mean,
                    f"{low} … {high}" if low else "–",
                    "–" if delta.ratio is None else f"{delta.ratio:.3f}",
                    p_value(p),
                    effect_size(delta.effect),
                    pairs(delta),
                    verdict_of(pair.metric, delta, p),
                ]
            )
        return header, cells

    def audits(self) -> tuple[list[str], list[list[str]]]:
        """The senders' own captures beside algorithms of the library, of transfers that have one: by algorithm the
        decisive ACKs, the share of them that does not contradict it, and the kinds of departures."""
        header = self._header(
            "algorithm", "library", "captures", "ACKs", "decisive", "not contradicted\n%", "departures"
        )
        cells = []
        for one in self.servers:
            for name in one.algorithms:
                mine = [row for row in one.rows if row["algorithm"] == name and row.get("reference")]
                if mine:
                    cells.append([*([one.label] if len(self.servers) > 1 else ()), name, *_audit_cells(mine)])
        return header, cells

    def day(self) -> tuple[list[str], list[list[str]]]:
        """Mean throughput by part of the day, of servers with several."""
        header = self._header("part", "rounds", *(f"{name}\n{self.unit.name}" for name in self.algorithms))
        return header, self._by_server([(one, one.day()) for one in self.servers])

    def factors(self) -> tuple[list[str], list[list[str]]]:
        """The analyses of variance of the throughput."""
        header = self._header("effect of", f"squares ({self.unit.name})²", "df", "F", "p", "verdict")
        cells = []
        for analysis in self.analyses():
            label = _ALL_SERVERS if analysis.server is None else self.question.label(analysis.server)
            for one in analysis.effects:
                row = [
                    _factor(one.name, analysis),
                    number(one.squares * self.unit.factor**2),
                    str(one.freedom),
                    "–" if one.f is None else number(one.f),
                    p_value(one.p),
                    _shown(one),
                ]
                cells.append([label, *row] if len(self.servers) > 1 else row)
        return header, cells

    def as_dict(self) -> dict[str, Any]:
        """Everything but time series, for programs."""
        tested = []
        for pair, (delta, p) in self.comparisons().items():
            tested.append(
                {
                    "server": pair.server,
                    "algorithm": pair.second,
                    "minus": pair.first,
                    "metric": pair.metric,
                    "difference": delta.paired.mean,
                    "low": delta.paired.low,
                    "high": delta.paired.high,
                    "ratio": delta.ratio,
                    "n": delta.paired.n,
                    "differing": delta.differing,
                    "p": delta.p,
                    "adjusted_p": p,
                    "wilcoxon_p": delta.wilcoxon_p,
                    "verdict": str(verdict_of(pair.metric, delta, p)),
                }
            )
        means = []
        for one, name in self.series.values():
            for metric in _ALL:
                result = one.estimate(name, metric)
                mean = result.mean if result.n else None
                entry = {"server": one.server, "algorithm": name, "metric": metric, "mean": mean}
                means.append(entry | {"low": result.low, "high": result.high, "n": result.n, "reason": result.reason})
        return {
            "question": self.question.as_dict(),
            "rounds": self.rounds,
            "rows": self.rows,
            "complete_rounds": {one.server: one.rounds for one in self.servers},
            "missing": self.missing,
            "summary": means,
            "differences": tested,
            "factors": [
                {"server": analysis.server, **effect.__dict__}
                for analysis in self.analyses()
                for effect in analysis.effects
            ],
            "method": self.method(),
            "notes": self.notes,
            "findings": self.finding_rows(),
            "preflight": self.preflight,
        }

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return json_text(self.as_dict(), indent=1, ensure_ascii=False)

    def _name(self, row: dict[str, Any]) -> str:
        return block_name(self.question, Block(row["round"], row["server"]))

    def _short(self) -> list[str]:
        """A note where transfers are too short for their congestion control to decide their rates."""
        complete = [row for row in self.rows if row["ended"] == "complete" and row.get("duration_s")]
        short = [
            row
            for row in complete
            if row["duration_s"] < max(_LEAST_S, _LEAST_ROUND_TRIPS * (row.get("idle_rtt_ms") or 0.0) / 1e3)
        ]
        if not short:
            return []
        shortest = min(row["duration_s"] for row in short)
        wanted = self.question.size_bytes * _WANTED_S / median(row["duration_s"] for row in short)
        return [
            f"{len(short)} of {len(complete)} transfers took less than {_LEAST_S:g} s or {_LEAST_ROUND_TRIPS} round "
            f"trips, the shortest {shortest:.2g} s: handshakes and slow start decide such rates more than congestion "
            f"avoidance; about --bytes {_rounded(wanted)} would take {_WANTED_S:g} s here"
        ]

    def _one_time_of_day(self) -> list[str]:
        """A note where no server's rounds can show an effect of the time of day."""
        if any(one.has_time_of_day for one in self.servers) or not any(one.rounds for one in self.servers):
            return []
        hours = DAY_BEGINS.total_seconds() / 3600
        what = f"the complete rounds are of one part of the day, or begin within {hours:g} h"
        return [f"no effect of the time of day can be shown: {what}"]

    def _notes(self, state: State) -> list[str]:
        left = state.todo()
        notes = [
            f"{self._name(row)} was begun anew, because {row['why']}: its transfers were to be of one time"
            for row in state.rows
            if row["kind"] == "repeat"
        ]
        imported = [row["text"] for row in state.rows if row["kind"] == "note"]
        notes += imported
        if UNKNOWN in self.question.columns:
            notes.append(
                "unknown: a web server selects its congestion control itself. These transfers show the path, with its "
                "goodput and RTT by time of day; only the sender's algorithm matters to how a transfer shares it"
            )
        notes += [f"{self._name(row)} is incomplete: {row['why']}" for row in self.missing]
        if left and not imported:
            count = self.question.transfers
            notes.append(f"{len(left)} of {count} transfers are left; the same command resumes")
        for row in self.rows:
            if row["ended"] != "complete":
                notes.append(f"{self._name(row)}, {row['algorithm']}: the circuit breaker ended it: {row['why']}")
        broken = {(row["round"], row["server"]) for row in self.rows if row["ended"] != "complete"}
        if broken:
            notes.append(
                f"{len(broken)} rounds are not complete and are not compared"
                if len(self.question.servers) == 1
                else f"blocks that are not complete and are not compared: {len(broken)} "
                "(a block is a round of one server)"
            )
        failed = sum(row["kind"] == "transfer" and row["ended"] == "failed" for row in state.rows)
        again = (
            sum(row["kind"] == "transfer" for row in state.rows) - len(state.finished) - len(state.superseded) - failed
        )
        if failed + again > 0:
            notes.append(f"{failed + again} transfers did not come whole for reasons of the network and were repeated")
        notes += [*self._short(), *self._one_time_of_day()]
        ends = {row["id"] for row in state.rows if row["kind"] == "transfer"}
        killed = sum(row["kind"] == "begin" and row["id"] not in ends for row in state.rows)
        if killed:
            notes.append(f"{killed} transfers were under way when the campaign was stopped, and were repeated whole")
        return notes


#: A transfer below this duration, or of fewer idle round trips, is mostly its handshakes and slow start.
_LEAST_S = 1.0
_LEAST_ROUND_TRIPS = 20
#: The duration that a larger size should have, seconds.
_WANTED_S = 10.0


def _audit_cells(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The cells of `Measurement.audits` for the transfers of an algorithm."""
    shares = [100 * row["audit_share"] for row in rows if row["audit_share"] is not None]
    span = f"{number(min(shares))} to {number(max(shares))}" if shares else "no verdict"
    found = [kind for row in rows for kind in row["audit_departures"].split(", ") if kind]
    kinds = ", ".join(dict.fromkeys(found))
    sums = [str(sum(row[name] for row in rows)) for name in ("audit_acks", "audit_decisive")]
    return [rows[0]["reference"], str(len(rows)), *sums, span, kinds or "–"]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """An event of the journal without its kind."""
    return {name: value for name, value in row.items() if name != "kind"}


def _rounded(size_bytes: float) -> str:
    """A size of one digit, as an option has it.

    >>> [_rounded(size) for size in (4.4e9, 2.6e8, 96e3)]
    ['4GB', '300MB', '100kB']
    """
    size = float(f"{size_bytes:.0e}")
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= least:
            return f"{size / least:g}{unit}"
    return f"{size:g}B"


def _factor(name: str, analysis: Analysis) -> str:
    """The name of a factor in the table."""
    group, block = ("server", "rounds within a server") if analysis.server is None else _DAY
    names = {"group": group, "blocks": block, "treatment": "algorithm", "treatment × group": f"algorithm × {group}"}
    return names.get(name, name)


_DAY = ("part of the day", "rounds within a part")


def _shown(effect: Effect) -> str:
    """The verdict on a factor, without a correction."""
    if effect.p is not None:
        return "shown" if effect.p < _ALPHA else "not shown"
    if effect.name in ("group", "treatment", "treatment × group"):
        return "undetermined: too few rounds" if effect.freedom else "one part of the day only"
    return ""
