"""Captures of the kernel's TCP over an emulated path, at the sender and at the receiver (Linux, as root).

`captured` sends with a congestion control of the kernel for some seconds and writes both captures as pcap files.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread

from cwndlab.emulation import EmulatedPath, Side, refuse_late
from cwndlab.scenario import Scenario

__all__ = ["available", "captured"]

#: The emulator's device on each side, and all protocols (if_ether.h, ETH_P_ALL).
_DEVICE, _ALL = "path0", 0x0003
#: asm-generic/socket.h: SO_TIMESTAMPNS_OLD, a struct timespec for each packet.
_SO_TIMESTAMPNS = 35
_PORT = 5001
#: Length of a captured packet: the headers with all options.
_SNAP = 128
#: pcap with nanoseconds (draft-ietf-opsawg-pcap), link type LINKTYPE_RAW: packets begin with the IP header.
_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, _SNAP, 101)


def available() -> list[str]:
    """The congestion controls that the kernel has now."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@contextmanager
def _capture(path: EmulatedPath, side: Side, file: Path) -> Iterator[None]:
    """Writes the packets of a side's device while the block runs."""

    def opened() -> socket.socket:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
        tap.bind((_DEVICE, _ALL))
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        tap.settimeout(0.2)
        return tap

    running = True

    def write(tap: socket.socket) -> None:
        with tap, file.open("wb") as out:
            out.write(_HEADER)
            while running:
                try:
                    data, control, _, _ = tap.recvmsg(_SNAP, 64)
                except TimeoutError:
                    continue
                seconds, fraction = struct.unpack("qq", control[0][2][:16])
                out.write(
                    struct.pack("<IIII", seconds, fraction, len(data), struct.unpack_from(">H", data, 2)[0]) + data
                )

    tap = path.call(side, opened)
    thread = Thread(target=write, args=(tap,))
    thread.start()
    try:
        yield
    finally:
        running = False
        thread.join()


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
            _capture(path, "sender", files["senders"]),
            _capture(path, "receiver", files["receivers"]),
        ):
            receiving = Thread(target=_receive, args=(listening,))
            receiving.start()
            with path.call("sender", connected) as connection:
                _send(connection, duration_s)
            receiving.join()
    refuse_late(path.timing)
    return files
