"""The metrics of response, convergence, delay and company: on tables whose answers follow by hand, and on runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab import metrics
from cwndlab.simulate import run
from hypothesis import given, settings
from hypothesis import strategies as st


def _by_hand() -> ModuleType:
    """`tables` of the other tests of metrics."""
    spec = importlib.util.spec_from_file_location("by_hand", Path(__file__).with_name("test_metrics.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BY_HAND = _by_hand()
SECOND = 1_000_000_000


def tables(*flows: dict[str, Any], **more: Any) -> Any:
    return BY_HAND.tables(*flows, **more)


def transfers(*rows: tuple[float, float, int]) -> pl.DataFrame:
    """(start, span, bytes), seconds."""
    return pl.DataFrame(
        [
            {
                "flow": 0,
                "transfer": n,
                "start_ns": round(begin * SECOND),
                "end_ns": round((begin + span) * SECOND),
                "size_bytes": size,
            }
            for n, (begin, span, size) in enumerate(rows)
        ]
    )


def delivered(records: Any, series: dict[int, list[int]]) -> Any:
    """The samples with these cumulative bytes, one per second."""
    values = [series[flow][time // SECOND - 1] for time, flow in records.samples.select("time_ns", "flow").iter_rows()]
    records.samples = records.samples.with_columns(pl.Series("delivered_bytes", values))
    totals = [series[flow][-1] for flow in records.flows["flow"]]
    records.flows = records.flows.with_columns(pl.Series("delivered_bytes", totals))
    return records


def test_completion_times_by_size() -> None:
    """By hand: spans 1, 2, 3 s to 100 kB; 10 s at 1 MB; nothing over 10 MB. Percentiles are linear: of 1, 2, 3 the 95th
    is 2.9 and the 99th 2.98."""
    records = tables({})
    records.transfers = transfers((0, 1, 1_000), (0, 2, 100_000), (0, 3, 50_000), (0, 10, 1_000_000))
    found = metrics.completion_by_size(records)
    assert found["size"].to_list() == ["short", "medium", "long"]
    assert found["transfers"].to_list() == [3, 1, 0]
    assert found["median_completion_s"].to_list() == [2.0, 10.0, None]
    assert found["p95_completion_s"][0] == pytest.approx(2.9)
    assert found["p99_completion_s"][0] == pytest.approx(2.98)
    two = metrics.completion_by_size(records, sizes_bytes={"tiny": 1_000, "rest": None})
    assert two["transfers"].to_list() == [1, 3]
    assert metrics.summary(records)["p95_medium_completion_s"] == 10.0


@given(st.lists(st.tuples(st.floats(0.001, 5), st.integers(1, 10**9)), min_size=1, max_size=20))
@settings(max_examples=30)
def test_classes_of_size_hold_every_transfer_once(pairs: list[tuple[float, int]]) -> None:
    records = tables({})
    records.transfers = transfers(*((0.0, span, size) for span, size in pairs))
    assert metrics.completion_by_size(records)["transfers"].sum() == len(pairs)


def test_queueing_delay_over_time_and_of_packets() -> None:
    """By hand: 8 kbit/s sends a byte per ms; 0 … 900 B at ten instants wait 0 … 900 ms, whose median is 450, and 95 %
    lies at 0.95 · 9 = 8.55 of the way: 855. Packets of 100 B that leave 100, 150 and 300 ms after they came waited 0,
    50 and 200."""
    records = tables({}, links=[{"name": "bottleneck", "queue": [100 * n for n in range(10)]}])
    found = metrics.queueing_delay(records).row(0, named=True)
    assert (found["of"], found["p50_queue_ms"], found["p95_queue_ms"]) == ("time", 450.0, pytest.approx(855.0))
    ms = SECOND // 1000
    records.packets = pl.DataFrame(
        {"time_ns": [0, ms, 2 * ms, 3 * ms], "link": [0] * 4, "size_bytes": [100] * 4}
        | {"departure_ns": [100 * ms, 151 * ms, 302 * ms, None]}
    )
    found = metrics.queueing_delay(records).row(0, named=True)
    assert (found["of"], found["p50_queue_ms"]) == ("packets", pytest.approx(50.0))
    assert found["p99_queue_ms"] == pytest.approx(50 + 0.98 * 150)


@given(st.lists(st.integers(0, 10_000), min_size=10, max_size=10))
@settings(max_examples=30)
def test_percentiles_of_delay_are_in_order_and_within(waiting: list[int]) -> None:
    found = metrics.queueing_delay(tables({}, links=[{"name": "bottleneck", "queue": waiting}])).row(0, named=True)
    assert min(waiting) <= found["p50_queue_ms"] <= found["p95_queue_ms"] <= found["p99_queue_ms"] <= max(waiting)


def test_rtt_fairness_by_hand() -> None:
    """RTTs 1 and 4, goodputs 8 and 2: ratio 4 and 4, exponent 1; with 16 times the goodput the exponent is 2."""
    short, long = {"delivered_bytes": 8_000, "base_rtt_ns": SECOND}, {"name": "b", "base_rtt_ns": 4 * SECOND}
    row = metrics.rtt_fairness(tables(short, long | {"delivered_bytes": 2_000})).row(0, named=True)
    assert row == {"rtt_ratio": 4.0, "goodput_ratio": pytest.approx(4.0), "rtt_exponent": pytest.approx(1.0)}
    assert metrics.rtt_fairness(tables(short, long | {"delivered_bytes": 500}))["rtt_exponent"][0] == pytest.approx(2.0)
    assert metrics.rtt_fairness(tables(short, short))["rtt_exponent"][0] is None
    assert metrics.rtt_fairness(tables(short, long))["rtt_exponent"][0] is None
    assert metrics.rtt_fairness(tables(short))["rtt_ratio"][0] is None


@given(st.floats(-1, 3), st.lists(st.integers(1, 100), min_size=2, max_size=5, unique=True))
@settings(max_examples=30)
def test_a_power_law_has_its_exponent(exponent: float, rtts: list[int]) -> None:
    flows = [
        {"name": str(rtt), "base_rtt_ns": rtt * SECOND, "delivered_bytes": round(1e12 * rtt**-exponent)} for rtt in rtts
    ]
    found = metrics.rtt_fairness(tables(*flows))["rtt_exponent"][0]
    assert found == pytest.approx(exponent, abs=1e-3)


def test_delta_fair_convergence_by_hand() -> None:
    """From 2 s on two flows live. The late one gets 100, 400, 440, 450, 500 of 1000 a second: 45 % and more with δ =
    0.1, first in the window that ends at 6 s, 4 s after its start; with δ = 0.2, 40 %, after 2 s."""
    gains = [100, 400, 440, 450, 500, 500, 500, 500]
    late = [0, 0, *(sum(gains[: n + 1]) for n in range(8))]
    first = [1000, 2000, *(2000 + 1000 * (n + 1) - sum(gains[: n + 1]) for n in range(8))]
    records = delivered(tables({}, {"name": "b", "start_ns": 2 * SECOND}), {0: first, 1: late})
    assert metrics.delta_fairness(records).row(0) == (4.0, None)
    assert metrics.delta_fairness(records, delta=0.2)["delta_fair_s"][0] == 2.0
    assert metrics.delta_fairness(records, end_s=5).row(0) == (None, "not within 3 s")
    assert metrics.delta_fairness(tables({})).row(0) == (None, "fewer than two flows")
    assert metrics.delta_fairness(records, end_s=2).row(0) == (None, "no sample while all flows live")


@given(st.floats(0.01, 0.9), st.floats(0.0, 0.09))
@settings(max_examples=20)
def test_a_larger_delta_is_reached_no_later(delta: float, more: float) -> None:
    gains = [100, 250, 300, 400, 440, 450, 480, 500]
    late = [0, 0, *(sum(gains[: n + 1]) for n in range(8))]
    first = [1000, 2000, *(2000 + 1000 * (n + 1) - sum(gains[: n + 1]) for n in range(8))]
    records = delivered(tables({}, {"name": "b", "start_ns": 2 * SECOND}), {0: first, 1: late})
    small, large = (metrics.delta_fairness(records, delta=one)["delta_fair_s"][0] for one in (delta, delta + more))
    assert large <= small


def test_response_to_change_by_hand() -> None:
    """RTT and samples a second apart. Windows 10, 11, 13 | 6, 7, 8 around a congestion event after the third sample:
    the largest gain without one is 2; the largest cut 1 − 6 / 13; half of 13 is reached one RTT later."""
    records = tables({"cwnd": [10, 11, 13, 6, 7, 8], "rtt": SECOND}, seconds=6)
    records.samples = records.samples.with_columns(
        pl.when(pl.col("time_ns") >= 4 * SECOND).then(1).otherwise(0).alias("congestion_events"),
        (pl.col("time_ns")).alias("rtt_sum_ns"),
    )
    assert metrics.aggressiveness(records)["aggressiveness_segments"][0] == 2.0
    assert metrics.smoothness(records)["largest_cut"][0] == pytest.approx(7 / 13)
    assert metrics.responsiveness(records)["halving_rtts"][0] == 1.0
    assert metrics.responsiveness(records, at_s=2.0)["halving_rtts"][0] is None
    assert metrics.responsiveness(records, at_s=2.5, end_s=4)["halving_rtts"][0] is None
    assert metrics.responsiveness(records, at_s=3.0)["halving_rtts"][0] == 1.0


def test_gains_in_slow_start_and_recovery_do_not_count() -> None:
    """Of 1, 2, 4, 8 below the threshold and 8, 9 above it the largest gain is 1."""
    records = tables({"cwnd": [1, 2, 4, 8, 8, 9], "rtt": 1}, seconds=6)
    records.samples = records.samples.with_columns(
        ssthresh_bytes=pl.lit(8_000), rtt_sum_ns=pl.col("time_ns"), congestion_events=pl.lit(0)
    )
    assert metrics.aggressiveness(records)["aggressiveness_segments"][0] == 1.0
    records.samples = records.samples.with_columns(state=pl.lit(3))
    assert metrics.aggressiveness(records)["aggressiveness_segments"][0] is None


def test_a_window_that_only_falls_has_no_aggressiveness_and_a_missing_one_no_value() -> None:
    """By hand: of 9, 8, 7, 6 without a congestion event no RTT has a gain: 0, not −1. Where the windows of two instants
    are missing, as those of transfers that arrive, 5 to 7 is the largest gain and 7 to 5 the largest cut, 2/7."""
    falling = tables({"cwnd": [9, 8, 7, 6], "rtt": 1}, seconds=4)
    gaps = tables({"cwnd": [7, 5, 7, 7, 9, 9], "rtt": 1}, seconds=6)
    for records in (falling, gaps):
        records.samples = records.samples.with_columns(
            ssthresh_bytes=pl.lit(1_000), rtt_sum_ns=pl.col("time_ns"), congestion_events=pl.lit(0)
        )
    assert metrics.aggressiveness(falling)["aggressiveness_segments"][0] == 0.0
    missing = pl.col("time_ns").is_in([4 * SECOND, 6 * SECOND])
    gaps.samples = gaps.samples.with_columns(cwnd_bytes=pl.when(missing).then(None).otherwise(pl.col("cwnd_bytes")))
    assert metrics.aggressiveness(gaps)["aggressiveness_segments"][0] == 2.0
    assert metrics.smoothness(gaps)["largest_cut"][0] == pytest.approx(2 / 7)
    gaps.samples = gaps.samples.with_columns(cwnd_bytes=pl.lit(None, dtype=pl.Int64))
    for table in (metrics.aggressiveness(gaps), metrics.smoothness(gaps), metrics.responsiveness(gaps)):
        assert table[:, -1].to_list() == [None]


@given(st.lists(st.integers(1, 1000), min_size=10, max_size=10))
@settings(max_examples=30)
def test_cuts_are_parts_and_growth_has_none(windows: list[int]) -> None:
    def cut(values: list[int]) -> float:
        records = tables({"cwnd": values})
        records.samples = records.samples.with_columns(rtt_sum_ns=pl.col("time_ns"))
        found: float = metrics.smoothness(records)["largest_cut"][0]
        return found

    assert 0 <= cut(windows) < 1
    assert cut(sorted(windows)) == 0


def reno(algorithm: str, **changes: Any) -> cwndlab.Records:
    path = {"bottleneck": {"rate": "10 Mbps", "delay": "10 ms", "queue": {"kind": "droptail", "capacity": "1 bdp"}}}
    document = {"schema_version": 1, "duration": "60 s", "measure_from": "20 s", "dumbbell": path}
    flow = {"algorithm": algorithm, "rtt": "40 ms"}
    return run({**document, "sample_interval": "10 ms", "flow": [flow], **changes}, seed=1)


def test_reno_gains_one_segment_and_halves() -> None:
    """RFC 5681: at most one segment per RTT in congestion avoidance (and a sample's rounding of one more), half of the
    window at a loss. A line with a buffer of one BDP stays busy and adds 0 … 40 ms."""
    records = reno("newreno")
    found = metrics.summary(records)
    gain, cut = found["aggressiveness_segments"], found["largest_cut"]
    assert gain is not None
    assert cut is not None
    assert 0.4 <= gain <= 2.0
    assert cut >= 0.5
    assert found["load_latency_ms"] is not None
    assert 0 < found["load_latency_ms"] < 42
    assert found["power"] is not None
    assert 0.4 < found["power"] < 1
    halved = metrics.responsiveness(records)["halving_rtts"][0]
    assert halved is not None
    assert halved < 4


def test_oscillation_by_hand() -> None:
    """Gains of 1 and 3 in turn: mean 2, deviation 1, so 0.5 over 1 s; over 2 s every window has 4, so 0."""
    gains = [1, 3] * 5
    series = [sum(gains[: n + 1]) for n in range(10)]
    records = delivered(tables({}), {0: series})
    found = metrics.oscillation(records, scales_s=(0.5, 1.0, 2.0, 5.0, 10.0))
    # Samples begin at 1 s, before which nothing is delivered at 0 s. No sample tells half seconds.
    assert found["scale_s"].to_list() == [1.0, 2.0, 5.0, 10.0]
    assert found["windows"].to_list() == [10, 5, 2, 1]
    # Over 5 s there are 9 and 11.
    assert found["cov"].to_list() == [0.5, 0.0, 0.1, None]
    late = metrics.oscillation(records, scales_s=(1.0,), start_s=2.0)
    assert (late["windows"].to_list(), late["cov"].to_list()) == ([8], [0.5])


@given(st.lists(st.integers(1, 1000), min_size=10, max_size=10), st.integers(1, 1000))
@settings(max_examples=30)
def test_oscillation_has_no_unit(gains: list[int], factor: int) -> None:
    def cov(by: int) -> list[float | None]:
        series = [by * sum(gains[: n + 1]) for n in range(10)]
        found: list[float | None] = metrics.oscillation(delivered(tables({}), {0: series}))["cov"].to_list()
        return found

    assert cov(factor) == pytest.approx(cov(1))


def test_harm_by_hand() -> None:
    """Ware et al.: from 10 to 4 Mbit/s is a harm of 0.6; an RTT from 1 to 4 s of 0.75; a gain is below zero."""
    alone = tables({"delivered_bytes": 10_000, "rtt": 1})
    beside = tables({"delivered_bytes": 4_000, "rtt": 4}, {"name": "b", "delivered_bytes": 6_000})
    assert metrics.harm(beside, alone).rows() == [("a", 8_000.0, 3_200.0, pytest.approx(0.6))]
    assert metrics.harm(alone, beside)["harm"][0] == pytest.approx(-1.5)
    assert metrics.harm(beside, alone, metric="mean_rtt_ms")["harm"][0] == pytest.approx(0.75)
    with pytest.raises(cwndlab.ScenarioError, match="'cwnd' is none by which a flow is harmed\n  hint: take good"):
        metrics.harm(beside, alone, metric="cwnd")
    with pytest.raises(cwndlab.ScenarioError, match="baseline: has no flow that the records have\n  hint: there are a"):
        metrics.harm(tables({"name": "z"}), alone)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
@settings(max_examples=30)
def test_harm_is_at_most_all(solo: int, beside: int) -> None:
    found = metrics.harm(tables({"delivered_bytes": beside}), tables({"delivered_bytes": solo}))["harm"][0]
    assert found <= 1
    assert found == pytest.approx(1 - beside / solo)


def test_the_pipe_is_full_when_the_line_is_busy() -> None:
    """8 kbit/s is 1000 B a second: 0, 500, 950, 1000 in turn from the start; the flow begins at 0.5 s, and the third
    second is the first with 90 %."""
    records = tables({"start_ns": SECOND // 2}, seconds=4)
    sent = [0, 500, 1450, 2450]
    records.link_samples = records.link_samples.with_columns(pl.Series("sent_bytes", sent))
    assert metrics.fill(records)["time_to_full_utilisation_s"][0] == 2.5
    assert metrics.fill(records, full=0.96)["time_to_full_utilisation_s"][0] == 3.5
    assert metrics.fill(records, end_s=2)["time_to_full_utilisation_s"][0] is None


@given(st.floats(0.1, 1), st.floats(0.1, 1))
@settings(max_examples=20)
def test_a_fuller_pipe_takes_no_less_time(one: float, other: float) -> None:
    records = tables({}, seconds=4)
    records.link_samples = records.link_samples.with_columns(pl.Series("sent_bytes", [100, 600, 1550, 2550]))
    low, high = (metrics.fill(records, full=full)["time_to_full_utilisation_s"][0] for full in sorted((one, other)))
    assert low <= high


def test_latency_under_load_and_power_by_hand() -> None:
    """The line is busy from 5 s on; RTT samples of then are 3 s at a base RTT of 1 s: 2 s more, 20 trips a minute.
    Power: utilisation 0.5 / (2 s / 1 s)."""
    records = tables({})
    sent = [0, 0, 0, 0, 0, 1000, 2000, 3000, 4000, 5000]
    sums = [n * SECOND for n in range(1, 6)] + [(5 + 3 * n) * SECOND for n in range(1, 6)]
    records.link_samples = records.link_samples.with_columns(pl.Series("sent_bytes", sent))
    records.links = records.links.with_columns(sent_bytes=pl.lit(5_000))
    records.samples = records.samples.with_columns(pl.Series("rtt_sum_ns", sums), rtt_count=pl.col("time_ns") // SECOND)
    found = metrics.load_latency(records).row(0, named=True)
    assert (found["load_latency_ms"], found["responsiveness_rpm"]) == (pytest.approx(2_000), pytest.approx(20))
    assert metrics.load_latency(records, end_s=5)["load_latency_ms"][0] is None
    assert metrics.power(records)["power"][0] == pytest.approx(0.25)


def test_where_the_sum_of_rtts_is_null_there_is_no_mean() -> None:
    """It is null from 6 s on, as if it had passed 2⁶³ ns. Until then the RTT is 1 s."""
    records = tables({})
    sums = [n * SECOND for n in range(1, 6)] + [None] * 5
    records.samples = records.samples.with_columns(pl.Series("rtt_sum_ns", sums), rtt_count=pl.col("time_ns") // SECOND)
    assert metrics.rtt(records, end_s=5)["mean_rtt_ms"][0] == pytest.approx(1_000)
    assert metrics.rtt(records)["mean_rtt_ms"][0] is None
    assert metrics.summary(records)["mean_rtt_ms"] is None
    assert metrics.distribution(records, "rtt").rows() == [(1_000.0, 1.0)]


@given(st.integers(1, 100), st.integers(0, 10_000))
@settings(max_examples=20)
def test_power_is_between_nothing_and_one(rtt: int, sent: int) -> None:
    records = tables({"rtt": rtt}, links=[{"name": "bottleneck", "sent_bytes": sent}])
    found = metrics.power(records)["power"][0]
    assert found == pytest.approx(sent / 10_000 / rtt)


def test_the_warm_up_ends_where_the_goodput_has_settled() -> None:
    """100 B a second for 15 s, then 1000 B: MSER-5 cuts the first three batches of five seconds, of which the last ends
    at 15 s, and none of a steady run. A flow whose samples begin later delivered nothing before. A run too short for
    two batches has no cut."""
    gains = [100] * 15 + [1000] * 45
    records = delivered(tables({}, seconds=60), {0: [sum(gains[: n + 1]) for n in range(60)]})
    assert metrics.warm_up(records) == 15.0
    assert metrics.warm_up(records, end_s=9) is None
    assert metrics.warm_up(delivered(tables({}, seconds=60), {0: [n + 1 for n in range(60)]})) == 0.0
    late = delivered(tables({}, seconds=60), {0: [max(0, n - 9) for n in range(60)]})
    late.samples = late.samples.filter(pl.col("time_ns") >= 10 * SECOND)
    assert metrics.warm_up(late) == 10.0
    assert metrics.warm_up(late, end_s=9) is None


def test_only_what_is_asked_is_computed() -> None:
    records = tables({"delivered_bytes": 10_000})
    assert metrics.summary(records, metrics=["goodput_bps", "jain"]) == {"goodput_bps": 8_000.0, "jain": None}
    assert list(metrics.summary(records)) == list(metrics.COLUMNS)
    with pytest.raises(cwndlab.ArgumentError, match="goodputs"):
        metrics.summary(records, metrics=["goodputs"])
    names = [str(row["name"]) for row in metrics.listing()]
    assert [name for name in names if "@" not in name] == list(metrics.COLUMNS)
    assert {"share@FLOW", "jitter_ms@FLOW"} <= set(names)


@pytest.mark.parametrize("name", [*metrics.COLUMNS, "share@a"])
def test_a_metric_is_shown_in_the_unit_that_its_name_ends_with(name: str) -> None:
    """Names end with the unit of the values (SI prefixes: 1 Mbit/s = 10^6 bit/s); every formula is stated."""
    metric, name = metrics.COLUMNS[name], name.partition("@")[0]
    ends = {"_bps": ("Mbit/s", 1e-6), "_per_s": ("1/s", 1.0), "_ms": ("ms", 1.0), "_rpm": ("1/min", 1.0)}
    ends |= {"_ratio": ("%", 100.0), "_packets": ("packets", 1.0), "_rtts": ("RTTs", 1.0)}
    shown = {"": (metric.unit, metric.factor)} | ({} if name.startswith("cov_") else ends | {"_s": ("s", 1.0)})
    end = max((end for end in shown if name.endswith(end)), key=len)
    assert (metric.unit, metric.factor) == shown[end]
    assert metric.formula
    assert metric.unit != "%" or metric.factor == 100
