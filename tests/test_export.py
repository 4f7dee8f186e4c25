"""Files for other programs: what these read from them is what was recorded."""

from __future__ import annotations

import csv
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import cwndlab
import polars as pl
import pytest
from cwndlab.cli import app as cli
from cwndlab.export import FORMATS, export
from cwndlab.export.pcap import Frame, Terms, checksum, headers
from cwndlab.export.segments import Numbers
from cwndlab.export.wire import Way, Wire, is_udp
from cwndlab.records import TABLES, Records
from cwndlab.simulate import run

DURATION_S = 4


def ask(flows: list[dict[str, Any]], **bottleneck: Any) -> dict[str, Any]:
    link = {"rate": "10 Mbps", "delay": "10 ms", "queue": {"capacity": "20 packets"}, **bottleneck}
    question = {"schema_version": 1, "duration": f"{DURATION_S} s", "packets": True, "flow": flows}
    return {**question, "dumbbell": {"bottleneck": link}}


@pytest.fixture(scope="module")
def lossy() -> Records:
    """CUBIC beside transfers whose last segments are short, each over a connection of its own; a drop-tail queue."""
    sized = {"kind": "transfers", "count": 20, "bytes": "40001 B", "gap": "20 ms"}
    short: dict[str, Any] = {"algorithm": "reno", "rtt": "60 ms", "workload": sized}
    return run(ask([{"algorithm": "cubic", "rtt": "40 ms"}, short]), seed=3)


@pytest.fixture(scope="module")
def clean() -> Records:
    """No drop, and every segment acknowledged at once."""
    stack = {"ack_every": 1, "receive_window": "30000 B"}
    return run(ask([{"algorithm": "reno", "rtt": "40 ms", "stack": stack}], queue={"capacity": "unlimited"}), seed=1)


def tshark(capture: Path, *arguments: str) -> list[list[str]]:
    """The lines of fields that tshark prints."""
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("no tshark is installed (Debian package tshark)")
    checks = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
    done = subprocess.run([program, "-r", capture, *checks, *arguments], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def fields(*names: str) -> list[str]:
    return ["-T", "fields", *(part for name in names for part in ("-e", name))]


def mine(records: Records, flow: int, kind: int) -> pl.DataFrame:
    """The packets of a flow and kind, each once, as they were sent."""
    packets = records.packets.filter((pl.col("flow") == flow) & (pl.col("kind") == kind))
    return packets.sort("time_ns").unique("packet", keep="first", maintain_order=True)


def test_tshark_reads_every_packet_without_complaint(lossy: Records, tmp_path: Path) -> None:
    export(lossy, "pcap", tmp_path / "a.pcapng")
    wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || tcp.options.unknown"
    assert tshark(tmp_path / "a.pcapng", "-Y", wrong) == []
    rows = tshark(tmp_path / "a.pcapng", *fields("frame.interface_name", "frame.time_epoch", "frame.len", "tcp.len"))
    names = {row[0] for row in rows}
    assert names == {"flow0 sender", "flow1 sender"}
    times = [row[1] for row in rows]
    assert len(times[-1].split(".")[1]) == 9  # nanoseconds
    data = [row for row in rows if row[0] == "flow0 sender" and int(row[3]) > 0]
    sent = mine(lossy, 0, 0)
    assert [row[1] for row in data] == [f"{time // 10**9}.{time % 10**9:09d}" for time in sent["sent_ns"]]
    assert {int(row[2]) for row in data} == {1500}


def test_tsharks_retransmissions_are_ours(lossy: Records, tmp_path: Path) -> None:
    """It sorts what comes below the highest sequence number into several kinds by its own timing; all together are the
    segments that were sent again."""
    export(lossy, "pcap", tmp_path / "a.pcapng")
    again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.out_of_order"
    for flow in (0, 1):
        there = f'(frame.interface_name == "flow{flow} sender") && tcp.len > 0'
        found = tshark(tmp_path / "a.pcapng", "-Y", f"({again}) && {there}", *fields("ip.id", "tcp.seq"))
        ours = mine(lossy, flow, 0).filter("retransmission")
        assert [int(row[0], 16) for row in found] == [packet & 0xFFFF for packet in ours["packet"]]
        assert len(found) == lossy.flows["retransmitted_packets"][flow]
    assert lossy.flows["retransmitted_packets"][0] > 5


def test_tsharks_ack_rtts_are_our_rtt_samples(clean: Records, tmp_path: Path) -> None:
    """Where each segment is acknowledged by itself, the ACK's arrival minus the echoed timestamp is the sample."""
    export(clean, "pcap", tmp_path / "a.pcapng")
    found = tshark(tmp_path / "a.pcapng", "-Y", "tcp.analysis.ack_rtt && tcp.srcport == 5001",
                   *fields("tcp.analysis.ack_rtt"))  # fmt: skip
    handshake, *rtts = [round(float(row[0]) * 1e9) for row in found]
    acks = clean.packets.filter(pl.col("kind") == 1).sort("time_ns")
    last = clean.links.filter(pl.col("name") == "r1-s0")["link"][0]
    acks = acks.filter(pl.col("link") == last).filter(pl.col("arrival_ns") <= DURATION_S * 10**9)
    ours = [arrival - echo for arrival, echo in acks.select("arrival_ns", "echo_ns").iter_rows()]
    assert rtts[: len(ours)] == ours
    assert len(ours) > 1000
    assert min(handshake, *ours) == clean.flows["min_rtt_ns"][0]
    assert (handshake + sum(ours)) // (1 + len(ours)) == clean.flows["mean_rtt_ns"][0]


def test_tshark_sees_the_options_and_sack_blocks(lossy: Records, tmp_path: Path) -> None:
    """MSS 1460 for 1448 bytes of payload and 12 of timestamps; RFC 2018's blocks in bytes from 1."""
    export(lossy, "pcap", tmp_path / "a.pcapng")
    there = '(frame.interface_name == "flow0 sender")'
    names = ("tcp.flags.str", "tcp.options.mss_val", "tcp.options.sack_perm", "tcp.options.wscale.shift")
    syns = tshark(tmp_path / "a.pcapng", "-Y", f"{there} && tcp.flags.syn == 1", *fields(*names))
    assert [row[1] for row in syns] == ["1460", "1460"]
    assert all(row[2] for row in syns)
    assert syns[0][3] == syns[1][3]
    edges = fields("ip.id", "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re")
    found = tshark(tmp_path / "a.pcapng", "-Y", f"{there} && tcp.options.sack", *edges)
    ours = mine(lossy, 0, 1).filter(pl.col("sack") != "")
    told = {
        packet & 0xFFFF: (ack, [block.split("-") for block in text.split(" ")])
        for packet, ack, text in ours.select("packet", "sequence_bytes", "sack").iter_rows()
    }
    assert len(found) > 50
    for number, ack, lefts, rights in found:
        blocks = list(zip(lefts.split(","), rights.split(","), strict=True))
        expected = told[int(number, 16)]
        assert int(ack) == expected[0] + 1
        assert [[int(end) - 1 for end in block] for block in blocks] == [
            [int(end) for end in one] for one in expected[1]
        ]


def test_tshark_sees_marks_and_echoes(tmp_path: Path) -> None:
    queue = {"kind": "step-ecn", "capacity": "50 packets", "mark_above": 5}
    flow = {"algorithm": "reno", "rtt": "40 ms", "stack": {"ecn": "classic"}}
    records = run(ask([flow], queue=queue), seed=1)
    export(records, "pcap", tmp_path / "a.pcapng", at="receivers")
    marked = tshark(tmp_path / "a.pcapng", "-Y", "ip.dsfield.ecn == 3 && tcp.len > 0", *fields("ip.id"))
    assert 0 < len(marked) <= records.links["marked_packets"].sum()
    export(records, "pcap", tmp_path / "b.pcapng")
    reduced = tshark(tmp_path / "b.pcapng", "-Y", "tcp.flags.cwr == 1 && tcp.len > 0", *fields("ip.id"))
    assert len(reduced) == records.flows["ecn_reductions"][0]
    syn = tshark(tmp_path / "b.pcapng", "-Y", "tcp.flags.syn == 1", *fields("tcp.flags.ece", "tcp.flags.cwr"))
    assert [[cell in ("1", "True") for cell in row] for row in syn] == [[True, True], [True, False]]


def test_drops_are_comments_wherever_a_packet_is_seen(lossy: Records, tmp_path: Path) -> None:
    export(lossy, "pcap", tmp_path / "a.pcapng", at="senders,bottleneck")
    rows = tshark(tmp_path / "a.pcapng", "-Y", "frame.comment", *fields("frame.interface_name", "frame.comment"))
    count = lossy.flows["queue_drops"].sum()
    assert len([row for row in rows if row[0] == "bottleneck"]) == count > 0
    assert len([row for row in rows if row[0] != "bottleneck"]) == count
    assert all(row[1].startswith("dropped by the queue of bottleneck at ") for row in rows)


def blocks(capture: bytes) -> list[tuple[int, bytes]]:
    """The blocks of a file, read by the specification's lengths alone."""
    found, at = [], 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", capture, at + length - 4)[0] == length
        found.append((kind, capture[at + 8 : at + length - 4]))
        at += length
    return found


def test_a_capture_is_pcapng_to_the_byte(lossy: Records, tmp_path: Path) -> None:
    """Without tshark: block lengths, link type 228, resolution 10^-9, and both checksums are zero when summed up."""
    export(lossy, "pcap", tmp_path / "a.pcapng")
    section, *rest = blocks((tmp_path / "a.pcapng").read_bytes())
    assert section[0] == 0x0A0D0D0A
    assert struct.unpack_from("<IHH", section[1]) == (0x1A2B3C4D, 1, 0)
    interfaces = [body for kind, body in rest if kind == 1]
    assert [struct.unpack_from("<H", body)[0] for body in interfaces] == [228, 228]
    assert all(struct.pack("<HHB", 9, 1, 9) in body for body in interfaces)
    packets = [body for kind, body in rest if kind == 6]
    assert len(packets) == len(rest) - 2 > 1000
    for body in packets[:300]:
        _, _, _, captured, original = struct.unpack_from("<IIIII", body)
        packet = body[20 : 20 + captured]
        assert checksum(packet[:20]) == 0
        assert struct.unpack_from(">H", packet, 2)[0] == original
        pseudo = packet[12:20] + struct.pack(">HH", 6, original - 20)
        assert checksum(pseudo + packet[20:]) == 0  # what is left out is zeros


def test_the_internet_checksum_is_that_of_rfc_1071() -> None:
    """RFC 1071, section 3: 00 01 f2 03 f4 f5 f6 f7 sums up to ddf2."""
    assert checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xDDF2 ^ 0xFFFF


def test_bytes_are_numbered_without_gaps(lossy: Records) -> None:
    """Transfers of 40,001 bytes: 27 full segments of 1,448 and one of 905."""
    wire = Wire(lossy)
    data = mine(lossy, 1, 0).unique(["connection", "sequence_bytes"], keep="first", maintain_order=True)
    for connection in data["connection"].unique():
        at = 0
        one = data.filter(pl.col("connection") == connection).sort("sequence_bytes")
        for start, length in one.select("sequence_bytes", "payload_bytes").iter_rows():
            assert wire.byte(1, connection, start) == at
            at += length
    assert set(data["payload_bytes"]) == {1448, 905}


def test_a_window_probe_is_below_the_first_unacknowledged_byte(tmp_path: Path) -> None:
    """Linux, tcp_xmit_probe_skb: an empty segment with the number SND.UNA - 1, so that the receiver answers it. By
    hand: a window of 3,000 bytes that nobody reads holds three segments of 1,000."""
    stack = {"mss": "1000 B", "receive_window": "3000 B", "auto_tuning": False, "read_rate": "1 bps"}
    records = run(ask([{"algorithm": "reno", "rtt": "40 ms", "profile": "rfc", "stack": stack}]), seed=1)
    wire = Wire(records)
    probes = [row for row in wire.rows(link=0) if row["kind"] == 0 and row["payload_bytes"] == 0]
    assert len(probes) >= 2
    assert {(row["sequence_bytes"], row["retransmission"]) for row in probes} == {(3000, False)}
    assert [wire.byte(0, 0, segment * 1000) for segment in range(4)] == [0, 1000, 2000, 3000]
    export(records, "pcap", tmp_path / "a.pcapng")
    numbers = set()
    for kind, body in blocks((tmp_path / "a.pcapng").read_bytes()):
        if kind == 6:
            packet = body[20:]
            port, _, number = struct.unpack_from(">HHI", packet, 20)
            empty = struct.unpack_from(">H", packet, 2)[0] == 20 + (packet[32] >> 4) * 4
            if port == 40_000 and empty and not packet[33] & 2:
                numbers.add(number)
    assert numbers == {3000}  # relative to the SYN, as 0; the next byte is 3001


@pytest.fixture(scope="module")
def arrivals() -> Records:
    """Transfers over connections at the same time, beside a long one."""
    return run(cwndlab.presets.load("short-flows").with_({"duration": "1 s", "packets": True}), seed=1)


def test_connections_at_the_same_time_have_numbers_of_their_own(arrivals: Records) -> None:
    """Each opens with a SYN of its own number, the next one after the last; its bytes are without gaps."""
    syns = mine(arrivals, 1, 2)
    assert syns["connection"].to_list() == list(range(len(syns)))
    assert len(syns) > 50
    wire = Wire(arrivals)
    first_time = mine(arrivals, 1, 0).filter(~pl.col("retransmission"))
    for connection in first_time["connection"].unique():
        at = 0
        one = first_time.filter(pl.col("connection") == connection)
        for start, length in one.select("sequence_bytes", "payload_bytes").iter_rows():
            assert wire.byte(1, connection, start) == at
            at += length
    spans = (
        first_time.group_by("connection")
        .agg(pl.col("sent_ns").min(), pl.col("sent_ns").max().alias("end"))
        .sort("sent_ns")
    )
    assert (spans["end"].cum_max().shift(1) > spans["sent_ns"]).any()


def test_tshark_tells_the_connections_of_a_flow_apart(arrivals: Records, tmp_path: Path) -> None:
    export(arrivals, "pcap", tmp_path / "a.pcapng")
    there = 'frame.interface_name == "short sender"'
    streams = tshark(tmp_path / "a.pcapng", "-Y", there, *fields("tcp.stream"))
    assert len({row[0] for row in streams}) == len(mine(arrivals, 1, 2))
    again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.out_of_order"
    found = tshark(tmp_path / "a.pcapng", "-Y", f"({again}) && {there} && tcp.len > 0", *fields("ip.id"))
    ours = mine(arrivals, 1, 0).filter("retransmission").sort("packet")
    assert [int(row[0], 16) for row in found] == [packet & 0xFFFF for packet in ours["packet"]]


@pytest.mark.parametrize(("connection", "port"), [(0, 40_000), (25_023, 65_023), (25_024, 1_024), (64_000, 40_000)])
def test_ports_of_many_connections_are_ports(clean: Records, connection: int, port: int) -> None:
    """By hand: 64,000 ports from 1,024 on are up to 65,023, the first one is 40,000."""
    wire = Wire(clean)
    row = next(wire.rows(link=0)) | {"connection": connection}
    packet, _ = headers(wire, Frame(0, 0, 0, row, 64, 0, ""), Terms(1460, True, 0, 65_535), Numbers())
    assert struct.unpack_from(">HH", packet, 20) == (port, 5_001)


@pytest.fixture(scope="module")
def datagrams() -> Records:
    """Datagrams of one size above the rate of the line, and a video whose receiver reports."""
    cbr = {"kind": "cbr", "rate": "12 Mbps", "packet": "1500 B"}
    video = {"kind": "adaptive-video", "control": "gcc"}
    flows = [{"transport": "udp", "rtt": "40 ms", "workload": one} for one in (cbr, video)]
    return run({**ask(flows), "duration": "1 s"}, seed=1)


def test_datagrams_are_captured_as_udp(datagrams: Records, tmp_path: Path) -> None:
    """By hand: 1,472 bytes of payload, 8 of UDP and 20 of IPv4 are 1,500. A report comes from the receiver's end."""
    export(datagrams, "pcap", tmp_path / "a.pcapng")
    sizes: dict[tuple[int, bool], list[int]] = {}
    for kind, body in blocks((tmp_path / "a.pcapng").read_bytes()):
        if kind != 6:
            continue
        interface, _, _, captured, original = struct.unpack_from("<IIIII", body)
        packet = body[20 : 20 + captured]
        assert (packet[9], captured, checksum(packet[:20])) == (17, 28, 0)
        source, _, length, _ = struct.unpack_from(">HHHH", packet, 20)
        assert length == original - 20
        pseudo = packet[12:20] + struct.pack(">HH", 17, length)
        assert checksum(pseudo + packet[20:]) == 0
        sizes.setdefault((interface, source == 40_000), []).append(original)
    assert sizes[0, True] == [1500] * datagrams.flows["sent_packets"][0]
    assert sum(sizes[1, True]) == datagrams.flows["wire_bytes"][1]
    route = [int(link) for link in datagrams.flows["route"][1].split()]
    reports = datagrams.packets.filter((pl.col("flow") == 1) & ~pl.col("link").is_in(route)).unique("packet")
    assert len(reports) > 5
    assert len(sizes[1, False]) == pytest.approx(len(reports), abs=2)  # some are on their way at the end
    assert set(sizes) == {(0, True), (1, True), (1, False)}


@pytest.mark.parametrize(
    ("profile", "delay", "expected"),
    [("udp", None, True), ("quinn-proto 0.11.19", 20_982_400, True), ("linux", None, False)],
)
def test_flows_of_datagrams_are_those_with_a_one_way_delay(profile: str, delay: int | None, expected: bool) -> None:
    """docs/records.md: null for TCP. A hosted stack has its name as profile; of a source, nothing may have arrived."""
    assert is_udp({"profile": profile, "min_delay_ns": delay}) is expected


def test_tshark_reads_datagrams(datagrams: Records, tmp_path: Path) -> None:
    export(datagrams, "pcap", tmp_path / "a.pcapng")
    bad = "_ws.malformed || udp.checksum.status == 0 || tcp"
    assert tshark(tmp_path / "a.pcapng", "-o", "udp.check_checksum:TRUE", "-Y", bad) == []
    there = 'frame.interface_name == "flow0 sender"'
    rows = tshark(tmp_path / "a.pcapng", "-Y", there, *fields("udp.length", "frame.len"))
    assert {tuple(row) for row in rows} == {("1480", "1500")}


def test_datagrams_are_udp_in_traces_and_qlog(datagrams: Records, tmp_path: Path) -> None:
    export(datagrams, "ns2", tmp_path / "out.tr")
    lines = [line.split(" ") for line in (tmp_path / "out.tr").read_text(encoding="utf-8").splitlines()]
    assert {line[4] for line in lines} == {"udp"}
    ends = {tuple(line[8:10]) for line in lines if line[7] == "1"}
    assert len(ends) == 2  # there and back
    assert {end[::-1] for end in ends} == ends
    for flow, path in enumerate(export(datagrams, "qlog", tmp_path)):
        head, *events = [json.loads(record) for record in path.read_bytes().split(b"\x1e")[1:]]
        assert head["trace"]["common_fields"]["protocol_type"] == ["UDP"]
        assert head["trace"]["event_schemas"] == ["urn:cwndlab:qlog:udp"]
        names = [event["name"] for event in events]
        assert set(names) <= {
            "recovery:parameters_set", "udp:datagram_sent", "udp:datagram_dropped", "udp:datagram_received"
        }  # fmt: skip
        assert names.count("udp:datagram_sent") == datagrams.flows["sent_packets"][flow]
        drops = [event["data"] for event in events if event["name"] == "udp:datagram_dropped"]
        assert len(drops) == datagrams.flows["queue_drops"][flow]
        assert ("udp:datagram_received" in names) == (flow == 1)
    assert datagrams.flows["queue_drops"][0] > 10


def test_ways_and_nodes_are_those_of_a_dumbbell(lossy: Records) -> None:
    wire = Wire(lossy)
    names = [[wire.links[link] for link in wire.ways[Way(0, forward)]] for forward in (True, False)]
    assert [one[1] for one in names] == ["bottleneck", "bottleneck-reverse"]
    assert all(len(one) == 3 for one in names)
    forward, back = (wire.ways[Way(0, way)] for way in (True, False))
    nodes = [wire.ends[link] for link in forward]
    assert nodes[0][1] == nodes[1][0]
    assert nodes[1][1] == nodes[2][0]
    assert [wire.ends[link][::-1] for link in back] == nodes[::-1]  # there and back between the same nodes
    assert wire.ends[wire.ways[Way(1, True)][0]][0] != nodes[0][0]


def test_a_classic_awk_script_reads_the_trace(lossy: Records, tmp_path: Path) -> None:
    """Throughput at the receivers' side of the bottleneck, drops and queueing delay, as old scripts take them."""
    export(lossy, "ns2", tmp_path / "out.tr")
    awk = shutil.which("awk")
    assert awk is not None
    link = lossy.links["name"].to_list().index("bottleneck")
    start, end = Wire(lossy).ends[link]
    values = {"node": end, "watch": start, "duration": DURATION_S}
    given = [part for name, value in values.items() for part in ("-v", f"{name}={value}")]
    script = Path(__file__).with_name("classic.awk")
    done = subprocess.run([awk, *given, "-f", script, tmp_path / "out.tr"], capture_output=True, text=True, check=True)
    told = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    packets = lossy.packets.filter((pl.col("link") == link) & (pl.col("kind") == 0))
    for flow in (0, 1):
        passed = packets.filter((pl.col("flow") == flow) & pl.col("arrival_ns").is_not_null())["size_bytes"].sum()
        assert float(told[f"throughput {flow}"]) == pytest.approx(8e-6 * int(passed) / DURATION_S, abs=1e-6)
        assert int(told.get(f"drops {flow}", 0)) == lossy.flows["queue_drops"][flow]
    assert told["bad"] == "0"
    # Little's law: the time in the queue of all packets is the integral of the packets that wait.
    waited = lossy.links["mean_queue_packets"][link] * DURATION_S
    assert float(told["queueing"]) == pytest.approx(waited, rel=0.01)


def test_trace_lines_have_the_columns_of_ns2(lossy: Records, tmp_path: Path) -> None:
    export(lossy, "ns2", tmp_path / "out.tr")
    lines = [line.split(" ") for line in (tmp_path / "out.tr").read_text(encoding="utf-8").splitlines()]
    assert {len(line) for line in lines} == {12}
    assert {line[0] for line in lines} == {"+", "-", "r", "d"}
    assert {line[4] for line in lines} == {"tcp", "ack", "syn", "synack"}
    assert {len(line[6]) for line in lines} == {7}
    counts = {event: sum(line[0] == event for line in lines) for event in "+-rd"}
    assert counts["+"] == len(lossy.packets)
    assert counts["+"] - counts["d"] == counts["-"] == counts["r"]
    first = next(line for line in lines if line[4] == "tcp")
    assert first[10] == "0"  # the first segment


# What draft-ietf-quic-qlog-main-schema (version 0.3) and -quic-events say of the events that are used.
METRICS = {
    "min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance", "pto_count", "congestion_window", "bytes_in_flight",
    "ssthresh", "packets_in_flight", "pacing_rate",
}  # fmt: skip
STATES = {"old", "new", "trigger"}


def test_a_packet_that_a_discipline_holds_at_the_end_has_no_departure(tmp_path: Path) -> None:
    """By hand: 2 Mbit/s offered to 1 Mbit/s leave a queue, whose packets entered it and did not leave: `+` alone."""
    scenario = {
        "schema_version": 1,
        "duration": "1 s",
        "packets": True,
        "dumbbell": {"bottleneck": {"rate": "1 Mbps", "delay": "1 ms", "queue": {"kind": "codel"}}},
        "flow": [
            {"transport": "udp", "rtt": "2 ms", "workload": {"kind": "cbr", "rate": "2 Mbps", "packet": "1000 B"}}
        ],
    }
    records = run(scenario, seed=1)
    export(records, "ns2", tmp_path / "codel.tr")
    events = [line[0] for line in (tmp_path / "codel.tr").read_text().splitlines()]
    link = records.links.filter(name="bottleneck").row(0, named=True)
    waiting = link["arrived_packets"] - link["dropped_packets"] - link["sent_packets"]
    assert waiting > 10
    # On the other links nothing waits, and nothing is dropped.
    assert events.count("+") - events.count("-") - link["dropped_packets"] == waiting


def test_qlog_has_the_structure_of_the_draft(lossy: Records, tmp_path: Path) -> None:
    made = export(lossy, "qlog", tmp_path / "logs")
    assert [path.name for path in made] == ["flow0.sqlog", "flow1.sqlog"]
    for path in made:
        text = path.read_bytes()
        assert text.startswith(b"\x1e")  # RFC 7464: each record between a separator and a line feed
        assert text.endswith(b"\n")
        head, *events = [json.loads(record) for record in text.split(b"\x1e")[1:]]
        assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
        trace = head["trace"]
        assert trace["vantage_point"]["type"] in {"client", "server", "network", "unknown"}
        assert trace["common_fields"]["time_format"] in {"absolute", "delta", "relative"}
        assert isinstance(trace["common_fields"]["protocol_type"], list)
        assert trace["event_schemas"] == ["urn:cwndlab:qlog:tcp"]
        assert all(set(event) == {"time", "name", "data"} for event in events)
        times = [event["time"] for event in events]
        assert times == sorted(times)
        for event in events:
            category, _, kind = event["name"].partition(":")
            assert category in {"recovery", "tcp"}
            if kind == "metrics_updated":
                assert 0 < len(event["data"]) <= len(METRICS)
                assert set(event["data"]) <= METRICS
                assert all(isinstance(value, int | float) for value in event["data"].values())
            elif kind == "congestion_state_updated":
                assert "new" in event["data"]
                assert set(event["data"]) <= STATES


def test_qlog_says_what_the_samples_say(lossy: Records, tmp_path: Path) -> None:
    text = export(lossy, "qlog", tmp_path)[0].read_bytes()
    events = [json.loads(record) for record in text.split(b"\x1e")[2:]]
    known: dict[str, float] = {}
    windows = []
    for event in events:
        if event["name"] == "recovery:metrics_updated":
            known |= event["data"]
            windows.append((round(event["time"] * 1e6), known["congestion_window"]))
    samples = lossy.samples.filter(pl.col("flow") == 0)
    recorded = dict(samples.select("time_ns", "cwnd_bytes").iter_rows())
    assert all(recorded[time] == window for time, window in windows)
    assert len(windows) > 20
    assert sum(event["name"] == "tcp:segment_sent" for event in events) == lossy.flows["sent_packets"][0]
    assert sum(event["name"] == "tcp:segment_dropped" for event in events) == lossy.flows["queue_drops"][0]
    remarks = [event["data"]["kind"] for event in events if event["name"] == "tcp:remark"]
    assert remarks == lossy.events.filter(pl.col("flow") == 0)["kind"].to_list()


def test_qlog_of_a_flow_that_paces_has_its_rate(tmp_path: Path) -> None:
    question = ask([{"algorithm": "bbr1", "rtt": "40 ms"}])
    records = run({**question, "packets": False}, seed=1)
    text = export(records, "qlog", tmp_path)[0].read_bytes()
    rates = [event["data"]["pacing_rate"] for record in text.split(b"\x1e")[2:]
             if "pacing_rate" in (event := json.loads(record))["data"]]  # fmt: skip
    assert set(rates) <= set(records.samples["pacing_rate_bps"])
    assert len(rates) > 5


def test_every_table_is_a_csv_with_units_in_its_header(lossy: Records, tmp_path: Path) -> None:
    made = export(lossy, "csv", tmp_path)
    assert [path.stem for path in made] == list(TABLES)
    for path in made:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        frame = lossy.frame(path.stem)
        assert header == frame.columns
        assert len(rows) == len(frame)
    with (tmp_path / "flows.csv").open(encoding="utf-8", newline="") as file:
        flows = list(csv.DictReader(file))
    assert [int(row["delivered_bytes"]) for row in flows] == lossy.flows["delivered_bytes"].to_list()


def test_what_cannot_be_written_says_so(lossy: Records, clean: Records, tmp_path: Path) -> None:
    bare = run({**ask([{"algorithm": "reno", "rtt": "40 ms"}]), "packets": False, "duration": "100 ms"}, seed=1)
    for format in ("pcap", "ns2"):
        with pytest.raises(
            cwndlab.RecordsError,
            match="packets: no packet was recorded\n  hint: run again with `--set packets=true`, or with `--pcap`",
        ):
            export(bare, format, tmp_path / "x")
    with pytest.raises(
        cwndlab.RecordsError, match="format: 'xml' is not a format\n  hint: write csv, qlog, ns2 or pcap"
    ):
        export(clean, "xml", tmp_path / "x")
    with pytest.raises(
        cwndlab.RecordsError, match="--at: 'moon' is not a place to listen at\n  hint: there are senders"
    ):
        export(clean, "pcap", tmp_path / "x", at="senders,moon")
    with pytest.raises(cwndlab.RecordsError, match="--at: names no place"):
        export(clean, "pcap", tmp_path / "x", at=",")
    (tmp_path / "file").write_text("")
    for format in FORMATS:
        with pytest.raises(cwndlab.RecordsError, match="cannot be written: "):
            export(clean, format, tmp_path / "file" / "x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_command_line_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, capture = tmp_path / "out", tmp_path / "run.pcapng"
    asked = ["run", "two-flows", "--seed", "1", "--set", "duration=300 ms"]
    assert cli.status([*asked, "--out", str(out), "--pcap", str(capture)]) == 0
    assert f"packets: {capture}" in capsys.readouterr().err
    for format in FORMATS:
        assert cli.status(["export", str(out), "--format", format, "-o", str(tmp_path / format)]) == 0
        assert f"{format}: {tmp_path / format}" in capsys.readouterr().err
    assert (tmp_path / "pcap").read_bytes() == capture.read_bytes()
    assert cli.status(["export", str(tmp_path / "none"), "--format", "csv", "-o", str(tmp_path / "x")]) == 2
