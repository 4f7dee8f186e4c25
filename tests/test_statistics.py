"""Statistics against textbook answers and scipy's own."""

from __future__ import annotations

import math

import pytest
from cwndlab.statistics import bootstrap, difference, estimate, hedges, hedges_unpaired, welch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

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
    assert found.verdict == "higher"


def test_one_value_has_no_interval() -> None:
    one = estimate([3.0])
    assert (one.mean, one.low, one.high, one.half) == (3.0, None, None, None)
    assert difference([1.0], [2.0]).verdict == "not decided: one repetition"
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
    assert found.effect == pytest.approx(1.2846 * (1 - 3 / 35), abs=1e-4)
    assert found.effect_unpaired == pytest.approx(0.8322 * (1 - 3 / 71), abs=1e-4)
    assert found.ratio == pytest.approx(2.33 / 0.75)


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=20), st.floats(0.1, 10), st.floats(-100, 100))
def test_effects_have_no_unit_and_know_their_side(values: list[float], factor: float, shift: float) -> None:
    assume(max(values) - min(values) > 1e-3)
    scaled, found = hedges([factor * value for value in values]), hedges(values)
    assert scaled == pytest.approx(found, rel=1e-6, abs=1e-9)
    moved = hedges_unpaired(values, [value + shift for value in values])
    assert moved is not None
    assert math.copysign(1, moved) == math.copysign(1, shift) or abs(moved) < 1e-6
    back = hedges_unpaired([value + shift for value in values], values)
    assert back == pytest.approx(-moved, abs=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6))
def test_nothing_in_the_statistics_warns(values: list[float]) -> None:
    """Warnings are errors here; nearly equal values made scipy divide by zero."""
    difference(values, values[::-1])
    found = bootstrap(values, seed=1, draws=99)
    assert (found.low is None) == (len(values) < 3)
    assert found.low is None or not math.isnan(found.low)


def test_values_that_do_not_vary_have_no_test() -> None:
    assert welch([1.0, 1.0], [1.0, 1.0]) is None
    assert hedges([1.0, 1.0, 1.0]) is None
    assert hedges_unpaired([1.0, 1.0], [1.0, 1.0]) is None
    # Rounding of the mean makes the deviation of these 1.4e-17, not 0.
    assert hedges([0.1, 0.1, 0.1]) is None
    assert estimate([0.1, 0.1, 0.1]).half == 0.0


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
