"""XMPP: slixmpp sends message stanzas to prosody."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from interop.case import Case, Stopwatch, options

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

PORT = 5222
HOST = "interop.test"
PAYLOAD = 200
PERIOD_S = 0.2
COUNT = 50
ACK_EVERY = 5
CONFIGURATION = """
daemonize = false
run_as_root = true
pidfile = "{folder}/prosody.pid"
data_path = "{folder}"
interfaces = {{ "0.0.0.0" }}
c2s_ports = {{ {port} }}
modules_enabled = {{ "roster", "saslauth", "disco", "offline", "smacks", "ping" }}
modules_disabled = {{ "s2s", "tls" }}
c2s_require_encryption = false
authentication = "internal_hashed"
log = {{ warn = "{folder}/log" }}
VirtualHost "{host}"
"""


def serve(path: EmulatedPath, side: Side, folder: Path) -> None:
    """Starts prosody with two accounts."""
    file = folder / "prosody.cfg.lua"
    file.write_text(CONFIGURATION.format(folder=folder, port=PORT, host=HOST), encoding="utf-8")
    for name in ("monitor", "station"):
        command = ["prosodyctl", "--root", "--config", str(file), "register", name, HOST, "secret"]
        subprocess.run(command, check=True, capture_output=True)
    path.serve(side, ["prosody", "--root", "--config", str(file), "-F"])


def client(address: str, count: int, period_s: float) -> None:
    """Logs in and sends messages."""
    import slixmpp

    watch = Stopwatch()
    sender = slixmpp.ClientXMPP(f"monitor@{HOST}/bed12", "secret")
    sender.enable_starttls = sender.enable_direct_tls = False
    sender.enable_plaintext = True
    sender.plugin["feature_mechanisms"].unencrypted_scram = True
    sender.register_plugin("xep_0198", {"window": ACK_EVERY, "allow_resume": False})

    async def send(_event: object) -> None:
        begin = time.time()
        for number in range(count):
            await asyncio.sleep(max(0.0, begin + number * period_s - time.time()))
            watch.start(number)
            sender.send_message(mto=f"station@{HOST}", mbody="x" * PAYLOAD, mtype="chat")
            watch.end(number)
        await asyncio.sleep(1.0)
        watch.write()
        os._exit(0)

    sender.add_event_handler("session_start", send)
    sender.connect(address, PORT)
    asyncio.get_event_loop().run_forever()


CASES = [
    Case(
        name="xmpp",
        workload={
            "kind": "xmpp",
            "payload": f"{PAYLOAD} B",
            "period": f"{PERIOD_S} s",
            "count": COUNT,
            "ack_every": ACK_EVERY,
            # Sizes of slixmpp's and prosody's elements.
            "stanza": "122 B",
            "stream": "131 B",
            "features": "494 B",
            "sasl": "156 B",
            "bind": "145 B",
        },
        module="interop.xmpp",
        arguments=(f"count={COUNT}", f"period={PERIOD_S}"),
        serve=serve,
        programs=("slixmpp", "prosody"),
        port=PORT,
        completion="arrival",
        message_bytes=PAYLOAD,
    )
]

if __name__ == "__main__":
    arguments = options(sys.argv[2:])
    client(sys.argv[1], int(arguments["count"]), float(arguments["period"]))
