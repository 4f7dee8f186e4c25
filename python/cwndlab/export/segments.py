"""What the header of a TCP segment states of its connection: the numbers of both directions, the window, the echo."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from cwndlab.export.wire import ACK, DATA, Way

if TYPE_CHECKING:
    from cwndlab.export.wire import Wire


class Numbers(NamedTuple):
    """Of a segment: the number of its first payload byte and of the next byte that its sender expects, both from 0, the
    window that its sender advertises (``None``: it has not acknowledged anything), and the sending time of what it
    echoes."""

    sequence: int = 0
    acknowledged: int = 0
    window_bytes: int | None = None
    echo_ns: int = 0


@dataclass
class _End:
    """An end of a connection, with numbers as the simulator counts them: the next byte to send, the last one
    acknowledged, the window advertised last, and the timestamp to echo (RFC 7323, section 4.3: TS.Recent)."""

    next: int = 0
    acknowledged: int = 0
    window_bytes: int | None = None
    stamp_ns: int = 0


def numbers(wire: Wire) -> dict[int, Numbers]:
    """The numbers of each packet over TCP. In the simulator data acknowledge nothing: they repeat what the last ACK of
    the same end acknowledged and advertised."""
    result: dict[int, Numbers] = {}
    for flow in wire.flows:
        if flow["flow"] not in wire.datagrams:
            result |= _numbers_of_flow(wire, flow["flow"], flow["mss_bytes"])
    return result


def _numbers_of_flow(wire: Wire, flow: int, mss: int) -> dict[int, Numbers]:
    result: dict[int, Numbers] = {}
    sequences: dict[int, int] = {}
    ends: defaultdict[tuple[int, bool], _End] = defaultdict(_End)
    for row in _moments(wire, flow):
        packet, connection, forward, kind = row["packet"], row["connection"], row["forward"], row["kind"]
        if not row["departs"]:
            end = ends[connection, not forward]
            # RFC 7323, section 4.3 (2): SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent.
            if sequences.get(packet, 0) <= end.acknowledged:
                end.stamp_ns = max(end.stamp_ns, row["sent_ns"])
            continue
        end = ends[connection, forward]
        if kind == ACK:
            end.acknowledged, end.window_bytes = row["sequence_bytes"], row["window_bytes"]
        sequences[packet] = row["sequence_bytes"] if kind == DATA else end.next
        if kind == DATA and row["payload_bytes"]:
            end.next = max(end.next, row["sequence_bytes"] + mss)
        result[packet] = Numbers(
            wire.byte(flow, connection, sequences[packet], forward=forward),
            wire.byte(flow, connection, end.acknowledged, forward=not forward),
            end.window_bytes,
            (row["echo_ns"] or 0) if kind == ACK else end.stamp_ns,
        )
    return result


def _moments(wire: Wire, flow: int) -> Iterator[dict[str, Any]]:
    """The departures of a flow's packets from their ends and their arrivals at the others, in the order of their times;
    arrivals come before departures of the same time."""
    columns = ("packet", "connection", "forward", "kind", "sequence_bytes", "payload_bytes", "window_bytes", "sent_ns",
               "echo_ns")  # fmt: skip
    tables = []
    for forward in (True, False):
        links = wire.ways.get(Way(flow, forward), [])
        mine = wire.packets.filter((pl.col("flow") == flow) & (pl.col("forward") == forward))
        for departs, time, link in ((True, "sent_ns", links[:1]), (False, "arrival_ns", links[-1:])):
            there = mine.filter(pl.col("link").is_in(link) & pl.col(time).is_not_null())
            tables.append(there.select(*columns, pl.lit(departs).alias("departs"), pl.col(time).alias("at_ns")))
    yield from pl.concat(tables).sort("at_ns", "departs", "packet", maintain_order=True).iter_rows(named=True)
