"""Statistics against textbook answers and scipy's own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
import pytest
from cwndlab.errors import ScenarioError
from cwndlab.metrics import COLUMNS
from cwndlab.metrics.margins import margin, verdict_of
from cwndlab.statistics import (
    Decision,
    Estimate,
    Until,
    Verdict,
    bootstrap,
    cohens_dz,
    coverage,
    difference,
    enough,
    estimate,
    hedges,
    hedges_unpaired,
    holm,
    mser,
    paired_t,
    rank_biserial,
    shapiro,
    verdict,
    welch,
    wilcoxon,
)
from cwndlab.statistics.digits import effect_size
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

#: W. S. Gosset ("Student"), Biometrika 6, 1908, table of the sleep data: extra hours under two drugs, ten patients.
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_students_own_data_give_his_interval() -> None:
    """Paired: mean 1.58, 95 % interval 0.70 … 2.46; Welch's p is 0.0794 (as R's t.test prints them for `sleep`)."""
    found = difference(DRUG_1, DRUG_2)
    assert found.paired.mean == pytest.approx(1.58)
    assert found.paired.low == pytest.approx(0.7001142, abs=1e-6)
    assert found.paired.high == pytest.approx(2.4598858, abs=1e-6)
    assert found.welch_p == pytest.approx(0.07939414, abs=1e-7)
    # R prints t = 4.0621, p = 0.002833.
    assert found.p == pytest.approx(0.002833, abs=1e-6)
    assert verdict(found.paired, found.p) == Verdict(Decision.HIGHER)


def test_the_verdict_on_a_difference_needs_its_margin() -> None:
    """By hand, with a margin of 1: equivalence is an interval within it; without a margin nothing is equivalent."""

    def word(low: float, high: float, p: float | None = 0.01, margin: float = 1.0) -> str:
        return str(verdict(Estimate((low + high) / 2, low, high, 5), p, 1, margin=margin))

    assert word(-0.5, 0.5) == "no difference"
    assert word(0.1, 0.5) == "no relevant difference"
    assert word(-11000, 8000) == "inconclusive"
    assert word(0.5, 1.4) == "inconclusive"  # the mean, 0.95, is within the margin
    assert word(0.5, 2.5) == "higher, better"
    assert word(-2.5, -0.5) == "lower, worse"
    assert word(0.5, 2.5, 0.2) == "undecided after Holm"
    assert word(-0.5, 0.5, margin=0.0) == "inconclusive"
    assert word(0.0, 0.0, margin=0.0) == "no difference"


def test_margins_relate_to_the_reference() -> None:
    """0.006 Mbit/s of 100 is not a relevant difference of a goodput (1 %), 0.03 is one of Jain's index (0.02)."""
    goodput = difference([100e6, 100.001e6, 99.999e6], [100.006e6, 100.0071e6, 100.0049e6])
    assert str(verdict_of("goodput_bps", goodput, 0.01)) == "no relevant difference"
    assert str(verdict_of("jain", difference([0.90, 0.901, 0.899], [0.93, 0.9311, 0.929]), 0.01)) == "higher, better"
    assert (
        str(verdict_of("jain", difference([0.90, 0.901, 0.899], [0.91, 0.9111, 0.909]), 0.01))
        == "no relevant difference"
    )
    for metric in COLUMNS:
        assert margin(metric).around(1.0) > 0, metric


def test_large_effects_are_capped_in_print() -> None:
    assert effect_size(Estimate(-2050.0, -3422.0, -678.0, 3)) == "< -10"
    assert effect_size(Estimate(1.5, 0.25, 12.0, 5)) == "1.50 [0.25, > 10]"
    assert effect_size(None) == "–"


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_values_that_are_not_finite_have_no_difference(value: float) -> None:
    with pytest.raises(ValueError, match="not a finite number has no difference"):
        difference([value, 1.0, 2.0], [1.0, 2.0, 3.0])


def test_one_value_has_no_interval() -> None:
    one = estimate([3.0])
    assert (one.mean, one.low, one.high, one.half) == (3.0, None, None, None)
    assert str(verdict(difference([1.0], [2.0]).paired, None, 1)) == "not decided: one repetition"
    assert one.reason == "one value tells nothing of the spread"
    assert math.isnan(estimate([]).mean)
    assert estimate([]).reason == "no values"
    assert estimate([1.0, 2.0]).reason is None
    assert bootstrap([1.0, 2.0], seed=1).reason == "too few values"
    assert bootstrap([], seed=1).n == 0


def test_series_of_other_lengths_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="equal lengths, not 1 and 2"):
        difference([1.0], [1.0, 2.0])


def test_effect_sizes_are_those_of_the_sleep_data() -> None:
    """By hand from R's summary of `sleep`: t of the pairs is 4.0621, so d_z = t / √10 = 1.2846, J(9) = 1 − 3/35; means
    0.75 and 2.33 with s 1.789 and 2.002 give d = 1.58 / 1.8985 = 0.8322, J(18) = 1 − 3/71."""
    found = difference(DRUG_1, DRUG_2)
    assert found.effect is not None
    assert found.effect_unpaired is not None
    assert found.effect.mean == pytest.approx(1.2846 * (1 - 3 / 35), abs=1e-4)
    assert found.effect_unpaired.mean == pytest.approx(0.8322 * (1 - 3 / 71), abs=1e-4)
    assert found.ratio == pytest.approx(2.33 / 0.75)


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=20), st.floats(0.1, 10), st.floats(-100, 100))
def test_effects_have_no_unit_and_know_their_side(values: list[float], factor: float, shift: float) -> None:
    assume(max(values) - min(values) > 1e-3)
    scaled, found = hedges([factor * value for value in values]), hedges(values)
    assert scaled is not None
    assert found is not None
    assert scaled.mean == pytest.approx(found.mean, rel=1e-6, abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.mean < found.high
    moved = hedges_unpaired(values, [value + shift for value in values])
    assert moved is not None
    assert math.copysign(1, moved.mean) == math.copysign(1, shift) or abs(moved.mean) < 1e-6
    back = hedges_unpaired([value + shift for value in values], values)
    assert back is not None
    assert back.mean == pytest.approx(-moved.mean, abs=1e-9)
    ranks = rank_biserial([factor * value for value in values])
    assert ranks is not None
    assert -1 <= ranks.mean <= 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6))
def test_nothing_in_the_statistics_warns(values: list[float]) -> None:
    """Warnings are errors here; nearly equal values made scipy divide by zero."""
    difference(values, values[::-1])
    found = bootstrap(values, seed=1, draws=99)
    assert (found.low is None) == (len(values) < 3 or found.is_constant)
    # The square of a smaller deviation is zero.
    assert not found.is_constant or max(values) - min(values) < 1e-150
    assert found.low is None or not math.isnan(found.low)


def test_values_that_do_not_vary_have_no_test() -> None:
    assert welch([1.0, 1.0], [1.0, 1.0]) is None
    assert hedges([1.0, 1.0, 1.0]) is None
    assert hedges_unpaired([1.0, 1.0], [1.0, 1.0]) is None
    # Rounding of the mean makes the deviation of these 1.4e-17, not 0.
    assert hedges([0.1, 0.1, 0.1]) is None
    one = estimate([0.1, 0.1, 0.1])
    assert (one.half, one.is_constant, one.reason) == (None, True, "3 runs, one result")
    assert bootstrap([0.1, 0.1, 0.1], seed=1).reason == "3 runs, one result"
    assert paired_t([0.1, 0.1, 0.1]) is None
    assert paired_t([0.0, 0.0]) is None
    assert str(verdict(one, None, 1)) == "not decided: one result"
    # Within groups: servers that differ from each other, and whose rounds do not.
    assert estimate([1.0, 1.0, 3.0, 3.0], groups=["a", "a", "b", "b"]).is_constant
    assert enough([0.1, 0.1, 0.1])


@settings(max_examples=50)
@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=30), st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=30))
def test_no_p_value_is_zero_and_no_interval_a_point(first: list[float], second: list[float]) -> None:
    """The exact bound of a t-test is above zero: its tails have no end."""
    pairs = min(len(first), len(second))
    found = difference(first[:pairs], second[:pairs])
    assert all(p is None or p > 0 for p in (found.p, found.welch_p, found.wilcoxon_p, found.shapiro_p))
    assert (found.paired.low is None) == (found.p is None)


def test_a_p_value_below_the_smallest_number_is_no_zero() -> None:
    """t is about 1e15 with 29 degrees of freedom: p is about 1e-420, which double precision rounds to zero."""
    p = paired_t([1e15 + one for one in range(2)] * 15)
    assert p is not None
    assert 0 < p < 1e-100


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_the_interval_is_scipys(values: list[float]) -> None:
    assume(max(values) - min(values) > 1e-9 * max(1.0, *map(abs, values)))
    found = estimate(values)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.high
    low, high = stats.t.interval(0.95, len(values) - 1, loc=found.mean, scale=stats.sem(values))
    assert found.low == pytest.approx(low, rel=1e-6, abs=1e-6)
    assert found.high == pytest.approx(high, rel=1e-6, abs=1e-6)


def test_the_bootstrap_is_near_the_t_interval() -> None:
    found = bootstrap(DRUG_2, seed=1)
    assert found.low is not None
    assert found.low == pytest.approx(estimate(DRUG_2).low, abs=0.5)
    assert bootstrap(DRUG_2, seed=1) == found


#: F. Wilcoxon's own example, as scipy documents it: differences in height of pairs of corn plants (Darwin's).
CORN = [6.0, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]


def test_wilcoxons_own_example() -> None:
    """scipy's documentation prints p = 0.041259765625 for it; W⁻ = 10 + 14 = 24 of 120, so r = (96 − 24) / 120."""
    assert wilcoxon(CORN) == pytest.approx(0.041259765625)
    found = rank_biserial(CORN)
    assert found is not None
    assert found.mean == pytest.approx(0.6)
    # By hand: √(15 · 16 · 31 / 6) / 120 = 0.29344, atanh 0.6 = 0.69315, ± 1.95996 · 0.29344.
    assert [found.low, found.high] == pytest.approx([0.11746, 0.85333], abs=1e-5)


def test_small_samples_with_ties_are_counted_without_an_enumeration_of_their_signs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """scipy tries all signs one by one, which made the page of a sweep take half a minute. By hand: five equal amounts
    have rank 3 each; a sum of at least 12 has one negative sign at most, 6 of 32 cases, and p is twice that. Ranks 1.5,
    1.5, 3, 4 with 3 negative: 3 and below are {}, {1.5}, {1.5}, {1.5, 1.5}, {3}, 5 of 16 cases."""

    def enumerated(*_: object, **__: object) -> None:
        raise AssertionError("scipy enumerates the signs")

    monkeypatch.setattr("scipy.stats.wilcoxon", enumerated)
    assert wilcoxon([1.0, 1.0, 1.0, 1.0, -1.0]) == 12 / 32
    assert wilcoxon([0.0, 1.0, 1.0, -2.0, 3.0]) == 10 / 16
    assert wilcoxon([1.2, 0.8, 1.1, 0.9, 1.0]) == 2 / 32


def test_intervals_of_effects_are_those_that_r_documents() -> None:
    """The R package effectsize, vignette "Standardized Differences", on `sleep`: Cohen's d_z 1.28 [0.41, 2.12], Hedges'
    g 1.17 [0.38, 1.94] (its sign is of the first minus the second)."""
    deltas = [b - a for a, b in zip(DRUG_1, DRUG_2, strict=True)]
    for effect, answer in ((cohens_dz(deltas), (1.28, 0.41, 2.12)), (hedges(deltas), (1.17, 0.38, 1.94))):
        assert effect is not None
        assert (effect.mean, effect.low, effect.high) == pytest.approx(answer, abs=0.005)


@given(st.integers(3, 100), st.floats(-50, 50))
def test_an_effects_interval_has_its_quantiles(n: int, d: float) -> None:
    """Cumming and Finch: at the ends the observed t is the 97.5 % and the 2.5 % quantile."""
    base = [1.0, -1.0] * (n // 2) + [0.0] * (n % 2)
    spread = math.sqrt(sum(value**2 for value in base) / (n - 1))
    found = cohens_dz([value / spread + d for value in base])
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.mean < found.high
    for end, quantile in ((found.low, 0.975), (found.high, 0.025)):
        # Another implementation than the one that is inverted.
        assert stats.nct.cdf(d * math.sqrt(n), n - 1, end * math.sqrt(n)) == pytest.approx(quantile, abs=2e-3)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_the_paired_test_is_scipys_and_the_other_side_of_the_interval(deltas: list[float]) -> None:
    assume(max(deltas) - min(deltas) > 1e-100)  # the square of the deviation is a number
    found, p = estimate(deltas), paired_t(deltas)
    assert p is not None
    assert found.low is not None
    assert found.high is not None
    assume(min(abs(found.low), abs(found.high)) > 1e-9 * max(1.0, abs(found.mean)))
    assert (p < 0.05) == (found.low > 0 or found.high < 0)
    if max(deltas) - min(deltas) > 1e-6:
        assert p == pytest.approx(stats.ttest_1samp(deltas, 0.0).pvalue, rel=1e-6, abs=1e-12)


def test_shapiro_tells_a_line_from_a_spike() -> None:
    """scipy's documented example of the test, weights of eleven men: W = 0.79, p = 0.006703."""
    weights = [148.0, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236]
    assert shapiro(weights) == pytest.approx(0.006703814, abs=1e-6)
    assert shapiro([1.0, 1.0, 1.0]) is None
    assert shapiro([1.0, 2.0]) is None


def test_holm_by_hand() -> None:
    """0.005 · 4, 0.01 · 3, 0.03 · 2, and 0.04, which is no less than the one before."""
    assert holm([0.01, 0.04, None, 0.03, 0.005]) == pytest.approx([0.03, 0.06, None, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_statsmodels_own_and_between_none_and_bonferroni(
    p_values: list[float],
) -> None:
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        assert adjusted is not None
        assert p <= adjusted <= 1
        assert adjusted >= min(p_values) * len(p_values) or adjusted == 1
    with patch("gc.collect"):  # theirs collects garbage in each call
        theirs = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(theirs.tolist())
    least = min(range(len(p_values)), key=lambda index: p_values[index])
    assert holm(p_values)[least] == min(1.0, p_values[least] * len(p_values))


def test_better_needs_an_interval_and_holm() -> None:
    up, across = Estimate(2.0, 1.0, 3.0, 10), Estimate(2.0, -1.0, 5.0, 10)
    assert str(verdict(up, 0.01, 1)) == "higher, better"
    assert str(verdict(up, 0.01, -1)) == "higher, worse"
    assert str(verdict(up, 0.01, 0)) == "higher"
    assert str(verdict(up, 0.05, 1)) == "undecided after Holm"
    assert str(verdict(across, 0.0, 1)) == "inconclusive"
    assert str(verdict(Estimate(-2.0, -3.0, -1.0, 10), 0.01, -1)) == "lower, better"


@given(st.floats(-10, 10), st.floats(0, 10), st.floats(0, 1), st.sampled_from([-1, 0, 1]))
def test_nothing_is_better_whose_interval_holds_zero(mean: float, half: float, p: float, direction: int) -> None:
    result = verdict(Estimate(mean, mean - half, mean + half, 5), p, direction)
    if mean - half <= 0 <= mean + half or p >= 0.05 or direction == 0:
        assert result.is_wanted is None
        assert not re.search("better|worse", str(result))
    assert verdict(Estimate(-mean, -mean - half, -mean + half, 5), p, -direction).is_wanted == result.is_wanted


def test_enough_by_hand() -> None:
    """Half of the interval of 99, 100, 101 is 4.303 · 1 / √3 = 2.484: 2.484 % of the mean."""
    assert not enough([99.0, 100.0, 101.0], within=0.0248)
    assert enough([99.0, 100.0, 101.0], within=0.0249)
    assert enough([99.0, 100.0, 101.0], within=0.02, confidence=0.9)  # t is 2.920: 1.686 %
    assert not enough([5.0])
    assert not enough([])
    assert enough([0.0, 0.0])
    assert not enough([-1.0, 1.0])


def test_a_stopping_rule_is_read_and_says_what_is_wrong() -> None:
    names = ["goodput_bps", "sent_goodput_bps", "jain"]
    rule = Until.parse("goodput_bps within 2 %", names, at_most=50)
    assert rule == Until("goodput_bps", 0.02, 50, 10)
    assert Until.parse(" jain  within .5%", names, at_most=4) == Until("jain", 0.005, 4, 4)
    assert str(rule) == "goodput_bps within 2 %, at most 50"
    for text, message in (
        ("goodput_bps", "until: 'goodput_bps' is not a stopping rule\n  hint: write until='goodput_bps within 2 %'"),
        ("goodput_bps within 0 %", "is not a stopping rule"),
        ("goodput within 2 %", "no metric is called 'goodput'\n  hint: did you mean 'goodput_bps'?"),
    ):
        with pytest.raises(ScenarioError) as caught:
            Until.parse(text, names, at_most=50)
        assert message in str(caught.value)
    with pytest.raises(ScenarioError, match="at_most: '1' repetitions have no interval"):
        Until.parse("jain within 2 %", names, at_most=1)


def test_a_stopping_rule_looks_every_five_and_stops() -> None:
    rule = Until("x", 0.02, at_most=22)
    wide, narrow = [1.0, 3.0] * 11, [1.0] * 22
    assert rule.more(0, [[]]) == 10
    assert rule.more(10, [narrow[:10]]) == 0
    assert rule.more(10, [narrow[:10], wide[:10]]) == 5
    assert rule.more(20, [wide[:20]]) == 2
    assert rule.more(22, [wide]) == 0


def test_stopping_early_costs_little_coverage() -> None:
    """Of 1000 normal series per spread, at a fixed seed. A fixed number of values holds 95 % (binomial s.d. 0.7 %);
    stopping when the interval is narrow holds less where the rule has looked once or twice at an interval nearly as
    wide as asked, by no more than 3 points; where the first look decides it holds more."""
    fixed, _ = coverage(0.05, Until("x", 1e-9, at_most=10), runs=1000, seed=1)
    assert fixed == pytest.approx(0.95, abs=0.02)
    for spread in (0.01, 0.03, 0.05):
        held, count = coverage(spread, Until("x", 0.02, at_most=200), runs=1000, seed=1)
        assert held >= 0.92, spread
    # 1.96 · 0.05 / √n = 0.02 at n = 24; Student's t and the steps of five ask for a little more.
    assert 24 <= count <= 30


def test_intervals_hold_the_true_mean_as_often_as_they_say() -> None:
    """2000 series of ten at a fixed seed: normal ones, and exponential ones, for which t of ten values is known to hold
    about 90 % (J. Boos, J. Hughes-Oliver, Am. Stat. 54, 2000, on skewness)."""
    source = np.random.default_rng(1)

    def held(draw: Callable[[], Sequence[float]], mean: float) -> float:
        ends = [estimate(draw()) for _ in range(2000)]
        return sum(one.low is not None and one.high is not None and one.low <= mean <= one.high for one in ends) / 2000

    assert held(lambda: source.normal(3, 2, 10).tolist(), 3.0) == pytest.approx(0.95, abs=0.015)
    assert held(lambda: source.exponential(1, 10).tolist(), 1.0) == pytest.approx(0.90, abs=0.03)


def test_holm_keeps_the_family_and_no_correction_does_not() -> None:
    """Ten comparisons of nothing, 1000 times: one falsely told in 1 − 0.95¹⁰ = 40 % without, in 5 % with Holm."""
    source = np.random.default_rng(1)
    bare = corrected = 0
    for _ in range(1000):
        found = [paired_t(source.normal(0, 1, 10).tolist()) for _ in range(10)]
        bare += any(p is not None and p < 0.05 for p in found)
        corrected += any(p is not None and p < 0.05 for p in holm(found))
    assert bare / 1000 == pytest.approx(0.401, abs=0.05)
    assert corrected / 1000 == pytest.approx(0.05, abs=0.025)


def test_mser_cuts_where_the_level_changes() -> None:
    """By hand: of 10 values at 100 and 90 at 1 every later cut leaves zeros only, the first of which is at 10; nothing
    to cut in a constant series; a series that falls to its end never settles."""
    assert mser([100.0] * 10 + [1.0] * 90) == 10
    assert mser([1.0] * 50) == 0
    assert mser([float(100 - n) for n in range(100)]) is None
    assert mser([1.0] * 9) is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=80), st.just(4.0))
def test_mser_has_no_unit_and_cuts_less_than_half(values: list[float], factor: float) -> None:
    cut = mser(values)
    assert cut is None or (cut % 5 == 0 and cut < len(values) / 2)
    assert mser([factor * value for value in values]) == cut  # a power of two, so that nothing is rounded
