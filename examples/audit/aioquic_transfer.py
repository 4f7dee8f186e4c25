"""Sends a file with aioquic through a slow, lossy path on loopback, and writes the server's qlog.

    pip install aioquic
    python examples/audit/aioquic_transfer.py --algorithm cubic --out logs
    cwndlab audit logs/*.qlog --as cubic+standard

The path is a UDP relay in this process: a line of a given rate with a drop-tail queue, a constant delay, and random
loss in the direction of the data. aioquic needs real time: the transfer takes about as long as its size over the rate.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicFileLogger
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

ALPN = ["cwndlab-audit"]


class Sender(QuicConnectionProtocol):
    """A server that answers a request, a number of bytes, with as many. A negative number asks for pauses."""

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived) and event.end_stream:
            size, pauses = map(int, event.data.split())
            self._pauses = asyncio.ensure_future(self.send(event.stream_id, size, pauses))

    async def send(self, stream: int, size: int, pauses: int) -> None:
        """Sends ``size`` bytes, in parts with pauses of a second between them."""
        part = size // (pauses + 1)
        for number in range(pauses + 1):
            self._quic.send_stream_data(stream, bytes(part), end_stream=number == pauses)
            self.transmit()
            await asyncio.sleep(1.0 if number < pauses else 0.0)


class Receiver(QuicConnectionProtocol):
    """A client that counts what it receives."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.received = 0
        self.ended = asyncio.Event()

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived):
            self.received += len(event.data)
            if event.end_stream:
                self.ended.set()


class Relay(asyncio.DatagramProtocol):
    """The path. Datagrams of the server cross a line with a queue; both directions have a delay."""

    def __init__(self, server: tuple[str, int], options: argparse.Namespace) -> None:
        self.server, self.options = server, options
        self.client: tuple[str, int] | None = None
        self.random = random.Random(options.seed)
        self.free_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.loop = asyncio.get_running_loop()

    def datagram_received(self, data: bytes, address: Any) -> None:
        now, delay = self.loop.time(), self.options.rtt_ms / 2e3
        if address[:2] != self.server:
            self.client = address
            self.loop.call_later(delay, self.transport.sendto, data, self.server)
            return
        if self.random.random() < self.options.loss:
            return
        start = max(now, self.free_at)
        if (start - now) * self.options.rate_mbps * 1e6 / 8 > self.options.queue_bytes:
            return
        self.free_at = start + len(data) * 8 / (self.options.rate_mbps * 1e6)
        self.loop.call_later(self.free_at - now + delay, self.transport.sendto, data, self.client)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "certificate.pem", folder / "key.pem"


async def transfer(options: argparse.Namespace, folder: Path) -> int:
    """Runs server, relay and client; returns the number of bytes received."""
    files = certificate(folder)
    options.out.mkdir(parents=True, exist_ok=True)
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=ALPN,
        congestion_control_algorithm=options.algorithm,
        quic_logger=QuicFileLogger(str(options.out)),
    )
    configuration.load_cert_chain(*files)
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Sender)
    address = server._transport.get_extra_info("sockname")[:2]
    loop = asyncio.get_running_loop()
    relay, _ = await loop.create_datagram_endpoint(lambda: Relay(address, options), local_addr=("127.0.0.1", 0))
    port = relay.get_extra_info("sockname")[1]
    client = QuicConfiguration(alpn_protocols=ALPN, server_name="localhost", max_data=1 << 30, max_stream_data=1 << 30)
    client.load_verify_locations(str(files[0]))
    async with connect("127.0.0.1", port, configuration=client, create_protocol=Receiver) as protocol:
        assert isinstance(protocol, Receiver)
        stream = protocol._quic.get_next_available_stream_id()
        protocol._quic.send_stream_data(stream, b"%d %d" % (options.size, options.pauses), end_stream=True)
        protocol.transmit()
        await asyncio.wait_for(protocol.ended.wait(), options.timeout_s)
    # aioquic writes the log when the connection has ended, three probe timeouts after its close (RFC 9000, 10.2).
    while not list(options.out.glob("*.qlog")):
        await asyncio.sleep(0.1)
    server.close()
    relay.close()
    return protocol.received


def main() -> None:
    """Reads the options and runs the transfer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithm", default="cubic", choices=["reno", "cubic"])
    parser.add_argument("--out", type=Path, default=Path("logs"), help="folder of the qlog files")
    parser.add_argument("--size", type=int, default=6_000_000, help="bytes")
    parser.add_argument("--pauses", type=int, default=0, help="pauses of a second in the data")
    parser.add_argument("--rate-mbps", type=float, default=8.0)
    parser.add_argument("--rtt-ms", type=float, default=60.0)
    parser.add_argument("--queue-bytes", type=int, default=60_000)
    parser.add_argument("--loss", type=float, default=0.001, help="probability of random loss")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout-s", type=float, default=120.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        received = asyncio.run(transfer(options, Path(folder)))
    sys.stdout.write(f"{received} bytes received; qlog in {options.out}\n")


if __name__ == "__main__":
    main()
