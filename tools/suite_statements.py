"""Digests of what the suites and the audit state, without the engine's behaviour: for known-answers/faults.json.

Each case of a suite runs on made-up tables instead of those of the engine, so that its scenarios and statements
(source, text, limits, compared value) depend on the suite alone. A refactoring with equal statements keeps the digest,
and so does a change of the transport or of an algorithm. The tables vary with a seed, and make no sense as runs; a case
that stops on one of them is part of the digest, too. The audit is covered by what it finds in kept logs.
"""

from __future__ import annotations

import json
import lzma
import tempfile
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

import polars as pl
from cwndlab import engine, suites
from cwndlab.suites.case import Case
from cwndlab.suites.paths import Path as NetworkPath
from cwndlab.suites.statements import NotApplicableError, NotObservedError
from cwndlab.suites.trace import TRANSPORT
from cwndlab.suites.trial import Subject, Trial
from cwndlab.validation.audit import audit

if TYPE_CHECKING:
    from cwndlab.records import Records

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "samples" / "stacks"
#: Kept logs of other stacks, each with an algorithm from which it departs.
LOGS = (("quiche-cubic.sqlog", "reno"), ("aioquic-reno.qlog", "cubic"), ("linux-cubic.pcapng", "reno"))
SEEDS = range(5)
#: Rows of a named value, and data packets, in the time of a run.
_ROWS, _PACKETS = 100, 600
_KINDS = ("established", "recovery", "recovered", "ecn", "loss-probe", "timeout", "undo")
#: Values of BBR that the suites read and no case requires.
_OTHERS = (
    "bw_probe_up_rounds probe_up_acked_per_inc_segments send_quantum_segments undo_state transport.rack_reo_wnd_mult "
    "transport.pacing_rate_bps transport.delivery_rate_bps transport.rack_reordering_seen epoch_start_s w_est_segments"
)
_COUNTS = ("round", "count", "una_segments", "sent_packets", "lost_segments", "next_segments")
_FLAGS = (
    *("full_bw_now", "full_bw_reached", "idle_restart", "ack_phase", "app_limited", "prev_probe_too_high"),
    *("is_bw_probe_sample", "in_css", "reordering_seen", "undo_state"),
)


@cache
def _names() -> list[str]:
    required = {name for suite in suites.SUITES.values() for case in suite.cases for name in case.values}
    return sorted({*required, *TRANSPORT, *_OTHERS.split()})


def _draw(*what: object) -> int:
    return crc32(repr(what).encode())


def _value(seed: int, name: str, row: int) -> float:
    if name == "state":
        probe_rtt = (row // 4 == 10 and seed % 2 == 0) or _draw(seed, name, row // 4) % 12 == 0
        return 6 if probe_rtt else row // 2 % 6
    if name.endswith(_FLAGS):
        return _draw(seed, name, row // 7) % 2
    if name == "transport.sent_packets":
        return row * 6
    if name == "transport.una_segments":
        return _acknowledged(seed, row * 6)
    if name.endswith(_COUNTS):
        return row * (1 + _draw(seed, name) % 3) + _draw(seed, name, row) % 2
    drawn = _draw(seed, name, row // (1 + _draw(seed, name) % 3))
    if "_shortterm" in name or "_longterm" in name:
        return float("inf") if drawn % 5 == 0 and seed != 3 else 1 + drawn % 100
    scale = {"_bps": 3e7, "_per_s": 2e3, "_gain": 3.0, "stamp_s": 10.0, "start_s": 5.0, "_s": 0.5}
    return drawn % 1000 / 1000 * next((one for end, one in scale.items() if name.endswith(end)), 100)


def _acknowledged(seed: int, packet: int) -> int:
    """The number of the ACK that arrives when a packet is sent: it stays for twelve segments."""
    number = max((packet - 12) // 12 * 12, 0) + 6 * (seed == 4)
    return number - 220 if seed % 2 and number >= 220 else number


@cache
def _named_values(seed: int) -> pl.DataFrame:
    names = _names()
    columns = {
        "name": [name for name in names for _ in range(_ROWS)],
        "packet": list(range(0, _PACKETS, 6)) * len(names),
    }
    values = [float(_value(seed, name, row)) for name in names for row in range(_ROWS)]
    return pl.DataFrame({**columns, "value": values}).with_columns(flow=0)


@cache
def _packets(seed: int) -> pl.DataFrame:
    """Data, with an ACK of every second segment. Where a case is about the end of a short transfer, later segments have
    low numbers, in every second seed."""
    rows = []
    for packet in range(_PACKETS):
        again, lost = packet % 12 in (9, 11) and _draw(seed, packet) % 3 > 0, _draw(seed, "lost", packet) % 11 == 0
        number = packet - 220 if seed % 2 and packet >= 220 else packet
        number = max(_acknowledged(seed, packet), 0) if again else number
        rows.append((0, packet, 0, number, again, "", int(lost), None if lost else packet + 3))
        if packet % 2:
            sack = "x" if _draw(seed, "sack", packet) % 2 else ""
            rows.append((1, packet + 3, 1, _acknowledged(seed, packet + 6), False, sack, 0, packet + 6))
    names = ("link", "packet", "kind", "number", "retransmission", "sack", "fate", "arrival")
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).with_columns(flow=0)


class Tables:
    """Made-up tables of a run, of its duration and a seed."""

    def __init__(self, document: Mapping[str, Any], seed: int) -> None:
        self._seed = seed
        self._duration = int(document["duration"].split()[0])
        flow = document["flow"][0]
        self._rtt = int(flow["rtt"].split()[0])
        self._mss = 1460 if flow["profile"] == "rfc" else 1448

    def rows(self, table: str) -> list[dict[str, Any]]:
        """As `Records.rows`."""
        seed, times = self._seed, [self._duration * row // _ROWS for row in range(_ROWS)]
        if table == "runs":
            return [{"duration_ns": self._duration}]
        if table == "links":
            return [{"name": "bottleneck", "link": 0}, {"name": "bottleneck-reverse", "link": 1}]
        if table == "flows":
            return [{"flow": 0, "mss_bytes": self._mss, "timeouts": seed // 2 % 2, "loss_probes": seed % 3}]
        if table == "samples":
            return [{"flow": 0, "time_ns": at, "in_flight_bytes": row % 2} for row, at in enumerate(times)]
        if table == "transfers":
            return [{"flow": 0, "end_ns": self._duration * (1 + seed % 2) // 5}]
        # Recoveries begin late in some.
        first = {2: 64, 3: 65}.get(seed, 0)
        kinds = [_KINDS[row % 7] if row >= first or row % 7 == 0 else "none" for row in range(_ROWS)]
        events = [{"flow": 0, "time_ns": at, "kind": kind} for kind, at in zip(kinds, times, strict=True)]
        return [one for row, one in enumerate(events) if _draw(seed, "event", row) % 8]

    def frame(self, table: str) -> pl.DataFrame:
        """As `Records.frame`."""
        frame = _packets(self._seed) if table == "packets" else _named_values(self._seed)
        frame = frame.with_columns(time_ns=pl.col("packet") * self._duration // _PACKETS)
        if table == "packets":
            number, arrival = pl.col("number") * self._mss, pl.col("arrival") * self._duration // _PACKETS
            return frame.with_columns(sequence_bytes=number, arrival_ns=arrival)
        if self._seed == 3:
            # States that do not depend on the duration of the run: of three round trips, or of a second.
            state = (pl.col("time_ns") // max(3 * self._rtt, 1_000_000_000) % 6).cast(pl.Float64)
            frame = frame.with_columns(value=pl.when(pl.col("name") == "state").then(state).otherwise(pl.col("value")))
        return frame


class _Recorded(Subject):
    """A subject whose runs are made up, and whose scenarios are kept."""

    def __init__(self, algorithm: str, seed: int) -> None:
        super().__init__(algorithm, {})
        self.documents: list[Mapping[str, Any]] = []
        self._seed = seed

    def run(self, document: Mapping[str, Any], cancel: engine.Cancel, seed: int = 1) -> Records:
        self.documents.append(document)
        return cast("Records", Tables(document, self._seed))


def stated(case: Case, path: NetworkPath, algorithm: str, seed: int) -> dict[str, Any]:
    """The scenarios and statements of a case on made-up runs, and how it ended."""
    subject, end = _Recorded(algorithm, seed), ""
    trial = Trial(subject, path, engine.Cancel())
    try:
        case.check(trial)
    except NotApplicableError as error:
        end = str(error)
    except NotObservedError as error:
        trial.statements.append(error.statement)
    except Exception:
        end = "these tables make no sense to it"
    statements = [[one.source, one.text, one.expected, one.got, one.contradicts] for one in trial.statements]
    return {"scenarios": subject.documents, "statements": statements, "end": end}


def on_paths(case: Case, algorithm: str) -> list[list[Any]]:
    """Paths of a case, each with what is stated there. Paths differ in their numbers alone: the first, a middle and the
    last one tell."""
    chosen = dict.fromkeys([case.paths[0], case.paths[len(case.paths) // 2], case.paths[-1]])
    return [[path.name, *(stated(case, path, algorithm, seed) for seed in SEEDS)] for path in chosen]


@cache
def in_suite(name: str) -> dict[str, list[list[Any]]]:
    """The paths of each case of a suite, by its name, with what is stated there."""
    suite = suites.suite(name)
    return {one.name: on_paths(one, suite.reference) for one in suite.cases}


@cache
def of_suite(name: str) -> str:
    """The digest of a suite: 16 hexadecimal digits of SHA-256 of its cases, their scenarios and statements."""
    stated = in_suite(name)
    cases = suites.suite(name).cases
    return _digest(
        [[one.name, one.title, one.source, one.values, dict(one.unsuited), stated[one.name]] for one in cases]
    )


@cache
def of_audit() -> str:
    """The digest of the audit: that of the departures which it finds in kept logs, by kind and source."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, algorithm in LOGS:
            log = Path(folder) / name
            log.write_bytes(lzma.decompress((SAMPLES / f"{name}.xz").read_bytes()))
            found.append(sorted({(one.kind, one.source) for one in audit(log, algorithm).departures}))
    return _digest(found)


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
