"""MQTT sensors and one who listens to all of them; prints what became of their messages, as JSON.

Runs at one end of an emulated path (`run.py` starts it). Each sensor is a client with a connection of its own; every
second one publishes with QoS 1, the others with QoS 0. All live in this process, hence on one clock: the delay of a
message is the time from the call that publishes it until the listener has it. Once everybody is connected a line says
so, and the line that then comes on standard input begins the publishing.
"""

import argparse
import asyncio
import json
import socket
import sys
import time

from aiomqtt import Client


class Site:
    """Every message's fate, in seconds of one clock."""

    def __init__(self):
        self.sent = {0: 0, 1: 0}
        self.delays = {0: [], 1: []}
        self.doubles = 0
        self.acknowledged = []
        self.seen = set()

    def arrived(self, payload):
        now = time.monotonic()
        sensor, number, qos, sent = payload.split(b" ", 4)[:4]
        if (sensor, number) in self.seen:
            self.doubles += 1  # QoS 1 means at least once
            return
        self.seen.add((sensor, number))
        self.delays[int(qos)].append(now - float(sent))


async def listen(client, site):
    await client.subscribe("site/+", qos=1)
    async for message in client.messages:
        site.arrived(message.payload)


async def sensor(client, index, site, asked, start):
    """Publishes every period, out of step with the others, until the time is over."""
    qos = index % 2
    loop = asyncio.get_running_loop()
    for number in range(round(asked.seconds / asked.period)):
        due = start + (number + index / asked.clients) * asked.period
        await asyncio.sleep(max(0.0, due - loop.time()))
        sent = time.monotonic()
        site.sent[qos] += 1
        payload = f"{index} {number} {qos} {sent:.6f} ".encode().ljust(asked.size, b".")
        await client.publish(f"site/{index}", payload, qos=qos, timeout=asked.patience)  # QoS 1 waits for the PUBACK
        if qos:
            site.acknowledged.append(time.monotonic() - sent)


async def work(asked):
    site = Site()
    nodelay = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]  # a message does not wait for the ACK of the one before
    options = {"timeout": asked.patience, "max_queued_outgoing_messages": 0, "socket_options": nodelay}
    async with asyncio.TaskGroup() as group, Client(asked.broker, asked.port, **options) as ear:
        listening = group.create_task(listen(ear, site))
        clients = [Client(asked.broker, asked.port, **options) for _ in range(asked.clients)]
        await asyncio.gather(*(client.__aenter__() for client in clients))
        sys.stdout.write("connected\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        start = asyncio.get_running_loop().time() + 0.1
        await asyncio.gather(*(sensor(one, n, site, asked, start) for n, one in enumerate(clients)))
        until = time.monotonic() + asked.patience
        while len(site.seen) < sum(site.sent.values()) and time.monotonic() < until:
            await asyncio.sleep(0.05)
        listening.cancel()
        await asyncio.gather(*(client.__aexit__(None, None, None) for client in clients))
    fates = {"sent": site.sent, "delays": site.delays, "acknowledged": site.acknowledged, "doubles": site.doubles}
    sys.stdout.write(json.dumps(fates))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("broker")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--period", type=float, default=1.0, help="seconds between two messages of a sensor")
    parser.add_argument("--size", type=int, default=200, help="bytes of a message")
    parser.add_argument("--patience", type=float, default=10.0, help="seconds that a message may take")
    asyncio.run(work(parser.parse_args()))


if __name__ == "__main__":
    main()
