"""Paths on which simulator and kernel are held against each other: ``known-answers/kernel/paths.toml``, read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, ScenarioError

#: Distance of the samples, s: means of the smoothed RTT go over them.
SAMPLE_S = 0.02


@dataclass(frozen=True)
class Trial:
    """A path with an algorithm on it."""

    path: str
    algorithm: str
    #: By flow, the reference's names.
    senders: tuple[str, ...]
    rate_bps: float
    #: In the shape of a scenario's TOML, for either engine.
    document: dict[str, Any]


@dataclass(frozen=True)
class Paths:
    """The file: what is run, how often, and what is allowed."""

    trials: tuple[Trial, ...]
    repetitions: int
    #: By quantity: ``relative`` (of the kernel's mean), ``absolute`` (in its unit), ``of_the_link``.
    tolerances: dict[str, dict[str, float]]
    #: By path, why it is there.
    reasons: dict[str, str]


def read(file: Path, *, paths: list[str] | None = None, algorithms: list[str] | None = None) -> Paths:
    """Reads the file; ``paths`` and ``algorithms`` keep only those, and a name that is not there is a fault."""
    about = tomllib.loads(file.read_text(encoding="utf-8"))
    entries = about["path"]
    wanted = _known("--paths", paths, [entry["name"] for entry in entries])
    senders = _known("--algorithms", algorithms, list(about["senders"]))
    trials = [
        _trial(entry, algorithm, about)
        for entry in entries
        if entry["name"] in wanted
        for algorithm in about["senders"]
        if algorithm in senders
    ]
    reasons = {entry["name"]: entry["why"] for entry in entries}
    return Paths(tuple(trials), about["repetitions"], about["tolerances"], reasons)


def _known(option: str, asked: list[str] | None, names: list[str]) -> list[str]:
    for name in asked or ():
        if name not in names:
            raise ScenarioError(Fault(option, f"'{name}' is not among them", f"there are {', '.join(names)}"))
    return names if asked is None else asked


def _trial(entry: dict[str, Any], algorithm: str, about: dict[str, Any]) -> Trial:
    flows, senders = [], []
    for text in entry["flows"]:
        who, _, start = text.partition(" after ")
        sender = about["beside"][algorithm] if who == "beside" else algorithm
        senders.append(sender)
        flows.append(
            {
                "algorithm": about["senders"][sender],
                "rtt": entry["rtt"],
                "start": start or "0 s",
                "profile": "linux",
                "stack": about["stack"],
            }
        )
    value, _, unit = entry["rtt"].partition(" ")
    delay = f"{float(value) / 2:g} {unit}"
    queue = {"capacity": entry["buffer"]}
    document = {
        "schema_version": 1,
        "title": f"{entry['name']} {algorithm}",
        "duration": entry["duration"],
        "sample_interval": f"{SAMPLE_S:g} s",
        "dumbbell": {
            "bottleneck": {"rate": entry["rate"], "delay": delay, "queue": queue},
            "reverse": {"rate": "none"},
        },
        "flow": flows,
    }
    if len(flows) > 1:
        document["start_jitter"] = "rtt"  # what repetitions differ in, beside the kernel's own timing
    rate = float(entry["rate"].partition(" ")[0]) * 1e6
    return Trial(entry["name"], algorithm, tuple(senders), rate, document)
