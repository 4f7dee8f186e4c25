"""The server of live measurements under load and misuse: limits, slow readers, invalid input, floods."""

from __future__ import annotations

import json
import random
import re
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import Server, fetch
from serving import (
    OTHER,
    TOKEN,
    address_of,
    assert_served,
    connection,
    fetch_from,
    read_until_closed,
    request,
    request_once,
    running_server,
    serve_command,
    tls_connection,
    unverified_context,
)


def test_two_hundred_simultaneous_transfers_complete() -> None:
    limits: dict[str, Any] = {"transfers_per_token": 250, "attempts_per_address_per_s": 250, "handshakes_per_s": 1000}
    with running_server(**limits) as server:
        with ThreadPoolExecutor(200) as pool:
            results = list(pool.map(lambda _: fetch_from(server, 500_000), range(200)))
        assert server.counters()["complete"] == 200
    assert [result["ended"] for result in results] == ["complete"] * 200
    assert len({result["transfer"] for result in results}) == 200


def test_transfers_of_a_token_are_limited() -> None:
    with running_server(transfers_per_token=1, rate_bps=1e6) as server, tls_connection(server) as first:
        first.sendall(f"GET /bytes/1000000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert first.recv(1)
        limited = r"429: the limit of a token is 1 simultaneous transfers\n  hint: try again in 5 s"
        with pytest.raises(cwndlab.RunError, match=limited):
            fetch_from(server, 1000)
        assert fetch_from(server, 1000, token=OTHER)["ended"] == "complete"


def test_connections_are_limited() -> None:
    with running_server(connections=1) as server, connection(server) as first:
        assert request(first, "/algorithms")[0] == 200
        status, headers, body = request_once(server, "/algorithms")
        assert (status, headers["retry-after"]) == (503, "5")
        assert body == b"the server has reached its limit of connections\n"


def test_the_rate_limit_covers_all_transfers_of_a_token() -> None:
    """Two transfers of 125 kB at 2 Mbit/s take one second in total."""
    with running_server(rate_bps=2e6) as server:
        start = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            assert all(one["ended"] == "complete" for one in pool.map(lambda _: fetch_from(server, 125_000), range(2)))
        assert time.monotonic() - start > 0.9


def test_a_transfer_ends_at_its_maximum_duration() -> None:
    with running_server(duration_s=0.3, rate_bps=1e6, sample_interval_s=0.05) as server:
        result = fetch_from(server, 10_000_000)
    assert (result["ended"], result["why"]) == ("long", "the limit of a transfer is 0.3 s")


def test_a_slow_reader_is_disconnected_with_a_reason() -> None:
    with running_server(patience_s=0.5, progress_bps=1e6, sample_interval_s=0.05) as server:
        with tls_connection(server) as reader:
            head = f"GET /bytes/1000000000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
            reader.sendall(head.encode())
            transfer = re.search(rb"cwndlab-transfer: (\w+)", reader.recv(2000))
            assert transfer is not None
            deadline = time.monotonic() + 10
            path = f"/transfers/{transfer[1].decode()}"
            while (account := json.loads(request_once(server, path)[2]))["ended"] is None:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert account["ended"] == "slow"
        assert "the minimum is 1000000 bit/s" in account["why"]
        assert account["written_bytes"] < 1_000_000_000
        assert_served(server)


def test_a_series_of_short_transfers_is_limited_like_a_long_one() -> None:
    """Each transfer of 400 kB ends in time for `patience_s`, but none reaches the minimum rate."""
    with running_server(patience_s=0.5, progress_bps=1e9, sample_interval_s=0.02) as server:
        with socket.socket() as plain:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.settimeout(10)
            plain.connect(address_of(server))
            with unverified_context().wrap_socket(plain) as reader, suppress(OSError):
                head = f"GET /bytes/400000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
                transfers = []
                for _ in range(1000):
                    reader.sendall(head)
                    text, left = b"", 400_000
                    while b"\r\n\r\n" not in text:
                        text += reader.recv(1000)
                    found = re.search(rb"cwndlab-transfer: (\w+)", text)
                    if found is None:  # 503: the server has ended the previous transfer
                        break
                    transfers.append(found[1].decode())
                    left -= len(text.partition(b"\r\n\r\n")[2])
                    while left > 0:
                        time.sleep(0.002)
                        part = reader.recv(min(left, 8192))
                        if not part:
                            raise ConnectionError
                        left -= len(part)
        ends = [json.loads(request_once(server, f"/transfers/{name}")[2])["ended"] for name in transfers]
        assert ends[-1] == "slow", ends
        assert set(ends[:-1]) <= {"complete"}
        assert_served(server)


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_transfer_that_the_server_limits_is_not_slow(transport: str) -> None:
    """30 kB at 100 kbit/s take 2.4 s; the client acknowledges all that it receives, but below `progress_bps`."""
    limits: dict[str, Any] = {"rate_bps": 1e5, "progress_bps": 1e6, "patience_s": 0.5, "sample_interval_s": 0.05}
    with running_server(quic=True, **limits) as server:
        result = fetch_from(server, 30_000, transport=transport)
    assert (result["ended"], result["why"]) == ("complete", "")


def test_timeouts_are_null_over_quic() -> None:
    """quinn reports no expirations of its probe timer."""
    with running_server(quic=True) as server:
        accounts = [fetch_from(server, 10_000, transport=name)["sender"] for name in ("tcp", "quic")]
    assert [account["last"]["timeouts"] for account in accounts] == [0, None]


def test_frequent_samples_over_quic_do_not_block_the_server() -> None:
    """A sample locked the controller and then the connection, and an ACK the connection and then the controller."""
    with running_server(quic=True, sample_interval_s=0.001) as server:

        def client(_: int) -> list[str]:
            return [fetch_from(server, 1_000_000, "cubic", transport="quic")["ended"] for _ in range(20)]

        with ThreadPoolExecutor(10) as pool:
            ends = list(pool.map(client, range(10)))
    assert ends == [["complete"] * 20] * 10


def resident_mb(process: int) -> float:
    """Resident memory of a process, MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    line = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert line is not None
    return int(line[1]) / 1e3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_memory_of_slow_readers_is_returned(tmp_path: Path) -> None:
    """150 connections request a gigabyte and read no data: their buffers and accounts are freed when they end."""
    limits = [
        "patience_s=2",
        "progress_bps=1000000000",
        "transfers_per_token=200",
        "account_s=1",
        "sample_interval_s=0.005",
        "handshakes_per_s=1000",
        "attempts_per_address_per_s=1000",
        "attempts_per_prefix_per_s=1000",
    ]
    options = [word for limit in limits for word in ("--limit", limit)]
    with serve_command("--state", tmp_path, *options) as (process, printed):
        trust = str(tmp_path / "certificate.pem")
        fetch(printed["listening"], token=printed["token of client"], algorithm=None, size_bytes=1000, trust=trust)
        before = resident_mb(process.pid)
        token = printed["token of client"]
        head = f"GET /bytes/1000000000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        port = int(printed["listening"].rpartition(":")[2])
        context = unverified_context()
        with ExitStack() as stack:
            for _ in range(150):
                plain = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                reader = stack.enter_context(context.wrap_socket(plain))
                reader.sendall(head.encode())
            deadline = time.monotonic() + 120
            peak = before
            while True:
                now = resident_mb(process.pid)
                peak = max(peak, now)
                if peak > before + 10 and now < (before + peak) / 2:
                    break
                assert time.monotonic() < deadline, f"{before:.0f} MB before, {peak:.0f} at peak, {now:.0f} now"
                time.sleep(0.1)


def test_idle_connections_are_evicted_first() -> None:
    limits: dict[str, Any] = {
        "waiting": 32,
        "unproven": 16,
        "attempts_per_address_per_s": 1000,
        "attempts_per_prefix_per_s": 1000,
    }
    with running_server(handshakes_per_s=1000, **limits) as server, ExitStack() as open_sockets:
        for _ in range(300):
            open_sockets.enter_context(socket.create_connection(address_of(server), timeout=10))
        assert_served(server)
        for _ in range(100):  # the first byte of a TLS record without further data
            open_sockets.enter_context(socket.create_connection(address_of(server), timeout=10)).sendall(b"\x16")
        assert_served(server)
        counters = server.counters()
        assert counters["displaced_waiting"] >= 300 - 32 - 1
        # Some were evicted before the server read their first byte.
        assert counters["displaced_waiting"] + counters["displaced_unproven"] >= 400 - 32 - 16 - 2
        assert counters["displaced_unproven"] > 0


def test_silent_connections_are_closed_at_the_time_limit() -> None:
    with running_server(handshake_s=1, header_s=0.2) as server:
        with socket.create_connection(address_of(server), timeout=10) as silent:
            assert read_until_closed(silent) == b""
        with socket.create_connection(address_of(server), timeout=10) as half:
            half.sendall(b"\x16\x03\x01")
            assert read_until_closed(half) == b""
        with tls_connection(server) as quiet:
            assert read_until_closed(quiet) == b""
        with tls_connection(server) as drip:
            drip.sendall(b"GET /bytes/1 HTTP/1.1\r\nHo")
            read_until_closed(drip)
        assert_served(server)
        assert server.counters()["transfers"] == 1


def test_invalid_datagrams_do_not_affect_the_server() -> None:
    rng = random.Random(9000)
    with running_server(quic=True) as server:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(2000):
                first = rng.choice([0xC0, 0xE3, 0x40, rng.randrange(256)])
                version = rng.choice([b"\0\0\0\1", rng.randbytes(4)])
                sender.sendto(bytes([first]) + version + rng.randbytes(rng.randrange(1300)), address_of(server))
        assert fetch_from(server, 100_000, "cubic", transport="quic")["ended"] == "complete"
        assert server.counters()["transfers"] == 1


VALID = (
    f"GET /bytes/1000?cc=reno HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nRange: bytes=1-5\r\n\r\n".encode()
)


#: Text that parsers of other programs have mishandled.
FRAGMENTS = [
    b"\r\n",
    b"\0",
    b"Content-Length: 99999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\xff" * 50,
    b"%00",
    b"-1",
    b"9" * 30,
]


def mutated(rng: random.Random) -> bytes:
    """A valid request with bytes changed, removed, repeated or inserted; or random bytes."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(1, 400))
    text = bytearray(VALID)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text))
        match rng.randrange(4):
            case 0:
                text[at] = rng.randrange(256)
            case 1:
                del text[at : at + rng.randrange(1, 20)]
            case 2:
                text[at:at] = text[at : at + rng.randrange(1, 200)]
            case 3:
                text[at:at] = rng.choice(FRAGMENTS)
        if not text:
            text += b"\n"
    return bytes(text)


def test_invalid_requests_do_not_affect_the_server() -> None:
    """Invalid data within TLS and instead of TLS, with valid requests in between."""
    limits: dict[str, Any] = {
        "attempts_per_address_per_s": 1e5,
        "attempts_per_prefix_per_s": 1e5,
        "handshakes_per_s": 1e5,
    }

    def send_invalid(server: Server, case: int) -> None:
        rng = random.Random(case)
        with suppress(OSError), socket.create_connection(address_of(server), timeout=10) as plain:
            if case % 4 == 0:
                plain.sendall(b"\x16" + mutated(rng) if case % 8 else mutated(rng))
                plain.shutdown(socket.SHUT_WR)
                read_until_closed(plain)
            else:
                with tls_connection(server) as wrapped:
                    wrapped.sendall(mutated(rng))
                    wrapped.settimeout(0.05)
                    wrapped.recv(4096)
        if case % 50 == 0:
            assert_served(server)

    with running_server(header_s=2, handshake_s=5, **limits) as server:
        with ThreadPoolExecutor(16) as pool:
            assert all(done is None for done in pool.map(lambda case: send_invalid(server, case), range(500)))
        assert_served(server)
        counters = server.counters()
        assert counters["requests"] > 50
        assert counters["refused"] + counters["unauthorized"] > 20


def test_legitimate_clients_are_served_during_a_flood() -> None:
    """Connections from many addresses of 127/8: closed immediately, idle, plain HTTP, incomplete TLS records."""
    seeds = random.Random(8084)
    over = threading.Event()
    attempts = [0]

    def flood(seed: int, server: Server) -> None:
        rng = random.Random(seed)
        open_sockets: list[socket.socket] = []
        while not over.is_set():
            one = socket.socket()
            one.setblocking(False)
            with suppress(OSError):
                one.bind((f"127.{rng.randrange(1, 255)}.{rng.randrange(256)}.{rng.randrange(1, 255)}", 0))
                with suppress(BlockingIOError):
                    one.connect(address_of(server))
                attempts[0] += 1
                match rng.randrange(4):
                    case 0:
                        one.send(b"\x16\x03\x01\x02\x00")
                    case 1:
                        one.send(b"GET / HTTP/1.0\r\n\r\n")
            if rng.random() < 0.5:
                open_sockets.append(one)
            else:
                one.close()
            if len(open_sockets) > 100:
                open_sockets.pop(0).close()
        for one in open_sockets:
            one.close()

    with running_server(rate_bps=20e6, waiting=256) as server, ThreadPoolExecutor(3) as pool:
        early = pool.submit(fetch_from, server, 5_000_000)
        try:
            for seed in (1, 2):
                pool.submit(flood, seeds.randrange(seed << 32), server)
            deadline = time.monotonic() + 4
            served = 0
            while time.monotonic() < deadline:
                assert_served(server, token=OTHER)
                served += 1
        finally:
            over.set()
        assert early.result()["ended"] == "complete"
        assert served > 0
        counters = server.counters()
        assert counters["transfers"] == served + 1
        assert counters["attempts"] > 500
