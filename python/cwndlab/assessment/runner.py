"""Runs the cells of a dossier, and judges them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.assessment import emulated, media
from cwndlab.assessment.controls import placebo, positive
from cwndlab.assessment.criteria import (
    BASELINES,
    ENVIRONMENTS,
    QUICK_SEEDS,
    SEEDS,
    Criterion,
    Family,
    Measure,
    chosen,
    controls,
    families,
)
from cwndlab.assessment.dossier import Dossier, Place, worst_places
from cwndlab.assessment.hosted import HOSTED
from cwndlab.assessment.judgement import Values, compared, judged, raw
from cwndlab.assessment.live import live as live_part
from cwndlab.assessment.parts import PARTS
from cwndlab.assessment.runs import labelled, most_per_rtt, named_seeds, simulated, study_of, values_of
from cwndlab.assessment.selected import Part
from cwndlab.custom import described, name_of, selected_one, validate_classes
from cwndlab.engine import version
from cwndlab.errors import Fault, RunError, ScenarioError, parameter_fault
from cwndlab.study.arguments import unknown
from cwndlab.study.executor import threads
from cwndlab.study.spec import Point

if TYPE_CHECKING:
    from cwndlab.custom import Classes


def assess(
    algorithm: str | type,
    *,
    quick: bool = False,
    sections: Sequence[str] = (),
    seeds: int | None = None,
    out: Path | str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    algorithms: Classes | None = None,
    perturb: bool = True,
    emulate: bool = False,
    linux: bool = False,
    quic: bool = False,
    live: Sequence[Path | str] = (),
) -> Dossier:
    """Compares an algorithm with CUBIC and with Reno in its place, by the criteria of RFC 9743.

    Parameters
    ----------
    algorithm
        Text of an algorithm, as a flow names it; a custom class (`cwndlab.custom`); a Python or Rust file with one; or
        a congestion control of real-time media (``"nada"``, ``"scream2"``, ``"gcc"``), which sends video at up to the
        rate of the line in the place of the algorithm.
    quick
        Eight cells in place of 125 of each surface, and 5 seeds in place of 10.
    sections
        Sections of the RFC, such as ``["5.2.1"]``; by default all. The controls are always run.
    seeds
        The number of seeds of each cell, at least 2.
    out
        A folder for the dossier (`Dossier.save`), and in ``runs`` for the finished runs; the same call resumes there.
    workers
        The number of threads, by default one per core. The dossier does not depend on it.
    progress
        Called with the number of finished runs and of all.
    algorithms
        Custom classes by the names that ``algorithm`` may use.
    perturb
        As in `cwndlab.run`. All algorithms of a seed have the same perturbation.
    emulate
        Also runs a few cells between real kernels, in real time (`cwndlab.emulation`): needs Linux and root, and a
        kernel that has the algorithm. ``workers`` is also the number of emulations at a time, by default two per core.
    linux
        Also runs a few cells between Linux kernels in virtual time (`cwndlab.linux`): needs the hosted stack ``linux``.
    quic
        Also runs a few cells in a QUIC stack, in virtual time: the hosted stack ``cwndlab`` (`cwndlab.study.hosting`),
        in which quinn carries the data.
    live
        Folders of campaigns (`cwndlab.live.measure`) with the algorithm and CUBIC or NewReno.

    Returns
    -------
    Dossier
        A row per criterion.

    Raises
    ------
    ScenarioError
        There is no such algorithm, this machine allows no emulation, or it lacks the hosted stack.
    RunError
        A run failed, or a control does not hold: then there is no dossier.

    Examples
    --------
    >>> import cwndlab
    >>> cwndlab.assess("vegas", quick=True)  # doctest: +SKIP
    <Dossier of vegas: 27 criteria, 24 assessed>
    """
    name, classes = _named(algorithm, algorithms or {})
    if seeds is not None and seeds < 2:
        raise ScenarioError(parameter_fault("seeds", f"'{seeds}' gives no interval", example=QUICK_SEEDS))
    count = seeds or (QUICK_SEEDS if quick else SEEDS)
    rows = chosen(sections)
    hosted = {"linux": linux, "quic": quic}
    environments = {"emulated": (emulate, emulated.missing, emulated.emulated)}
    environments |= {key: (each, HOSTED[key].missing, HOSTED[key].part) for key, each in hosted.items()}
    chosen_parts = {
        key: (run, _lacking(name, classes, missing, PARTS[key].sender))
        for key, (is_asked, missing, run) in environments.items()
        if is_asked
    }
    campaigns = live_part(rows, name, live)
    asked = _asked(rows, name)
    every = [one for one in families(quick=quick, perturb=perturb, classes=classes) if one.name in asked]
    points = _points(every, asked)
    place = None if out is None else Path(out) / "runs"
    result = simulated(study_of(points, count, classes), place, threads(workers, classes), progress)
    content = {
        "algorithm": name,
        "file": algorithm if isinstance(algorithm, str) and algorithm != name else "",
        "version": version(),
        "sections": list(dict.fromkeys(sections)),
        "size": "quick" if quick else "full",
        "seeds": count,
        "perturbed": perturb,
    }
    content |= _content(rows, every, points, values_of(result.runs, points), name)
    elsewhere: dict[str, Mapping[Place, str]] = {}
    folder = None if out is None else Path(out)
    for key, (run, lacking) in chosen_parts.items():
        part = run(rows, name, lacking=lacking, out=folder, workers=workers, progress=progress)
        _insert(content, rows, key, part)
        elsewhere[key] = part.scenarios
    _add_live(content, campaigns)
    documents = {
        (family.name, point.number): point.document for family, point in points if point.labels["algorithm"] == name
    }
    source = str(content["file"])
    dossier = Dossier(
        content,
        {place: documents[place] for place in worst_places(content)},
        elsewhere,
        {Path(source).name: Path(source).read_text(encoding="utf-8")} if source else {},
    )
    if out is not None:
        dossier.save(out)
    return dossier


def _named(algorithm: str | type, classes: Classes) -> tuple[str, dict[str, type]]:
    """The name of the algorithm as flows give it, and the classes that it may use."""
    if not isinstance(algorithm, str):
        name = name_of(algorithm)
        return name, {**classes, name: algorithm}
    if algorithm in media.controls():
        return algorithm, dict(classes)
    name, loaded = selected_one(algorithm)
    every = {**classes, **loaded}
    if faults := unknown([name], described(validate_classes(every))):
        raise ScenarioError(*faults)
    return name, every


def _lacking(name: str, classes: Classes, missing: Callable[[str], str], where: str) -> str:
    """Why another environment cannot send with the algorithm; empty if it can."""
    if name in media.controls():
        return f"a control of media is no algorithm of {where}"
    return f"a class in Python is no algorithm of {where}" if name in classes else missing(name)


def _insert(content: dict[str, Any], rows: Sequence[Criterion], key: str, part: Part) -> None:
    """Adds the part of another environment to a dossier; raises if a control does not hold."""
    _check(part.controls)
    content["controls"] += part.controls
    content[key] = part.content
    for row, shown in zip(rows, content["rows"], strict=True):
        for one, measure in zip(row.measures, shown["measures"], strict=True):
            measure[key] = part.entries[one]
        if any("against" in one[key] for one in shown["measures"]):
            shown["environments"].append(PARTS[key].name)


def _add_live(content: dict[str, Any], campaigns: Sequence[dict[str, Any]]) -> None:
    """Adds the live part, if there is one, and its environments to the rows."""
    if not campaigns:
        return
    content["live"] = list(campaigns)
    for row in content["rows"]:
        measured = [one for one in campaigns if any(each["section"] == row["section"] for each in one["measures"])]
        row["environments"] += dict.fromkeys(ENVIRONMENTS[one["transport"]] for one in measured)


def _asked(rows: Sequence[Criterion], name: str) -> dict[str, list[str]]:
    """The algorithms of each family that is run."""
    asked = {one.family: [name, *BASELINES] for row in rows for one in row.measures}
    for control in controls():
        asked.setdefault(control.measure.family, []).extend(control.algorithms)
    return {family: list(dict.fromkeys(names)) for family, names in asked.items()}


def _points(every: Sequence[Family], asked: Mapping[str, Sequence[str]]) -> list[tuple[Family, Point]]:
    """The cells of all families with each algorithm, numbered within the family."""
    made = []
    for family in every:
        names = asked[family.name]
        points = family.points([one for one in names if one not in media.controls()])
        made += [(family, point) for point in points]
        of_cubic = [point for point in points if point.labels["algorithm"] == "cubic"]
        for control in (one for one in names if one in media.controls()):
            cells = (media.in_place(point, control) for point in of_cubic)
            made += [(family, cell) for cell in cells if cell is not None]
    return made


def _content(
    rows: Sequence[Criterion],
    every: Sequence[Family],
    points: Sequence[tuple[Family, Point]],
    of: Callable[[Measure], Values],
    name: str,
) -> dict[str, Any]:
    """The judged rows, the controls, and the cells; raises if a control does not hold."""
    measures = [one for row in rows for one in row.measures]
    values = {one: _known(of(one), one, name) for one in [*measures, *(control.measure for control in controls())]}
    outcomes = [*positive(controls(), values), *placebo(measures, values)]
    _check(outcomes)
    asked = [(one, base) for one in measures for base in BASELINES]
    findings = judged([compared(one, base, values[one][name], values[one][base]) for one, base in asked])
    if name in media.controls():
        findings = [one if "mean" in one else {**one, "reason": media.REASON} for one in findings]
    found = dict(zip(asked, findings, strict=True))
    named_seeds(found, points)
    return {
        "controls": outcomes,
        "rows": [_row(row, name, values, found, points) for row in rows],
        "families": {one.name: _cells(one, points, name) for one in every if not one.name.startswith("control-")},
    }


def _known(values: Values, measure: Measure, name: str) -> Values:
    """The values of a measure; none of the assessed algorithm where it is a control of media that cannot have one."""
    has_none = name in media.controls() and not media.has_value(measure)
    return {**values, name: {} if has_none else values.get(name, {})}


def _check(outcomes: Sequence[Mapping[str, Any]]) -> None:
    """Raises if a control does not hold."""
    if failed := [one for one in outcomes if not one["holds"]]:
        hint = "the set-up does not reproduce what is known, so there is no dossier; please report with this text"
        raise RunError(*(Fault("control", f"{one['what']}: {one['found']}", hint) for one in failed))


def _row(
    row: Criterion,
    name: str,
    values: Mapping[Measure, Values],
    found: Mapping[tuple[Measure, str], dict[str, Any]],
    points: Sequence[tuple[Family, Point]],
) -> dict[str, Any]:
    measures: list[dict[str, Any]] = [
        {
            "what": one.what,
            "family": one.family,
            "metric": one.metric,
            "better": one.better,
            "margin": one.margin,
            "unit": one.column.unit,
            "factor": one.column.factor,
            "raw": {each: raw(one, values[one][each]) for each in dict.fromkeys((name, *BASELINES))},
            "against": {base: found[one, base] for base in BASELINES},
        }
        for one in row.measures
    ]
    for one, shown in zip(row.measures, measures, strict=True):
        if one.metric == "throughput_bps@mine" and (sent := most_per_rtt(one, values[one], points)):
            shown["most_per_rtt"] = {each: sent[each] for each in shown["raw"] if each in sent}
    words = {"section": row.section, "title": row.title, "word": row.word, "reason": row.reason, "partly": row.partly}
    return {**words, "environments": ["simulated"] if measures else [], "measures": measures}


def _cells(family: Family, points: Sequence[tuple[Family, Point]], name: str) -> dict[str, Any]:
    mine = {point.number: point for owner, point in points if owner is family and point.labels["algorithm"] == name}
    # Cells that a control of media cannot have are kept, so that a cell's number is its place.
    base = next(iter(BASELINES))
    theirs = [point for owner, point in points if owner is family and point.labels["algorithm"] == base]
    cells = [mine.get(point.number, point) for point in theirs]
    return {"title": family.title, "surface": family.surface, "cells": labelled(cells)}
