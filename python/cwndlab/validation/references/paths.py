"""Paths of the validation against the kernel: reads ``known-answers/kernel/paths.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cwndlab.errors import Fault, ScenarioError, parameter_fault, text_of
from cwndlab.scenario.units import duration_s, rate_bps
from cwndlab.validation.references import keys

#: Distance of the samples, s: means of the smoothed RTT go over them.
SAMPLE_S = 0.02

#: A flow: its sender, its RTT where the path's is not meant, and its start where it is not 0 s.
_FLOW = re.compile(r"(\*|beside)(?: over ([0-9.]+ [mu]?s))?(?: after ([0-9.]+ [mu]?s))?")


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
    #: By flow, the size of its transfers, each over a connection of its own; empty where flows always have data.
    transfers: tuple[str, ...] = ()


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
    try:
        about = tomllib.loads(text_of(file, "name a file of paths"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(Fault(str(file), f"is no TOML: {error}", "")) from None
    if faults := [*keys.of_paths(str(file), about)]:
        raise ScenarioError(*faults)
    entries = about["path"]
    wanted = _known("paths", paths, [entry["name"] for entry in entries])
    senders = _known("algorithms", algorithms, list(about["senders"]))
    trials = [
        _trial(entry, algorithm, about)
        for entry in entries
        if entry["name"] in wanted
        for algorithm in about["senders"]
        if algorithm in senders
    ]
    reasons = {entry["name"]: entry["why"] for entry in entries}
    return Paths(tuple(trials), about["repetitions"], about["tolerances"], reasons)


def _known(parameter: str, wanted: list[str] | None, names: list[str]) -> list[str]:
    for name in wanted or ():
        if name not in names:
            hint = f"there are {', '.join(names)}"
            raise ScenarioError(parameter_fault(parameter, f"'{name}' is not among them", hint=hint))
    return names if wanted is None else wanted


def _trial(entry: dict[str, Any], algorithm: str, about: dict[str, Any]) -> Trial:
    flows, senders, rtts = [], [], []
    transfers = tuple(entry.get("transfers", ()))
    for index, text in enumerate(entry["flows"]):
        match = _FLOW.fullmatch(text)
        if match is None:
            what = f"'{text}' is no flow"
            raise ScenarioError(Fault(f"{entry['name']}.flows[{index}]", what, "write '* over 30 ms after 5 s'"))
        sender = about["beside"][algorithm] if match[1] == "beside" else algorithm
        senders.append(sender)
        rtts.append(match[2] or entry["rtt"])
        flow = {
            "algorithm": about["senders"][sender],
            "rtt": rtts[-1],
            "start": match[3] or "0 s",
            "profile": "linux",
            "stack": about["stack"],
        }
        if transfers:
            flow["workload"] = {"kind": "transfers", "bytes": transfers[index], "new_connection": True}
        flows.append(flow)
    delay = f"{duration_s(entry['rtt'], 'rtt') * 1e3 / 2:g} ms"
    queue = {"capacity": entry["buffer"]}
    document: dict[str, Any] = {
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
    if "loss" in entry:
        document["dumbbell"]["bottleneck"]["loss"] = {"kind": "bernoulli", "p": entry["loss"]}
    if len(flows) > 1:
        document["start_jitter"] = "rtt"  # what repetitions differ in, beside the kernel's own timing
    rate = rate_bps(entry["rate"], "rate")
    return Trial(entry["name"], algorithm, tuple(senders), rate, document, transfers)
