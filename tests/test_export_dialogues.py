"""Captures and logs of dialogues over TCP, whose two ends both send data."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cwndlab.export import export
from cwndlab.export.wire import Wire
from cwndlab.records import Records
from cwndlab.simulate import run

SERVER, CLIENT = "10.0.0.1", "10.128.0.1"


def ask(workload: dict[str, Any], **bottleneck: Any) -> dict[str, Any]:
    link = {"rate": "10 Mbps", "delay": "10 ms", "queue": {"capacity": "100 packets"}, **bottleneck}
    flow = {"name": "f", "rtt": "40 ms", "algorithm": "cubic", "workload": workload}
    bell = {"bottleneck": link, "reverse": {"rate": "none"}}
    return {"schema_version": 1, "duration": "3 s", "packets": True, "flow": [flow], "dumbbell": bell}


@pytest.fixture(scope="module")
def two() -> Records:
    """Two requests of 1,000 bytes and responses of 3,000."""
    kind = {"kind": "request-response", "request": "1 kB", "response": "3 kB", "count": 2, "think": "100 ms"}
    return run(ask(kind), seed=1)


@pytest.fixture(scope="module")
def lossy() -> Records:
    """Large requests and responses through a short queue, on a wire that loses packets."""
    sizes = {"request": "20 kB", "response": "200 kB"}
    kind = {"kind": "request-response", **sizes, "count": 6, "think": "10 ms"}
    question = ask(kind, queue={"capacity": "8 packets"}, loss={"kind": "bernoulli", "p": 0.005})
    return run({**question, "duration": "6 s"}, seed=2)


def tshark(capture: Path, condition: str, *names: str) -> list[list[str]]:
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("no tshark is installed (Debian package tshark)")
    checks = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
    fields = [part for name in names for part in ("-e", name)]
    command = [program, "-r", str(capture), *checks, "-Y", condition, "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("at", ["senders", "receivers"])
def test_a_capture_has_both_directions_and_their_numbers(two: Records, tmp_path: Path, at: str) -> None:
    """By hand: RFC 9293's numbers of two requests of 1,000 bytes and two responses of 1,448 + 1,448 + 104."""
    export(two, "pcap", tmp_path / "a.pcapng", at=at)
    rows = tshark(tmp_path / "a.pcapng", "tcp", "ip.src", "tcp.flags.syn", "tcp.seq", "tcp.ack", "tcp.len")
    assert {(row[0], row[2]) for row in rows if row[1] in ("1", "True")} == {(CLIENT, "0"), (SERVER, "0")}
    data = [(row[0], *map(int, row[2:])) for row in rows if int(row[4]) > 0]
    assert data == [
        (CLIENT, 1, 1, 1000),
        *((SERVER, 1 + at, 1001, length) for at, length in ((0, 1448), (1448, 1448), (2896, 104))),
        (CLIENT, 1001, 3001, 1000),
        *((SERVER, 3001 + at, 2001, length) for at, length in ((0, 1448), (1448, 1448), (2896, 104))),
    ]
    acks = [(row[0], *map(int, row[2:4])) for row in rows if row[4] == "0" and row[1] not in ("1", "True")]
    assert [ack for ack in acks if ack[0] == SERVER] == [(SERVER, 1, 1001), (SERVER, 3001, 2001)]
    assert [ack[1:] for ack in acks if ack[0] == CLIENT] == [
        (1001, 1449), (1001, 2897), (1001, 3001), (2001, 4449), (2001, 5897), (2001, 6001)
    ]  # fmt: skip


def test_a_segment_echoes_what_arrived_before(two: Records, tmp_path: Path) -> None:
    """By hand, ms: the SYN leaves at 0, the SYN-ACK at 20, the request at 40, the response at 60, its ACKs from 81 on;
    a response echoes its request (RFC 7323, section 4.3)."""
    export(two, "pcap", tmp_path / "a.pcapng", at="receivers")
    rows = tshark(
        tmp_path / "a.pcapng", "tcp", "ip.src", "tcp.len", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr"
    )
    assert [row[2:] for row in rows[:4]] == [["0", "0"], ["20", "0"], ["40", "20"], ["60", "40"]]
    data = [row[2:] for row in rows if int(row[1]) > 0]
    assert data[1:4] == [["60", "40"]] * 3
    assert data[4] == ["182", "60"]


@pytest.mark.parametrize("at", ["senders", "receivers"])
def test_tshark_finds_nothing_wrong_in_a_lossy_dialogue(lossy: Records, tmp_path: Path, at: str) -> None:
    export(lossy, "pcap", tmp_path / "a.pcapng", at=at)
    wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || tcp.analysis.ack_lost_segment"
    assert tshark(tmp_path / "a.pcapng", wrong, "frame.number") == []
    data = tshark(tmp_path / "a.pcapng", "tcp.len > 0", "ip.src", "ip.id")
    wire = Wire(lossy)
    for source, forward in ((SERVER, True), (CLIENT, False)):
        sent = wire.packets.filter((pl.col("kind") == 0) & (pl.col("forward") == forward))
        ways = {one: links for (_, one), links in wire.ways.items()}
        here = sent.filter(pl.col("link") == ways[forward][0])
        if (at == "senders") != forward:
            here = sent.filter((pl.col("link") == ways[forward][-1]) & pl.col("arrival_ns").is_not_null())
        found = sorted(int(row[1], 16) for row in data if row[0] == source)
        assert found == sorted(packet & 0xFFFF for packet in here["packet"])
        assert len(found) > 80
    again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.out_of_order"
    if at == "senders":
        rows = tshark(tmp_path / "a.pcapng", f"({again}) && tcp.len > 0 && ip.src == {SERVER}", "ip.id")
        ours = wire.packets.filter(pl.col("retransmission") & pl.col("forward")).unique("packet")
        assert sorted(int(row[0], 16) for row in rows) == sorted(packet & 0xFFFF for packet in ours["packet"])
        assert len(rows) > 5


def test_the_last_acks_are_of_all_bytes(lossy: Records, tmp_path: Path) -> None:
    """By hand: six requests of 20,000 bytes and six responses of 200,000, and the SYN."""
    export(lossy, "pcap", tmp_path / "a.pcapng")
    for source, total in ((SERVER, 120_001), (CLIENT, 1_200_001)):
        acks = [int(row[0]) for row in tshark(tmp_path / "a.pcapng", f"ip.src == {source}", "tcp.ack") if row[0]]
        assert acks == sorted(acks)
        assert acks[-1] == total


def test_qlog_has_what_the_sender_sends_and_receives(two: Records, tmp_path: Path) -> None:
    (path,) = export(two, "qlog", tmp_path)
    _, *events = [json.loads(record) for record in path.read_bytes().split(b"\x1e")[1:]]

    def of(name: str, *keys: str) -> list[tuple[int, ...]]:
        return [tuple(one["data"][key] for key in keys) for one in events if one["name"] == f"tcp:{name}"]

    sent = [(0, 1448), (1448, 1448), (2896, 104), (3000, 1448), (4448, 1448), (5896, 104)]
    assert of("segment_sent", "sequence", "length") == sent
    assert of("segment_received", "sequence", "length") == [(0, 1000), (1000, 1000)]
    assert of("ack_sent", "ack") == [(1000,), (2000,)]
    assert of("ack_received", "ack") == [(1448,), (2896,), (3000,), (4448,), (5896,), (6000,)]


def test_traces_of_ns2_have_the_ends_of_both_directions(two: Records, tmp_path: Path) -> None:
    export(two, "ns2", tmp_path / "out.tr")
    lines = [line.split(" ") for line in (tmp_path / "out.tr").read_text(encoding="utf-8").splitlines()]
    ends = {tuple(line[8:10]) for line in lines if line[4] == "tcp"}
    assert len(ends) == 2
    assert {end[::-1] for end in ends} == ends
