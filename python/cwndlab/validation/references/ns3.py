"""The folder of ns-3, which has ``common``, ``algorithms`` and ``scenarios``, in the form of the others.

Wired scenarios become what `cwndlab.validation.references.reference` runs; `cwndlab.validation.references.wifi` reads
those of Wi-Fi.
"""

from __future__ import annotations

from typing import Any

from cwndlab.validation.references.wifi import FILES

#: Kinds of scenario that are one flow alone, several, or one whose packets are marked, as the tolerances call them.
_SINGLE, _SEVERAL, _MARKED = "single", "several", "marked"

#: What the start of flow i in run k is later by, times k and i, s ("wired_start_jitter_s" says it in words).
_JITTER_S = 0.0137

#: Where the queue marks, it stands above the device, which holds one packet more besides that on the line.
_IN_DEVICE = 1


def recognises(document: dict[str, Any]) -> bool:
    """Whether ``scenarios.json`` is of this form."""
    return all(isinstance(document.get(key), dict) for key in ("common", "algorithms", "scenarios"))


def senders(about: dict[str, Any], document: dict[str, Any]) -> dict[str, str | None]:
    """Each sender in our words: ``reference.json`` may word classes (``TcpCubic``), of which senders are made."""
    words = about.get("senders")
    words = words if isinstance(words, dict) else {}
    made = {name: words[entry["type"]] for name, entry in document["algorithms"].items() if entry["type"] in words}
    classes = {entry["type"] for entry in document["algorithms"].values()}
    return made | {name: text for name, text in words.items() if name not in classes and not name.startswith("Tcp")}


def scenarios(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The wired scenarios in the common form, and for every other what it waits for."""
    done, waiting = {}, {}
    for name, spec in document["scenarios"].items():
        if spec["kind"] == "wired":
            done[name] = _wired(spec, document["common"])
        elif spec["kind"] not in FILES:
            waiting[name] = f"its kind, '{spec['kind']}', is not known here"
    return done, waiting


def _wired(spec: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    wires, tcp = common["wired"], common["tcp"]
    marks = spec["ecn_step_threshold_packets"]
    extra = _IN_DEVICE if marks else 0
    return {
        "bottleneck_rate_mbps": spec["rate_mbps"],
        "bottleneck_one_way_delay_ms": spec["rtt_ms"] / 4,
        "access_rate_mbps": wires["access_rate_mbps"],
        "access_queue_packets": wires["access_queue_packets"],
        "buffer_packets": spec["buffer_packets"] + extra,
        "mark_above_packets": marks + extra if marks else None,
        "reverse_buffer_packets": wires["reverse_buffer_packets"],
        "duration_s": spec["duration_s"],
        "average_from_s": spec["average_from_s"],
        "repetitions": spec["repetitions"],
        "start_jitter_s": _JITTER_S,
        "start_jitter_from": 0,
        "initial_window_segments": tcp["initial_window_segments"],
        "minimum_rto_s": spec["minimum_rto_s"],
        "ack_every": spec["segments_per_ack"],
        "flows": [{"algorithm": None, "rtt_ms": spec["rtt_ms"], "start_s": start} for start in spec["start_s"]],
        "judge_as": _SEVERAL if spec["flows"] > 1 else _MARKED if marks else _SINGLE,
    }
