"""Paths of the IoT paper.

Source: section 4: DropTail with 50 packets. The bottleneck of 1.5 Mbit/s is that of Figures 3 and 9, the access links
of 1 Mbit/s are those of Figure 3 (section 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

#: An algorithm and its stack.
Chosen: TypeAlias = "tuple[str, Mapping[str, str]]"

#: The start of TCP flows beside background, which starts within the first second.
FIRST_S = 3.0
#: Every flow starts up to so much later.
JITTER_S = 1.0
#: What background consists of: at a constant rate, at that of video, or half of each.
Mix: TypeAlias = Literal["half", "cbr", "vbr"]
#: The packet that routers stamp: the SYN-ACK, as Algorithm 1 has it, or the SYN.
Stamped: TypeAlias = Literal["syn-ack", "syn"]


def flow(chosen: Chosen, rtt_ms: float, count: int = 1, *, start_s: float = 0.0) -> dict[str, Any]:
    """FTP flows."""
    algorithm, stack = chosen
    return {
        "algorithm": algorithm,
        "rtt": f"{rtt_ms} ms",
        "count": count,
        "start": f"{start_s} s",
        "profile": "ns2",
        "stack": {"mss": "1000 B", **stack},
    }


def background(rate_kbps: int, rtt_ms: float, mix: Mix = "half") -> list[dict[str, Any]]:
    """Datagrams both ways at ``rate_kbps`` each way."""
    kinds = ("cbr", "vbr") if mix == "half" else (mix,)
    return [
        {
            "name": f"background-{kind}-{direction}",
            "transport": "udp",
            "direction": direction,
            "rtt": f"{rtt_ms} ms",
            "workload": {"kind": kind, "rate": f"{rate_kbps / len(kinds)} kbps", "packet": "1000 B"},
        }
        for direction in ("forward", "reverse")
        for kind in kinds
    ]


def scenario(
    flows: Sequence[Mapping[str, Any]],
    *,
    delay_ms: float,
    duration_s: float,
    rate: str = "1.5 Mbps",
    access: str = "1 Mbps",
    counts_in_service: bool = False,
    stamped: Stamped = "syn-ack",
    schedule: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Flows over the paper's dumbbell; ``schedule`` has steps of the bottleneck."""
    queue = {"capacity": "50 packets", "counts_in_service": counts_in_service}
    bottleneck: dict[str, Any] = {"rate": rate, "delay": f"{delay_ms} ms", "queue": queue}
    bottleneck |= {"schedule": list(schedule)} if schedule else {}
    return {
        "schema_version": 1,
        "title": f"iot, {delay_ms:g} ms at the bottleneck",
        "duration": f"{duration_s} s",
        "start_jitter": f"{JITTER_S:g} s",
        "dumbbell": {
            "bottleneck": {**bottleneck, "agents": [{"scheme": "bandwidth-stamp", "stamped": stamped}]},
            "access": {"rate": access, "queue": {"capacity": "50 packets"}},
        },
        "flow": list(flows),
    }


#: The stated delays: of the path (Figures 5 to 10), and of the bottleneck (Figure 3).
_DELAY_MS, _TUNING_DELAY_MS = 50.0, 20.0
_NOTHING: Mapping[str, Any] = {}


def _over(
    path: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], rtt_ms: float, delay_ms: float, duration_s: float
) -> dict[str, Any]:
    """Flows over a path of which ``rate``, ``access``, ``counts_in_service`` and ``stamped`` may be given."""
    stated = {name: value for name, value in path.items() if name != "window"}
    return scenario(flows, delay_ms=min(delay_ms, rtt_ms / 2), duration_s=duration_s, **stated)


def beside_background(
    algorithm: str,
    stack: Mapping[str, str],
    background_kbps: int,
    duration_s: float,
    *,
    count: int = 1,
    others: int = 0,
    cubic: str = "cubic-ns2",
    round_trips: float = 2.0,
    mix: Mix = "half",
    start_s: float = FIRST_S,
    path: Mapping[str, Any] = _NOTHING,
) -> dict[str, Any]:
    """Figures 5 to 10: ``count`` flows, and ``others`` of CUBIC, beside datagrams; the RTT in stated delays."""
    rtt_ms, window = _DELAY_MS * round_trips, path.get("window", {})
    flows = [flow((algorithm, {**stack, **window}), rtt_ms, count, start_s=start_s)]
    flows += [flow((cubic, window), rtt_ms, others, start_s=start_s)] if others else []
    flows += background(background_kbps, rtt_ms, mix)
    return _over(path, flows, rtt_ms, _DELAY_MS, FIRST_S + JITTER_S + duration_s)


def sources(
    algorithm: str,
    stack: Mapping[str, str],
    duration_s: float,
    *,
    round_trips: float = 2.0,
    path: Mapping[str, Any] = _NOTHING,
) -> dict[str, Any]:
    """Figures 2 and 3: ten sources."""
    rtt_ms = _TUNING_DELAY_MS * round_trips
    flows = [flow((algorithm, {**stack, **path.get("window", {})}), rtt_ms, 10)]
    return _over(path, flows, rtt_ms, _TUNING_DELAY_MS, duration_s)


def changing(
    algorithm: str, stack: Mapping[str, str], delay_ms: float, states: Sequence[Mapping[str, str]], duration_s: float
) -> dict[str, Any]:
    """One flow over a bottleneck that alternates between two states every 20 s."""
    times = range(20, int(duration_s), 20)
    steps = [{"at": f"{at} s", **states[number % 2]} for number, at in enumerate(times, start=1)]
    flows = [flow((algorithm, stack), 2 * delay_ms)]
    return scenario(flows, delay_ms=delay_ms, duration_s=duration_s, schedule=steps)


def sensors(algorithm: str, stack: Mapping[str, str], bulk_flows: int, duration_s: float) -> dict[str, Any]:
    """Beyond the paper: 200 sensors that publish by MQTT, beside bulk flows."""
    chosen = (algorithm, stack)
    many = flow(chosen, 100.0, 200) | {
        "name": "sensor",
        "start_jitter": "10 s",
        "workload": {"kind": "mqtt", "qos": 1, "period": "10 s", "jitter": "1 s"},
    }
    flows = [many] + ([flow(chosen, 100.0, bulk_flows) | {"name": "bulk"}] if bulk_flows else [])
    return scenario(flows, delay_ms=50.0, duration_s=duration_s)
