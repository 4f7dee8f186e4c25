"""Paths of the CCM-SS paper, and every slow start.

Source: its Table 3 and section V.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.catalogue import algorithms
from cwndlab.reproduction.universes import Universe

#: The stack of ns-2's senders: initial window 2 and one ACK per segment.
_NS2: Mapping[str, Any] = {"profile": "ns2", "stack": {"initial_window": 2, "ack_every": 1}}
_LINUX: Mapping[str, Any] = {"profile": "linux", "stack": {"mss": "1460 B", "header": "40 B", "ack": "40 B"}}


def _path(bandwidth_mbps: int, buffer_bdp: float, rtts_ms: Sequence[int]) -> dict[str, Any]:
    """The dumbbell."""
    return {
        "bottleneck": {
            "rate": f"{bandwidth_mbps} Mbps",
            "delay": f"{min(rtts_ms) / 4} ms",
            "queue": {"capacity": f"{buffer_bdp} bdp"},
        },
        "access": {"rate": f"{2 * bandwidth_mbps} Mbps"},
    }


def _scenario(
    algorithm: str,
    stacks: Sequence[Mapping[str, Any]],
    *,
    bandwidth_mbps: int,
    buffer_bdp: float,
    rtts_ms: Sequence[int],
    duration_s: float,
    second_start_s: float,
) -> dict[str, Any]:
    """Two flows of one algorithm, the first from 1 s on."""
    flows = [
        {"algorithm": algorithm, "rtt": f"{rtt} ms", "start": f"{start} s", **stack}
        for rtt, start, stack in zip(rtts_ms, (1.0, second_start_s), stacks, strict=True)
    ]
    return {
        "schema_version": 1,
        "title": f"ccm-ss {bandwidth_mbps} Mbit/s, {buffer_bdp} BDP, {rtts_ms[0]} and {rtts_ms[1]} ms",
        "duration": f"{duration_s} s",
        "start_jitter": "rtt",
        "dumbbell": _path(bandwidth_mbps, buffer_bdp, rtts_ms),
        "flow": flows,
    }


def two_flows(
    algorithm: str,
    *,
    bandwidth_mbps: int,
    buffer_bdp: float,
    rtts_ms: Sequence[int],
    duration_s: float,
    second_start_s: float = 2.0,
) -> dict[str, Any]:
    """Two flows with the stack of ns-2's senders."""
    return _scenario(
        algorithm,
        [_NS2, _NS2],
        bandwidth_mbps=bandwidth_mbps,
        buffer_bdp=buffer_bdp,
        rtts_ms=rtts_ms,
        duration_s=duration_s,
        second_start_s=second_start_s,
    )


def modules() -> dict[str, Sequence[str]]:
    """Every slow start, and what routers must do for it."""
    return {entry.name: entry.agents for entry in algorithms("slow-start")}


def slow_start(
    module: str, agents: Sequence[str], *, buffer_bdp: float, rtts_ms: Sequence[int], duration_s: float
) -> dict[str, Any]:
    """Tables 1 and 2: a slow start under CUBIC, with what its routers must do."""
    document = two_flows(
        f"cubic-ns2+{module}/sack", bandwidth_mbps=250, buffer_bdp=buffer_bdp, rtts_ms=rtts_ms, duration_s=duration_s
    )
    document["dumbbell"]["bottleneck"]["agents"] = agents
    return document


# Over the universes.

#: The lowest of the paper's five bandwidths, since a run's cost grows with it.
_BANDWIDTH_MBPS = 50
#: The paper's β; bytes of a segment.
_BETA, _SEGMENT_BYTES = 0.2, 1460
_MINE, _THEIRS = "CCM-SS", "HyStart"
_MU = {_MINE: 1.5, _THEIRS: 1.0}
#: What a space leaves out.
_DEFAULTS = {
    "HyStart": "both bounds",
    "unit of the buffer": "BDP",
    "BDP of the buffer": "longer RTT",
    "start jitter": "one RTT",
}
_PLAIN = {"as published": "hystart", "Linux": "hystart-linux", "RFC 9406": "hystart-pp"}
_RECOVERY = {"SACK": "sack", "FACK": "fack", "NewReno": "newreno", "Linux with RACK": "rack"}


def _module(side: str, universe: Universe) -> str:
    """The slow start of a side."""
    if side == _THEIRS and universe["HyStart"] != "both bounds":
        return _PLAIN[universe["HyStart"]]
    options = {"mu": f"{_MU[side]:g}"}
    if universe["SCCP"] == "no rule":
        options["bound"] = "lower"
    elif universe["bounds"] == "the exit and the window":
        options["bound"] = "hold"
    if universe["comparison"] == "beyond a bound":
        options["edges"] = "strict"
    if universe["S"] == "known":
        options["s"] = "oracle"
    if universe["B"] == "Eq. 17 as printed":
        options["eq17"] = "literal"
    return f"ccm-ss({', '.join(f'{name}={value}' for name, value in options.items())})"


def _avoidance(side: str, universe: Universe) -> str:
    """The congestion avoidance of a side, and what a loss leaves of the window."""
    changed = universe["decrease"] != "unchanged"
    printed = universe["avoidance"] == "Algorithm 1" or (
        side == _MINE and universe["avoidance"] == "Algorithm 1 with CCM-SS only"
    )
    if printed:
        return f"reno(beta={1 - _MU[side] * _BETA:g})" if changed else "reno"
    if changed:
        # In 1024ths, as the module counts: 819 is CUBIC's own decrease by 0.2.
        return f"cubic-linux(beta={round(1024 * (1 - _MU[side] * _BETA))})"
    return "cubic" if universe["stack"] == "Linux with RACK" else "cubic-ns2"


def _algorithm(side: str, universe: Universe) -> str:
    return f"{_avoidance(side, universe)}+{_module(side, universe)}/{_RECOVERY[universe['stack']]}"


def _rtts(universe: Universe) -> tuple[int, int]:
    first, second = universe["RTTs"].removesuffix(" ms").split(" and ")
    return int(first), int(second)


def _flow_stack(mu: float | None, rtt_ms: int, universe: Universe) -> dict[str, Any]:
    """Profile and stack of a flow; ``mu`` of a module with a lower bound."""
    base: Mapping[str, Any] = _LINUX if universe["stack"] == "Linux with RACK" else _NS2
    window = universe["initial window"]
    if window != "lower bound":
        count = int(window)
    elif mu is None:
        count = 2
    else:
        count = max(2, round(mu * _BETA * _BANDWIDTH_MBPS * 1e6 * (rtt_ms / 2e3) / 8 / _SEGMENT_BYTES))
    return {**base, "stack": {**base["stack"], "initial_window": count}}


def _capacity(universe: Universe) -> str:
    """The bottleneck's buffer."""
    share = float(universe["buffer"]) / (100 if universe["unit of the buffer"] == "percent of the BDP" else 1)
    longer, shorter = max(_rtts(universe)), min(_rtts(universe))
    of = {"longer RTT": longer, "half of the longer RTT": longer / 2, "shorter RTT": shorter}
    return f"{share:g} bdp({of[universe['BDP of the buffer']]:g} ms)"


def _document(text: str, mu: float | None, universe: Universe, second_start_s: float, duration: str) -> dict[str, Any]:
    rtts = _rtts(universe)
    document = _scenario(
        text,
        [_flow_stack(mu, rtt, universe) for rtt in rtts],
        bandwidth_mbps=_BANDWIDTH_MBPS,
        buffer_bdp=float(universe["buffer"]),
        rtts_ms=rtts,
        duration_s=float(duration.removesuffix(" s")),
        second_start_s=second_start_s,
    )
    document["dumbbell"]["bottleneck"]["queue"]["capacity"] = _capacity(universe)
    if universe["start jitter"] == "1 s":
        document["start_jitter"] = "1 s"
    return document


def in_universe(side: str, universe: Universe, second_start_s: float, duration: str) -> dict[str, Any]:
    """Two flows of a side in a universe: CCM-SS, HyStart, or the growth and slow start of another algorithm."""
    universe = {**_DEFAULTS, **universe}
    if side not in _MU:
        text = f"{side}/{_RECOVERY[universe['stack']]}"
        return _document(text, None, universe, second_start_s, duration)
    has_bounds = side == _MINE or universe["HyStart"] == "both bounds"
    mu = _MU[side] if has_bounds else None
    return _document(_algorithm(side, universe), mu, universe, second_start_s, duration)
