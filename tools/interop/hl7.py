"""HL7 version 2 over MLLP: client and server of the package hl7."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interop.case import TOOLS, Case, Stopwatch, options, python

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

PORT = 2575
MESSAGE = 1200
ACK = 150
PERIOD_S = 0.2
COUNT = 50
HEAD = "MSH|^~\\&|MONITOR|WARD3|EHR|CLINIC|20240101120000||ORU^R01|{number:08d}|P|2.5\rNTE|1||"


def padded(text: str, size: int) -> str:
    """Text of this size, which ends with a carriage return, as segments do."""
    return text.ljust(size - 1, "x") + "\r"


def serve(path: EmulatedPath, side: Side, folder: Path) -> None:
    """Starts the server; ``folder`` is not used."""
    path.serve(side, [python(), "-m", "interop.hl7", "serve"], env=os.environ | {"PYTHONPATH": TOOLS})


async def server() -> None:
    """Acknowledges each message."""
    from hl7.mllp import start_hl7_server

    async def answer(reader: Any, writer: Any) -> None:
        while True:
            try:
                message = await reader.readmessage()
            except asyncio.IncompleteReadError:
                return
            text = str(message.create_ack())
            writer.writeblock(padded(text + "NTE|1||", ACK).encode())
            await writer.drain()

    async with await start_hl7_server(answer, port=PORT) as listening:
        await listening.serve_forever()


async def client(address: str, count: int, period_s: float) -> None:
    """Sends messages, and prints when each was acknowledged."""
    from hl7.mllp import open_hl7_connection

    watch = Stopwatch()
    begin = time.time()
    connection: tuple[Any, Any] | None = None
    for number in range(count):
        await asyncio.sleep(max(0.0, begin + number * period_s - time.time()))
        watch.start(number)
        if connection is None:
            connection = await open_hl7_connection(address, PORT)
        reader, writer = connection
        writer.writeblock(padded(HEAD.format(number=number), MESSAGE).encode())
        await reader.readblock()
        watch.end(number)
    await asyncio.sleep(0.5)
    watch.write()
    os._exit(0)


CASES = [
    Case(
        name="hl7",
        workload={
            "kind": "hl7",
            "message": f"{MESSAGE} B",
            "ack": f"{ACK} B",
            "period": f"{PERIOD_S} s",
            "count": COUNT,
        },
        module="interop.hl7",
        arguments=(f"count={COUNT}", f"period={PERIOD_S}"),
        serve=serve,
        programs=("hl7",),
        port=PORT,
    )
]

if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(server())
    else:
        arguments = options(sys.argv[2:])
        asyncio.run(client(sys.argv[1], int(arguments["count"]), float(arguments["period"])))
