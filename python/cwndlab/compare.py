"""Compares algorithms on one scenario: the same seeds for each, intervals, paired differences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cwndlab.algorithms import canonical
from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics import COLUMNS, summary
from cwndlab.records import Records
from cwndlab.run import run_many, version
from cwndlab.scenario import Scenario
from cwndlab.statistics import Difference, Estimate, difference, estimate

#: What the terminal shows.
SHOWN = ("goodput_bps", "utilisation", "loss_ratio", "jain", "queue_ms", "mean_rtt_ms", "retransmitted_packets")


@dataclass
class Comparison:
    """What a comparison found.

    ``rows`` has one entry per run: algorithm, seed and every metric of `cwndlab.metrics.summary`. ``examples`` keeps
    the records of the first seed of each algorithm, for pictures of windows and queues over time.
    """

    scenario: Scenario
    algorithms: list[str]
    seeds: list[int]
    rows: list[dict[str, Any]] = field(default_factory=list)
    examples: dict[str, Records] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def values(self, algorithm: str, metric: str) -> list[float]:
        """A metric of an algorithm, one value per seed in their order; runs without a value are left out."""
        found = {row["seed"]: row[metric] for row in self.rows if row["algorithm"] == algorithm}
        return [found[seed] for seed in self.seeds if found.get(seed) is not None]

    def estimate(self, algorithm: str, metric: str) -> Estimate:
        """Mean and 95 % interval."""
        return estimate(self.values(algorithm, metric))

    def difference(self, algorithm: str, metric: str, base: str | None = None) -> Difference | None:
        """Against ``base`` (the first algorithm), over the seeds that both have a value for."""
        first, second = (
            {row["seed"]: row[metric] for row in self.rows if row["algorithm"] == one}
            for one in (base or self.algorithms[0], algorithm)
        )
        seeds = [seed for seed in self.seeds if first.get(seed) is not None and second.get(seed) is not None]
        return difference([first[seed] for seed in seeds], [second[seed] for seed in seeds]) if seeds else None

    def summary(self) -> list[dict[str, Any]]:
        """One entry per algorithm and metric: mean, low, high, n; difference to the first algorithm with its interval,
        Welch's p, effect size and verdict."""
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
                    "welch_p": delta.welch_p if delta else None,
                    "effect": delta.effect if delta else None,
                    "verdict": delta.verdict if delta else None,
                }
                out.append(entry)
        return out

    def table(self, metrics: Sequence[str] = SHOWN) -> tuple[list[str], list[list[str]]]:
        """Header and cells for a terminal: mean ± half of the 95 % interval."""
        header = ["algorithm"]
        for metric in metrics:
            title, unit, _ = COLUMNS[metric]
            header.append(f"{title}\n{unit}".strip())
        cells = [
            [name, *(show(self.estimate(name, metric), COLUMNS[metric][2]) for metric in metrics)]
            for name in self.algorithms
        ]
        return header, cells

    def differences(self, metrics: Sequence[str] = SHOWN) -> tuple[list[str], list[list[str]]]:
        """Header and cells of the paired differences to the first algorithm."""
        header = ["algorithm", "metric", f"minus {self.algorithms[0]}", "95 % interval", "Welch p", "effect g", "says"]
        cells = []
        for name in self.algorithms[1:]:
            for metric in metrics:
                delta = self.difference(name, metric)
                if delta is None:
                    continue
                title, unit, factor = COLUMNS[metric]
                low, high = delta.paired.low, delta.paired.high
                interval = "–" if low is None or high is None else f"{number(low * factor)} … {number(high * factor)}"
                p = "–" if delta.welch_p is None else f"{delta.welch_p:.3g}"
                effect = "–" if delta.effect is None else f"{delta.effect:.2f}"
                cells.append(
                    [
                        name,
                        f"{title} {unit}".strip(),
                        number(delta.paired.mean * factor),
                        interval,
                        p,
                        effect,
                        delta.verdict,
                    ]
                )
        return header, cells

    def to_dict(self) -> dict[str, Any]:
        """Everything but the time series, for programs."""
        return {
            "scenario": json.loads(self.scenario.to_json()),
            "scenario_hash": self.scenario.hash,
            "version": version(),
            "algorithms": self.algorithms,
            "seeds": self.seeds,
            "rows": self.rows,
            "summary": self.summary(),
            "notes": self.notes,
        }

    def write(self, folder: Path | str) -> None:
        """``comparison.json``, and the records of each algorithm's first seed in a folder of its own."""
        folder = Path(folder)
        place = folder / "comparison.json"
        refuse(folder, self.scenario)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for algorithm, records in self.examples.items():
                records.write(folder / slug(algorithm) / f"seed-{records.seed}")
            partial = folder / ".comparison.json.partial"
            partial.write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")
            partial.replace(place)
        except OSError as error:
            raise ScenarioError(
                Fault(str(folder), f"cannot be written: {error.strerror}", "make room, or choose another folder")
            ) from None

    @classmethod
    def read(cls, folder: Path | str) -> Comparison:
        """What `write` wrote."""
        folder = Path(folder)
        try:
            stored = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
            made = cls(
                Scenario.from_json(json.dumps(stored["scenario"])),
                stored["algorithms"],
                stored["seeds"],
                stored["rows"],
                {},
                stored["notes"],
            )
        except (OSError, ValueError, KeyError) as error:
            raise ScenarioError(
                Fault(
                    str(folder),
                    f"holds no whole comparison ({type(error).__name__})",
                    "a folder that `cwndlab compare --out` wrote",
                )
            ) from None
        for algorithm in made.algorithms:
            place = folder / slug(algorithm) / f"seed-{made.seeds[0]}"
            if place.is_dir():
                made.examples[algorithm] = Records.read(place)
        return made


def refuse(folder: Path | str, scenario: Scenario) -> None:
    """Raises where ``folder`` holds something that a comparison on ``scenario`` would overwrite."""
    place = Path(folder) / "comparison.json"
    try:
        other = place.exists() and json.loads(place.read_text(encoding="utf-8")).get("scenario_hash") != scenario.hash
    except (OSError, ValueError):
        other = True
    if other or (Path(folder) / "flows.parquet").exists():
        what = "holds another comparison" if other else "holds a run"
        raise ScenarioError(Fault(str(folder), what, "choose another folder, or remove this one"))


def repeated(scenario: Scenario, repetitions: int) -> Scenario:
    """The scenario as it is compared: with a random start where repetitions would else be the same."""
    if repetitions > 1 and "start_jitter" not in json.loads(scenario.to_json()):
        return scenario.with_(start_jitter="rtt")
    return scenario


def slug(text: str) -> str:
    """A folder's name for an algorithm."""
    return re.sub(r"[^A-Za-z0-9.+=-]+", "_", text).strip("_")


def number(value: float) -> str:
    """Three significant digits and no exponent where people read it."""
    if value != 0 and abs(value) < 0.001:
        return f"{value:.2e}"
    if abs(value) >= 100:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.2f}"


def show(one: Estimate, factor: float) -> str:
    """Mean ± half of the interval."""
    if one.n == 0:
        return "–"
    half = "" if one.half is None else f" ± {number(one.half * factor)}"
    return f"{number(one.mean * factor)}{half}"


def with_algorithm(scenario: Scenario, algorithm: str) -> dict[str, Any]:
    """The scenario's document with ``algorithm`` in every flow."""
    document: dict[str, Any] = json.loads(scenario.to_json())
    for flow in document["flow"]:
        flow["algorithm"] = algorithm
    return document


def compare(
    scenario: Scenario,
    algorithms: Sequence[str],
    *,
    repetitions: int = 10,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
) -> Comparison:
    """Runs every algorithm in every flow of ``scenario`` with the seeds ``seed`` … ``seed + repetitions − 1``.

    Where the scenario has no jitter of its own each flow starts at a random time within its base RTT, so that
    repetitions differ. The same seeds are used for each algorithm, so differences are paired. What is finished is
    kept on Ctrl-C.
    """
    if not algorithms:
        raise ScenarioError(Fault("--algorithms", "there is none to compare", "write --algorithms cubic,reno"))
    for name in algorithms:
        canonical(name)
    scenario = repeated(scenario, repetitions)
    seeds = list(range(seed, seed + repetitions))
    found = Comparison(scenario, list(dict.fromkeys(algorithms)), seeds, notes=list(scenario.notes))
    jobs = [(with_algorithm(scenario, name), one) for one in seeds for name in found.algorithms]
    keys = [(name, one) for one in seeds for name in found.algorithms]
    try:
        for index, records in run_many(jobs, workers=workers, progress=progress):
            name, one = keys[index]
            found.rows.append({"algorithm": name, "seed": one, **summary(records, start_s=start_s, end_s=end_s)})
            if one == seed:
                found.examples[name] = records
    except KeyboardInterrupt:
        found.notes.append(f"stopped: {len(found.rows)} of {len(jobs)} runs finished")
        if not found.rows:
            raise
        found.seeds = [
            one for one in seeds if all((row["algorithm"], row["seed"]) != (None, one) for row in found.rows)
        ]
    found.examples = {name: found.examples[name] for name in found.algorithms if name in found.examples}
    order = {key: n for n, key in enumerate(keys)}
    found.rows.sort(key=lambda row: order[row["algorithm"], row["seed"]])
    return found
