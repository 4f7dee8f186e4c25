"""Deadlines and transfer times of MQTT over three paths: programs, the emulator's endpoints, the simulator."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import cwndlab
from cwndlab.emulation import EmulatedPath, emulate
from cwndlab.records import Records
from cwndlab.statistics import Estimate, estimate, pooled_share
from interop import mqtt
from interop.comparison import TOLERANCE
from interop.session import CUBIC, LATE_S, LIMIT_S, PIPED, captured, urgent
from interop.wire import delivery_times

COUNT = 400
PERIOD_S = 0.05
#: The messages begin when the other flow has filled its queue.
START_S = 4.0
REAL_RUNS = 3
SIMULATED_RUNS = 10
BULK = str(Path(__file__).resolve().parents[1] / "stacks" / "tcp.py")
BULK_PORT = 5001
#: More than the bulk flow sends in a run.
BULK_BYTES = 400_000_000

PATHS: dict[str, dict[str, Any]] = {
    "10 Mbit/s, 20 ms": {"rate": "10 Mbps", "rtt": "20 ms", "deadline_s": 0.012},
    "2 Mbit/s, 60 ms, 1 % loss in both directions": {
        "rate": "2 Mbps",
        "rtt": "60 ms",
        "loss": 0.01,
        "runs": 5,
        "deadline_s": 0.1,
    },
    "50 Mbit/s, 5 ms, beside a bulk flow in a queue of 16 BDP": {
        "rate": "50 Mbps",
        "rtt": "5 ms",
        "capacity": "16 bdp",
        "bulk": True,
        "deadline_s": 0.11,
    },
}


@dataclass
class Runs:
    """Several runs of one kind."""

    late: list[int] = field(default_factory=list)
    """Messages after their deadline, per run."""
    messages: list[int] = field(default_factory=list)
    mean_ms: list[float] = field(default_factory=list)
    """Mean time until the PUBACK."""
    p95_ms: list[float] = field(default_factory=list)

    def add(self, delays_s: Sequence[float | None], transfers_s: Sequence[float], deadline_s: float) -> None:
        """A run: the delay of each message, if it arrived, and the duration of each transfer."""
        self.late.append(sum(delay is None or delay > deadline_s for delay in delays_s))
        self.messages.append(len(delays_s))
        self.mean_ms.append(1e3 * fmean(transfers_s))
        self.p95_ms.append(1e3 * quantiles(transfers_s, n=100, method="inclusive")[94])

    def estimates(self) -> dict[str, Estimate]:
        """Share of late messages, mean and 95th percentile of the transfer times, over runs."""
        return {
            "late": pooled_share(self.late, self.messages),
            "mean_ms": estimate(self.mean_ms),
            "p95_ms": estimate(self.p95_ms),
        }


def agree(one: Estimate, other: Estimate) -> bool:
    """Whether the intervals overlap, or the means differ by less than the tolerance."""
    if abs(one.mean - other.mean) <= TOLERANCE * abs(other.mean):
        return True
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high


def scenario(path: dict[str, Any]) -> dict[str, Any]:
    """A path with the messages and, perhaps, a bulk flow."""
    link: dict[str, Any] = {"rate": path["rate"], "delay": "1 ms", "queue": {"capacity": path.get("capacity", "1 bdp")}}
    if "loss" in path:
        link["loss"] = {"kind": "bernoulli", "p": path["loss"]}
    workload = mqtt.workload(1, COUNT, PERIOD_S)
    service = {"class": "vitals", "deadline": f"{path['deadline_s']} s"}
    common = {"algorithm": CUBIC, "rtt": path["rtt"]}
    flows: list[dict[str, Any]] = [{**common, "workload": workload, "service": service, "start": f"{START_S} s"}]
    if path.get("bulk"):
        flows.append(common)
    duration = START_S + COUNT * PERIOD_S + 5
    return {
        "schema_version": 1,
        "duration": f"{duration} s",
        "dumbbell": {"bottleneck": link, "reverse": link} if "loss" in path else {"bottleneck": link},
        "flow": flows,
    }


def from_records(runs: Runs, records: Records, deadline_s: float) -> None:
    """Adds a run of the simulator or of the emulator's endpoints."""
    delays = [
        None if row["delivered_ns"] is None else (row["delivered_ns"] - row["generated_ns"]) / 1e9
        for row in records.rows("messages")
    ]
    transfers = [(row["end_ns"] - row["start_ns"]) / 1e9 for row in records.rows("transfers") if row["flow"] == 0]
    runs.add(delays, transfers, deadline_s)


def programs(runs: Runs, path: dict[str, Any], seed: int) -> None:
    """Adds a run of paho-mqtt and mosquitto."""
    with (
        urgent(),
        tempfile.TemporaryDirectory(prefix="cwndlab-interop-") as name,
        EmulatedPath(scenario(path), seed=seed, late_s=LATE_S) as between,
    ):
        mqtt.serve(between, "receiver", Path(name))
        if path.get("bulk"):
            address = between.address("receiver", 1)
            between.serve("receiver", [sys.executable, BULK, "receive", address, str(BULK_PORT)])
            command = ["send", address, str(BULK_PORT), "cubic", str(BULK_BYTES), "0"]
            between.popen("sender", [sys.executable, BULK, *command])
        time.sleep(START_S)
        with captured(between, Path(name), f"port {mqtt.PORT}") as packets:
            case = mqtt.case(1, COUNT, PERIOD_S)
            client = between.popen("sender", case.command(between.address("receiver")), **PIPED)
            out, _ = client.communicate(timeout=LIMIT_S)
            if client.returncode != 0:
                sys.exit("the client of MQTT failed")
    exchanges = json.loads(out)
    ends = [mqtt.CONNECT_BYTES + (number + 1) * mqtt.PUBLISH_BYTES for number in range(COUNT)]
    arrivals = delivery_times(packets["receiver"], ends)
    delays = [None if end is None else end - start for (start, _), end in zip(exchanges, arrivals, strict=True)]
    runs.add(delays, [end - start for start, end in exchanges], path["deadline_s"])


def own_time_ms() -> float:
    """The programs' own time per message: the mean time until the PUBACK over the loopback interface, whose delay is
    some hundredths of a millisecond."""
    with urgent(), tempfile.TemporaryDirectory(prefix="cwndlab-interop-") as name:
        broker = subprocess.Popen(mqtt.server(Path(name)))
        try:
            time.sleep(1)
            command = mqtt.case(1, COUNT, PERIOD_S).command("127.0.0.1")
            out = subprocess.run(command, **PIPED, check=True, timeout=LIMIT_S).stdout
        finally:
            broker.terminate()
            broker.wait()
    return 1e3 * fmean(end - start for start, end in json.loads(out))


def later(one: Estimate, by_ms: float) -> Estimate:
    """An estimate of a time, later by a constant."""
    moved = {name: value + by_ms for name in ("mean", "low", "high") if (value := getattr(one, name)) is not None}
    return replace(one, **moved)


def measure(path: dict[str, Any]) -> dict[str, Runs]:
    """The runs of all kinds over a path."""
    kinds = {"programs": Runs(), "emulated": Runs(), "simulated": Runs()}
    for seed in range(1, path.get("runs", REAL_RUNS) + 1):
        programs(kinds["programs"], path, seed)
        from_records(kinds["emulated"], emulate(scenario(path), seed=seed, late_s=LATE_S), path["deadline_s"])
    for seed in range(1, SIMULATED_RUNS + 1):
        from_records(kinds["simulated"], cwndlab.run(scenario(path), seed=seed), path["deadline_s"])
    return kinds


def row(name: str, path: dict[str, Any], own_ms: float) -> dict[str, Any]:
    """A row of the result. The simulator has no time of programs: theirs are compared with its own and ``own_ms``."""
    estimates = {kind: runs.estimates() for kind, runs in measure(path).items()}
    modelled = estimates["simulated"]
    with_own = {key: one if key == "late" else later(one, own_ms) for key, one in modelled.items()}
    agreement = {
        kind: {key: agree(estimates[kind][key], expected[key]) for key in ("late", "mean_ms", "p95_ms")}
        for kind, expected in (("programs", with_own), ("emulated", modelled))
    }
    values = {
        kind: {key: [one.mean, one.low, one.high] for key, one in of_kind.items()}
        for kind, of_kind in estimates.items()
    }
    shown = {"path": name, "deadline_ms": 1e3 * path["deadline_s"], "own_ms": own_ms}
    return shown | {"agree": agreement, "values": values}
