"""The client of live measurements over the loopback: results, cancellation, failures."""

from __future__ import annotations

import re
import socket
import sys
import time
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import fetch
from serving import (
    TOKEN,
    fetch_from,
    running_server,
)


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_fetch_returns_times_and_the_senders_account(transport: str) -> None:
    with running_server(quic=True) as server:
        progress: list[int] = []
        result = fetch_from(server, 3_000_000, "cubic", transport=transport, progress=progress.append)
    assert result["ended"] == "complete"
    # Over TCP the kernel's name; over QUIC the full name, with the default slow start.
    assert (result["algorithm"], result["transport"]) == (
        {"tcp": "cubic", "quic": "cubic+hystart-pp"}[transport],
        transport,
    )
    assert result["received_bytes"] == 3_000_000
    times = [result[f"{name}_ns"] for name in ("lookup", "connect", "handshake", "first_byte", "last_byte")]
    assert times == sorted(times)
    arrivals = result["arrivals"]
    assert arrivals == sorted(arrivals)
    assert arrivals[-1] == [result["last_byte_ns"], 3_000_000]
    assert progress[-1] == 3_000_000
    assert abs(result["started_unix_ns"] / 1e9 - time.time()) < 60
    sender = result["sender"]
    assert (sender["transfer"], sender["ended"], sender["transport"]) == (result["transfer"], "complete", transport)
    assert sender["last"]["acked_bytes"] >= 3_000_000
    assert sender["last"]["sent_packets"] > 0
    assert (result["receiver"] is None) == (transport == "quic" or sys.platform != "linux")


def test_a_fetch_resumes_at_an_offset() -> None:
    with running_server() as server:
        result = fetch_from(server, 1_000_000, first_byte=999_000)
    assert (result["received_bytes"], result["ended"]) == (1000, "complete")
    assert result["sender"]["first_byte"] == 999_000


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_cancelled_fetch_ends_at_the_sender_as_well(transport: str) -> None:
    with running_server(quic=True, rate_bps=8e6) as server:
        result = fetch_from(server, 50_000_000, None, transport=transport, progress=lambda received: received < 100_000)
    assert result["ended"] == "cancelled"
    assert 100_000 <= result["received_bytes"] < 50_000_000
    assert result["sender"]["ended"] == "disconnected"


def test_an_exception_in_progress_ends_the_fetch() -> None:
    def fail(_: int) -> bool:
        raise ZeroDivisionError

    with running_server(rate_bps=8e6) as server, pytest.raises(ZeroDivisionError):
        fetch_from(server, 50_000_000, progress=fail)


def test_a_fetch_ends_at_its_time_limit() -> None:
    with running_server(rate_bps=1e6) as server:
        result = fetch_from(server, 50_000_000, timeout_s=0.5)
    assert (result["ended"], result["why"]) == ("timeout", "the time limit of 0.5 s expired")


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_failed_fetch_reports_the_reason(transport: str) -> None:
    with running_server(quic=True) as server:
        where = re.escape(server.address)
        cases: list[tuple[dict[str, Any], str]] = [
            ({"token": "wrong"}, r"401: a token is required.*\n  hint: give one of the server's tokens by --token"),
            ({"algorithm": "unknown"}, "400: this server has no 'unknown'; it has .*reno"),
            ({"trust": None}, f"{where}: its certificate is not trusted"),
            ({"trust": "ab" * 32}, f"{where}: presents a certificate other than the trusted one"),
        ]
        for options, text in cases:
            with pytest.raises(cwndlab.RunError, match=text):
                fetch_from(server, 1000, **({"transport": transport} | options))


def test_a_missing_server_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(
            cwndlab.RunError, match=r"Connection refused.*\n  hint: check that `cwndlab serve` runs there"
        ):
            fetch(url, token=TOKEN, algorithm="reno", size_bytes=1, timeout_s=1)
    for url, text in [("http://127.0.0.1", "is not an https address"), ("https://127.0.0.1/x", "has a path")]:
        with pytest.raises(cwndlab.ScenarioError, match=text):
            fetch(url, token=TOKEN, algorithm="reno", size_bytes=1)


def test_the_circuit_breaker_ends_a_harmful_transfer_with_a_reason() -> None:
    """An envelope that every transfer exceeds: an RTT above 0 s, and above the minimum RTT."""
    narrow: dict[str, Any] = {
        "breaker_rtt_s": 0,
        "breaker_inflation": 1,
        "breaker_interval_s": 0.01,
        "breaker_intervals": 2,
    }
    with running_server(rate_bps=50e6, sample_interval_s=0.02, **narrow) as server:
        result = fetch_from(server, 100_000_000)
        assert server.counters()["broken"] == 1
    assert result["ended"] == "breaker"
    assert result["why"].startswith("the RTT is ")
    assert result["sender"]["why"] == result["why"]
    assert 0 < result["received_bytes"] < 100_000_000
