"""Reproductions: outcomes by hand, kept runs, the site; every experiment of the catalogue is complete."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab import engine
from cwndlab.errors import RecordsError, ScenarioError
from cwndlab.metrics.margins import margin
from cwndlab.plot.charts import Chart, Curve
from cwndlab.records import Records
from cwndlab.reproduction import (
    Case,
    Experiment,
    Reproduction,
    Reproductions,
    Size,
    Table,
    catalogue,
    experiments,
    find,
    reproduce,
    run,
)
from cwndlab.reproduction.claims import (
    Claim,
    Control,
    Finding,
    Greater,
    Indiscriminate,
    Landmark,
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
from cwndlab.reproduction.digits import shown
from cwndlab.reproduction.headlines import headlines
from cwndlab.reproduction.headlines import rows as headline_rows
from cwndlab.reproduction.measured import Measured, Row
from cwndlab.reproduction.outcomes import outcomes
from cwndlab.reproduction.site import write_experiment, write_index
from cwndlab.reproduction.verdicts import counts, inside, judge, ratio, value, weakest
from cwndlab.scenario.reader import check
from cwndlab.statistics import Estimate
from cwndlab.study.store import Store

BASE = (100.0, 101.0, 99.0, 100.5)
SIZE = Size(1.0, 4)


def measured(**sides: Sequence[float | None]) -> Measured:
    """One cell with a value per repetition for each side."""
    rows = [
        Row({"side": name, "cell": 1}, repetition, {"x": value, "y": 2.0})
        for name, values in sides.items()
        for repetition, value in enumerate(values)
    ]
    return Measured(SIZE, rows)


def outcome(relation: Relation, metric: str = "x", /, **sides: Sequence[float | None]) -> str:
    """Of a claim with a margin of 10 % (``x``), 1 % (``goodput_bps``) or 0.02 (``jain``)."""
    cells = measured(**sides)
    for row in cells.rows:
        assert isinstance(row.values, dict)
        row.values[metric] = row.values["x"]
    claim = Claim("q", "w", metric, [{"side": name} for name in sides], relation)
    return judge("p/f", claim, cells).outcome


def times(*factors: float) -> list[float]:
    return [value * factor for value, factor in zip(BASE, factors, strict=True)]


def test_a_ratio_is_judged_by_its_interval_and_margin() -> None:
    """By hand: 0.9 in all pairs is "10 % lower" and 0.73 is not, since the tolerance is of the effect; 1.1 is the
    opposite; 0.8 to 1.2 decides nothing; 0.999 to 1.001 has no effect, and neither has 0.9993."""
    lower = Less(0.9)
    assert outcome(lower, a=times(0.90, 0.91, 0.89, 0.90), b=BASE) == "holds"
    assert outcome(lower, a=times(0.73, 0.74, 0.72, 0.73), b=BASE) == "holds at another size"
    assert outcome(lower, a=times(0.50, 0.51, 0.49, 0.50), b=BASE) == "holds at another size"
    assert outcome(lower, a=times(0.80, 0.99, 0.85, 0.95), b=BASE) == "inconclusive"  # 0.9, too wide
    assert outcome(lower, a=times(1.10, 1.11, 1.09, 1.10), b=BASE) == "opposite"
    assert outcome(lower, a=times(0.80, 1.20, 0.90, 1.10), b=BASE) == "inconclusive"
    assert outcome(lower, a=times(0.999, 1.001, 1.0, 1.0), b=BASE) == "no effect"
    # Equal to the last digit: nothing of what the sides do differently had a chance to show.
    assert outcome(lower, a=BASE, b=BASE) == "set-up cannot discriminate"
    assert outcome(Less(), a=times(0.5, 0.51, 0.49, 0.5), b=BASE) == "holds"
    assert outcome(Greater(1.5), a=times(1.5, 1.55, 1.45, 1.5), b=BASE) == "holds"
    assert outcome(Greater(1.5), a=times(3.0, 3.1, 2.9, 3.0), b=BASE) == "holds at another size"
    assert outcome(Less(), a=[90.0], b=[100.0]) == "inconclusive"
    near = times(0.9990, 0.9996, 0.9993, 0.9993)
    assert outcome(Greater(), "goodput_bps", a=near, b=BASE) == "no effect"
    # A published effect is relevant to the paper: the margin is at most half of it (here 0.65 % of 1.3 %).
    assert outcome(Greater(1.013), "goodput_bps", a=times(1.013, 1.0131, 1.0129, 1.013), b=BASE) == "holds"
    assert outcome(Greater(), "goodput_bps", a=times(1.008, 1.0081, 1.0079, 1.008), b=BASE) == "no effect"
    # The interval excludes 1 on the other side, and its mean is below the margin: that is not a refutation.
    assert outcome(Greater(), "goodput_bps", a=times(0.990, 0.996, 0.992, 0.994), b=BASE) == "inconclusive"
    assert outcome(Greater(), "goodput_bps", a=times(0.95, 0.951, 0.949, 0.95), b=BASE) == "opposite"
    # 1.008 to 1.020 excludes 1 and covers gains within and beyond the margin.
    assert outcome(Greater(), "goodput_bps", a=times(1.012, 1.018, 1.010, 1.016), b=BASE) == "inconclusive"


def test_no_room_below_the_ceiling_is_told_from_no_effect() -> None:
    """Jain's index is at most 1: beside 0.99 nothing can be fairer by 0.02; beside 0.7 it can."""
    fair, unfair = (0.990, 0.991, 0.989, 0.990), (0.700, 0.701, 0.699, 0.700)
    other_fair, other_unfair = (0.991, 0.990, 0.988, 0.991), (0.701, 0.700, 0.698, 0.701)
    assert outcome(Greater(), "jain", a=other_fair, b=fair) == "set-up cannot discriminate"
    assert outcome(Greater(), "jain", a=other_unfair, b=unfair) == "no effect"
    assert outcome(Less(), "jain", a=other_fair, b=fair) == "no effect"
    assert outcome(Greater(), "jain", a=unfair, b=fair) == "opposite"


def test_a_control_shows_what_the_set_up_cannot_tell() -> None:
    def judged(control: Control, first: Sequence[float]) -> str:
        claim = Claim("q", "w", "x", [{"side": "a"}, {"side": "b"}], Less(), controls=[control])
        return judge("p/f", claim, measured(a=first, b=BASE)).outcome

    used, unused = (Control("y", {"side": "b"}, low, 3.0, "y is small") for low in (1.0, 2.5))
    alike = times(0.999, 1.001, 0.999, 1.001)
    assert judged(used, alike) == "no effect"
    assert judged(unused, alike) == "set-up cannot discriminate"
    assert judged(unused, times(0.5, 0.51, 0.5, 0.49)) == "holds"
    assert judged(unused, times(1.5, 1.51, 1.5, 1.49)) == "opposite"


def test_zero_has_no_ratio_and_an_outcome_all_the_same() -> None:
    zeros = (0.0, 0.0, 0.0, 0.0)
    assert outcome(Less(), a=zeros, b=BASE) == "holds"
    assert outcome(Greater(), a=zeros, b=BASE) == "opposite"
    assert outcome(Greater(), a=BASE, b=zeros) == "holds"
    assert outcome(Less(), a=BASE, b=zeros) == "opposite"
    assert outcome(Less(), a=zeros, b=zeros) == "set-up cannot discriminate"
    assert outcome(Less(), a=zeros, b=(0.0, 0.0, 5.0, 0.0)) == "inconclusive"  # 1.25 ± 3.98
    assert outcome(Less(), "timeouts", a=zeros, b=(0.2, 0.21, 0.19, 0.2)) == "no effect"  # less than 0.5 a run
    assert outcome(Less(), a=(None, None, None, None), b=BASE) == "inconclusive"
    # Zeros among others: (10 − 0 + 20 − 20) / 2 over a mean of 15, plus 1.
    found = ratio(measured(a=(10.0, 20.0), b=(0.0, 20.0)).pairs("x", {"side": "a"}, {"side": "b"}))
    assert found.mean == pytest.approx(1 + 5 / 10)


def test_a_wide_interval_confirms_no_value() -> None:
    """Jain's index 0.67 [0.33 … 1.02] covers the published 0.999 and is not a reproduction of it."""
    assert value(Estimate(0.67, 0.33, 1.02, 5), 0.999, points=0.02).outcome == "inconclusive"
    assert value(Estimate(0.995, 0.985, 1.0, 5), 0.999, points=0.02).outcome == "holds"
    assert value(Estimate(0.67, 0.60, 0.74, 5), 0.999, points=0.02).outcome == "holds at another size"
    assert value(Estimate(0.97, 0.96, 0.98, 5), 0.999, points=0.02).outcome == "inconclusive"
    assert outcome(Value(100.0), a=times(1.1, 1.1, 1.1, 1.1)) == "holds"
    assert outcome(Value(100.0), a=times(1.3, 1.3, 1.3, 1.3)) == "holds at another size"
    assert outcome(Value(100.0), a=[100.0]) == "inconclusive"


@pytest.mark.parametrize(
    ("low", "high", "published", "ceiling", "outcome"),
    [
        # PHCC uses 13 % of the line, and 94 % are published.
        (0.108, 0.147, 0.94, None, "opposite"),
        (0.40, 0.46, 0.94, None, "opposite"),
        (0.40, 0.48, 0.94, None, "holds at another size"),
        (0.40, 0.42, 0.195, None, "opposite"),
        (0.38, 0.42, 0.195, None, "holds at another size"),
        # An index of 0.99 leaves 0.01 below 1, and 0.03 with its tolerance: twice that is 0.06.
        (0.80, 0.93, 0.99, 1.0, "opposite"),
        (0.90, 0.95, 0.99, 1.0, "holds at another size"),
    ],
)
def test_a_value_that_misses_by_more_than_a_factor_of_two_is_opposite(
    low: float, high: float, published: float, ceiling: float | None, outcome: str
) -> None:
    found = value(Estimate((low + high) / 2, low, high, 5), published, points=0.02, ceiling=ceiling)
    assert found.outcome == outcome
    assert (found.edge is not None) is (outcome == "opposite")


def test_bands_orders_and_tests() -> None:
    assert outcome(ValueIn(90, 110), a=BASE) == "holds"
    assert outcome(ValueIn(120, 130), a=BASE) == "opposite"
    assert outcome(ValueIn(100, 120), a=BASE) == "inconclusive"
    assert outcome(ValueIn(105, 120), a=BASE) == "inconclusive"  # misses by 5 %, less than the margin
    assert inside(Estimate(0.93, 0.92, 0.94, 5), 0.98, 2.0, "value", lambda edge: 0.02).outcome == "opposite"
    assert outcome(RatioIn(0.9, 1.1), a=times(1.01, 1.02, 0.99, 1.0), b=BASE) == "holds"
    assert outcome(RatioIn(0.9, 1.1), a=times(1.5, 1.52, 1.49, 1.5), b=BASE) == "opposite"
    low, middle = times(0.5, 0.51, 0.5, 0.49), times(0.7, 0.71, 0.7, 0.69)
    assert outcome(Order(), a=BASE, b=middle, c=low) == "holds"
    assert outcome(Order(), a=BASE, b=low, c=middle) == "opposite"
    assert outcome(Order(), a=BASE, b=times(0.9, 1.1, 0.8, 1.2), c=low) == "inconclusive"
    assert outcome(Order(), a=BASE, b=times(0.999, 1.001, 0.999, 1.001), c=low) == "no effect"
    assert outcome(Greater(), a=BASE, b=low, c=middle) == "holds"
    assert outcome(Greater(), a=middle, b=low, c=BASE) == "opposite"
    assert outcome(Welch(up=False), a=times(0.5, 0.5, 0.5, 0.5), b=BASE) == "holds"
    assert outcome(Welch(up=True), a=times(0.5, 0.5, 0.5, 0.5), b=BASE) == "opposite"
    assert outcome(Welch(up=True), a=times(1.01, 0.99, 1.01, 0.99), b=BASE) == "no effect"
    assert outcome(Welch(up=True), a=times(0.8, 1.3, 0.7, 1.3), b=BASE) == "inconclusive"
    assert outcome(Welch(up=True), a=(1.0, 1.0), b=(1.0, 1.0)) == "inconclusive"  # copies of one run
    assert outcome(Underspecified("nothing is said"), a=BASE) == "underspecified"
    assert outcome(Indiscriminate("too short"), a=BASE, b=low) == "set-up cannot discriminate"


def test_a_shape_is_its_landmarks() -> None:
    def shape(*bounds: tuple[float, float]) -> str:
        return outcome(Shape([Landmark(f"{low}", "x", low, high) for low, high in bounds]), a=BASE)

    assert shape((99, 101)) == "holds"
    assert shape((99, 101), (0, 1)) == "holds at another size"
    assert shape((99, 101), (0, 1), (1, 2)) == "opposite"


def test_a_sentence_is_as_good_as_its_weakest_part() -> None:
    """Parts: every value of a label, every metric, every other side. Evidence that the set-up cannot tell counts only
    where nothing else is there."""
    assert weakest(["holds", "opposite", "no effect"]) == "opposite"
    assert weakest(["holds", "inconclusive", "holds at another size"]) == "inconclusive"
    assert weakest(["set-up cannot discriminate", "holds"]) == "holds"
    assert weakest(["set-up cannot discriminate", "underspecified"]) == "set-up cannot discriminate"
    rows = [
        Row({"side": side, "cell": cell}, repetition, {"x": base * factor, "z": base * factor})
        for side, factors, bases in (("a", (2.0, 0.5), BASE), ("b", (1.0, 1.0), (*BASE[1:], BASE[0])))
        for cell, factor in enumerate(factors)
        for repetition, base in enumerate(bases)
    ]
    sides: list[dict[str, Any]] = [{"side": "a"}, {"side": "b"}]

    def judged(**more: Any) -> Finding:
        return judge("p/f", Claim("q", "w", more.pop("metric", "x"), sides, Greater(), **more), Measured(SIZE, rows))

    both = judged(each="cell")
    assert both.outcome == "opposite"
    assert both.measured == pytest.approx(0.5)
    assert "of 2 parts: 1 holds, 1 opposite; shown: cell 1" in both.reason
    assert judged(each="cell", at=(0,)).outcome == "holds"
    assert judged(each="cell", at=(0,), metric=("x", "z")).reason.startswith("of 2 parts: 2 holds; shown: x, cell 0")
    assert judged().outcome == "holds"  # the mean over both cells, 1.25


def test_only_claims_of_the_paper_are_counted() -> None:
    found = [
        judge(
            "p/f",
            Claim("q", "w", "x", [{"side": "a"}, {"side": "b"}], Greater(), kind=kind),
            measured(a=times(2.0, 2.1, 2.0, 2.1), b=BASE),
        )
        for kind in ("claim", "claim", "reading", "check", "beyond")
    ]
    assert sum(counts(found).values()) == counts(found)["holds"] == 2


def test_numbers_next_to_one_are_not_written_as_one() -> None:
    """Jain's index 0.9985 of an interval from 0.3; and as many digits as an interval determines."""

    def said(mean: float, low: float | None, high: float | None) -> tuple[str, str]:
        return shown(Finding("p/f", "q", "w", mean, low, high, "holds", ""))

    assert said(0.67, 0.33, 0.9985) == ("0.67", "0.33 … 0.9985")
    assert said(0.9985, 0.9984, 0.9986) == ("0.9985", "0.9984 … 0.9986")
    assert said(0.730, 0.697, 0.764) == ("0.730", "0.697 … 0.764")
    assert said(0.8, None, None) == ("0.800", "–")
    assert said(1.0, 1.0, 1.0) == ("1.00", "–")
    # An interval is not narrower than its digits: by hand, outwards at four decimals.
    assert said(0.6301, 0.63007, 0.63008) == ("0.6301", "0.6300 … 0.6301")


def test_pairs_leave_out_cells_without_a_value_on_one_side() -> None:
    rows = [
        Row({"side": side, "cell": cell}, 0, {"x": value})
        for side, values in (("a", (1.0, 5.0)), ("b", (2.0, None)))
        for cell, value in enumerate(values)
    ]
    both = Measured(Size(1.0, 1), rows).pairs("x", {"side": "a"}, {"side": "b"})
    assert (both.first, both.second, both.left_out, both.cells) == ([1.0], [2.0], 1, 2)
    with pytest.raises(ValueError, match="not run in the same cells"):
        Measured(Size(1.0, 1), rows[:3]).pairs("x", {"side": "a"}, {"side": "b"})
    with pytest.raises(KeyError, match="no label is called colour"):
        Measured(Size(1.0, 1), rows).values("x", colour="red")


def test_the_other_definition_stands_beside() -> None:
    claim = Claim("q", "w", "x", [{"side": "a"}, {"side": "b"}], Greater(), "y")
    found = judge("p/f", claim, measured(a=times(2, 2, 2, 2), b=BASE))
    assert found.beside == pytest.approx(1.0)
    assert found.beside_is == "y"


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


def test_a_chart_of_all_variants_has_as_many_colours() -> None:
    """PHCC's figures have eleven: PHCC was drawn as STCP and HCC as Reno when the palette had eight."""
    from cwndlab.plot.palette import COLOURS

    variants = catalogue.PAPERS["phcc"].document["algorithms"]

    assert len(set(COLOURS)) == len(COLOURS) >= len(variants)


def test_ids_are_their_own() -> None:
    ids = [one.id for one in experiments()]
    assert len(set(ids)) == len(ids)
    assert {one.id for one in find("ccm-ss")} == {name for name in ids if name.startswith("ccm-ss/")}
    assert find("") == experiments()
    with pytest.raises(ScenarioError, match="no experiment is called 'ccm-ss/fig99'"):
        find("ccm-ss/fig99")


Cli = Callable[..., tuple[int, str, str]]


def measure(records: Records) -> dict[str, float | None]:
    """Delivered bytes."""
    return {"delivered_bytes": float(records.flows["delivered_bytes"].sum())}


def trace(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """The window."""
    return {"cwnd": ((records.samples["time_ns"] / 1e9).to_list(), records.samples["cwnd_bytes"].to_list())}


def tiny() -> Experiment:
    """Two algorithms on 2 Mbit/s for two seconds, twice."""

    def cases(size: Size) -> list[Case]:
        path = {"bottleneck": {"rate": "2 Mbps", "delay": "10 ms"}}
        return [
            Case(
                {"algorithm": name},
                {
                    "schema_version": 1,
                    "duration": f"{size.duration_s} s",
                    "start_jitter": "rtt",
                    "dumbbell": path,
                    "flow": [{"algorithm": name, "rtt": "40 ms"}],
                },
                measure,
                trace,
            )
            for name in ("reno", "cubic")
        ]

    def charts(measured: Measured) -> list[Chart]:
        line = measured.line("cwnd", algorithm="reno")
        return [Chart("window", "A window", "time, s", "bytes", [Curve("reno", line.x, line.y)])]

    sides: list[dict[str, Any]] = [{"algorithm": "reno"}, {"algorithm": "cubic"}]
    return Experiment(
        "ccm-ss/fig12a",
        "a tiny one",
        "Fig. 12(a)",
        "It says that <both> are alike.",
        ["Nothing is assumed."],
        Size(2.0, 2),
        Size(4.0, 2),
        cases,
        lambda size: [
            Claim("delivered", "alike", "delivered_bytes", sides, RatioIn(0.5, 2.0), headline="ccm-ss:goodput"),
            Claim("as read", "alike", "delivered_bytes", sides, RatioIn(0.5, 2.0), kind="reading"),
        ],
        charts,
        lambda measured: [Table("Bytes", ("algorithm", "bytes"), [["reno", measured.total("delivered_bytes")]])],
        lambda measured: [f"{len(measured.rows)} runs were made."],
    )


@pytest.fixture
def runs_made(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Only the tiny experiment is known; counts the runs that are simulated."""
    made: list[int] = []
    simulate = engine.run

    def counted(text: str, kind: Any, seed: int, *rest: Any, **options: Any) -> Any:
        made.append(seed)
        return simulate(text, kind, seed, *rest, **options)

    monkeypatch.setattr(engine, "run", counted)
    monkeypatch.setattr(run, "find", lambda target: (tiny(),))
    return lambda: len(made)


def once(folder: Path, **options: Any) -> Reproduction:
    (outcome,) = reproduce("ccm-ss/fig12a", quick=True, out=folder, **options)
    return outcome


def test_finished_runs_are_not_repeated(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    counted: list[tuple[int, int]] = []
    first = once(tmp_path, progress=lambda done, total: counted.append((done, total)))
    assert counted == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert runs_made() == 4
    again = once(tmp_path)
    assert (runs_made(), again.findings, again.cpu_s) == (4, first.findings, 0.0)
    assert again.measured == first.measured
    once(tmp_path, seed=2)  # of seed 2 the first repetition has curves now, and seed 3 is new
    assert runs_made() == 8
    # Runs of a damaged part are repeated, others are not.
    part = sorted((tmp_path / "runs" / "runs").iterdir())[0]
    part.write_bytes(part.read_bytes()[:-9])
    assert (once(tmp_path).findings, runs_made()) == (first.findings, 12)


def test_what_runs_report_about_themselves_is_on_the_page(
    tmp_path: Path, runs_made: Callable[[], int], monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """A path that loses every packet delivers nothing; runs that are kept report it as well."""
    usual = tiny()

    def cases(size: Size) -> list[Case]:
        loses = {"kind": "bernoulli", "p": 1.0}
        return [
            replace(
                case,
                scenario={
                    **case.scenario,
                    "duration": "60 s",
                    "dumbbell": {"bottleneck": {"rate": "2 Mbps", "loss": loses}},
                },
            )
            for case in usual.cases(size)
        ]

    monkeypatch.setattr(run, "find", lambda target: (replace(usual, cases=cases),))
    for _ in range(2):
        outcome = once(tmp_path)
        assert [(row["code"], row["severity"]) for row in outcome.run_findings] == [("nothing-delivered", "severe")] * 4
        assert outcome.run_findings[1]["text"].startswith("algorithm reno, repetition 2: ")
    text = write_experiment(outcome, tmp_path).read_text()
    assert text.index("algorithm reno, repetition 2: ") < text.index("Published beside measured")
    assert "and 1 more of this kind" in text
    arguments = ("reproduce", "ccm-ss/fig12a", "--quick", "--out", tmp_path / "site")
    assert [cli(*arguments)[0], cli(*arguments, "--strict")[0]] == [0, 1]


def test_runs_before_an_interrupt_are_kept(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    stopped = reproduce("ccm-ss/fig12a", quick=True, out=tmp_path, progress=stop, workers=1)
    assert (stopped.stopped, len(stopped)) == (True, 0)
    assert len(Store(tmp_path / "runs").keys()) == 2
    counted: list[tuple[int, int]] = []
    once(tmp_path, progress=lambda done, total: counted.append((done, total)))
    assert counted[0] == (0, 2)


def test_a_process_that_is_killed_leaves_complete_runs(tmp_path: Path) -> None:
    """Not stopped but killed: the runs in the journal are complete, and are not repeated."""
    command = [sys.executable, "-m", "cwndlab", "reproduce", "cubic-study/fig7", "--quick", "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "runs" / "journal.jsonl"
    try:
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    store = Store(tmp_path / "runs")
    rows = store.keys()
    kept = set(rows["key"])
    payloads = store.payloads(kept, engine.engine_version(), set(rows["measure"]))
    assert payloads.keys() == kept
    assert all(payload["values"] for payload in payloads.values())
    (one,) = find("cubic-study/fig7")
    left: list[int] = []

    def stop(done: int, total: int) -> None:
        left.append(total)
        raise KeyboardInterrupt

    assert reproduce(one.id, quick=True, out=tmp_path, progress=stop).stopped
    assert left == [len(one.cases(one.quick)) * one.quick.repetitions - len(kept)]
    assert len(kept) >= 3


def test_runs_of_an_older_version_are_refused(tmp_path: Path) -> None:
    """They were a file each, in folders named after the first digits of their keys."""
    (tmp_path / "runs" / "ab").mkdir(parents=True)
    (tmp_path / "runs" / "ab" / "abcd.json").write_text("{}")
    with pytest.raises(RecordsError, match=r"another version of cwndlab .*\n  hint: choose another folder, or delete"):
        reproduce("cubic-study/fig7", quick=True, out=tmp_path)


def test_the_site_holds_pages_that_need_no_network(tmp_path: Path, runs_made: Callable[[], int]) -> None:
    outcome = once(tmp_path)
    text = (tmp_path / "ccm-ss" / "fig12a.html").read_text()
    for said in ("It says that &lt;both&gt; are alike.", "Nothing is assumed.", "4 runs were made.", 'id="window"'):
        assert said in text
    apart_from_scripts = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not any(mark in apart_from_scripts for mark in ("http:", "https:", "@import"))
    # All pages share one file with plotly's program.
    assert re.findall(r'src="([^"]*)"', text) == ["../plotly.min.js"]
    assert (tmp_path / "plotly.min.js").stat().st_size > 1e6
    assert len(text) < 200_000
    # The two sides of each claim, and the one curve, open their runs.
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)[0])
    assert [group["runs"] for group in data["groups"]] == [[0, 1, 2, 3], [0, 1]]
    assert text.count('<a href="#runs=0">') == 2
    assert '<a href="#runs=1">reno</a>' in text
    # The paper, its section, the size of these runs and not the paper's.
    for said in ("M. Ahmad", "End-to-End Loss Based", "<b>Fig. 12(a)</b>", "runs of 2 s, 2 repetitions"):
        assert said in text
    assert text.index("Claims of the paper") < text.index("Other readings of the paper")
    assert "cwndlab reproduce ccm-ss/fig12a --quick --seed 1" in text
    place = tmp_path / "ccm-ss" / "fig12a"
    assert (place / "figures" / "window.svg").read_text().startswith("<?xml")
    assert (place / "findings.csv").read_text().count("\n") == 3
    for name in ("reno", "cubic"):
        assert f'href="fig12a/scenarios/{name}.toml"' in text
        assert check((place / "scenarios" / f"{name}.toml").read_text(), "toml").hash
    index = (tmp_path / "index.html").read_text()
    assert '<a href="ccm-ss.html">Claim by claim</a>' in index
    assert '<a href="ccm-ss/fig12a.html">ccm-ss/fig12a</a>' in (tmp_path / "appendix.html").read_text()
    assert re.findall(r'<script src="([^"]*)"', index) == ["plotly.min.js"]
    paper = (tmp_path / "ccm-ss.html").read_text()
    places = [paper.index(word) for word in ('id="headline-claims"', "CCM-SS has a higher goodput", 'id="evidence"')]
    assert places == sorted(places)
    (row,) = headline_rows(outcomes(tmp_path))
    assert (row.outcome, len(row.findings)) == ("holds", 1)
    assert len(index) < 200_000  # without the charts' program
    (found,) = outcomes(tmp_path)
    assert found["findings"] == [finding.as_dict() for finding in outcome.findings]
    assert (found["runs"], found["quick"]) == (4, True)
    other = dict(found) | {"findings": [{"quantity": "of another version"}]}
    (place / "outcome.json").write_text(json.dumps(other))
    assert outcomes(tmp_path) == []
    write_index(tmp_path)
    assert "ccm-ss/fig12a" not in (tmp_path / "appendix.html").read_text()
    (place / "outcome.json").write_text(json.dumps(found))
    # The CPU time of runs that are all kept is that of when they were made.
    once(tmp_path)
    assert outcomes(tmp_path)[0]["cpu_s"] == found["cpu_s"] > 0


def test_terminal_page_and_notebook_show_the_same_of_a_reproduction(
    tmp_path: Path, runs_made: Callable[[], int], cli: Cli
) -> None:
    site = tmp_path / "site"
    status, out, err = cli("reproduce", "ccm-ss/fig12a", "--quick", "--out", site, "--format", "json")
    assert status == 0, err
    loaded = cwndlab.load(site)
    assert isinstance(loaded, Reproductions)
    assert loaded.table().values == json.loads(out)
    assert cli("report", site, "--report", tmp_path / "page.html", "--format", "json")[:2] == (0, out)
    page, notebook = (tmp_path / "page.html").read_text(), loaded._repr_html_()
    table = loaded.table()
    measured = [table.header.index(name) for name in ("quantity", "published", "measured", "95 % interval", "outcome")]
    for row in table.rows:
        assert all(f">{row[at]}<" in notebook for at in range(len(row)))
        assert all(f">{row[at]}<" in page for at in measured)
    assert 'href="ccm-ss' not in page
    assert notebook.index("2 findings: ") < notebook.index("<table>")
    saved = tmp_path / "again"
    loaded.save(saved)
    again = cwndlab.load(saved)
    assert isinstance(again, Reproductions)
    assert again.table() == table
    # What is loaded has no measurements, of which figures are drawn.
    indices = [re.sub(r"<a [^>]*><img [^>]*></a>", "", (one / "index.html").read_text()) for one in (saved, site)]
    assert indices[0] == indices[1]


def test_an_axis_of_close_lines_does_not_begin_at_zero() -> None:
    """Indices of 0.9985 and 0.9990 are one line on an axis from 0 to 1; bars begin at zero all the same."""

    def mode(kind: Any, *values: float) -> str | None:
        chart = Chart("c", "C", "x", "y", [Curve("a", [1, 2], list(values))], kind=kind)
        found: str | None = chart.figure().spec()["layout"]["yaxis"].get("rangemode")
        return found

    assert mode("lines", 0.9985, 0.9990) is None
    assert mode("lines", 0.3, 0.9990) == "tozero"
    assert mode("bars", 0.9985, 0.9990) == "tozero"


@pytest.mark.parametrize("kind", ["lines", "points", "bars"])
def test_curves_are_drawn_both_ways(kind: Any, tmp_path: Path) -> None:
    ours = Curve("ours", ["a", "b"], [1.0, None], [0.5, None], [1.5, None], panel="left")
    theirs = Curve("published", ["a", "b"], [2.0, 3.0], panel="right", published=True)
    chart = Chart("both", "Both", "x", "y", [ours, theirs], kind=kind)
    figure = chart.figure().to_plotly()
    assert [list(trace.y) for trace in figure.data] == [[1.0, None], [2.0, 3.0]]
    assert [annotation.text for annotation in figure.layout.annotations] == ["left", "right"]
    for ending in ("svg", "png"):
        chart.figure().save(tmp_path / f"both.{ending}")
        assert (tmp_path / f"both.{ending}").stat().st_size > 1000
