"""Round trips to a host: by TCP's handshake, and by ICMP echo where the machine allows it. Needs no root.

A handshake takes one round trip (RFC 9293, 3.5), also one that is refused. Echo requests (RFC 792, RFC 4443) go through
a ping socket where ``net.ipv4.ping_group_range`` allows it, else through a raw one, which needs CAP_NET_RAW.
"""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any

from cwndlab.live.preflight.captured import Unknown

#: A target: address family, address.
Address = tuple[socket.AddressFamily, str]
_ECHO = {socket.AF_INET: (socket.IPPROTO_ICMP, 8, 0), socket.AF_INET6: (socket.IPPROTO_ICMPV6, 128, 129)}


@dataclass(frozen=True)
class Rtts:
    """Round trips in the order of the probes, nanoseconds; ``None`` where no answer came."""

    method: str
    samples_ns: tuple[int | None, ...]

    @property
    def answered(self) -> list[int]:
        """Those with an answer."""
        return [sample for sample in self.samples_ns if sample is not None]

    def as_dict(self) -> dict[str, Any]:
        """Statistics in the order of `COLUMNS`: ``jitter_ms`` is the mean of the differences of neighbours without
        their sign."""
        got = sorted(sample / 1e6 for sample in self.answered)
        steps = [abs(b - a) / 1e6 for a, b in zip(self.samples_ns, self.samples_ns[1:], strict=False) if a and b]
        return {
            "method": self.method,
            "sent": len(self.samples_ns),
            "answered": len(got),
            "min_ms": got[0] if got else None,
            "mean_ms": fmean(got) if got else None,
            "median_ms": median(got) if got else None,
            "p95_ms": got[math.ceil(0.95 * len(got)) - 1] if got else None,
            "max_ms": got[-1] if got else None,
            "deviation_ms": stdev(got) if len(got) > 1 else None,
            "jitter_ms": fmean(steps) if steps else None,
        }


#: Columns of statistics.
COLUMNS = (
    "method",
    "sent",
    "answered",
    "min_ms",
    "mean_ms",
    "median_ms",
    "p95_ms",
    "max_ms",
    "deviation_ms",
    "jitter_ms",
)


def reachable(host: str, port: int) -> Address:
    """The first address of a name that answers a handshake, also by a refusal; the first one where none does. A name
    may have an IPv6 address that is not reachable from here. Raises ``Unknown`` if it has none."""
    known = addresses(host)
    if len(known) > 1:
        return next((one for one in known if connect_ns(one, port, 2.0) is not None), known[0])
    return known[0]


def addresses(host: str) -> list[Address]:
    """The addresses of a name in the order of RFC 6724; raises ``Unknown`` where it has none."""
    try:
        result = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as cause:
        raise Unknown(f"'{host}' has no address ({getattr(cause, 'strerror', None) or cause})") from None
    known = [(socket.AddressFamily(family), str(at[0])) for family, _, _, _, at in result if family in _ECHO]
    if not known:
        raise Unknown(f"'{host}' has no address of IPv4 or IPv6")
    return known


def tcp_connects(
    to: Address,
    port: int,
    *,
    count: int = 10,
    interval_s: float = 0.2,
    timeout_s: float = 2.0,
    sleep: Callable[[float], object] = time.sleep,
) -> Rtts:
    """``count`` handshakes with a port; one that is refused counts, since the refusal took a round trip too."""
    samples = [
        _spaced(number, interval_s, sleep, lambda: connect_ns(to, port, timeout_s)) for number in range(1, count + 1)
    ]
    return Rtts(f"TCP, port {port}", tuple(samples))


def connect_ns(to: Address, port: int, timeout_s: float) -> int | None:
    """How long a handshake takes, or nothing within ``timeout_s``."""
    family, address = to
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.setblocking(False)
        begin = time.perf_counter_ns()
        try:
            refused = one.connect_ex((address, port))
        except (OSError, OverflowError) as cause:
            raise Unknown(f"port {port} cannot be probed ({cause})") from None
        if refused == errno.EINPROGRESS:
            poll = select.poll()
            poll.register(one, select.POLLOUT)
            if not poll.poll(timeout_s * 1e3):
                return None
            took = time.perf_counter_ns() - begin
            refused = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        else:
            took = time.perf_counter_ns() - begin
        return took if refused in (0, errno.ECONNREFUSED) else None


def ping(
    to: Address,
    *,
    count: int = 10,
    interval_s: float = 0.2,
    timeout_s: float = 2.0,
    sleep: Callable[[float], object] = time.sleep,
) -> Rtts:
    """``count`` echo requests; raises ``Unknown`` where this process may not send them."""
    with echo_socket(to[0]) as one:
        samples = [
            _spaced(number, interval_s, sleep, lambda number=number: _echo_ns(one, to, number, timeout_s))  # type: ignore[misc]
            for number in range(1, count + 1)
        ]
    return Rtts("ICMP echo", tuple(samples))


def echo_socket(family: socket.AddressFamily) -> socket.socket:
    """A ping socket or, failing that, a raw one."""
    protocol = _ECHO[family][0]
    refused = ""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            return socket.socket(family, kind, protocol)
        except OSError as cause:
            refused = cause.strerror or str(cause)
    raise Unknown(
        f"ICMP echo is not allowed here ({refused.lower()}): net.ipv4.ping_group_range has not this group, "
        "and raw sockets need CAP_NET_RAW"
    )


def echo_request(family: socket.AddressFamily, number: int, mark: bytes) -> bytes:
    """An echo request; the checksum of ICMPv6 is the kernel's, and so is the identifier of a ping socket."""
    head = struct.pack("!BBHHH", _ECHO[family][1], 0, 0, os.getpid() & 0xFFFF, number & 0xFFFF)
    if family == socket.AF_INET:
        head = head[:2] + struct.pack("!H", checksum(head + mark)) + head[4:]
    return head + mark


def checksum(content: bytes) -> int:
    """RFC 1071.

    >>> hex(checksum(bytes.fromhex("0001f203f4f5f6f7")))
    '0x220d'
    """
    total: int = sum(struct.unpack(f"!{(len(content) + 1) // 2}H", content + b"\0" * (len(content) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def is_reply(family: socket.AddressFamily, content: bytes, mark: bytes) -> bool:
    """Whether a message is the answer to the request that carried ``mark``; raw sockets of IPv4 show its IP header."""
    if family == socket.AF_INET and content[:1] and content[0] >> 4 == 4:
        content = content[4 * (content[0] & 15) :]
    return len(content) >= 8 and content[0] == _ECHO[family][2] and content[8 : 8 + len(mark)] == mark


def _echo_ns(one: socket.socket, to: Address, number: int, timeout_s: float) -> int | None:
    family, address = to
    mark = os.urandom(16)
    begin = time.perf_counter_ns()
    end = time.monotonic() + timeout_s
    try:
        one.sendto(echo_request(family, number, mark), (address, 0))
        while (left := end - time.monotonic()) > 0:
            one.settimeout(left)
            content = one.recv(2048)
            took = time.perf_counter_ns() - begin
            if is_reply(family, content, mark):
                return took
    except OSError:  # no route, a timeout, an ICMP error: no answer
        return None
    return None


def _spaced(
    number: int, interval_s: float, sleep: Callable[[float], object], ask: Callable[[], int | None]
) -> int | None:
    if number > 1:
        sleep(interval_s)
    return ask()


def median_ns(samples: Sequence[int]) -> float | None:
    """The median of what was answered."""
    return float(median(samples)) if samples else None
