"""Odd values of functions: a clear error, or what is right."""

from __future__ import annotations

import math
from typing import Any

import cwndlab
import pytest
from cwndlab import energy
from cwndlab.errors import ArgumentError, ScenarioError
from cwndlab.metrics import fairness, oscillation
from cwndlab.metrics.fairness import fairness_over_time
from cwndlab.statistics import cohens_dz, difference, estimate
from cwndlab.statistics.estimates import without_rounding
from cwndlab.study.compare import compare


def scenario(count: int = 2) -> cwndlab.Scenario:
    """Flows for half a second."""
    flows = [cwndlab.Flow("reno", rtt=f"{40 + 5 * number} ms") for number in range(count)]
    path = cwndlab.Dumbbell(cwndlab.Link(rate="10 Mbps", delay="5 ms"))
    return cwndlab.Scenario(duration="500 ms", dumbbell=path, flows=flows)


def test_a_value_that_is_no_number_is_no_copy_of_another() -> None:
    nan = math.nan
    found = without_rounding([1.0, nan], scale=3.0)
    assert found[0] == 1.0
    assert math.isnan(found[1])
    for values in ([1.0, nan], [nan, 1.0], [nan, nan]):
        assert not estimate(values).is_constant
        assert math.isnan(estimate(values).mean)
    with pytest.raises(ValueError, match="not a finite number"):
        difference([1.0, nan], [2.0, 3.0])


@pytest.mark.parametrize("scale", [1e3, 1e5, 1e6, 1e9, -1e9])
def test_a_large_effect_has_an_interval(scale: float) -> None:
    """Of three differences with s = 1, far from zero: T is the non-centrality / √(χ² / 2), whose quantiles are known in
    closed form, χ² = −2 ln(1 − q). By hand: √−ln 0.975 = 0.15912 and √−ln 0.025 = 1.92065 times the mean."""
    found = cohens_dz([scale - 1, scale, scale + 1])
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.mean == pytest.approx(scale)
    ratios = sorted((found.low / found.mean, found.high / found.mean))
    assert ratios == pytest.approx([0.15912, 1.92065], abs=1e-5)
    assert found.low < found.mean < found.high


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, "1 s"])
def test_a_window_without_a_length_is_refused(scale: Any) -> None:
    records = cwndlab.run(scenario(), seed=1)
    with pytest.raises(ArgumentError, match=r"scales_s: .* is not a length of time"):
        oscillation(records, scales_s=(scale,))
    # A window below a nanosecond is no multiple of the sampling interval.
    assert len(oscillation(records, scales_s=(1e-12,))) == 0


def test_a_run_without_stations_has_no_waits() -> None:
    records = cwndlab.run(scenario().with_(packets=True), seed=1)
    found = energy.sleep_waits(records, energy.PowerSave())
    assert (found.columns, len(found)) == (["medium", "station", "wait_s"], 0)


def test_a_flow_is_named_by_its_whole_name() -> None:
    """Among twelve flows the name ``flow10`` has ``flow1`` in it; one flow alone has no index."""
    records = cwndlab.run(scenario(12), seed=1)
    assert fairness(records, flows="flow10")["jain"].to_list() == [None]
    assert fairness_over_time(records, window_s=0.1, flows="flow10")["jain"].null_count() == 5
    pair = fairness(records, flows=["flow1", "flow10"])["jain"][0]
    assert 0.5 <= pair <= 1.0


def test_a_figure_of_nothing_is_refused() -> None:
    result = compare(scenario(), ["reno", "cubic"], seeds=1)
    with pytest.raises(ArgumentError, match="y: names no metric"):
        result.plot([])


def test_thresholds_are_marked_over_a_metric_too() -> None:
    """Goodput is drawn in Mbit/s, the queue in ms: both are marked, one across and one upright."""
    result = compare(scenario(), ["reno", "cubic"], seeds=2)
    figure = result.plot("goodput_bps", x="queue_ms", thresholds={"goodput_bps": 8.0, "queue_ms": 20.0})
    (panel,) = figure.panels
    assert list(panel.thresholds) == [(8.0, "8 Mbit/s")]
    assert [(one.label, list(one.x)) for one in panel.moments] == [("queue: 20 ms", [20.0])]


def test_one_repetition_decides_nothing_and_says_so() -> None:
    result = compare(scenario(), ["reno", "cubic"], seeds=1)
    assert result.verdicts() == ["cubic: one repetition, so nothing is decided."]
    assert "Inconclusive" not in result.verdicts()[0]


@pytest.mark.parametrize("field", ["pie.update", "fq-pie.update", "dualpi2.update", "ared.interval"])
def test_a_queue_that_updates_all_the_time_is_refused(field: str) -> None:
    """A pause of a second would take 10⁹ updates at once."""
    kind, name = field.split(".")
    link = {"rate": "10 Mbps", "delay": "10 ms", "queue": {"kind": kind, name: "999 ns"}}
    flows = [{"algorithm": "reno", "rtt": "40 ms"}]
    with pytest.raises(ScenarioError) as caught:
        cwndlab.run({"schema_version": 1, "duration": "1 s", "dumbbell": {"bottleneck": link}, "flow": flows}, seed=1)
    place = f"dumbbell.bottleneck.queue.{name}"
    assert f'{place}: 999 ns is less than 1 us\n  hint: write "1 ms"' in str(caught.value)
