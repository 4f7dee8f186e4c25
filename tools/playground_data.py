"""Writes what the playground takes from the package: tables of a scenario, presets, the JSON Schema.

``python tools/playground_data.py FOLDER`` writes ``FOLDER/data.json`` and ``FOLDER/scenario.schema.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import algorithm_pages
import cwndlab
import declared_files
from cwndlab import engine
from cwndlab.errors import ScenarioError
from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.multiverse import kept
from cwndlab.reproduction.multiverse.robustness import Cell, Robustness
from cwndlab.reproduction.universes import Space
from cwndlab.scenario import presets

ROOT = Path(__file__).resolve().parents[1]
#: Presets of the playground itself, in the order in which they are shown.
LESSONS = ROOT / "playground" / "presets"
#: Tables of a scenario whose fields the page shows.
TABLES = ("scenario", "link", "flow", "dumbbell", "wlan", "stack", "token_bucket", "harq", "jitter", "step", "medium")
CHOICES = ("queue", "loss", "workload")
#: What a workload of the form begins with, where examples of the classes are too small to be seen.
BEGINS: dict[str, dict[str, Any]] = {
    "arrivals": {"load": 0.5, "size": "100 kB"},
    "call": {
        "streams": [
            {"frame_rate": 50, "frame": "80 B", "priority": 2},
            {"frame_rate": 30, "frame": "6250 B", "priority": 4},
        ]
    },
    "cbr": {"rate": "5 Mbps"},
    "request-response": {"request": "400 B", "response": "100 kB", "think": "100 ms"},
    "scheduled-writes": {"steps": [{"at": "0 s", "rate": "5 Mbps"}]},
    "transfers": {"bytes": "100 kB", "gap": "100 ms"},
    "vbr": {"rate": "5 Mbps"},
}
#: Bundled scenarios that measure speed, and one of a thousand flows that takes no samples.
NOT_SHOWN = ("s1", "s2", "s3", "s4", "smart-city")


@dataclass(frozen=True)
class Preset:
    """A scenario by name."""

    id: str
    group: str
    title: str
    about: str
    """What to look at; empty where the title says it."""
    document: Mapping[str, Any]
    seed: int = 1


def document(text: str, form: str, folder: Path | None = None) -> dict[str, Any]:
    """A document as every engine reads it, with the contents of files inside."""
    found: dict[str, Any] = json.loads(engine.check(text, form, folder=folder)[0])
    return found


def comment(file: Path) -> str:
    """The comment that a file begins with."""
    lines = file.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    return " ".join(line.removeprefix("#").strip() for line in lines[:first])


def of_file(file: Path, name: str, group: str, about: str) -> Preset:
    """The preset in a TOML file."""
    found = document(file.read_text(encoding="utf-8"), "toml", file.parent)
    return Preset(name, group, found.get("title") or presets_titles()[file.stem], about, found)


def presets_titles() -> dict[str, str]:
    """Titles of the bundled scenarios by name."""
    return {row["name"]: row["title"] for row in presets.listing()}


def lessons() -> Iterator[Preset]:
    """Presets of the playground, each with a comment that says what to look at."""
    for file in sorted(LESSONS.glob("*.toml")):
        yield of_file(file, file.stem.partition("-")[2], "Lessons", comment(file))


def bundled() -> Iterator[Preset]:
    """The scenarios that come with cwndlab."""
    for name in presets.names():
        if name not in NOT_SHOWN:
            file = presets.folder() / f"{name}.toml"
            yield of_file(file, f"scenario-{name}", "Bundled scenarios", comment(file))


def of_algorithms() -> Iterator[Preset]:
    """The scenarios of the figures on the pages of algorithms."""
    for entry in cwndlab.algorithms():
        for run in algorithm_pages.runs(entry):
            found = document(json.dumps(run.document), "json")
            where = "beside CUBIC" if run.picture == "share" else "alone"
            title = f"{entry.title}, {where}"
            yield Preset(f"{run.page}-{run.picture}", "Algorithms", title, entry.summary, found)


def of_claims() -> Iterator[Preset]:
    """Each headline claim of the papers that was tried over many universes, in its best and its worst one."""
    sentences = {one.key: one for one in headlines()}
    for multiverse in kept.load(ROOT / "results"):
        for number, robustness in enumerate(multiverse.claims):
            sentence = sentences.get(robustness.claim.headline)
            ranked = robustness.ranked()
            if sentence is None or not ranked:
                continue
            for which, cell in (("best", ranked[-1]), ("worst", ranked[0])):
                for arm, labels, found in arms(multiverse.space, robustness, cell):
                    name = "-".join((multiverse.space.id.replace("/", "-"), str(number + 1), which, str(arm)))
                    title = f"{sentence.claim}: {which} universe, {labels}"
                    about = describe(robustness, cell, multiverse.space)
                    yield Preset(name, f"Claims: {multiverse.space.paper}", title, about, found, multiverse.seed)


def arms(space: Space, robustness: Robustness, cell: Cell) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """One run of each of the first two sides of a claim in a universe: number, labels, document."""
    claim = space.claims(cell.universe)[list(kept_claims(space)).index(robustness.claim.quantity)]
    cases = list(space.cases(cell.universe))
    for number, side in enumerate(claim.sides[:2], start=1):
        for case in cases:
            if all(case.labels.get(name) == value for name, value in side.items()):
                labels = ", ".join(f"{name} {value}" for name, value in case.labels.items())
                yield number, labels, document(json.dumps(case.scenario), "json")
                break


def kept_claims(space: Space) -> Sequence[str]:
    """The quantities of a space's claims, in order."""
    return [claim.quantity for claim in space.claims(space.base)]


def describe(robustness: Robustness, cell: Cell, space: Space) -> str:
    """What is claimed, what was measured, and what the universe chooses otherwise than the base."""
    finding = cell.finding
    value = "nothing" if finding.measured is None else f"{finding.measured:.4g} ({finding.measured_is})"
    choices = [
        f"{one.name}: {cell.universe[one.name]}"
        for one in space.dimensions
        if cell.universe[one.name] != one.choices[0]
    ]
    universe = "; ".join(choices) or "the base assumptions"
    return (
        f"{robustness.claim.quantity}. Published: {finding.published}. Measured in this universe: {value}, "
        f"{finding.outcome}. Over all universes the claim is {robustness.label}. The universe: {universe}."
    )


def fields(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Fields without what only Python needs."""
    left = ("name", "kind", "accepts", "default", "absent", "doc", "required")
    return [{name: field[name] for name in left} for field in table["fields"]]


def begins(name: str, table: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a flow with which the form begins a workload; ``None`` where no flow of a dumbbell can have it, and
    for stacks in processes, which a browser does not start."""
    if name == "hosted":
        return None
    workload = {"kind": name} | (BEGINS.get(name) or declared_files.example(table))
    for flow in ({"algorithm": "cubic"}, {"transport": "udp"}):
        document = {
            "schema_version": 1,
            "duration": "1 s",
            "dumbbell": {"bottleneck": {"rate": "10 Mbps"}},
            "flow": [{"rtt": "40 ms", "workload": workload} | flow],
        }
        try:
            engine.check(json.dumps(document), "json")
        except ScenarioError:
            continue
        return {"workload": workload} | ({"transport": "udp"} if "transport" in flow else {})
    return None


def data() -> dict[str, Any]:
    """All of it."""
    declared = json.loads(engine.declarations())
    choices = {
        name: [
            {"name": one, "doc": table["doc"], "fields": fields(table)}
            for one, table in (
                (one, declared["choices"][name]["tables"][one]) for one in declared["choices"][name]["order"]
            )
        ]
        for name in CHOICES
    }
    for one in choices["workload"]:
        one["begins"] = begins(one["name"], declared["choices"]["workload"]["tables"][one["name"]])
    found = [*lessons(), *bundled(), *of_algorithms(), *of_claims()]
    assert len({one.id for one in found}) == len(found), "two presets have the same name"
    return {
        "tables": {name: fields(declared["tables"][name]) for name in TABLES},
        "choices": choices,
        "traces": engine.trace_kinds()[0],
        "presets": [asdict(one) for one in found],
    }


def main() -> None:
    """Writes the files."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data(), ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
    (folder / "data.json").write_text(text + "\n", encoding="utf-8")
    (folder / "scenario.schema.json").write_text(engine.scenario_schema() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
