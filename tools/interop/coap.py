"""CoAP over UDP: client and server of aiocoap."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from interop.case import TOOLS, Case, Stopwatch, options, python

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

PORT = 5683
#: Uri-Path of 1 + 7 bytes.
RESOURCE = "vitals1"
OPTIONS = 1 + len(RESOURCE)
#: Tokens of aiocoap are numbers without leading zeros, which begin at a random one of 16 bits.
TOKEN = 2


def serve(path: EmulatedPath, side: Side, _folder: Path, arguments: tuple[str, ...]) -> None:
    """Starts the server."""
    path.serve(side, [python(), "-m", "interop.coap", "serve", *arguments], env=os.environ | {"PYTHONPATH": TOOLS})


def case(name: str, *, count: int = 50, period_s: float = 0.5, size: int = 64, **changes: Any) -> Case:
    """Requests of a kind."""
    workload: dict[str, Any] = {
        "kind": "coap",
        "payload": f"{size} B",
        "period": f"{period_s} s",
        "count": count,
        "options": OPTIONS,
        "token": TOKEN,
    }
    workload |= changes
    words = {
        "method": workload.get("method", "post"),
        "confirmable": int(workload.get("confirmable", True)),
        "count": count,
        "period": period_s,
        "size": size,
        "processing": str(workload.get("processing", "0 s")).removesuffix(" s"),
    }
    arguments = tuple(f"{key}={value}" for key, value in words.items())
    observe = words["method"] == "observe"
    return Case(
        name=f"coap, {name}",
        workload=workload,
        module="interop.coap",
        arguments=arguments,
        serve=partial(serve, arguments=arguments),
        programs=("aiocoap",),
        port=PORT,
        transport="udp",
        client="sender" if words["method"] == "post" else "receiver",
        completion="answer" if observe else "client",
        message_bytes=size,
        computing="processing" not in workload and not observe,
    )


CASES = [
    case("POST, CON"),
    case("POST, NON", confirmable=False),
    case("POST, CON, separate response", processing="0.3 s"),
    case("POST, CON, blocks", size=4000, count=20),
    case("GET, CON", method="get"),
    case("GET, CON, blocks", method="get", size=4000, count=20),
    case("Observe", method="observe"),
]


async def server(words: dict[str, str]) -> None:
    """Answers POST and GET, and notifies."""
    import aiocoap
    from aiocoap import resource

    count, period_s, processing_s = int(words["count"]), float(words["period"]), float(words["processing"])

    class Vitals(resource.ObservableResource):  # type: ignore[misc]
        """The measurements."""

        tasks: ClassVar[set[Any]] = set()

        async def render_post(self, _request: Any) -> Any:
            if processing_s:
                await asyncio.sleep(processing_s)
            return aiocoap.Message(code=aiocoap.CHANGED)

        async def render_get(self, _request: Any) -> Any:
            return aiocoap.Message(payload=bytes(int(words["size"])))

        def update_observation_count(self, observers: int) -> None:
            if observers == 1:
                self.tasks.add(asyncio.get_running_loop().create_task(self.notify()))

        async def notify(self) -> None:
            """A notification each period."""
            begin = time.time() + period_s
            for number in range(count):
                await asyncio.sleep(max(0.0, begin + number * period_s - time.time()))
                self.updated_state()

    site = resource.Site()
    site.add_resource([RESOURCE], Vitals())
    await aiocoap.Context.create_server_context(site, bind=("0.0.0.0", PORT))
    await asyncio.get_running_loop().create_future()


async def client(addresses: list[str], words: dict[str, str]) -> None:
    """Requests from each server, and prints when each response was there."""
    import aiocoap
    from aiocoap.numbers.constants import TransportTuning

    class Unreliable(TransportTuning):  # type: ignore[misc]
        """Non-confirmable requests."""

        reliability = False

    count, size, period_s = int(words["count"]), int(words["size"]), float(words["period"])
    context = await aiocoap.Context.create_client_context()
    tuning = TransportTuning() if int(words["confirmable"]) else Unreliable()
    watch = Stopwatch()

    def request(address: str, code: Any, **fields: Any) -> Any:
        uri = f"coap://{address}/{RESOURCE}"
        return context.request(aiocoap.Message(code=code, uri=uri, transport_tuning=tuning, **fields))

    async def observe(address: str) -> None:
        registration = request(address, aiocoap.GET, observe=0)
        await registration.response
        received = 0
        async for _ in registration.observation:
            received += 1
            if received == count:
                return

    async def exchange(address: str, number: int) -> None:
        await asyncio.sleep(max(0.0, begin + number * period_s - time.time()))
        watch.start((address, number))
        if words["method"] == "post":
            outstanding = request(address, aiocoap.POST, payload=bytes(size))
        else:
            outstanding = request(address, aiocoap.GET)
        with suppress(aiocoap.error.TimeoutError):  # given up after the last timeout
            await outstanding.response
            watch.end((address, number))

    begin = time.time()
    if words["method"] == "observe":
        await asyncio.gather(*(observe(address) for address in addresses))
    else:
        await asyncio.gather(*(exchange(address, number) for address in addresses for number in range(count)))
    await asyncio.sleep(0.5)
    watch.write()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(server(options(sys.argv[2:])))
    else:
        asyncio.run(client(sys.argv[1].split(","), options(sys.argv[2:])))
