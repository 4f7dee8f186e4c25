"""The server of live measurements and its client, over the loopback: what is served, to whom, what it withstands."""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import cwndlab
import pytest
from cwndlab.engine import Server, fetch, serve

TOKEN = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2
TOKENS = f"anna {TOKEN}\nbert {OTHER}\n"


@contextmanager
def serving(quic: bool = False, **limits: float) -> Iterator[Server]:
    """A server on a free port of the loopback; at its end nothing in it had panicked."""
    server = serve("127.0.0.1:0", tokens=TOKENS, quic=quic, limits=limits)
    try:
        yield server
        assert server.counters()["panics"] == 0
    finally:
        server.stop()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def fetched(server: Server, size: int, algorithm: str | None = "reno", **asked: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {"token": TOKEN, "trust": server.fingerprint, "timeout_s": 30} | asked
    return fetch(f"https://{server.address}", algorithm=algorithm, size_bytes=size, **whole)


def stream(first: int, length: int) -> bytes:
    """SplitMix64 with seed 0, in another language than the server's."""
    words, mask = [], 2**64 - 1
    for index in range(first // 8, (first + length + 7) // 8):
        z = (index + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        words.append(z ^ (z >> 31))
    return struct.pack(f"<{len(words)}Q", *words)[first % 8 :][:length]


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def place(server: Server) -> tuple[str, int]:
    host, _, port = server.address.rpartition(":")
    return host, int(port)


@contextmanager
def connection(server: Server) -> Iterator[http.client.HTTPSConnection]:
    host, port = place(server)
    made = http.client.HTTPSConnection(host, port, context=trusting(), timeout=10)
    try:
        yield made
    finally:
        made.close()


def ask(
    to: http.client.HTTPSConnection, path: str, *, method: str = "GET", token: str | None = TOKEN, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers in lower case, body."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    to.request(method, path, headers=sent)
    answer = to.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def once(server: Server, path: str, **asked: Any) -> tuple[int, dict[str, str], bytes]:
    with connection(server) as to:
        return ask(to, path, **asked)


@contextmanager
def secured(server: Server) -> Iterator[ssl.SSLSocket]:
    """A connection that speaks TLS and nothing else yet."""
    with socket.create_connection(place(server), timeout=10) as plain:
        wrapped = trusting().wrap_socket(plain, do_handshake_on_connect=False)
        with wrapped:
            wrapped.do_handshake()
            yield wrapped


def reads_until_closed(connection: socket.socket) -> bytes:
    got = b""
    with suppress(OSError):
        while piece := connection.recv(65536):
            got += piece
    return got


# What is served.


def test_curl_fetches_over_https(server: Server, tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    common = [curl, "--silent", "--show-error", "--insecure", "--header", f"Authorization: Bearer {TOKEN}"]
    url = f"https://{server.address}/bytes/100000?cc=cubic"
    whole = subprocess.run([*common, "--include", url], capture_output=True, check=True).stdout
    head, _, body = whole.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\ncwndlab-congestion-control: cubic\r\n" in head.lower() + b"\r\n"
    assert body == stream(0, 100_000)
    # A browser asks for a name and a password, and the token is the password.
    basic = [curl, "--silent", "--insecure", "--user", f"whoever:{TOKEN}", "--range", "99990-", url]
    assert subprocess.run(basic, capture_output=True, check=True).stdout == stream(99_990, 10)


def test_a_range_is_a_part_of_the_same_bytes(server: Server) -> None:
    with connection(server) as to:
        for asked, first, length in [
            ("0-0", 0, 1),
            ("13-1012", 13, 1000),
            ("65530-65545", 65530, 16),
            ("-7", 99_993, 7),
        ]:
            status, headers, body = ask(to, "/bytes/100000", Range=f"bytes={asked}")
            assert status == 206
            assert headers["content-range"] == f"bytes {first}-{first + length - 1}/100000"
            assert body == stream(first, length)
        status, headers, body = ask(to, "/bytes/100000", method="HEAD")
        assert (status, headers["content-length"], body) == (200, "100000", b"")
        assert "cwndlab-transfer" not in headers
        # Of another stream than the one that was begun, all is wanted (RFC 9110, 13.1.5).
        assert ask(to, "/bytes/10", Range="bytes=5-", If_Range='"other"')[2] == stream(0, 10)
        assert ask(to, "/bytes/10", Range="bytes=5-", If_Range=headers["etag"].replace("100000", "10"))[0] == 206
        assert ask(to, "/bytes/0")[::2] == (200, b"")


def test_the_account_of_a_transfer_is_told_to_its_owner_alone(server: Server) -> None:
    with connection(server) as to:
        _, headers, _ = ask(to, "/bytes/300000?cc=reno")
        path = f"/transfers/{headers['cwndlab-transfer']}"
        status, kind, body = ask(to, path)
    account = json.loads(body)
    assert (status, kind["content-type"]) == (200, "application/json")
    assert account["client"] == "anna"
    assert account["ended"] == "whole"
    assert (account["asked_bytes"], account["handed_bytes"], account["size_bytes"]) == (300_000,) * 3
    assert account["last"]["acked_bytes"] >= 300_000
    assert account["ended_unix_ns"] > account["started_unix_ns"]
    samples = account["samples"]
    assert samples["rows"]
    assert {len(row) for row in samples["rows"]} == {len(samples["columns"])}
    assert once(server, path, token=OTHER)[0] == 404
    assert once(server, path)[0] == 200


def test_every_refusal_says_why_in_a_line(server: Server) -> None:
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"path": "/bytes/1", "token": None}, 401, "a token is needed: send the header 'Authorization: Bearer TOKEN'"),
        ({"path": "/bytes/1", "token": TOKEN[:-1] + "0"}, 401, "a token is needed"),
        ({"path": "/"}, 404, "there is /bytes/N?cc=NAME, /transfers/ID and /algorithms, nothing else"),
        ({"path": "/bytes/ten"}, 400, "after /bytes/ comes a whole number of bytes"),
        ({"path": "/bytes/10?cc=nobody"}, 400, "this server has no 'nobody'; it has "),
        ({"path": "/bytes/10", "method": "POST"}, 405, "only GET and HEAD"),
        ({"path": "/bytes/100000000000"}, 413, "a transfer has at most 10000000000 bytes here"),
        ({"path": "/bytes/10", "Range": "bytes=10-"}, 416, "the range begins beyond the end"),
        ({"path": "/bytes/10", "Range": "bytes=0-1,3-4"}, 416, "one range at a time"),
        ({"path": "/transfers/" + "0" * 32}, 404, "you have no transfer of this name"),
    ]
    for asked, status, line in cases:
        path = asked.pop("path")
        found, _, body = once(server, str(path), **asked)
        assert found == status, path
        text = body.decode()
        assert text.startswith(line), path
        assert text.count("\n") == 1
    assert once(server, "/x", X_Long="a" * 20_000)[0] == 431
    assert server.counters()["transfers"] == 0


def test_what_lies_on_the_disk_cannot_be_reached(server: Server) -> None:
    for path in [
        "/etc/passwd",
        "/../../../etc/passwd",
        "/bytes/../../etc/passwd",
        "/bytes/%2e%2e/%2e%2e/etc/passwd",
        "/transfers/..%2f..%2fetc%2fpasswd",
        "/bytes/1/../../../etc/passwd",
        "//etc/passwd",
        "/.git/config",
        "/bytes/1?cc=../../../etc/passwd",
        "/bytes/1?file=/etc/passwd",
    ]:
        status, _, body = once(server, path)
        assert status in (400, 404), path
        assert b"root:" not in body
    assert server.counters()["transfers"] == 0


def test_the_sender_really_uses_what_was_asked_for() -> None:
    ss = shutil.which("ss")
    with serving(rate_bps=4e6) as server:
        _, port = place(server)
        offered = json.loads(once(server, "/algorithms")[2])["tcp"]
        assert offered["usual"] in offered["algorithms"]
        assert "reno" in offered["algorithms"]
        for name in offered["algorithms"]:
            seen: list[str] = []

            def look(_: int, seen: list[str] = seen) -> bool:
                if ss is not None:
                    done = subprocess.run([ss, "-tinH", f"sport = :{port}"], capture_output=True, text=True, check=True)
                    seen.append(done.stdout)
                return len(seen) < 2

            found = fetched(server, 2_000_000, name, progress=look)
            kernels = {"bbr1": "bbr", "westwood-plus": "westwood"}.get(name, name)
            assert found["algorithm"] == kernels  # as getsockopt told it
            assert found["sender"]["algorithm"] == kernels
            if ss is None:
                continue
            assert re.search(rf"\b{kernels}\b", seen[-1]), seen


def test_every_algorithm_of_the_library_sends_over_quic() -> None:
    with serving(quic=True) as server:
        names = json.loads(once(server, "/algorithms")[2])["quic"]["algorithms"]
        assert {"cubic", "reno", "bbr1", "phcc", "quinn:cubic"} <= set(names)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda name: fetched(server, 300_000, name, transport="quic"), names))
    assert [one["ended"] for one in found] == ["whole"] * len(names)


def test_datagrams_that_make_no_sense_break_nothing() -> None:
    chance = random.Random(9000)
    with serving(quic=True) as server:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(2000):
                first = chance.choice([0xC0, 0xE3, 0x40, chance.randrange(256)])
                version = chance.choice([b"\0\0\0\1", chance.randbytes(4)])
                sender.sendto(bytes([first]) + version + chance.randbytes(chance.randrange(1300)), place(server))
        assert fetched(server, 100_000, "cubic", transport="quic")["ended"] == "whole"
        assert server.counters()["transfers"] == 1


def test_a_connection_keeps_its_algorithm(server: Server) -> None:
    with connection(server) as to:
        assert ask(to, "/bytes/1000?cc=reno")[0] == 200
        status, headers, _ = ask(to, "/bytes/1000")
        assert (status, headers["cwndlab-congestion-control"]) == (200, "reno")
        assert ask(to, "/bytes/1000?cc=newreno")[0] == 200
        status, headers, body = ask(to, "/bytes/1000?cc=cubic")
        assert (status, headers["connection"]) == (409, "close")
        assert b"this connection has sent under 'reno'" in body
    with connection(server) as to:
        ask(to, "/bytes/1000?cc=reno")
        _, headers, _ = ask(to, "/bytes/1000?cc=reno")
        account = json.loads(ask(to, f"/transfers/{headers['cwndlab-transfer']}")[2])
    assert account["transfers_before"] == 1


# The client.


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_fetch_tells_its_times_and_what_the_sender_said(transport: str) -> None:
    with serving(quic=True) as server:
        told: list[int] = []
        found = fetched(server, 3_000_000, "cubic", transport=transport, progress=told.append)
    assert found["ended"] == "whole"
    # The kernel's own name; over QUIC the algorithm with the slow start that goes with it.
    assert (found["algorithm"], found["transport"]) == (
        {"tcp": "cubic", "quic": "cubic+hystart-pp"}[transport],
        transport,
    )
    assert found["received_bytes"] == 3_000_000
    times = [found[f"{name}_ns"] for name in ("lookup", "connect", "handshake", "first_byte", "last_byte")]
    assert times == sorted(times)
    arrivals = found["arrivals"]
    assert arrivals == sorted(arrivals)
    assert arrivals[-1] == [found["last_byte_ns"], 3_000_000]
    assert told[-1] == 3_000_000
    assert abs(found["started_unix_ns"] / 1e9 - time.time()) < 60
    sender = found["sender"]
    assert (sender["transfer"], sender["ended"], sender["transport"]) == (found["transfer"], "whole", transport)
    assert sender["last"]["acked_bytes"] >= 3_000_000
    assert sender["last"]["sent_packets"] > 0
    assert (found["receiver"] is None) == (transport == "quic" or sys.platform != "linux")


def test_a_fetch_goes_on_where_it_was() -> None:
    with serving() as server:
        found = fetched(server, 1_000_000, first_byte=999_000)
    assert (found["received_bytes"], found["ended"]) == (1000, "whole")
    assert found["sender"]["first_byte"] == 999_000


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_fetch_can_be_cancelled_and_the_sender_knows(transport: str) -> None:
    with serving(quic=True, rate_bps=8e6) as server:
        found = fetched(server, 50_000_000, None, transport=transport, progress=lambda got: got < 100_000)
    assert found["ended"] == "cancelled"
    assert 100_000 <= found["received_bytes"] < 50_000_000
    assert found["sender"]["ended"] == "gone"


def test_what_progress_raises_ends_the_fetch() -> None:
    def fail(_: int) -> bool:
        raise ZeroDivisionError

    with serving(rate_bps=8e6) as server, pytest.raises(ZeroDivisionError):
        fetched(server, 50_000_000, progress=fail)


def test_a_fetch_that_takes_too_long_ends() -> None:
    with serving(rate_bps=1e6) as server:
        found = fetched(server, 50_000_000, timeout_s=0.5)
    assert (found["ended"], found["why"]) == ("timeout", "0.5 s are over")


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_why_nothing_came_is_said(transport: str) -> None:
    with serving(quic=True) as server:
        where = re.escape(server.address)
        cases: list[tuple[dict[str, Any], str]] = [
            ({"token": "wrong"}, r"401: a token is needed.*\n  hint: give one of the server's tokens by --token"),
            ({"algorithm": "nobody"}, "400: this server has no 'nobody'; it has .*reno"),
            ({"trust": None}, f"{where}: its certificate is not trusted"),
            ({"trust": "ab" * 32}, f"{where}: shows another certificate than the one trusted"),
        ]
        for asked, text in cases:
            with pytest.raises(cwndlab.RunError, match=text):
                fetched(server, 1000, **({"transport": transport} | asked))


def test_a_server_that_is_not_there_is_said() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(cwndlab.RunError, match=r"Connection refused.*\n  hint: does `cwndlab serve` run there"):
            fetch(url, token=TOKEN, algorithm="reno", size_bytes=1, timeout_s=1)
    for url, text in [("http://127.0.0.1", "is no https address"), ("https://127.0.0.1/x", "has a path")]:
        with pytest.raises(cwndlab.ScenarioError, match=text):
            fetch(url, token=TOKEN, algorithm="reno", size_bytes=1)


def test_a_transfer_that_hurts_is_ended_by_the_breaker_and_says_why() -> None:
    """An envelope that nothing can keep: a round trip above nothing, and more than once the shortest."""
    narrow: dict[str, Any] = {
        "breaker_rtt_s": 0,
        "breaker_inflation": 1,
        "breaker_interval_s": 0.01,
        "breaker_intervals": 2,
    }
    with serving(rate_bps=50e6, sample_interval_s=0.02, **narrow) as server:
        found = fetched(server, 100_000_000)
        assert server.counters()["broken"] == 1
    assert found["ended"] == "breaker"
    assert found["why"].startswith("the round trip took ")
    assert found["sender"]["why"] == found["why"]
    assert 0 < found["received_bytes"] < 100_000_000


# What it withstands.


def serves(server: Server, **asked: Any) -> None:
    assert fetched(server, 100_000, **asked)["ended"] == "whole"


def test_two_hundred_download_at_once() -> None:
    limits: dict[str, Any] = {"transfers_per_token": 250, "attempts_per_address_per_s": 250, "handshakes_per_s": 1000}
    with serving(**limits) as server:
        with ThreadPoolExecutor(200) as pool:
            found = list(pool.map(lambda _: fetched(server, 500_000), range(200)))
        assert server.counters()["whole"] == 200
    assert [one["ended"] for one in found] == ["whole"] * 200
    assert len({one["transfer"] for one in found}) == 200


def test_transfers_of_a_token_are_limited() -> None:
    with serving(transfers_per_token=1, rate_bps=1e6) as server, secured(server) as first:
        first.sendall(f"GET /bytes/1000000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert first.recv(1)
        with pytest.raises(
            cwndlab.RunError, match=r"429: a token has at most 1 transfers at once\n  hint: try again in 5 s"
        ):
            fetched(server, 1000)
        assert fetched(server, 1000, token=OTHER)["ended"] == "whole"


def test_connections_are_limited() -> None:
    with serving(connections=1) as server, connection(server) as first:
        assert ask(first, "/algorithms")[0] == 200
        status, headers, body = once(server, "/algorithms")
        assert (status, headers["retry-after"]) == (503, "5")
        assert body == b"the server has as many connections as it allows\n"


def test_a_rate_is_kept_over_all_transfers_of_a_token() -> None:
    """Two transfers of 125 kB at 2 Mbit/s take a second, and one of them half of it at least."""
    with serving(rate_bps=2e6) as server:
        begun = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            assert all(one["ended"] == "whole" for one in pool.map(lambda _: fetched(server, 125_000), range(2)))
        assert time.monotonic() - begun > 0.9


def test_a_slow_reader_is_cut_off_and_the_account_says_so() -> None:
    with serving(patience_s=0.5, progress_bps=1e6, sample_interval_s=0.05) as server:
        with secured(server) as lazy:
            lazy.sendall(f"GET /bytes/1000000000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            head = lazy.recv(2000)
            transfer = re.search(rb"cwndlab-transfer: (\w+)", head)
            assert transfer is not None
            until = time.monotonic() + 10
            while (account := json.loads(once(server, f"/transfers/{transfer[1].decode()}")[2]))["ended"] is None:
                assert time.monotonic() < until
                time.sleep(0.05)
        assert account["ended"] == "slow"
        assert "1000000 bit/s are the least" in account["why"]
        assert account["handed_bytes"] < 1_000_000_000
        serves(server)


def resident_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1e3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_memory_of_slow_readers_is_returned(tmp_path: Path) -> None:
    """150 connections that ask for a gigabyte and read nothing: their buffers and accounts are gone when they are."""
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
    with command("--state", tmp_path, *options) as (process, told):
        trust = str(tmp_path / "certificate.pem")
        fetch(told["listening"], token=told["token of client"], algorithm=None, size_bytes=1000, trust=trust)
        before = resident_mb(process.pid)
        head = f"GET /bytes/1000000000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {told['token of client']}\r\n\r\n"
        port = int(told["listening"].rpartition(":")[2])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with ExitStack() as stack:
            for _ in range(150):
                plain = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                lazy = stack.enter_context(context.wrap_socket(plain))
                lazy.sendall(head.encode())
            until = time.monotonic() + 120
            most = before
            while True:
                now = resident_mb(process.pid)
                most = max(most, now)
                if most > before + 20 and now < before + 12:
                    break
                assert time.monotonic() < until, f"{before:.0f} MB before, {most:.0f} at most, {now:.0f} now"
                time.sleep(0.1)


def test_a_transfer_has_its_time() -> None:
    with serving(duration_s=0.3, rate_bps=1e6, sample_interval_s=0.05) as server:
        found = fetched(server, 10_000_000)
    assert (found["ended"], found["why"]) == ("long", "a transfer may take 0.3 s here")


def test_connections_that_say_nothing_give_way() -> None:
    limits: dict[str, Any] = {
        "waiting": 32,
        "unproven": 16,
        "attempts_per_address_per_s": 1000,
        "attempts_per_prefix_per_s": 1000,
    }
    with serving(handshakes_per_s=1000, **limits) as server, ExitStack() as held:
        for _ in range(300):
            held.enter_context(socket.create_connection(place(server), timeout=10))
        serves(server)
        for _ in range(100):  # the first byte of a TLS record, and nothing after it
            held.enter_context(socket.create_connection(place(server), timeout=10)).sendall(b"\x16")
        serves(server)
        counters = server.counters()
        assert counters["displaced_waiting"] >= 300 - 32 - 1
        # Some were displaced before their first byte was read.
        assert counters["displaced_waiting"] + counters["displaced_unproven"] >= 400 - 32 - 16 - 2
        assert counters["displaced_unproven"] > 0


def test_who_says_nothing_in_time_is_closed() -> None:
    with serving(handshake_s=1, header_s=0.2) as server:
        with socket.create_connection(place(server), timeout=10) as silent:
            assert reads_until_closed(silent) == b""
        with socket.create_connection(place(server), timeout=10) as half:
            half.sendall(b"\x16\x03\x01")
            assert reads_until_closed(half) == b""
        with secured(server) as quiet:
            assert reads_until_closed(quiet) == b""
        with secured(server) as drip:
            drip.sendall(b"GET /bytes/1 HTTP/1.1\r\nHo")
            reads_until_closed(drip)
        serves(server)
        assert server.counters()["transfers"] == 1


def test_plain_http_is_told_so(server: Server) -> None:
    with socket.create_connection(place(server), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"this server speaks https alone\n" in reads_until_closed(plain)


VALID = (
    f"GET /bytes/1000?cc=reno HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nRange: bytes=1-5\r\n\r\n".encode()
)


#: What parsers have stumbled over.
ODD = [
    b"\r\n",
    b"\0",
    b"Content-Length: 99999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\xff" * 50,
    b"%00",
    b"-1",
    b"9" * 30,
]


def mutated(chance: random.Random) -> bytes:
    """A valid request with bytes changed, left out, doubled or put in; or nothing but chance."""
    if chance.random() < 0.2:
        return chance.randbytes(chance.randrange(1, 400))
    text = bytearray(VALID)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(text))
        match chance.randrange(4):
            case 0:
                text[at] = chance.randrange(256)
            case 1:
                del text[at : at + chance.randrange(1, 20)]
            case 2:
                text[at:at] = text[at : at + chance.randrange(1, 200)]
            case 3:
                text[at:at] = chance.choice(ODD)
        if not text:
            text += b"\n"
    return bytes(text)


def test_requests_that_make_no_sense_break_nothing() -> None:
    """Within TLS and instead of it; an honest client is served in between."""
    limits: dict[str, Any] = {
        "attempts_per_address_per_s": 1e5,
        "attempts_per_prefix_per_s": 1e5,
        "handshakes_per_s": 1e5,
    }

    def one(server: Server, case: int) -> None:
        chance = random.Random(case)
        with suppress(OSError), socket.create_connection(place(server), timeout=10) as plain:
            if case % 4 == 0:
                plain.sendall(b"\x16" + mutated(chance) if case % 8 else mutated(chance))
                plain.shutdown(socket.SHUT_WR)
                reads_until_closed(plain)
            else:
                with secured(server) as wrapped:
                    wrapped.sendall(mutated(chance))
                    wrapped.settimeout(0.05)
                    wrapped.recv(4096)
        if case % 50 == 0:
            serves(server)

    with serving(header_s=2, handshake_s=5, **limits) as server:
        with ThreadPoolExecutor(16) as pool:
            assert all(done is None for done in pool.map(lambda case: one(server, case), range(500)))
        serves(server)
        counters = server.counters()
        assert counters["requests"] > 50
        assert counters["refused"] + counters["unauthorized"] > 20


def test_a_flood_from_everywhere_leaves_honest_clients_alone() -> None:
    """From addresses all over 127/8: opened and closed, held, garbage, and a TLS record that never ends."""
    chance = random.Random(8084)
    address_of = place
    over = threading.Event()
    attempts = [0]

    def flood(seed: int, server: Server) -> None:
        mine = random.Random(seed)
        held: list[socket.socket] = []
        while not over.is_set():
            one = socket.socket()
            one.setblocking(False)
            with suppress(OSError):
                one.bind((f"127.{mine.randrange(1, 255)}.{mine.randrange(256)}.{mine.randrange(1, 255)}", 0))
                with suppress(BlockingIOError):
                    one.connect(address_of(server))
                attempts[0] += 1
                match mine.randrange(4):
                    case 0:
                        one.send(b"\x16\x03\x01\x02\x00")
                    case 1:
                        one.send(b"GET / HTTP/1.0\r\n\r\n")
            if mine.random() < 0.5:
                held.append(one)
            else:
                one.close()
            if len(held) > 100:
                held.pop(0).close()
        for one in held:
            one.close()

    with serving(rate_bps=20e6, waiting=256) as server, ThreadPoolExecutor(3) as pool:
        early = pool.submit(fetched, server, 5_000_000)
        try:
            for seed in (1, 2):
                pool.submit(flood, chance.randrange(seed << 32), server)
            until = time.monotonic() + 4
            served = 0
            while time.monotonic() < until:
                serves(server, token=OTHER)
                served += 1
        finally:
            over.set()
        assert early.result()["ended"] == "whole"
        assert served > 0
        counters = server.counters()
        assert counters["transfers"] == served + 1
        assert counters["attempts"] > 500


def test_nothing_is_left_when_a_server_stops() -> None:
    def there(folder: str) -> int:
        return len(list(Path(folder).iterdir()))

    with serving():
        pass
    before = (there("/proc/self/task"), there("/proc/self/fd"))
    with serving(quic=True, rate_bps=1e6) as server, secured(server) as open_one, ThreadPoolExecutor(1) as pool:
        running = pool.submit(fetched, server, 50_000_000)
        open_one.sendall(b"GET ")
        while server.counters()["transfers"] == 0:
            time.sleep(0.01)
        server.stop()
        assert running.result()["ended"] in ("broken", "stopped")
    until = time.monotonic() + 10  # a thread that was waited for may be seen for a moment
    while there("/proc/self/task") > before[0] or there("/proc/self/fd") > before[1]:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("hosts", ["Host: x\r\nHost: y\r\n", "Host: x\r\nHost: x\r\n", ""])
def test_a_request_has_one_host(hosts: str) -> None:
    """RFC 9112, section 3.2: 400 for a request of HTTP/1.1 without Host, and for any with more than one."""
    with serving() as server, secured(server) as one:
        one.sendall(f"GET /algorithms HTTP/1.1\r\n{hosts}Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert one.recv(100).startswith(b"HTTP/1.1 400 ")


# The verb.


@contextmanager
def command(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """`cwndlab serve`, and what it printed when it began."""
    line = [
        sys.executable,
        "-m",
        "cwndlab",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--format",
        "json",
        *map(str, arguments),
    ]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            text = ""
            while not text.endswith("]\n"):
                piece = process.stdout.readline()
                assert piece, process.stderr and process.stderr.read()
                text += piece
            yield process, {row["what"]: row["is"] for row in json.loads(text)}
        finally:
            process.kill()


def test_the_command_makes_what_it_needs_once_and_keeps_it_to_itself(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with command("--state", state) as (process, told):
        token = told["token of client"]
        found = fetch(
            told["listening"], token=token, algorithm="cubic", size_bytes=1000, trust=str(state / "certificate.pem")
        )
        assert found["ended"] == "whole"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "transfers 1" in said
        assert token not in said
    assert {file.name: file.stat().st_mode & 0o777 for file in state.iterdir()} == {
        "certificate.pem": 0o600,
        "key.pem": 0o600,
        "tokens": 0o600,
    }
    with command("--state", state) as (_, again):
        assert "token of client" not in again
        assert again["fingerprint"] == told["fingerprint"]
        assert fetch(again["listening"], token=token, algorithm=None, size_bytes=1, trust=again["fingerprint"])


def test_what_is_wrong_with_the_command_is_said(cli: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("anna short\nbert\n")
    status, _, said = cli("serve", "--token", tokens, "--state", tmp_path)
    assert status == 2
    assert f"{tokens}:1: a token has 16 to 512 characters, this one 5" in said
    assert f"{tokens}:2: is no name and token" in said
    for arguments, text in [
        (("--limit", "speed=1"), "speed: there is no such limit\n  hint: there are connections, "),
        (("--limit", "connections"), "--limit: 'connections' has no '='\n  hint: write --limit connections=100"),
        (("--limit", "connections=many"), "--limit: 'many' is no number"),
        (("--limit", "connections=0"), "connections: 0 is no such limit\n  hint: from 1 on"),
        (("--certificate", "x.pem"), "certificate: a certificate and its key belong together"),
    ]:
        status, _, said = cli("serve", "--state", tmp_path / "state", *arguments)
        assert status == 2, said
        assert text in said
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        status, _, said = cli("serve", "--state", tmp_path / "state", "--listen", listen)
    assert status == 1
    assert f"--listen: '{listen}': Address already in use" in said
