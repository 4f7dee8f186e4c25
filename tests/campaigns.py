"""Helpers for tests of campaigns: descriptions, a fetch that answers at once, a clock that only sleeping moves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from cwndlab.live import campaign as drive
from cwndlab.live.breaker import Envelope
from cwndlab.live.spec import CampaignSpec

ALGORITHMS = ("newreno", "ctcp", "cubic")
VIENNA = ZoneInfo("Europe/Vienna")
MB = 1_000_000
SERVER = "https://127.0.0.1:9"


def asked(**changes: Any) -> CampaignSpec:
    told: dict[str, Any] = {
        "servers": (SERVER,),
        "algorithms": ALGORITHMS,
        "rounds": 2,
        "schedule": "now",
        "size_bytes": MB,
    }
    return CampaignSpec(**(told | {"zone": "Europe/Vienna"} | changes))


_NAMES = ("time_ns", "cwnd_bytes", "srtt_ns", "min_rtt_ns", "acked_bytes", "sent_bytes", "retransmitted_bytes")
_COLUMNS = [*_NAMES, "sent_packets", "retransmitted_packets", "timeouts", "state", "ssthresh_bytes", "in_flight_bytes"]


def answer(rate_bps: float = 8e6, size: int = MB, rtt_ns: int = 40_000_000, **changes: Any) -> dict[str, Any]:
    """What a fetch answers: connected after a round trip, TLS after two, the first byte after three; then at a rate."""
    first = 3 * rtt_ns
    took = round(8e9 * size / rate_bps)
    last = first - rtt_ns + took  # from the request on, which left when TLS was done
    times = [first + (last - first) * step // 20 for step in range(21)]
    rows = []
    for step in range(5):
        state = 3 if step == 2 else 0
        done = size * step // 4
        row = [step * took // 4, 10_000 + step, rtt_ns + step * 1_000_000, rtt_ns, done, done + 1000, 100]
        rows.append([*row, done // 1000, step, 0, state, 5000 if step > 2 else None, 7000])
    last_look = dict(zip(_COLUMNS, rows[-1], strict=True))
    told = {
        "transfer": "0" * 32,
        "algorithm": "reno",
        "transport": "tcp",
        "address": "127.0.0.1:9",
        "started_unix_ns": 10**18,
        "lookup_ns": 0,
        "connect_ns": rtt_ns,
        "handshake_ns": 2 * rtt_ns,
        "first_byte_ns": first,
        "last_byte_ns": last,
        "received_bytes": size,
        "arrivals": [(time, size * step // 20) for step, time in enumerate(times)],
        "ended": "complete",
        "why": "",
        "sender": {
            "started_unix_ns": 10**18 + 5 * rtt_ns // 2 + 7_000_000,
            "last": last_look,
            "samples": {"interval_ns": took // 4, "columns": _COLUMNS, "rows": rows},
        },
    }
    return told | changes


class Server:
    """A fetch that answers at once with what a table says, or raises."""

    def __init__(self, rate: Callable[[str, int], float] = lambda name, call: 8e6) -> None:
        self.calls: list[str] = []
        self.rate = rate
        self.requests: list[tuple[str, str]] = []
        self.ends: dict[int, Any] = {}
        self.ends_of: Callable[[str], Any] = lambda url: None

    def __call__(self, url: str, *, algorithm: str, size_bytes: int, **_: Any) -> dict[str, Any]:
        self.calls.append(algorithm)
        self.requests.append((url, algorithm))
        end = self.ends.get(len(self.calls)) or self.ends_of(url)
        if isinstance(end, BaseException):
            raise end
        told = answer(self.rate(algorithm, len(self.calls)), size_bytes, algorithm=algorithm)
        return told | (end or {})


class Day:
    """A clock that only sleeping moves."""

    def __init__(self, now: datetime) -> None:
        self.at = now
        self.slept = 0.0

    def clock(self) -> drive.Clock:
        return drive.Clock(lambda: self.at, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.at += timedelta(seconds=seconds)


def run(question: CampaignSpec, folder: Path, server: Server, day: Day, said: list[str] | None = None) -> drive.State:
    progress = drive.Progress((said if said is not None else []).append)
    return drive.campaign(
        question,
        folder,
        fetch=server,
        access={url: drive.Access("x") for url in question.servers},
        clock=day.clock(),
        progress=progress,
        envelope=Envelope(),
    )
