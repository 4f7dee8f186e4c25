"""Recorded packets: what they carry is what the other tables count, and to record them changes nothing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from cwndlab.records import Records
from cwndlab.scenario.presets import load
from cwndlab.simulate import run

WIRES: dict[str, dict[str, Any]] = {
    "plain": {},
    "lossy, reordering and duplicating": {
        "loss": [{"kind": "bernoulli", "p": 0.01}],
        "jitter": {"spread": "4 ms", "reorder": True},
        "duplicate": 0.02,
    },
    "codel": {"queue": {"kind": "codel", "capacity": "100 packets"}},
}


def ask(bottleneck: dict[str, Any], flows: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    link = {"rate": "10 Mbps", "delay": "10 ms", "queue": {"capacity": "20 packets"}, **bottleneck}
    return {"schema_version": 1, "duration": "4 s", "dumbbell": {"bottleneck": link}, "flow": flows, **changes}


def flows(algorithm: str = "cubic") -> list[dict[str, Any]]:
    sized = {"kind": "transfers", "count": 20, "bytes": "40001 B", "gap": "20 ms"}
    return [{"algorithm": algorithm, "rtt": "40 ms"}, {"algorithm": "reno", "rtt": "60 ms", "workload": sized}]


@pytest.fixture(scope="module")
def recorded() -> Records:
    return run(ask({}, flows(), packets=True), seed=3)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("algorithm", ["cubic", "dctcp"])
def test_to_record_packets_changes_no_other_table(wire: str, algorithm: str) -> None:
    bare, full = (run(ask(WIRES[wire], flows(algorithm), packets=on), seed=3) for on in (False, True))
    for table in ("flows", "links", "samples", "link_samples", "events", "transfers"):
        assert full.frame(table).equals(bare.frame(table)), table
    assert len(full.packets) > 1000


def test_routers_that_write_headers_see_the_same() -> None:
    one = [{"algorithm": "perc", "rtt": "40 ms"}]
    net = {"agents": ["perc"], "loss": [{"kind": "bernoulli", "p": 0.01}], "duplicate": 0.02}
    question = ask(net, one)
    question["dumbbell"] |= {"access": {"agents": ["perc"]}}
    bare, full = (run({**question, "packets": on}, seed=3) for on in (False, True))
    for table in ("flows", "links", "samples", "events"):
        assert full.frame(table).equals(bare.frame(table)), table


def test_a_packet_keeps_its_number_on_every_link(recorded: Records) -> None:
    """A dumbbell's data cross an access link, the bottleneck and another access link."""
    ways = recorded.packets.sort("time_ns").group_by("packet", maintain_order=True).agg(pl.all())
    for way in ways.head(3000).iter_rows(named=True):
        assert len(set(way["sequence_bytes"])) == len(set(way["kind"])) == len(set(way["sent_ns"])) == 1
        assert len(set(way["link"])) == len(way["link"]) <= 3
        assert way["time_ns"][0] == way["sent_ns"][0]
        assert (
            way["time_ns"][1:] == way["arrival_ns"][: len(way["time_ns"]) - 1]
        )  # one link's end is the next's entrance


def test_numbers_go_up_with_the_time_of_sending(recorded: Records) -> None:
    sent = recorded.packets.unique("packet").sort("packet")
    assert sent["packet"].to_list() == list(range(len(sent)))
    assert sent["sent_ns"].is_sorted()


def test_counts_agree_with_the_flows(recorded: Records) -> None:
    first = recorded.packets.sort("time_ns").unique("packet", keep="first")
    for flow in recorded.flows.iter_rows(named=True):
        mine = first.filter(pl.col("flow") == flow["flow"])
        data, acks = (mine.filter(pl.col("kind") == kind) for kind in (0, 1))
        assert len(data) == flow["sent_packets"]
        assert data["payload_bytes"].sum() == flow["sent_bytes"]
        again = data.filter("retransmission")
        assert (len(again), again["payload_bytes"].sum()) == (
            flow["retransmitted_packets"],
            flow["retransmitted_bytes"],
        )
        assert len(acks) == flow["ack_packets"]
    drops = recorded.packets.filter(pl.col("fate") == 1)
    assert len(drops) == recorded.links["dropped_packets"].sum() > 0


def test_an_rtt_sample_is_arrival_minus_echo(recorded: Records) -> None:
    """RFC 7323, section 4: the smallest difference is the smallest RTT sample (SYN and SYN-ACK give one as well)."""
    mine = recorded.packets.filter(pl.col("flow") == 0)
    acks = mine.filter((pl.col("kind") == 1) & (pl.col("packet").len().over("packet") == 3)).sort("time_ns")
    acks = acks.unique("packet", keep="last")
    assert acks["link"].n_unique() == 1
    rtts = [arrival - echo for arrival, echo in acks.select("arrival_ns", "echo_ns").iter_rows()]
    sent = mine.filter(pl.col("kind") == 2)["sent_ns"].to_list()
    answered = mine.filter(pl.col("kind") == 3)["arrival_ns"].to_list()
    assert recorded.flows["min_rtt_ns"][0] == min(*rtts, max(answered) - min(sent))


def test_sack_blocks_lie_above_the_acknowledgement_or_report_a_duplicate(recorded: Records) -> None:
    """RFC 2018, section 3, and RFC 2883, section 4."""
    acks = recorded.packets.filter((pl.col("kind") == 1) & (pl.col("sack") != ""))
    assert len(acks) > 50
    for ack, text in acks.select("sequence_bytes", "sack").iter_rows():
        blocks = [tuple(int(end) for end in block.split("-")) for block in text.split()]
        assert len(blocks) <= 3
        assert all(low < high for low, high in blocks)
        assert all(low > ack for low, _ in blocks[1:])


def test_codepoints_and_flags_are_those_of_rfc_3168() -> None:
    """Sent as ECT(0), marked once, echoed until the sender says CWR; negotiated by ECE and CWR on the SYN."""
    queue = {"kind": "step-ecn", "capacity": "50 packets", "mark_above": 5}
    flow = {"algorithm": "reno", "rtt": "40 ms", "stack": {"ecn": "classic"}}
    records = run(ask({"queue": queue}, [flow], packets=True), seed=1)
    packets = records.packets
    data = packets.filter(pl.col("kind") == 0)
    at_first = data.filter(pl.col("time_ns") == pl.col("sent_ns"))
    assert set(at_first["ecn"]) == {2}
    marked = set(data.filter(pl.col("fate") == 3)["packet"])
    assert marked == set(data.filter(pl.col("ecn") == 3)["packet"])
    assert len(marked) == records.links["marked_packets"].sum() > 0
    assert packets.filter((pl.col("kind") == 1) & pl.col("ece")).height > 0
    assert data.filter("cwr").unique("packet").height == records.flows["ecn_reductions"][0]
    for kind, ece, cwr in ((2, True, True), (3, True, False)):
        flags = packets.filter(pl.col("kind") == kind).select("ece", "cwr").unique().row(0)
        assert flags == (ece, cwr)


def test_presets_do_not_record_packets() -> None:
    assert run(load("single").with_(duration="100 ms"), seed=1).packets.height == 0
