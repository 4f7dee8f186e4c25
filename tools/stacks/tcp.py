"""The kernel's TCP as the sender of a transfer, and its receiver.

tcp.py receive ADDRESS PORT
tcp.py send ADDRESS PORT ALGORITHM BYTES PAUSES
"""

from __future__ import annotations

import socket
import sys
import time


def receive(address: str, port: int) -> None:
    """Reads all connections to their end, and answers each with a byte."""
    with socket.create_server((address, port)) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                while connection.recv(1 << 18):
                    pass
                connection.sendall(b".")


def send(address: str, port: int, algorithm: str, size: int, pauses: int) -> None:
    """Sends ``size`` bytes, in parts with pauses of a second between them."""
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
        connection.connect((address, port))
        for number in range(pauses + 1):
            time.sleep(1.0 if number else 0.0)
            connection.sendall(bytes(size // (pauses + 1)))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def main() -> None:
    """Reads the arguments."""
    match sys.argv[1:]:
        case ["receive", address, port]:
            receive(address, int(port))
        case ["send", address, port, algorithm, size, pauses]:
            send(address, int(port), algorithm, int(size), int(pauses))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
