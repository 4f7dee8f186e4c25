"""MQTT 3.1.1: paho-mqtt publishes to mosquitto."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from interop.case import Case, Stopwatch, options

if TYPE_CHECKING:
    from cwndlab.emulation import EmulatedPath, Side

PORT = 1883
TOPIC = "ward/3/bed/12/vitals"
CLIENT = "cwndlab-interop-monitor"
PAYLOAD = 200
#: MQTT 3.1.1, 3.1: fixed header 2, variable header 10, length 2.
CONNECT_BYTES = 14 + len(CLIENT)
#: With QoS 1 (3.3): fixed header 3, lengths of the topic 2 and of the identifier 2.
PUBLISH_BYTES = 7 + len(TOPIC) + PAYLOAD


def server(folder: Path) -> list[str]:
    """The command that starts mosquitto, whose configuration is in a folder."""
    lines = [f"listener {PORT} 0.0.0.0", "allow_anonymous true", "set_tcp_nodelay true", "user root", "log_dest none"]
    lines += ["max_inflight_messages 0", "max_queued_messages 0", "persistence false"]
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["mosquitto", "-c", str(folder / "mosquitto.conf")]


def serve(path: EmulatedPath, side: Side, folder: Path) -> None:
    """Starts mosquitto."""
    path.serve(side, server(folder))


def workload(qos: int, count: int, period_s: float) -> dict[str, Any]:
    """Messages with a quality of service. paho-mqtt leaves Nagle's algorithm on, and mosquitto's is off."""
    return {
        "kind": "mqtt",
        "qos": qos,
        "payload": f"{PAYLOAD} B",
        "period": f"{period_s} s",
        "count": count,
        "topic": len(TOPIC),
        "client": len(CLIENT),
        "nagle": True,
        "broker_nagle": False,
    }


def case(qos: int, count: int = 50, period_s: float = 0.4) -> Case:
    """A client that publishes so many messages."""
    return Case(
        name=f"mqtt, QoS {qos}",
        workload=workload(qos, count, period_s),
        module="interop.mqtt",
        arguments=(f"qos={qos}", f"count={count}", f"period={period_s}"),
        serve=serve,
        programs=("paho-mqtt", "mosquitto"),
        port=PORT,
        completion="client" if qos else "arrival",
        message_bytes=PAYLOAD,
    )


CASES = [case(0), case(1), case(2)]


def client(address: str, qos: int, count: int, period_s: float) -> None:
    """Publishes, and prints when each message was acknowledged."""
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    connected, finished = Event(), Event()
    sensor = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=CLIENT)
    sensor.on_connect = lambda *_: connected.set()
    sensor.max_inflight_messages_set(0)
    watch = Stopwatch()

    def on_publish(_client: object, _data: object, mid: int, *_: object) -> None:
        watch.end(mid)
        if watch.ended == count:
            finished.set()

    sensor.on_publish = on_publish
    sensor.connect(address, PORT, keepalive=60)
    sensor.loop_start()
    connected.wait(10)
    begin = time.time()
    for number in range(count):
        time.sleep(max(0.0, begin + number * period_s - time.time()))
        # paho counts message identifiers from 1; with QoS 0 it calls `on_publish` before `publish` returns.
        watch.start(number + 1)
        sensor.publish(TOPIC, bytes(PAYLOAD), qos=qos)
    finished.wait(60)
    watch.write()
    time.sleep(0.5)
    os._exit(0)  # without a DISCONNECT, which the workload does not have


if __name__ == "__main__":
    arguments = options(sys.argv[2:])
    client(sys.argv[1], int(arguments["qos"]), int(arguments["count"]), float(arguments["period"]))
