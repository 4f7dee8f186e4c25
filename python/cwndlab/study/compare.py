"""Compares algorithms on one scenario: the same seeds for each, a warm-up cut, a stopping rule."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal

from cwndlab.catalogue import canonical
from cwndlab.custom import Classes, by_name, name_of
from cwndlab.errors import Fault, ScenarioError, parameter_fault
from cwndlab.files import json_text
from cwndlab.metrics import COLUMNS, competing
from cwndlab.metrics.of_flow import flow_metrics, groups, is_flow, parse, resolve
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario, toml_value
from cwndlab.scenario.reader import check
from cwndlab.simulate import run
from cwndlab.statistics import Until, enough
from cwndlab.study.axes import readable
from cwndlab.study.executor import Plan, execute, threads
from cwndlab.study.fields import places, shown, split_at_commas
from cwndlab.study.result import Result
from cwndlab.study.spec import Measure, Point, Progress, Row, Study
from cwndlab.study.store import Store, local, records_folder
from cwndlab.study.values import short


def repeated(scenario: Scenario, repetitions: int) -> Scenario:
    """The scenario as it is compared: with a random start where repetitions would else be the same."""
    if repetitions > 1 and not scenario.perturb and "start_jitter" not in json.loads(scenario.to_json()):
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
    names: list[str] = []
    for one in tcp[:1] if flows is None else flows:
        try:
            names.append(resolve(document, one))
        except ScenarioError as error:
            faults += error.faults
    for name in names:
        if name not in tcp:
            faults.append(Fault("flows", f"'{name}' is sent by UDP, without an algorithm", "name a flow over TCP"))
    if not faults and against is not None and set(tcp) <= set(names):
        tables = groups(document)
        several = [f"all {len(tables[name])} flows of the table '{name}'" for name in names if len(tables[name]) > 1]
        what = "no flow over TCP is left that could use it"
        what += f": {' and '.join(several)} use the compared algorithms" if several else ""
        hint = (
            "give one flow a table [[flow]] of its own" if several else "name fewer flows, or add one to the scenario"
        )
        faults.append(Fault("against", what, hint))
    if faults:
        raise ScenarioError(*faults)
    return list(dict.fromkeys(names))


def _check(
    algorithms: Sequence[str] | None,
    repetitions: int,
    scenario: Scenario,
    warm_up: str | None,
    start_s: float | None,
    metrics: Sequence[str] | None,
    against: str | None,
) -> list[str]:
    """The algorithms, each once, or none where a field is compared; raises with every fault."""
    faults = []
    if warm_up not in (None, "mser"):
        faults.append(parameter_fault("warm_up", f"'{warm_up}' is not a warm-up", hint="write mser, or '5 s'"))
    elif warm_up is not None and start_s is not None:
        faults.append(parameter_fault("warm_up", "a start is named as well", hint="leave out one of them"))
    document = json.loads(scenario.to_json())
    for name in metrics or ():
        one = parse(name)
        if name not in COLUMNS:
            faults.append(
                parameter_fault("metrics", f"no metric is called '{name}'", hint="`cwndlab list --metrics` lists them")
            )
        elif one is not None and not is_flow(document, one.flow):
            there = f"there are {', '.join(groups(document))}"
            faults.append(parameter_fault("metrics", f"'{name}': no flow is called '{one.flow}'", hint=there))
    if algorithms is not None and not algorithms:
        faults.append(parameter_fault("algorithms", "there is none to compare", example=["cubic", "reno"]))
    if repetitions < 1:
        faults.append(parameter_fault("repetitions", f"'{repetitions}' runs nothing", example=10))
    for name in [*(algorithms or ()), *([] if against is None else [against])]:
        try:
            canonical(name, scenario.to_json())
        except ScenarioError as error:
            faults += error.faults
    if faults:
        raise ScenarioError(*faults)
    return list(dict.fromkeys(algorithms or ()))


def reject_seeds(seed: object, repetitions: object) -> None:
    """Raises where the seeds of a comparison are no numbers that the engine takes."""
    faults = []
    if type(seed) is not int or seed < 0:
        faults.append(parameter_fault("seed", f"{short(seed)} is not a whole number from 0 on", example=1))
    if type(repetitions) is not int:
        faults.append(parameter_fault("repetitions", f"{short(repetitions)} is not a whole number", example=10))
    elif not faults and isinstance(seed, int) and seed + repetitions > 2**63:
        faults.append(parameter_fault("seed", f"seeds from {seed} on exceed 63 bits", example=1))
    if faults:
        raise ScenarioError(*faults)


def with_classes(
    scenario: Scenario, algorithms: str | type | Sequence[str | type] | Mapping[str, type]
) -> tuple[Scenario, list[str]]:
    """The scenario with the custom classes among the algorithms, and the names of all algorithms."""
    if not isinstance(scenario, Scenario):
        hint = "write cwndlab.presets.load('two-flows'), or a cwndlab.Scenario"
        raise ScenarioError(parameter_fault("scenario", f"{short(scenario)} is not a scenario", hint=hint))
    names = split_at_commas(algorithms) if isinstance(algorithms, str) else []
    if len(names) > 1:
        raise ScenarioError(parameter_fault("algorithms", f"'{algorithms}' is one text", example=names))
    if isinstance(algorithms, str | type):
        algorithms = [algorithms]
    if isinstance(algorithms, Mapping):
        return scenario.with_(algorithms=algorithms), list(algorithms)
    classes = [one for one in algorithms if isinstance(one, type)]
    if not classes:
        return scenario, [str(one) for one in algorithms]
    names = [name_of(one) if isinstance(one, type) else one for one in algorithms]
    return scenario.with_(algorithms=by_name(classes)), names


def compare(
    scenario: Scenario,
    algorithms: str | type | Sequence[str | type] | Mapping[str, type] = (),
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    flows: str | int | Sequence[str | int] | None = None,
    against: str | type | None = None,
    repetitions: int = 10,
    seed: int = 1,
    out: Path | str | None = None,
    records: Literal["first", "all"] = "all",
    workers: int | None = None,
    progress: Progress | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    warm_up: str | None = None,
    until: str | None = None,
    at_most: int = 50,
    metrics: Sequence[str] | None = None,
    perturb: bool | None = None,
) -> Result:
    """Runs every algorithm with the same seeds in every flow over TCP of a scenario, or in some of its flows.

    Where the scenario has no jitter of its own, each flow starts at a random time within its base RTT, so that
    repetitions differ. The same seeds are used for each algorithm, so differences are paired. On Ctrl-C the result has
    the finished runs; the same call with the same ``out`` runs the missing ones.

    Parameters
    ----------
    scenario
        The scenario.
    algorithms
        Texts or custom classes (`cwndlab.custom`); a mapping gives classes other names. The first one is the base of
        the differences.
    over
        In place of algorithms the values of one field, named as by ``--set``, such as queue disciplines:
        ``{"dumbbell.bottleneck.queue.kind": ["droptail", "codel"]}``. The first one is the base.
    flows
        Names of tables ``[[flow]]``, or indices of flows as in the records, that use the algorithms; the others keep
        theirs, or use ``against``. Flows of a ``count`` have one algorithm. With ``against`` alone it is the first flow
        over TCP. Goodput and share of each table of flows over TCP are then measured, too (`cwndlab.metrics.of_flow`).
    against
        The algorithm of the other flows over TCP.
    repetitions, seed
        The seeds are ``seed`` … ``seed + repetitions − 1``.
    out
        A folder that keeps finished runs and ``records``; without it the result is in memory.
    records
        Whether ``out`` keeps the records of all runs or of each algorithm's first seed only.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all.
    start_s, end_s
        The interval of the metrics.
    warm_up
        A time such as ``"5 s"``, or ``"mser"``, with which each run is measured from where `metrics.warm_up` cuts it.
    until, at_most
        ``"goodput_bps within 2 %"`` adds repetitions until that holds for every algorithm, up to ``at_most``
        (`statistics.Until`).
    metrics
        Names in `metrics.COLUMNS` that are compared; by default `cwndlab.study.result.JUDGED`.
    perturb
        As in `cwndlab.run`. The algorithms of a repetition have the same perturbation.

    Returns
    -------
    Result
        Runs, means and differences.

    Raises
    ------
    ScenarioError
        Every fault of the arguments, before anything runs.
    RunError
        A run failed. Finished runs are kept in ``out``.
    RecordsError
        ``out`` is in use or holds something else.
    """
    reject_seeds(seed, repetitions)
    scenario, texts = with_classes(scenario, algorithms)
    scenario = scenario.perturbed(perturb)
    field = _field(over, texts, flows, against)
    if against is not None:
        scenario, (against,) = with_classes(scenario, against)
    compared = _compared(scenario, [flows] if isinstance(flows, str | int) else flows, against)
    start_s, warm_up = _start(start_s, warm_up)
    names = _check(texts if over is None else None, repetitions, scenario, warm_up, start_s, metrics, against)
    rule = None if until is None else Until.parse(until, list(COLUMNS), at_most=at_most, at_least=repetitions)
    scenario = repeated(scenario, repetitions if rule is None else rule.at_most)
    values = None if over is None else over[field]
    points = _points(scenario, names, compared, against) if values is None else _points_over(scenario, field, values)
    seeds = list(range(seed, seed + (repetitions if rule is None else rule.at_least)))
    header = {
        "title": scenario.title or "",
        "columns": [field],
        "compared": field,
        "values": None if values is None else [toml_value(value) for value in values],
        "seeds": seeds,
        "until": None if rule is None else str(rule),
        **{"start_s": start_s, "end_s": end_s, "warm_up": warm_up, "flows": compared, "against": against},
        "metrics": None if metrics is None else list(dict.fromkeys(metrics)),
        "scenario": json.loads(scenario.to_json()),
        "notes": _notes(scenario, points, compared, against, start_s),
    }
    keeper = _Keeper(local(out), seed, records)
    study = Study(
        points=points,
        seeds=seeds,
        measure=partial(_measure_of, keeper, _measured(header)),
        rule=rule,
        together=True,
        classes=scenario.classes,
        header=header,
    )
    with Store(out, write=True) as store:
        _refuse_another(store, header)
        result = execute(Plan(study, store), store, executor=threads(workers, scenario.classes), progress=progress)
        if not len(result.runs):
            raise KeyboardInterrupt
        result.examples = keeper.examples(points, result, scenario.classes)
        result.notes += _remarks(result, rule)
        result.write_to(store)
    return result


def _start(start_s: float | None, warm_up: str | None) -> tuple[float | None, str | None]:
    """Start and warm-up: a warm-up that is a time is a start."""
    time = None if not isinstance(warm_up, str) else re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(ms|s|min)", warm_up.strip())
    if time is None or start_s is not None:
        return start_s, warm_up
    return float(time[1]) * {"ms": 1e-3, "s": 1.0, "min": 60.0}[time[2]], None


def _refuse_another(store: Store, header: Mapping[str, Any]) -> None:
    """Raises where the store has a comparison of which the records would be overwritten."""
    previous = store.manifest.get("study")
    if previous is None or previous["columns"] != header["columns"]:
        return
    if _set_up(previous) != _set_up(header):
        raise ScenarioError(Fault(store.place, "holds another comparison", "choose another folder, or delete this one"))


def _set_up(header: Mapping[str, Any]) -> tuple[Any, ...]:
    """The scenario with its flows; custom classes are the same wherever their files are."""
    scenario = dict(header["scenario"])
    scenario["algorithms"] = {name: {**one, "file": None} for name, one in scenario.get("algorithms", {}).items()}
    return scenario, header.get("flows"), header.get("against")


def _field(over: Mapping[str, Sequence[Any]] | None, algorithms: Sequence[str], flows: object, against: object) -> str:
    """What is compared: the algorithm, or the field of ``over``; raises where that is not one thing."""
    if over is None:
        return "algorithm"
    others = {"algorithms": algorithms, "flows": flows, "against": against}
    faults = [
        parameter_fault(name, "there is a field to compare by --over, too", hint="leave one of the two out")
        for name, value in others.items()
        if value
    ]
    if len(over) != 1 or not all(over.values()):
        hint = "name one field with its values; `cwndlab sweep` takes several"
        faults.append(parameter_fault("over", f"there are {len(over)} fields with values", hint=hint))
    if faults:
        raise ScenarioError(*faults)
    return next(iter(over))


def _points_over(scenario: Scenario, field: str, values: Sequence[Any]) -> list[Point]:
    """A point per value of a field; of values that are tables the label has the parts that differ."""
    document = json.loads(scenario.to_json())
    texts = [toml_value(value) for value in values]
    kept = list(dict.fromkeys(texts))
    labels = readable([shown(values[texts.index(text)]) for text in kept])
    points: list[Point] = []
    faults: list[Fault] = []
    for number, (text, label) in enumerate(zip(kept, labels, strict=True)):
        changes = [(place, text) for place in places(field, document)]
        try:
            checked = check(scenario.to_json(), "json", changes=changes, classes=scenario.classes)
        except ScenarioError as error:
            faults += error.faults
            continue
        points.append(Point(number, {field: label}, checked.hash, checked.document))
    if faults:
        raise ScenarioError(*dict.fromkeys(faults))
    return points


def _points(scenario: Scenario, names: Sequence[str], flows: list[str] | None, against: str | None) -> list[Point]:
    points = []
    for number, name in enumerate(names):
        document = json_text(with_algorithm(scenario, name, flows, against))
        checked = check(document, "json", classes=scenario.classes)
        points.append(Point(number, {"algorithm": name}, checked.hash, checked.document))
    return points


def _measured(header: Mapping[str, Any]) -> Measure:
    """Every metric, with those of single flows that are compared."""
    of_flows = flow_metrics(header["scenario"], header["flows"])
    of_flows += [metric for metric in header["metrics"] or () if parse(metric)]
    names = tuple(dict.fromkeys([*COLUMNS, *of_flows]))
    return Measure(names, header["start_s"], header["end_s"], header["warm_up"])


class _Keeper:
    """Keeps records: of the first seed in memory and in a folder, in the folder of the other seeds where wanted."""

    def __init__(self, folder: Path | None, seed: int, which: str) -> None:
        self._folder, self._seed, self._which = folder, seed, which
        self._examples: dict[str, Records] = {}

    def __call__(self, algorithm: str, records: Records) -> None:
        is_first = records.seed == self._seed
        if is_first:
            self._examples[algorithm] = records
        if self._folder is not None and (is_first or self._which == "all"):
            place = records_folder(self._folder, algorithm, records.seed)
            # What is there is of an older engine, or of a process that was killed while it wrote.
            shutil.rmtree(place, ignore_errors=True)
            records.save(place)

    def examples(self, points: Sequence[Point], result: Result, classes: Classes | None) -> dict[str, Records]:
        """The records of the first seed of each algorithm that has a row of it."""
        examples = {}
        for point in points:
            name = str(point.labels[result.compared])
            if self._seed not in result.by_seed("goodput_bps")[name]:
                continue
            if name not in self._examples and (folder := self._kept(name)) is not None:
                self._examples[name] = Records.read(folder)
            elif name not in self._examples:
                # The row comes from another study, which kept no records.
                self(name, run(json.loads(point.document), seed=self._seed, algorithms=classes))
            examples[name] = self._examples[name]
        return examples

    def _kept(self, algorithm: str) -> Path | None:
        folder = None if self._folder is None else records_folder(self._folder, algorithm, self._seed)
        return folder if folder is not None and (folder / "flows.parquet").exists() else None


@dataclass(frozen=True)
class _Kept(Measure):
    """A measure that hands the records on."""

    keep: Callable[[Records], None] | None = None

    def __call__(self, records: Records) -> Row:
        row = super().__call__(records)
        if self.keep is not None:
            self.keep(records)
        return row


def _measure_of(keeper: _Keeper, measure: Measure, point: Point, _seed: int) -> Measure:
    keep = partial(keeper, next(iter(point.labels.values())))
    return _Kept(measure.metrics, measure.start_s, measure.end_s, measure.warm_up, keep=keep)


def _notes(
    scenario: Scenario, points: Sequence[Point], flows: list[str] | None, against: str | None, start_s: float | None
) -> list[str]:
    """Remarks that are known before anything runs."""
    notes = list(scenario.notes)
    if flows is not None:
        others = "keep their algorithms" if against is None else f"use {against}"
        notes.append(f"compared in {', '.join(flows)}; the other flows over TCP {others}")
    if start_s is not None:
        notes.append(f"warm-up: what was before {start_s:g} s is left out")
    if scenario.classes:
        # Class and source, as in the notes of a run.
        notes += [note for point in points for note in check(point.document, "json").notes]
    return list(dict.fromkeys(notes))


def _remarks(result: Result, rule: Until | None) -> list[str]:
    """Remarks on what was measured."""
    notes = []
    if result.outcome.stopped:
        notes.append(f"stopped: {len(result.runs)} of {result.outcome.total} runs finished")
    elif rule is not None:
        notes += _reached(result, rule)
    notes += [] if result.header["warm_up"] is None else _cuts(result)
    return [*notes, *_without_variation(result), *_separate(result)]


def _without_variation(result: Result) -> list[str]:
    """Metrics that are the same for every seed, where the runs differ."""
    notes, count = [], len(result.seeds)
    constant: dict[str, list[str]] = {}
    for name in result.algorithms:
        rows = [{key: row[key] for key in row if key != "seed"} for row in result.rows if row[result.compared] == name]
        if len(rows) > 1 and all(row == rows[0] for row in rows):
            continue  # a remark of its own
        for metric in result.judged():
            if result.estimate(name, metric).is_constant:
                constant.setdefault(COLUMNS[metric].title, []).append(name)
    if constant:
        parts = [f"{title} ({', '.join(names)})" for title, names in constant.items()]
        more = "" if result.scenario.perturb else "; --perturb varies what nobody measures exactly"
        notes.append(f"{count} runs, one result, so that there is no interval and no test: {', '.join(parts)}{more}")
    return notes


def _separate(result: Result) -> list[str]:
    """Flows that do not share the bottleneck of the others: which flows Jain's index and the goodput are of."""
    for records in list(result.examples.values())[:1]:
        count, together = len(records.flows), len(competing(records))
        if together < count > 1:
            which = f"{together} of {count} flows share" if together else f"no two of {count} flows share"
            index = "the Jain index is of these" if together else "there is no Jain index"
            return [f"{which} a bottleneck in one direction: {index}; goodput is of all flows together"]
    return []


def _cuts(result: Result) -> list[str]:
    """The range of the warm-up cuts."""
    cuts = sorted(float(row["from_s"]) for row in result.rows)
    start_s = result.header["scenario"].get("measure_from", "its default")
    return [
        f"warm-up: each run is measured from where MSER-5 cuts the goodput of all flows, {cuts[0]:g} s to "
        f"{cuts[-1]:g} s (median {median(cuts):g} s); where that finds no cut, from measure_from ({start_s})"
    ]


def _reached(result: Result, rule: Until) -> list[str]:
    """How narrow the intervals of a stopping rule became."""
    notes = [f"until {rule}: stopped after {len(result.seeds)} repetitions of each"]
    for name in result.algorithms:
        if not enough(result.values(name, rule.metric), rule.within):
            one = result.estimate(name, rule.metric)
            near = f"{one.half / abs(one.mean) * 100:.2g} %" if one.half is not None and one.mean else "no part of it"
            notes.append(f"{name}: {rule.metric} is known within {near} only")
    return notes
