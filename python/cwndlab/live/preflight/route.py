"""The route to a host: probes with a growing time to live, as traceroute (V. Jacobson, 1988). No root.

Linux hands the ICMP error that a datagram or a handshake met to the socket that sent it (``IP_RECVERR``, ip(7)), with
the router that reported it. A recorded route is read from the output of ``traceroute`` or ``tracert``.
"""

from __future__ import annotations

import errno
import re
import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Literal

from cwndlab.errors import Fault, ScenarioError
from cwndlab.live.preflight.captured import Unknown
from cwndlab.live.preflight.rtt import Address, echo_request, is_reply

Method = Literal["udp", "icmp", "tcp"]

# Of <linux/in.h>, <linux/in6.h>, <linux/errqueue.h>, <linux/icmp.h>: Python's socket module does not name them.
_RECVERR = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (socket.IPPROTO_IPV6, 25)}
_HOPS = {
    socket.AF_INET: (socket.IPPROTO_IP, socket.IP_TTL),
    socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS),
}
_ERRQUEUE = 0x2000
_FROM_ICMP = {socket.AF_INET: 2, socket.AF_INET6: 3}
_EXTENDED = struct.Struct("=IBBBBII")
# Type and code of ICMP: a router that let no more hops, a port on which nobody listens.
_TIME_EXCEEDED = {socket.AF_INET: 11, socket.AF_INET6: 3}
_PORT_UNREACHABLE = {socket.AF_INET: (3, 3), socket.AF_INET6: (1, 4)}
# Traceroute's own first port; nobody should listen there.
_PORT = 33434
# Hops that are probed at once, and silent hops after which probing ends.
_AT_ONCE = 5
_SILENT = 8


@dataclass(frozen=True)
class Hop:
    """A step of the route: who answered, if anybody did, and after how long."""

    hop: int
    addresses: tuple[str, ...]
    rtts_ns: tuple[int | None, ...]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """In the order of `COLUMNS`."""
        got = [rtt / 1e6 for rtt in self.rtts_ns if rtt is not None]
        return {
            "hop": self.hop,
            "address": ", ".join(self.addresses) or None,
            "probes": len(self.rtts_ns),
            "answered": len(got),
            "min_ms": min(got, default=None),
            "mean_ms": sum(got) / len(got) if got else None,
            "max_ms": max(got, default=None),
            "note": self.note,
        }


#: Columns of a hop.
COLUMNS = ("hop", "address", "probes", "answered", "min_ms", "mean_ms", "max_ms", "note")


@dataclass
class _Answer:
    address: str
    rtt_ns: int
    last: bool
    note: str = ""


def trace(
    to: Address,
    *,
    method: Method = "udp",
    port: int | None = None,
    most: int = 30,
    probes: int = 3,
    timeout_s: float = 1.0,
) -> list[Hop]:
    """The hops to an address, the last one being it where it answers. Raises ``Unknown`` if the machine has no such
    sockets."""
    hops: list[Hop] = []
    silent = 0
    for first in range(1, most + 1, _AT_ONCE):
        ttls = range(first, min(first + _AT_ONCE, most + 1))
        answers = _ask(to, ttls, method, port, probes, timeout_s)
        for ttl in ttls:
            result = answers[ttl]
            addresses = tuple(dict.fromkeys(one.address for one in result if one is not None))
            notes = dict.fromkeys(one.note for one in result if one is not None and one.note)
            rtts = tuple(None if one is None else one.rtt_ns for one in result)
            hops.append(Hop(ttl, addresses, rtts, ", ".join(notes)))
            silent = 0 if addresses else silent + 1
            if any(one is not None and one.last for one in result):
                return hops
            if silent >= _SILENT:
                return hops[:-silent]
    return hops


def reached(hops: list[Hop], to: Address) -> bool:
    """Whether the last hop is the host itself."""
    return bool(hops) and to[1] in hops[-1].addresses


def _ask(
    to: Address, ttls: range, method: Method, port: int | None, probes: int, timeout_s: float
) -> dict[int, list[_Answer | None]]:
    """Sends ``probes`` for each time to live at once and waits for all of them."""
    family, address = to
    answers: dict[int, list[_Answer | None]] = {ttl: [None] * probes for ttl in ttls}
    with ExitStack() as stack:
        waiting: dict[int, tuple[socket.socket, int, int, int, bytes]] = {}
        poll = select.poll()
        for ttl in ttls:
            for number in range(probes):
                one = stack.enter_context(_socket(family, method))
                one.setblocking(False)
                one.setsockopt(*_RECVERR[family], 1)
                one.setsockopt(*_HOPS[family], ttl)
                mark = struct.pack("!HHQ", ttl, number, time.monotonic_ns())
                sent = time.perf_counter_ns()
                if _send(one, to, method, port, ttl * probes + number, mark):
                    waiting[one.fileno()] = (one, ttl, number, sent, mark)
                    poll.register(one, select.POLLIN | select.POLLERR | (select.POLLOUT if method == "tcp" else 0))
        end = time.monotonic() + timeout_s
        while waiting and (left := end - time.monotonic()) > 0:
            for file, _ in poll.poll(left * 1e3):
                one, ttl, number, sent, mark = waiting[file]
                now = time.perf_counter_ns()
                result = _error(one, family, now - sent) or _reply(one, to, method, mark, now - sent)
                if result is not None:
                    answers[ttl][number] = result
                    poll.unregister(file)
                    del waiting[file]
    for result in (one for probes in answers.values() for one in probes if one is not None):
        result.last = result.last or result.address == address
    return answers


def _socket(family: socket.AddressFamily, method: Method) -> socket.socket:
    kind = socket.SOCK_STREAM if method == "tcp" else socket.SOCK_DGRAM
    protocol = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}[family]
    try:
        return socket.socket(family, kind, protocol if method == "icmp" else 0)
    except OSError as cause:
        raise Unknown(f"a socket for {method.upper()} probes was refused ({cause.strerror})") from None


def _send(one: socket.socket, to: Address, method: Method, port: int | None, number: int, mark: bytes) -> bool:
    """Sends a probe; ``False`` where there is no way out."""
    family, address = to
    try:
        if method == "tcp":
            return one.connect_ex((address, port or 443)) in (0, errno.EINPROGRESS)
        if method == "icmp":
            one.sendto(echo_request(family, number, mark), (address, 0))
        else:
            one.sendto(mark, (address, (port or _PORT) + number % 256))
    except OSError as cause:
        if cause.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EPERM):
            raise Unknown(f"nothing can be sent to {address} ({cause.strerror})") from None
        return False
    return True


def _error(one: socket.socket, family: socket.AddressFamily, rtt_ns: int) -> _Answer | None:
    """The ICMP error that a probe met."""
    try:
        _, ancillary, _, _ = one.recvmsg(512, 512, _ERRQUEUE)
    except OSError:
        return None
    for level, kind, content in ancillary:
        if (level, kind) == _RECVERR[family] and len(content) >= _EXTENDED.size:
            return error_of(family, content, rtt_ns)
    return None


def error_of(family: socket.AddressFamily, content: bytes, rtt_ns: int) -> _Answer | None:
    """Reads a ``sock_extended_err`` and the address behind it."""
    _, origin, kind, code, _, _, _ = _EXTENDED.unpack_from(content)
    if origin != _FROM_ICMP[family]:
        return None
    behind = content[_EXTENDED.size :]
    raw = behind[4:8] if family == socket.AF_INET else behind[8:24]
    if len(raw) not in (4, 16):
        return None
    address = str(ip_address(raw))
    if kind == _TIME_EXCEEDED[family]:
        return _Answer(address, rtt_ns, last=False)
    if (kind, code) == _PORT_UNREACHABLE[family]:
        return _Answer(address, rtt_ns, last=True)
    return _Answer(address, rtt_ns, last=True, note=f"unreachable: ICMP type {kind}, code {code}")


def _reply(one: socket.socket, to: Address, method: Method, mark: bytes, rtt_ns: int) -> _Answer | None:
    """The host itself: a handshake that ended, an echo reply, an answer to a datagram."""
    if method == "tcp":
        ended = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return _Answer(to[1], rtt_ns, last=True) if ended in (0, errno.ECONNREFUSED) else None
    try:
        content, source = one.recvfrom(2048)
    except ConnectionRefusedError:
        return _Answer(to[1], rtt_ns, last=True)
    except OSError:
        return None
    if method == "icmp" and not is_reply(to[0], content, mark):
        return None
    return _Answer(str(source[0]), rtt_ns, last=True)


# What traceroute and tracert print.

_LINE = re.compile(r"^\s*([0-9]{1,3})\s+(\S.*)$")
_TIME = re.compile(r"(<)?\s*(?<![0-9.,])([0-9]{1,6}(?:[.,][0-9]{1,6})?)\s*ms\b")
#: A longer time is a damaged line: a packet lives for two minutes at most (RFC 9293, 3.4.2).
_LONGEST_MS = 120_000
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w.])"
)


def parse_route(text: str, where: str = "route") -> list[Hop]:
    """The hops in the output of ``traceroute`` (Linux, BSD; with names or ``-n``) or ``tracert`` (Windows, any
    language). ``<1 ms`` counts as 1 ms. Raises ``ScenarioError`` if there is none."""
    hops = list(_hops(text))
    if not hops:
        raise ScenarioError(Fault(where, "holds no hops", "output of `traceroute HOST` or `tracert HOST`"))
    return hops


def _hops(text: str) -> Iterator[Hop]:
    last = 0
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or int(match[1]) != last + 1:
            continue
        rest = match[2]
        found = [(time.start(), float(time[2].replace(",", "."))) for time in _TIME.finditer(rest)]
        times: list[tuple[int, int | None]] = [(at, round(ms * 1e6)) for at, ms in found if ms <= _LONGEST_MS]
        # A star is a probe without an answer.
        stars = [(star.start(), None) for star in re.finditer(r"(?<!\S)\*(?!\S)", rest)]
        if not times and not stars:
            continue
        last += 1
        without = _TIME.sub(" ", rest)
        addresses = dict.fromkeys(one[0] for one in _ADDRESS.finditer(without) if _is_address(one[0]))
        notes = dict.fromkeys(one[0] for one in re.finditer(r"!\w*", rest))
        rtts = tuple(rtt for _, rtt in sorted([*times, *stars], key=lambda pair: pair[0]))
        yield Hop(last, tuple(addresses), rtts, " ".join(notes))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
