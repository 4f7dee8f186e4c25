"""MQTT sensors and a subscriber to all of them; prints the delays and losses of their messages as JSON.

Runs at one endpoint of an emulated path (`run.py` starts it). Each sensor is a client with a separate connection; every
second sensor publishes with QoS 1, the others with QoS 0. All clients run in this process and use one clock: the delay
of a message is the time from the publishing call until the subscriber has received it. When all clients are connected,
the program prints a line; after the next line on standard input the sensors begin to publish.
"""

import argparse
import asyncio
import json
import socket
import sys
import time

from aiomqtt import Client


class Site:
    """The messages of all sensors, with their delays in seconds."""

    def __init__(self):
        self.sent = {0: 0, 1: 0}
        self.delays = {0: [], 1: []}
        self.duplicates = 0
        self.acknowledged = []
        self.received = set()

    def on_message(self, payload):
        now = time.monotonic()
        sensor, number, qos, sent = payload.split(b" ", 4)[:4]
        if (sensor, number) in self.received:
            self.duplicates += 1  # QoS 1 delivers at least once
            return
        self.received.add((sensor, number))
        self.delays[int(qos)].append(now - float(sent))


async def subscribe(client, site):
    await client.subscribe("site/+", qos=1)
    async for message in client.messages:
        site.on_message(message.payload)


async def publish(client, index, site, options, start):
    """Publishes a message per period until the end of the measurement. Each sensor has a different phase."""
    qos = index % 2
    loop = asyncio.get_running_loop()
    for number in range(round(options.seconds / options.period)):
        due = start + (number + index / options.clients) * options.period
        await asyncio.sleep(max(0.0, due - loop.time()))
        sent = time.monotonic()
        site.sent[qos] += 1
        payload = f"{index} {number} {qos} {sent:.6f} ".encode().ljust(options.size, b".")
        await client.publish(f"site/{index}", payload, qos=qos, timeout=options.timeout)  # QoS 1 waits for the PUBACK
        if qos:
            site.acknowledged.append(time.monotonic() - sent)


async def measure(options):
    site = Site()
    nodelay = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]  # a message does not wait for the ACK of the previous one
    settings = {"timeout": options.timeout, "max_queued_outgoing_messages": 0, "socket_options": nodelay}
    async with asyncio.TaskGroup() as group, Client(options.broker, options.port, **settings) as subscriber:
        subscription = group.create_task(subscribe(subscriber, site))
        clients = [Client(options.broker, options.port, **settings) for _ in range(options.clients)]
        await asyncio.gather(*(client.__aenter__() for client in clients))
        sys.stdout.write("connected\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        start = asyncio.get_running_loop().time() + 0.1
        await asyncio.gather(*(publish(client, n, site, options, start) for n, client in enumerate(clients)))
        deadline = time.monotonic() + options.timeout
        while len(site.received) < sum(site.sent.values()) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        subscription.cancel()
        await asyncio.gather(*(client.__aexit__(None, None, None) for client in clients))
    result = {"sent": site.sent, "delays": site.delays, "acknowledged": site.acknowledged}
    sys.stdout.write(json.dumps(result | {"duplicates": site.duplicates}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("broker")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--clients", type=int, default=200, help="number of sensors")
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of the measurement")
    parser.add_argument("--period", type=float, default=1.0, help="interval of a sensor's messages, s")
    parser.add_argument("--size", type=int, default=200, help="size of a message, bytes")
    parser.add_argument("--timeout", type=float, default=10.0, help="maximum time of a message, s")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
