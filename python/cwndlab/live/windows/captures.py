"""Captures of transfers on a Windows host: what the sender did, and its congestion provider beside the library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from cwndlab.engine import captured_transfer
from cwndlab.files import parsed
from cwndlab.validation.audit import audit, read_log

#: The first bytes of a pcapng file, and of the kinds of pcap.
_MAGIC = (
    b"\x0a\x0d\x0d\x0a",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\xc3\xd4",
    b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
)
_Row = dict[str, Any]


def is_capture(path: Path) -> bool:
    """Whether a file begins as a capture does; a file that cannot be opened is none."""
    try:
        with path.open("rb") as file:
            return file.read(4) in _MAGIC
    except OSError:
        return False


def captured(path: Path) -> _Row:
    """What the capture of a transfer shows, of its connection with the most data: handshake, samples of progress, RTT
    and retransmissions (`cwndlab._engine.captured_transfer`). Raises ``RecordsError`` for a damaged file."""
    shown: _Row = parsed(captured_transfer(read_log(path, "give the capture of a transfer"), str(path)))
    return shown


def answer_of(row: Mapping[str, Any], shown: Mapping[str, Any] | None, algorithm: str, started_unix_ns: int) -> _Row:
    """A transfer in the form of `cwndlab.engine.fetch`, for its records: time 0 is the first packet of the capture, or
    without one the start of the data. What was delivered is what was acknowledged."""
    answer = {
        "algorithm": algorithm,
        "transport": "tcp",
        "ended": row["ended"],
        "received_bytes": row["received_bytes"],
        "lookup_ns": 0,
        "handshake_ns": 0,
        "started_unix_ns": started_unix_ns,
    }
    if shown is None:
        end = round(row["duration_s"] * 1e9)
        return answer | {
            "connect_ns": 0,
            "first_byte_ns": 0,
            "last_byte_ns": end,
            "arrivals": [(0, 0), (end, row["received_bytes"])],
        }
    progress = [dict(zip(shown["columns"], one, strict=True)) for one in shown["rows"]]
    return answer | {
        "connect_ns": handshake_ns(shown) or 0,
        "first_byte_ns": 0,
        "last_byte_ns": shown["end_ns"],
        "arrivals": [(one["time_ns"], one["acked_bytes"]) for one in progress],
        "address": shown["connection"],
        "sender": {
            "started_unix_ns": started_unix_ns,
            "samples": {name: shown[name] for name in ("columns", "rows", "interval_ns")},
        },
    }


def handshake_ns(shown: Mapping[str, Any]) -> int | None:
    """The time of the TCP handshake, if the capture has it."""
    if shown["opened_ns"] is None or shown["established_ns"] is None:
        return None
    return int(shown["established_ns"]) - int(shown["opened_ns"])


def measured(shown: Mapping[str, Any]) -> _Row:
    """The columns of a row of a `Measurement` that a capture gives."""
    rows = [dict(zip(shown["columns"], one, strict=True)) for one in shown["rows"]]
    rtts = [one["srtt_ns"] / 1e6 for one in rows if one["srtt_ns"]]
    last, first = rows[-1], handshake_ns(shown)
    return {
        "idle_rtt_ms": None if first is None else first / 1e6,
        "mean_rtt_ms": sum(rtts) / len(rtts) if rtts else None,
        "loaded_rtt_ms": median(rtts) if rtts else None,
        "loss_ratio": last["retransmitted_packets"] / last["sent_packets"] if last["sent_packets"] else None,
        "retransmitted_packets": last["retransmitted_packets"],
    }


def audited(path: Path, shown: Mapping[str, Any], reference: str) -> _Row:
    """The bytes in flight of a capture beside an algorithm of the library (`cwndlab.validation.audit.audit`): the share
    of the decisive ACKs that do not contradict it, and why there is none."""
    found = audit(path, reference, connection=str(shown["connection"]))
    kinds = ", ".join(f"{group.kind} ({group.severity})" for group in found.groups[:2])
    return {
        "reference": reference,
        "audit_share": found.share,
        "audit_decisive": found.decisive,
        "audit_acks": found.acks,
        "audit_departures": kinds,
    }
