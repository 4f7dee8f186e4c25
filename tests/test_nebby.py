"""What tools/nebby.py makes of a table of packets."""

from __future__ import annotations

from pathlib import Path

import nebby
from nebby import Packet

#: The receiver opens the connection, and acknowledges two segments.
PACKETS = [
    *(Packet(0.0, False, 0, 0, 0), Packet(0.01, True, 0, 1, 0), Packet(0.02, False, 1, 1, 0)),
    *(Packet(0.03, True, 1, 1, 48), Packet(0.03, True, 49, 1, 48), Packet(0.1, False, 1, 97, 0)),
]


def test_a_row_of_the_table_is_a_packet(tmp_path: Path) -> None:
    names = ("frame.len", "tcp.seq", "tcp.dstport", "tcp.len", "tcp.ack", "tcp.srcport", "frame.time_relative")
    rows = ['"86","","","","","","0.0"', '"100","1","5000","48","1","7","0.1"', '"64","1","7","0","49","5000","0.2"']
    file = tmp_path / "reno.csv"
    file.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    assert nebby.read(file) == [Packet(0.1, True, 1, 1, 48), Packet(0.2, False, 1, 49, 0)]


def test_a_capture_has_its_packets_in_ipv4(tmp_path: Path) -> None:
    """24 bytes of a header, and for each packet 16; IP and TCP have 20 bytes each, and the options of a SYN 8. Only the
    first SYN has no ACK (RFC 9293, section 3.5)."""
    file = tmp_path / "trace.pcap"
    nebby.capture(PACKETS, file)
    content = file.read_bytes()
    assert len(content) == 24 + 6 * (16 + 40) + 2 * 8 + 2 * 48
    flags = [content[24 + at + 16 + 33] for at in (0, 64)]
    assert flags == [2, 2 | 16]
