"""The server of live measurements over the loopback: resources, error responses, algorithms, the command."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cwndlab.engine import Server, fetch
from serving import (
    OTHER,
    TOKEN,
    address_of,
    connection,
    fetch_from,
    payload,
    read_until_closed,
    request,
    request_once,
    running_server,
    serve_command,
    tls_connection,
)


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


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
    assert body == payload(0, 100_000)
    # A browser requests a name and a password: the token is the password.
    basic = [curl, "--silent", "--insecure", "--user", f"anyone:{TOKEN}", "--range", "99990-", url]
    assert subprocess.run(basic, capture_output=True, check=True).stdout == payload(99_990, 10)


def test_a_range_is_part_of_the_stream(server: Server) -> None:
    with connection(server) as client:
        for requested, first, length in [
            ("0-0", 0, 1),
            ("13-1012", 13, 1000),
            ("65530-65545", 65530, 16),
            ("-7", 99_993, 7),
        ]:
            status, headers, body = request(client, "/bytes/100000", Range=f"bytes={requested}")
            assert status == 206
            assert headers["content-range"] == f"bytes {first}-{first + length - 1}/100000"
            assert body == payload(first, length)
        status, headers, body = request(client, "/bytes/100000", method="HEAD")
        assert (status, headers["content-length"], body) == (200, "100000", b"")
        assert "cwndlab-transfer" not in headers
        # A range has a meaning in GET alone (RFC 9110, 14.2).
        for ignored in ("bytes=0-9", "bytes=100000-"):
            status, headers, body = request(client, "/bytes/100000", method="HEAD", Range=ignored)
            assert (status, headers["content-length"], body) == (200, "100000", b"")
        # The condition names another stream, so the response is the complete stream (RFC 9110, 13.1.5).
        assert request(client, "/bytes/10", Range="bytes=5-", If_Range='"other"')[2] == payload(0, 10)
        etag = headers["etag"].replace("100000", "10")
        assert request(client, "/bytes/10", Range="bytes=5-", If_Range=etag)[0] == 206
        assert request(client, "/bytes/0")[::2] == (200, b"")


def test_only_its_owner_can_read_the_account_of_a_transfer(server: Server) -> None:
    with connection(server) as client:
        _, headers, _ = request(client, "/bytes/300000?cc=reno")
        path = f"/transfers/{headers['cwndlab-transfer']}"
        status, kind, body = request(client, path)
    account = json.loads(body)
    assert (status, kind["content-type"]) == (200, "application/json")
    assert account["client"] == "anna"
    assert account["ended"] == "complete"
    assert (account["requested_bytes"], account["written_bytes"], account["size_bytes"]) == (300_000,) * 3
    assert account["last"]["acked_bytes"] >= 300_000
    assert account["ended_unix_ns"] > account["started_unix_ns"]
    samples = account["samples"]
    assert samples["rows"]
    assert {len(row) for row in samples["rows"]} == {len(samples["columns"])}
    assert request_once(server, path, token=OTHER)[0] == 404
    assert request_once(server, path)[0] == 200


def test_every_error_response_is_one_line_with_the_reason(server: Server) -> None:
    cases: list[tuple[dict[str, Any], int, str]] = [
        (
            {"path": "/bytes/1", "token": None},
            401,
            "a token is required: send the header 'Authorization: Bearer TOKEN'",
        ),
        ({"path": "/bytes/1", "token": TOKEN[:-1] + "0"}, 401, "a token is required"),
        ({"path": "/"}, 404, "the resources are /bytes/N?cc=NAME, /transfers/ID and /algorithms"),
        ({"path": "/bytes/ten"}, 400, "a number of bytes must follow /bytes/"),
        ({"path": "/bytes/10?cc=unknown"}, 400, "this server has no 'unknown'; it has "),
        ({"path": "/bytes/10", "method": "POST"}, 405, "only GET and HEAD are supported"),
        ({"path": "/bytes/100000000000"}, 413, "the limit of a transfer is 10000000000 bytes"),
        ({"path": "/bytes/10", "Range": "bytes=10-"}, 416, "the range begins beyond the end"),
        ({"path": "/bytes/10", "Range": "bytes=0-1,3-4"}, 416, "only one range is supported"),
        ({"path": "/transfers/" + "0" * 32}, 404, "you have no transfer with this ID"),
    ]
    for options, expected, line in cases:
        path = options.pop("path")
        status, _, body = request_once(server, str(path), **options)
        assert status == expected, path
        text = body.decode()
        assert text.startswith(line), path
        assert text.count("\n") == 1
    assert request_once(server, "/x", X_Long="a" * 20_000)[0] == 431
    assert server.counters()["transfers"] == 0


def test_files_of_the_host_are_not_accessible(server: Server) -> None:
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
        status, _, body = request_once(server, path)
        assert status in (400, 404), path
        assert b"root:" not in body
    assert server.counters()["transfers"] == 0


@pytest.mark.parametrize("hosts", ["Host: x\r\nHost: y\r\n", "Host: x\r\nHost: x\r\n", ""])
def test_a_request_needs_exactly_one_host(hosts: str) -> None:
    """RFC 9112, section 3.2: 400 for a request of HTTP/1.1 without Host, and for any with more than one."""
    with running_server() as server, tls_connection(server) as client:
        client.sendall(f"GET /algorithms HTTP/1.1\r\n{hosts}Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")


def test_plain_http_gets_an_error_response(server: Server) -> None:
    with socket.create_connection(address_of(server), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"this server supports only https\n" in read_until_closed(plain)


def test_the_sender_uses_the_requested_algorithm() -> None:
    ss = shutil.which("ss")
    with running_server(rate_bps=4e6) as server:
        _, port = address_of(server)
        offered = json.loads(request_once(server, "/algorithms")[2])["tcp"]
        assert offered["usual"] in offered["algorithms"]
        assert "reno" in offered["algorithms"]
        for name in offered["algorithms"]:
            outputs: list[str] = []

            def progress(_: int, outputs: list[str] = outputs) -> bool:
                if ss is not None:
                    done = subprocess.run([ss, "-tinH", f"sport = :{port}"], capture_output=True, text=True, check=True)
                    outputs.append(done.stdout)
                return len(outputs) < 2

            result = fetch_from(server, 2_000_000, name, progress=progress)
            kernel_name = {"bbr1": "bbr", "westwood-plus": "westwood"}.get(name, name)
            assert result["algorithm"] == kernel_name  # from getsockopt
            assert result["sender"]["algorithm"] == kernel_name
            if ss is None:
                continue
            assert re.search(rf"\b{kernel_name}\b", outputs[-1]), outputs


def test_every_algorithm_of_the_library_sends_over_quic() -> None:
    with running_server(quic=True) as server:
        names = json.loads(request_once(server, "/algorithms")[2])["quic"]["algorithms"]
        assert {"cubic", "reno", "bbr1", "phcc", "quinn:cubic"} <= set(names)
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda name: fetch_from(server, 300_000, name, transport="quic"), names))
    assert [result["ended"] for result in results] == ["complete"] * len(names)


def test_a_connection_keeps_its_algorithm(server: Server) -> None:
    with connection(server) as client:
        assert request(client, "/bytes/1000?cc=reno")[0] == 200
        status, headers, _ = request(client, "/bytes/1000")
        assert (status, headers["cwndlab-congestion-control"]) == (200, "reno")
        assert request(client, "/bytes/1000?cc=newreno")[0] == 200
        status, headers, body = request(client, "/bytes/1000?cc=cubic")
        assert (status, headers["connection"]) == (409, "close")
        assert b"this connection has used 'reno'" in body
    with connection(server) as client:
        request(client, "/bytes/1000?cc=reno")
        _, headers, _ = request(client, "/bytes/1000?cc=reno")
        account = json.loads(request(client, f"/transfers/{headers['cwndlab-transfer']}")[2])
    assert account["transfers_before"] == 1


def test_the_command_creates_its_private_state_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with serve_command("--state", state) as (process, printed):
        token = printed["token of client"]
        result = fetch(
            printed["listening"], token=token, algorithm="cubic", size_bytes=1000, trust=str(state / "certificate.pem")
        )
        assert result["ended"] == "complete"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "transfers 1" in stderr
        assert token not in stderr
    assert {file.name: file.stat().st_mode & 0o777 for file in state.iterdir()} == {
        "certificate.pem": 0o600,
        "key.pem": 0o600,
        "tokens": 0o600,
    }
    with serve_command("--state", state) as (process, again):
        assert "token of client" not in again
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
        # The token of the first start is not printed again; the place where it is, is.
        assert f"tokens: those in {state / 'tokens'}, of client\n" in stderr
        assert token not in stderr
    with serve_command("--state", state) as (_, again):
        assert again["fingerprint"] == printed["fingerprint"]
        assert fetch(again["listening"], token=token, algorithm=None, size_bytes=1, trust=again["fingerprint"])


def test_invalid_options_of_the_command_are_reported(cli: Any, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("anna short\nbert\n")
    status, _, stderr = cli("serve", "--token", tokens, "--state", tmp_path)
    assert status == 2
    assert f"{tokens}:1: a token has 16 to 512 characters, this one has 5" in stderr
    assert f"{tokens}:2: is not a name and a token" in stderr
    for arguments, text in [
        (("--limit", "speed=1"), "speed: is not a limit\n  hint: the limits are connections, "),
        (("--limit", "connections"), "--limit: 'connections' has no '='\n  hint: write --limit connections=100"),
        (("--limit", "connections=many"), "--limit: 'many' is not a number"),
        (("--limit", "connections=0"), "connections: 0 is out of range\n  hint: the minimum is 1"),
        (("--certificate", "x.pem"), "certificate: a certificate needs its key, and a key its certificate"),
    ]:
        status, _, stderr = cli("serve", "--state", tmp_path / "state", *arguments)
        assert status == 2, stderr
        assert text in stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        status, _, stderr = cli("serve", "--state", tmp_path / "state", "--listen", listen)
    assert status == 1
    assert f"--listen: '{listen}': Address already in use" in stderr


@pytest.mark.parametrize("listen", ["[::1:8443", "::1]:8443", "[1.2.3.4]:1", "256.1.1.1:1", "1.2.3:1", "nowhere"])
def test_an_address_that_is_none_is_invalid_input(listen: str, cli: Any, tmp_path: Path) -> None:
    status, _, stderr = cli("serve", "--state", tmp_path / "state", "--listen", listen)
    assert (status, stderr.splitlines()[0]) == (2, f"--listen: '{listen}' is not an address and a port")


def test_the_token_of_a_start_that_fails_is_made_anew(cli: Any, tmp_path: Path) -> None:
    """It is printed once, and a start that fails prints none: a file of it would lock everybody out."""
    state = tmp_path / "state"
    for arguments in (("--limit", "speed=1"), ("--listen", "nowhere"), ("--certificate", tmp_path / "no.pem")):
        assert cli("serve", "--state", state, *arguments)[0] in (1, 2)
        assert not (state / "tokens").exists()
    assert state.stat().st_mode & 0o777 == 0o700
    with serve_command("--state", state) as (_, printed):
        assert (state / "tokens").read_text() == f"client {printed['token of client']}\n"


def test_a_stopped_server_leaves_no_threads_or_descriptors() -> None:
    def count(folder: str) -> int:
        return len(list(Path(folder).iterdir()))

    with running_server():
        pass
    before = (count("/proc/self/task"), count("/proc/self/fd"))
    with (
        running_server(quic=True, rate_bps=1e6) as server,
        tls_connection(server) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        running = pool.submit(fetch_from, server, 50_000_000)
        client.sendall(b"GET ")
        while server.counters()["transfers"] == 0:
            time.sleep(0.01)
        server.stop()
        assert running.result()["ended"] in ("broken", "stopped")
    deadline = time.monotonic() + 10  # /proc may list a joined thread for a moment
    while count("/proc/self/task") > before[0] or count("/proc/self/fd") > before[1]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
