"""Metrics: on tables whose answers follow by hand, and on runs whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import cwndlab
import polars as pl
import pytest
from cwndlab import metrics
from cwndlab.metrics import interval
from cwndlab.metrics.core import MeasuredRun
from cwndlab.simulate import run
from hypothesis import given
from hypothesis import strategies as st

SECOND = 1_000_000_000


class Tables:
    """Tables as a run of ``seconds`` leaves them, made by hand: a sample per second."""

    def __init__(self, seconds: int, flows: list[dict[str, Any]], links: list[dict[str, Any]], **more: Any) -> None:
        flow = {
            "name": "a",
            "algorithm": "reno",
            "mss_bytes": 1000,
            "base_rtt_ns": SECOND,
            "start_ns": 0,
            "end_ns": None,
            "min_rtt_ns": None,
            "mean_rtt_ns": None,
            "profile": "linux",
            "route": "0",
            "mean_delay_ns": None,
            "jitter_ns": None,
            "sent_packets": 0,
            "queue_drops": 0,
            "wire_losses": 0,
        }
        count = {"delivered_bytes": 0, "sent_bytes": 0, "wire_bytes": 0, "retransmitted_bytes": 0} | {
            "retransmitted_packets": 0,
            "timeouts": 0,
            "recoveries": 0,
            "ecn_reductions": 0,
        }
        link = {
            "name": "x",
            "rate_bps": 8000,
            "capacity_packets": 10,
            "capacity_bytes": None,
            "arrived_packets": 0,
            "dropped_packets": 0,
            "lost_packets": 0,
            "sent_bytes": 0,
            "mean_queue_packets": 0.0,
            "mean_queue_bytes": 0.0,
            "max_queue_packets": 0,
            "utilisation": 0.0,
            "carriable_bytes": None,
        }
        self.document: dict[str, Any] = {}
        self._run = {"duration_ns": seconds * SECOND, "sample_interval_ns": SECOND, "measure_from_ns": 0} | more
        self.flows = _frame([flow | count | {"flow": n} | one for n, one in enumerate(flows)], "end_ns", "min_rtt_ns")
        self.links = _frame(
            [link | {"link": n} | one for n, one in enumerate(links)], "capacity_bytes", "carriable_bytes"
        )
        self.samples = self._samples(flows)
        self.link_samples = self._link_samples(links)
        columns = ("time_ns", "link", "size_bytes", "departure_ns")
        self.packets = pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64))
        self.transfers = pl.DataFrame(
            schema=dict.fromkeys(("flow", "transfer", "start_ns", "end_ns", "size_bytes"), pl.Int64)
        )

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [self._run] if table == "runs" else self.frame(table).rows(named=True)

    def frame(self, table: str) -> pl.DataFrame:
        found: pl.DataFrame = getattr(self, table)
        return found

    def height(self, table: str) -> int:
        return len(self.frame(table))

    def _samples(self, flows: list[dict[str, Any]]) -> pl.DataFrame:
        """Counters grow evenly from start to end; windows are as ``cwnd`` lists them."""
        counters = ("delivered_bytes", "sent_bytes", "retransmitted_packets", "retransmitted_bytes", "timeouts")
        rows = []
        for number, flow in enumerate(flows):
            begin = flow.get("start_ns", 0)
            end = flow.get("end_ns") or self._run["duration_ns"]
            for time in range(SECOND, self._run["duration_ns"] + 1, SECOND):
                if time < begin:
                    continue
                part = (min(time, end) - begin) / (end - begin)
                windows = flow.get("cwnd", [10])
                at = min(time // SECOND - 1, len(windows) - 1)
                rows.append(
                    {"time_ns": time, "flow": number, "cwnd_bytes": windows[at] * 1000, "congestion_events": 0}
                    | {name: round(flow.get(name, 0) * part) for name in counters}
                    | {"ssthresh_bytes": None, "state": 0}
                    | {"rtt_sum_ns": flow.get("rtt", 0) * time, "rtt_count": time // SECOND, "srtt_ns": None}
                )
        return _frame(rows, "srtt_ns", "ssthresh_bytes")

    def _link_samples(self, links: list[dict[str, Any]]) -> pl.DataFrame:
        counters = ("arrived_packets", "dropped_packets", "lost_packets", "sent_bytes")
        duration = self._run["duration_ns"]
        return _frame(
            [
                {"time_ns": time, "link": number}
                | {name: round(link.get(name, 0) * time / duration) for name in counters}
                | {"queue_bytes": link.get("queue", [0])[(time // SECOND - 1) % len(link.get("queue", [0]))]}
                | {"carriable_bytes": None, "queue_age_ns": None}
                | {f"queue_{one}_ns": round(link.get(f"mean_queue_{one}s", 0) * time) for one in ("packet", "byte")}
                for number, link in enumerate(links)
                for time in range(SECOND, duration + 1, SECOND)
            ],
            "carriable_bytes",
            "queue_age_ns",
        )


def _frame(rows: list[dict[str, Any]], *nullable: str) -> pl.DataFrame:
    frame = pl.DataFrame(
        [{key: value for key, value in row.items() if key not in ("cwnd", "rtt", "queue")} for row in rows]
    )
    return frame.with_columns(pl.col(name).cast(pl.Int64) for name in nullable if name in frame.columns)


def tables(*flows: dict[str, Any], seconds: int = 10, **more: Any) -> cwndlab.Records:
    links = more.pop("links", [{"name": "bottleneck"}])
    return cast(cwndlab.Records, Tables(seconds, list(flows), links, **more))


def test_goodput_is_over_the_time_that_a_flow_lived() -> None:
    """By hand: 10 kB in 10 s are 8 kbit/s; 6 kB from 2 s to 5 s are 16 kbit/s; together 16 kB in 10 s."""
    late = {"name": "b", "delivered_bytes": 6_000, "start_ns": 2 * SECOND, "end_ns": 5 * SECOND}
    records = tables({"delivered_bytes": 10_000, "sent_bytes": 12_000, "retransmitted_bytes": 1_000}, late)
    found = metrics.goodput(records)
    assert found["goodput_bps"].to_list() == [8_000.0, 16_000.0]
    assert found["sent_goodput_bps"][0] == pytest.approx(8_800.0)
    assert metrics.total_goodput(records)["goodput_bps"][0] == pytest.approx(12_800.0)
    assert metrics.goodput(records, start_s=5, end_s=8)["goodput_bps"].to_list() == [8_000.0, None]


def test_a_flow_that_does_not_live_in_the_interval_counts_in_no_index() -> None:
    late = {"name": "b", "delivered_bytes": 6_000, "start_ns": 2 * SECOND, "end_ns": 5 * SECOND}
    records = tables({"delivered_bytes": 10_000}, late)
    assert metrics.fairness(records, end_s=2)["jain"][0] is None  # one flow shares with nobody
    assert metrics.fairness(records)["jain"][0] == pytest.approx((8 + 16) ** 2 / (2 * (8**2 + 16**2)))
    over_time = metrics.fairness_over_time(records, window_s=2)
    assert over_time["time_s"].to_list() == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert over_time["jain"].to_list() == [None, pytest.approx(0.9), pytest.approx(0.9), None, None]
    assert metrics.fairness(records, flows=["b"])["jain"][0] is None


def test_throughput_has_headers_and_retransmissions() -> None:
    records = tables({"sent_bytes": 10_000, "wire_bytes": 10_400, "delivered_bytes": 9_000})
    assert metrics.throughput(records)["throughput_bps"][0] == pytest.approx(8_320.0)
    assert metrics.throughput(records, start_s=4, end_s=6)["throughput_bps"][0] == pytest.approx(8_320.0)


def test_the_bottleneck_is_known_by_its_name_else_by_its_use() -> None:
    unlimited = {"name": "access", "capacity_packets": None, "utilisation": 1.0}
    named = [{"name": "bottleneck-reverse", "utilisation": 0.9}, {"name": "bottleneck", "utilisation": 0.1}]
    hops = [{"name": "hop1", "utilisation": 0.5}, {"name": "hop2", "utilisation": 0.7}]

    def order(links: list[dict[str, Any]]) -> list[str]:
        return [link["name"] for link in MeasuredRun(tables({}, links=links)).bottlenecks]

    assert order([unlimited, *hops, *named]) == ["bottleneck", "bottleneck-reverse", "hop2", "hop1"]
    assert order([unlimited, *hops]) == ["hop2", "hop1"]
    assert order([unlimited]) == ["access"]
    assert order([unlimited | {"rate_bps": None}]) == []


def test_where_there_is_no_bottleneck_there_is_no_number_of_it() -> None:
    found = metrics.summary(tables({"delivered_bytes": 1}, links=[{"rate_bps": None}]))
    assert found["utilisation"] is None
    assert found["goodput_bps"] == pytest.approx(0.8)


def test_queue_loss_and_utilisation_by_hand() -> None:
    """8 kbit/s for 10 s are 10 kB: 9 kB are 90 %; 5 packets of 500 B wait on the mean: 2.5 s of the rate."""
    link = {"name": "bottleneck", "sent_bytes": 9_000, "arrived_packets": 100, "dropped_packets": 20, "lost_packets": 5}
    records = tables({}, links=[link | {"mean_queue_packets": 5.0, "mean_queue_bytes": 2_500.0}])
    for at in ({}, {"start_s": 2.0, "end_s": 6.0}):
        row = metrics.per_link(records, **at).row(0, named=True)
        assert row["utilisation"] == pytest.approx(0.9)
        assert (row["queue_packets"], row["queue_ms"]) == (pytest.approx(5.0), pytest.approx(2_500.0))
        assert (row["drops_per_s"], row["loss_ratio"]) == (pytest.approx(2.0), pytest.approx(0.2))
    assert row["drops"] == 8
    assert row["wire_losses"] == 2


def test_convergence_counts_from_the_second_start() -> None:
    """80 % of 100 are 80: reached at 7 s, 4.5 s after the second start."""
    second = {"name": "b", "start_ns": 2 * SECOND + SECOND // 2, "cwnd": [0, 0, 10, 30, 50, 79, 80, 20, 20, 20]}
    assert metrics.convergence(tables({"cwnd": [100]}, second))["convergence_s"][0] == 4.5
    assert metrics.convergence(tables(second, {"cwnd": [100]}))["convergence_s"][0] == 4.5
    assert metrics.convergence(tables({"cwnd": [100]}, second), end_s=6).row(0) == (None, "not within 3.5 s")
    assert metrics.convergence(tables({})).row(0) == (None, "fewer than two flows")
    gone = {"end_ns": 2 * SECOND, "cwnd": [100]}
    assert metrics.convergence(tables(gone, second)).row(0) == (None, "no sample while both flows live")


def test_mean_window_and_rtt_are_of_the_interval() -> None:
    records = tables({"cwnd": [10, 20, 30, 40, 50], "rtt": 2}, seconds=5)
    assert metrics.cwnd(records)["mean_cwnd_segments"][0] == 30.0
    assert metrics.cwnd(records, start_s=3)["mean_cwnd_segments"][0] == 45.0
    # 2 s an RTT sample, one per second, by construction.
    assert metrics.rtt(records, start_s=1, end_s=4)["mean_rtt_ms"][0] == pytest.approx(2_000.0)
    assert metrics.rtt(records)["min_rtt_ms"][0] is None


def test_friendliness_is_the_share_that_is_left() -> None:
    mixed = tables({"delivered_bytes": 3_000}, {"name": "b", "algorithm": "bic", "delivered_bytes": 7_000})
    alone = tables({"delivered_bytes": 5_000}, {"name": "b", "delivered_bytes": 5_000})
    assert metrics.friendliness(mixed, alone, algorithm="reno")["friendliness"][0] == pytest.approx(0.6)
    with pytest.raises(cwndlab.ScenarioError, match="records: not all of the flows compared are of 'cubic'"):
        metrics.friendliness(mixed, alone, algorithm="cubic")
    with pytest.raises(cwndlab.ScenarioError, match="baseline: not all of the flows compared are of 'bic'"):
        metrics.friendliness(mixed, alone, algorithm="bic")


@pytest.mark.parametrize(("start", "end"), [(3.0, 3.0), (4.0, 2.0), (-1.0, 2.0), (0.0, 10.5)])
def test_an_interval_that_is_none_says_so(start: float, end: float) -> None:
    with pytest.raises(
        cwndlab.ScenarioError, match=r"is not an interval of the run\n  hint: name one between 0 s and 10"
    ):
        metrics.goodput(tables({}), start_s=start, end_s=end)


def test_an_interval_moves_to_samples() -> None:
    records = tables({})
    assert interval.bounds(records, 1.2, 3.9) == (SECOND, 3 * SECOND)
    assert interval.bounds(records, None, None) == (0, 10 * SECOND)
    with pytest.raises(cwndlab.ScenarioError, match=r"no samples tell 1.2 s to 1.9 s apart"):
        interval.bounds(records, 1.2, 1.9)
    assert interval.bounds(tables({}, measure_from_ns=2 * SECOND), None, None).start_ns == 2 * SECOND


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


@pytest.fixture(scope="module")
def pair() -> cwndlab.Records:
    """Two flows that meet losses, one from 3 s on; the duration is not a multiple of the sampling interval."""
    flows = [{"algorithm": "reno", "rtt": "40 ms"}, {"algorithm": "cubic", "rtt": "60 ms", "start": "3 s"}]
    return run(path(flow=flows, duration="12.05 s", measure_from="0 s"), seed=1)


def test_a_full_pipe_is_used_and_carries_its_payload(alone: cwndlab.Records) -> None:
    """By hand: 12 Mbit/s in packets of 1500 bytes with 1448 of payload are 11.584 Mbit/s."""
    assert metrics.utilisation(alone)["utilisation"][0] == pytest.approx(1.0, abs=0.005)
    assert metrics.goodput(alone)["goodput_bps"][0] == pytest.approx(11.584e6, rel=0.005)
    assert metrics.throughput(alone)["throughput_bps"][0] == pytest.approx(12e6, rel=0.01)


def test_queue_and_rtt_say_the_same(alone: cwndlab.Records) -> None:
    """RTT = 40 ms + waiting + serialisation of 1 ms: the mean queue in ms and the mean RTT agree."""
    queued = metrics.queue(alone)["queue_ms"][0]
    assert metrics.rtt(alone)["mean_rtt_ms"][0] == pytest.approx(41.0 + queued, abs=1.0)
    assert metrics.rtt(alone)["srtt_ms"][0] == pytest.approx(41.0 + queued, abs=2.0)
    assert metrics.queue(alone)["queue_packets"][0] == pytest.approx(queued, rel=0.01)  # 1 ms a packet


def test_drops_are_congestion_events_of_a_lone_reno(alone: cwndlab.Records) -> None:
    events = metrics.timeouts(alone)
    assert metrics.loss(alone)["drops"][0] >= events["congestion_events"][0] > 0
    assert metrics.loss(alone)["drops_per_s"][0] == pytest.approx(metrics.loss(alone)["drops"][0] / 15)


def test_totals_and_the_last_sample_agree(alone: cwndlab.Records) -> None:
    """A run's end is a sampling instant here: the engine's totals and its last samples are two accounts of one."""
    last = alone.samples.filter(pl.col("time_ns") == 20 * SECOND)
    for name in ("delivered_bytes", "sent_bytes", "retransmitted_bytes", "retransmitted_packets", "timeouts"):
        assert alone.flows[name].to_list() == last[name].to_list()
    for row in alone.link_samples.filter(pl.col("time_ns") == 20 * SECOND).rows(named=True):
        total = alone.links.row(row["link"], named=True)
        assert row["sent_bytes"] == total["sent_bytes"]
        assert row["dropped_packets"] == total["dropped_packets"]
        assert row["queue_packet_ns"] == pytest.approx(total["mean_queue_packets"] * 20 * SECOND)


@given(st.integers(1, 119))
def test_what_is_gained_before_and_after_an_instant_is_all(pair: cwndlab.Records, tenth: int) -> None:
    counters = ["delivered_bytes", "sent_bytes", "retransmitted_packets", "congestion_events"]
    parts = [(0.0, tenth / 10), (tenth / 10, None), (0.0, None)]
    for name in counters:
        before, after, whole = (MeasuredRun(pair, *part).gained(name) for part in parts)
        assert (before + after).tolist() == whole.tolist()
        assert before.min() >= 0


@pytest.mark.parametrize("window_s", [None, 0.25, 3.0])
def test_windows_over_time_add_up_to_the_whole(pair: cwndlab.Records, window_s: float | None) -> None:
    end = 12.0
    over_time = metrics.flows_over_time(pair, window_s=window_s, end_s=end)
    shares = over_time.drop_nulls("share").group_by("time_s").agg(pl.col("share").sum())["share"].to_list()
    assert shares == pytest.approx([1.0] * len(shares))
    step = {None: 0.1, 0.25: 0.3, 3.0: 3.0}[window_s]
    first = over_time.filter(pl.col("flow") == 0)
    assert first["time_s"].to_list() == pytest.approx([step * (n + 1) for n in range(round(end / step))])
    goodput = metrics.goodput(pair, end_s=end)["goodput_bps"][0]
    assert first["goodput_bps"].mean() == pytest.approx(goodput)
    links = metrics.links_over_time(pair, window_s=window_s, end_s=end).filter(pl.col("link") == "bottleneck")
    assert links["queue_packets"].mean() == pytest.approx(metrics.queue(pair, end_s=end)["queue_packets"][0])
    assert links["drops_per_s"].mean() == pytest.approx(metrics.loss(pair, end_s=end)["drops_per_s"][0])
    # A window that counts a packet more than its time carries has 1, and the whole has that packet.
    used = metrics.utilisation(pair, end_s=end)["utilisation"][0]
    assert links["utilisation"].mean() == pytest.approx(used, rel=1e-4)
    assert links["utilisation"].max() <= 1.0  # type: ignore[operator]


def test_the_summary_puts_the_flows_together() -> None:
    """Flow a has 8 kB in 10 s, flow b 16 kB in 5 s: rates are over the interval, counts add
    up, the smallest RTT counts, and Jain's index is that of 6.4 and 25.6 kbit/s."""
    records = tables(
        {"delivered_bytes": 8_000, "min_rtt_ns": 8_000_000, "timeouts": 3, "recoveries": 2},
        {"delivered_bytes": 16_000, "min_rtt_ns": 9_000_000, "timeouts": 1, "end_ns": 5 * SECOND},
    )
    found = metrics.summary(records, metrics=["goodput_bps", "timeouts", "congestion_events", "min_rtt_ms", "jain"])
    assert found == {
        "goodput_bps": pytest.approx(8 * 24_000 / 10),
        "timeouts": 4.0,
        "congestion_events": 6.0,
        "min_rtt_ms": 8.0,
        "jain": pytest.approx(32**2 / (2 * (6.4**2 + 25.6**2))),
    }
    table = metrics.per_flow(records)
    assert table.select("goodput_bps", "timeouts", "share").rows() == [
        (pytest.approx(6_400.0), 3, pytest.approx(1 / 3)),
        (pytest.approx(25_600.0), 1, pytest.approx(2 / 3)),
    ]


def test_a_run_without_samples_has_its_totals() -> None:
    sampled, bare = run(path(measure_from="0 s"), seed=1), run(path(measure_from="0 s", sample_interval="0 s"), seed=1)
    ours, theirs = metrics.summary(bare), metrics.summary(sampled)
    for name in ("goodput_bps", "utilisation", "drops_per_s", "queue_packets", "congestion_events", "jain"):
        assert ours[name] == pytest.approx(theirs[name])
    assert ours["mean_rtt_ms"] == pytest.approx(theirs["mean_rtt_ms"], rel=1e-5)
    assert ours["mean_cwnd_segments"] is None
    with pytest.raises(cwndlab.ScenarioError, match="sample more often, or measure the whole run"):
        metrics.goodput(bare, start_s=1)


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ([58, 72, 68], 0.992),
        ([62, 88, 46], 0.934),
        ([62, 48, 85], 0.948),
        ([50, 45, 82], 0.928),
        ([0, 0], None),
        ([58], None),
    ],
)
def test_jains_index_of_the_phcc_papers_tables(values: list[float], index: float | None) -> None:
    """Throughputs of Table 2 of the PHCC paper; its own 0.99 for 62/48/85 does not follow from them."""
    found = metrics.jain(values)
    assert found == (None if index is None else pytest.approx(index, abs=0.0006))


@given(st.lists(st.floats(0.001, 1e9), min_size=2, max_size=20), st.floats(0.001, 1000))
def test_jains_index_is_a_share_and_has_no_unit(values: list[float], factor: float) -> None:
    """Jain's own proof: between 1/n and 1, and the same in any unit."""
    found = metrics.jain(values)
    assert found is not None
    assert 1 / len(values) - 1e-9 <= found <= 1 + 1e-9
    assert metrics.jain([factor * value for value in values]) == pytest.approx(found)


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
    found = metrics.completion(records, start_s=0)
    assert found["transfers"][0] == 5
    assert found["median_completion_s"][0] < 0.5
    assert metrics.total_completion(records, start_s=0)["transfers"][0] == 5
    # All were done within the warm-up.
    assert len(metrics.completion(records)) == 0
    assert metrics.summary(records)["mean_completion_s"] is None
    assert "median_completion_s" in metrics.per_flow(records, start_s=0).columns


@pytest.mark.parametrize("metric", [metrics.goodput, metrics.loss, metrics.queue, metrics.rtt, metrics.cwnd])
def test_an_interval_can_be_named(alone: cwndlab.Records, metric: Callable[..., Any]) -> None:
    assert not metric(alone, start_s=0.0, end_s=1.0).equals(metric(alone, start_s=10.0, end_s=20.0))


def test_a_summary_has_all_of_its_columns(alone: cwndlab.Records) -> None:
    assert list(metrics.summary(alone)) == list(metrics.COLUMNS)
