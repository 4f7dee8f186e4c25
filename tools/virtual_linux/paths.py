"""Random paths by seed, and their scenarios in the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

#: Kinds of paths, in turn.
KINDS = ("plain", "loss", "reordering", "marks", "ack-loss", "settings")
#: The kernel's algorithms and the simulator's names for them, as in known-answers/kernel/paths.toml.
ALGORITHMS = {"reno": "reno(abc=1, base=cwnd)+standard/rack", "cubic": "cubic-linux+hystart-linux/rack", "bbr": "bbr1"}

#: A packet at the routers, bytes.
PACKET = 1500

#: Initial receive buffer of the kernels, bytes; the buffers limit no window.
RECEIVE_BUFFER = 8 << 20
BUFFERS = {f"net.ipv4.tcp_{name}": f"4096 {RECEIVE_BUFFER} {64 << 20}" for name in ("rmem", "wmem")}

#: Queues that mark, by name; `{n}` is a sixth of the capacity, packets.
MARKING: dict[str, dict[str, Any]] = {
    "step-ecn": {"kind": "step-ecn", "mark_above": "{n}"},
    "codel": {"kind": "codel", "ecn": True},
    "pie": {"kind": "pie", "ecn": True},
}
#: Settings of both hosts (ip-sysctl.rst of the kernel) and the fields of the simulator's stack that mean the same.
SETTINGS: dict[str, dict[str, Any]] = {
    "tcp_timestamps=0": {"timestamps": False, "mss": "1460 B", "header": "40 B", "ack": "40 B"},
    "tcp_sack=0": {"sack": False},
    "tcp_dsack=0": {"dsack": False},
    "tcp_early_retrans=0": {"tail_loss_probe": False},
    "tcp_comp_sack_nr=0": {"sack_compression": 0},
}


@dataclass(frozen=True)
class Path:
    """A path: a queue with a rate, behind it delay, loss or reordering; a delay for the ACKs, or losses of them."""

    name: str
    kind: str
    rate_mbps: float
    #: Without queueing, and with the mean of the random delay, ms.
    rtt_ms: float
    #: Capacity of the queue, packets.
    queue: int
    #: Probability of a random loss.
    loss: float = 0.0
    #: Half of the range of the random delay, by which packets overtake each other, ms.
    spread_ms: int = 0
    #: Probability that an ACK is lost.
    ack_loss: float = 0.0
    #: A queue that marks, of `MARKING`; both hosts have classic ECN then.
    marking: str = ""
    #: A setting of both hosts, of `SETTINGS`.
    setting: str = ""

    def scenario(self, algorithm: str, seconds: float) -> dict[str, Any]:
        """The scenario of a transfer of ``seconds`` with the kernel's ``algorithm``, in the shape of its TOML.

        The kernel's TCP builds bursts also where segmentation offload is off (`sk_setup_caps`); the host's device
        divides them into segments. Each seed varies what is below measurement.
        """
        link: dict[str, Any] = {
            "rate": f"{self.rate_mbps:g} Mbps",
            "delay": f"{self.rtt_ms / 2 - self.spread_ms:g} ms",
            "queue": self._queue(),
        }
        if self.loss:
            link["loss"] = {"kind": "bernoulli", "p": self.loss}
        reverse: dict[str, Any] = {"rate": "none"}
        if self.ack_loss:
            reverse["loss"] = {"kind": "bernoulli", "p": self.ack_loss}
        if self.spread_ms:
            link["jitter"] = {"spread": f"{2 * self.spread_ms} ms", "reorder": True}
            reverse["jitter"] = {"spread": "0 ms"}  # else it has that of the bottleneck
        stack: dict[str, Any] = {
            "initial_receive_window": f"{RECEIVE_BUFFER // 2} B",  # tcp_adv_win_scale = 1: half
            "rto_granularity": "1 ms",  # HZ = 1000
        }
        if self.marking:
            stack["ecn"] = "classic"
        if self.setting:
            stack |= SETTINGS[self.setting]
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
                    "stack": stack,
                }
            ],
        }

    def _queue(self) -> dict[str, Any]:
        queue = {"capacity": f"{self.queue} packets"} | MARKING.get(self.marking, {})
        if "mark_above" in queue:
            queue["mark_above"] = max(1, self.queue // 6)
        return queue

    def hosted(self, algorithm: str, seconds: float, settings: dict[str, str]) -> dict[str, Any]:
        """The same scenario with two kernels in place of the flow; ``settings`` are of both."""
        document = self.scenario(algorithm, seconds)
        own = {"net.ipv4.tcp_ecn": "1"} if self.marking else {}
        if self.setting:
            name, _, value = self.setting.partition("=")
            own[f"net.ipv4.{name}"] = value
        options = ",".join(f"{name}={value}" for name, value in {**BUFFERS, **own, **settings}.items())
        workload = {"kind": "hosted", "stack": "linux", "controller": algorithm}
        workload |= {"options": options, "peer_options": options}
        return document | {
            "flow": [{"transport": "udp", "rtt": document["flow"][0]["rtt"], "workload": workload}],
        }

    def text(self) -> str:
        """The path in words: its name, kind, rate, RTT, queue and what else it has."""
        about = f"{self.name} {self.kind} {self.rate_mbps:g} Mbit/s {self.rtt_ms} ms {self.queue} packets"
        about += f" loss {self.loss:g}" if self.loss else ""
        about += f" ±{self.spread_ms} ms" if self.spread_ms else ""
        about += f" ACKs lost {self.ack_loss:g}" if self.ack_loss else ""
        return about + "".join(f" {word}" for word in (self.marking, self.setting) if word)


def random_path(seed: int, index: int) -> Path:
    """The path number ``index`` of a seed: 1.4 to 64 Mbit/s, 13 to 158 ms, a queue of 0.3 to 3 BDP.

    A path of kind `settings` has one of `SETTINGS`, and random losses, reordering, or neither.
    """
    draw = Random(f"Linux in virtual time {seed} {index}")
    rate_mbps = round(2 ** draw.uniform(0.5, 6), 2)
    rtt_ms = round(10 ** draw.uniform(1.1, 2.2))
    bdp = rate_mbps * 1e3 * rtt_ms / (8 * PACKET)
    queue = max(2, round(bdp * draw.choice((0.3, 0.6, 1, 1.5, 3))))
    loss, spread = draw.choice((0.0005, 0.002, 0.01)), max(1, round(rtt_ms * draw.choice((0.05, 0.15, 0.3))))
    ack_loss, marking = draw.choice((0.01, 0.1, 0.3)), draw.choice(list(MARKING))
    setting, beside = draw.choice(list(SETTINGS)), draw.choice(("plain", "loss", "reordering"))
    kind = KINDS[index % len(KINDS)]
    impaired = beside if kind == "settings" else kind
    return Path(
        name=f"{seed}-{index}",
        kind=kind,
        rate_mbps=rate_mbps,
        rtt_ms=rtt_ms,
        queue=queue,
        loss=loss if impaired == "loss" else 0.0,
        spread_ms=spread if impaired == "reordering" else 0,
        ack_loss=ack_loss if kind == "ack-loss" else 0.0,
        marking=marking if kind == "marks" else "",
        setting=setting if kind == "settings" else "",
    )
