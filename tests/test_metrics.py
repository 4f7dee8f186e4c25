"""Metrics on runs whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cwndlab
import pytest
from cwndlab import metrics
from cwndlab.run import run


def path(**changes: Any) -> dict[str, Any]:
    """A flow alone: 12 Mbit/s, 1 BDP of 40 packets."""
    return {
        "schema_version": 1,
        "duration": "20 s",
        "measure_from": "5 s",
        "dumbbell": {"bottleneck": {"rate": "12 Mbps", "delay": "10 ms", "queue": {"capacity": "1 bdp"}}},
        "flow": [{"algorithm": "reno", "rtt": "40 ms"}],
        **changes,
    }


@pytest.fixture(scope="module")
def alone() -> cwndlab.Records:
    return run(path(), seed=1)


def test_a_full_pipe_is_used_and_carries_its_payload(alone: cwndlab.Records) -> None:
    """By hand: 12 Mbit/s in packets of 1500 bytes with 1448 of payload are 11.584 Mbit/s."""
    assert metrics.utilisation(alone)["utilisation"][0] == pytest.approx(1.0, abs=0.005)
    assert metrics.goodput(alone)["goodput_bps"][0] == pytest.approx(11.584e6, rel=0.005)
    assert metrics.throughput(alone)["throughput_bps"][0] == pytest.approx(12e6, rel=0.01)


def test_queue_and_rtt_say_the_same(alone: cwndlab.Records) -> None:
    """RTT = 40 ms + waiting + serialisation of 1 ms: the mean queue in ms and the mean RTT agree."""
    queued = metrics.queue(alone)["queue_ms"][0]
    assert metrics.rtt(alone)["mean_rtt_ms"][0] == pytest.approx(41.0 + queued, abs=1.0)
    assert metrics.queue(alone)["queue_packets"][0] == pytest.approx(queued, rel=0.01)  # 1 ms a packet


def test_drops_are_congestion_events_of_a_lone_reno(alone: cwndlab.Records) -> None:
    events = metrics.timeouts(alone)
    assert metrics.loss(alone)["drops"][0] >= events["congestion_events"][0] > 0
    assert metrics.loss(alone)["drops_per_s"][0] == pytest.approx(metrics.loss(alone)["drops"][0] / 15)


@pytest.mark.parametrize(
    ("values", "index"),
    [([58, 72, 68], 0.992), ([62, 88, 46], 0.934), ([62, 48, 85], 0.948), ([50, 45, 82], 0.928), ([0, 0], None)],
)
def test_jains_index_of_the_phcc_papers_tables(values: list[float], index: float | None) -> None:
    """Throughputs of Table 2 of the PHCC paper; its own 0.99 for 62/48/85 does not follow from them."""
    found = metrics.jain(values)
    assert found == (None if index is None else pytest.approx(index, abs=0.0006))


def test_convergence_counts_from_the_second_start() -> None:
    flows = [{"algorithm": "reno", "rtt": "40 ms"}, {"algorithm": "reno", "rtt": "40 ms", "start": "3 s"}]
    records = run(path(flow=flows, duration="60 s"), seed=1)
    found = metrics.convergence(records)["convergence_s"][0]
    assert 0 < found < 57
    assert metrics.convergence(run(path(), seed=1))["convergence_s"][0] is None


def test_two_equal_flows_are_fair_and_friendly_to_their_own_kind() -> None:
    flows = [{"algorithm": "reno", "rtt": "40 ms", "count": 2}]
    records = run(path(flow=flows, duration="120 s", start_jitter="rtt"), seed=2)
    assert metrics.fairness(records)["jain"][0] > 0.9
    assert len(metrics.fairness_over_time(records, window_s=10)) == 11
    name = records.flows["algorithm"][0]
    assert metrics.friendliness(records, records, algorithm=name)["friendliness"][0] == pytest.approx(1.0)


def test_transfers_have_completion_times() -> None:
    workload = {"kind": "transfers", "bytes": "100 kB", "count": 5, "new_connection": True}
    records = run(path(flow=[{"algorithm": "reno", "rtt": "40 ms", "workload": workload}]), seed=1)
    found = metrics.completion(records)
    assert found["transfers"][0] == 5
    assert found["median_s"][0] < 0.5


@pytest.mark.parametrize("metric", [metrics.goodput, metrics.loss, metrics.queue, metrics.rtt, metrics.cwnd])
def test_an_interval_can_be_named(alone: cwndlab.Records, metric: Callable[..., Any]) -> None:
    assert not metric(alone, start_s=0.0, end_s=1.0).equals(metric(alone, start_s=10.0, end_s=20.0))
