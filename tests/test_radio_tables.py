"""Columns of media and cells, by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from cwndlab.records import Records
from cwndlab.simulate import run


def one_station(medium: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A server, a wire of 1 ms, an access point and a station 10 m away, with a packet of 200 bytes every 200 ms."""
    cell = {"name": "cell", "standard": "802.11g", "access_point": "ap", "beacon": "102.4 ms", **medium}
    workload = {"kind": "cbr", "rate": "8 kbps", "packet": "200 B"}
    return {
        "schema_version": 1,
        "duration": "1 s",
        "node": [{"name": "server"}, {"name": "ap", "position": [0, 0]}, {"name": "sta", "position": [10, 0]}],
        "medium": [cell],
        "link": [
            {"from": "server", "to": "ap", "rate": "1 Gbps", "delay": "1 ms"},
            {"from": "ap", "to": "sta", "medium": "cell"},
        ],
        "flow": [{"name": "f", "from": "server", "to": "sta", "transport": "udp", "workload": workload}],
        **changes,
    }


def number(records: Records, link: str) -> int:
    found: int = records.links.filter(name=link)["link"][0]
    return found


def test_a_packet_that_an_access_point_keeps_ages() -> None:
    """The packet of 1.4 s is at the access point 1 ms and 1.6 µs later. The station sleeps until 1.4336 s."""
    document = one_station({"channel": 1, "power_save": "20 ms"}, duration="1.5 s", sample_interval="10 ms")
    records = run(document, seed=1)
    kept = pl.col("time_ns").is_between(1_405_000_000, 1_435_000_000)
    samples = records.link_samples.filter(kept, link=number(records, "ap-sta"))
    assert samples["queue_packets"].to_list() == [1, 1, 1]
    assert samples["queue_age_ns"].to_list() == [ms * 1_000_000 - 1600 for ms in (9, 19, 29)]


@pytest.mark.parametrize(("channel", "airtime_us"), [(1, 192 + 8 * 68), (36, 20 + 24 * 4 + 6)])
def test_beacons_have_the_lowest_rate_of_their_band(channel: int, airtime_us: int) -> None:
    """A second has nine beacons of 68 bytes: at 1 Mbit/s after a preamble of 192 µs, or in 24 symbols of 6 Mbit/s
    (IEEE 802.11-2016, 17.3.2.4: 16 + 544 + 6 bits) with preamble, and the time by which SIFS is shorter at 2.4 GHz."""
    stations = run(one_station({"channel": channel}), seed=1).stations.filter(station="sta")
    assert stations["overheard_ns"][-1] == 9 * airtime_us * 1000


def test_a_packet_that_is_marked_twice_arrives_with_ce() -> None:
    """The wire of the first link marks all data, so that they arrive with CE at the queue, which marks some again."""
    ce_marking = {"from": "a", "to": "b", "rate": "1 Gbps", "delay": "5 ms", "ecn": "mark"}
    narrow = {"from": "b", "to": "c", "rate": "10 Mbps", "delay": "5 ms", "queue": {"kind": "dualpi2"}}
    document = {
        "schema_version": 1,
        "duration": "4 s",
        "packets": True,
        "node": [{"name": name} for name in "abc"],
        "link": [ce_marking, narrow],
        "flow": [{"from": "a", "to": "c", "algorithm": "reno", "stack": {"ecn": "classic"}}],
    }
    records = run(document, seed=1)
    packets = records.packets.filter(pl.col("payload_bytes") > 0, link=number(records, "b-c"))
    assert set(packets["ecn"]) == {3}
    assert 3 in packets["fate"]


def test_blue_drops_little_after_a_pause_in_a_cell() -> None:
    """Feng et al., 2002: an idle line lowers the probability. 40 Mbit/s for 10 s, four times what the cell has, raise
    it; 30 s later 1 Mbit/s alone, a tenth of the rate, lowers it within the run, so that most packets arrive."""
    flows = [
        {"name": name, "from": "b", "to": "u", "transport": "udp", "workload": {"kind": "cbr", "rate": rate}, **times}
        for name, rate, times in (
            ("heavy", "40 Mbps", {"stop": "10 s"}),
            ("light", "1 Mbps", {"start": "40 s"}),
        )
    ]
    document = {
        "schema_version": 1,
        "duration": "160 s",
        "node": [{"name": name} for name in "bu"],
        "cell": [{"name": "lte", "base_station": "b", "resource_blocks": 25}],
        "link": [
            {"from": "b", "to": "u", "cell": "lte", "snr": 15, "queue": {"kind": "blue", "capacity": "50 packets"}}
        ],
        "flow": flows,
    }
    records = run(document, seed=1)
    light = records.flows.filter(name="light")
    assert light["delivered_bytes"][0] > 0.8 * 120e6 / 8
