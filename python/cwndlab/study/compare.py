"""Compares alternatives: the same seeds for each, a warm-up cut, a stopping rule."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal

from cwndlab.custom import Classes
from cwndlab.errors import ArgumentError, Fault, RecordsError, ScenarioError, Usage, collected, near, parameter_fault
from cwndlab.metrics import COLUMNS, competing
from cwndlab.metrics.interval import time_faults
from cwndlab.metrics.of_flow import flow_metrics, groups, is_flow, parse, resolve
from cwndlab.metrics.summary import known, requested
from cwndlab.records import Records
from cwndlab.scenario.document import Scenario
from cwndlab.scenario.like import ScenarioLike
from cwndlab.scenario.reader import check
from cwndlab.service.judgement import Level
from cwndlab.service.per_run import requires
from cwndlab.simulate import run
from cwndlab.statistics import Until, enough
from cwndlab.study.arguments import Algorithms, algorithms_of, seeds_of, unknown
from cwndlab.study.axes import axes, labels
from cwndlab.study.differences import is_one_run
from cwndlab.study.executor import Plan, execute, threads
from cwndlab.study.header import Header
from cwndlab.study.result import Result
from cwndlab.study.spec import Measure, Point, Progress, Row, Study, has_air
from cwndlab.study.store import Store, local, records_folder
from cwndlab.study.sweeps.spec import MOST_RUNS, Sweep, repeated
from cwndlab.study.tables import words_of
from cwndlab.study.values import count, is_list, is_number, short


def with_algorithm(
    scenario: Scenario, algorithm: str, flows: Sequence[str] | None = None, against: str | None = None
) -> dict[str, Any]:
    """The scenario's document with ``algorithm`` in every flow over TCP, or in those that ``flows`` names as the
    scenario does, and then with ``against`` in the other flows over TCP."""
    document = scenario.document
    for name, flow in zip(groups(document), document["flow"], strict=True):
        if flow.get("transport") == "udp":
            continue
        if flows is None or name in flows:
            flow["algorithm"] = algorithm
        elif against is not None:
            flow["algorithm"] = against
    return document


def _compared(scenario: Scenario, flows: Sequence[str | int] | None, against: str | None) -> list[str] | None:
    """The names of the flows that use the compared algorithms; ``None`` if all flows over TCP do. Raises
    ``ScenarioError`` with every fault."""
    document = scenario.document
    tcp = [
        name for name, flow in zip(groups(document), document["flow"], strict=True) if flow.get("transport") != "udp"
    ]
    if not tcp:
        raise ScenarioError(Fault("flow", "every flow uses UDP, without an algorithm", "add a flow over TCP"))
    if flows is None and against is None:
        return None
    faults: list[Fault] = []
    names: list[str] = []
    for one in tcp[:1] if flows is None else flows:
        with collected(faults):
            names.append(resolve(document, one))
    for name in names:
        if name not in tcp:
            faults.append(Fault("flows", f"'{name}' uses UDP, without an algorithm", "name a flow over TCP"))
    if not faults and against is not None and set(tcp) <= set(names):
        tables = groups(document)
        several = [f"all {len(tables[name])} flows of the table '{name}'" for name in names if len(tables[name]) > 1]
        what = "no flow over TCP is left to use it"
        what += f": {' and '.join(several)} use the compared algorithms" if several else ""
        hint = (
            "give one flow a table [[flow]] of its own" if several else "name fewer flows, or add one to the scenario"
        )
        faults.append(Fault("against", what, hint))
    if faults:
        raise ScenarioError(*faults)
    return list(dict.fromkeys(names))


def _check(
    algorithms: Sequence[str],
    seeds: int | Iterable[int],
    scenario: Scenario,
    warm_up: str | None,
    start_s: float | None,
    metrics: Sequence[str] | None,
    against: str | None,
) -> tuple[list[str], list[int]]:
    """The algorithms and the seeds, each once; raises with every fault."""
    faults: list[Fault] = []
    first: list[int] = []
    with collected(faults):
        first = checked_seeds(seeds)
    if warm_up not in (None, "mser"):
        faults.append(parameter_fault("warm_up", f"{short(warm_up)} is not a warm-up", hint="write mser, or '5 s'"))
    elif warm_up is not None and start_s is not None:
        faults.append(parameter_fault("warm_up", "a start is given as well", hint="leave out one of them"))
    document = scenario.document
    with collected(faults):
        known(metrics or ())
    for name in metrics or ():
        one = parse(name)
        if one is not None and not is_flow(document, one.flow):
            there = f"there are {', '.join(groups(document))}"
            faults.append(parameter_fault("metrics", f"'{name}': no flow is called '{one.flow}'", hint=there))
    faults += unknown([*algorithms, *([] if against is None else [against])], scenario.to_json())
    if faults:
        raise ArgumentError(*faults)
    return list(dict.fromkeys(algorithms)), first


def compare(
    scenario: ScenarioLike | Sweep,
    algorithms: Algorithms = (),
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    alternatives: Mapping[str, Mapping[str, Mapping[str, Any] | ScenarioLike]] | None = None,
    by: str | None = None,
    flows: str | int | Sequence[str | int] | None = None,
    against: str | type | None = None,
    seeds: int | Iterable[int] | None = None,
    out: Path | str | None = None,
    records: Literal["first", "all"] = "all",
    workers: int | None = None,
    progress: Progress | None = None,
    start_s: float | None = None,
    end_s: float | None = None,
    warm_up: str | float | None = None,
    until: str | None = None,
    at_most: int | None = None,
    metrics: str | Sequence[str] | None = None,
    perturb: bool | None = None,
) -> Result:
    """Runs alternatives with the same seeds: algorithms in every flow over TCP of a scenario or in some of its flows,
    values of a field, or named sets of changes, and all combinations of these.

    If the scenario has no jitter of its own, each flow starts at a random time within its base RTT, so that
    repetitions differ. The same seeds are used for each alternative, so differences are paired. On Ctrl-C the result
    has the finished runs; the same call with the same ``out`` runs the missing ones.

    Parameters
    ----------
    scenario
        A `Scenario`, plain values, the name of a preset, a file, or a `Sweep` that describes what varies.
    algorithms
        Texts or custom classes (`cwndlab.custom`); a mapping gives classes other names. The first one is the base of
        the differences.
    over
        The values of a field, named as by ``--set``, such as queue disciplines:
        ``{"dumbbell.bottleneck.queue.kind": ["droptail", "codel"]}``. The first one is the base.
    alternatives
        Named alternatives of anything: ``{"remedy": {"none": {}, "CoDel": {"dumbbell.bottleneck.queue.kind":
        "codel"}}, "path": {"LTE": "lte", "fibre": scenario}}``. The inner values are fields that change, or a
        scenario.
    by
        The axis whose values are compared, if several vary: ``"algorithm"``, a field, or the name of an axis of
        ``alternatives``. By default the algorithms, else the first axis.
    flows
        Names of tables ``[[flow]]``, or indices of flows as in the records, that use the algorithms; the others keep
        theirs, or use ``against``. Flows of a ``count`` have one algorithm. With ``against`` alone it is the first flow
        over TCP. Goodput and share of each table of flows over TCP are then measured, too (`cwndlab.metrics.of_flow`).
    against
        The algorithm of the other flows over TCP.
    seeds
        The number of seeds, counted from 1, or the seeds themselves; by default 10. A `Sweep` has its own.
    out
        A folder that keeps finished runs and ``records``; without it the result is in memory.
    records
        Whether ``out`` keeps the records of all runs or of the first seed of each alternative only.
    workers
        The number of threads, by default one per core.
    progress
        Called with the number of finished runs and of all.
    start_s, end_s
        The interval of the metrics.
    warm_up
        A time such as ``"5 s"``, seconds, or ``"mser"``: each run is then measured from the cut of
        `metrics.warm_up` on.
    until, at_most
        ``"goodput_bps within 2 %"`` adds seeds until that holds for every alternative, up to ``at_most``, by default
        50 (`statistics.Until`).
    metrics
        One name or several in `metrics.COLUMNS` that are compared; by default `cwndlab.study.result.JUDGED`.
    perturb
        As in `cwndlab.run`. The alternatives of a seed have the same perturbation.

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

    Examples
    --------
    >>> import cwndlab
    >>> link = cwndlab.Link(rate="10 Mbit/s", delay="10 ms", queue=cwndlab.DropTail("2 bdp"))
    >>> flows = [cwndlab.Flow("cubic", rtt="40 ms")]
    >>> scenario = cwndlab.Scenario(duration="2 s", dumbbell=cwndlab.Dumbbell(link), flows=flows)
    >>> remedies = {"none": {}, "CoDel": {"dumbbell.bottleneck.queue": cwndlab.Codel(capacity="2 bdp")}}
    >>> result = cwndlab.compare(scenario, alternatives={"remedy": remedies}, seeds=2)
    >>> result.labels
    ['none', 'CoDel']
    """
    given: Sweep | None = None
    texts: list[str] = []
    if isinstance(scenario, Sweep):
        given, base = scenario, scenario.base
    else:
        base, texts = algorithms_of(scenario, algorithms)
    others: dict[str, object] = {"algorithms": algorithms, "flows": flows, "against": against}
    if given is not None:
        others |= {"alternatives": alternatives, "seeds": seeds}
    _reject_two_questions(given, over, others)
    if given is not None:
        seeds, until, metrics = given.seeds, until or given.until, metrics or given.metrics or None
        at_most = given.at_most if at_most is None else at_most
        start_s = given.start_s if start_s is None else start_s
        end_s = given.end_s if end_s is None else end_s
    if against is not None:
        base, (against,) = algorithms_of(base, against)
    metrics = None if metrics is None else requested(metrics)
    compared = _compared(base, [flows] if isinstance(flows, str | int) else flows, against) if texts else None
    if records not in ("first", "all"):
        what = f"{short(records)} is neither 'first' nor 'all'"
        raise ArgumentError(parameter_fault("records", what, example="first"))
    if times := time_faults(start_s, end_s):
        raise ArgumentError(*times)
    start_s, settling = _start(start_s, warm_up)
    names, first = _check(texts, 10 if seeds is None else seeds, base, settling, start_s, metrics, against)
    rule = _rule(until, at_most, first, base)
    base = repeated(base.perturbed(perturb), len(first) if rule is None else rule.at_most)
    if given is not None:
        spec = replace(given, base=base, until=None, at_most=None).perturbed(perturb)
    else:
        using = {name: _using(base, name, compared, against) for name in names}
        if using and "algorithm" in (alternatives or {}):
            what = "an axis of alternatives is called 'algorithm', too, and one of them would be lost"
            raise ArgumentError(parameter_fault("algorithms", what, hint="give the axis another name"))
        every = {**(alternatives or {}), **({"algorithm": using} if using else {})}
        spec = Sweep(base=base, seeds=first, product=over or {}, alternatives=every)
    if not spec.axes:
        raise ArgumentError(
            parameter_fault("algorithms", "there is no algorithm to compare", example=["cubic", "reno"])
        )
    points = spec.points(names_cells=len(spec.axes) > 1)
    header = replace(
        spec.header,
        compared=_compared_label(spec, by),
        seeds=first if rule is None else first[: rule.at_least],
        until=None if rule is None else str(rule),
        start_s=start_s,
        end_s=end_s,
        warm_up=settling,
        flows=compared,
        against=against,
        metrics=None if metrics is None else list(dict.fromkeys(metrics)),
        notes=_notes(base, points, compared, against, start_s),
    )
    measure = _measured(header, points, rule)
    if given is not None:
        measure = replace(measure, columns=given.measure, labels=spec.columns)
    study = Study(
        points=points,
        seeds=header.seeds,
        measure=measure,
        rule=rule,
        together=True,
        classes=base.classes,
        header=header,
    )
    frame = study.table()
    keeper = _Keeper(local(out), first[0], records, labels(frame, axes(frame, header.axes)))
    study = replace(study, measure=_measures(keeper, measure, points))
    with Store(out, write=True) as store:
        _refuse_another(store, header)
        result = execute(Plan(study, store), store, executor=threads(workers, base.classes), progress=progress)
        if not len(result.runs):
            raise KeyboardInterrupt
        result.examples = keeper.examples(points, result, base.classes)
        result.notes += _remarks(result, rule)
        result.write_to(store)
    return result


def checked_seeds(seeds: int | Iterable[int]) -> list[int]:
    """The seeds of a comparison; raises if they are not numbers that the engine takes."""
    first = seeds_of(seeds)
    if not is_list(first):
        raise ArgumentError(parameter_fault("seeds", f"{short(first)} is not a list of seeds", example=10))
    if not count(first):
        raise ArgumentError(parameter_fault("seeds", "there is no seed, so nothing runs", example=10))
    if isinstance(first, range) and count(first) > MOST_RUNS:
        raise ArgumentError(parameter_fault("seeds", f"{count(first):,} runs of each would not end", example=10))
    for seed in first:
        if type(seed) is not int or not 0 <= seed < 2**63:
            what = f"{short(seed)} is not a whole number from 0 on, below 2⁶³"
            raise ArgumentError(parameter_fault("seeds", what, example=10))
    return list(dict.fromkeys(first))


#: The maximum number of repetitions under a stopping rule, unless told.
_AT_MOST = 50


def _rule(until: str | None, at_most: int | None, first: Sequence[int], scenario: Scenario) -> Until | None:
    """The stopping rule; raises if it is none, or if it cannot add to the first seeds."""
    if until is None:
        if at_most is None:
            return None
        hint = Usage("until", "goodput_bps within 2 %")
        raise ArgumentError(parameter_fault("at_most", "there is no stopping rule", hint=hint))
    count = len(first)
    most = max(_AT_MOST, count) if at_most is None else at_most
    rule = Until.parse(until, COLUMNS, at_most=most, at_least=count)
    one, document = parse(rule.metric), scenario.document
    if one is not None and not is_flow(document, one.flow):
        there = f"there are {', '.join(groups(document))}"
        raise ArgumentError(parameter_fault("until", f"'{rule.metric}': no flow is called '{one.flow}'", hint=there))
    if most < count:
        raise ArgumentError(parameter_fault("at_most", f"{most} is less than the {count} seeds", hint="write more"))
    # The rule adds the numbers after the largest seed.
    if max(first) + most - count >= 2**63:
        what = f"{most - count} more seeds after {max(first)} exceed 63 bits"
        raise ArgumentError(parameter_fault("seeds", what, hint="begin with a smaller one"))
    return rule


def _reject_two_questions(spec: Sweep | None, over: object, others: Mapping[str, object]) -> None:
    """Raises if a description or a field is given beside algorithms."""
    there = "a Sweep describes what varies" if spec is not None else "there is a field to compare by --over, too"
    if spec is None and not over:
        return
    faults = [
        parameter_fault(name, there, hint="leave out one of the two") for name, value in others.items() if _given(value)
    ]
    if spec is not None and over:
        faults.append(parameter_fault("over", there, hint="leave out one of the two"))
    if isinstance(over, Mapping) and len(over) > 1:
        hint = "name one field with its values; `alternatives` and `cwndlab sweep` take several"
        faults.append(parameter_fault("over", f"there are {len(over)} fields with values", hint=hint))
    if faults:
        raise ArgumentError(*faults)


def _given(value: object) -> bool:
    """Whether an argument is neither missing nor empty: a flow may be number 0."""
    return value is not None and (not isinstance(value, Sized) or len(value) > 0)


def _using(scenario: Scenario, algorithm: str, flows: Sequence[str] | None, against: str | None) -> dict[str, str]:
    """The fields with which a scenario uses an algorithm."""
    changed = with_algorithm(scenario, algorithm, flows, against)["flow"]
    return {
        f"flow[{at}].algorithm": flow["algorithm"] for at, flow in enumerate(changed) if flow.get("transport") != "udp"
    }


def _compared_label(spec: Sweep, by: str | None) -> str:
    """The label whose values are compared."""
    columns = {name.lstrip("@"): axis.fields[0] for axis in spec.axes for name in axis.fields}
    if by is None:
        return "algorithm" if "algorithm" in spec.columns else spec.axes[0].fields[0]
    if by.lstrip("@") not in columns:
        raise ArgumentError(
            parameter_fault("by", f"nothing that varies is called '{by}'", hint=near(by, list(columns)))
        )
    return columns[by.lstrip("@")]


def _start(start_s: float | None, warm_up: Any) -> tuple[float | None, Any]:
    """Start and warm-up: a warm-up that is a time is a start. `_check` reports one that is neither."""
    if is_number(warm_up) and warm_up >= 0:
        warm_up = f"{warm_up} s"
    time = None if not isinstance(warm_up, str) else re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(ms|s|min)", warm_up.strip())
    if time is None or start_s is not None:
        return start_s, warm_up
    return float(time[1]) * {"ms": 1e-3, "s": 1.0, "min": 60.0}[time[2]], None


def _refuse_another(store: Store, header: Header) -> None:
    """Raises if the store has a comparison whose records would be overwritten."""
    previous = Header.of(store.manifest.get("study", {}))
    if previous.columns != header.columns:
        return
    if _set_up(previous) != _set_up(header):
        raise ScenarioError(Fault(store.place, "holds another comparison", "choose another folder, or delete this one"))


def _set_up(header: Header) -> tuple[Any, ...]:
    """The scenario with its flows; custom classes are the same wherever their files are."""
    scenario = dict(header.scenario)
    scenario["algorithms"] = {name: {**one, "file": None} for name, one in scenario.get("algorithms", {}).items()}
    return scenario, header.flows, header.against


def _measured(header: Header, points: Sequence[Point], rule: Until | None) -> Measure:
    """Every metric, with those of single flows that are compared or stop the runs, and service levels if a flow
    requires them."""
    of_flows = flow_metrics(header.scenario, header.flows)
    of_flows += [metric for metric in header.metrics or () if parse(metric)]
    of_flows += [rule.metric] if rule is not None else []
    names = tuple(dict.fromkeys([*COLUMNS, *of_flows]))
    documents = [point.document for point in points]
    service, air = requires(documents), has_air(documents)
    return Measure(names, header.start_s, header.end_s, header.warm_up, service=service, air=air)


class _Keeper:
    """Keeps records: those of the first seed in memory and in a folder, the others in the folder if wanted."""

    def __init__(self, folder: Path | None, seed: int, which: str, labels: Mapping[int, str]) -> None:
        self._folder, self._seed, self._which, self.labels = folder, seed, which, labels
        self._examples: dict[str, Records] = {}

    def __call__(self, algorithm: str, records: Records) -> None:
        is_first = records.seed == self._seed
        if is_first:
            self._examples[algorithm] = records
        if self._folder is not None and (is_first or self._which == "all"):
            place = records_folder(self._folder, algorithm, records.seed)
            # The existing records are of an older engine, or of a process that was killed while it wrote.
            shutil.rmtree(place, ignore_errors=True)
            records.save(place)

    def examples(self, points: Sequence[Point], result: Result, classes: Classes | None) -> dict[str, Records]:
        """The records of the first seed of each algorithm that has a row of it."""
        examples = {}
        for point in points:
            name = self.labels[point.number]
            if self._seed not in result.by_seed("goodput_bps")[name]:
                continue
            if name not in self._examples and (folder := self._kept(name)) is not None:
                with suppress(RecordsError):  # a killed process wrote a part of it
                    self._examples[name] = Records.read(folder)
            if name not in self._examples or self._examples[name].scenario_hash != point.hash:
                # The row comes from another study, which kept no records, or a later one replaced them.
                self(name, run(json.loads(point.document), seed=self._seed, algorithms=classes))
            examples[name] = self._examples[name]
        return examples

    def _kept(self, algorithm: str) -> Path | None:
        folder = None if self._folder is None else records_folder(self._folder, algorithm, self._seed)
        return folder if folder is not None and (folder / "flows.parquet").exists() else None


@dataclass(frozen=True)
class _Kept(Measure):
    """A measure that also passes on the records."""

    keep: Callable[[Records], None] | None = None

    def __call__(self, records: Records) -> Row:
        row = super().__call__(records)
        if self.keep is not None:
            self.keep(records)
        return row


def _measures(keeper: _Keeper, measure: Measure, points: Sequence[Point]) -> Callable[[Point, int], Measure]:
    """The measure of each point, which keeps the records under the name of its cell."""
    given = {one.name: getattr(measure, one.name) for one in fields(Measure)}
    made = {one.number: _Kept(**given, keep=partial(keeper, keeper.labels[one.number])) for one in points}
    return lambda point, _seed: made[point.number]


def _notes(
    scenario: Scenario, points: Sequence[Point], flows: list[str] | None, against: str | None, start_s: float | None
) -> list[str]:
    """Remarks that are known before anything runs."""
    notes = list(scenario.notes)
    if flows is not None:
        others = "keep their algorithms" if against is None else f"use {against}"
        notes.append(f"compared in {', '.join(flows)}; the other flows over TCP {others}")
    if start_s is not None:
        notes.append(f"warm-up: the time before {start_s:g} s is left out")
    if scenario.classes:
        # Class and source, as in the notes of a run.
        notes += [note for point in points for note in check(point.document, "json").notes]
    return list(dict.fromkeys(notes))


def _remarks(result: Result, rule: Until | None) -> list[str]:
    """Remarks on the measured runs."""
    notes = []
    if result.outcome.stopped:
        notes.append(f"stopped: {len(result.runs)} of {result.outcome.total} runs finished")
    elif rule is not None:
        notes += _reached(result, rule)
    notes += [] if result.header.warm_up is None else _cuts(result)
    return [*notes, *_without_variation(result), *_separate(result), *_serving(result)]


def _serving(result: Result) -> list[str]:
    """Which of several cells meet the service levels of all classes."""
    frame, words = result.levels(), words_of(result)
    met: dict[str, list[str]] = {}
    for part in frame.partition_by("cell", maintain_order=True):
        verdicts = set(part["verdict"].drop_nulls())
        worst = next((one.value for one in Level if one.value in verdicts), None)
        if worst is not None:
            met.setdefault(worst, []).append(", ".join(words[part["cell"][0]]))
    if sum(map(len, met.values())) < 2:
        return []
    good, unsure = met.get(Level.MET.value, []), met.get(Level.OPEN.value, [])
    found = _few(good) + (" meets" if len(good) == 1 else " meet") if good else "none meets"
    return [f"{found} all service levels" + (f"; not certain: {_few(unsure)}" if unsure else "")]


def _without_variation(result: Result) -> list[str]:
    """Metrics that are the same for every seed, although the runs differ."""
    notes, count = [], len(result.seeds)
    more = "" if result.scenario.perturb else "; --perturb varies what cannot be measured exactly"
    constant: dict[str, list[str]] = {}
    shifted = []
    for name in result.labels:
        rows = [{key: value for key, value in row.items() if key != "seed"} for row in result.rows_of(name)]
        if len(rows) > 1 and all(row == rows[0] for row in rows):
            continue  # a remark of its own
        if is_one_run(dict(enumerate(rows))):
            shifted.append(name)
            continue
        for metric in result.judged():
            if result.estimate(name, metric).is_constant:
                constant.setdefault(COLUMNS[metric].title, []).append(name)
    if shifted:
        what = (
            f"{count} runs, one result: every count is the same in all of them, so that they differ by a shift in time"
        )
        notes.append(f"{what} and there is no test: {_few(shifted)}{more}")
    if constant:
        parts = [f"{title} ({_few(names)})" for title, names in constant.items()]
        notes.append(f"{count} runs, one result, so that there is no interval and no test: {', '.join(parts)}{more}")
    return notes


def _few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return "; ".join(names[:4]) + more if any("," in name for name in names) else ", ".join(names[:4]) + more


def _separate(result: Result) -> list[str]:
    """A note on flows that do not share a bottleneck: the flows of Jain's index and of the goodput."""
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
    start_s = result.header.scenario.get("measure_from", "its default")
    return [
        f"warm-up: each run is measured from the cut of MSER-5 in the goodput of all flows, {cuts[0]:g} s to "
        f"{cuts[-1]:g} s (median {median(cuts):g} s); without a cut, from measure_from ({start_s})"
    ]


def _reached(result: Result, rule: Until) -> list[str]:
    """The widths that the intervals of a stopping rule reached."""
    notes = [f"until {rule}: stopped after {len(result.seeds)} repetitions of each"]
    for name in result.labels:
        if not enough(result.values(name, rule.metric), rule.within):
            one = result.estimate(name, rule.metric)
            near = f"{one.half / abs(one.mean) * 100:.2g} %" if one.half is not None and one.mean else "no part of it"
            notes.append(f"{name}: {rule.metric} is known within {near} only")
    return notes
