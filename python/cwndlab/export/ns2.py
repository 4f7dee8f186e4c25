"""Trace lines of ns-2, for scripts that read them: twelve columns, one line per event at a link.

    event time from to type size flags flow source destination sequence packet

``+`` is a packet that arrives at the queue, ``-`` one whose first bit leaves it, ``r`` one whose last bit reached the
link's end, ``d`` one that was dropped (by the queue on arrival, by the wire when its last bit left the line). Times are
seconds, sizes bytes on the wire; a sequence number counts segments, of an ACK the last one that it acknowledges, as
ns-2 does; ``flags`` are its seven (C echo, A reduced, E marked, N capable). Types are ``tcp``, ``ack``, ``syn`` and
``synack``: ns-2's one-way TCP has no handshake, so scripts that take ``tcp`` see data alone. Datagrams are ``udp``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.export.wire import ACK, DATA, DROPPED, LOST, MARKED, Way, Wire, seconds
from cwndlab.files import atomic_write

if TYPE_CHECKING:
    from cwndlab.records import Records

_TYPES = ("tcp", "ack", "syn", "synack")
# Where events are at the same time: a packet arrives before it leaves or is dropped.
_ORDER = {"r": 0, "+": 1, "-": 2, "d": 3}


def write(records: Records, path: Path | str) -> None:
    """Writes the trace of a run to ``path``; an error leaves no file. Raises ``RecordsError`` if packets were not
    recorded or the file cannot be written."""
    wire = Wire(records)
    with atomic_write(path) as file:
        for line in lines(wire):
            file.write(f"{line}\n".encode())


def lines(wire: Wire) -> Iterator[str]:
    """The lines in the order of their times."""
    rates = [link["rate_bps"] for link in wire.records.rows("links")]
    segments = {flow["flow"]: flow["mss_bytes"] for flow in wire.flows}
    addresses = {way: _addresses(wire, way) for way in wire.ways}
    result: list[tuple[int, int, int, str]] = []
    for row in wire.rows():
        link, rest = row["link"], _rest(row, wire, segments, addresses)
        events = [("+", row["time_ns"])]
        if row["fate"] == DROPPED:
            events.append(("d", row["time_ns"]))
        elif row["departure_ns"] is not None:  # a discipline or a medium holds it at the end of the run
            rate = rates[link]
            service = 0 if rate is None else -(-8 * row["size_bytes"] * 10**9 // rate)
            events.append(("-", max(row["time_ns"], row["departure_ns"] - service)))
            events.append(("d", row["departure_ns"]) if row["fate"] == LOST else ("r", row["arrival_ns"]))
        for event, time in events:
            result.append((time, _ORDER[event], len(result), f"{event} {seconds(time)} {rest}"))
    result.sort()
    for *_, line in result:
        yield line


def _addresses(wire: Wire, way: Way) -> str:
    links = wire.ways[way]
    return f"{wire.ends[links[0]][0]}.{way.flow} {wire.ends[links[-1]][1]}.{way.flow}"


def _rest(row: dict[str, Any], wire: Wire, segments: dict[int, int], addresses: dict[Way, str]) -> str:
    kind, (start, end) = row["kind"], wire.ends[row["link"]]
    sequence = row["sequence_bytes"] // segments[row["flow"]] - (1 if kind == ACK else 0)
    capable = kind == DATA and row["ecn"] != 0
    flags = "".join(
        (
            "C" if row["ece"] and kind == ACK else "-",
            "-",
            "-",
            "A" if row["cwr"] and kind == DATA else "-",
            "E" if row["ecn"] == 3 or row["fate"] == MARKED else "-",
            "-",
            "N" if capable else "-",
        )
    )
    where = addresses[Way(row["flow"], row["forward"])]
    name = "udp" if row["flow"] in wire.datagrams else _TYPES[kind]
    return f"{start} {end} {name} {row['size_bytes']} {flags} {row['flow']} {where} {sequence} {row['packet']}"
