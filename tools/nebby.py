"""Identification of the public traces of Nebby (Mishra et al., SIGCOMM 2024): a final test, never for tuning.

`python tools/nebby.py FOLDER [--workers N] [--rates 200 400]` takes the folder `sensitivity` of
https://github.com/NUS-SNL/Nebby: for each of five delays and four rates, a table of the packets of a transfer by each
of 17 algorithms of Linux, captured at the sender, without the contents of its SACK options. Of these algorithms 14 are
in the catalogue. A table becomes a capture whose SACK blocks follow from the order of sending (`acked_blocks`), and is
identified. Prints Markdown; docs/identify.md has the table.
"""

from __future__ import annotations

import argparse
import csv
import re
import struct
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cwndlab
from cwndlab.errors import Error

#: The names of the traces, with those of the catalogue that are the same algorithm.
LABELS: dict[str, set[str]] = {
    "bbr": {"bbr1"},
    "bic": {"bic"},
    "cubic": {"cubic", "cubic-8312", "cubic-linux"},
    "dctcp": {"dctcp"},
    "highspeed": {"highspeed"},
    "htcp": {"htcp"},
    "hybla": {"hybla"},
    "illinois": {"illinois"},
    "reno": {"reno"},
    "scalable": {"scalable"},
    "vegas": {"vegas"},
    "veno": {"veno"},
    "westwood": {"westwood", "westwood-plus"},
    "yeah": {"yeah"},
}
#: Length of the headers of IP and TCP with timestamps; a SACK option has four bytes, and eight for each block.
HEADERS, SACK_OPTION, SACK_BLOCK = 52, 4, 8
_CLIENT, _SERVER = (bytes([192, 0, 2, 1]), 40000), (bytes([192, 0, 2, 2]), 5000)


@dataclass(frozen=True)
class Packet:
    """A packet of a table, with the number of its SACK blocks. Sequence numbers are relative, as in the table."""

    time: float
    from_sender: bool
    seq: int
    ack: int
    length: int
    blocks: int


def read(file: Path) -> list[Packet]:
    """The packets of the connection with the most data."""
    with file.open(encoding="utf-8") as opened:
        rows = [row for row in csv.DictReader(opened) if row["tcp.len"]]
    ports = Counter((row["tcp.srcport"], row["tcp.dstport"]) for row in rows if int(row["tcp.len"]) > 0)
    (source, target), _ = ports.most_common(1)[0]
    packets = []
    for row in rows:
        way = (row["tcp.srcport"], row["tcp.dstport"])
        if way not in ((source, target), (target, source)):
            continue
        length = int(row["tcp.len"])
        options = int(row["frame.len"]) - length - HEADERS - SACK_OPTION
        seq, ack = int(row["tcp.seq"]), int(row["tcp.ack"])
        blocks = max(0, options // SACK_BLOCK) if seq > 0 and ack > 0 else 0
        packets.append(Packet(float(row["frame.time_relative"]), way[0] == source, seq, ack, length, blocks))
    return packets


def arrivals(packets: Sequence[Packet]) -> list[tuple[int, int]]:
    """The data that arrives, in the order of sending: a transmission that a later one repeats was lost."""
    sent = [(one.seq, one.seq + one.length) for one in packets if one.from_sender and one.length > 0]
    last = {seq: at for at, (seq, _) in enumerate(sent)}
    return [one for at, one in enumerate(sent) if last[one[0]] == at]


@dataclass
class Receiver:
    """What a receiver has: everything before `next`, and blocks, the newest first (RFC 2018, section 4)."""

    next: int = 1

    def __post_init__(self) -> None:
        self.blocks: list[tuple[int, int]] = []

    def take(self, first: int, end: int) -> None:
        """A segment arrives."""
        for one in [one for one in self.blocks if one[0] <= end and first <= one[1]]:
            self.blocks.remove(one)
            first, end = min(first, one[0]), max(end, one[1])
        if first <= self.next:
            self.next = max(self.next, end)
        else:
            self.blocks.insert(0, (first, end))


def acked_blocks(packets: Sequence[Packet]) -> tuple[dict[int, list[tuple[int, int]]], int]:
    """The SACK blocks of the ACKs by their places, and the number of ACKs with blocks for which none were found.

    Each ACK follows an arrival: the next one after which the receiver has what the ACK acknowledges, and as many blocks
    as it has; if there is none among the next three, the next one with what it acknowledges.
    """
    states = []
    receiver = Receiver()
    for first, end in arrivals(packets):
        receiver.take(first, end)
        states.append((receiver.next, list(receiver.blocks)))
    found: dict[int, list[tuple[int, int]]] = {}
    at, missing = 0, 0
    for place, packet in enumerate(packets):
        if packet.from_sender or packet.ack <= 1:
            continue
        step = at
        while step < len(states) and states[step][0] < packet.ack:
            step += 1
        fits = (
            other
            for other in range(step, min(step + 3, len(states)))
            if states[other][0] == packet.ack and min(len(states[other][1]), 3) == packet.blocks
        )
        match = next(fits, None)
        if match is None and packet.blocks and step < len(states) and states[step][0] == packet.ack:
            match = step
        if match is not None and bool(states[match][1]) >= bool(packet.blocks):
            found[place] = states[match][1][: packet.blocks]
            at = match + 1
        elif packet.blocks:
            missing += 1
    return found, missing


def capture(packets: Sequence[Packet], blocks: dict[int, list[tuple[int, int]]], file: Path) -> None:
    """Writes a capture of IPv4 packets (pcap, link type 101)."""
    with file.open("wb") as opened:
        opened.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for place, packet in enumerate(packets):
            content = _ip(packet, blocks.get(place, []))
            seconds = int(packet.time)
            nanoseconds = round((packet.time - seconds) * 1e9)
            opened.write(struct.pack("<IIII", seconds, nanoseconds, len(content), len(content)))
            opened.write(content)


def _ip(packet: Packet, blocks: Iterable[tuple[int, int]]) -> bytes:
    source, target = (_CLIENT, _SERVER) if packet.from_sender else (_SERVER, _CLIENT)
    opens, has_ack = packet.seq == 0, not (packet.from_sender and packet.seq == 0)
    # In a SYN: the size of a segment, SACK permitted, the largest scale of a window.
    options = bytes([2, 4, 0, 48, 4, 2, 3, 3, 14, 0, 0, 0]) if opens else b""
    given = list(blocks)
    if given:
        edges = [edge for block in given for edge in block]
        options = bytes([1, 1, 5, 2 + 8 * len(given)]) + struct.pack(f">{len(edges)}I", *edges)
    flags = (2 if opens else 0) | (16 if has_ack else 0)
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], packet.seq, packet.ack, offset, flags, 65535, 0, 0)
    payload = tcp + options + bytes(packet.length)
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, 6, 0)
    return header + source[0] + target[0] + payload


@dataclass(frozen=True)
class Row:
    """The identification of a trace."""

    label: str
    delay: str
    rate: int
    verdict: str
    first: str
    is_first: bool
    is_tied: bool
    in_first_two: bool
    explained: float
    misfit: float
    acks: int
    missing: int
    cpu_s: float


def identified(file: Path) -> Row:
    """The row of a trace."""
    delay, _, rate, _ = file.parent.name.split("-")
    label, started = file.stem, time.process_time()
    packets = read(file)
    blocks, missing = acked_blocks(packets)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.pcap"
        capture(packets, blocks, path)
        try:
            found = cwndlab.identify(path)
        except Error as error:
            return Row(label, delay, int(rate), "error", str(error), False, False, False, 0.0, 0.0, 0, missing, 0.0)
    names = LABELS[label]
    ties = set(found.ties) or {found.best.growth}
    others = [one.growth for one in found.ranking if one.growth not in ties]
    told = str(found.verdict) in ("identified", "tie")
    is_first = told and bool(names & ties)
    second = told and bool(others) and others[0] in names
    spent = time.process_time() - started
    values = (found.best.explained, found.best.misfit, found.acks, missing, spent)
    return Row(
        label,
        delay,
        int(rate),
        str(found.verdict),
        found.best.algorithm,
        is_first,
        len(ties) > 1,
        is_first or second,
        *values,
    )


def _row(label: str, group: Sequence[Row]) -> str:
    firsts = [row for row in group if row.is_first]
    undetermined = sum(row.verdict == "undetermined" for row in group)
    told = (row for row in group if not row.is_first and row.verdict != "undetermined")
    others = Counter(re.split(r"[(+]", row.first)[0] for row in told)
    named = ", ".join(f"{name} {count}" for name, count in others.most_common(4)) if label != "all" else ""
    second = sum(row.in_first_two for row in group)
    cells = (label, len(group), len(firsts), sum(row.is_tied for row in firsts), second, undetermined, named)
    return f"| {' | '.join(map(str, cells))} |"


def markdown(rows: Sequence[Row]) -> str:
    """The table by algorithm, and all."""
    header = ("algorithm", "traces", "first", "of these in a tie", "first two", "undetermined", "the others")
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[f"`{row.label}`"].append(row)
    lines = [f"| {' | '.join(header)} |", "|---|---:|---:|---:|---:|---:|---|"]
    return "\n".join(lines + [_row(label, group) for label, group in {**groups, "all": list(rows)}.items()])


def main() -> None:
    """Identifies all traces of the chosen rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rates", type=int, nargs="+", default=[200, 400], help="kbit/s")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    files = [
        file
        for file in sorted(arguments.folder.glob("*-ms-*-kbps/*.csv"))
        if file.stem in LABELS and int(file.parent.name.split("-")[2]) in arguments.rates
    ]
    rows = []
    with ProcessPoolExecutor(arguments.workers) as pool:
        for row in pool.map(identified, files):
            rows.append(row)
            sys.stderr.write(f"{row}\n")
    sys.stdout.write(f"{markdown(rows)}\n")


if __name__ == "__main__":
    main()
