"""What tools/nebby.py makes of a table of packets."""

from __future__ import annotations

from pathlib import Path

import nebby
from nebby import Packet


def data(time: float, seq: int) -> Packet:
    return Packet(time, True, seq, 1, 48, 0)


def ack(time: float, number: int, blocks: int = 0) -> Packet:
    return Packet(time, False, 1, number, 0, blocks)


#: Of four segments the second one is lost, and sent again after two duplicate ACKs.
PACKETS = [
    *(data(0.0, 1), data(0.001, 49), data(0.002, 97), data(0.003, 145)),
    *(ack(0.1, 49), ack(0.101, 49, 1), ack(0.102, 49, 1)),
    data(0.103, 49),
    ack(0.2, 193),
]


def test_the_blocks_of_an_ack_follow_from_the_order_of_sending() -> None:
    """RFC 2018, section 4: a block has what the receiver has beyond the acknowledged data, here by hand."""
    assert nebby.arrivals(PACKETS) == [(1, 49), (97, 145), (145, 193), (49, 97)]
    blocks, missing = nebby.acked_blocks(PACKETS)
    assert (blocks, missing) == ({4: [], 5: [(97, 145)], 6: [(97, 193)], 8: []}, 0)


def test_a_row_of_the_table_is_a_packet_with_its_blocks(tmp_path: Path) -> None:
    """Headers of IP and TCP with timestamps have 52 bytes, a SACK option with one block 12."""
    names = ("frame.len", "tcp.seq", "tcp.dstport", "tcp.len", "tcp.ack", "tcp.srcport", "frame.time_relative")
    rows = ['"86","","","","","","0.0"', '"100","1","5000","48","1","7","0.1"', '"64","1","7","0","49","5000","0.2"']
    file = tmp_path / "reno.csv"
    file.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    assert nebby.read(file) == [Packet(0.1, True, 1, 1, 48, 0), Packet(0.2, False, 1, 49, 0, 1)]


def test_a_capture_has_its_packets_in_ipv4(tmp_path: Path) -> None:
    """24 bytes of a header, and for each packet 16; IP and TCP have 20 bytes each, and a block with its option 12."""
    file = tmp_path / "trace.pcap"
    nebby.capture(PACKETS, nebby.acked_blocks(PACKETS)[0], file)
    assert file.stat().st_size == 24 + 9 * (16 + 40) + 5 * 48 + 2 * 12
