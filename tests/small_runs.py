"""A short run of one flow, by which the tests of universes tell sides apart."""

from __future__ import annotations

from typing import Any


def small_path(rate: str, capacity: str) -> dict[str, Any]:
    """Two seconds of Reno over a bottleneck."""
    return {
        "schema_version": 1,
        "duration": "2 s",
        "start_jitter": "100 ms",
        "dumbbell": {"bottleneck": {"rate": rate, "delay": "5 ms", "queue": {"capacity": capacity}}},
        "flow": [{"algorithm": "reno", "rtt": "20 ms"}],
    }


def goodput(records: Any) -> dict[str, float | None]:
    """Goodput of the one flow."""
    return {"goodput_bps": float(records.flows["delivered_bytes"][0])}
