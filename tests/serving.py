"""Helpers for the tests of live measurements: servers on the loopback and their clients."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from cwndlab.custom import Classes, bound, classes_named
from cwndlab.engine import Server, fetch, serve

TOKEN = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2
TOKENS = f"anna {TOKEN}\nbert {OTHER}\n"


def skip_without_ipv6() -> None:
    """Skips a test where the loopback has no IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        pytest.skip("the loopback has no IPv6")


@contextmanager
def running_server(quic: bool = False, classes: Classes | None = None, **limits: float) -> Iterator[Server]:
    """Runs a server on a free port of the loopback, and checks at the end that none of its connections panicked."""
    custom = bound(classes_named(list(classes or ()), classes))
    server = serve("127.0.0.1:0", tokens=TOKENS, quic=quic, limits=limits, classes=custom)
    try:
        yield server
        assert server.counters()["panics"] == 0
    finally:
        server.stop()


def fetch_from(server: Server, size: int, algorithm: str | None = "reno", **options: Any) -> dict[str, Any]:
    """Fetches `size` bytes with the token of the first client and a time limit of 30 s."""
    defaults: dict[str, Any] = {"token": TOKEN, "trust": server.fingerprint, "timeout_s": 30}
    return fetch(f"https://{server.address}", algorithm=algorithm, size_bytes=size, **(defaults | options))


def payload(first: int, length: int) -> bytes:
    """Part of the stream: SplitMix64 with seed 0, implemented independently of the server."""
    words, mask = [], 2**64 - 1
    for index in range(first // 8, (first + length + 7) // 8):
        z = (index + 1) * 0x9E3779B97F4A7C15 & mask
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        words.append(z ^ (z >> 31))
    return struct.pack(f"<{len(words)}Q", *words)[first % 8 :][:length]


def unverified_context() -> ssl.SSLContext:
    """A TLS context that accepts every certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def address_of(server: Server) -> tuple[str, int]:
    """Host and port of a server."""
    host, _, port = server.address.rpartition(":")
    return host, int(port)


@contextmanager
def connection(server: Server) -> Iterator[http.client.HTTPSConnection]:
    """An HTTPS connection to a server."""
    host, port = address_of(server)
    client = http.client.HTTPSConnection(host, port, context=unverified_context(), timeout=10)
    try:
        yield client
    finally:
        client.close()


def request(
    client: http.client.HTTPSConnection, path: str, *, method: str = "GET", token: str | None = TOKEN, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Sends a request; returns status, headers with names in lower case, and body."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    client.request(method, path, headers=sent)
    response = client.getresponse()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()


def request_once(server: Server, path: str, **options: Any) -> tuple[int, dict[str, str], bytes]:
    """The same over a new connection."""
    with connection(server) as client:
        return request(client, path, **options)


@contextmanager
def tls_connection(server: Server) -> Iterator[ssl.SSLSocket]:
    """A connection after its TLS handshake and before its first request."""
    with socket.create_connection(address_of(server), timeout=10) as plain:
        wrapped = unverified_context().wrap_socket(plain, do_handshake_on_connect=False)
        with wrapped:
            wrapped.do_handshake()
            yield wrapped


def read_until_closed(connection: socket.socket) -> bytes:
    """Reads until the server closes or resets the connection."""
    received = b""
    with suppress(OSError):
        while chunk := connection.recv(65536):
            received += chunk
    return received


def assert_served(server: Server, **options: Any) -> None:
    """Checks that the server completes a transfer."""
    assert fetch_from(server, 100_000, **options)["ended"] == "complete"


def printed_rows(process: subprocess.Popen[str]) -> dict[str, str]:
    """The rows that `cwndlab serve --format json` prints at its start."""
    assert process.stdout is not None
    text = ""
    while not text.endswith("]\n"):
        chunk = process.stdout.readline()
        assert chunk, process.stderr and process.stderr.read()
        text += chunk
    return {row["what"]: row["is"] for row in json.loads(text)}


@contextmanager
def serve_command(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Runs `cwndlab serve`; gives the process and the rows that it prints at its start."""
    command = [
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
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, printed_rows(process)
        finally:
            process.kill()
