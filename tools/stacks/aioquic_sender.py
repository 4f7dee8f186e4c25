"""aioquic as the sender of a transfer; the log is its own qlog.

aioquic_sender.py ADDRESS:PORT CERTIFICATE ALGORITHM BYTES PAUSES LOG
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from aioquic.asyncio import connect
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicLogger

#: What the program keeps in the sender's buffer, bytes.
BUFFER = 1 << 20


async def transfer(address: str, certificate: str, algorithm: str, size: int, pauses: int) -> QuicLogger:
    """Sends ``size`` bytes, in parts with pauses of a second between them."""
    host, port = address.rsplit(":", 1)
    logger = QuicLogger()
    configuration = QuicConfiguration(
        alpn_protocols=["cwndlab-audit"],
        server_name="localhost",
        congestion_control_algorithm=algorithm,
        quic_logger=logger,
        max_datagram_size=1472,
    )
    configuration.load_verify_locations(certificate)
    async with connect(host, int(port), configuration=configuration) as protocol:
        reader, writer = await protocol.create_stream()
        for number in range(pauses + 1):
            await asyncio.sleep(1.0 if number else 0.0)
            left = size // (pauses + 1)
            while left > 0:
                writer.write(bytes(min(left, BUFFER)))
                left -= min(left, BUFFER)
        writer.write_eof()
        await reader.read()
    return logger


def main() -> None:
    """Reads the arguments and writes the log."""
    address, certificate, algorithm, size, pauses, log = sys.argv[1:]
    logger = asyncio.run(transfer(address, certificate, algorithm, int(size), int(pauses)))
    Path(log).write_text(json.dumps(logger.to_dict()), encoding="utf-8")


if __name__ == "__main__":
    main()
