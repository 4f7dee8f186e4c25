"""Metrics of single flows, of flows over UDP, and which flows compete."""

from __future__ import annotations

from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab import metrics
from cwndlab.metrics.of_flow import groups, parse, resolve
from cwndlab.scenario import Step
from cwndlab.scenario.queues import DropTail
from cwndlab.scenario.workloads import Cbr, OnOff, Pareto

LINK = cwndlab.Link(rate="10 Mbit/s", delay="5 ms", queue=DropTail("40 packets"))


def dumbbell(*flows: cwndlab.Flow, **more: Any) -> cwndlab.Records:
    """A run of flows over a bottleneck of 10 Mbit/s."""
    options: dict[str, Any] = {"duration": "4 s", "dumbbell": cwndlab.Dumbbell(LINK), "flows": list(flows)} | more
    return cwndlab.run(cwndlab.Scenario(**options), seed=1)


def flow(**more: Any) -> cwndlab.Flow:
    return cwndlab.Flow("reno", **({"rtt": "40 ms"} | more))


@pytest.mark.parametrize(
    ("directions", "together"),
    [
        (["forward"], []),
        (["forward", "forward"], [0, 1]),
        (["forward", "reverse"], []),
        (["reverse", "reverse"], [0, 1]),
        (["reverse", "forward", "forward"], [1, 2]),
    ],
)
def test_flows_compete_in_one_direction_of_a_bottleneck(directions: list[str], together: list[int]) -> None:
    """Data in opposite directions crosses different queues (docs/scenario.md, direction)."""
    records = dumbbell(*(flow(direction=direction) for direction in directions))
    assert metrics.competing(records) == together
    index = metrics.fairness(records)["jain"][0]
    goodputs = metrics.goodput(records)["goodput_bps"].to_list()
    assert index == (metrics.jain([goodputs[one] for one in together]) if together else None)
    assert metrics.summary(records, metrics=["jain"]) == {"jain": index}
    shares = metrics.share(records)["share"].to_list()
    assert [one is not None for one in shares] == [number in together for number in range(len(directions))]
    if together:
        assert sum(one for one in shares if one is not None) == pytest.approx(1.0)
    # Named flows are compared whatever they share.
    named = metrics.fairness(records, flows=records.flows["name"].to_list())["jain"][0]
    assert named == pytest.approx(metrics.jain(goodputs))


def test_flows_of_a_parking_lot_compete_at_a_hop() -> None:
    """The long flow and that of the most used hop; the other two meet neither of them there."""
    records = cwndlab.run(cwndlab.presets.load("parking-lot").with_(duration="4 s"), seed=1)
    hop = metrics.per_link(records)["link"][0]
    names = records.flows["name"].to_list()
    short = {"hop1": "first", "hop2": "second", "hop3": "third"}[hop]
    assert [names[one] for one in metrics.competing(records)] == ["long", short]


def test_flows_over_one_medium_compete_whatever_their_direction() -> None:
    """Downloads and uploads of a wireless LAN share the air (IEEE 802.11)."""
    records = cwndlab.run(cwndlab.presets.load("wlan").with_(duration="2 s"), seed=1)
    assert metrics.competing(records) == list(range(6))


def cell(more: str, *, station: str, count: str = "") -> cwndlab.Scenario:
    """A download for each station of a graph, and an upload of one; ``count`` of the node and of the downloads."""
    text = f"""
schema_version = 1
duration = "2 s"
[[medium]]
name = "cell"
standard = "802.11g"
[[node]]
name = "ap"
[[node]]
name = "sta"
{count}
[[link]]
from = "ap"
to = "sta"
medium = "cell"
{more}
[[flow]]
algorithm = "reno"
from = "ap"
to = "sta"
{count}
[[flow]]
algorithm = "reno"
from = "{station}"
to = "ap"
"""
    return cwndlab.Scenario.from_toml(text)


@pytest.mark.parametrize(
    ("more", "together"),
    [
        ("", [0, 1]),
        ('name = "radio"', [0, 1]),
        ('[[link]]\nfrom = "sta"\nto = "ap"\nrate = "54 Mbps"\nqueue = {capacity = "9 packets"}', []),
    ],
)
def test_flows_over_links_of_one_medium_of_a_graph_compete(more: str, together: list[int]) -> None:
    """docs/scenario.md: the other direction of a link is on the medium too, and called ``to-from`` whatever the name of
    the link is; where a link of that direction is stated, it is a line of its own."""
    assert metrics.competing(cwndlab.run(cell(more, station="sta"), seed=1)) == together


@pytest.mark.parametrize("more", ["", 'name = "radio"'])
def test_the_nodes_of_a_count_share_their_medium(more: str) -> None:
    """docs/scenario.md: a link of a group stands for one link of each of its nodes, which are numbered from 1."""
    assert metrics.competing(cwndlab.run(cell(more, station="sta-2", count="count = 3"), seed=1)) == [0, 1, 2, 3]


def test_the_route_is_in_the_records() -> None:
    records = dumbbell(flow(), flow(direction="reverse"))
    names = records.links["name"].to_list()
    routes = [[names[int(link)] for link in route.split()] for route in records.flows["route"]]
    assert routes == [["s0-r1", "bottleneck", "r2-d0"], ["s1-r2", "bottleneck-reverse", "r1-d1"]]


@pytest.mark.parametrize(("load", "used"), [("30 Mbit/s", 1.0), ("2.5 Mbit/s", 0.5)])
def test_a_line_of_varying_rate_is_used_by_what_it_could_carry(load: str, used: float) -> None:
    """20 Mbit/s, from 1 s on 5 Mbit/s, an outage from 2 s to 2.5 s, and 20 Mbit/s again: 30 Mbit/s fill it always,
    2.5 Mbit/s half of it while it has 5 Mbit/s. Over the mean rate these would be 1.5 and more."""
    steps = [Step(at="1 s", rate="5 Mbps"), Step(at="2 s", rate="0 Mbps"), Step(at="2.5 s", rate="20 Mbps")]
    line = cwndlab.Link(rate="20 Mbit/s", delay="5 ms", queue=DropTail("40 packets"), schedule=steps)
    flows = [cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate=load, packet="1500 B"))]
    records = cwndlab.run(cwndlab.Scenario(duration="4 s", dumbbell=cwndlab.Dumbbell(line), flows=flows), seed=1)
    spans = [(1.5, 2.0)] if used < 1 else [(0.5, 1.0), (1.0, 2.0), (1.5, 3.0), (0.5, 4.0)]
    for start_s, end_s in spans:
        found = metrics.utilisation(records, start_s=start_s, end_s=end_s)["utilisation"][0]
        assert found == pytest.approx(used, abs=0.01)
        assert found <= 1.0
        assert metrics.summary(records, metrics=["utilisation"], start_s=start_s, end_s=end_s) == {
            "utilisation": pytest.approx(found)
        }
    assert records.links["carriable_bytes"][0] == pytest.approx((20e6 * 2.5 + 5e6) / 8)
    # Nothing can be carried in an outage, and nothing is.
    assert metrics.utilisation(records, start_s=2.1, end_s=2.4)["utilisation"][0] == 0.0


def test_throughput_and_goodput_are_over_one_interval() -> None:
    """A flow from half-time on a line of 10 Mbit/s: no more is sent than it carries, its queue holds and drops."""
    records = dumbbell(flow(), flow(start="2 s"))
    found = metrics.summary(records, metrics=["throughput_bps", "goodput_bps"])
    assert found["throughput_bps"] == pytest.approx(8 * int(records.flows["wire_bytes"].sum()) / 4.0)
    assert found["throughput_bps"] is not None
    assert found["goodput_bps"] is not None
    beyond = 41 + int(records.links["dropped_packets"][0])
    assert found["goodput_bps"] < found["throughput_bps"] <= 10e6 + 8 * 1500 * beyond / 4.0
    assert metrics.total_throughput(records)["throughput_bps"][0] == found["throughput_bps"]


def test_the_minimum_rtt_is_the_minimum_over_flows() -> None:
    records = dumbbell(flow(rtt="40 ms"), flow(rtt="60 ms"))
    smallest = min(records.flows["min_rtt_ns"]) / 1e6
    assert metrics.summary(records, metrics=["min_rtt_ms"]) == {"min_rtt_ms": smallest}
    assert 40 <= smallest < 50


def test_a_constant_rate_on_an_idle_line_has_its_delay_and_no_jitter() -> None:
    """Propagation takes 20 ms one way, half of 40 ms; 1500 bytes take 1.2 ms at 10 Mbit/s."""
    records = dumbbell(
        cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="1 Mbit/s", packet="1500 B"), name="cbr")
    )
    row = metrics.datagrams(records).row(0, named=True)
    assert row["name"] == "cbr"
    assert row["one_way_delay_ms"] == pytest.approx(20 + 1.2, abs=1e-6)
    assert (row["jitter_ms"], row["datagram_loss_ratio"]) == (0.0, 0.0)
    assert metrics.summary(records, metrics=["jitter_ms", "one_way_delay_ms"]) == {
        "jitter_ms": 0.0,
        "one_way_delay_ms": row["one_way_delay_ms"],
    }


def test_twice_the_rate_loses_half_and_waits_for_the_whole_queue() -> None:
    """In the steady state 40 packets wait and one is served, 1.2 ms each; a tail-dropped packet is never delivered."""
    load = cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="20 Mbit/s", packet="1500 B"))
    records = dumbbell(load)
    row = metrics.datagrams(records, start_s=1.0).row(0, named=True)
    assert row["datagram_loss_ratio"] == pytest.approx(0.5, abs=0.01)
    assert row["one_way_delay_ms"] == pytest.approx(20 + 41 * 1.2, abs=1.3)


def test_percentiles_of_the_delay_are_over_time() -> None:
    """A burst of 2 s fills the queue of 40 packets, 1.2 ms each, then the line is idle for 2 s: the median is between
    both, the 95th percentile in the full queue."""
    calm = cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="0.1 Mbit/s", packet="1500 B"), name="calm")
    burst = cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="20 Mbit/s"), stop="2 s", name="burst")
    row = metrics.datagrams(dumbbell(calm, burst, sample_interval="20 ms")).row(0, named=True)
    assert row["p95_one_way_delay_ms"] == pytest.approx(20 + 41 * 1.2, abs=1.3)
    assert row["p50_one_way_delay_ms"] <= row["p95_one_way_delay_ms"] <= row["p99_one_way_delay_ms"]
    assert metrics.summary(dumbbell(calm), metrics=["p99_one_way_delay_ms@calm"])[
        "p99_one_way_delay_ms@calm"
    ] == pytest.approx(20 + 1.2, abs=1e-6)


def test_jitter_is_that_of_rfc_3550_on_every_packet() -> None:
    """J += (|D| − J) / 16 in floating point over the packets' transit times (RFC 3550, section 6.4.1 and A.8), from the
    table of packets; the engine keeps it in integers."""
    bursts = OnOff(
        rate="8 Mbit/s", packet="1000 B", on=Pareto(shape=1.5, mean="50 ms"), off=Pareto(shape=1.5, mean="50 ms")
    )
    records = dumbbell(
        cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="4 Mbit/s", packet="1000 B"), name="cbr"),
        cwndlab.Flow(transport="udp", rtt="40 ms", workload=bursts),
        packets=True,
    )
    last = records.flows["route"][0].split()[-1]
    first = records.flows["route"][0].split()[0]
    of_flow = records.packets.filter((pl.col("flow") == 0) & (pl.col("arrival_ns") <= 4_000_000_000))
    sent = of_flow.filter(pl.col("link") == int(first)).select("sequence_bytes", sent_ns_right=pl.col("time_ns"))
    arrived = of_flow.filter(pl.col("link") == int(last)).sort("arrival_ns").join(sent, on="sequence_bytes")
    jitter, before = 0.0, None
    for at, begun in arrived.select("arrival_ns", "sent_ns_right").rows():
        if before is not None:
            jitter += (abs((at - begun) - before) - jitter) / 16
        before = at - begun
    assert jitter > 10_000
    assert records.flows["jitter_ns"][0] == pytest.approx(jitter, rel=1e-3)


def test_flows_over_tcp_have_no_datagrams() -> None:
    records = dumbbell(flow())
    assert len(metrics.datagrams(records)) == 0
    assert metrics.summary(records, metrics=["jitter_ms"]) == {"jitter_ms": None}
    assert records.samples["delay_count"].null_count() == len(records.samples)


def test_without_samples_datagrams_have_their_totals() -> None:
    load = cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="20 Mbit/s", packet="1500 B"))
    row = metrics.datagrams(dumbbell(load, sample_interval="0 s")).row(0, named=True)
    assert row["datagram_loss_ratio"] == pytest.approx(0.5, abs=0.02)
    assert row["one_way_delay_ms"] > 20


def test_a_metric_of_one_flow_is_that_of_the_table_of_flows() -> None:
    records = dumbbell(flow(name="long"), flow(count=2, name="short", start="1 s"))
    table = {row["name"]: row for row in metrics.per_flow(records).rows(named=True)}
    names = ["goodput_bps@long", "share@short", "goodput_bps@1", "min_rtt_ms@short", "timeouts@short-2", "share@none"]
    found = metrics.summary(records, metrics=names)
    assert list(found) == names
    assert found["goodput_bps@long"] == table["long"]["goodput_bps"]
    # By hand: rates and shares of the flows of a count add up; of minima it is the smallest.
    assert found["share@short"] == pytest.approx(1 - table["long"]["share"])
    assert found["goodput_bps@1"] == table["short-1"]["goodput_bps"]
    assert found["min_rtt_ms@short"] == min(table["short-1"]["min_rtt_ms"], table["short-2"]["min_rtt_ms"])
    assert found["timeouts@short-2"] == table["short-2"]["timeouts"]
    assert found["share@none"] is None


def test_names_of_flows_and_their_metrics() -> None:
    document = {"flow": [{"rtt": "1 ms"}, {"name": "web", "count": 2}]}
    assert groups(document) == {"flow0": ["flow0"], "web": ["web-1", "web-2"]}
    assert (resolve(document, "web"), resolve(document, 0)) == ("web", "flow0")
    with pytest.raises(cwndlab.ScenarioError, match=r"flow 1 \('web-1'\) is one of 2 of the table 'web'"):
        resolve(document, "1")
    with pytest.raises(
        cwndlab.ScenarioError, match="flows: no flow is called 'x'\n  hint: there are flow0, web, web-1"
    ):
        resolve(document, "x")
    assert parse("share@web") == ("share", "web")
    assert [parse(name) for name in ("share", "jain@web", "share@", "@web")] == [None] * 4
    column = metrics.COLUMNS["goodput_bps@web"]
    assert (column.heading, column.direction) == ("goodput of web, Mbit/s", 0)
    assert metrics.COLUMNS["jitter_ms@call"].direction == -1
    assert "jain@web" not in metrics.COLUMNS
    with pytest.raises(KeyError, match="jain@web"):
        metrics.COLUMNS["jain@web"]


@pytest.mark.parametrize("packets", [False, True])
def test_the_queueing_delay_of_a_line_whose_rate_varies_is_the_waiting_time_of_its_packets(packets: bool) -> None:
    """By hand: one packet of 1000 bytes per ms meets 20 Mbit/s (0.4 ms each) for 0.5 s and an outage for 0.5 s. One
    that arrives u ms after the start of the outage waits for its end and for u packets, 500 − 0.6 u ms; one that
    arrives v ms after its end waits 200 − 0.6 v ms, until the queue is empty after 333 ms. The mean of 1000 packets is
    (500 · 350 + 333 · 100) / 1000 = 208.3 ms; 5 % of them wait longer than 470 ms and half of them longer than 200 ms.
    The oldest packet has waited for u ms in the outage and for 500 − 1.5 v ms after it: the same quantiles. By the mean
    rate of 10 Mbit/s it would be 167 ms."""
    line = {
        "rate": "20 Mbps",
        "delay": "1 ms",
        "queue": {"capacity": "unlimited"},
        "schedule": [{"at": "500 ms", "rate": "0 bps"}],
        "repeat": "1 s",
    }
    scenario = {
        "schema_version": 1,
        "duration": "10 s",
        "sample_interval": "1 ms",
        "packets": packets,
        "dumbbell": {"bottleneck": line},
        "flow": [
            {"transport": "udp", "rtt": "2 ms", "workload": {"kind": "cbr", "rate": "8 Mbps", "packet": "1000 B"}}
        ],
    }
    records = cwndlab.run(scenario, seed=1)
    only = ["queue_ms", "p50_queue_ms", "p95_queue_ms"]
    # From one empty queue to the next: the queue is empty between 333 and 500 ms of each second.
    found = metrics.summary(records, start_s=1.45, end_s=9.45, metrics=only)
    of = metrics.queueing_delay(records)["of"][0]
    assert of == ("packets" if packets else "time")
    for name, expected in {"queue_ms": 208.3, "p50_queue_ms": 200.0, "p95_queue_ms": 470.0}.items():
        assert found[name] == pytest.approx(expected, rel=0.02), name
    assert metrics.queue(records, start_s=1.45, end_s=9.45)["queue_ms"][0] == pytest.approx(208.3, rel=0.02)
    windows = metrics.links_over_time(records, window_s=1.0, start_s=1.45, end_s=9.45)
    # The mean age is the area of both ramps over a second: 0.5 · 500 · (500 + 333) / 1000.
    assert windows.filter(link="bottleneck")["queue_ms"].mean() == pytest.approx(208.3, rel=0.02)
    ages = metrics.distribution(records, "queue", start_s=1.45, end_s=9.45)
    assert ages.filter(ages["share"] >= 0.95)["value"][0] == pytest.approx(470.0, rel=0.02)


def test_what_ended_before_the_interval_has_no_delay_and_no_rtt() -> None:
    """By hand: a call and a transfer end at 1 s, the last packet arrives before 1.1 s, and nothing from 2 s on. The
    percentiles of the whole run are those until 1.1 s: later samples repeat the last packet's delay."""
    call = cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="1 Mbit/s"), stop="1 s", name="call")
    records = dumbbell(flow(stop="1 s"), call)
    late = metrics.datagrams(records, start_s=2.0).row(0, named=True)
    assert [late[name] for name in ("one_way_delay_ms", "p50_one_way_delay_ms", "jitter_ms")] == [None] * 3
    whole, first = (metrics.datagrams(records, end_s=end).row(0, named=True) for end in (None, 1.1))
    assert whole["p50_one_way_delay_ms"] == first["p50_one_way_delay_ms"]
    assert whole["jitter_ms"] == first["jitter_ms"]
    assert metrics.rtt(records, start_s=2.0)["srtt_ms"][0] is None
    # One that ends between two samples has those of its last arrivals.
    short = dumbbell(cwndlab.Flow(transport="udp", rtt="40 ms", workload=Cbr(rate="1 Mbit/s"), stop="50 ms"))
    assert metrics.datagrams(short)["p50_one_way_delay_ms"][0] == pytest.approx(21, abs=2)
    ended = records.flows["end_ns"][0] / 1e9
    assert metrics.rtt(records)["srtt_ms"][0] == metrics.rtt(records, end_s=ended)["srtt_ms"][0]


@pytest.mark.parametrize("every", ["100 ms", "0 s"])
def test_packets_under_way_are_neither_lost_nor_received(every: str) -> None:
    """By hand: CBR of 2 Mbit/s over 1 Mbit/s and 100 ms. From the totals: each packet has 1472 B of payload, and those
    that are in the queue or on the wire at the end count in neither."""
    line = cwndlab.Link(rate="1 Mbit/s", delay="100 ms", queue=DropTail("5 packets"))
    call = cwndlab.Flow(transport="udp", rtt="400 ms", workload=Cbr(rate="2 Mbit/s"))
    records = dumbbell(call, dumbbell=cwndlab.Dumbbell(line), duration="1 s", sample_interval=every)
    row = records.rows("flows")[0]
    received, lost = row["delivered_bytes"] / 1472, row["queue_drops"]
    assert received + lost < row["sent_packets"]
    assert metrics.datagrams(records)["datagram_loss_ratio"][0] == lost / (received + lost)


@pytest.mark.parametrize("every", ["100 ms", "300 ms", "1 s", "0 s"])
def test_the_radio_counts_from_the_start_of_the_run(every: str) -> None:
    """The counters of the whole run are the totals, however often they are sampled."""
    records = cwndlab.run(cwndlab.presets.load("hidden").with_({"duration": "1 s", "sample_interval": every}), seed=1)
    totals = records.stations.filter(pl.col("time_ns") == 1_000_000_000)
    found = metrics.radio(records)
    assert found["sent_packets"].to_list() == totals["sent_packets"].to_list()
    assert found["failed"].to_list() == (totals["failures"] / totals["attempts"]).to_list()
    if every == "300 ms":
        (before,) = records.stations.filter(time_ns=300_000_000, station="west")["sent_packets"]
        (until,) = records.stations.filter(time_ns=600_000_000, station="west")["sent_packets"]
        later = metrics.radio(records, start_s=0.4, end_s=0.7).filter(station="west")
        assert later["sent_packets"].to_list() == [until - before]


@pytest.mark.parametrize("name", ["start_s", "end_s"])
def test_an_interval_ends_at_a_time(name: str) -> None:
    records = dumbbell(flow())
    with pytest.raises(cwndlab.ArgumentError, match=f"{name}.*'inf' is not a time"):
        metrics.rtt(records, **{name: float("inf")})
