"""AMQP 1.0: Qpid Proton sends messages to RabbitMQ."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interop.case import Case, Stopwatch, options

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

PORT = 5672
PAYLOAD = 500
PERIOD_S = 0.2
COUNT = 50
LISTEN_S = 60.0


def serve(path: EmulatedPath, side: Side, folder: Path) -> None:
    """Starts RabbitMQ with its plug-in for AMQP 1.0."""
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.default = {PORT}\nloopback_users = none\ntcp_listen_options.nodelay = true\n", encoding="utf-8"
    )
    (folder / "plugins").write_text("[rabbitmq_amqp1_0].\n", encoding="utf-8")
    places = {"CONFIG_FILE": "rabbitmq", "MNESIA_BASE": "data", "LOG_BASE": "log", "ENABLED_PLUGINS_FILE": "plugins"}
    environment = {f"RABBITMQ_{name}": str(folder / place) for name, place in places.items()}
    environment |= {"RABBITMQ_NODENAME": "interop@localhost", "HOME": str(folder)}
    with (folder / "output").open("w") as output:
        path.popen(
            side, ["/usr/lib/rabbitmq/bin/rabbitmq-server"], env=os.environ | environment, stdout=output, stderr=output
        )
    until = time.monotonic() + LISTEN_S
    while ("tcp", PORT) not in path.ports(side):
        if time.monotonic() > until:
            sys.exit(f"rabbitmq-server does not listen: {(folder / 'output').read_text(encoding='utf-8')}")
        time.sleep(0.2)


def case(settlement: str) -> Case:
    """Messages with a settlement."""
    workload = {
        "kind": "amqp",
        "settlement": settlement,
        "payload": f"{PAYLOAD} B",
        "period": f"{PERIOD_S} s",
        "count": COUNT,
        "idle_timeout": "0 s",
        # The frames of Proton and RabbitMQ, and a credit that is not used up.
        "credit": 1000,
        "transfer": "37 B",
        "disposition": "25 B",
        # RabbitMQ's writes of the set-up.
        "separate_writes": True,
    }
    return Case(
        name=f"amqp, {settlement}",
        workload=workload,
        module="interop.amqp",
        arguments=(f"settlement={settlement}", f"count={COUNT}", f"period={PERIOD_S}"),
        serve=serve,
        programs=("python-qpid-proton", "rabbitmq-server"),
        port=PORT,
        completion="client" if settlement == "first" else "arrival",
        message_bytes=PAYLOAD,
    )


CASES = [case("first"), case("settled")]


def client(address: str, settlement: str, count: int, period_s: float) -> None:
    """Sends messages, and prints when each was settled."""
    from proton import Message
    from proton.handlers import MessagingHandler
    from proton.reactor import AtLeastOnce, AtMostOnce, Container

    watch = Stopwatch()

    class Sender(MessagingHandler):  # type: ignore[misc]
        """A message each period, from the first credit on."""

        sent = 0
        begin = 0.0

        def on_start(self, event: Any) -> None:
            self.container = event.container
            self.container.container_id = "cwndlab-interop-monitor"
            connection = self.container.connect(
                f"amqp://guest:guest@{address}:{PORT}", allowed_mechs="PLAIN", heartbeat=None, reconnect=False
            )
            option = AtLeastOnce() if settlement == "first" else AtMostOnce()
            self.link = self.container.create_sender(connection, "/queue/vitals", options=option)

        def on_sendable(self, _event: Any) -> None:
            if not self.begin:
                self.begin = time.time()
                self.on_timer_task(None)

        def on_timer_task(self, _event: Any) -> None:
            self.sent += 1
            delivery = self.link.send(Message(body=bytes(PAYLOAD)))
            watch.start(delivery.tag)
            if settlement == "settled":
                watch.end(delivery.tag)
                self.finish()
            if self.sent < count:
                due = self.begin + self.sent * period_s
                self.container.schedule(max(0.0, due - time.time()), self)

        def on_accepted(self, event: Any) -> None:
            watch.end(event.delivery.tag)
            self.finish()

        def finish(self) -> None:
            if watch.ended == count:
                self.container.schedule(0.5, Exit())

    class Exit(MessagingHandler):  # type: ignore[misc]
        """Ends the program without the frames that close the connection."""

        def on_timer_task(self, _event: Any) -> None:
            watch.write()
            os._exit(0)

    Container(Sender()).run()


if __name__ == "__main__":
    arguments = options(sys.argv[2:])
    client(sys.argv[1], arguments["settlement"], int(arguments["count"]), float(arguments["period"]))
