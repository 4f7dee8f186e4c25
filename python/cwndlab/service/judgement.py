"""Service levels: whether each class of flows got what it requires, with the interval over runs that decides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.service.delivery import ApdexCounts
from cwndlab.service.per_run import Row, measured
from cwndlab.service.requirement import Requirement
from cwndlab.statistics import Estimate, estimate, pooled_share

if TYPE_CHECKING:
    from cwndlab.records import Records


class Level(Enum):
    """The verdict on a requirement; of several, the worst is that of the class.

    Examples
    --------
    >>> [level.value for level in Level]
    ['missed', 'cannot tell', 'met']
    """

    MISSED = "missed"
    OPEN = "cannot tell"
    MET = "met"


@dataclass
class Judged:
    """A requirement of a class, judged over runs.

    Parameters
    ----------
    what
        The requirement: ``deadline``, ``loss``, ``gap``, ``age`` or ``availability``.
    level
        The verdict.
    share
        The share or mean with its interval, if the verdict has one.
    broken
        Whether the requirement was broken, by run; ``None`` for a run that does not show it.
    """

    what: str
    level: Level
    share: Estimate | None
    broken: Sequence[bool | None] = field(default_factory=list)


_SCHEMA: dict[str, Any] = {
    "class": pl.String,
    "flows": pl.Int64,
    "runs": pl.Int64,
    "messages": pl.Int64,
    "decided": pl.Int64,
    "deadline_s": pl.Float64,
    "within": pl.Float64,
    "in_time": pl.Float64,
    "in_time_low": pl.Float64,
    "in_time_high": pl.Float64,
    "p50_delay_s": pl.Float64,
    "p99_delay_s": pl.Float64,
    "lost": pl.Float64,
    "lost_low": pl.Float64,
    "lost_high": pl.Float64,
    "loss_limit": pl.Float64,
    "silence_s": pl.Float64,
    "gap_s": pl.Float64,
    "age_mean_s": pl.Float64,
    "age_peak_s": pl.Float64,
    "age_limit_s": pl.Float64,
    "availability": pl.Float64,
    "availability_low": pl.Float64,
    "availability_high": pl.Float64,
    "availability_limit": pl.Float64,
    "apdex": pl.Float64,
    "apdex_s": pl.Float64,
    "jitter_s": pl.Float64,
    "ipdv_s": pl.Float64,
    "judged_runs": pl.Int64,
    "missed_runs": pl.Int64,
    "missed_probability": pl.Float64,
    "verdict": pl.String,
    "requirements": pl.String,
}


def levels(
    records: Records | Iterable[Records], *, start_s: float | None = None, end_s: float | None = None
) -> pl.DataFrame:
    """The service levels of a run, or of several runs of one scenario with different seeds.

    A message is *decided* if it was generated within the interval and its generation + limit is not after the end of
    the run, where the limit is the deadline, or for loss the lifetime. Undecided messages are left out.

    Parameters
    ----------
    records
        A run, or several. `cwndlab.Result.levels` has the levels of a comparison.
    start_s, end_s
        The interval, in seconds of the run's clock; by default from the scenario's ``measure_from`` to its end.

    Returns
    -------
    polars.DataFrame
        A row per class; empty if no flow has a table ``service``. ``deadline_s``, ``within``, ``loss_limit``,
        ``gap_s``, ``age_limit_s``, ``availability_limit`` and ``apdex_s`` are what it requires. ``messages`` and
        ``decided`` count those of all runs. ``in_time`` and ``lost`` are shares of decided messages, with the interval
        of `cwndlab.statistics.pooled_share`, which counts what the messages of a run have in common; ``availability``
        is the mean over runs with its t-interval, or without one if the runs do not differ. Delays, ages and jitters
        are means over runs, null where a run has no such value; ``silence_s`` and ``age_peak_s`` are the largest of all
        runs. ``apdex`` is that of all messages. ``missed_probability`` = ``missed_runs`` / ``judged_runs``: the share
        of runs in which some requirement was missed. ``verdict`` is the worst of the class's requirements, and
        ``requirements`` names those that have it:

        ``missed``
            the interval is on the wrong side of the requirement. A requirement of all messages (``within = 1``,
            ``loss = 0``), of all time (``availability = 1``), of the longest silence (``gap``) or of the highest age
            (``age``) is missed if one run broke it
        ``cannot tell``
            the interval includes the requirement, or there is nothing to judge
        ``met``
            the interval is on the right side. A requirement of all is met if no run broke it; the interval shows how
            large the share may be in further runs

        A class without any requirement has the verdict null. The interval of one run takes its messages as
        independent; tables then say ``one run`` beside the verdict.

    Examples
    --------
    >>> import cwndlab
    >>> dumbbell = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbit/s", delay="10 ms"))
    >>> scenario = cwndlab.Scenario(duration="1 s", dumbbell=dumbbell, flows=[cwndlab.Flow("cubic", rtt="40 ms")])
    >>> len(levels(cwndlab.run(scenario, seed=1)))
    0
    """
    runs = list(records) if isinstance(records, Iterable) else [records]
    return frame(judge([measured(one, start_s=start_s, end_s=end_s) for one in runs]))


def frame(rows: Sequence[Row], labels: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Rows of `judge` as a frame, after columns of labels with their types."""
    schema = {**(labels or {}), **_SCHEMA}
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def judge(runs: Sequence[Sequence[Row]]) -> list[Row]:
    """The service levels of runs of one alternative: a row per class with the columns of `levels`.

    Parameters
    ----------
    runs
        The rows of `cwndlab.service.measured` of each run.

    Examples
    --------
    >>> judge([[], []])
    []
    """
    by_class: dict[str, list[Row]] = {}
    for rows in runs:
        for row in rows:
            by_class.setdefault(row["class"], []).append(row)
    return [_level(rows) for rows in by_class.values()]


def _level(rows: Sequence[Row]) -> Row:
    """The row of a class from its row of each run."""
    required = Requirement(**rows[0]["requirement"])
    found = {one.what: one for one in _requirements(required, rows)}
    apdex = ApdexCounts(*(sum(row["apdex"][at] for row in rows) for at in range(3))) if rows[0]["apdex"] else None
    row: Row = {
        "class": required.name,
        "flows": rows[0]["flows"],
        "runs": len(rows),
        "messages": sum(one["messages"] for one in rows),
        "decided": _decided(required, rows),
        "within": None if required.deadline_ns is None else required.within,
        "loss_limit": required.loss,
        "availability_limit": required.availability,
        "apdex": None if apdex is None else apdex.value,
        "silence_s": max((one["silence_s"] for one in rows if one["silence_s"] is not None), default=None),
        "age_peak_s": max((one["age_peak_s"] for one in rows if one["age_peak_s"] is not None), default=None),
    }
    limits = {"deadline_s": required.deadline_ns, "gap_s": required.gap_ns, "age_limit_s": required.age_ns}
    limits["apdex_s"] = required.apdex_ns
    row |= {name: None if limit is None else limit / 1e9 for name, limit in limits.items()}
    row |= {name: _mean(rows, name) for name in ("p50_delay_s", "p99_delay_s", "age_mean_s", "jitter_s", "ipdv_s")}
    shown = {"in_time": found.get("deadline"), "availability": found.get("availability")}
    for name, one in shown.items():
        row |= _columns(name, None if one is None else one.share)
    row |= _columns("lost", _lost(rows))
    return row | _verdict(list(found.values()), len(rows))


def _decided(required: Requirement, rows: Sequence[Row]) -> int | None:
    name = "decided" if required.deadline_ns is not None else "loss_decided"
    return sum(one[name] for one in rows) if rows[0][name] is not None else None


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [row[name] for row in rows]
    return None if any(value is None for value in values) else math.fsum(values) / len(values)


def _columns(name: str, one: Estimate | None) -> Row:
    is_known = one is not None and one.n > 0
    return {
        name: one.mean if is_known and one else None,
        f"{name}_low": one.low if is_known and one else None,
        f"{name}_high": one.high if is_known and one else None,
    }


def _lost(rows: Sequence[Row]) -> Estimate | None:
    if any(row["lost"] is None for row in rows):
        return None
    return pooled_share([row["lost"] for row in rows], [row["loss_decided"] for row in rows])


def _requirements(required: Requirement, rows: Sequence[Row]) -> list[Judged]:
    """Every requirement of a class, judged."""
    found = []
    if required.deadline_ns is not None:
        found.append(_deadline(required.within, rows))
    if required.loss is not None:
        found.append(_loss(required.loss, rows))
    for what, limit_ns, name in (("gap", required.gap_ns, "silence_s"), ("age", required.age_ns, "age_peak_s")):
        if limit_ns is not None:
            broken = [None if row[name] is None else row[name] > limit_ns / 1e9 for row in rows]
            found.append(Judged(what, _of_all(broken), None, broken))
    if required.availability is not None:
        found.append(_availability(required.availability, rows))
    return found


def _of_all(broken: Sequence[bool | None]) -> Level:
    """The verdict on a requirement that every run keeps or breaks."""
    known = [one for one in broken if one is not None]
    if not known:
        return Level.OPEN
    return Level.MISSED if any(known) else Level.MET


def _at_least(one: Estimate, least: float) -> Level:
    """The verdict on a share that is at least ``least``, by its interval; without one, by itself."""
    if not one.n:
        return Level.OPEN
    low, high = (one.mean if end is None else end for end in (one.low, one.high))
    return Level.MET if low >= least else Level.MISSED if high < least else Level.OPEN


def _deadline(within: float, rows: Sequence[Row]) -> Judged:
    share = pooled_share([row["in_time"] for row in rows], [row["decided"] for row in rows])
    broken = [row["in_time"] < within * row["decided"] if row["decided"] else None for row in rows]
    return Judged("deadline", _of_all(broken) if within == 1 else _at_least(share, within), share, broken)


def _loss(most: float, rows: Sequence[Row]) -> Judged:
    lost = _lost(rows)
    if lost is None:
        return Judged("loss", Level.OPEN, None, [None] * len(rows))
    broken = [row["lost"] > most * row["loss_decided"] if row["loss_decided"] else None for row in rows]
    kept = pooled_share([row["loss_decided"] - row["lost"] for row in rows], [row["loss_decided"] for row in rows])
    return Judged("loss", _of_all(broken) if most == 0 else _at_least(kept, 1 - most), lost, broken)


def _availability(least: float, rows: Sequence[Row]) -> Judged:
    values = [1 - row["outage_s"] / row["observed_s"] if row["observed_s"] else None for row in rows]
    broken = [None if value is None else value < least for value in values]
    one = estimate([value for value in values if value is not None])
    return Judged("availability", _of_all(broken) if least == 1 else _at_least(one, least), one, broken)


def _verdict(found: Sequence[Judged], runs: int) -> Row:
    """The worst verdict with its requirements, and the runs in which some requirement was broken."""
    by_run = [[one.broken[at] for one in found if one.broken[at] is not None] for at in range(runs)]
    judged = [broken for broken in by_run if broken]
    missed = sum(any(broken) for broken in judged)
    row: Row = {"judged_runs": len(judged), "missed_runs": missed}
    row["missed_probability"] = missed / len(judged) if judged else None
    if not found:
        return row | {"verdict": None, "requirements": None}
    worst = next(level for level in Level if any(one.level is level for one in found))
    names = ", ".join(one.what for one in found if one.level is worst)
    return row | {"verdict": worst.value, "requirements": names}
