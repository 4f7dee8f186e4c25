"""The runs of a dossier: cells × algorithms × seeds as a study, and its rows as the values of a measure."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.assessment.breaker import derived
from cwndlab.assessment.criteria import BREAKER, OWN_BREAKER, Family, Measure, controls, criteria
from cwndlab.assessment.envelope import own_breaker, packets_per_rtt
from cwndlab.assessment.judgement import Values
from cwndlab.files import parsed
from cwndlab.scenario.document import Scenario
from cwndlab.study.executor import Executor, Plan, execute
from cwndlab.study.header import Header
from cwndlab.study.result import Result
from cwndlab.study.spec import Measure as RowMeasure
from cwndlab.study.spec import Point, Progress, Study
from cwndlab.study.store import Store

if TYPE_CHECKING:
    import polars as pl

_LABELS = ("family", "cell_of_family", "algorithm")


def study_of(points: Sequence[tuple[Family, Point]], seeds: int, classes: Mapping[str, type]) -> Study:
    """The study of cells, numbered within their families, with every metric of the criteria and controls. All
    algorithms of a cell have the same seeds, and each cell has seeds of its own: its runs are independent of others'.
    """
    numbered = [
        Point(
            number,
            dict(zip(_LABELS, (family.name, point.number, point.labels["algorithm"]), strict=True)),
            point.hash,
            point.document,
            shift_of(family, point),
        )
        for number, (family, point) in enumerate(points)
    ]
    asked = [one for criterion in criteria() for one in criterion.measures] + [one.measure for one in controls()]
    metrics = sorted({one.metric for one in asked} - {BREAKER.name, OWN_BREAKER.name})
    header = Header(kind="assessment", title="The criteria of RFC 9743", seeds=range(1, seeds + 1), columns=_LABELS)
    measure = RowMeasure(tuple(metrics), columns=derived)
    return Study(points=numbered, seeds=header.seeds, measure=measure, classes=dict(classes), header=header)


def shift_of(family: Family, point: Point) -> int:
    """What a cell adds to the seeds: a number that its place among other cells does not change."""
    values = [text for name, text in point.labels.items() if name != "algorithm"]
    return zlib.crc32(repr((family.name, values)).encode())


def simulated(study: Study, place: Path | None, executor: Executor, progress: Progress | None) -> Result:
    """The finished runs of a study, which a folder keeps."""
    with Store(place, write=True) as store:
        result = execute(Plan(study, store), store, executor=executor, progress=progress)
    if result.outcome is not None and result.outcome.stopped:
        raise KeyboardInterrupt
    return result


def named_seeds(findings: Mapping[tuple[Measure, str], dict[str, Any]], points: Sequence[tuple[Family, Point]]) -> None:
    """Adds the seed of the worst run to findings on these points."""
    shifts = {(family.name, point.number): shift_of(family, point) for family, point in points}
    for (measure, _), one in findings.items():
        if "worst_cell" in one:
            one["worst_seed"] = one["worst_repetition"] + shifts[measure.family, one["worst_cell"]]


def labelled(points: Sequence[Point]) -> list[dict[str, Any]]:
    """The cells of points of one algorithm: the values that distinguish them, and their hashes."""
    return [
        {"labels": {key: one for key, one in point.labels.items() if key != "algorithm"}, "hash": point.hash}
        for point in points
    ]


def values_of(runs: pl.DataFrame, points: Sequence[tuple[Family, Point]]) -> Callable[[Measure], Values]:
    """The values of a measure by algorithm, cell and repetition, in the runs of these points. A repetition has the
    number of its seed before the cell's shift."""
    by_family: dict[str, list[dict[str, Any]]] = {}
    for row in runs.iter_rows(named=True):
        by_family.setdefault(row["family"], []).append(row)
    shifts = {(family.name, point.number): shift_of(family, point) for family, point in points}
    documents = {(family.name, point.number, point.labels["algorithm"]): point.document for family, point in points}

    @cache
    def scenario(place: tuple[str, int, str]) -> dict[str, Any]:
        canonical: dict[str, Any] = parsed(Scenario.from_json(documents[place]).canonical.encode())
        return canonical

    def of(measure: Measure) -> Values:
        made: dict[str, dict[int, dict[int, float | None]]] = {}
        for row in by_family.get(measure.family, ()):
            cell, algorithm = int(row["cell_of_family"]), row["algorithm"]
            if measure.metric == OWN_BREAKER.name:
                value = own_breaker(row, scenario((measure.family, cell, algorithm)))
            else:
                value = row[measure.metric]
            made.setdefault(algorithm, {}).setdefault(cell, {})[row["seed"] - shifts[measure.family, cell]] = value
        return made

    return of


def most_per_rtt(measure: Measure, values: Values, points: Sequence[tuple[Family, Point]]) -> dict[str, float]:
    """By algorithm the largest number of packets per RTT among the cells of a measure in which nothing arrives in the
    end, each the mean over its runs."""
    made: dict[str, float] = {}
    for family, point in points:
        cell = values.get(point.labels["algorithm"], {}).get(point.number, {})
        known = [value for value in cell.values() if value is not None]
        if family.name != measure.family or not known:
            continue
        scenario = parsed(Scenario.from_json(point.document).canonical.encode())
        sent = packets_per_rtt(math.fsum(known) / len(known), scenario)
        if sent is not None:
            made[point.labels["algorithm"]] = max(sent, made.get(point.labels["algorithm"], 0.0))
    return made
