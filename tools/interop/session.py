"""A case over a path: its programs over the emulator, captured on both sides, and its workload in the simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import cwndlab
from cwndlab.emulation import EmulatedPath, Side
from interop.case import TOOLS, Case
from interop.comparison import Measured, measured
from interop.wire import FIELDS, Packet, answers, association, computing, one_way, parse, simulated

LIMIT_S = 300.0
PIPED: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | {"PYTHONPATH": TOOLS}}
#: Time for the last delayed ACKs and frames.
REST_S = 0.5
#: The kernel's CUBIC, as the simulator names it.
CUBIC = "cubic-linux+hystart-linux"
#: Deliveries of the path may be later than usual: a program that is late on a busy machine is later.
LATE_S = 0.01


def scenario(case: Case, path: Mapping[str, Any]) -> dict[str, Any]:
    """The path of a case, with its workload."""
    # The kernel's ACKs leave on answers.
    tcp = {"algorithm": CUBIC, "stack": {"piggyback": True}}
    transport = {"transport": "udp"} if case.transport == "udp" else tcp
    return {
        "schema_version": 1,
        "duration": "10 min",
        "dumbbell": {"bottleneck": {"rate": path["rate"], "delay": "2 ms", "queue": {"capacity": "4 bdp"}}},
        "flow": [{"rtt": path["rtt"], "workload": case.workload, **transport}],
    }


@contextmanager
def urgent() -> Iterator[None]:
    """Gives the programs that are started in the block a real-time priority, below that of the path's thread."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def captured(path: EmulatedPath, folder: Path, expression: str) -> Iterator[dict[Side, list[Packet]]]:
    """Captures the packets of both sides; they are in the dictionary after the block."""
    sides: tuple[Side, ...] = ("sender", "receiver")
    files = {side: folder / f"{side}.pcapng" for side in sides}
    command = ["dumpcap", "-q", "-i", "path0", "-s", "120", "-f", expression, "-w"]
    programs = [path.popen(side, [*command, str(files[side])], stderr=subprocess.DEVNULL) for side in sides]
    until = time.monotonic() + 10
    while not all(file.exists() for file in files.values()) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(REST_S)
    packets: dict[Side, list[Packet]] = {}
    try:
        yield packets
    finally:
        time.sleep(REST_S)
        for program in programs:
            program.terminate()
            program.wait()
    for side in sides:
        packets[side] = parse(decoded(files[side]))


def decoded(file: Path) -> list[str]:
    """The fields of a capture's packets."""
    command = ["tshark", "-r", str(file), "-n", "-T", "fields", *(word for name in FIELDS for word in ("-e", name))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def real(case: Case, path: Mapping[str, Any]) -> tuple[Measured, dict[str, float]]:
    """A run of the programs of a case, and the time that they spend in an exchange and in the set-up, ms."""
    with (
        urgent(),
        tempfile.TemporaryDirectory(prefix="cwndlab-interop-") as name,
        EmulatedPath(scenario(case, path), seed=1, late_s=LATE_S) as between,
    ):
        folder = Path(name)
        case.serve(between, case.server, folder)
        with captured(between, folder, f"port {case.port}") as packets:
            client = between.popen(case.client, case.command(between.address(case.server)), **PIPED)
            out, _ = client.communicate(timeout=LIMIT_S)
            if client.returncode != 0:
                sys.exit(f"{case.name}: the client failed")
    near, by_sender = packets["sender"], case.client == "sender"
    ends = packets[case.client], packets[case.server]
    match case.completion:
        case "client":
            exchanges = [(start, end) for start, end in json.loads(out)]
        case "arrival":
            exchanges = one_way(near, packets["receiver"], case.message_bytes)
        case "answer":
            exchanges = answers(near, case.message_bytes)
        case "association":
            exchanges = [association(near, case.message_bytes)]
    result = measured(near, exchanges, by_sender=by_sender)
    spent: dict[str, float] = {}
    if case.computing:
        by_client = case.completion == "client"
        each = computing(*ends, exchanges, by_sender=by_sender, measured=by_client)
        spent["exchange_ms"] = 1e3 * median(each)
    if result.set_up_ms is not None:
        begin = min(start for start, _ in exchanges)
        whole = [(begin - result.set_up_ms / 1e3, begin)]
        parts = computing(*ends, whole, by_sender=by_sender, measured=False, to_last=True)
        spent["set_up_ms"] = 1e3 * parts[0]
    return result, spent


def modelled(case: Case, path: Mapping[str, Any]) -> Measured:
    """A run of the simulator."""
    records = cwndlab.run(scenario(case, path) | {"packets": True}, seed=1)
    exchanges = [(one["start_ns"] / 1e9, one["end_ns"] / 1e9) for one in records.rows("transfers")]
    packets = simulated(records.rows("links"), records.rows("packets"))
    return measured(packets, exchanges, by_sender=case.client == "sender")
