"""The names of cells: no two cells share one, however alike their values are."""

from __future__ import annotations

import cwndlab
import pytest
from cwndlab.study.sweeps import Sweep, sweep
from small_sweeps import small_sweep

RATE = "dumbbell.bottleneck.rate"
LOSS = "dumbbell.bottleneck.loss.p"


def bottlenecks(*labels: float | str) -> Sweep:
    """Two sites, of which the second has four times the rate of the first."""
    return small_sweep(product={}, zip=[{"@site": list(labels), RATE: ["5 Mbps", "20 Mbps"]}])


@pytest.mark.parametrize(
    ("values", "names"),
    [
        # Two coordinates 0.4 m apart, which six digits do not tell apart, and identifiers that "%g" writes as 1e+06.
        ((60.169857, 60.169861), ["60.169857", "60.169861"]),
        ((1000001, 1000002), ["1000001", "1000002"]),
        # Where six digits suffice, they are what a table shows.
        ((0.1 + 0.2, 20), ["0.3", "20"]),
    ],
)
def test_labels_that_agree_in_six_digits_are_two_cells(values: tuple[float, float], names: list[str]) -> None:
    result = cwndlab.compare(bottlenecks(*values))
    assert result.labels == names
    delta = result.difference(names[1], "goodput_bps")
    assert delta is not None
    # From 5 to 20 Mbit/s.
    assert delta.paired.mean > 1e6


def test_each_value_of_a_field_is_a_cell_of_its_own() -> None:
    losses = [0.1234567, 0.1234569, 0.2]
    lossy = small_sweep().base.with_({"dumbbell.bottleneck.loss": {"kind": "bernoulli", "p": 0.1}})
    result = sweep(small_sweep(base=lossy, product={LOSS: losses}))
    assert result.labels == ["0.1234567", "0.1234569", "0.2"]
    assert {len(result.rows_of(label)) for label in result.labels} == {3}
    assert not result.axes[0].is_described


def test_names_with_commas_do_not_run_together() -> None:
    first = {"@first": ["a, b", "a"], RATE: ["5 Mbps", "20 Mbps"]}
    second = {"@second": ["c", "b, c"], "flow[0].rtt": ["20 ms", "40 ms"]}
    result = sweep(small_sweep(product={}, zip=[first, second]))
    # By hand: "a, b" with "c" and "a" with "b, c" would both be "a, b, c".
    assert result.labels == ['"a, b", c', '"a, b", "b, c"', "a, c", 'a, "b, c"']
    assert {len(result.rows_of(label)) for label in result.labels} == {3}


def test_values_that_change_together_have_names_of_their_own() -> None:
    axis = {"@first": ["a, b", "a"], "@second": ["c", "b, c"], RATE: ["5 Mbps", "20 Mbps"]}
    result = sweep(small_sweep(product={}, zip=[axis]))
    assert result.labels == ['"a, b", c', 'a, "b, c"']
    assert [len(members) for members in result.groups.values()] == [2]
