"""Rules by which claims with several parts, aggregates and headlines get their outcomes, by hand."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from cwndlab.reproduction import Experiment, Size, find
from cwndlab.reproduction.claims import (
    Claim,
    Control,
    Finding,
    Greater,
    Less,
    Order,
    Overall,
    RatioIn,
    Relation,
    Term,
    Value,
    ValueIn,
    Welch,
)
from cwndlab.reproduction.controls.parts import opposite_parts
from cwndlab.reproduction.headlines import rows
from cwndlab.reproduction.judged import Judged
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.measured import Row as Run
from cwndlab.reproduction.verdicts import judge
from cwndlab.statistics import Estimate

NOISE = (1.0, 1.001, 0.999, 1.0005)


def noise_of(place: int, repetition: int) -> float:
    """The sides have the same noise in other repetitions: their mean ratio is exact, and ratios vary."""
    return NOISE[(place + repetition) % len(NOISE)]


def judged(relation: Relation, metric: str, /, *values: float, **more: Any) -> Finding:
    """A claim on sides with these means, which four repetitions miss by 0.1 %."""
    runs = [
        Run({"side": place}, repetition, {metric: value * noise_of(place, repetition), "y": value})
        for place, value in enumerate(values)
        for repetition in range(len(NOISE))
    ]
    sides = [{"side": place} for place in range(len(values))]
    return judge("p/f", Claim("q", "w", metric, sides, relation, **more), Measured(Size(1.0, 4), runs))


def test_a_part_that_cannot_be_told_forbids_that_the_whole_holds() -> None:
    """Jain's index is at most 1: nothing is fairer than 0.99 by 0.02, so that of "a > b > c" only b > c can be shown.
    An opposite part decides all the same."""
    order = judged(Order(), "jain", 0.995, 0.99, 0.7)
    assert order.outcome == "set-up cannot discriminate"
    assert order.parts == "1 holds, 1 set-up cannot discriminate"
    assert order.reason.startswith("of 2 parts: 1 holds, 1 set-up cannot discriminate; shown: 0 > 1")
    assert judged(Order(), "jain", 0.9, 0.8, 0.7).outcome == "holds"
    assert judged(Order(), "jain", 0.995, 0.99, 0.7, 0.8).outcome == "opposite"
    rivals = judged(Greater(), "jain", 0.995, 0.99, 0.7)
    assert (rivals.outcome, rivals.mixed) == ("set-up cannot discriminate", True)
    assert judged(Greater(), "jain", 0.995, 0.99, 0.985).mixed is False
    runs = [
        Run({"side": "ab"[side], "cell": cell}, repetition, {"jain": value * noise_of(side, repetition)})
        for side, values in enumerate(((0.99, 0.9), (0.99, 0.6)))
        for cell, value in enumerate(values)
        for repetition in range(len(NOISE))
    ]
    claim = Claim("q", "w", "jain", [{"side": "a"}, {"side": "b"}], Greater(), each="cell")
    assert judge("p/f", claim, Measured(Size(1.0, 4), runs)).outcome == "set-up cannot discriminate"


@pytest.mark.parametrize(
    ("relation", "outcome"),
    [(Greater(), "holds at another size"), (RatioIn(1.5, 3), "inconclusive"), (Welch(up=True), "inconclusive")],
)
def test_one_of_ten_opposite_parts_does_not_decide(relation: Relation, outcome: str) -> None:
    """Nine ratios of 2 and one of 0.5. By docs/outcomes.md all parts together decide where they have a ratio, here the
    tenth root of 2⁹ / 2 = 1.74; where they have none, one of ten is no majority, and nine of ten are not all."""

    def of(*values: float) -> Finding:
        runs = [
            Run({"side": place}, repetition, {"goodput_bps": value * noise_of(bool(place), repetition)})
            for place, value in enumerate(values)
            for repetition in range(len(NOISE))
        ]
        sides = [{"side": place} for place in range(len(values))]
        return judge("p/f", Claim("q", "w", "goodput_bps", sides, relation), Measured(Size(1.0, 4), runs))

    one = of(2.0, *[1.0] * 9, 4.0)
    assert (one.outcome, one.parts) == (outcome, "9 holds, 1 opposite")
    assert [asked[1] for asked in one.controls if asked[0] == "parts"] == [False]
    assert "1 of 10 parts opposite with Holm's correction (against 10)" in one.reason
    assert of(2.0, *[1.0] * 5, *[4.0] * 5).outcome == "opposite"


def test_an_opposite_part_makes_no_claim_better() -> None:
    """Ratios of 1.1 hold, one of 1 is no effect, which docs/outcomes.md has before "another size": so it is with one of
    0.95 in place of another 1.1, although all five together are 1.1^0.6 · 0.95^0.2 = 1.048. Parts of Welch's test have
    no ratio together, which makes them inconclusive: also after "no effect"."""

    def of(relation: Relation, *ratios: float) -> Finding:
        runs = [
            Run({"side": side, "x": part}, repetition, {"goodput_bps": value * noise_of(side, repetition)})
            for part, one in enumerate(ratios)
            for side, value in enumerate((one, 1.0))
            for repetition in range(len(NOISE))
        ]
        claim = Claim("q", "w", "goodput_bps", [{"side": 0}, {"side": 1}], relation, each="x")
        return judge("p/f", claim, Measured(Size(1.0, 4), runs))

    for relation in (Greater(), Welch(up=True)):
        without = of(relation, 1.1, 1.1, 1.1, 1.0, 1.1)
        assert (without.outcome, without.parts) == ("no effect", "4 holds, 1 no effect")
        found = of(relation, 1.1, 1.1, 1.1, 1.0, 0.95)
        assert (found.outcome, found.parts) == ("no effect", "3 holds, 1 no effect, 1 opposite")
        assert (found.part, found.measured) == ("x 3", without.measured)
        assert "1 of 5 parts opposite with Holm's correction (x 4)" in found.reason
        assert "; shown: x 3: the interval lies within the margin" in found.reason


def test_a_reported_effect_bounds_the_margin_of_all_parts_together() -> None:
    """By hand: four ratios of 0.9 and one of 1.1 are (0.9⁴ · 1.1)^(1/5) = 0.937 together. By docs/outcomes.md the
    margin is at most half of the published effect of 10 %, so that this is less; without that effect it is 10 %."""

    def of(relation: Relation) -> Finding:
        runs = [
            Run({"side": side, "x": part}, repetition, {"drops_per_s": value * noise_of(side, repetition)})
            for part, one in enumerate((0.9, 0.9, 0.9, 0.9, 1.1))
            for side, value in enumerate((one, 1.0))
            for repetition in range(len(NOISE))
        ]
        claim = Claim("q", "w", "drops_per_s", [{"side": 0}, {"side": 1}], relation, each="x")
        return judge("p/f", claim, Measured(Size(1.0, 4), runs))

    for relation in (Less(effect=0.10), Less(0.9)):
        found = of(relation)
        assert found.outcome == "holds at another size"
        assert found.measured == pytest.approx(0.937, abs=1e-3)
        assert found.margin == pytest.approx((0.95, 1.05))


def test_parts_of_welchs_test_are_corrected_for_their_number() -> None:
    """Holm (1979), by hand: of 20 parts the smallest one-sided p must be at most 0.025 / 20 = 0.00125, the next at most
    0.025 / 19. Welch's p has two sides: 0.0024 is 0.0012 on one, 0.0027 is 0.00135."""

    def opposite(*p: float) -> set[int]:
        parts = [Judged(Estimate(one, None, None, 4), "opposite", "", "p") for one in p]
        held = [Judged(Estimate(1e-9, None, None, 4), "holds", "", "p")] * (20 - len(p))
        return opposite_parts([*parts, *held])

    assert opposite(0.03) == opposite(0.0027) == set()
    assert opposite(0.0024) == {0}
    assert opposite(0.0026, 0.0024) == {0, 1}  # 0.0013 is below 0.025 / 19 = 0.00132


def test_a_narrow_interval_over_an_end_is_not_called_wide() -> None:
    """By hand: a mean of 120.6 with s = 0.962 over five runs and t = 2.776 has an interval of ± 1.2, within 100 ± 20 in
    width but across 120."""
    runs = [Run({"side": 0}, at, {"y": value}) for at, value in enumerate((121, 120.5, 121.5, 119, 121))]
    one = judge("p/f", Claim("q", "w", "y", [{"side": 0}], Value(100)), Measured(Size(1.0, 5), runs))
    assert one.outcome == "inconclusive"
    assert one.reason == "the interval reaches over 120, an end of 100 ± 20.0"
    wide = [Run({"side": 0}, at, {"y": value}) for at, value in enumerate((60, 170, 121, 90, 150))]
    other = judge("p/f", Claim("q", "w", "y", [{"side": 0}], Value(100)), Measured(Size(1.0, 5), wide))
    assert other.reason == "the interval is too wide to tell 100 ± 20.0"


def test_of_several_parts_the_least_favourable_one_is_shown_and_named() -> None:
    """Faster than the others by a half, a tenth and a fifth: a tenth is shown. Slower than them: by a fifth."""
    faster = judged(Greater(), "goodput_bps", 1.5, 1.0, 1.5 / 1.1, 1.25)
    assert (faster.outcome, faster.part) == ("holds", "against 2")
    assert faster.measured == pytest.approx(1.1, rel=1e-3)
    slower = judged(Greater(), "goodput_bps", 0.8, 0.9, 1.0, 0.85)
    assert (slower.outcome, slower.part) == ("opposite", "against 2")
    assert slower.measured == pytest.approx(0.8, rel=1e-3)
    assert judged(Greater(), "goodput_bps", 1.5, 1.0).part == ""


def test_a_ceiling_can_hide_a_size() -> None:
    """A line of which 0.9 are used has no room for 30 % more, so that 8 % more refute no 30 %; 0.6 has room for 18 %.
    More than the published size is not an effect of a ceiling."""
    assert judged(Greater(1.3), "utilisation", 0.97, 0.9).outcome == "set-up cannot discriminate"
    assert judged(Greater(1.3), "utilisation", 0.65, 0.6).outcome == "holds at another size"
    assert judged(Greater(1.02), "utilisation", 0.99, 0.9).outcome == "holds at another size"
    assert judged(Greater(1.1), "utilisation", 0.99, 0.9).outcome == "holds"


def test_a_control_can_hide_a_size() -> None:
    full = Control("y", {"side": 1}, 0.0, 50.0, "the second side has all")
    assert judged(Greater(1.3), "goodput_bps", 65.0, 60.0).outcome == "holds at another size"
    assert judged(Greater(1.3), "goodput_bps", 65.0, 60.0, controls=[full]).outcome == "set-up cannot discriminate"
    assert judged(Greater(1.3), "goodput_bps", 78.0, 60.0, controls=[full]).outcome == "holds"
    assert judged(Greater(1.3), "goodput_bps", 120.0, 60.0, controls=[full]).outcome == "holds at another size"
    room = replace(full, high=70.0)
    assert judged(Greater(1.3), "goodput_bps", 65.0, 60.0, controls=[room]).outcome == "holds at another size"


def test_what_a_control_makes_alike_is_no_evidence_of_being_alike() -> None:
    alike, unused = RatioIn(0.9, 1.1), Control("y", {"side": 1}, 200.0, 300.0, "nothing can tell the sides apart")
    assert judged(alike, "drops_per_s", 100.0, 100.0).outcome == "holds"
    assert judged(alike, "drops_per_s", 100.0, 100.0, controls=[unused]).outcome == "set-up cannot discriminate"
    assert judged(RatioIn(1.5, 2.5), "drops_per_s", 200.0, 100.0, controls=[unused]).outcome == "holds"
    assert judged(alike, "drops_per_s", 200.0, 100.0, controls=[unused]).outcome == "opposite"


def test_a_reported_effect_bounds_the_margin() -> None:
    """Of a loss rate 10 % are relevant; where a paper reports 10 %, 5 % are, so that 7 % less is less."""
    assert judged(Less(), "drops_per_s", 93.0, 100.0).outcome == "no effect"
    assert judged(Less(effect=0.10), "drops_per_s", 93.0, 100.0).outcome == "holds"
    assert judged(Less(effect=0.10), "drops_per_s", 96.0, 100.0).outcome == "no effect"
    assert judged(Welch(up=False), "drops_per_s", 93.0, 100.0).outcome == "no effect"
    assert judged(Welch(up=False, effect=0.10), "drops_per_s", 93.0, 100.0).outcome == "holds"


def aggregate(relation: Overall, *sides: tuple[float, float]) -> Finding:
    """Of a rate ``x``, of which more is better, and a loss ``y``."""
    runs = [
        Run({"side": place, "when": when}, repetition, {"x": x * noise if when else None, "y": y / noise**2})
        for place, (x, y) in enumerate(sides)
        for when in (0, 1)
        for repetition, noise in enumerate(noise_of(place, repetition) for repetition in range(len(NOISE)))
    ]
    claim = Claim("q", "w", "", [{"side": place} for place in range(len(sides))], relation)
    return judge("p/f", claim, Measured(Size(1.0, 4), runs))


def test_an_aggregate_is_the_geometric_mean_of_what_is_better() -> None:
    """Twice the rate and half the loss are twice as good; beside a second one with 8 times the rate and the same loss
    it is (2 · 2 · 1/8 · 1)^(1/4) = 0.841 times as good."""
    both = (Term("x", True, {"when": 1}), Term("y", False, {"when": 0}))
    found = aggregate(Overall(both, 0.18), (2.0, 1.0), (1.0, 2.0))
    assert found.outcome == "holds"
    assert found.measured == pytest.approx(2.0)
    two = aggregate(Overall(both, 0.18), (2.0, 1.0), (1.0, 2.0), (16.0, 1.0))
    assert two.outcome == "opposite"
    assert two.measured == pytest.approx(0.5**0.25)
    assert aggregate(Overall(both, 0.18, 1.18), (1.18, 1.0), (1.0, 1.18)).outcome == "holds"
    assert aggregate(Overall(both, 0.18, 1.18), (1.5, 1.0), (1.0, 1.5)).outcome == "holds at another size"
    assert aggregate(Overall(both, 0.18, 1.18), (1.05, 1.0), (1.0, 1.05)).outcome == "no effect"
    assert aggregate(Overall(both, 0.18), (1.5, 0.0), (1.0, 1.5)).outcome == "inconclusive"
    assert aggregate(Overall([replace(both[0], where={"when": 0})], 0.18), (1.5, 1.0), (1.0, 1.0)).measured is None
    good = Overall(both[:1], 0.02, at_least=0.99)
    assert aggregate(good, (1.0, 1.0), (1.0, 1.0)).outcome == "holds"
    assert aggregate(good, (0.9, 1.0), (1.0, 1.0)).outcome == "opposite"


def finding(key: str, outcome: Any, **more: Any) -> dict[str, Any]:
    made = Finding("ccm-ss/fig12a", more.pop("quantity", "q"), "w", 1.0, 0.9, 1.1, outcome, "", headline=key, **more)
    return made.as_dict()


def test_a_headline_shows_its_kind_and_the_mixture_of_its_parts() -> None:
    """A check decides no headline that has a claim, and a headline of checks alone is none."""
    parts = "1 holds, 1 set-up cannot discriminate"
    found = [
        finding("ccm-ss:loss", "set-up cannot discriminate", parts=parts),
        finding("ccm-ss:goodput", "holds", parts="2 holds"),
        finding("ccm-ss:goodput", "opposite", kind="check", quantity="r"),
        finding("ccm-ss:exit", "holds", kind="check"),
        finding("ccm-ss:fairness", "holds"),
        finding("ccm-ss:fairness", "set-up cannot discriminate", quantity="r"),
    ]
    by_key = {row.headline.key.partition(":")[2]: row for row in rows([{"findings": found}])}
    loss, goodput, exits, fairness = (by_key[name] for name in ("loss", "goodput", "exit", "fairness"))
    assert (loss.outcome, loss.kind, loss.mixed) == ("set-up cannot discriminate", "claim", True)
    assert loss.tally == f"1 set-up cannot discriminate; of fig12a's parts {parts}"
    assert (goodput.outcome, goodput.kind, goodput.mixed, len(goodput.findings)) == ("holds", "claim", False, 2)
    assert (exits.kind, exits.counts, goodput.counts) == ("check", False, True)
    # Other evidence of a sentence may show what one set-up cannot.
    assert (fairness.outcome, fairness.mixed) == ("holds", True)


class Anything(dict[str, float | None]):
    """A value between 0.5 and 1 for any metric, the same for the same run."""

    def __init__(self, *run: object) -> None:
        super().__init__()
        self.run = run

    def __missing__(self, metric: str) -> float:
        digest = hashlib.sha256(repr((metric, *self.run)).encode()).digest()
        # Means differ by the labels, repetitions by little, so that all outcomes occur.
        label = hashlib.sha256(repr((metric, *self.run[:-1])).encode()).digest()
        return 0.5 + label[0] / 600 + digest[1] / 25_600


def table(experiments: Sequence[Experiment], shuffled: random.Random | None) -> list[tuple[Any, ...]]:
    """The headlines of invented runs, from runs, repetitions, claims and experiments in another order."""
    kept = []
    for one in experiments:
        size = one.quick
        order = list(range(size.repetitions))
        claims, cases = list(one.claims(size)), list(one.cases(size))
        if shuffled is not None:
            for each in (order, claims, cases):
                shuffled.shuffle(each)
        runs = [
            Run(case.labels, order[repetition], Anything(sorted(case.labels.items()), repetition))
            for case in cases
            for repetition in range(size.repetitions)
        ]
        if shuffled is not None:
            shuffled.shuffle(runs)
        found = [judge(one.id, claim, Measured(size, runs)).as_dict() for claim in claims]
        kept.append({"findings": found})
    if shuffled is not None:
        shuffled.shuffle(kept)
    return [
        (
            row.headline.key,
            row.outcome,
            row.kind,
            row.tally,
            [(each.id, each.quantity, each.outcome, each.reason, _rounded(each.measured)) for each in row.findings],
        )
        for row in rows(kept)
    ]


def _rounded(value: float | None) -> str:
    return "" if value is None else f"{value:.7g}"  # a sum in another order differs in its last bits


@pytest.mark.parametrize("paper", ["ccm-ss", "phcc"])
def test_the_table_of_headlines_does_not_depend_on_an_order(paper: str) -> None:
    """Not on that of readings and other runs, of repetitions, of claims, of experiments."""
    experiments = find(paper)
    first = table(experiments, None)
    assert len({row[1] for row in first}) > 2
    for seed in (1, 2):
        assert table(experiments, random.Random(seed)) == first


def test_a_value_beside_its_tolerance_is_another_size() -> None:
    """PHCC's 94 % against the 98 % of others: within 2 points one cannot be taken for the other."""
    assert judged(Value(0.94, points=0.02), "utilisation", 0.94).outcome == "holds"
    assert judged(Value(0.94, points=0.02), "utilisation", 0.98).outcome == "holds at another size"


def test_repetitions_with_one_result_decide_nothing() -> None:
    """Five copies of a run are one observation, whatever their ratio; what is counted zero times in each is known."""

    def copies(relation: Relation, *values: float, metric: str = "goodput_bps") -> Finding:
        runs = [
            Run({"side": place}, repetition, {metric: value})
            for place, value in enumerate(values)
            for repetition in range(5)
        ]
        sides = [{"side": place} for place in range(len(values))]
        return judge("p/f", Claim("q", "w", metric, sides, relation), Measured(Size(1.0, 5), runs))

    for relation, values in (
        (Greater(), (3.0, 1.0)),
        (Less(), (3.0, 1.0)),
        (Greater(1.5), (3.0, 3.0)),
        (RatioIn(0.9, 1.1), (3.0, 3.0)),
        (Welch(up=True), (3.0, 1.0)),
        (ValueIn(2.0, 4.0), (3.0,)),
        (Value(3.0), (3.0,)),
        (Greater(), (0.0, 3.0)),
        (Less(), (0.0, 3.0)),
    ):
        found = copies(relation, *values)
        assert found.outcome == "inconclusive", relation
        assert "5 repetitions, one result" in found.reason, relation
        assert found.measured_is != "p"
    assert copies(ValueIn(0.0, 1.0), 0.0, metric="timeouts").outcome == "holds"


def test_the_reason_says_how_many_pairs_of_runs_differ() -> None:
    """By hand: in one of two cells both sides are equal in all four repetitions, in the other they never are."""
    runs = [
        Run(
            {"side": side, "cell": cell},
            repetition,
            {"jain": 0.5 + 0.1 * side * cell + 0.01 * repetition * side * cell},
        )
        for side in (0, 1)
        for cell in (0, 1)
        for repetition in range(4)
    ]
    claim = Claim("q", "w", "jain", [{"side": 1}, {"side": 0}], Greater())
    found = judge("p/f", claim, Measured(Size(1.0, 4), runs))
    assert found.reason.endswith("(4 repetitions; 4 of 8 pairs of runs differ)")


def test_equal_pairs_have_values_on_both_sides() -> None:
    """By hand: of three cells with four repetitions each, two are equal on both sides, and one repetition of the third
    has no value on one. The three pairs that differ decide; one of twelve is without a value."""
    runs = [
        Run({"side": side, "cell": cell}, repetition, {"jain": value})
        for side in (0, 1)
        for cell in range(3)
        for repetition in range(4)
        for value in [None if side == 1 and cell == 2 and repetition == 3 else 0.5 + 0.01 * repetition]
    ]
    runs = [
        replace(run, values={"jain": 0.9 - run.values["jain"] / 10})
        if run.labels == {"side": 1, "cell": 2} and run.values["jain"] is not None
        else run
        for run in runs
    ]
    claim = Claim("q", "w", "jain", [{"side": 1}, {"side": 0}], Greater())
    found = judge("p/f", claim, Measured(Size(1.0, 4), runs))
    assert found.reason.startswith("3 of 11 pairs of runs differ; over these: ")
    assert found.reason.endswith("(3 repetitions; 1 of 12 pairs of runs have no value on one side)")


def test_parts_and_controls_without_values_are_no_error() -> None:
    """The first of three parts has no value in any run, one is opposite, one holds. A control whose metric has no value
    cannot say that the set-up discriminates."""
    values = {0: (None, None), 1: (1.0, 2.0), 2: (2.0, 1.0)}
    runs = [
        Run({"side": side, "x": part}, repetition, {"goodput_bps": one and one * noise_of(side, repetition), "y": None})
        for part, pair in values.items()
        for side, one in enumerate(pair)
        for repetition in range(len(NOISE))
    ]
    claim = Claim("q", "w", "goodput_bps", [{"side": 0}, {"side": 1}], Greater(), each="x")
    found = judge("p/f", claim, Measured(Size(1.0, 4), runs))
    assert (found.parts or "").count("opposite") == 1
    alike = [
        replace(run, values={"goodput_bps": 1.0 + run.repetition / 1000, "y": None})
        for run in runs
        if run.labels["x"] == 1
    ]
    control = Control("y", {"side": 1}, 0.0, 1.0, "nothing says")
    hidden = judge("p/f", replace(claim, each="", controls=[control]), Measured(Size(1.0, 4), alike))
    assert (hidden.outcome, "y –" in hidden.reason) == ("set-up cannot discriminate", True)
