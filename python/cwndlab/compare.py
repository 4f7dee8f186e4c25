"""Compares algorithms on one scenario: the same seeds for each, a warm-up cut, a stopping rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from cwndlab.algorithms import canonical
from cwndlab.comparison import Comparison
from cwndlab.errors import Fault, ScenarioError
from cwndlab.metrics import COLUMNS, summary
from cwndlab.metrics import warm_up as warm_up_of
from cwndlab.records import Records
from cwndlab.run import check, run_many
from cwndlab.scenario import Scenario
from cwndlab.statistics import Until, enough


def repeated(scenario: Scenario, repetitions: int) -> Scenario:
    """The scenario as it is compared: with a random start where repetitions would else be the same."""
    if repetitions > 1 and "start_jitter" not in json.loads(scenario.to_json()):
        return scenario.with_(start_jitter="rtt")
    return scenario


def with_algorithm(scenario: Scenario, algorithm: str, flows: Sequence[str] | None = None) -> dict[str, Any]:
    """The scenario's document with ``algorithm`` in every flow over TCP, or in those that ``flows`` names as the
    scenario does."""
    document: dict[str, Any] = json.loads(scenario.to_json())
    named = {flow.get("name", f"flow{index}"): flow for index, flow in enumerate(document["flow"])}
    unknown = [name for name in flows or () if name not in named]
    if unknown:
        hint = f"there are {', '.join(named)}"
        raise ScenarioError(*(Fault("flows", f"no flow is called '{name}'", hint) for name in unknown))
    for name, flow in named.items():
        if name in flows if flows is not None else flow.get("transport") != "udp":
            flow["algorithm"] = algorithm
    if all(flow.get("transport") == "udp" for flow in named.values()):
        raise ScenarioError(Fault("flow", "every flow is sent by UDP, without an algorithm", "add a flow over TCP"))
    return document


def _check(
    algorithms: Sequence[str],
    repetitions: int,
    scenario: Scenario,
    warm_up: str | None,
    start_s: float | None,
    metrics: Sequence[str] | None,
) -> list[str]:
    """The algorithms, each once; raises with every fault."""
    faults = []
    if warm_up not in (None, "mser"):
        faults.append(Fault("--warm-up", f"'{warm_up}' is no way to find the warm-up", "write mser, or '5 s'"))
    elif warm_up is not None and start_s is not None:
        faults.append(Fault("--warm-up", "a start is named as well", "leave out one of them"))
    for name in metrics or ():
        if name not in COLUMNS:
            faults.append(Fault("--metrics", f"no metric is called '{name}'", "`cwndlab list --metrics` shows them"))
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
    warm_up: str | None = None,
    until: str | None = None,
    at_most: int = 50,
    metrics: Sequence[str] | None = None,
) -> Comparison:
    """Runs every algorithm in every flow of ``scenario``, or in ``flows`` of it, with the seeds ``seed`` …
    ``seed + repetitions − 1``.

    An algorithm is a text or a class of one's own (`cwndlab.own`); a mapping gives classes other names.
    Where the scenario has no jitter of its own each flow starts at a random time within its base RTT, so that
    repetitions differ. The same seeds are used for each algorithm, so differences are paired. Records of every run go
    to the folder ``out`` as they finish; in memory stay those of the first seed. What is finished is kept on Ctrl-C.

    Metrics are over ``start_s`` to ``end_s``. ``warm_up`` names the start in words: a time such as ``"5 s"``, or
    ``"mser"``, with which each run starts where `metrics.warm_up` finds it. ``until="goodput_bps within 2 %"`` adds
    repetitions to the first ``repetitions`` until that holds for every algorithm, ``at_most`` so many
    (`statistics.Until`). ``metrics`` are those that are judged, by their names in `metrics.COLUMNS`.
    """
    scenario, texts = _taken_in(scenario, algorithms)
    cut = None if warm_up is None else re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(ms|s|min)", warm_up.strip())
    if cut is not None and start_s is None:
        start_s, warm_up = float(cut[1]) * {"ms": 1e-3, "s": 1.0, "min": 60.0}[cut[2]], None
    names = _check(texts, repetitions, scenario, warm_up, start_s, metrics)
    rule = None if until is None else Until.parse(until, list(COLUMNS), at_most=at_most, at_least=repetitions)
    scenario = repeated(scenario, repetitions if rule is None else rule.at_most)
    found = Comparison(
        scenario,
        names,
        list(range(seed, seed + (repetitions if rule is None else rule.at_least))),
        notes=[*scenario.notes, *([] if start_s is None else [f"warm-up: what was before {start_s:g} s is left out"])],
        flows=None if flows is None else list(flows),
        start_s=start_s,
        end_s=end_s,
        warm_up=warm_up,
        until=None if rule is None else str(rule),
        metrics=None if metrics is None else list(dict.fromkeys(metrics)),
    )
    documents = {name: with_algorithm(scenario, name, flows) for name in names}
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
    for index, records in run_many(jobs, workers=workers, progress=told, algorithms=found.scenario.classes):
        name, one = keys[index]
        start_s = _start_s(found, records)
        row = {"algorithm": name, "seed": one, "from_s": start_s}
        found.rows.append(row | summary(records, start_s=start_s, end_s=found.end_s))
        if one == found.seeds[0]:
            found.examples[name] = records
        elif folder is not None:
            records.write(found.place(folder, name, one))


def _start_s(found: Comparison, records: Records) -> float:
    """From where this run is measured."""
    cut = warm_up_of(records, end_s=found.end_s) if found.warm_up is not None else found.start_s
    return float(records.rows("runs")[0]["measure_from_ns"]) / 1e9 if cut is None else cut


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
