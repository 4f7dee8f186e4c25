"""Retransmissions of CoAP over a path that loses packets: aiocoap and the workload."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import cwndlab
from cwndlab.emulation import EmulatedPath
from interop import coap
from interop.comparison import Timeouts, timeouts
from interop.session import LATE_S, LIMIT_S, PIPED, captured, urgent
from interop.wire import Packet, copies, simulated

FLOWS = 20
CASE = coap.case("loss", count=10, period_s=8.0)
RTT = "60 ms"
RATE = "10 Mbps"
#: Probability of a loss in each direction.
LOSS = 0.2


def scenario() -> dict[str, Any]:
    """The path, with a flow for each server."""
    link = {"rate": RATE, "delay": "2 ms", "loss": {"kind": "bernoulli", "p": LOSS}}
    flow = {"rtt": RTT, "transport": "udp", "workload": CASE.workload, "count": FLOWS}
    return {
        "schema_version": 1,
        "duration": "10 min",
        "dumbbell": {"bottleneck": link, "reverse": link},
        "flow": [flow],
    }


def by_flow(packets: list[Packet]) -> Timeouts:
    """The timeouts of all flows."""
    numbers = sorted({packet.flow for packet in packets})
    return timeouts([one for flow in numbers for one in copies(p for p in packets if p.flow == flow)])


def real() -> Timeouts:
    """A run of aiocoap: one client, and a server at the address of each flow."""
    with (
        urgent(),
        tempfile.TemporaryDirectory(prefix="cwndlab-interop-") as name,
        EmulatedPath(scenario(), seed=1, late_s=LATE_S) as path,
    ):
        CASE.serve(path, CASE.server, Path(name))
        addresses = ",".join(path.address(CASE.server, flow) for flow in range(FLOWS))
        with captured(path, Path(name), f"port {CASE.port}") as packets:
            client = path.popen(CASE.client, CASE.command(addresses), **PIPED)
            client.communicate(timeout=LIMIT_S)
            if client.returncode != 0:
                sys.exit("coap, loss: the client failed")
    return by_flow(packets["sender"])


def modelled() -> Timeouts:
    """A run of the simulator."""
    records = cwndlab.run(scenario() | {"packets": True}, seed=1)
    return by_flow(simulated(records.rows("links"), records.rows("packets")))
