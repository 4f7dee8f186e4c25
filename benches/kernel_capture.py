"""Captures of the kernel's TCP over an emulated path, at the sender and at the receiver (Linux, as root).

`captured` sends with a congestion control of the kernel for some seconds and writes both captures as pcap files.
"""

from __future__ import annotations

import socket
import struct
import time
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread

from cwndlab.emulation import EmulatedPath, refuse_late
from cwndlab.scenario import Scenario

__all__ = ["available", "captured"]

_PORT = 5001


def available() -> list[str]:
    """The congestion controls that the kernel has now."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def _receive(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection, suppress(ConnectionError):
        while connection.recv(1 << 16):
            pass


def _send(connection: socket.socket, duration_s: float) -> None:
    """Sends for a time, then drops the data that is unsent."""
    connection.settimeout(1.0)
    until = time.monotonic() + duration_s
    data = bytes(1 << 14)
    while time.monotonic() < until:
        with suppress(TimeoutError):
            connection.send(data)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def captured(scenario: Scenario, control: str, *, duration_s: float, seed: int, folder: Path) -> dict[str, Path]:
    """Captures at the senders and at the receivers of one connection, by the names that exports have for the places.

    Raises ``RunError`` if the path delivered packets late.
    """
    files = {"senders": folder / "senders.pcap", "receivers": folder / "receivers.pcap"}
    with EmulatedPath(scenario, seed=seed, algorithm="program") as path:
        address = (path.address("receiver"), _PORT)

        def connected() -> socket.socket:
            connection = socket.socket()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            connection.connect(address)
            return connection

        with (
            closing(path.call("receiver", lambda: socket.create_server(address))) as listening,
            path.capture("sender", files["senders"]),
            path.capture("receiver", files["receivers"]),
        ):
            receiving = Thread(target=_receive, args=(listening,))
            receiving.start()
            with path.call("sender", connected) as connection:
                _send(connection, duration_s)
            receiving.join()
    refuse_late(path.timing)
    return files
