"""qlog: one JSON text sequence (RFC 7464) per flow, version 0.3 of draft-ietf-quic-qlog-main-schema, which qvis reads.

Samples become ``recovery:metrics_updated`` and changes of state ``recovery:congestion_state_updated``, as
draft-ietf-quic-qlog-quic-events has them, each with the fields that changed. ``recovery:parameters_set`` has the MSS.
What QUIC has no event for is of a schema
of our own, ``urn:cwndlab:qlog:tcp``: ``tcp:segment_sent``, ``tcp:ack_received``, ``tcp:segment_dropped`` and, of
dialogues, ``tcp:segment_received``, ``tcp:ack_sent`` (where packets were recorded), ``tcp:remark`` for what the sender
and its algorithm remarked. A UDP flow has ``udp:datagram_sent``,
``udp:datagram_received``, ``udp:datagram_dropped`` and ``udp:remark`` of ``urn:cwndlab:qlog:udp``, and no states. Times
are milliseconds of the run's clock, sizes bytes, rates bit/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab.export.wire import ACK, DATA, DROPPED, LOST, Way, Wire, is_udp
from cwndlab.files import atomic_write, json_text, own_name

if TYPE_CHECKING:
    from cwndlab.records import Records

VERSION = "0.3"
#: Of the events whose category is ``tcp``, and of those whose category is ``udp``.
SCHEMAS = {"tcp": "urn:cwndlab:qlog:tcp", "udp": "urn:cwndlab:qlog:udp"}
_STATES = ("open", "disorder", "cwr", "recovery", "loss")
#: The order of events at one time: an ACK comes before what it causes, samples are taken last.
_RANKS = {
    "recovery:parameters_set": -1,
    "tcp:ack_received": 0,
    "tcp:segment_received": 0,
    "udp:datagram_received": 0,
    "tcp:segment_sent": 2,
    "udp:datagram_sent": 2,
    "recovery:metrics_updated": 3,
    "recovery:congestion_state_updated": 3,
}
# Columns of samples that are metrics: name in qlog, column, factor.
_METRICS = (
    ("congestion_window", "cwnd_bytes", 1),
    ("ssthresh", "ssthresh_bytes", 1),
    ("bytes_in_flight", "in_flight_bytes", 1),
    ("smoothed_rtt", "srtt_ns", 1e-6),
    ("latest_rtt", "rtt_ns", 1e-6),
    ("pacing_rate", "pacing_rate_bps", 1),
)


def write(records: Records, folder: Path | str) -> list[Path]:
    """Writes ``<flow>.sqlog`` for each flow of a run into ``folder``; raises ``RecordsError`` if one cannot be
    written."""
    wire = Wire(records) if len(records.packets) else None
    made = []
    for flow in records.rows("flows"):
        path = Path(folder) / f"{own_name(flow['name'])}.sqlog"
        with atomic_write(path) as file:
            for entry in [header(records, flow), *events(records, flow, wire)]:
                text = json_text(entry, separators=(",", ":"))
                file.write(f"\x1e{text}\n".encode())
        made.append(path)
    return made


def header(records: Records, flow: dict[str, Any]) -> dict[str, Any]:
    """The first record of a file: of which flow of which run it is."""
    transport = "udp" if is_udp(flow) else "tcp"
    return {
        "qlog_version": VERSION,
        "qlog_format": "JSON-SEQ",
        "title": f"{flow['name']}: {flow['algorithm']}",
        "description": f"cwndlab {records.version}, scenario {records.scenario_hash}, seed {records.seed}",
        "trace": {
            "title": flow["name"],
            "common_fields": {
                "protocol_type": [transport.upper()],
                "group_id": flow["name"],
                "time_format": "relative",
                "reference_time": 0,
            },
            "vantage_point": {"name": f"{flow['name']} sender", "type": "client"},
            "event_schemas": [SCHEMAS[transport]],
        },
    }


def events(records: Records, flow: dict[str, Any], wire: Wire | None) -> list[dict[str, Any]]:
    """All events of a flow in the order of their times."""
    number = flow["flow"]
    parameters: _Event = (0, "recovery:parameters_set", {"max_datagram_size": flow["mss_bytes"]})
    is_datagrams = is_udp(flow)
    result = [parameters, *_samples(records, number, has_state=not is_datagrams)]
    result += _remarks(records, number, "udp" if is_datagrams else "tcp")
    if wire is not None:
        result += _datagrams(wire, number) if is_datagrams else _segments(wire, number)
    result.sort(key=lambda one: (one[0], _RANKS.get(one[1], 1)))
    return [{"time": time / 1e6, "name": name, "data": data} for time, name, data in result]


_Event = tuple[int, str, dict[str, Any]]


def _samples(records: Records, flow: int, *, has_state: bool) -> Iterator[_Event]:
    mine = records.samples.filter(pl.col("flow") == flow).sort("time_ns")
    known: dict[str, Any] = {}
    smallest: float | None = None
    state: int | None = None
    for row in mine.iter_rows(named=True):
        values = {name: _scaled(row[column], factor) for name, column, factor in _METRICS}
        if row["rtt_ns"] is not None:
            smallest = min(row["rtt_ns"] / 1e6, smallest if smallest is not None else row["rtt_ns"] / 1e6)
        values["min_rtt"] = smallest
        changed = {name: value for name, value in values.items() if value is not None and value != known.get(name)}
        known |= changed
        if changed:
            yield row["time_ns"], "recovery:metrics_updated", changed
        if has_state and row["state"] != state:
            old = {} if state is None else {"old": _STATES[state]}
            yield row["time_ns"], "recovery:congestion_state_updated", old | {"new": _STATES[row["state"]]}
            state = row["state"]


def _scaled(value: int | None, factor: float) -> float | int | None:
    return None if value is None else value * factor


def _remarks(records: Records, flow: int, category: str) -> Iterator[_Event]:
    for row in records.events.filter(pl.col("flow") == flow).iter_rows(named=True):
        data = {"kind": row["kind"], "cwnd_before": row["cwnd_before_bytes"], "cwnd_after": row["cwnd_after_bytes"]}
        if row["cause"]:
            data["cause"] = row["cause"]
        # JSON has no infinity: an estimate without bound is left out.
        if row["pipe_segments"] is not None and isfinite(row["pipe_segments"]):
            data["pipe_segments"] = row["pipe_segments"]
        yield row["time_ns"], f"{category}:remark", data


def _segments(wire: Wire, flow: int) -> Iterator[_Event]:
    """What the sender's end sends and receives, and the data that are dropped in both directions."""
    out, back = (wire.ways.get(Way(flow, forward), []) for forward in (True, False))
    own, data, acks = pl.col("flow") == flow, pl.col("kind") == DATA, pl.col("kind") == ACK
    forward, arrived = pl.col("forward"), pl.col("arrival_ns").is_not_null()
    for row in wire.rows(own, forward, data, link=out[0]) if out else ():
        yield row["sent_ns"], "tcp:segment_sent", _segment(wire, row) | {"retransmission": row["retransmission"]}
    for row in wire.rows(own, forward, acks, link=out[0]) if out else ():
        yield row["sent_ns"], "tcp:ack_sent", _ack(wire, row)
    for row in wire.rows(own, data, pl.col("fate").is_in([DROPPED, LOST])):
        time, why = _loss(wire, row)
        yield time, "tcp:segment_dropped", _segment(wire, row) | why
    for row in wire.rows(own, ~forward, arrived, data, link=back[-1]) if back else ():
        yield row["arrival_ns"], "tcp:segment_received", _segment(wire, row)
    for row in wire.rows(own, ~forward, arrived, acks, link=back[-1]) if back else ():
        echo = {"timestamp_rtt": (row["arrival_ns"] - row["echo_ns"]) / 1e6} if row["echo_ns"] else {}
        yield row["arrival_ns"], "tcp:ack_received", _ack(wire, row) | echo


def _datagrams(wire: Wire, flow: int) -> Iterator[_Event]:
    """What the sender's end sends and receives, and what is dropped in both directions."""
    out, back = (wire.ways.get(Way(flow, forward), []) for forward in (True, False))
    own, forward, arrived = pl.col("flow") == flow, pl.col("forward"), pl.col("arrival_ns").is_not_null()
    for row in wire.rows(own, forward, link=out[0]) if out else ():
        yield row["sent_ns"], "udp:datagram_sent", _datagram(row)
    for row in wire.rows(own, pl.col("fate").is_in([DROPPED, LOST])):
        time, why = _loss(wire, row)
        yield time, "udp:datagram_dropped", _datagram(row) | why
    for row in wire.rows(own, ~forward, arrived, link=back[-1]) if back else ():
        yield row["arrival_ns"], "udp:datagram_received", _datagram(row)


def _datagram(row: dict[str, Any]) -> dict[str, Any]:
    return {"packet": row["packet"], "length": row["payload_bytes"]}


def _loss(wire: Wire, row: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """When and where a packet was dropped or lost."""
    by_queue = row["fate"] == DROPPED
    time = row["time_ns"] if by_queue else row["departure_ns"]
    return time, {"link": wire.links[row["link"]], "by": "queue" if by_queue else "wire"}


def _ack(wire: Wire, row: dict[str, Any]) -> dict[str, Any]:
    flow, connection, forward = row["flow"], row["connection"], not row["forward"]
    ack: dict[str, Any] = {
        "connection": connection,
        "ack": wire.byte(flow, connection, row["sequence_bytes"], forward=forward),
        "window": row["window_bytes"],
        "ece": row["ece"],
    }
    if row["ace"] is not None:
        ack["ace"] = row["ace"]
    if row["sack"]:
        ack["sack"] = [
            [wire.byte(flow, connection, int(end), forward=forward) for end in block.split("-")]
            for block in row["sack"].split(" ")
        ]
    return ack


def _segment(wire: Wire, row: dict[str, Any]) -> dict[str, Any]:
    first = wire.byte(row["flow"], row["connection"], row["sequence_bytes"], forward=row["forward"])
    return {
        "packet": row["packet"],
        "connection": row["connection"],
        "sequence": first,
        "length": row["payload_bytes"],
    }
