"""Packet captures: pcapng with nanoseconds, IPv4 and TCP headers with their options or UDP headers, payload left out.

Blocks are those of draft-ietf-opsawg-pcapng: a section header, an interface per tap, an enhanced packet block per
packet. Headers follow RFC 791, RFC 768, RFC 9293, RFC 7323 (timestamps in milliseconds, window scale), RFC 2018 (SACK)
and RFC 3168 (ECN). A packet's capture ends with its headers; its original length is that of its IPv4 packet, and its
checksum of TCP or UDP that of a payload of zeros. Sequence numbers begin at 0 with the SYN, so data's first byte is 1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import polars as pl

from cwndlab.errors import Fault, RecordsError
from cwndlab.export.segments import Numbers, numbers
from cwndlab.export.wire import ACK, DATA, DROPPED, LOST, SYN, SYN_ACK, Way, Wire
from cwndlab.files import atomic_write

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Where packets can be tapped, apart from the names of links.
TAPS = ("senders", "receivers", "links")
# LINKTYPE_IPV4: packets begin with their IPv4 header.
_LINKTYPE = 228
_SENDER_NET, _RECEIVER_NET = 10 << 24, (10 << 24) | (128 << 16)
_SENDER_PORT, _RECEIVER_PORT = 40_000, 5_001
# Of senders: those above the well-known ones, from _SENDER_PORT on and then from the first.
_FIRST_PORT, _PORTS = 1_024, 64_000
_TCP, _UDP = 6, 17
_TTL = 64
_FLAG_SYN, _FLAG_ACK, _FLAG_ECE, _FLAG_CWR, _FLAG_AE = 0x02, 0x10, 0x40, 0x80, 0x100
# What an end offers to receive before it has acknowledged anything, as the sender of a bulk flow never does.
_IDLE_WINDOW = 65_535
_MOST_SCALE = 14
_IN, _OUT = 1, 2


class Tap(NamedTuple):
    """An interface of the capture: a flow's end, or the entrance of a link."""

    name: str
    description: str
    flow: int | None
    link: int | None
    sender: bool


class Frame(NamedTuple):
    """A packet at a tap."""

    time_ns: int
    tap: int
    way: int
    row: dict[str, Any]
    ttl: int
    ecn: int
    comment: str


class Terms(NamedTuple):
    """What a flow's SYNs negotiate."""

    mss: int
    timestamps: bool
    scale: int
    first_window: int


def write(records: Records, path: Path | str, taps: str = "senders") -> None:
    """Writes the capture of a run to ``path``; an error leaves no file.

    ``taps`` is ``senders``, ``receivers``, ``links`` or names of links, joined by commas.

    Raises ``RecordsError`` if packets were not recorded, a tap does not exist, or the file cannot be written.
    """
    wire = Wire(records)
    chosen = _taps(wire, taps)
    with atomic_write(path) as file:
        capture(wire, chosen, file)


def write_end(records: Records, path: Path | str, flow: int, *, sender: bool, origin_ns: int = 0) -> None:
    """Writes what one end of a flow sees, as a capture on that host; the run begins at ``origin_ns`` of its clock.

    Raises ``RecordsError`` if packets were not recorded, or the file cannot be written.
    """
    end = "sender" if sender else "receiver"
    with atomic_write(path) as file:
        capture(Wire(records), [Tap(end, f"{end} of flow {flow}", flow, None, sender)], file, origin_ns)


def capture(wire: Wire, taps: list[Tap], file: BinaryIO, origin_ns: int = 0) -> None:
    """Writes the blocks; the run begins at ``origin_ns``."""
    shows = f"cwndlab {wire.records.version}"
    start = f"the run starts at {origin_ns} ns" if origin_ns else "time 0 is the start of the run"
    about = f"scenario {wire.records.scenario_hash}, seed {wire.records.seed}; {start}"
    file.write(
        _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1), [(1, about.encode()), (4, shows.encode())])
    )
    for tap in taps:
        options = [(2, tap.name.encode()), (3, tap.description.encode()), (9, b"\x09")]
        file.write(_block(1, struct.pack("<HHI", _LINKTYPE, 0, 0), options))
    terms = _terms(wire)
    frames = [frame for number, tap in enumerate(taps) for frame in _frames(wire, number, tap)]
    frames.sort(key=lambda frame: (frame.time_ns, frame.tap, frame.row["packet"]))
    known = numbers(wire)
    for frame in frames:
        packet, length = headers(wire, frame, terms[frame.row["flow"]], known.get(frame.row["packet"], Numbers()))
        time = origin_ns + frame.time_ns
        body = struct.pack("<IIIII", frame.tap, time >> 32, time & 0xFFFFFFFF, len(packet), length)
        options = [(2, struct.pack("<I", frame.way))] if frame.way else []
        if frame.comment:
            options.insert(0, (1, frame.comment.encode()))
        file.write(_block(6, body + packet + bytes(-len(packet) % 4), options))


def _block(kind: int, body: bytes, options: Iterable[tuple[int, bytes]]) -> bytes:
    packed = b"".join(struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4) for code, value in options)
    if packed:
        packed += bytes(4)
    length = 12 + len(body) + len(packed)
    return struct.pack("<II", kind, length) + body + packed + struct.pack("<I", length)


def _taps(wire: Wire, text: str) -> list[Tap]:
    result, faults = [], []
    for name in (one.strip() for one in text.split(",") if one.strip()):
        if name in ("senders", "receivers"):
            end = name.removesuffix("s")
            result += [
                Tap(f"{flow['name']} {end}", f"{end} of flow {flow['flow']}", flow["flow"], None, end == "sender")
                for flow in wire.flows
            ]
        elif name == "links" or name in wire.links:
            used = sorted({link for links in wire.ways.values() for link in links})
            links = used if name == "links" else [wire.links.index(name)]
            result += [Tap(wire.links[link], "at the entrance of the link", None, link, False) for link in links]
        else:
            hint = f"there are {', '.join((*TAPS, *wire.links))}"
            faults.append(Fault("--at", f"'{name}' is not a place to listen at", hint))
    if faults or not result:
        raise RecordsError(*(faults or [Fault("--at", "names no place", "write --at senders")]))
    return list(dict.fromkeys(result))


def _terms(wire: Wire) -> dict[int, Terms]:
    """MSS, timestamps and window scale of each flow, as its packets tell."""
    acks = wire.packets.filter(pl.col("kind") == ACK)
    announced = {
        flow: (stamped, most, first)
        for flow, stamped, most, first in acks.group_by("flow")
        .agg(
            pl.col("echo_ns").is_not_null().any(),
            pl.col("window_bytes").max().alias("most"),
            pl.col("window_bytes").first(),
        )
        .iter_rows()
    }
    result = {}
    for flow in wire.flows:
        stamped, most, first = announced.get(flow["flow"], (False, _IDLE_WINDOW, _IDLE_WINDOW))
        scale = next((one for one in range(_MOST_SCALE) if most >> one <= 0xFFFF), _MOST_SCALE)
        # RFC 9293, section 3.7.1: the MSS option does not count options.
        result[flow["flow"]] = Terms(flow["mss_bytes"] + (12 if stamped else 0), stamped, scale, min(first, 0xFFFF))
    return result


def _frames(wire: Wire, number: int, tap: Tap) -> Iterator[Frame]:
    if tap.link is not None:
        places = {way: links.index(tap.link) for way, links in wire.ways.items() if tap.link in links}
        for row in wire.rows(link=tap.link):
            gone = wire.fates.get(row["packet"], "") if row["fate"] in (DROPPED, LOST) else ""
            hops = places.get(Way(row["flow"], row["forward"]), 0)
            yield Frame(row["time_ns"], number, 0, row, _TTL - hops, row["ecn"], gone)
        return
    flow = tap.flow if tap.flow is not None else 0
    out, back = wire.ways.get(Way(flow, tap.sender), []), wire.ways.get(Way(flow, not tap.sender), [])
    for row in wire.rows(link=out[0]) if out else ():
        if row["flow"] == flow and row["forward"] == tap.sender:
            yield Frame(row["sent_ns"], number, _OUT, row, _TTL, row["ecn"], wire.fates.get(row["packet"], ""))
    for row in wire.rows(link=back[-1]) if back else ():
        if row["flow"] == flow and row["forward"] != tap.sender and row["arrival_ns"] is not None:
            ecn = 3 if row["fate"] == 3 else row["ecn"]
            yield Frame(row["arrival_ns"], number, _IN, row, _TTL - len(back) + 1, ecn, "")


def headers(wire: Wire, frame: Frame, terms: Terms, told: Numbers) -> tuple[bytes, int]:
    """IPv4 header and that of TCP or UDP of a packet with these numbers, and the length of its IPv4 packet."""
    row = frame.row
    address = ((row["flow"] + 1) >> 16 & 0x3F) << 16 | (row["flow"] + 1) & 0xFFFF
    source, target = _SENDER_NET | address, _RECEIVER_NET | address
    ports = (_FIRST_PORT + (_SENDER_PORT - _FIRST_PORT + row["connection"]) % _PORTS, _RECEIVER_PORT)
    if not row["forward"]:
        source, target, ports = target, source, ports[::-1]
    is_datagram = row["flow"] in wire.datagrams
    protocol = _UDP if is_datagram else _TCP
    made = _udp(row, ports) if is_datagram else _tcp(wire, row, ports, terms, told)
    # Where the header has its checksum, which is zero so far.
    at = 6 if is_datagram else 16
    length = 20 + len(made) + row["payload_bytes"]
    total = checksum(struct.pack(">IIHH", source, target, protocol, length - 20) + made)
    if is_datagram:
        total = total or 0xFFFF  # RFC 768: zero is a packet without a checksum
    made = made[:at] + struct.pack(">H", total) + made[at + 2 :]
    number = row["packet"] & 0xFFFF
    ip = struct.pack(">BBHHHBBHII", 0x45, frame.ecn, length, number, 0x4000, frame.ttl, protocol, 0, source, target)
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    return ip + made, length


def _udp(row: dict[str, Any], ports: tuple[int, ...]) -> bytes:
    """The header of a datagram without its checksum."""
    return struct.pack(">HHHH", *ports, 8 + row["payload_bytes"], 0)


def _tcp(wire: Wire, row: dict[str, Any], ports: tuple[int, ...], terms: Terms, told: Numbers) -> bytes:
    """The header of a segment with its options, without its checksum."""
    kind = row["kind"]
    stamp, echo = (time // 10**6 & 0xFFFFFFFF for time in (row["sent_ns"], told.echo_ns))
    flags = (_FLAG_ECE if row["ece"] else 0) | (_FLAG_CWR if row["cwr"] else 0)
    if row["ace"] is not None and row["ace"] & 0b100:
        flags |= _FLAG_AE
    advertised = _IDLE_WINDOW if told.window_bytes is None else told.window_bytes
    window = min(advertised >> terms.scale, 0xFFFF)
    sequence, acknowledged = 1 + told.sequence, 1 + told.acknowledged
    if kind == SYN:
        sequence = acknowledged = 0
        flags |= _FLAG_SYN
        window = _IDLE_WINDOW
    elif kind == SYN_ACK:
        sequence, acknowledged = 0, 1
        flags |= _FLAG_SYN | _FLAG_ACK
        window = terms.first_window
    else:
        flags |= _FLAG_ACK
        # A window probe is below SND.UNA (Linux, tcp_xmit_probe_skb).
        sequence -= kind == DATA and row["payload_bytes"] == 0
    options = _options(wire, row, terms, stamp, echo)
    offset = (20 + len(options)) // 4 << 12
    header = struct.pack(
        ">HHIIHHHH", *ports, sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, offset | flags, window, 0, 0
    )
    return header + options


def _options(wire: Wire, row: dict[str, Any], terms: Terms, stamp: int, echo: int) -> bytes:
    stamps = struct.pack(">BBII", 8, 10, stamp, echo) if terms.timestamps else b""
    if row["kind"] in (SYN, SYN_ACK):
        options = struct.pack(">BBH", 2, 4, terms.mss)
        permitted = b"\x04\x02" if row["sack"] else b"\x01\x01"
        options += permitted + (stamps or b"\x01\x01") + struct.pack(">BBBB", 1, 3, 3, terms.scale)
    else:
        options = b"\x01\x01" + stamps if stamps else b""
        if row["sack"]:
            ends = [int(end) for block in row["sack"].split(" ") for end in block.split("-")]
            flow, connection, forward = row["flow"], row["connection"], not row["forward"]
            edges = [1 + wire.byte(flow, connection, end, forward=forward) & 0xFFFFFFFF for end in ends]
            options += b"\x01\x01" + struct.pack(f">BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
    return options + b"\x01" * (-len(options) % 4)


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data[: len(data) & ~1])) + (
        data[-1] << 8 if len(data) % 2 else 0
    )
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
