"""Downloads from web servers of others behind an emulated bottleneck: their congestion control at work, in a capture.

The client runs on the receivers' side of an emulated path. The senders' side forwards the client's connection to the
server: it has a pair of devices to this machine's network, and translates addresses (nft). The server is therefore the
sender, and the capture on the senders' side is one in the network, before the bottleneck.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from cwndlab.emulation import EmulatedPath, refuse_late
from cwndlab.errors import Fault, RunError
from cwndlab.live.foreign import ForeignServers
from cwndlab.scenario.like import ScenarioLike

__all__ = ["BOTTLENECK", "download_behind"]

#: A slow line whose queue holds a BDP: losses early and often, and few packets.
BOTTLENECK: dict[str, Any] = {
    "schema_version": 1,
    "title": "a bottleneck of one's own",
    "dumbbell": {"bottleneck": {"rate": "4 Mbps", "delay": "50 ms", "queue": {"capacity": "1 bdp"}}},
    "duration": "600 s",
    "flow": [{"algorithm": "cubic", "rtt": "100 ms"}],
}
#: Networks of devices under test (RFC 2544, appendix C.2.2), of which each process uses one with two hosts.
_NETWORKS = ipaddress.ip_network("198.18.0.0/15")
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
#: The lock of the process that has changed the forwarding of this machine.
_LOCK = Path("/run/cwndlab/forwarding.lock")
_PROGRAMS = {"ip": "iproute2", "nft": "nftables"}


def download_behind(
    url: str,
    capture: Path | str,
    *,
    scenario: ScenarioLike | None = None,
    size_bytes: int = 15_000_000,
    trust: str | None = None,
    timeout_s: float = 600.0,
    seed: int = 1,
    accept_late: bool = False,
    progress: Callable[[int], bool] = lambda _: True,
) -> dict[str, Any]:
    """Downloads the start of a file over an emulated path and captures the packets before its bottleneck. Takes Linux,
    root, and the programs ``ip`` and ``nft``. Forwarding of IPv4 is on for the time of the download, and a second
    download on this machine waits for the first.

    Parameters
    ----------
    url
        ``https://HOST[:PORT]/FILE`` of a server that offers ranges. One on this machine listens on all addresses.
    capture
        The file of the capture, which is replaced.
    scenario
        A scenario, of which the first flow is the route; `BOTTLENECK` by default. Its delays are in addition to those
        of the way to the server.
    size_bytes
        Size of the download, bytes.
    trust
        File of a certificate, or the fingerprint of the server's, in place of the system's authorities.
    timeout_s
        Longest time of the download, seconds.
    seed
        Seed of the path's random numbers.
    accept_late
        Accept that the path delivered packets late.
    progress
        Called with the bytes received so far; false ends the download.

    Returns
    -------
    The result of `cwndlab.live.foreign.ForeignServers.fetch`; its ``address`` is that of the server.

    Raises
    ------
    RunError
        Something is missing, the server does not answer as required, or the path delivered packets late.
    """
    _require_programs()
    servers = ForeignServers()
    servers.file(url, trust)
    with ExitStack() as stack:
        path = stack.enter_context(EmulatedPath(scenario or BOTTLENECK, seed=seed, algorithm="program"))
        stack.enter_context(path.capture("sender", capture))
        reached = ""

        def connect(addresses: Sequence[str], port: int, patience_s: float) -> socket.socket:
            address = next((one for one in addresses if ":" not in one), None)
            if address is None:
                raise RunError(Fault(url, "the server has no address of IPv4", "name another server"))
            nonlocal reached
            if not reached:  # else a busy server is asked again
                stack.enter_context(_uplink(path, address, port))
                reached = f"{address}:{port}"
            near = (path.address("sender"), port)
            return path.call("receiver", lambda: socket.create_connection(near, timeout=patience_s))

        result = servers.fetch(
            url, size_bytes=size_bytes, trust=trust, timeout_s=timeout_s, progress=progress, connect=connect
        )
    if not accept_late:
        refuse_late(path.timing)
    if result["ended"] == "failed":
        raise RunError(Fault(url, f"the download ended early ({result['why']})", "try again later"))
    return result | {"address": reached}


def _require_programs() -> None:
    if os.geteuid() != 0:
        raise RunError(Fault("URL", "a bottleneck of one's own needs root", "run it as root, or give a capture"))
    for program, package in _PROGRAMS.items():
        if shutil.which(program, path=_search()) is None:
            raise RunError(Fault("URL", f"it needs {program}", f"on Debian: apt-get install {package}"))


def _search() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _run(program: str, *arguments: str) -> None:
    """Runs a program in the namespace of the calling thread."""
    done = subprocess.run(
        [program, *arguments], env=os.environ | {"PATH": _search()}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        what = f"`{program} {' '.join(arguments)}` failed ({done.stderr.strip()})"
        raise RunError(Fault("URL", what, "does this kernel have veth and nf_tables?"))


@contextmanager
def _forwarding() -> Iterator[None]:
    """Forwards IPv4 between the devices of this machine. The setting is one for all processes: the next one waits, so
    that none finds that of another one, or restores it too early."""
    _LOCK.parent.mkdir(parents=True, exist_ok=True)
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = _FORWARDING.read_text()
        try:
            _FORWARDING.write_text("1")
            yield
        finally:
            _FORWARDING.write_text(before)


@contextmanager
def _uplink(path: EmulatedPath, server: str, port: int) -> Iterator[None]:
    """Connects the senders' side with this machine's network: connections to its address go to a server.

    The device on this side disappears with the namespace of the other one, at the end of the path; the translation of
    addresses and the forwarding of this machine end with the block.
    """
    device = f"cwnd{os.getpid()}"
    hosts = _hosts(os.getpid())
    if ipaddress.ip_address(server).is_loopback:
        server = hosts[0]  # the loopback device of a namespace is its own
    outward = f"chain out {{ type nat hook postrouting priority 100; ip saddr {hosts[1]} masquerade; }}"
    space = path.call("sender", lambda: os.open("/proc/thread-self/ns/net", os.O_RDONLY))
    try:
        there = f"/proc/{os.getpid()}/fd/{space}"
        _run("ip", "link", "add", device, "type", "veth", "peer", "name", "uplink", "netns", there)
        _run("ip", "address", "add", f"{hosts[0]}/30", "dev", device)
        _run("ip", "link", "set", device, "up")
        path.call("sender", lambda: _forward(hosts, path.address("sender"), server, port))
        _run("nft", f"table ip {device} {{ {outward}; }}")
        with _forwarding():
            yield
    finally:
        os.close(space)
        with suppress(RunError):
            _run("nft", "delete", "table", "ip", device)
        with suppress(RunError):
            _run("ip", "link", "delete", device)


def _hosts(number: int) -> tuple[str, str]:
    """This machine's address and that of the senders' side, for a process.

    >>> _hosts(1)
    ('198.18.0.5', '198.18.0.6')
    """
    base = _NETWORKS[4 * (number % (_NETWORKS.num_addresses // 4))]
    return str(base + 1), str(base + 2)


def _forward(hosts: tuple[str, str], near: str, server: str, port: int) -> None:
    """On the senders' side: connections to its own address become those to the server."""
    _run("ip", "address", "add", f"{hosts[1]}/30", "dev", "uplink")
    _run("ip", "link", "set", "uplink", "up")
    _run("ip", "route", "add", "default", "via", hosts[0])
    _FORWARDING.write_text("1")
    inward = (
        f"chain in {{ type nat hook prerouting priority -100; ip daddr {near} tcp dport {port} dnat to {server}; }}"
    )
    outward = "chain out { type nat hook postrouting priority 100; oifname uplink masquerade; }"
    _run("nft", f"table ip uplink {{ {inward}; {outward}; }}")
