"""The presets as paths: other algorithms for all hosts, and other queues at the bottleneck."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.scenario import presets

#: The links of each preset at which packets wait: the line of the clinic, and the queues on the air of the ward.
_BOTTLENECKS = {"clinic": (0, 1), "ward": (3, 4, 5, 6, 7, 8)}
#: Queues in place of the preset's own.
_QUEUES: Mapping[str, Mapping[str, Any]] = {
    "fq-codel": {"kind": "fq-codel"},
    "cake": {"kind": "cake", "tins": "diffserv4"},
}


def in_preset(
    preset: str, algorithm: str, duration_s: float, *, queue: str = "drop-tail", without: Sequence[str] = ()
) -> dict[str, Any]:
    """A preset in which ``algorithm`` takes the place of CUBIC in all flows, without the flows named ``without``.

    Routers stamp packets for an algorithm that asks for it; the air does not, since a medium has no agents.
    """
    document: dict[str, Any] = json.loads(presets.load(preset).to_json())
    flows = [flow for flow in document["flow"] if flow["name"] not in without]
    for flow in flows:
        if flow.get("algorithm") == "cubic":
            flow["algorithm"] = algorithm
    for number, link in enumerate(document["link"]):
        if queue in _QUEUES and number in _BOTTLENECKS[preset]:
            link["queue"] = dict(_QUEUES[queue])
        if algorithm.startswith("iotcc") and "rate" in link:
            link["agents"] = ["bandwidth-stamp"]
    return document | {"flow": flows, "duration": f"{duration_s:g} s"}
