"""Paths of the PHCC paper.

Source: its section on simulation: links of 200 Mbit/s with 20 ms each, one shared bottleneck, packets of 1000 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Rates of access links: the paper's, and one at which a single flow queues at the bottleneck and not at its host.
_STATED_ACCESS, _FAST_ACCESS = "200 Mbps", "1 Gbps"
#: The queue of the host of a single flow: the default of a link in ns-2 (``queue_limit_``).
HOST_QUEUE = "50 packets"


def shared(
    algorithms: Sequence[str],
    *,
    buffer: int,
    duration_s: float,
    rtt_ms: float = 120.0,
    starts_s: Sequence[float] | None = None,
    loss: float = 0.0,
    sample_ms: float = 100.0,
    access: str = "",
    host_queue: str | None = None,
    stack: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One flow per algorithm over the paper's dumbbell; ``access`` is the rate of the access links, by default the
    stated one where several flows run, ``host_queue`` the capacity of their queues, that of the bottleneck where it is
    empty, as by default where several flows run."""
    rtt_ms = float(rtt_ms)
    if host_queue is None:
        host_queue = HOST_QUEUE if len(algorithms) == 1 else ""
    starts = starts_s if starts_s is not None else [0.0] * len(algorithms)
    bottleneck: dict[str, Any] = {
        "rate": "200 Mbps",
        "delay": f"{rtt_ms / 6} ms",
        "queue": {"capacity": f"{buffer} packets"},
    }
    if loss:
        bottleneck["loss"] = {"kind": "bernoulli", "p": loss}
    return {
        "schema_version": 1,
        "title": f"phcc {', '.join(algorithms)}, {buffer} packets, {rtt_ms:g} ms",
        "duration": f"{duration_s} s",
        "start_jitter": "rtt",
        "sample_interval": f"{sample_ms} ms",
        "dumbbell": {
            "bottleneck": bottleneck,
            "access": {
                "rate": access or (_STATED_ACCESS if len(algorithms) > 1 else _FAST_ACCESS),
                "queue": {"capacity": host_queue or f"{buffer} packets"},
            },
        },
        "flow": [
            {
                "algorithm": algorithm,
                "rtt": f"{rtt_ms} ms",
                "start": f"{start} s",
                "profile": "ns2",
                "stack": stack or {"mss": "1000 B", "header": "0 B"},
            }
            for algorithm, start in zip(algorithms, starts, strict=True)
        ],
    }


def of_a_kind(
    algorithms: Mapping[str, str], variant: str, *, flows: int = 3, buffer: int, duration_s: float, **path: Any
) -> dict[str, Any]:
    """Flows of one variant."""
    return shared([algorithms[variant]] * flows, buffer=buffer, duration_s=duration_s, **path)


def with_reno(algorithms: Mapping[str, str], variant: str, *, buffer: int, duration_s: float) -> dict[str, Any]:
    """Figure 14: two flows of Reno and two of a variant."""
    return shared([algorithms["Reno"]] * 2 + [algorithms[variant]] * 2, buffer=buffer, duration_s=duration_s)


def chosen(
    variants: Sequence[str],
    universe: Mapping[str, Any],
    *,
    rivals: Sequence[str] = (),
    on_one_link: bool = False,
    buffer: int,
    duration_s: float,
    **path: Any,
) -> dict[str, Any]:
    """Flows of variants in a universe, which has ``algorithms``, those that it ``changed``, ``phcc``, a ``recovery``,
    the rate of ``access`` links and their ``host_queue``; without a recovery a flow has that of its profile."""
    texts = {**universe["algorithms"], **universe["changed"], "PHCC": universe["phcc"]}
    named = [*variants, *(rivals if on_one_link else ())]
    flows = [f"{texts[one]}{universe['recovery']}" for one in named]
    return shared(
        flows,
        buffer=buffer,
        duration_s=duration_s,
        access=universe["access"],
        host_queue=universe["host_queue"],
        **path,
    )
