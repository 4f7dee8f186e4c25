"""The program within the virtual Linux, its first process: hosts, routers and transfers.

It takes the standard library alone, and of that few modules: each import takes system calls, which are slow there.

``guest.py run JOB`` builds the path that the file ``JOB`` describes and makes its transfers one after another::

    a ── p ══ q ── b    p → q: netem with the rate, whose limit is the queue, the packet in transmission included
                        q → b: netem with delay, loss, and a random delay by which packets overtake each other
                        p → a: netem with the delay of the ACKs

Each result is a line of standard output: ``@`` and a JSON object. Neighbours are static, since ARP would take a round
trip before the first segment, and segmentation offload is off, since a queue would count a packet of 64 kB as one.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from typing import Any

#: Links between the namespaces: device and address at either end.
LINKS = (("a", "10.1.0.1", "p", "10.1.0.2"), ("p", "10.3.0.1", "q", "10.3.0.2"), ("q", "10.2.0.2", "b", "10.2.0.1"))
ROUTES = (
    ("a", "default", "10.1.0.2"),
    ("b", "default", "10.2.0.2"),
    ("p", "10.2.0.0/24", "10.3.0.2"),
    ("q", "10.1.0.0/24", "10.3.0.1"),
)
#: The receiver.
RECEIVER = ("10.2.0.1", 5000)
#: Packets that a delay may hold.
DELAYED = 100_000
#: Initial and largest socket buffers, bytes: they limit no window.
BUFFERS = (8 << 20, 64 << 20)
#: Time between two samples of TCP_INFO, and between two transfers, s.
SAMPLE_S = 0.1
PAUSE_S = 3.0

#: linux/tcp.h: offsets in struct tcp_info of the smoothed RTT, the retransmissions and the acknowledged bytes.
TCP_CONGESTION, TCP_INFO = 13, 11
SRTT, RETRANSMISSIONS, ACKED = 68, 100, 120
#: linux/reboot.h: LINUX_REBOOT_CMD_POWER_OFF.
POWER_OFF = 0x4321FEDC


def call(*command: str, text: str | None = None) -> None:
    """Runs a command, whose failure ends the program with its message."""
    subprocess.run(command, input=text, text=True, check=True)


def build(path: dict[str, Any]) -> None:
    """The namespaces with their links, addresses, routes and queues."""
    call("ip", "-batch", "-", text="".join(f"netns add {name}\n" for name in "apqb"))
    ends = [end for left, at, right, to in LINKS for end in ((left, right, at, to), (right, left, to, at))]
    macs = {(near, far): f"02:00:00:00:00:{number:02x}" for number, (near, far, _, _) in enumerate(ends)}
    call(
        *("ip", "-batch", "-"),
        text="".join(
            f"link add {left}{right} netns {left} address {macs[left, right]} type veth "
            f"peer name {right}{left} netns {right} address {macs[right, left]}\n"
            for left, _, right, _ in LINKS
        ),
    )
    for name in "apqb":
        lines = ["link set lo up"]
        for near, far, address, other in ends:
            if near == name:
                lines += [f"addr add {address}/24 dev {near}{far}", f"link set {near}{far} up"]
                lines += [f"neigh add {other} lladdr {macs[far, near]} dev {near}{far} nud permanent"]
        lines += [f"route add {prefix} via {gateway}" for at, prefix, gateway in ROUTES if at == name]
        call("ip", "-n", name, "-batch", "-", text="\n".join(lines) + "\n")
        for near, far, _, _ in ends:
            if near == name:
                within(name, "ethtool", "-K", f"{near}{far}", "tso", "off", "gso", "off", "gro", "off", quiet=True)
    for router in "pq":
        setting(router, "net/ipv4/ip_forward", "1")
    for host in "ab":
        buffers = f"4096 {BUFFERS[0]} {BUFFERS[1]}"
        for name, value in (("tcp_no_metrics_save", "1"), ("tcp_rmem", buffers), ("tcp_wmem", buffers)):
            setting(host, f"net/ipv4/{name}", value)
        for name, value in path.get("settings", {}).items():
            setting(host, name.replace(".", "/"), str(value))
    one_way = f"{path['rtt_ms'] / 2}ms"
    spread = f" {path['spread_ms']}ms" if path["spread_ms"] else ""
    loss = f" loss {100 * path['loss']}%" if path["loss"] else ""
    for router, device, netem in (
        ("p", "pq", f"rate {path['rate_mbps']}mbit limit {path['queue']}"),
        ("q", "qb", f"delay {one_way}{spread}{loss} limit {DELAYED}"),
        ("p", "pa", f"delay {one_way} limit {DELAYED}"),
    ):
        call("tc", "-n", router, "-batch", "-", text=f"qdisc add dev {device} root netem {netem}\n")


def within(name: str, *command: str, quiet: bool = False) -> None:
    """Runs a command within a namespace."""
    out = subprocess.DEVNULL if quiet else None
    subprocess.run(["ip", "netns", "exec", name, *command], check=True, stdout=out, stderr=out)


def setting(name: str, key: str, value: str) -> None:
    """Writes a kernel setting of a namespace."""
    within(name, "sh", "-c", 'echo "$2" > "/proc/sys/$1"', "sh", key, value)


def info(connection: socket.socket) -> tuple[int, int, int]:
    """Smoothed RTT (us), retransmissions, and acknowledged bytes of a connection."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256)
    (srtt,), (sent_again,) = struct.unpack_from("<I", raw, SRTT), struct.unpack_from("<I", raw, RETRANSMISSIONS)
    return srtt, sent_again, struct.unpack_from("<Q", raw, ACKED)[0]


def send(algorithm: str, seconds: float) -> None:
    """Sends for ``seconds`` with a congestion control, and prints what the connection reports."""
    payload, srtt_us = bytes(1 << 16), []
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, algorithm.encode())
        start = time.monotonic()
        connection.connect(RECEIVER)
        connection.setblocking(False)
        due = start + SAMPLE_S
        while (now := time.monotonic()) < start + seconds:
            if now >= due:
                srtt_us.append(info(connection)[0])
                due += SAMPLE_S
            # Within the kernel's virtual time only a wait lets time pass.
            if select.select([], [connection], [], min(due, start + seconds) - now)[1]:
                connection.send(payload)
        passed = time.monotonic() - start
        _, retransmissions, acked = info(connection)
        # A reset: the data in the send buffer must not disturb the next transfer.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    report(
        algorithm=algorithm,
        goodput_bps=round(8 * acked / passed),
        mean_srtt_s=round(sum(srtt_us) / len(srtt_us) / 1e6, 7),
        retransmissions=retransmissions,
    )


def receive() -> None:
    """Accepts one connection after another, and discards their data."""
    with socket.socket() as listener:
        listener.bind(RECEIVER)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    while connection.recv(1 << 18):
                        pass
                except ConnectionError:
                    pass


def report(**values: Any) -> None:
    """Prints a result."""
    sys.stdout.write(f"@{json.dumps(values)}\n")
    sys.stdout.flush()


def run(file: str) -> None:
    """Runs the job of a file."""
    with open(file, encoding="utf-8") as text:  # noqa: PTH123
        job = json.load(text)
    program = [sys.executable, *("-S", "-E", "-B"), os.path.abspath(__file__)]  # noqa: PTH100
    build(job["path"])
    with subprocess.Popen(["ip", "netns", "exec", "b", *program, "receive"]) as receiver:
        time.sleep(0.5)
        for algorithm in job["algorithms"]:
            within("a", *program, "send", algorithm, str(job["seconds"]))
            time.sleep(PAUSE_S)
        receiver.kill()
    report(done=os.uname().release)


def main() -> None:
    """As the first process: mounts what the programs need, runs the job, and powers off."""
    if sys.argv[1] == "send":
        send(sys.argv[2], float(sys.argv[3]))
    elif sys.argv[1] == "receive":
        receive()
    else:
        os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        try:
            for kind, at in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
                call("mount", "-t", kind, kind, at)
            os.mkdir("/run/netns")  # noqa: PTH102
            run(sys.argv[2])
        except Exception as error:  # the message is all that the outside sees
            report(error=str(error))
        os.sync()
        ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    main()
