"""Identification of the public traces of Nebby (Mishra et al., SIGCOMM 2024): a final test, never for tuning.

`python tools/nebby.py FOLDER [--workers N] [--rates 200 400]` takes the folder `sensitivity` of
https://github.com/NUS-SNL/Nebby: for each of five delays and four rates, a table of the packets of a transfer by each
of 17 algorithms of Linux, captured near the sender, without the contents of TCP options. Of these algorithms 14 are in
the catalogue. A table becomes a capture without SACK and timestamps, and is identified. Prints Markdown;
docs/identify.md has the table.
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
from collections.abc import Sequence
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
_CLIENT, _SERVER = (bytes([192, 0, 2, 1]), 40000), (bytes([192, 0, 2, 2]), 5000)


@dataclass(frozen=True)
class Packet:
    """A packet of a table. Sequence numbers are relative, as in the table."""

    time: float
    from_sender: bool
    seq: int
    ack: int
    length: int


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
        seq, ack = int(row["tcp.seq"]), int(row["tcp.ack"])
        packets.append(Packet(float(row["frame.time_relative"]), way[0] == source, seq, ack, length))
    return packets


def capture(packets: Sequence[Packet], file: Path) -> None:
    """Writes a capture of IPv4 packets (pcap, link type 101)."""
    with file.open("wb") as opened:
        opened.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for packet in packets:
            content = _ip(packet)
            seconds = int(packet.time)
            nanoseconds = round((packet.time - seconds) * 1e9)
            opened.write(struct.pack("<IIII", seconds, nanoseconds, len(content), len(content)))
            opened.write(content)


def _ip(packet: Packet) -> bytes:
    source, target = (_CLIENT, _SERVER) if packet.from_sender else (_SERVER, _CLIENT)
    opens = packet.seq == 0
    # In a SYN: the size of a segment, and the largest scale of a window.
    options = bytes([2, 4, 0, 48, 1, 3, 3, 14]) if opens else b""
    flags = (2 if opens else 0) | (16 if packet.ack > 0 else 0)
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
    cpu_s: float


def identified(file: Path) -> Row:
    """The row of a trace."""
    delay, _, rate, _ = file.parent.name.split("-")
    label, started = file.stem, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.pcap"
        capture(read(file), path)
        try:
            found = cwndlab.identify(path)
        except Error as error:
            return Row(label, delay, int(rate), "error", str(error), False, False, False, 0.0, 0.0, 0, 0.0)
    names = LABELS[label]
    ties = set(found.ties) or {found.best.growth}
    others = [one.growth for one in found.ranking if one.growth not in ties]
    told = str(found.verdict) in ("identified", "tie")
    is_first = told and bool(names & ties)
    second = told and bool(others) and others[0] in names
    spent = time.process_time() - started
    values = (found.best.explained, found.best.misfit, found.acks, spent)
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


def summary(rows: Sequence[Row]) -> str:
    """The counts by rate, of the verdicts without an answer, and of misfits; the time of an identification."""
    rates = sorted({row.rate for row in rows})
    by_rate = ", ".join(
        f"{sum(row.is_first for row in rows if row.rate == rate)} of {sum(row.rate == rate for row in rows)}"
        for rate in rates
    )
    unknown = sum(row.verdict == "unknown" for row in rows)
    misfits = sum(row.misfit > 1 for row in rows)
    cpu = sorted(row.cpu_s for row in rows)
    return (
        f"First by rate ({', '.join(map(str, rates))} kbit/s): {by_rate}. None of the catalogue: {unknown}. Misfit "
        f"above 1: {misfits}. CPU s: {cpu[len(cpu) // 2]:.1f} in the median, {cpu[-1]:.1f} at most."
    )


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
    sys.stdout.write(f"{markdown(rows)}\n\n{summary(rows)}\n")


if __name__ == "__main__":
    main()
