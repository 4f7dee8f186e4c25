"""The live part of a dossier: campaigns of `cwndlab measure` on real paths, over TCP or QUIC.

Transfers of the algorithm are compared with those of CUBIC and NewReno of the same complete block, as runs of the same
cell and seed are: a server is a cell, and a round is a seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cwndlab.assessment.criteria import BASELINES, Criterion, Measure
from cwndlab.assessment.judgement import compared, judged, raw
from cwndlab.catalogue import canonical
from cwndlab.errors import ArgumentError, Fault, Parameter, ScenarioError
from cwndlab.live.results import Measurement

#: The assessed algorithm among the names of `BASELINES`, one of which it may be.
ASSESSED = "assessed"
#: What a transfer has of the measures of one flow alone.
_METRICS = {"goodput_bps@mine": "goodput_bps", "mean_rtt_ms@mine": "mean_rtt_ms", "loss_ratio": "loss_ratio"}
_FAMILY = "alone"
#: The names of the baselines in a campaign; Linux calls RFC 6582 ``reno``.
_NAMES = {"cubic": ("cubic",), "reno": ("newreno", "reno")}

Values = dict[int, dict[int, float | None]]


class _Live(NamedTuple):
    """A measure of a campaign."""

    campaign: int
    section: str
    title: str
    measure: Measure
    values: Mapping[str, Values]


def live(rows: Sequence[Criterion], name: str, folders: Sequence[Path | str]) -> list[dict[str, Any]]:
    """What campaigns say on rows of the dossier.

    Parameters
    ----------
    rows
        The rows.
    name
        The algorithm.
    folders
        Folders of `cwndlab measure`.

    Returns
    -------
    list of dict
        A campaign each: ``folder``, ``servers``, ``transport``, ``rounds`` (complete blocks) and ``measures``.

    Raises
    ------
    ScenarioError
        A campaign has no complete block with the algorithm and a baseline.
    """
    campaigns = [Measurement.read(folder) for folder in folders]
    every = [one for at, found in enumerate(campaigns) for one in _measures(at, rows, name, found, str(folders[at]))]
    asked = [(at, base) for at, one in enumerate(every) for base in BASELINES if base in one.values]
    findings = judged(
        [compared(every[at].measure, base, *_pair(every[at], base), real_time=True) for at, base in asked]
    )
    against: list[dict[str, Any]] = [{} for _ in every]
    for (at, base), finding in zip(asked, findings, strict=True):
        against[at][base] = finding
    return [
        {
            "folder": str(folders[at]),
            "servers": list(found.question.servers),
            "transport": found.question.transport,
            "rounds": sum(len(one.rounds) for one in found.servers),
            "measures": [
                _shown(one, against[place]) for place, one in enumerate(every) if one.campaign == at and against[place]
            ],
        }
        for at, found in enumerate(campaigns)
    ]


def _measures(at: int, rows: Sequence[Criterion], name: str, found: Measurement, folder: str) -> list[_Live]:
    names = {ASSESSED: _name(name, found), **{base: _name(base, found) for base in BASELINES}}
    if names[ASSESSED] is None or not any(names[base] for base in BASELINES):
        what = f"{folder}: has no transfers of '{name}' beside CUBIC or NewReno, but of {', '.join(found.algorithms)}"
        hint = f"measure with --algorithms newreno,cubic,{name}"
        raise ArgumentError(Fault(Parameter("live"), what, hint))
    made = []
    for row in rows:
        for one in row.measures:
            if one.family == _FAMILY and one.metric in _METRICS:
                values = {role: _values(found, known, _METRICS[one.metric]) for role, known in names.items() if known}
                if any(values[ASSESSED].values()):
                    made.append(_Live(at, row.section, row.title, one, values))
    return made


def _name(name: str, found: Measurement) -> str | None:
    """How a campaign calls an algorithm."""
    if name in _NAMES:
        return next((one for one in _NAMES[name] if one in found.algorithms), None)
    return next((one for one in found.algorithms if one == name or _canonical(one) == _canonical(name)), None)


def _canonical(name: str) -> str:
    try:
        return canonical(name)
    except ScenarioError:
        return name


def _values(found: Measurement, algorithm: str, metric: str) -> Values:
    """A metric by server and round, in complete blocks."""
    return {
        at: {number: value for number, value in one.by_round(metric)[algorithm].items() if number in one.rounds}
        for at, one in enumerate(found.servers)
        if algorithm in one.algorithms
    }


def _pair(one: _Live, base: str) -> tuple[Values, Values]:
    """The values of the algorithm and of a baseline in the rounds in which both have one: that a server answered no
    samples says nothing of the transfer."""
    mine, theirs = one.values[ASSESSED], one.values[base]
    both = {cell: values.keys() & theirs[cell].keys() for cell, values in mine.items() if cell in theirs}
    first, second = ({cell: {n: side[cell][n] for n in sorted(both[cell])} for cell in both} for side in (mine, theirs))
    return first, second


def _shown(one: _Live, against: Mapping[str, Any]) -> dict[str, Any]:
    measure = one.measure
    return {
        "section": one.section,
        "title": one.title,
        "what": measure.what,
        "metric": _METRICS[measure.metric],
        "unit": measure.column.unit,
        "factor": measure.column.factor,
        "margin": measure.margin,
        "raw": {role: raw(measure, values)["mean"] for role, values in one.values.items()},
        "against": dict(against),
    }
