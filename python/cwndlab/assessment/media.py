"""Congestion controls of real-time media in the place of TCP: video that the line limits, and not the encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from cwndlab.assessment.criteria import MINE, Measure
from cwndlab.scenario.like import scenario_of
from cwndlab.scenario.workloads import AdaptiveVideo
from cwndlab.study.spec import Point

#: Why a measure of a control has no value.
REASON = "media has no such flow or value"
#: The largest rate of the encoder where the line has no rate of its own (traces, 802.11), Mbit/s.
_MOST_MBPS = 64.0
#: The smallest rate of the encoder: the default, but at most this share of the line.
_LEAST_KBPS, _LEAST_SHARE = 150.0, 0.05
#: Metrics of acknowledgements and retransmissions.
_OF_TCP = ("mean_rtt_ms@mine", "retransmitted_packets@mine")
#: The interval of the reports of SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2, its longest one); others have the
#: default.
_FEEDBACK = {"scream2": {"feedback": "40 ms"}}
#: Controls that respond to marks; packets of the others are not ECN-capable.
_WITH_ECN = ("scream2", "nada")


def controls() -> tuple[str, ...]:
    """The names of the controls.

    Examples
    --------
    >>> controls()
    ('nada', 'scream2', 'gcc')
    """
    names = get_args(get_args(get_type_hints(AdaptiveVideo)["control"])[0])
    return tuple(name for name in names if name != "none")


def in_place(point: Point, control: str) -> Point | None:
    """The cell with video of this control in the flows whose names begin with ``mine``; ``None`` where these have a
    workload or a receiver that only TCP has."""
    document = json.loads(point.document)
    line = _line(json.loads(scenario_of(document).canonical))
    flows = [_flow(flow, control, *line) if flow["name"].startswith(MINE) else flow for flow in document["flow"]]
    if None in flows:
        return None
    scenario = scenario_of({**document, "flow": flows})
    return point._replace(
        labels={**point.labels, "algorithm": control}, hash=scenario.hash, document=scenario.to_json()
    )


def has_value(measure: Measure) -> bool:
    """Whether a measure may be of a control of media."""
    return measure.metric not in _OF_TCP


def _flow(flow: Mapping[str, Any], control: str, most: str, least: str) -> dict[str, Any] | None:
    stack = dict(flow.get("stack", {}))
    ecn, packet = stack.pop("ecn", None), stack.pop("mss", None)
    if stack or "workload" in flow:
        return None
    workload = {"kind": "adaptive-video", "control": control, "max_rate": most, "min_rate": least}
    workload |= _FEEDBACK.get(control, {})
    workload |= {"ecn": ecn} if ecn is not None and control in _WITH_ECN else {}
    workload |= {"packet": packet} if packet is not None else {}
    kept = {key: value for key, value in flow.items() if key not in ("algorithm", "stack")}
    return {**kept, "transport": "udp", "workload": workload}


def _line(canonical: Mapping[str, Any]) -> tuple[str, str]:
    """The largest and the smallest rate of the encoder."""
    link = canonical.get("dumbbell", {}).get("bottleneck", {})
    rates = [one["rate_bps"] for one in (link, *link.get("schedule", ())) if "rate_bps" in one]
    if not rates:
        return f"{_MOST_MBPS:g} Mbps", f"{_LEAST_KBPS:g} kbps"
    most = max(rates) / 1e3
    return f"{most:g} kbps", f"{min(_LEAST_KBPS, _LEAST_SHARE * most):g} kbps"
