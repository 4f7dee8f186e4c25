"""Paths of the validation against the kernel: reads ``known-answers/kernel/paths.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cwndlab.emulation import Side
from cwndlab.errors import ArgumentError, Fault, ScenarioError, parameter_fault, text_of
from cwndlab.scenario.units import duration_s, rate_bps
from cwndlab.validation.references import keys

#: Distance of the samples, s: means of the smoothed RTT go over them.
SAMPLE_S = 0.02

_SIDES: tuple[Side, ...] = ("sender", "receiver")
#: A flow: its sender, its RTT where the path's is not meant, its start where it is not 0 s, and its stop.
_FLOW = re.compile(r"(\*|beside)(?: over ([0-9.]+ [mu]?s))?(?: after ([0-9.]+ [mu]?s))?(?: until ([0-9.]+ [mu]?s))?")


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
    #: By flow, the size of its transfers, each over a connection of its own; empty if flows always have data.
    transfers: tuple[str, ...] = ()
    #: Counts that are judged beside those of every path (`cwndlab.validation.kernel.judge`).
    counts: tuple[str, ...] = ()
    #: Kernel settings of the sides in the emulator.
    settings: dict[Side, dict[str, str | int]] = field(default_factory=dict)
    #: By how much the RTTs of each repetition are longer than those of the one before, s.
    rtt_step_s: float = 0.0

    def repetition(self, number: int) -> dict[str, Any]:
        """The document of a repetition; the RTTs of the first are longer than the path's by one step."""
        if not self.rtt_step_s:
            return self.document
        more_s = number * self.rtt_step_s
        flows = [
            flow | {"rtt": f"{1e6 * (duration_s(flow['rtt'], 'rtt') + more_s):.9g} us"}
            for flow in self.document["flow"]
        ]
        return self.document | {"flow": flows}


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
    entries = _entries(str(file), about["path"])
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


def _entries(file: str, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The paths; one that is ``like`` another has its keys, and changes some of them."""
    by_name = {entry["name"]: entry for entry in entries if "like" not in entry}
    for entry in entries:
        if "like" in entry and entry["like"] not in by_name:
            hint = f"name one of {', '.join(by_name)}"
            raise ScenarioError(Fault(f"{file}: {entry['name']}.like", f"'{entry['like']}' is not among them", hint))
    return [by_name.get(entry.get("like"), {}) | entry for entry in entries]


def _known(parameter: str, wanted: list[str] | None, names: list[str]) -> list[str]:
    for name in wanted or ():
        if name not in names:
            hint = f"there are {', '.join(names)}"
            raise ArgumentError(parameter_fault(parameter, f"'{name}' is not among them", hint=hint))
    return names if wanted is None else wanted


def _settings(entry: dict[str, Any], about: dict[str, Any]) -> dict[Side, dict[str, str | int]]:
    """The kernel settings of a path: those of the file, but for its own."""
    tables = [one.get("settings", {}) for one in (about, entry)]
    sides = {side: {name: value for table in tables for name, value in table.get(side, {}).items()} for side in _SIDES}
    return {side: settings for side, settings in sides.items() if settings}


def _stack(entry: dict[str, Any], settings: dict[Side, dict[str, str | int]]) -> dict[str, Any]:
    """What a path changes in the simulator's stack: ECN, the window, and what kernel settings mean there."""
    stack: dict[str, Any] = {name: entry[name] for name in ("ecn", "initial_receive_window") if name in entry}
    merged = settings.get("receiver", {}).get("net.ipv4.tcp_comp_sack_nr")
    return stack if merged is None else stack | {"sack_compression": merged}


def _trial(entry: dict[str, Any], algorithm: str, about: dict[str, Any]) -> Trial:
    flows, senders, rtts = [], [], []
    transfers = tuple(entry.get("transfers", ()))
    settings = _settings(entry, about)
    for index, text in enumerate(entry["flows"]):
        match = _FLOW.fullmatch(text)
        if match is None:
            what = f"'{text}' is not a flow"
            hint = "write '* over 30 ms after 5 s until 20 s'"
            raise ScenarioError(Fault(f"{entry['name']}.flows[{index}]", what, hint))
        sender = about["beside"][algorithm] if match[1] == "beside" else algorithm
        senders.append(sender)
        rtts.append(match[2] or entry["rtt"])
        flow = {
            "algorithm": about["senders"][sender],
            "rtt": rtts[-1],
            "start": match[3] or "0 s",
            "profile": "linux",
            "stack": about["stack"] | _stack(entry, settings),
        }
        if match[4]:
            flow["stop"] = match[4]
        if transfers:
            flow["workload"] = {"kind": "transfers", "bytes": transfers[index], "new_connection": True}
        elif "application" in entry:
            flow["workload"] = entry["application"]
        flows.append(flow)
    delay = f"{duration_s(entry['rtt'], 'rtt') * 1e3 / 2:g} ms"
    queue = {"capacity": entry["buffer"]} | entry.get("queue", {})
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
    dumbbell = document["dumbbell"]
    if "loss" in entry:
        dumbbell["bottleneck"]["loss"] = {"kind": "bernoulli", "p": entry["loss"]}
    if "reorder" in entry:
        dumbbell["bottleneck"]["jitter"] = {"spread": entry["reorder"], "reorder": True}
        # Without one of its own, the reverse line has that of the bottleneck.
        dumbbell["reverse"]["jitter"] = {
            "spread": entry.get("reorder_acks", "0 ms"),
            "reorder": "reorder_acks" in entry,
        }
    if len(flows) > 1:
        document["start_jitter"] = "rtt"  # what repetitions differ in, beside the kernel's own timing
    rate = rate_bps(entry["rate"], "rate")
    counts = (*(("retransmissions",) if "reorder" in entry else ()), *(("marks",) if "ecn" in entry else ()))
    step_s = duration_s(about["rtt_step"], "rtt_step") if "rtt_step" in about else 0.0
    return Trial(entry["name"], algorithm, tuple(senders), rate, document, transfers, counts, settings, step_s)
