"""Transfers from a web server that is not `cwndlab serve`: ranges of a file, at a limited rate of requests.

The client measures goodput, the TCP and TLS handshakes, and the RTT of its own socket (``TCP_INFO``). The sender's
congestion control is unknown. Requests obey robots.txt (RFC 9309) and ``Retry-After`` (RFC 9110, section 10.2.3).
"""

from __future__ import annotations

import http.client
import re
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from cwndlab.engine import version
from cwndlab.errors import Error, Fault, RunError
from cwndlab.live.server_info import check_pin, place_of, reason, tls_context

#: Least time between two requests to one host, in seconds; a longer ``Crawl-delay`` of robots.txt is obeyed.
INTERVAL_S = 5.0
#: A longer ``Retry-After``, in seconds, ends the block.
LONGEST_WAIT_S = 300.0
_ATTEMPTS, _REDIRECTS, _CHUNK = 3, 5, 65_536
_BUSY, _MOVED = {429, 503}, {301, 302, 303, 307, 308}
# Numbers as HTTP has them (RFC 9110, 8.6 and 10.2.3): str.isdigit also takes "²", of which float makes nothing. No file
# has a length of more digits; a pause of as many is one that nobody waits for.
_LENGTH, _SECONDS = re.compile(r"[0-9]{1,18}"), re.compile(r"[0-9]+")
# Offsets of tcpi_rtt, tcpi_rcv_rtt and tcpi_min_rtt in Linux' struct tcp_info, in microseconds.
_RTT, _RCV_RTT, _MIN_RTT = 68, 96, 148


#: Addresses of a server, its port, seconds: a connection to it.
Connect: TypeAlias = Callable[[Sequence[str], int, float], socket.socket]


class RemoteFile(NamedTuple):
    """A file that the server offers in ranges: its URL after redirects, and its size."""

    url: str
    size_bytes: int


class _Exchange(NamedTuple):
    """A response, its connection, and the times of the handshakes from the name lookup on."""

    connection: http.client.HTTPSConnection
    response: http.client.HTTPResponse
    sock: socket.socket
    address: str
    began_ns: int
    lookup_ns: int
    connect_ns: int
    handshake_ns: int


@dataclass
class ForeignServers:
    """Requests to servers of others. ``interval_s`` separates the requests to one host."""

    interval_s: float = INTERVAL_S
    sleep: Callable[[float], object] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    _due: dict[tuple[str, int], float] = field(default_factory=dict)
    _delay_s: dict[tuple[str, int], float] = field(default_factory=dict)
    _robots: dict[tuple[str, int], RobotFileParser] = field(default_factory=dict)
    _files: dict[str, RemoteFile] = field(default_factory=dict)

    def file(self, url: str, trust: str | None) -> RemoteFile:
        """The file behind a URL: one HEAD request per redirect; raises ``RunError`` if it has no ranges."""
        if url in self._files:
            return self._files[url]
        place = url
        for _ in range(_REDIRECTS + 1):
            self._obey_robots(place, trust)
            status, headers, _ = self._short(place, trust, "HEAD")
            if status not in _MOVED or "location" not in headers:
                break
            place = urljoin(place, headers["location"])
        there = url if place == url else f"{url}, redirected to {place}"
        if status != 200:
            raise RunError(Fault(there, f"the server responds with status {status}", "write the URL of a file"))
        length = headers.get("content-length", "")
        if headers.get("accept-ranges", "").lower() != "bytes" or not _LENGTH.fullmatch(length):
            what = "the server offers no ranges of this file (Accept-Ranges, Content-Length)"
            raise RunError(Fault(there, what, "write the URL of a static file, such as an image of a distribution"))
        self._files[url] = RemoteFile(place, int(length))
        return self._files[url]

    def fetch(
        self,
        url: str,
        *,
        size_bytes: int,
        trust: str | None,
        timeout_s: float,
        progress: Callable[[int], bool],
        connect: Connect | None = None,
        **_: object,
    ) -> dict[str, Any]:
        """The first ``size_bytes`` of a file, in the form of `cwndlab.engine.fetch`; ``sender`` is None. The token of
        other servers is ignored. ``connect`` makes the connection of the transfer."""
        file = self.file(url, trust)
        if file.size_bytes < size_bytes:
            what = f"the file has {file.size_bytes} bytes, a transfer {size_bytes}"
            raise RunError(Fault(url, what, f"write --bytes {file.size_bytes}B or less, or the URL of a larger file"))
        wall_ns = time.time_ns()
        exchange = self._request(
            file.url, trust, "GET", {"Range": f"bytes=0-{size_bytes - 1}"}, min(timeout_s, 30.0), connect
        )
        with exchange.response as response:
            try:
                if response.status != 206:
                    what = f"the server responds to a range with status {response.status}"
                    raise RunError(Fault(file.url, what, "write the URL of a file that allows ranges"))
                result = self._receive(exchange, size_bytes, timeout_s, progress)
            finally:
                exchange.connection.close()
        return {
            "transfer": None,
            "algorithm": "unknown",
            "transport": "tcp",
            "address": exchange.address,
            "started_unix_ns": wall_ns,
            "lookup_ns": exchange.lookup_ns,
            "connect_ns": exchange.connect_ns,
            "handshake_ns": exchange.handshake_ns,
            "sender": None,
            **result,
        }

    def _receive(
        self, exchange: _Exchange, size_bytes: int, timeout_s: float, progress: Callable[[int], bool]
    ) -> dict[str, Any]:
        received, first, last = 0, None, None
        arrivals: list[tuple[int, int]] = []
        receiver: dict[str, int] = {}
        ended, why = "complete", ""
        while received < size_bytes:
            try:
                data = exchange.response.read1(min(_CHUNK, size_bytes - received))
            except (OSError, http.client.HTTPException) as cause:
                ended, why = "failed", reason(cause)
                break
            if not data:
                ended, why = "failed", "the connection ended early"
                break
            last = time.monotonic_ns() - exchange.began_ns
            first = last if first is None else first
            received += len(data)
            arrivals.append((last, received))
            receiver = _tcp_info(exchange.sock) or receiver
            if not progress(received):
                ended = "cancelled"
                break
            if last > timeout_s * 1e9:
                ended, why = "timeout", f"not finished after {timeout_s:g} s"
                break
        return {
            "first_byte_ns": first,
            "last_byte_ns": last,
            "received_bytes": received,
            "arrivals": arrivals,
            "receiver": receiver,
            "ended": ended,
            "why": why,
        }

    def _obey_robots(self, url: str, trust: str | None) -> None:
        place = place_of(url)
        if place not in self._robots:
            rules = RobotFileParser()
            robots = urljoin(url, "/robots.txt")
            for _ in range(_REDIRECTS + 1):
                status, headers, text = self._short(robots, trust, "GET")
                if status not in _MOVED or "location" not in headers:
                    break
                robots = urljoin(robots, headers["location"])
            unavailable = ["User-agent: *", "Disallow: /"] if status >= 500 else []
            rules.parse(text.splitlines() if status == 200 else unavailable)
            self._robots[place] = rules
            self._delay_s[place] = float(rules.crawl_delay("cwndlab") or 0)
            self._due[place] += max(0.0, self._delay_s[place] - self.interval_s)
        if not self._robots[place].can_fetch("cwndlab", url):
            what = "robots.txt of the server forbids this file, or is not available"
            raise RunError(Fault(url, what, "choose a file that robots.txt allows, or ask the operator"))

    def _short(self, url: str, trust: str | None, method: str) -> tuple[int, Mapping[str, str], str]:
        exchange = self._request(url, trust, method, {}, 10.0)
        try:
            headers = {name.lower(): value for name, value in exchange.response.getheaders()}
            return exchange.response.status, headers, exchange.response.read(500_000).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as cause:
            raise RunError(Fault(url, f"no answer ({reason(cause)})", "try again later")) from None
        finally:
            exchange.connection.close()

    def _request(
        self,
        url: str,
        trust: str | None,
        method: str,
        headers: Mapping[str, str],
        timeout_s: float,
        connect: Connect | None = None,
    ) -> _Exchange:
        """One response that is neither 429 nor 503; waits as long as ``Retry-After`` requests."""
        place = place_of(url)
        for _ in range(_ATTEMPTS):
            left = self._due.get(place, 0.0) - self.monotonic()
            if left > max(LONGEST_WAIT_S, self.interval_s, self._delay_s.get(place, 0.0)):
                break
            if left > 0:
                self.sleep(left)
            exchange = _send(url, trust, method, headers, timeout_s, connect or _connected)
            pause = max(self.interval_s, self._delay_s.get(place, 0.0))
            if exchange.response.status in _BUSY:
                pause = max(pause, _retry_after_s(exchange.response.getheader("Retry-After", "")))
            self._due[place] = self.monotonic() + pause
            if exchange.response.status not in _BUSY:
                return exchange
            exchange.connection.close()
        left = self._due[place] - self.monotonic()
        what = f"the server is busy (status 429 or 503) and requests a pause of {max(left, 0):.0f} s"
        raise RunError(Fault(url, what, "the same command resumes the campaign; begin it after this pause"))


def _retry_after_s(text: str) -> float:
    """Seconds of a ``Retry-After``: a number, or a date.

    >>> _retry_after_s("7"), _retry_after_s("soon"), _retry_after_s("²"), _retry_after_s("1" + 30 * "0")
    (7.0, 0.0, 0.0, 1e+30)
    """
    if _SECONDS.fullmatch(text.strip()):
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _send(
    url: str, trust: str | None, method: str, headers: Mapping[str, str], timeout_s: float, connect: Connect
) -> _Exchange:
    host, port = place_of(url)
    context, pin = tls_context(trust)
    connection = http.client.HTTPSConnection(host, port, timeout=timeout_s)
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    began = time.monotonic_ns()
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        lookup = time.monotonic_ns() - began
        plain = connect([str(address[0]) for *_, address in addresses], port, timeout_s)
        connected = time.monotonic_ns() - began
        sock = context.wrap_socket(plain, server_hostname=host)
        connection.sock = sock
        handshake = time.monotonic_ns() - began
        check_pin(sock, pin, url)
        agent = {"User-Agent": f"cwndlab/{version()} (network measurement)", "Accept-Encoding": "identity"}
        connection.request(method, target, headers=agent | dict(headers))
        response = connection.getresponse()
    except Error:
        connection.close()
        raise
    except (OSError, http.client.HTTPException, ValueError) as cause:
        connection.close()
        hint = "is the URL right? a private certificate is given by --trust"
        raise RunError(Fault(url, f"no answer ({reason(cause)})", hint)) from None
    peer = str(sock.getpeername()[0])
    name = f"[{peer}]" if ":" in peer else peer
    return _Exchange(connection, response, sock, f"{name}:{port}", began, lookup, connected, handshake)


def _connected(addresses: Sequence[str], port: int, timeout_s: float) -> socket.socket:
    """A connection to the first address that accepts one."""
    failure: OSError = OSError("the name has no address")
    for address in dict.fromkeys(addresses):
        try:
            return socket.create_connection((address, port), timeout=timeout_s)
        except OSError as cause:
            failure = cause
    raise failure


def _tcp_info(sock: socket.socket) -> dict[str, int]:
    """RTTs of the client's socket; empty where the system has no ``TCP_INFO`` of Linux."""
    if not hasattr(socket, "TCP_INFO"):
        return {}
    try:
        data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    except OSError:
        return {}
    if len(data) < _MIN_RTT + 4:
        return {}
    rtts = {"rtt_ns": _RTT, "rcv_rtt_ns": _RCV_RTT, "min_rtt_ns": _MIN_RTT}
    return {name: struct.unpack_from("=I", data, at)[0] * 1000 for name, at in rtts.items()}
