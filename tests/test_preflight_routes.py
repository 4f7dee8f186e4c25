"""Routes and round-trip times: of traceroute and tracert, and by probes."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cwndlab.errors import ScenarioError
from cwndlab.live import preflight
from cwndlab.live.preflight import route, rtt
from cwndlab.live.preflight.captured import Unknown
from preflight_outputs import (
    TRACEROUTE,
    TRACERT,
)


def test_routes_of_traceroute_and_tracert_are_read() -> None:
    one, two, three, four = preflight.parse_route(TRACEROUTE)
    assert one == route.Hop(1, ("192.0.2.1",), (1_123_000, 900_000, 1_000_000))
    assert two == route.Hop(2, (), (None, None, None))
    assert three == route.Hop(3, ("198.51.100.1", "198.51.100.2"), (12_100_000, 14_100_000, None))
    assert (four.addresses, four.note) == (("2001:db8::9",), "!X")
    hops = preflight.parse_route(TRACERT)
    assert [hop.addresses for hop in hops] == [("192.0.2.1",), (), ("203.0.113.9",)]
    assert hops[0].rtts_ns == (1_000_000, 1_000_000, 1_000_000)


def test_round_trips_are_told_by_hand() -> None:
    """1, 2, 4, 8 and 100 ms, one without an answer between the second and the third."""
    told = preflight.Rtts("x", (1_000_000, 2_000_000, None, 4_000_000, 8_000_000, 100_000_000)).as_dict()
    assert (told["sent"], told["answered"]) == (6, 5)
    assert (told["min_ms"], told["median_ms"], told["max_ms"], told["mean_ms"]) == (1, 4, 100, 23)
    assert told["p95_ms"] == 100
    assert told["jitter_ms"] == pytest.approx((1 + 4 + 92) / 3)
    assert all(preflight.Rtts("x", (None,)).as_dict()[name] is None for name in rtt.COLUMNS[3:])


def test_a_handshake_is_timed_whether_it_is_taken_or_refused() -> None:
    here = (socket.AF_INET, "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        taken = preflight.tcp_connects(here, port, count=3, interval_s=0)
    refused = preflight.tcp_connects(here, port, count=2, interval_s=0)
    assert (len(taken.answered), len(refused.answered)) == (3, 2)
    assert all(sample > 0 for sample in taken.answered + refused.answered)


def test_there_is_an_interval_between_any_two_handshakes() -> None:
    """Four handshakes have three intervals between them."""
    slept: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        here, port = (socket.AF_INET, "127.0.0.1"), server.getsockname()[1]
        preflight.tcp_connects(here, port, count=4, interval_s=0.2, sleep=slept.append)
    assert slept == [0.2] * 3


def test_an_echo_is_known_by_what_it_carries() -> None:
    mark = bytes(range(16))
    request = rtt.echo_request(socket.AF_INET, 7, mark)
    assert rtt.checksum(request) == 0  # RFC 1071: of a message with its checksum
    reply = bytes([0]) + request[1:]
    assert rtt.is_reply(socket.AF_INET, reply, mark)
    assert rtt.is_reply(socket.AF_INET, b"\x45" + bytes(19) + reply, mark)  # a raw socket shows the IP header
    assert not rtt.is_reply(socket.AF_INET, request, mark)
    assert not rtt.is_reply(socket.AF_INET, reply, bytes(16))
    assert not rtt.is_reply(socket.AF_INET, b"", mark)


def test_pings_come_back_or_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    here = (socket.AF_INET, "127.0.0.1")
    if os.geteuid() == 0:
        assert len(preflight.ping(here, count=2, interval_s=0).answered) == 2

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", refused)
    with pytest.raises(
        Unknown, match=r"not allowed here \(operation not permitted\): net.ipv4.ping_group_range has not"
    ):
        preflight.ping(here, count=2)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("host.example", "host.example", 443),
        ("host.example:80", "host.example", 80),
        ("https://host.example/x?y", "host.example", 443),
        ("http://host.example:8080", "host.example", 8080),
        ("2001:db8::1", "2001:db8::1", 443),
        ("[2001:db8::1]:8443", "2001:db8::1", 8443),
    ],
)
def test_targets(text: str, host: str, port: int) -> None:
    assert preflight.Target.parse(text) == preflight.Target(host, port)


def test_an_address_that_answers_is_preferred_to_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with an address of IPv6 that has no route here (RFC 3849 reserves it for documentation)."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        known = [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 0, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)
        assert preflight.rtt.addresses("host.example")[0] == (socket.AF_INET6, "2001:db8::1")
        assert preflight.rtt.reachable("host.example", port) == (socket.AF_INET, "127.0.0.1")
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known[:1])
        assert preflight.rtt.reachable("host.example", port) == (socket.AF_INET6, "2001:db8::1")


@pytest.mark.parametrize("text", ["", "host:99999", "host:0", "https://host:0/x", "a b", "[::", "http://"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match="write a name or an address"):
        preflight.Target.parse(text)


@contextmanager
def _namespaces(count: int) -> Iterator[list[int]]:
    """Network namespaces that have no names and go with the processes that hold them."""
    own = Path("/proc/self/ns/net").readlink()
    holders = [subprocess.Popen(["unshare", "--net", "sleep", "120"]) for _ in range(count)]
    try:
        end = time.monotonic() + 10
        for holder in holders:
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
                assert time.monotonic() < end
                assert holder.poll() is None
                time.sleep(0.01)
        yield [holder.pid for holder in holders]
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def _inside(holder: int, *command: str) -> str:
    enter = ("nsenter", "--target", str(holder), "--net")
    return subprocess.run([*enter, *command], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "ip"))),
    reason="needs root, unshare, nsenter and ip",
)
def test_a_route_of_two_hops_is_found_by_each_kind_of_probe() -> None:
    """A router between two hosts."""
    with _namespaces(3) as (host, router, far):
        for name, here, there, near, away in (
            ("left", host, router, "10.77.1.2/24", "10.77.1.1/24"),
            ("right", far, router, "10.77.2.2/24", "10.77.2.1/24"),
        ):
            _inside(here, "ip", "link", "add", name, "type", "veth", "peer", "name", name, "netns", str(there))
            for place, address in ((here, near), (there, away)):
                _inside(place, "ip", "address", "add", address, "dev", name)
                _inside(place, "ip", "link", "set", name, "up")
            _inside(here, "ip", "route", "add", "default", "via", away.split("/")[0])
        _inside(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        for place in (router, far):
            _inside(place, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit")
        for kind in ("udp", "icmp", "tcp"):
            if kind == "icmp":
                _inside(host, "sh", "-c", "echo '0 0' > /proc/sys/net/ipv4/ping_group_range")
            asked = (sys.executable, "-m", "cwndlab", "preflight", "10.77.2.2:9", "--count", "2", "--trace", kind)
            told = json.loads(_inside(host, *asked, "--format", "json"))
            hops = [(hop["hop"], hop["address"], hop["answered"]) for hop in told["route"]]
            assert hops == [(1, "10.77.1.1", 3), (2, "10.77.2.2", 3)], kind
            assert [(one["method"], one["answered"]) for one in told["rtt"]] == [("TCP, port 9", 2), ("ICMP echo", 2)]
            assert not [one for one in told["unknown"] if "oute" in one["what"]]
