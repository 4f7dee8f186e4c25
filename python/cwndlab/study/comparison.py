"""What a comparison found: rows, means with intervals, paired differences and what they say, on disk and back."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.engine import version
from cwndlab.errors import Fault, OutputError, RecordsError, ScenarioError
from cwndlab.files import parsed, slug
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import judged as word_for
from cwndlab.metrics.of_flow import groups, parse
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.statistics import Difference, Estimate, difference, estimate, holm
from cwndlab.statistics.digits import effect_size, interval, mean_and_half
from cwndlab.statistics.verdicts import BETTER

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

#: What the terminal shows.
SHOWN = ("goodput_bps", "utilisation", "loss_ratio", "jain", "queue_ms", "retransmitted_packets")
#: What it shows after goodput and share of single flows.
SHOWN_BESIDE = ("utilisation", "loss_ratio", "queue_ms")
#: What is judged unless others are named: the family over which Holm's correction goes.
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

# What makes two comparisons on one scenario the same.
_QUESTION = ("algorithms", "flows", "against", "start_s", "end_s", "seeds", "version", "warm_up", "until")
_ELSEWHERE = "choose another folder, or remove this one"
_NO_DIFFERENCE = difference([], [])


@dataclass(repr=False)
class Comparison:
    """What a comparison found.

    ``rows`` has one entry per run: algorithm, seed and every metric of `cwndlab.metrics.summary`. ``examples`` keeps
    the records of the first seed of each algorithm, for pictures of windows and queues over time. ``flows`` names the
    flows that used the algorithms in turn; nothing where all did. Metrics are over ``start_s`` to ``end_s``; nothing
    means the scenario's ``measure_from`` and its end. ``warm_up`` says how the start was found instead, ``until`` by
    which rule the number of seeds. ``metrics`` are those that are judged; nothing means `JUDGED`.
    ``folder`` is where it was written to or read from. ``against`` is the algorithm of the other flows over TCP;
    nothing where they kept theirs.
    """

    scenario: Scenario
    algorithms: list[str]
    seeds: list[int]
    rows: list[dict[str, Any]] = field(default_factory=list)
    examples: dict[str, Records] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    flows: list[str] | None = None
    start_s: float | None = None
    end_s: float | None = None
    warm_up: str | None = None
    until: str | None = None
    metrics: list[str] | None = None
    folder: Path | None = None
    against: str | None = None

    def __repr__(self) -> str:
        count, total = len(self.rows), len(self.algorithms) * len(self.seeds)
        return f"<Comparison of {', '.join(self.algorithms)}: {count} of {total} runs, {self.scenario!r}>"

    @property
    def beside(self) -> list[str]:
        """Goodput and share of each table of flows over TCP, ``METRIC@FLOW``, where some do not take the compared
        algorithms."""
        if self.flows is None:
            return []
        document = json.loads(self.scenario.to_json())
        flows = zip(groups(document), document["flow"], strict=True)
        names = [name for name, flow in flows if flow.get("transport") != "udp"]
        return [f"{metric}@{name}" for metric in ("goodput_bps", "share") for name in names]

    def measured(self) -> list[str]:
        """Every metric that a row has."""
        of_flows = [metric for metric in self.metrics or () if parse(metric)]
        return list(dict.fromkeys([*COLUMNS, *self.beside, *of_flows]))

    def values(self, algorithm: str, metric: str) -> list[float]:
        """A metric of an algorithm, one value per seed in their order; runs without a value are left out."""
        return list(self._by_seed(algorithm, metric).values())

    def estimate(self, algorithm: str, metric: str) -> Estimate:
        """Mean and 95 % interval."""
        return estimate(self.values(algorithm, metric))

    def difference(self, algorithm: str, metric: str, base: str | None = None) -> Difference | None:
        """Against ``base`` (the first algorithm), over the seeds that both have a value for."""
        first = self._by_seed(base or self.algorithms[0], metric)
        second = self._by_seed(algorithm, metric)
        seeds = [seed for seed in first if seed in second]
        return difference([first[seed] for seed in seeds], [second[seed] for seed in seeds]) if seeds else None

    def by_seed(self, metric: str) -> dict[str, dict[int, float]]:
        """A metric of every run: by algorithm, then by seed."""
        return {algorithm: self._by_seed(algorithm, metric) for algorithm in self.algorithms}

    def kept(self) -> dict[tuple[str, int], Callable[[], Records]]:
        """What reads the records of a run, by algorithm and seed: of those in memory or in the folder."""
        found: dict[tuple[str, int], Callable[[], Records]] = {}
        for algorithm in self.algorithms:
            for seed in self.seeds:
                example = self.examples.get(algorithm)
                place = None if self.folder is None else self.place(self.folder, algorithm, seed)
                if example is not None and example.seed == seed:
                    found[algorithm, seed] = partial(_same, example)
                elif place is not None and place.is_dir():
                    found[algorithm, seed] = partial(Records.read, place)
        return found

    def _by_seed(self, algorithm: str, metric: str) -> dict[int, float]:
        found = {row["seed"]: row.get(metric) for row in self.rows if row["algorithm"] == algorithm}
        return {seed: value for seed in self.seeds if (value := found.get(seed)) is not None}

    def judged(self) -> list[str]:
        """The metrics that are judged and have a value in some run."""
        names = self.metrics or (*JUDGED, *self.beside)
        return [metric for metric in names if any(row.get(metric) is not None for row in self.rows)]

    def comparisons(self) -> dict[tuple[str, str], tuple[Difference, float | None]]:
        """Every difference to the first algorithm that is judged, by algorithm and metric, with the p-value of the
        paired t-test after Holm's correction over all of them."""
        found = {
            (name, metric): delta
            for name in self.algorithms[1:]
            for metric in self.judged()
            if (delta := self.difference(name, metric)) is not None
        }
        adjusted = holm([delta.p for delta in found.values()])
        return {key: (delta, p) for (key, delta), p in zip(found.items(), adjusted, strict=True)}

    def method(self) -> str:
        """How the differences are tested, in a sentence."""
        count = sum(p is not None for _, p in self.comparisons().values())
        return (
            "Paired t-test over equal seeds; p after Holm's correction for the "
            f"{count} comparisons judged here. Effect: Hedges' g of the pairs, with its 95 % interval. "
            "Margins of relevance: docs/statistics.md."
        )

    def summary(self) -> list[dict[str, Any]]:
        """One entry per algorithm and metric: mean, low, high, n; difference to the first algorithm with its interval
        and number of pairs, tests, effect sizes and, where it is judged, the verdict."""
        judged = self.comparisons()
        count = sum(p is not None for _, p in judged.values())
        out = []
        for algorithm in self.algorithms:
            for metric in self.measured():
                one = self.estimate(algorithm, metric)
                entry: dict[str, Any] = {
                    "algorithm": algorithm,
                    "metric": metric,
                    "mean": one.mean if one.n else None,
                    "low": one.low,
                    "high": one.high,
                    "n": one.n,
                }
                against = self.difference(algorithm, metric) if algorithm != self.algorithms[0] else None
                adjusted = judged.get((algorithm, metric), (None, None))[1]
                says = None
                if against is not None and (algorithm, metric) in judged:
                    says = word_for(metric, against, adjusted)
                out.append(entry | _tested(against) | _said(says, adjusted, count))
        return out

    def frame(self) -> pl.DataFrame:
        """`summary` as a polars frame."""
        import polars as pl

        return pl.DataFrame(self.summary(), infer_schema_length=None)

    def shown(self) -> Sequence[str]:
        """The metrics that the terminal shows."""
        return self.metrics or ((*self.beside, *SHOWN_BESIDE) if self.flows is not None else SHOWN)

    def table(self, metrics: Sequence[str] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells for a terminal: mean ± half of the 95 % interval, and of how many runs where some have no
        value."""
        metrics = metrics or self.shown()
        header = ["algorithm", *(f"{COLUMNS[metric].title}\n{COLUMNS[metric].unit}".strip() for metric in metrics)]
        cells = [[name, *(self.cell(name, metric) for metric in metrics)] for name in self.algorithms]
        return header, cells

    def cell(self, algorithm: str, metric: str) -> str:
        """A metric of an algorithm for people to read."""
        one = self.estimate(algorithm, metric)
        if one.n == 0:
            return "–"
        factor = COLUMNS[metric].factor
        text = mean_and_half(one.mean * factor, None if one.half is None else one.half * factor)
        return text if one.n == len(self.seeds) else f"{text} ({one.n} of {len(self.seeds)})"

    def differences(self, metrics: Sequence[str] | None = None) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the paired differences to the first algorithm, of those ``metrics`` that are judged."""
        header = [
            f"minus {self.algorithms[0]}",
            "metric",
            "difference",
            "95 % interval",
            "p (Holm)",
            "Welch p",
            "effect",
            "n",
            "verdict",
        ]
        cells = []
        for (name, metric), (delta, adjusted) in self.comparisons().items():
            if metrics is not None and metric not in metrics:
                continue
            column = COLUMNS[metric]
            mean, low, high = interval(delta.paired, column.factor)
            cells.append(
                [
                    name,
                    f"{column.title} {column.unit}".strip(),
                    mean,
                    f"{low} … {high}" if low else "–",
                    _p(adjusted),
                    _p(delta.welch_p),
                    effect_size(delta.effect),
                    str(delta.paired.n),
                    word_for(metric, delta, adjusted),
                ]
            )
        return header, cells

    def to_rich(self, metrics: Sequence[str] | None = None) -> Table:
        """`table` for rich to print."""
        from rich.table import Table

        header, cells = self.table(metrics)
        table = Table(box=None, pad_edge=False)
        for position, title in enumerate(header):
            table.add_column(title, justify="right" if position else "left", overflow="fold")
        for row in cells:
            table.add_row(*row)
        return table

    def to_dict(self) -> dict[str, Any]:
        """Everything but the time series, for programs."""
        return {
            "scenario": json.loads(self.scenario.to_json()),
            "scenario_hash": self.scenario.hash,
            "version": version(),
            "algorithms": self.algorithms,
            "classes": json.loads(self.scenario.to_json()).get("algorithms"),
            "flows": self.flows,
            "against": self.against,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "warm_up": self.warm_up,
            "until": self.until,
            "metrics": self.metrics,
            "method": self.method(),
            "seeds": self.seeds,
            "rows": self.rows,
            "summary": self.summary(),
            "notes": self.notes,
        }

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def write(self, folder: Path | str) -> None:
        """``comparison.json``, ``summary.csv``, and the records of each algorithm's first seed in
        ``<algorithm>/seed-<n>/``; those of the other seeds where `compare` was given the folder.

        A folder that holds another comparison, or a run, is refused; runs of this comparison that it holds are kept.
        """
        folder = self.folder = Path(folder)
        stored = self._stored(folder)
        mine = {(row["algorithm"], row["seed"]) for row in self.rows}
        self.rows += [row for row in stored if (row["algorithm"], row["seed"]) not in mine]
        self.seeds = sorted({*self.seeds, *(row["seed"] for row in self.rows)})
        self.sort()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for algorithm, records in self.examples.items():
                records.save(self.place(folder, algorithm, records.seed))
            _replace(folder / "summary.csv", _csv(self.summary()))
            _replace(folder / "comparison.json", self.to_json())
        except OSError as error:
            raise OutputError(
                Fault(str(folder), f"cannot be written: {error.strerror}", "make room, or choose another folder")
            ) from None

    @staticmethod
    def place(folder: Path, algorithm: str, seed: int) -> Path:
        """Where the records of a run are."""
        return folder / slug(algorithm) / f"seed-{seed}"

    def _stored(self, folder: Path) -> list[dict[str, Any]]:
        """The runs of this comparison that ``folder`` holds; raises where it holds another one."""
        refuse(folder, self.scenario)
        if not (folder / "comparison.json").exists():
            return []
        stored, mine = _read(folder), self.to_dict()
        asked = [key for key in _QUESTION if key != "seeds" or self.until is None]
        # A stopping rule finds the number of seeds itself: they begin alike.
        other = stored.get("seeds", [])[:1] != self.seeds[:1] or any(stored.get(key) != mine[key] for key in asked)
        if other or _sources(stored) != _sources(mine):
            raise ScenarioError(Fault(str(folder), "holds another comparison", _ELSEWHERE))
        rows: list[dict[str, Any]] = stored["rows"]
        same = all(row.keys() == {"algorithm", "seed", "from_s", *self.measured()} for row in rows)
        return rows if same else []

    def sort(self) -> None:
        """Rows by seed, then in the order of the algorithms."""
        algorithms = {name: position for position, name in enumerate(self.algorithms)}
        self.rows.sort(key=lambda row: (row["seed"], algorithms[row["algorithm"]]))

    @classmethod
    def read(cls, folder: Path | str) -> Comparison:
        """What `write` wrote."""
        folder = Path(folder)
        stored = _read(folder)
        made = cls(
            Scenario.from_json(json.dumps(stored["scenario"])),
            stored["algorithms"],
            stored["seeds"],
            stored["rows"],
            {},
            stored["notes"],
            stored.get("flows"),
            stored.get("start_s"),
            stored.get("end_s"),
            stored.get("warm_up"),
            stored.get("until"),
            stored.get("metrics"),
            folder,
            stored.get("against"),
        )
        for algorithm in made.algorithms:
            place = made.place(folder, algorithm, made.seeds[0])
            if place.is_dir():
                made.examples[algorithm] = Records.read(place)
        return made


def _same(records: Records) -> Records:
    return records


def _read(folder: Path) -> dict[str, Any]:
    """``comparison.json`` of a folder, with all that this module needs of it."""
    place = folder / "comparison.json"
    hint = "a folder that `cwndlab compare --out` wrote"
    try:
        stored: dict[str, Any] = parsed(place.read_text(encoding="utf-8"))
        missing = [key for key in ("scenario", "algorithms", "seeds", "rows", "notes") if key not in stored]
    except OSError as error:
        raise RecordsError(Fault(str(place), f"cannot be read: {error.strerror}", hint)) from None
    except (ValueError, TypeError):
        raise RecordsError(Fault(str(place), "is cut off or no comparison", hint)) from None
    if missing:
        raise RecordsError(Fault(str(place), f"has no '{missing[0]}'", hint))
    return stored


def _tested(delta: Difference | None) -> dict[str, Any]:
    """A difference to the first algorithm, as `Comparison.summary` has it."""
    if delta is None:
        delta = _NO_DIFFERENCE
    boot = delta.bootstrapped
    entry: dict[str, Any] = {
        "difference": delta.paired.mean if delta.deltas else None,
        "difference_low": delta.paired.low,
        "difference_high": delta.paired.high,
        "bootstrap_low": boot.low,
        "bootstrap_high": boot.high,
        "pairs": delta.paired.n if delta.deltas else None,
        "p": delta.p,
        "welch_p": delta.welch_p,
        "wilcoxon_p": delta.wilcoxon_p,
        "shapiro_p": delta.shapiro_p,
    }
    for name in ("effect", "effect_unpaired", "rank_biserial"):
        one: Estimate | None = getattr(delta, name)
        entry |= {
            name: one.mean if one else None,
            f"{name}_low": one.low if one else None,
            f"{name}_high": one.high if one else None,
        }
    return entry


def _said(says: str | None, adjusted: float | None, count: int) -> dict[str, Any]:
    """A verdict, for programs: the word, and whether it is wanted."""
    word, _, value = (says or "").partition(", ")
    return {
        "adjusted_p": adjusted,
        "comparisons": count if says is not None else None,
        "verdict": word or None,
        "wanted": value == BETTER if value else None,
    }


def _p(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _sources(stored: dict[str, Any]) -> dict[str, Any]:
    """What the classes of one's own are, wherever their files lie."""
    return {name: {**entry, "file": None} for name, entry in (stored.get("classes") or {}).items()}


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _replace(path: Path, text: str) -> None:
    """Writes a file whole, or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def refuse(folder: Path | str, scenario: Scenario) -> None:
    """Raises where ``folder`` holds something that a comparison on ``scenario`` would overwrite."""
    place = Path(folder) / "comparison.json"
    try:
        other = place.exists() and parsed(place.read_text(encoding="utf-8")).get("scenario_hash") != scenario.hash
    except (OSError, ValueError, AttributeError):
        other = True
    if other or (Path(folder) / "flows.parquet").exists():
        what = "holds another comparison" if other else "holds a run"
        raise ScenarioError(Fault(str(folder), what, _ELSEWHERE))
