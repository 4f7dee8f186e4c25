"""Random paths by seed, and their scenarios in the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

#: Kinds of paths, in turn: half of them lose packets only by a full queue.
KINDS = ("plain", "loss", "plain", "reordering")
#: The kernel's algorithms and the simulator's names for them, as in known-answers/kernel/paths.toml.
ALGORITHMS = {"reno": "reno(abc=1, base=cwnd)+standard/rack", "cubic": "cubic-linux+hystart-linux/rack", "bbr": "bbr1"}

#: A packet at the routers, bytes, and its header of Ethernet, which netem's rate includes.
PACKET = 1500
ETHERNET = 14

#: Initial receive buffer of the kernels, bytes; the buffers limit no window.
RECEIVE_BUFFER = 8 << 20
BUFFERS = {f"net.ipv4.tcp_{name}": f"4096 {RECEIVE_BUFFER} {64 << 20}" for name in ("rmem", "wmem")}


@dataclass(frozen=True)
class Path:
    """A path: a queue with a rate, behind it delay, loss or reordering; a delay for the ACKs."""

    name: str
    kind: str
    rate_mbps: float
    #: Without queueing, and with the mean of the random delay, ms.
    rtt_ms: float
    #: Capacity of the queue, the packet in transmission included, packets.
    queue: int
    #: Probability of a random loss.
    loss: float = 0.0
    #: Half of the range of the random delay, by which packets overtake each other, ms.
    spread_ms: int = 0

    def scenario(self, algorithm: str, seconds: float) -> dict[str, Any]:
        """The scenario of a transfer of ``seconds`` with the kernel's ``algorithm``, in the shape of its TOML.

        The kernel's TCP builds bursts also where segmentation offload is off (`sk_setup_caps`); the host's device
        divides them into segments. The simulator's queue does not count the packet in transmission. Each seed varies
        what is below measurement, as the repetitions of the virtual Linux do.
        """
        one_way_ms = self.rtt_ms / 2 - self.spread_ms
        link: dict[str, Any] = {
            "rate": f"{self.rate_mbps * PACKET / (PACKET + ETHERNET):.6f} Mbps",
            "delay": f"{one_way_ms:g} ms",
            "queue": {"capacity": f"{max(1, self.queue - 1)} packets"},
        }
        if self.loss:
            link["loss"] = {"kind": "bernoulli", "p": self.loss}
        reverse: dict[str, Any] = {"rate": "none"}
        if self.spread_ms:
            link["jitter"] = {"spread": f"{2 * self.spread_ms} ms", "reorder": True}
            reverse["jitter"] = {"spread": "0 ms"}  # else it has that of the bottleneck
        return {
            "schema_version": 1,
            "title": f"{self.name} {algorithm}",
            "duration": f"{seconds:g} s",
            "sample_interval": "100 ms",
            "perturb": True,
            "dumbbell": {"bottleneck": link, "reverse": reverse},
            "flow": [
                {
                    "algorithm": ALGORITHMS[algorithm],
                    "rtt": f"{self.rtt_ms - self.spread_ms:g} ms",
                    "profile": "linux",
                    "stack": {
                        "initial_receive_window": f"{RECEIVE_BUFFER // 2} B",  # tcp_adv_win_scale = 1: half
                        "rto_granularity": "1 ms",  # HZ = 1000
                    },
                }
            ],
        }

    def hosted(self, algorithm: str, seconds: float, settings: dict[str, str]) -> dict[str, Any]:
        """The same scenario with two kernels in place of the flow; ``settings`` are of both."""
        document = self.scenario(algorithm, seconds)
        options = ",".join(f"{name}={value}" for name, value in {**BUFFERS, **settings}.items())
        workload = {"kind": "hosted", "stack": "linux", "controller": algorithm}
        workload |= {"options": options, "peer_options": options}
        return document | {
            "flow": [{"transport": "udp", "rtt": document["flow"][0]["rtt"], "workload": workload}],
        }


def random_path(seed: int, index: int) -> Path:
    """The path number ``index`` of a seed: 1.4 to 32 Mbit/s, 13 to 158 ms, a queue of 0.3 to 3 BDP."""
    draw = Random(f"virtual Linux {seed} {index}")
    rate_mbps = round(2 ** draw.uniform(0.5, 5), 2)
    rtt_ms = round(10 ** draw.uniform(1.1, 2.2))
    bdp = rate_mbps * 1e3 * rtt_ms / (8 * PACKET)
    queue = max(2, round(bdp * draw.choice((0.3, 0.6, 1, 1.5, 3))))
    loss, spread = draw.choice((0.0005, 0.002, 0.01)), max(1, round(rtt_ms * draw.choice((0.05, 0.15, 0.3))))
    kind = KINDS[index % len(KINDS)]
    return Path(
        name=f"{seed}-{index}",
        kind=kind,
        rate_mbps=rate_mbps,
        rtt_ms=rtt_ms,
        queue=queue,
        loss=loss if kind == "loss" else 0.0,
        spread_ms=spread if kind == "reordering" else 0,
    )
