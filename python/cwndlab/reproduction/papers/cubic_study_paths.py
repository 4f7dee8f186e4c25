"""Paths of the CUBIC study, all with the stack of ns-2's senders: initial window 2 and one ACK per segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

#: Where the ten sources of the wireless side send to: to hosts on the wire, or to other mobile nodes.
Sinks: TypeAlias = Literal["wire", "mobile"]
#: Whom a mobile node receives, and so defers to: all others; those on its side of the base station; those, and all
#: reserve the channel by RTS and CTS, which both sides receive.
Hearing: TypeAlias = Literal["all", "one side", "one side, RTS"]

_NOTHING: Mapping[str, Any] = {}
_REVERSE = 10


def sender(
    algorithm: str, own: Mapping[str, Any], *, stack: Mapping[str, Any] = _NOTHING, mss: str = "", ack_every: int = 1
) -> dict[str, Any]:
    """Algorithm, profile and stack; ``own`` is the variant's, ``stack`` that of all."""
    size = {"mss": mss} if mss else {}
    stacked = {"initial_window": 2, "ack_every": ack_every, **size, **own, **stack}
    return {"algorithm": algorithm, "profile": "ns2", "stack": stacked}


def one_loss(algorithm: str, duration_s: float) -> dict[str, Any]:
    """Figures 1 and 2: one flow on a line that no window here fills, and one packet that is lost."""
    lost = {"kind": "list", "indices": [3000], "counts": "payload"}
    bottleneck = {"rate": "2 Gbps", "delay": "10 ms", "queue": {"capacity": "unlimited"}, "loss": lost}
    return {
        "schema_version": 1,
        "title": f"growth of {algorithm}",
        "duration": f"{duration_s} s",
        # ACKs come in one clump per round trip: samples between would see stairs, not slopes.
        "sample_interval": "0.1 s",
        "dumbbell": {"bottleneck": bottleneck},
        "flow": [{"algorithm": algorithm, "rtt": "0.1 s"} | sender(algorithm, {})],
    }


def slow_link(
    algorithm: str,
    own: Mapping[str, Any],
    *,
    reverse: int,
    duration_s: float,
    rate: str = "2 Mbps",
    access: str = "1 Gbps",
    rtt_ms: float = 100.0,
    buffer: str = "1 bdp(100 ms)",
    title: str = "",
    backward: Mapping[str, Any] = _NOTHING,
    **stack: Any,
) -> dict[str, Any]:
    """Figure 6: one flow over 2 Mbit/s, or another rate, and ``reverse`` ones in the other direction; ``backward`` is
    their algorithm, where it is another one."""
    forward = sender(algorithm, own, **stack)
    other = sender(**backward, **stack) if backward else forward
    flows = [{"name": "forward0", "direction": "forward", **forward}]
    flows += [{"name": f"reverse{n}", "direction": "reverse", **other} for n in range(reverse)]
    return {
        "schema_version": 1,
        "title": title,
        "duration": f"{duration_s} s",
        "start_jitter": "1 s",
        "dumbbell": {
            "bottleneck": {"rate": rate, "delay": f"{rtt_ms / 4:g} ms", "queue": {"capacity": buffer}},
            "access": {"rate": access},
        },
        "flow": [{"rtt": f"{rtt_ms:g} ms", **one} for one in flows],
    }


def many_flows(variant: str, algorithm: str, own: Mapping[str, Any], flows: int, duration_s: float) -> dict[str, Any]:
    """Figure 8: flows over 10 Gbit/s whose RTTs are spread evenly over 20 to 200 ms, and ten in the other direction."""
    made = [(f"forward{n}", "forward", rtt) for n, rtt in enumerate(_spread(flows))]
    made += [(f"reverse{n}", "reverse", rtt) for n, rtt in enumerate(_spread(_REVERSE))]
    sending = sender(algorithm, own)
    return {
        "schema_version": 1,
        "title": f"cubic-study fig9, {variant}, {flows} flows",
        "duration": f"{duration_s} s",
        "sample_interval": "1 s",
        "start_jitter": "rtt",
        "dumbbell": {
            "bottleneck": {"rate": "10 Gbps", "delay": "5 ms", "queue": {"capacity": "0.2 bdp"}},
        },
        "flow": [
            {"name": name, "direction": way, "algorithm": algorithm, "rtt": f"{rtt:.6g} ms"} | sending
            for name, way, rtt in made
        ],
    }


def _spread(count: int) -> Sequence[float]:
    low, high = 20.0, 200.0
    return [low + (high - low) * number / (count - 1) for number in range(count)]


def cell(
    algorithm: str,
    own: Mapping[str, Any],
    *,
    downloads: int,
    uploads: int = 10,
    sinks: Sinks = "wire",
    duration_s: float,
    rtt_ms: float = 50.0,
    queue: str = "100 packets",
    medium: Mapping[str, Any] = _NOTHING,
    title: str = "",
    **stack: Any,
) -> dict[str, Any]:
    """Figure 10: downloads from the wire, and senders on the wireless side; ``medium`` has fields of the medium."""
    sending = sender(algorithm, own, **stack)
    document: dict[str, Any] = {
        "schema_version": 1,
        "title": title,
        "duration": f"{duration_s} s",
        "sample_interval": "1 s",
        "start_jitter": "1 s",
    }
    air = {"standard": "802.11g", "rate": "54 Mbps", **medium}
    down, up = ([f"{way}{n}" for n in range(many)] for way, many in (("down", downloads), ("up", uploads)))
    if sinks == "wire":
        ways = [(name, "download") for name in down] + [(name, "upload") for name in up]
        flows = [{"name": name, "direction": way, "rtt": f"{rtt_ms:g} ms", **sending} for name, way in ways]
        return document | {
            "wlan": {**air, "queue": {"capacity": queue}, "wire": {"rate": "1 Gbps"}},
            "flow": flows,
        }
    peers = {name: f"sink{number}" for number, name in enumerate(up)}
    mobile = [*down, *up, *peers.values()]
    wire = {"from": "server", "to": "ap", "rate": "1 Gbps", "delay": f"{rtt_ms / 2:g} ms"}
    air_links = [{"from": "ap", "to": name, "medium": "cell", "queue": {"capacity": queue}} for name in mobile]
    return document | {
        "node": [{"name": name} for name in ("server", "ap", *mobile)],
        "medium": [{"name": "cell", **air}],
        "link": [wire | {"queue": {"capacity": "unlimited"}}, *air_links],
        "flow": [
            *({"name": name, "from": "server", "to": name, **sending} for name in down),
            *({"name": name, "from": name, "to": peer, **sending} for name, peer in peers.items()),
        ],
    }


def hidden_cell(
    algorithm: str,
    own: Mapping[str, Any],
    *,
    hears: Hearing,
    downloads: int,
    uploads: int = 10,
    duration_s: float,
    rtt_ms: float = 50.0,
    queue: str = "100 packets",
    title: str = "",
) -> dict[str, Any]:
    """The cell of Figure 10 with every second node on either side of the base station. 200 m apart they receive each
    other at -93 dBm (log-distance, exponent 3), which nobody detects; all receive the base station at -60 dBm, which
    54 Mbit/s allows. With ``"all"`` the nodes are on one side, the rest is equal."""
    sending = sender(algorithm, own)
    down, up = ([f"{way}{number}" for number in range(many)] for way, many in (("down", downloads), ("up", uploads)))
    mobile = [*down, *up]
    sides = [1 if hears == "all" else (-1) ** number for number in (*range(downloads), *range(uploads))]
    medium = {"name": "cell", "standard": "802.11g", "rate": "54 Mbps", "access_point": "ap", "channel": 1}
    wire = {"from": "server", "to": "ap", "rate": "1 Gbps", "delay": f"{rtt_ms / 2:g} ms"}
    return {
        "schema_version": 1,
        "title": title,
        "duration": f"{duration_s} s",
        "sample_interval": "1 s",
        "start_jitter": "1 s",
        "node": [
            {"name": "server"},
            {"name": "ap", "position": [0, 0]},
            *({"name": name, "position": [100 * side, 0]} for name, side in zip(mobile, sides, strict=True)),
        ],
        "medium": [medium | ({"rts_above": "500 B"} if hears == "one side, RTS" else {})],
        "received": [{"from": "ap", "to": name, "dbm": -60} for name in mobile],
        "link": [
            wire | {"queue": {"capacity": "unlimited"}},
            *({"from": "ap", "to": name, "medium": "cell", "queue": {"capacity": queue}} for name in mobile),
        ],
        "flow": [
            *({"name": name, "from": "server", "to": name, **sending} for name in down),
            *({"name": name, "from": name, "to": "server", **sending} for name in up),
        ],
    }
