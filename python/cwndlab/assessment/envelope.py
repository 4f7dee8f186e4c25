"""What a sender does where it must slow down: its rate beside the limit of a circuit breaker, and the packets per round
trip that it sends where no packet, or no ACK, arrives. Both are computed from columns that every run has, and from the
canonical form of its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cwndlab.assessment.breaker import breaker_ratio

#: Bits of a full packet.
_PACKET_BITS = 12_000.0
_RATE = "throughput_bps@mine"


def own_breaker(row: Mapping[str, Any], scenario: Mapping[str, Any]) -> float | None:
    """The rate of the assessed flow / the limit of RFC 8083, section 4.3, at the loss that the wire has: ``None`` where
    nothing arrives, and the media timeout of section 4.2 counts instead. The RTT is that of the run, or without a
    sample that of the path.

    Half of all packets lost, 0.1 s: TCP's rate is 12,000 bit / (0.1 s · √(1/3)) = 207.8 kbit/s.

    >>> half = {"flow": [{"rtt_ns": 100_000_000}], "dumbbell": {"bottleneck": {"schedule": [{"loss": 0.5}]}}}
    >>> round(own_breaker({"throughput_bps@mine": 2.078461e6, "mean_rtt_ms@mine": None}, half), 6)
    1.0
    """
    loss = _wire_loss(scenario)
    if not 0.0 < loss < 1.0:
        return None
    rtt_ms = row["mean_rtt_ms@mine"]
    rtt_s = _base_rtt_s(scenario) if rtt_ms is None else rtt_ms / 1e3
    return breaker_ratio(row[_RATE], loss, rtt_s, _PACKET_BITS)


def packets_per_rtt(rate_bps: float, scenario: Mapping[str, Any]) -> float | None:
    """Full packets that are sent in an RTT of the empty path, if no packet or no ACK arrives in the end; else ``None``.

    >>> lost = [{"at_ns": 0, "loss": 1.0}]
    >>> path = {"flow": [{"rtt_ns": 20_000_000}], "dumbbell": {"reverse": {"schedule": lost}}}
    >>> packets_per_rtt(1.2e6, path), packets_per_rtt(1.2e6, {**path, "dumbbell": {}})
    (2.0, None)
    """
    lines = scenario.get("dumbbell", {})
    if 1.0 not in (_last_loss(lines.get(line, {})) for line in ("bottleneck", "reverse")):
        return None
    return rate_bps * _base_rtt_s(scenario) / _PACKET_BITS


def _wire_loss(scenario: Mapping[str, Any]) -> float:
    return _last_loss(scenario["dumbbell"]["bottleneck"])


def _last_loss(line: Mapping[str, Any]) -> float:
    """The loss ratio that the last step of a line's schedule sets; 0 without one."""
    return float(next((step["loss"] for step in reversed(line.get("schedule", ())) if "loss" in step), 0.0))


def _base_rtt_s(scenario: Mapping[str, Any]) -> float:
    return float(scenario["flow"][0]["rtt_ns"]) / 1e9
