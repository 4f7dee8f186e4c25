"""Compares algorithms on one scenario: the same seeds for each, a warm-up cut, a stopping rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from cwndlab.catalogue import canonical
from cwndlab.custom import by_name, name_of
from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics import COLUMNS, competing, summary
from cwndlab.metrics import warm_up as warm_up_of
from cwndlab.metrics.of_flow import groups, parse, resolve
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.reader import check
from cwndlab.simulate import NO_RANDOM_ELEMENT, run_jobs
from cwndlab.statistics import Until, enough
from cwndlab.study.comparison import Comparison


def repeated(scenario: Scenario, repetitions: int) -> Scenario:
    """The scenario as it is compared: with a random start where repetitions would else be the same."""
    if repetitions > 1 and "start_jitter" not in json.loads(scenario.to_json()):
        return scenario.with_(start_jitter="rtt")
    return scenario


def with_algorithm(
    scenario: Scenario, algorithm: str, flows: Sequence[str] | None = None, against: str | None = None
) -> dict[str, Any]:
    """The scenario's document with ``algorithm`` in every flow over TCP, or in those that ``flows`` names as the
    scenario does, and then with ``against`` in the other flows over TCP."""
    document: dict[str, Any] = json.loads(scenario.to_json())
    for name, flow in zip(groups(document), document["flow"], strict=True):
        if flow.get("transport") == "udp":
            continue
        if flows is None or name in flows:
            flow["algorithm"] = algorithm
        elif against is not None:
            flow["algorithm"] = against
    return document


def _compared(scenario: Scenario, flows: Sequence[str | int] | None, against: str | None) -> list[str] | None:
    """The names of the flows that take the compared algorithms; nothing where all flows over TCP do. Raises
    ``ScenarioError`` with every fault."""
    document = json.loads(scenario.to_json())
    tcp = [
        name for name, flow in zip(groups(document), document["flow"], strict=True) if flow.get("transport") != "udp"
    ]
    if not tcp:
        raise ScenarioError(Fault("flow", "every flow is sent by UDP, without an algorithm", "add a flow over TCP"))
    if flows is None and against is None:
        return None
    faults: list[Fault] = []
    found: list[str] = []
    for one in tcp[:1] if flows is None else flows:
        try:
            found.append(resolve(document, one))
        except ScenarioError as error:
            faults += error.faults
    for name in found:
        if name not in tcp:
            faults.append(Fault("flows", f"'{name}' is sent by UDP, without an algorithm", "name a flow over TCP"))
    if not faults and against is not None and set(tcp) <= set(found):
        hint = "name fewer flows, or add a flow to the scenario"
        faults.append(Fault("against", "no flow over TCP is left that could use it", hint))
    if faults:
        raise ScenarioError(*faults)
    return list(dict.fromkeys(found))


def _sides(compared: list[str] | None, against: str | None) -> list[str]:
    """Which flows take the compared algorithms, where not all do."""
    if compared is None:
        return []
    others = "keep their algorithms" if against is None else f"use {against}"
    return [f"compared in {', '.join(compared)}; the other flows over TCP {others}"]


def _check(
    algorithms: Sequence[str],
    repetitions: int,
    scenario: Scenario,
    warm_up: str | None,
    start_s: float | None,
    metrics: Sequence[str] | None,
    against: str | None,
) -> list[str]:
    """The algorithms, each once; raises with every fault."""
    faults = []
    if warm_up not in (None, "mser"):
        faults.append(Fault("--warm-up", f"'{warm_up}' is no way to find the warm-up", "write mser, or '5 s'"))
    elif warm_up is not None and start_s is not None:
        faults.append(Fault("--warm-up", "a start is named as well", "leave out one of them"))
    document = json.loads(scenario.to_json())
    flows = {flow for name, members in groups(document).items() for flow in (name, *members)}
    for name in metrics or ():
        one = parse(name)
        if name not in COLUMNS:
            faults.append(Fault("--metrics", f"no metric is called '{name}'", "`cwndlab list --metrics` shows them"))
        elif one is not None and one.flow not in flows:
            try:
                resolve(document, one.flow)
            except ScenarioError as error:
                faults += [fault._replace(where=f"--metrics, '{name}'") for fault in error.faults]
    if not algorithms:
        faults.append(Fault("--algorithms", "there is none to compare", "write --algorithms cubic,reno"))
    if repetitions < 1:
        faults.append(Fault("--repetitions", f"'{repetitions}' runs nothing", "write --repetitions 10"))
    for name in [*algorithms, *([] if against is None else [against])]:
        try:
            canonical(name, scenario.to_json())
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(*faults)
    return list(dict.fromkeys(algorithms))


def _taken_in(
    scenario: Scenario, algorithms: str | type | Sequence[str | type] | Mapping[str, type]
) -> tuple[Scenario, list[str]]:
    """The scenario with the classes among the algorithms, and all their names."""
    if isinstance(algorithms, str | type):
        algorithms = [algorithms]
    if isinstance(algorithms, Mapping):
        return scenario.with_(algorithms=algorithms), list(algorithms)
    kinds = [one for one in algorithms if isinstance(one, type)]
    if not kinds:
        return scenario, [str(one) for one in algorithms]
    names = [name_of(one) if isinstance(one, type) else one for one in algorithms]
    return scenario.with_(algorithms=by_name(kinds)), names


def compare(
    scenario: Scenario,
    algorithms: str | type | Sequence[str | type] | Mapping[str, type],
    *,
    flows: str | int | Sequence[str | int] | None = None,
    against: str | type | None = None,
    repetitions: int = 10,
    seed: int = 1,
    out: Path | str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    warm_up: str | None = None,
    until: str | None = None,
    at_most: int = 50,
    metrics: Sequence[str] | None = None,
) -> Comparison:
    """Runs every algorithm in every flow over TCP of ``scenario``, or in ``flows`` of it, with the seeds ``seed`` …
    ``seed + repetitions − 1``.

    An algorithm is a text or a custom class (`cwndlab.custom`); a mapping gives classes other names. ``flows`` are
    names or indices of the scenario's tables ``[[flow]]``; the other flows keep their algorithms, or use ``against``.
    With ``against`` alone the first flow over TCP takes the compared algorithms. Where some flows do not take them,
    goodput and share of each table of flows over TCP are measured beside (`cwndlab.metrics.of_flow`).
    Where the scenario has no jitter of its own each flow starts at a random time within its base RTT, so that
    repetitions differ. The same seeds are used for each algorithm, so differences are paired. Records of every run go
    to the folder ``out`` as they finish; in memory stay those of the first seed. What is finished is kept on Ctrl-C.

    Metrics are over ``start_s`` to ``end_s``. ``warm_up`` names the start in words: a time such as ``"5 s"``, or
    ``"mser"``, with which each run starts where `metrics.warm_up` finds it. ``until="goodput_bps within 2 %"`` adds
    repetitions to the first ``repetitions`` until that holds for every algorithm, ``at_most`` so many
    (`statistics.Until`). ``metrics`` are those that are judged, by their names in `metrics.COLUMNS`.
    """
    scenario, texts = _taken_in(scenario, algorithms)
    if against is not None:
        scenario, (rival,) = _taken_in(scenario, against)
        against = rival
    compared = _compared(scenario, [flows] if isinstance(flows, str | int) else flows, against)
    cut = None if warm_up is None else re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(ms|s|min)", warm_up.strip())
    if cut is not None and start_s is None:
        start_s, warm_up = float(cut[1]) * {"ms": 1e-3, "s": 1.0, "min": 60.0}[cut[2]], None
    names = _check(texts, repetitions, scenario, warm_up, start_s, metrics, against)
    rule = None if until is None else Until.parse(until, list(COLUMNS), at_most=at_most, at_least=repetitions)
    scenario = repeated(scenario, repetitions if rule is None else rule.at_most)
    found = Comparison(
        scenario,
        names,
        list(range(seed, seed + (repetitions if rule is None else rule.at_least))),
        notes=[
            *scenario.notes,
            *_sides(compared, against),
            *([] if start_s is None else [f"warm-up: what was before {start_s:g} s is left out"]),
        ],
        flows=compared,
        start_s=start_s,
        end_s=end_s,
        warm_up=warm_up,
        until=None if rule is None else str(rule),
        metrics=None if metrics is None else list(dict.fromkeys(metrics)),
        against=against,
    )
    documents = {name: with_algorithm(scenario, name, compared, against) for name in names}
    if scenario.classes:
        # Which class and source: what a run would note.
        derived = (note for document in documents.values() for note in check(json.dumps(document), "json").notes)
        found.notes = list(dict.fromkeys([*found.notes, *derived]))
    folder = None if out is None else Path(out)
    if folder is not None:
        found.write(folder)  # refuses before anything runs
        found.rows.clear()
    batch = found.seeds
    try:
        while batch:
            _run(found, batch, documents, folder, workers, progress)
            series = [found.values(name, rule.metric) for name in names] if rule else []
            more = rule.more(len(found.seeds), series) if rule else 0
            batch = list(range(found.seeds[-1] + 1, found.seeds[-1] + 1 + more))
            found.seeds = [*found.seeds, *batch]
    except KeyboardInterrupt:
        if not found.rows:
            raise
        found.notes.append(f"stopped: {len(found.rows)} of {len(names) * len(found.seeds)} runs finished")
    else:
        found.notes += [] if rule is None else _reached(found, rule)
    found.notes += [] if warm_up is None else _cuts(found)
    found.examples = {name: found.examples[name] for name in names if name in found.examples}
    found.notes += [*_alike(found), *_apart(found)]
    found.sort()
    if folder is not None:
        found.write(folder)
    return found


def _run(
    found: Comparison,
    seeds: Sequence[int],
    documents: Mapping[str, dict[str, Any]],
    folder: Path | None,
    workers: int | None,
    progress: Callable[[int, int], Any] | None,
) -> None:
    """Runs every algorithm with these seeds; rows come as runs end."""
    keys = [(name, one) for one in seeds for name in documents]
    before = len(found.rows)

    def told(done: int, total: int) -> None:
        if progress is not None:
            progress(before + done, before + total)

    jobs = [(documents[name], one) for name, one in keys]
    for index, records in run_jobs(jobs, workers=workers, progress=told, algorithms=found.scenario.classes):
        name, one = keys[index]
        start_s = _start_s(found, records)
        row = {"algorithm": name, "seed": one, "from_s": start_s}
        found.rows.append(row | summary(records, only=found.measured(), start_s=start_s, end_s=found.end_s))
        if one == found.seeds[0]:
            found.examples[name] = records
        elif folder is not None:
            records.save(found.place(folder, name, one))


def _start_s(found: Comparison, records: Records) -> float:
    """From where this run is measured."""
    cut = warm_up_of(records, end_s=found.end_s) if found.warm_up is not None else found.start_s
    return float(records.rows("runs")[0]["measure_from_ns"]) / 1e9 if cut is None else cut


def _alike(found: Comparison) -> list[str]:
    """Algorithms of which every seed gave the same run."""
    if len(found.seeds) < 2:
        return []
    alike = []
    for name in found.algorithms:
        rows = [{key: row[key] for key in row if key != "seed"} for row in found.rows if row["algorithm"] == name]
        if len(rows) > 1 and all(row == rows[0] for row in rows):
            alike.append(name)
    return [f"{', '.join(alike)}: {NO_RANDOM_ELEMENT}"] if alike else []


def _apart(found: Comparison) -> list[str]:
    """Flows that do not share the bottleneck of the others: of which the Jain index is, and of which the goodput."""
    for records in list(found.examples.values())[:1]:
        count, together = len(records.flows), len(competing(records))
        if together < count > 1:
            which = f"{together} of {count} flows share" if together else f"no two of {count} flows share"
            index = "the Jain index is of these" if together else "there is no Jain index"
            return [f"{which} a bottleneck in one direction: {index}; goodput is of all flows together"]
    return []


def _cuts(found: Comparison) -> list[str]:
    """What the warm-up cut came to."""
    cuts = sorted(float(row["from_s"]) for row in found.rows)
    start_s = json.loads(found.scenario.to_json()).get("measure_from", "its default")
    return [
        f"warm-up: each run is measured from where MSER-5 cuts the goodput of all flows, {cuts[0]:g} s to "
        f"{cuts[-1]:g} s (median {median(cuts):g} s); where that finds no cut, from measure_from ({start_s})"
    ]


def _reached(found: Comparison, rule: Until) -> list[str]:
    """How near to its mark a stopping rule came."""
    notes = [f"until {rule}: stopped after {len(found.seeds)} repetitions of each"]
    for name in found.algorithms:
        values = found.values(name, rule.metric)
        if not enough(values, rule.within):
            one = found.estimate(name, rule.metric)
            near = f"{one.half / abs(one.mean) * 100:.2g} %" if one.half is not None and one.mean else "no part of it"
            notes.append(f"{name}: {rule.metric} is known within {near} only")
    return notes
