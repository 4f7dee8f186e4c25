"""The placebo: a claim is judged again with another algorithm in place of the tested one.

Where a claim holds with the placebo as well, it is none of the tested algorithm: the set-up cannot discriminate. Where
it is opposite, or has no effect, and the placebo gives the same value within the margin, nothing that the algorithm
does could show. If the only other side is the placebo itself, that side takes the place of the first one, each run that
of the next repetition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cwndlab.metrics.margins import margin
from cwndlab.reproduction.cases import Case, Labels
from cwndlab.reproduction.claims import (
    COUNTED,
    DECIDED,
    Asked,
    Claim,
    Finding,
    Indiscriminate,
    Order,
    Outcome,
    RatioIn,
    Shape,
    Underspecified,
    Value,
)
from cwndlab.reproduction.measured import Measured, Row
from cwndlab.statistics.digits import number

#: At most so many repetitions are made with a placebo.
MOST_REPETITIONS = 10
_HOLDS: tuple[Outcome, ...] = ("holds", "holds at another size")
_NONE = "none:"


@dataclass(frozen=True)
class Substitute:
    """What replaces the tested algorithm of a claim."""

    by: str
    """The placebo."""
    cases: Mapping[int, Case]
    """By the number of the case whose runs it replaces; empty where the other side takes the place."""
    sides: tuple[Labels, Labels] | None = None
    """Both sides, where the second takes the place of the first one."""


def declined(claim: Claim) -> str:
    """Why no placebo is asked of a claim; an empty text where one is."""
    if claim.kind not in COUNTED or not claim.headline:
        return "not a claim of the paper"
    return claim.placebo.removeprefix(_NONE).strip() if claim.placebo.startswith(_NONE) else ""


def substitute(
    claim: Claim, cases: Sequence[Case], placebos: Sequence[str], tested: Sequence[str]
) -> Substitute | None:
    """The placebo of a claim.

    The tested algorithms are those whose names begin with one of ``tested``: of the first side, or of all sides where
    each has one. Where no side has one, it is the algorithm that the first side alone has; where the sides have the
    same one and differ in something else, it is replaced on all. A claim of several algorithms at once, such as an
    order, or of one that the paper does not propose, has no placebo.

    Parameters
    ----------
    claim
        A claim of the paper.
    cases
        The cases of its experiment.
    placebos
        Algorithms, of which the first that is not a tested one is taken.
    tested
        Beginnings of the names of what the paper proposes; empty where it compares known algorithms.

    Returns
    -------
    The cases that replace those of the claim; nothing where it has no placebo.
    """
    if declined(claim) or isinstance(claim.relation, Order | Shape | Underspecified | Indiscriminate):
        return None
    sides = [numbers(side, cases) for side in claim.sides]
    algorithms = [_algorithms(side, cases) for side in sides]
    first, others = algorithms[0], set[str]().union(*algorithms[1:])
    named = [{name for name in one if name.startswith(tuple(tested))} for one in algorithms]
    everywhere = all(named) if any(named) else first == others
    mine = set[str]().union(*named) if everywhere and any(named) else named[0] or (first - others) or first
    if not named[0] and tested and (everywhere or not others):
        return None
    if len(mine) != 1 and not (everywhere and all(named)):
        return None
    if not all(mine & _algorithms([at], cases) for at in sides[0]):
        return None
    chosen = [claim.placebo] if claim.placebo else [name for name in placebos if name not in mine]
    if not chosen:
        return None
    by = chosen[0]
    if not everywhere and len(claim.sides) == 2 and others == {by}:
        return Substitute(by, {}, (claim.sides[0], claim.sides[1]))
    replaced = sorted({at for side in (sides if everywhere else sides[:1]) for at in side})
    return Substitute(by, {at: _replaced(cases[at], mine, by) for at in replaced})


def numbers(side: Labels, cases: Sequence[Case]) -> list[int]:
    """The cases of a side."""
    return [at for at, case in enumerate(cases) if all(case.labels.get(key) == value for key, value in side.items())]


def _algorithms(side: Sequence[int], cases: Sequence[Case]) -> set[str]:
    return {flow["algorithm"] for at in side for flow in cases[at].scenario.get("flow", ()) if "algorithm" in flow}


def _replaced(case: Case, mine: set[str], by: str) -> Case:
    flows: list[Mapping[str, Any]] = [
        {**flow, "algorithm": by} if flow.get("algorithm") in mine else flow for flow in case.scenario["flow"]
    ]
    return replace(case, scenario={**case.scenario, "flow": flows}, trace=None)


def with_placebo(one: Substitute, measured: Measured, rows: Mapping[int, Sequence[Row]]) -> Measured:
    """The measurements of a claim with those of the placebo in their places.

    Parameters
    ----------
    one
        The placebo.
    measured
        The measurements of the claim.
    rows
        The runs with the placebo, by the number of the case that they replace, with its labels.
    """
    if one.sides is None:
        made = [row for mine in rows.values() for row in mine]
        there, labels = {row.repetition for row in made}, {frozenset(row.labels.items()) for row in made}
        kept = [row for row in measured.rows if row.repetition in there and frozenset(row.labels.items()) not in labels]
    else:
        made = list(_rotated(*one.sides, measured))
        there, kept = {row.repetition for row in made}, list(measured.rows_of(one.sides[1]))
    return Measured(replace(measured.size, repetitions=len(there)), [*kept, *made])


def _rotated(first: Labels, other: Labels, measured: Measured) -> Iterator[Row]:
    """The runs of the first side with the values of the other side in the next repetition."""
    runs = [row for row in measured.rows if all(row.labels[name] == value for name, value in other.items())]
    many = 1 + max(row.repetition for row in runs)
    for row in runs:
        yield replace(row, labels={**row.labels, **first}, repetition=(row.repetition - 1) % many)


def answer(claim: Claim, finding: Finding, placebo: Finding, one: Substitute) -> Asked | None:
    """What the placebo says of a finding; nothing where the finding decides nothing, or where sides that are the same
    algorithm would be alike by construction."""
    of_equality = isinstance(claim.relation, RatioIn) or finding.outcome == "no effect"
    if finding.outcome not in DECIDED or (of_equality and one.sides is not None):
        return None
    same = finding.outcome == placebo.outcome or {finding.outcome, placebo.outcome} <= set(_HOLDS)
    # Of a value, "another size" says that it is another one.
    fails = finding.outcome == "opposite" or (isinstance(claim.relation, Value) and finding.outcome != "holds")
    stays = same and (not fails or _equal(claim, finding, placebo))
    shown = "no value" if placebo.measured is None else number(placebo.measured)
    if placebo.low is not None and placebo.high is not None:
        shown += f" [{number(placebo.low)} … {number(placebo.high)}]"
    what = f"{one.by} in its place" if one.sides is None else f"{one.by} on both sides, of different repetitions"
    return Asked("placebo", not stays, f"with {what}: {shown}, {placebo.outcome}")


def _equal(claim: Claim, finding: Finding, placebo: Finding) -> bool:
    """Whether both values are the same within the margin."""
    a, b = finding.measured, placebo.measured
    if a is None or b is None:
        return a is b
    relevant = margin(claim.metric if isinstance(claim.metric, str) else claim.metric[0])
    # A rate is shown in Mbit/s, and has no margin as an amount.
    room = relevant.around(a) if finding.measured_is == "value" else (relevant.share or relevant.amount) * abs(a)
    return abs(a - b) <= room
