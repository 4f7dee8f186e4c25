"""The packets of a connection at the sender's side, from a capture and from the records of a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

#: The fields that `parse` reads, as tshark names them.
FIELDS = (
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "ip.len",
    "udp.length",
    "tcp.len",
    "tcp.flags",
    "tcp.stream",
    "tcp.seq_raw",
)
#: Addresses of the senders' side (docs/emulation.md).
SENDERS = "10.101."
UDP_HEADER = 8
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
#: The column `kind` of the table `packets`: data, ACK, SYN, SYN-ACK.
KIND_SYN = 2


@dataclass(frozen=True)
class Packet:
    """A packet: when it was sent or arrived at the senders' side, and its size."""

    time_s: float
    from_sender: bool
    size: int
    """Size with the header of IP, bytes."""
    payload: int
    """Payload of TCP or UDP, bytes."""
    syn: bool = False
    """The first packet of a connection."""
    flow: int = 0
    sequence: int | None = None
    """Sequence number of TCP in a capture."""


def parse(lines: Iterable[str]) -> list[Packet]:
    """Packets of a capture, from the fields that tshark prints, separated by tabs.

    The end of a connection is left out, from its first FIN or RST on: the simulator has none.
    """
    packets = []
    ended: set[str] = set()
    for line in lines:
        time_s, source, destination, size, udp, tcp, flags, stream, sequence = line.rstrip("\n").split("\t")
        bits = int(flags, 16) if flags else 0
        if stream and bits & (FIN | RST):
            ended.add(stream)
        if stream in ended or not (udp or tcp):
            continue
        near, far = (source, destination) if source.startswith(SENDERS) else (destination, source)
        flow = int(far.rsplit(".", 1)[1]) - 1 if near.startswith(SENDERS) else 0
        packets.append(
            Packet(
                time_s=float(time_s),
                from_sender=source.startswith(SENDERS),
                size=int(size),
                payload=int(udp) - UDP_HEADER if udp else int(tcp),
                syn=bits & (SYN | ACK) == SYN,
                flow=flow,
                sequence=int(sequence) if sequence else None,
            )
        )
    return packets


def simulated(links: Iterable[Mapping[str, Any]], packets: Iterable[Mapping[str, Any]]) -> list[Packet]:
    """Packets of a dumbbell's flows at the senders' side, from the tables `links` and `packets`."""
    names = {row["link"]: row["name"] for row in links}
    found = []
    for row in packets:
        first, _, last = names[row["link"]].partition("-")
        outward = first.startswith("s")
        time_ns = row["sent_ns"] if outward else row["arrival_ns"]
        if time_ns is None or not (outward or last.startswith("s")):
            continue
        found.append(
            Packet(
                time_s=time_ns / 1e9,
                from_sender=outward,
                size=row["size_bytes"],
                payload=row["payload_bytes"],
                syn=row["kind"] == KIND_SYN,
                flow=row["flow"],
            )
        )
    return sorted(found, key=lambda packet: packet.time_s)


def turns(packets: Iterable[Packet]) -> list[tuple[bool, int]]:
    """Payload that an end sends until the other end sends some: from the sender or not, and bytes."""
    carrying = (packet for packet in packets if packet.payload)
    return [
        (from_sender, sum(packet.payload for packet in group))
        for from_sender, group in groupby(carrying, key=lambda packet: packet.from_sender)
    ]


def copies(packets: Iterable[Packet], most: int = 5) -> list[list[float]]:
    """Times of a sender's copies of each confirmable message, of which one at a time is outstanding (NSTART = 1).

    A packet is a retransmission if nothing arrived since the last one, until ``most`` copies were sent.
    """
    found: list[list[float]] = []
    answered = True
    for packet in packets:
        if not packet.from_sender:
            answered = True
        elif answered or len(found[-1]) == most:
            found.append([packet.time_s])
            answered = False
        else:
            found[-1].append(packet.time_s)
    return found


def one_way(sent: Iterable[Packet], arrived: Iterable[Packet], least: int) -> list[tuple[float, float]]:
    """Times at which segments with at least ``least`` bytes of payload were sent and arrived, by their sequence numbers
    in captures of both sides."""
    arrivals = {packet.sequence: packet.time_s for packet in arrived if packet.from_sender and packet.payload >= least}
    return [
        (packet.time_s, arrivals[packet.sequence])
        for packet in sent
        if packet.from_sender and packet.payload >= least and packet.sequence in arrivals
    ]


def delivery_times(packets: Iterable[Packet], ends: Sequence[int]) -> list[float | None]:
    """When the sender's bytes up to each offset of ``ends``, which ascend, had all arrived; null if they did not.

    The packets are those of a capture at the receiver, of one connection; offsets count payload from 0.
    """
    first: int | None = None
    waiting: dict[int, int] = {}
    complete = 0
    found: list[float] = []
    for packet in packets:
        if not packet.from_sender or packet.sequence is None:
            continue
        if first is None:
            first = packet.sequence + packet.syn
        begin = (packet.sequence - first) % (1 << 32)
        waiting[begin] = max(waiting.get(begin, 0), begin + packet.payload)
        for start in sorted(waiting):
            if start > complete:
                break
            complete = max(complete, waiting.pop(start))
        while len(found) < len(ends) and ends[len(found)] <= complete:
            found.append(packet.time_s)
    return [*found, *[None] * (len(ends) - len(found))]


def answers(packets: Iterable[Packet], least: int) -> list[tuple[float, float]]:
    """Times of the sender's packets with at least ``least`` bytes of payload, and of the next payload that arrives."""
    found: list[tuple[float, float]] = []
    open_since: float | None = None
    for packet in packets:
        if packet.from_sender and packet.payload >= least:
            open_since = packet.time_s
        elif not packet.from_sender and packet.payload and open_since is not None:
            found.append((open_since, packet.time_s))
            open_since = None
    return found


def association(packets: Sequence[Packet], least: int) -> tuple[float, float]:
    """Times of the SYN, and of the last arrival with at least ``least`` bytes of payload."""
    begin = next(packet.time_s for packet in packets if packet.syn)
    return begin, max(packet.time_s for packet in packets if not packet.from_sender and packet.payload >= least)


def pauses(packets: Iterable[Packet], *, sender: bool, to_last: bool = False) -> list[tuple[float, float]]:
    """Arrival of the last payload before each turn of an end, and departure of its first (or last) payload.

    The capture is that of its side.
    """
    carrying = (packet for packet in packets if packet.payload)
    taken = [list(group) for _, group in groupby(carrying, key=lambda packet: packet.from_sender)]
    return [
        (before[-1].time_s, turn[-1 if to_last else 0].time_s)
        for before, turn in pairwise(taken)
        if turn[0].from_sender == sender
    ]


def computing(
    near: Sequence[Packet],
    far: Sequence[Packet],
    spans: Iterable[tuple[float, float]],
    *,
    by_sender: bool,
    measured: bool,
    to_last: bool = False,
) -> list[float]:
    """Time that the programs of both ends spend in each span, seconds: between an arrival and the next departure.

    Parameters
    ----------
    near, far
        The captures at the client's side and at the other one.
    spans
        Start and end of each span.
    by_sender
        Whether the client is on the senders' side.
    measured
        The client measured the spans: what it spends before the first departure and after the last arrival counts.
    to_last
        A program's turn ends with its last payload; else it begins with its first one.
    """
    thinking = pauses(near, sender=by_sender, to_last=to_last) + pauses(far, sender=not by_sender, to_last=to_last)
    found = []
    for start, end in spans:
        inside = [packet.time_s for packet in near if packet.payload and start <= packet.time_s <= end]
        edges = (inside[0] - start) + (end - inside[-1]) if measured and inside else 0.0
        found.append(edges + sum(later - sooner for sooner, later in thinking if start <= sooner and later <= end))
    return found
