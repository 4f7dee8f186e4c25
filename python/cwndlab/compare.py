"""Compares algorithms on one scenario: the same seeds for each, intervals, paired differences."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.algorithms import canonical
from cwndlab.digits import interval, mean_and_half, number
from cwndlab.errors import Fault, RecordsError, ScenarioError
from cwndlab.metrics import COLUMNS, summary
from cwndlab.records import Records
from cwndlab.run import check, run_many, version
from cwndlab.scenario import Scenario
from cwndlab.statistics import Difference, Estimate, difference, estimate

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

#: What the terminal shows.
SHOWN = ("goodput_bps", "utilisation", "loss_ratio", "jain", "queue_ms", "retransmitted_packets")

# What makes two comparisons on one scenario the same.
_QUESTION = ("algorithms", "flows", "start_s", "end_s", "seeds", "version")
_ELSEWHERE = "choose another folder, or remove this one"


@dataclass
class Comparison:
    """What a comparison found.

    ``rows`` has one entry per run: algorithm, seed and every metric of `cwndlab.metrics.summary`. ``examples`` keeps
    the records of the first seed of each algorithm, for pictures of windows and queues over time. ``flows`` names the
    flows that used the algorithms in turn; nothing where all did. Metrics are over ``start_s`` to ``end_s``; nothing
    means the scenario's ``measure_from`` and its end. ``folder`` is where it was read from or written to.
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
    folder: Path | None = None

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

    def summary(self) -> list[dict[str, Any]]:
        """One entry per algorithm and metric: mean, low, high, n; difference to the first algorithm with its interval
        and number of pairs, Welch's p, effect sizes and verdict."""
        out = []
        for algorithm in self.algorithms:
            for metric in COLUMNS:
                one = self.estimate(algorithm, metric)
                entry: dict[str, Any] = {
                    "algorithm": algorithm,
                    "metric": metric,
                    "mean": one.mean if one.n else None,
                    "low": one.low,
                    "high": one.high,
                    "n": one.n,
                }
                delta = self.difference(algorithm, metric) if algorithm != self.algorithms[0] else None
                entry |= {
                    "difference": delta.paired.mean if delta else None,
                    "difference_low": delta.paired.low if delta else None,
                    "difference_high": delta.paired.high if delta else None,
                    "pairs": delta.paired.n if delta else None,
                    "welch_p": delta.welch_p if delta else None,
                    "effect": delta.effect if delta else None,
                    "effect_unpaired": delta.effect_unpaired if delta else None,
                    "verdict": delta.verdict if delta else None,
                }
                out.append(entry)
        return out

    def frame(self) -> pl.DataFrame:
        """`summary` as a polars frame."""
        import polars as pl

        return pl.DataFrame(self.summary(), infer_schema_length=None)

    def table(self, metrics: Sequence[str] = SHOWN) -> tuple[list[str], list[list[str]]]:
        """Header and cells for a terminal: mean ± half of the 95 % interval, and of how many runs where some have no
        value."""
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

    def differences(self, metrics: Sequence[str] = SHOWN) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the paired differences to the first algorithm."""
        header = [f"minus {self.algorithms[0]}", "metric", "difference", "95 % interval", "Welch p", "effect", "says"]
        cells = []
        for name in self.algorithms[1:]:
            for metric in metrics:
                delta = self.difference(name, metric)
                if delta is None:
                    continue
                title, unit, factor = COLUMNS[metric]
                mean, low, high = interval(delta.paired, factor)
                fewer = "" if delta.paired.n == len(self.seeds) else f" ({delta.paired.n} pairs)"
                cells.append(
                    [
                        name,
                        f"{title} {unit}".strip(),
                        mean,
                        f"{low} … {high}" if low else "–",
                        "–" if delta.welch_p is None else number(delta.welch_p),
                        "–" if delta.effect is None else f"{delta.effect:.2f}",
                        delta.verdict + fewer,
                    ]
                )
        return header, cells

    def to_rich(self, metrics: Sequence[str] = SHOWN) -> Table:
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
            "start_s": self.start_s,
            "end_s": self.end_s,
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
        self._sort()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for algorithm, records in self.examples.items():
                records.write(self.place(folder, algorithm, records.seed))
            _replace(folder / "summary.csv", _csv(self.summary()))
            _replace(folder / "comparison.json", self.to_json())
        except OSError as error:
            raise RecordsError(
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
        stored = _read(folder)
        mine = self.to_dict()
        if any(stored.get(key) != mine[key] for key in _QUESTION) or _sources(stored) != _sources(mine):
            raise ScenarioError(Fault(str(folder), "holds another comparison", _ELSEWHERE))
        rows: list[dict[str, Any]] = stored["rows"]
        same = all(row.keys() == {"algorithm", "seed", *COLUMNS} for row in rows)
        return rows if same else []

    def _sort(self) -> None:
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
            folder,
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
        stored: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        missing = [key for key in ("scenario", "algorithms", "seeds", "rows", "notes") if key not in stored]
    except OSError as error:
        raise RecordsError(Fault(str(place), f"cannot be read: {error.strerror}", hint)) from None
    except (ValueError, TypeError):
        raise RecordsError(Fault(str(place), "is cut off or no comparison", hint)) from None
    if missing:
        raise RecordsError(Fault(str(place), f"has no '{missing[0]}'", hint))
    return stored


def _sources(stored: dict[str, Any]) -> dict[str, Any]:
    """What the classes of one's own are, wherever their files lie."""
    return {name: {**entry, "file": None} for name, entry in (stored.get("classes") or {}).items()}


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    from io import StringIO

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
        other = place.exists() and json.loads(place.read_text(encoding="utf-8")).get("scenario_hash") != scenario.hash
    except (OSError, ValueError, AttributeError):
        other = True
    if other or (Path(folder) / "flows.parquet").exists():
        what = "holds another comparison" if other else "holds a run"
        raise ScenarioError(Fault(str(folder), what, _ELSEWHERE))


def repeated(scenario: Scenario, repetitions: int) -> Scenario:
    """The scenario as it is compared: with a random start where repetitions would else be the same."""
    if repetitions > 1 and "start_jitter" not in json.loads(scenario.to_json()):
        return scenario.with_(start_jitter="rtt")
    return scenario


def slug(text: str) -> str:
    """A folder's name for an algorithm."""
    return re.sub(r"[^A-Za-z0-9.+=-]+", "_", text).strip("_")


def with_algorithm(scenario: Scenario, algorithm: str, flows: Sequence[str] | None = None) -> dict[str, Any]:
    """The scenario's document with ``algorithm`` in every flow, or in those that ``flows`` names as the scenario
    does."""
    document: dict[str, Any] = json.loads(scenario.to_json())
    named = {flow.get("name", f"flow{index}"): flow for index, flow in enumerate(document["flow"])}
    unknown = [name for name in flows or () if name not in named]
    if unknown:
        hint = f"there are {', '.join(named)}"
        raise ScenarioError(*(Fault("flows", f"no flow is called '{name}'", hint) for name in unknown))
    for name, flow in named.items():
        if flows is None or name in flows:
            flow["algorithm"] = algorithm
    return document


def _check(algorithms: Sequence[str], repetitions: int, scenario: Scenario) -> list[str]:
    """The algorithms, each once; raises with every fault."""
    faults = []
    if not algorithms:
        faults.append(Fault("--algorithms", "there is none to compare", "write --algorithms cubic,reno"))
    if repetitions < 1:
        faults.append(Fault("--repetitions", f"'{repetitions}' runs nothing", "write --repetitions 10"))
    for name in algorithms:
        try:
            canonical(name, scenario.to_json())
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(*faults)
    return list(dict.fromkeys(algorithms))


def _taken_in(scenario: Scenario, algorithms: Sequence[str | type] | Mapping[str, type]) -> tuple[Scenario, list[str]]:
    """The scenario with the classes among the algorithms, and all their names."""
    if isinstance(algorithms, Mapping):
        return scenario.with_(algorithms=algorithms), list(algorithms)
    kinds = [one for one in algorithms if isinstance(one, type)]
    if not kinds:
        return scenario, [str(one) for one in algorithms]
    from cwndlab.own import name_of, named

    names = [name_of(one) if isinstance(one, type) else one for one in algorithms]
    return scenario.with_(algorithms=named(kinds)), names


def compare(
    scenario: Scenario,
    algorithms: Sequence[str | type] | Mapping[str, type],
    *,
    flows: Sequence[str] | None = None,
    repetitions: int = 10,
    seed: int = 1,
    out: Path | str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> Comparison:
    """Runs every algorithm in every flow of ``scenario``, or in ``flows`` of it, with the seeds ``seed`` …
    ``seed + repetitions − 1``.

    An algorithm is a text or a class of one's own (`cwndlab.own`); a mapping gives classes other names.
    Where the scenario has no jitter of its own each flow starts at a random time within its base RTT, so that
    repetitions differ. The same seeds are used for each algorithm, so differences are paired. Records of every run go
    to the folder ``out`` as they finish; in memory stay those of the first seed. Metrics are over ``start_s`` to
    ``end_s``. What is finished is kept on Ctrl-C.
    """
    scenario, texts = _taken_in(scenario, algorithms)
    names = _check(texts, repetitions, scenario)
    scenario = repeated(scenario, repetitions)
    seeds = list(range(seed, seed + repetitions))
    found = Comparison(
        scenario,
        names,
        seeds,
        notes=list(scenario.notes),
        flows=None if flows is None else list(flows),
        start_s=start_s,
        end_s=end_s,
    )
    documents = {name: with_algorithm(scenario, name, flows) for name in names}
    if scenario.classes:
        # Which class and source: what a run would note.
        derived = (note for document in documents.values() for note in check(json.dumps(document), "json").notes)
        found.notes = list(dict.fromkeys([*found.notes, *derived]))
    keys = [(name, one) for one in seeds for name in names]
    folder = None if out is None else Path(out)
    if folder is not None:
        found.write(folder)  # refuses before anything runs
        found.rows.clear()
    try:
        jobs = [(documents[name], one) for name, one in keys]
        for index, records in run_many(jobs, workers=workers, progress=progress, algorithms=scenario.classes):
            name, one = keys[index]
            found.rows.append({"algorithm": name, "seed": one, **summary(records, start_s=start_s, end_s=end_s)})
            if one == seed:
                found.examples[name] = records
            elif folder is not None:
                records.write(found.place(folder, name, one))
    except KeyboardInterrupt:
        if not found.rows:
            raise
        found.notes.append(f"stopped: {len(found.rows)} of {len(keys)} runs finished")
    found.examples = {name: found.examples[name] for name in names if name in found.examples}
    found._sort()
    if folder is not None:
        found.write(folder)
    return found
