"""The catalogue of experiments: every one is complete, and every claim can hold and can fail."""

from __future__ import annotations

import json
import math

import pytest
from cwndlab.errors import ScenarioError
from cwndlab.metrics.margins import margin
from cwndlab.reproduction import (
    Experiment,
    Size,
    catalogue,
    experiments,
    find,
)
from cwndlab.reproduction.claims import (
    Greater,
    Indiscriminate,
    Less,
    Order,
    Overall,
    RatioIn,
    Relation,
    Shape,
    Underspecified,
    Value,
    ValueIn,
    Welch,
)
from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.measured import Measured, Row
from cwndlab.reproduction.verdicts import judge
from cwndlab.scenario.reader import check


def test_the_grid_is_the_papers() -> None:
    """Its Table 3, and 9,600 runs in all: 5 bandwidths, 10 buffers, 32 pairs, 2 modules, 3 repetitions."""
    (table4,) = find("ccm-ss/table4")

    def pairs(size: Size, network: str, rtts: str) -> list[tuple[object, object]]:
        mine = [
            one.labels for one in table4.cases(size) if (one.labels["network"], one.labels["rtts"]) == (network, rtts)
        ]
        return list(dict.fromkeys((one["rtt1_ms"], one["rtt2_ms"]) for one in mine))

    full, quick = table4.full, table4.quick
    assert pairs(full, "long", "different") == [(100, rtt) for rtt in range(50, 191, 20)]
    assert pairs(full, "short", "similar") == [(16, rtt) for rtt in range(2, 17, 2)]
    assert len(pairs(quick, "long", "different")) == 2
    assert (full.duration_s, full.repetitions) == (600.0, 3)
    assert (len(full["buffer_bdp"]), len(full["bandwidth_mbps"])) == (10, 5)


@pytest.mark.parametrize("one", experiments(), ids=lambda one: one.id)
def test_an_experiment_is_whole(one: Experiment) -> None:
    """In both sizes: sound scenarios, one set of labels, no cell twice, claims whose sides were run."""
    assert one.paper in catalogue.PAPERS
    assert one.published
    assert one.section
    assert all(sentence.endswith(".") for sentence in one.assumptions)
    assert one.full.duration_s >= one.quick.duration_s
    for size in (one.quick, one.full):
        cases = one.cases(size)
        labels = [tuple(case.labels.items()) for case in cases]
        assert len(set(labels)) == len(labels)
        assert len({tuple(case.labels) for case in cases}) == 1
        for claim in one.claims(size):
            for side in claim.sides:
                assert any(side.items() <= dict(case.labels).items() for case in cases), side
            if claim.each:
                assert set(claim.at) <= {case.labels[claim.each] for case in cases}, claim.quantity
            for control in claim.controls:
                assert any(control.side.items() <= dict(case.labels).items() for case in cases), claim.quantity
    for case in one.cases(one.quick):
        check(json.dumps(case.scenario), "json")


class Everything(dict[str, float | None]):
    """Any metric has the one value."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, metric: str) -> float:
        return self.value


def extremes(relation: Relation, sides: int) -> tuple[list[float], list[float]]:
    """Values of the sides by which a relation holds, and by which it does not."""
    rest = [0.5] * (sides - 1)
    match relation:
        case Greater(size) | Less(size) if size is not None:
            return [0.5 * size, *rest], [0.5 / size, *rest]
        case Greater() | Welch(up=True):
            return [0.9, *rest], [0.2, *rest]
        case Less() | Welch(up=False):
            return [0.2, *rest], [0.9, *rest]
        case Order():
            down = [1.0 - 0.2 * place for place in range(sides)]
            return down, down[::-1]
        case RatioIn(low, high):
            inside = low + 0.1 if math.isinf(high) else (low + high) / 2
            return [0.5 * inside, *rest], [0.5 * (low / 3 if low > 0 else 2 * high), *rest]
        case ValueIn(low, high):
            middle = low + 0.01 if math.isinf(high) else high - 0.01 if math.isinf(low) else (low + high) / 2
            return [min(middle, high)], [low / 2 if not math.isinf(low) and low > 0 else max(2 * high, 5.0)]
        case Value(published):
            return [published], [2 * published]
        case _:
            raise AssertionError(relation)


@pytest.mark.parametrize("one", experiments(), ids=lambda one: one.id)
def test_every_claim_can_hold_and_can_fail(one: Experiment) -> None:
    """By values made for it: a claim that no measurement refutes says nothing."""
    cases = one.cases(one.quick)
    for claim in one.claims(one.quick):
        if isinstance(claim.relation, Underspecified | Indiscriminate | Shape | Overall):
            continue
        found = []
        metric = margin(claim.metric if isinstance(claim.metric, str) else claim.metric[0])
        # Queues, delays and timeouts have margins that are amounts.
        scale = 100.0 if metric.amount and metric.ceiling is None and len(claim.sides) > 1 else 1.0
        for values in extremes(claim.relation, len(claim.sides)):
            rows = []
            for case in cases:
                place = next((n for n, side in enumerate(claim.sides) if side.items() <= case.labels.items()), -1)
                for repetition in range(3):
                    noise = 1 + 1e-5 * (place + 2) * (repetition - 1)  # of each side its own, so that ratios vary
                    rows.append(Row(case.labels, repetition, Everything(scale * values[place] * noise)))
            found.append(judge(one.id, claim, Measured(one.quick, rows)).outcome)
        assert found[0] == "holds", (claim.quantity, found)
        assert found[1] in ("opposite", "holds at another size"), (claim.quantity, found)


def test_every_headline_has_evidence_in_both_sizes() -> None:
    keys = {headline.key for headline in headlines()}
    assert len(keys) == len(headlines())
    assert {headline.paper for headline in headlines()} == set(catalogue.PAPERS)
    for quick in (True, False):
        claims = [claim for one in experiments() for claim in one.claims(one.size(quick=quick))]
        assert {claim.headline for claim in claims} - {""} == keys
        # Readings are never extra failures of a sentence.
        assert not [claim.quantity for claim in claims if claim.headline and claim.kind == "reading"]


def test_ids_are_their_own() -> None:
    ids = [one.id for one in experiments()]
    assert len(set(ids)) == len(ids)
    assert {one.id for one in find("ccm-ss")} == {name for name in ids if name.startswith("ccm-ss/")}
    assert find("") == experiments()
    with pytest.raises(ScenarioError, match="no experiment is called 'ccm-ss/fig99'"):
        find("ccm-ss/fig99")
