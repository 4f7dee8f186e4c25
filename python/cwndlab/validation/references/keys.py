"""Known keys of reference folders and of ``known-answers/kernel/paths.toml``.

A key that is ignored makes a run other than the one that the file describes. So each key is read, or listed here as a
description, or it is a fault. Keys that end in ``_note``, and ``note``, are remarks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cwndlab.errors import Fault, near

#: Quantities that summaries and tolerances may have.
_QUANTITIES = (
    "goodput_bps",
    "mean_cwnd_segments",
    "mean_queue_packets",
    "mean_rtt_s",
    "congestion_events",
    "utilisation",
    "drops_per_event",
    "marks",
    "decrease_factor",
    "median_completion_s",
    "throughput_bps",
    "station_min_bps",
    "station_max_bps",
    "retry_ratio",
    "down_bps",
    "down_share",
    "up_bps",
    "jain",
    "rtt_s",
    "ap_queue_packets",
)
_JUDGED = (*_QUANTITIES, *(f"{name}{end}" for name in _QUANTITIES for end in ("_sum", "_each")))
_ACK = ("every", "quick_segments", "delay_s")
_RULE = ("relative", "absolute", "absolute_unit")

#: Keys of ``reference.json``; the second line holds descriptions for readers.
_REFERENCE = (
    *("kind", "profile", "segment_bytes", "header_bytes", "ack_bytes", "ack", "ack_when_delayed", "drop_list_counts"),
    *("events_sampled_s", "columns", "senders", "sender_stacks", "stack", "summary", "not_counted", "not_judged"),
    *("spreads", "tolerances"),
    *("simulator", "buffer_counts_packet_in_service", "recorded_cwnd", "pacing", "judge"),
)

#: Keys of a scenario; the last line holds descriptions.
_SCENARIO = (
    *("bottleneck_rate_mbps", "bottleneck_one_way_delay_ms", "buffer_packets", "buffer_counts_packet_in_service"),
    *("mark_above_packets", "access_rate_mbps", "access_queue_packets", "reverse_rate_mbps", "reverse_buffer_packets"),
    *("duration_s", "average_from_s", "repetitions", "runs", "start_jitter_s", "start_jitter_from", "segment_bytes"),
    *("mss_bytes", "header_bytes", "ack_bytes", "initial_window_segments", "initial_ssthresh_segments"),
    *("receive_window_segments", "receive_window_bytes", "minimum_rto_s", "ack_every", "ack_delay_s", "drop_list"),
    *("random_loss", "transfers", "transfer_bytes", "flows", "judge_as"),
    *("acks", "sender_pacing", "algorithms", "mtu_bytes"),
)
_FLOW = ("algorithm", "rtt_ms", "start_s", "direction")

#: ``scenarios.json`` of ns-3's form.
_NS3 = ("common", "wired_start_jitter_s", "algorithms", "scenarios")
_NS3_COMMON = {
    "tcp": (
        *("segment_bytes", "ip_packet_bytes", "initial_window_segments", "initial_ssthresh", "segments_per_ack"),
        *("delayed_ack_timeout_s", "minimum_rto_s", "syn_timeout_s", "sack", "timestamps", "timestamp_resolution_s"),
        *("limited_transmit", "rto", "recovery", "syn_attempts", "pacing", "ecn", "socket_buffers_bytes"),
    ),
    "wired": (
        *("link_header_bytes", "bottleneck_one_way_delay_ms", "access_one_way_delay_ms", "access_rate_mbps"),
        *("access_queue_packets", "reverse_buffer_packets", "queue_counts_packet_in_transmission"),
    ),
    "wifi": (
        *("standard", "band_ghz", "data_mode_mbps", "ack_mode_mbps", "sifs_us", "difs_us", "signal_extension_us"),
        *("preamble_and_signal_us", "cw_min", "cw_max", "attempts_per_frame", "rts", "fragmentation", "aggregation"),
        *("qos", "mac_overhead_bytes", "mac_overhead", "ack_bytes", "fixed_rss_dbm", "log_distance"),
        *("fixed_rss_station_distance_m", "wire_rate_mbps", "wire_one_way_delay_ms", "udp_offered_mbps", "tcp_start_s"),
    ),
}
_NS3_ANY = ("kind", "duration_s", "average_from_s", "repetitions", "algorithms")
_NS3_CELL = ("slot_us", "preamble_detection", "beacon_interval_tu", "propagation", "wifi_queue_packets")
_NS3_SCENARIO = {
    "wired": (
        *_NS3_ANY,
        *("rate_mbps", "rtt_ms", "buffer_packets", "flows", "start_s", "segments_per_ack", "minimum_rto_s"),
        "ecn_step_threshold_packets",
    ),
    "wifi_udp": (*_NS3_ANY, *_NS3_CELL, "direction", "stations", "payload_bytes"),
    "wifi_tcp": (*_NS3_ANY, *_NS3_CELL, "downloads", "uploads", "rtt_ms", "minimum_rto_s"),
}

#: ``paths.toml``.
_PATHS = ("kind", "repetitions", "rtt_step", "senders", "beside", "stack", "settings", "tolerances", "path")
_PATH = (
    *("name", "why", "like", "rate", "rtt", "buffer", "queue", "ecn", "loss", "reorder", "reorder_acks", "duration"),
    "initial_receive_window",
    *("flows", "transfers", "application", "settings"),
)
_PATH_RULE = ("relative", "absolute", "of_the_link")


def unknown(file: str, place: str, table: Any, known: Collection[str]) -> Iterator[Fault]:
    """Faults of the keys that ``table`` has and the program does not know.

    Parameters
    ----------
    file
        The file, as the fault names it.
    place
        If the table stands in the file (``c.flows[0]``), empty for the file itself.
    table
        The table; anything that is not a table has no keys.
    known
        Keys that may stand there.
    """
    if not isinstance(table, Mapping):
        return
    for key in table:
        if key in known or key == "note" or key.endswith("_note"):
            continue
        meant = near(key, list(known))
        listed = f"known keys: {', '.join(known)}"
        hint = f"{meant} {listed}" if meant.startswith("did") else listed
        yield Fault(f"{file}: {place}.{key}" if place else f"{file}: {key}", "no such key", hint)


def of_reference(file: str, about: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of the keys of a ``reference.json``."""
    yield from unknown(file, "", about, _REFERENCE)
    for name in ("ack", "ack_when_delayed"):
        yield from unknown(file, name, about.get(name), _ACK)
    yield from unknown(file, "columns", about.get("columns"), ("algorithm", "run", *_QUANTITIES))
    tolerances = about.get("tolerances")
    for kind, rules in tolerances.items() if isinstance(tolerances, Mapping) else ():
        yield from unknown(file, f"tolerances.{kind}", rules, _JUDGED)
        for quantity, rule in rules.items() if isinstance(rules, Mapping) else ():
            yield from unknown(file, f"tolerances.{kind}.{quantity}", rule, _RULE)


def of_scenarios(file: str, scenarios: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of the keys of a ``scenarios.json`` with one table per scenario."""
    for name, spec in scenarios.items():
        yield from unknown(file, name, spec, _SCENARIO)
        flows = spec.get("flows") if isinstance(spec, Mapping) else None
        for index, flow in enumerate(flows if isinstance(flows, list) else ()):
            place = f"{name}.flows[{index}]"
            yield from unknown(file, place, flow, _FLOW)
            if isinstance(flow, Mapping) and flow.get("direction", "forward") not in ("forward", "reverse"):
                what = f"'{flow['direction']}' is not a direction"
                yield Fault(f"{file}: {place}.direction", what, "write forward or reverse")


def of_ns3(file: str, document: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of the keys of a ``scenarios.json`` of ns-3's form."""
    yield from unknown(file, "", document, _NS3)
    yield from unknown(file, "common", document["common"], ("simulator", *_NS3_COMMON))
    for name, known in _NS3_COMMON.items():
        yield from unknown(file, f"common.{name}", document["common"].get(name), known)
    for name, entry in document["algorithms"].items():
        yield from unknown(file, f"algorithms.{name}", entry, ("type", "attributes"))
    for name, spec in document["scenarios"].items():
        if isinstance(spec, Mapping) and spec.get("kind") in _NS3_SCENARIO:
            yield from unknown(file, f"scenarios.{name}", spec, _NS3_SCENARIO[spec["kind"]])


def of_paths(file: str, about: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of the keys of a file of paths for ``cwndlab validate --kernel``."""
    yield from unknown(file, "", about, _PATHS)
    for quantity, rule in about.get("tolerances", {}).items():
        yield from unknown(file, f"tolerances.{quantity}", rule, _PATH_RULE)
    for index, path in enumerate(about.get("path", ())):
        yield from unknown(file, f"path[{index}]", path, _PATH)
