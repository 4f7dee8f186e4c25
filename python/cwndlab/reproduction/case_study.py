"""Cases as a study, of an experiment and of a universe alike: points, measures, and the runs that a store lacks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from cwndlab.files import json_text
from cwndlab.reproduction.cases import Case
from cwndlab.reproduction.payload import payload
from cwndlab.scenario.reader import check
from cwndlab.study.spec import Measure, Point, Study
from cwndlab.study.store import Store


def store_of(out: Path | str | None, *, write: bool = False) -> Store:
    """The finished runs of a site; in memory where there is none."""
    return Store(None if out is None else Path(out) / "runs", write=write)


def point_of(number: int, case: Case) -> Point:
    """The checked scenario of a case."""
    checked = check(json_text(case.scenario), "json")
    return Point(number, dict(case.labels), checked.hash, checked.document)


def measure_of(case: Case, *, traced: bool = False) -> Measure:
    """What a store keeps of a run of a case; the points of its curves too if it is ``traced``."""
    given = (case.measure, case.trace) if traced and case.trace is not None else (case.measure,)
    return Measure(None, payload=partial(payload, *given))


def missing(study: Study, store: Store) -> set[str]:
    """The keys of the runs that a store lacks."""
    keys = {study.job(point, seed).key for point in study.points for seed in study.seeds}
    return keys - set(store.keys()["key"])
