"""Outcomes of claims, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from cwndlab.reproduction import (
    Size,
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
    RatioIn,
    Relation,
    Shape,
    Underspecified,
    Value,
    ValueIn,
    Welch,
)
from cwndlab.reproduction.digits import shown
from cwndlab.reproduction.measured import Measured, Row
from cwndlab.reproduction.ranking import counts, weakest
from cwndlab.reproduction.verdicts import inside, judge, ratio, value
from cwndlab.statistics import Estimate

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
        (0.40, 0.42, 0.99, 1.0, "opposite"),
    ],
)
def test_a_value_that_misses_by_more_than_a_factor_of_two_is_opposite(
    low: float, high: float, published: float, ceiling: float | None, outcome: str
) -> None:
    found = value(Estimate((low + high) / 2, low, high, 5), published, points=0.02, ceiling=ceiling)
    assert found.outcome == outcome
    assert (found.edge is not None) is (outcome == "opposite")
    # By hand: only an interval below half of the published value, or above twice it, misses it by that factor.
    is_by_factor = high < published / 2 or low > 2 * published
    assert ("by more than a factor of 2" in found.reason) is is_by_factor
    is_by_ceiling = outcome == "opposite" and not is_by_factor
    assert ("more than twice as far below 1 as 0.970, an end of 0.990 ± 0.0200" in found.reason) is is_by_ceiling


def test_bands_orders_and_tests() -> None:
    assert outcome(ValueIn(90, 110), a=BASE) == "holds"
    assert outcome(ValueIn(120, 130), a=BASE) == "opposite"
    assert outcome(ValueIn(100, 120), a=BASE) == "inconclusive"
    assert outcome(ValueIn(105, 120), a=BASE) == "inconclusive"  # misses by 5 %, less than the margin
    assert inside(Estimate(0.93, 0.92, 0.94, 5), 0.98, 2.0, "value", lambda edge: 0.02).outcome == "opposite"
    # By hand: [1.06, 1.3] is outside 0.95 to 1.05, but not above 1.05 + 0.05; [1.04, 1.3] reaches over 1.05.
    reasons = {1.06: "outside 0.950 to 1.05, by less than the margin", 1.04: "over an end of 0.950 to 1.05"}
    for end, reason in reasons.items():
        near = inside(Estimate(1.2, end, 1.3, 3), 0.95, 1.05, "value", lambda edge: 0.05)
        assert near.outcome == "inconclusive"
        assert reason in near.reason
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
