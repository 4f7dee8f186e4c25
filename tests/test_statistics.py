"""Statistics against textbook answers and scipy's own."""

from __future__ import annotations

import math

import pytest
from cwndlab.reproduce.claims import geometric, judge_ratio
from cwndlab.statistics import bootstrap, difference, estimate, hedges, welch
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
    assert math.isnan(estimate([]).mean)


def test_series_of_other_lengths_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="equal lengths, not 1 and 2"):
        difference([1.0], [1.0, 2.0])


def test_values_that_do_not_vary_have_no_test() -> None:
    assert welch([1.0, 1.0], [1.0, 1.0]) is None
    assert hedges([1.0, 1.0, 1.0]) is None


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


def test_a_verdict_comes_from_the_interval() -> None:
    """By hand: ratios of 0.9 in all pairs reproduce "10 % lower"; of 0.5 the direction only; of 1.1 neither."""
    base = [100.0, 101.0, 99.0, 100.5]

    def verdict(factors: list[float], published: float | None) -> str:
        other = [value * factor for value, factor in zip(base, factors, strict=True)]
        return judge_ratio("x", "q", base, other, published=published, direction="lower", words="10 % lower").verdict

    assert verdict([0.90, 0.91, 0.89, 0.90], 0.9) == "reproduced"
    assert verdict([0.50, 0.51, 0.49, 0.50], 0.9) == "direction only"
    assert verdict([1.10, 1.11, 1.09, 1.10], 0.9) == "not reproduced"
    assert verdict([0.80, 1.20, 0.90, 1.10], 0.9) == "not reproduced"
    assert verdict([0.50, 0.51, 0.49, 0.50], None) == "reproduced"
    assert judge_ratio("x", "q", [0.0], [0.0], published=None, direction="lower", words="").verdict == "not testable"


def test_the_geometric_mean_is_that_of_ratios() -> None:
    assert geometric([2.0, 0.5]).mean == pytest.approx(1.0)
