"""The sender's account and the client's times of one transfer, on one clock, as records.

The clock is the client's; zero is the start of the resolution of the server's name. The sender counts from the arrival
of the request, which is not observed here: it lies half a round trip after the request left, which is when the TLS
handshake was done. The round trip is the smallest one that either end measured, because that of the handshake contains
a second or more where a SYN was lost. The request arrived after it left and before the first byte came back, which
bounds the error. Wall clocks are not used; their difference is a note.

Samples stand on a regular grid, as those of every engine: each has what was last known at its instant.
`delivered_bytes` is what the client had received; everything else is the sender's ``TCP_INFO``, whose sent and
acknowledged bytes have what encrypts them.
"""

from __future__ import annotations

import platform
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from cwndlab.engine import assemble_records, canonical_algorithm, version
from cwndlab.files import json_text
from cwndlab.live.server_info import ours
from cwndlab.live.spec import UNKNOWN
from cwndlab.records import Records
from cwndlab.scenario.reader import check

# States of TCP in which the window was reduced.
_REDUCED = {2: "ecn", 3: "recovery", 4: "timeout"}
# Without an interval of the sender.
_INTERVAL_NS = 100_000_000
# Headers of a full packet by IP and transport protocol. TCP: IP (RFC 791, RFC 8200), TCP, time stamps. QUIC counts
# whole datagrams: IP and UDP.
_HEADER_BYTES = {(4, "tcp"): 20 + 32, (6, "tcp"): 40 + 32, (4, "quic"): 20 + 8, (6, "quic"): 40 + 8}


def round_trip_ns(answer: Mapping[str, Any]) -> int:
    """The smallest round trip that is known: of the handshake (over QUIC half of it, which takes two round trips), of
    the client's socket, and of the sender. After a lost SYN the handshake contains the initial RTO of a second
    (RFC 6298, section 2), and the sockets take no sample from a retransmission (Karn's algorithm)."""
    took = int(answer["connect_ns"]) - int(answer.get("lookup_ns") or 0)
    ends = answer.get("receiver") or {}, (answer.get("sender") or {}).get("last") or {}
    known = [took if answer.get("transport") == "tcp" else took // 2]
    known += [int(end["min_rtt_ns"]) for end in ends if end.get("min_rtt_ns")]
    return max(1, min(known))


def sender_begins_ns(answer: Mapping[str, Any]) -> int:
    """When the request reached the sender, on the client's clock: half a round trip after it left, and not after the
    first byte came back."""
    begins = int(answer["handshake_ns"]) + round_trip_ns(answer) // 2
    first = answer.get("first_byte_ns")
    return begins if first is None else min(begins, int(first))


def sender_samples(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The samples of the sender's transport in order of time, on the client's clock."""
    sender = answer.get("sender") or {}
    samples = sender.get("samples") or {}
    names: Sequence[str] = samples.get("columns") or ()
    result = [dict(zip(names, row, strict=True)) for row in samples.get("rows") or ()]
    last = sender.get("last")
    if last and (not result or last["time_ns"] > result[-1]["time_ns"]):
        result.append(dict(last))
    begins = sender_begins_ns(answer)
    return [sample | {"time_ns": int(sample["time_ns"]) + begins} for sample in result]


def joined(
    answer: Mapping[str, Any],
    *,
    algorithm: str,
    name: str,
    size_bytes: int,
    seed: int,
    idle_rtt_ns: float | None,
    url: str,
    why: str = "",
) -> Records:
    """The records of one transfer: tables `runs`, `flows`, `samples`, `events`, `transfers`; nothing is known of the
    links between."""
    # A scenario has an algorithm; that of a server of someone else is not known, and a note says so.
    algorithm = ours("cubic" if algorithm == UNKNOWN else algorithm)
    sender = sender_samples(answer)
    arrivals = [(int(at), int(count)) for at, count in answer["arrivals"]]
    end = max([int(answer.get("last_byte_ns") or answer["handshake_ns"]), *(sample["time_ns"] for sample in sender)])
    interval = ((answer.get("sender") or {}).get("samples") or {}).get("interval_ns") or _INTERVAL_NS
    step = _step(end, int(interval))
    duration = -(-end // step) * step
    base = idle_rtt_ns or round_trip_ns(answer)
    document = {
        "schema_version": 1,
        "title": f"live: {name} from {url}",
        "duration": f"{duration} ns",
        "sample_interval": f"{step} ns",
        "dumbbell": {"bottleneck": {"delay": "0 s", "queue": {"capacity": "unlimited"}}},
        "flow": [
            {
                "algorithm": algorithm,
                "name": name,
                "rtt": f"{round(base)} ns",
                "workload": {"kind": "bulk", "bytes": f"{size_bytes} B"},
            }
        ],
    }
    checked = check(json_text(document), "json")
    whole = answer["ended"] == "complete"
    header = {
        "scenario": checked.document,
        "scenario_hash": checked.hash,
        "seed": seed,
        "engine": "live",
        "version": version(),
        "host": platform.node(),
        "duration_ns": duration,
        "measure_from_ns": 0,
        "sample_interval_ns": step,
        "notes": _notes(answer, why),
    }
    events = _events(answer, sender, why)
    last = sender[-1] if sender else {}
    packets = int(last.get("sent_packets") or 0)
    sent = int(last.get("sent_bytes") or 0)
    rtts = [int(sample["srtt_ns"]) for sample in sender if sample.get("srtt_ns")]
    counts = {kind: sum(event["kind"] == kind for event in events) for kind in ("recovery", "ecn")}
    flow = {
        "flow": 0,
        "name": name,
        "algorithm": canonical_algorithm(algorithm),
        "profile": "linux" if answer.get("transport") == "tcp" else "quic",
        "mss_bytes": round(sent / packets) if packets else 0,
        "base_rtt_ns": round(base),
        "start_ns": 0,
        "end_ns": int(answer["last_byte_ns"]) if whole and answer.get("last_byte_ns") else None,
        "delivered_bytes": int(answer["received_bytes"]),
        "acked_bytes": int(last.get("acked_bytes") or 0),
        "sent_bytes": sent,
        "wire_bytes": sent + packets * _header_bytes(answer),
        "sent_packets": packets,
        "retransmitted_bytes": int(last.get("retransmitted_bytes") or 0),
        "retransmitted_packets": int(last.get("retransmitted_packets") or 0),
        "timeouts": int(last.get("timeouts") or 0),
        "recoveries": counts["recovery"],
        "ecn_reductions": counts["ecn"],
        "min_rtt_ns": min((int(sample["min_rtt_ns"]) for sample in sender if sample.get("min_rtt_ns")), default=None),
        "mean_rtt_ns": round(sum(rtts) / len(rtts)) if rtts else None,
    }
    for column in ("ack_packets", "queue_drops", "wire_losses", "undos", "loss_probes"):
        flow[column] = 0  # not seen from the ends
    flow["route"] = ""
    transfers = []
    if whole and flow["end_ns"] is not None:
        row = {"flow": 0, "transfer": 0, "start_ns": 0, "end_ns": flow["end_ns"], "size_bytes": size_bytes}
        transfers.append(row)
    tables = {
        "flows": [flow],
        "samples": _samples(arrivals, sender, duration, step),
        "events": events,
        "transfers": transfers,
    }
    return Records(assemble_records(header, tables))


def _header_bytes(answer: Mapping[str, Any]) -> int:
    """Bytes of the headers of a packet, by the server's address (``ADDRESS:PORT``, IPv6 in brackets)."""
    version = 6 if str(answer.get("address") or "").startswith("[") else 4
    return _HEADER_BYTES[version, "quic" if answer.get("transport") == "quic" else "tcp"]


def _step(end_ns: int, interval_ns: int) -> int:
    """The grid: 1, 2, 5, 10, … ms, not finer than the samples of the sender, at most two thousand samples."""
    steps: list[int] = [digit * int("1" + "0" * power) for power in range(6, 19) for digit in (1, 2, 5)]
    return next((step for step in steps if step >= interval_ns and end_ns <= 2000 * step), 10**18)


def _samples(
    arrivals: Sequence[tuple[int, int]], sender: Sequence[Mapping[str, Any]], duration: int, step: int
) -> list[dict[str, Any]]:
    at = [time for time, _ in arrivals]
    when = [sample["time_ns"] for sample in sender]
    rtts, total, reduced = [], 0, []
    events = 0
    before: Mapping[str, Any] = {}
    for number, sample in enumerate(sender, 1):
        total += int(sample.get("srtt_ns") or 0)
        rtts.append((total, number))
        events += _entered(before, sample) is not None
        reduced.append(events)
        before = sample
    rows = []
    for time in range(0, duration + 1, step):
        here, there = bisect_right(at, time), bisect_right(when, time)
        sample = sender[there - 1] if there else {}
        row: dict[str, Any] = {
            "time_ns": time,
            "flow": 0,
            "delivered_bytes": arrivals[here - 1][1] if here else 0,
            "congestion_events": reduced[there - 1] if there else 0,
            "rtt_sum_ns": rtts[there - 1][0] if there else 0,
            "rtt_count": rtts[there - 1][1] if there else 0,
            "state": int(sample.get("state") or 0),
            "queue_drops": 0,
            "wire_losses": 0,
        }
        for column in ("cwnd", "ssthresh", "in_flight"):
            row[f"{column}_bytes"] = sample.get(f"{column}_bytes")
        for column in ("srtt_ns", "pacing_rate_bps", "delivery_rate_bps"):
            row[column] = sample.get(column) or None
        for column in ("sent_bytes", "retransmitted_bytes", "retransmitted_packets", "timeouts"):
            row[column] = int(sample.get(column) or 0)
        rows.append(row)
    return rows


def _entered(before: Mapping[str, Any], sample: Mapping[str, Any]) -> int | None:
    """The state of reduction that a sample has and the one before has not."""
    state = int(sample.get("state") or 0)
    return state if state in _REDUCED and state != int(before.get("state") or 0) else None


def _events(answer: Mapping[str, Any], sender: Sequence[Mapping[str, Any]], why: str) -> list[dict[str, Any]]:
    def event(time: int, kind: str, cause: str = "", before: int = 0, after: int = 0) -> dict[str, Any]:
        return {
            "time_ns": time,
            "flow": 0,
            "kind": kind,
            "cause": cause,
            "cwnd_before_bytes": before,
            "cwnd_after_bytes": after,
        }

    result = [event(int(answer.get("lookup_ns") or 0), "open"), event(int(answer["connect_ns"]), "established")]
    for earlier, sample in pairwise([{}, *sender]):
        state = _entered(earlier, sample)
        if state is not None:
            windows = int(earlier.get("cwnd_bytes") or 0), int(sample.get("cwnd_bytes") or 0)
            result.append(event(sample["time_ns"], _REDUCED[state], "tcp-info", *windows))
    result.sort(key=lambda one: one["time_ns"])
    over = int(answer.get("last_byte_ns") or answer["handshake_ns"])
    if answer["ended"] != "complete":
        result.append(
            event(max(over, result[-1]["time_ns"]), str(answer["ended"]), why or str(answer.get("why") or ""))
        )
    result.append(event(max(over, result[-1]["time_ns"]), "close"))
    return result


def _notes(answer: Mapping[str, Any], why: str) -> list[str]:
    sender = answer.get("sender") or {}
    begins, left, first = sender_begins_ns(answer), int(answer["handshake_ns"]), answer.get("first_byte_ns")
    error = max(begins - left, begins - left if first is None else int(first) - begins) / 1e6
    notes = [
        f"sent by {answer.get('algorithm') or '?'} from {answer.get('address')}, transfer {answer.get('transfer')}",
        f"the sender's clock begins at {begins / 1e6:.3f} ms, by half of the smallest round trip; "
        f"within {error:.3f} ms",
        "the path between is not known: run again in the simulator, this scenario has its round trip and no bottleneck",
    ]
    if sender.get("started_unix_ns"):
        apart = int(sender["started_unix_ns"]) - int(answer["started_unix_ns"]) - begins
        notes.append(f"the sender's wall clock was {apart / 1e6:.3f} ms ahead of the client's")
    else:
        notes.append("the sender's account was not to be had: window, RTT and retransmissions are not known")
    if sender and answer.get("transport") == "quic":
        notes.append("the sender's timeouts are not known over QUIC: their number is 0 in these tables")
    if answer.get("algorithm") == UNKNOWN:
        notes.append("sender: unknown; the scenario has cubic in its place")
    if answer["ended"] != "complete":
        notes.append(
            f"ended early: {answer['ended']}" + (f", {why or answer.get('why')}" if why or answer.get("why") else "")
        )
    return notes
