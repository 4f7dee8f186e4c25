"""The Wi-Fi runs of ns-3's folder: an 802.11g cell, saturated by UDP or with TCP over it, as scenarios of ours.

The folder's README says what its cell is: an access point, a wire and a station for each flow, 100 packets at every
device with the frame under transmission among them. What its MAC does otherwise than 802.11 is switched on
(``keeps_turn``, ``eifs`` where preambles go undetected).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

#: Kinds of scenario in ``scenarios.json``, and the file of each.
FILES = {"wifi_udp": "wifi_udp.csv", "wifi_tcp": "wifi_tcp.csv"}

#: An interval of beacons longer than any run: none but the one at time 0.
_NO_BEACONS_TU = 60_000

#: Our runs of a cell with TCP: means of the folder's two hang on single timeouts.
_TCP_RUNS = 10

#: A time unit of 802.11, ms.
_TU_MS = 1.024

#: UDP and IP headers, bytes.
_UDP_HEADERS = 28

#: IP and TCP headers with timestamps, bytes: no link header is counted on the air.
_TCP_HEADERS = 52


class ReferenceFolder(Protocol):
    """What of a reference folder the cells need; `Reference` has it."""

    about: dict[str, Any]

    @property
    def kind(self) -> str:
        """The peer."""

    def untrusted(self, algorithm: str, scenario: str) -> str | None:
        """Why a row is not trusted."""

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of a file."""

    def stack(self, spec: dict[str, Any], algorithm: str = "") -> dict[str, Any]:
        """The values of the hosts."""


@dataclass(frozen=True)
class Case:
    """One cell: the runs of a scenario with one number of stations, one algorithm and one size of packets."""

    scenario: str
    label: str
    algorithm: str
    judge_as: str
    span_s: tuple[float, float]
    """The averaging interval: from, to."""
    rows: tuple[dict[str, str], ...]
    documents: tuple[dict[str, Any], ...]


def cases(reference: ReferenceFolder, document: dict[str, Any]) -> Iterator[Case]:
    """Every cell of the folder's Wi-Fi scenarios; ``document`` is its ``scenarios.json``."""
    for name, spec in document["scenarios"].items():
        if spec["kind"] not in FILES or reference.untrusted("wifi", name):
            continue
        rows = [row for row in reference.table(FILES[spec["kind"]]) if row["scenario"] == name]
        if spec["kind"] == "wifi_udp":
            yield from _udp(reference, name, spec, document["common"], rows)
        else:
            yield from _tcp(reference, name, spec, document["common"], rows)


def untried(reference: ReferenceFolder, document: dict[str, Any]) -> tuple[str, ...]:
    """The Wi-Fi scenarios that are left out; why says `Reference.untrusted` of ``wifi``."""
    specs = document["scenarios"].items()
    return tuple(name for name, spec in specs if spec["kind"] in FILES and reference.untrusted("wifi", name))


def _udp(
    reference: ReferenceFolder, name: str, spec: dict[str, Any], common: dict[str, Any], rows: list[dict[str, str]]
) -> Iterator[Case]:
    for stations in spec["stations"]:
        for payload in spec["payload_bytes"]:
            own = [r for r in rows if int(r["stations"]) == stations and int(r["payload_bytes"]) == payload]
            offered = float(common["wifi"]["udp_offered_mbps"].split()[0]) / stations
            packet = payload + _UDP_HEADERS
            flow = {
                "transport": "udp",
                "rtt": "0 s",
                "start": "1 s",
                "count": stations,
                "direction": "upload" if spec["direction"] == "up" else "download",
                "workload": {
                    "kind": "cbr",
                    "rate": f"{offered * 1e6 * packet / payload:.0f} bps",
                    "packet": f"{packet} B",
                },
            }
            label = f"{name} {stations} × {payload} B"
            yield Case(
                name,
                label,
                "udp",
                "udp_one" if stations == 1 else "udp_several",
                (spec["average_from_s"], spec["duration_s"]),
                tuple(own),
                tuple(_document(reference, label, spec, common, [flow], run) for run in range(len(own))),
            )


def _tcp(
    reference: ReferenceFolder, name: str, spec: dict[str, Any], common: dict[str, Any], rows: list[dict[str, str]]
) -> Iterator[Case]:
    for algorithm in spec["algorithms"]:
        for down in spec["downloads"]:
            for up in spec["uploads"]:
                own = [
                    row
                    for row in rows
                    if row["algorithm"] == algorithm and int(row["downloads"]) == down and int(row["uploads"]) == up
                ]
                flows = [
                    {
                        "algorithm": reference.about["senders"][algorithm],
                        "rtt": f"{spec['rtt_ms']} ms",
                        "start": f"{1 + 0.01 * index:.2f} s",
                        "direction": "download" if index < down else "upload",
                        "profile": reference.about["profile"],
                        "stack": {
                            **reference.stack(
                                {
                                    "initial_window_segments": common["tcp"]["initial_window_segments"],
                                    "minimum_rto_s": spec["minimum_rto_s"],
                                },
                                algorithm,
                            ),
                            "header": f"{_TCP_HEADERS} B",
                            "ack": f"{_TCP_HEADERS} B",
                        },
                    }
                    for index in range(down + up)
                ]
                judge_as = "downloads" if not up else "pair" if down == up == 1 else "both"
                label = f"{name} {down} + {up}"
                documents = tuple(_document(reference, label, spec, common, flows, run) for run in range(_TCP_RUNS))
                span = (spec["average_from_s"], spec["duration_s"])
                yield Case(name, label, algorithm, judge_as, span, tuple(own), documents)


def _document(
    reference: ReferenceFolder,
    label: str,
    spec: dict[str, Any],
    common: dict[str, Any],
    flows: list[dict[str, Any]],
    run: int,
) -> dict[str, Any]:
    wifi = common["wifi"]
    cell: dict[str, Any] = {
        "standard": "802.11g",
        "rate": f"{wifi['data_mode_mbps']} Mbps",
        "slot": f"{spec['slot_us']} us",
        "cw_min": wifi["cw_min"],
        "cw_max": wifi["cw_max"],
        "short_attempts": wifi["attempts_per_frame"],
        "keeps_turn": True,
        "eifs": not spec["preamble_detection"],
        "queue": {"capacity": f"{spec.get('wifi_queue_packets', 100)} packets", "counts_in_service": True},
    }
    if spec["kind"] == "wifi_tcp":
        cell["wire"] = {"rate": f"{wifi['wire_rate_mbps']} Mbps"}
    if spec["beacon_interval_tu"] < _NO_BEACONS_TU:
        cell["beacon"] = f"{spec['beacon_interval_tu'] * _TU_MS:g} ms"
    return {
        "schema_version": 1,
        "title": f"{reference.kind} {label} run {run}",
        "duration": f"{spec['duration_s']} s",
        "sample_interval": "1 s",
        "wlan": cell,
        "flow": flows,
    }


def measure(records: Any, begin: float, end: float) -> dict[str, float]:
    """What one run gives between two moments: bits per second, packets and seconds."""
    import polars as pl

    edges = [round(begin * 1e9), round(end * 1e9)]
    span = end - begin

    def grown(column: str) -> Any:
        return (pl.col(column).last() - pl.col(column).first()).alias(column)

    # A flow whose samples begin later has delivered nothing before.
    inside = records.samples.filter(pl.col("time_ns").is_between(edges[0], edges[1])).sort("flow", "time_ns")
    columns = ("delivered_bytes", "rtt_sum_ns", "rtt_count")
    flows = inside.group_by("flow", maintain_order=True).agg(*(grown(column) for column in columns))
    routes = [flow["direction"] == "download" for flow in records.document["flow"] for _ in range(flow.get("count", 1))]
    rates = [float(value) * 8 / span for value in flows["delivered_bytes"]]
    down = [rate for rate, downwards in zip(rates, routes, strict=True) if downwards]
    up = [rate for rate, downwards in zip(rates, routes, strict=True) if not downwards]
    rtts = [
        float(row["rtt_sum_ns"]) / float(row["rtt_count"]) / 1e9
        for row, downwards in zip(flows.rows(named=True), routes, strict=True)
        if downwards and row["rtt_count"]
    ]
    counters = records.stations.filter(pl.col("time_ns").is_in(edges)).sort("station", "time_ns")
    wanted = ("attempts", "failures", "queue_packet_ns")
    stations = counters.group_by("station", maintain_order=True).agg(*(grown(column) for column in wanted))
    point = stations.filter(pl.col("station") == "ap")
    attempts = float(stations["attempts"].sum())
    return {
        "throughput_bps": sum(rates),
        "station_min_bps": min(rates),
        "station_max_bps": max(rates),
        "down_bps": sum(down),
        "down_share": sum(down) / sum(rates) if sum(rates) else float("nan"),
        "jain": _jain(down),
        "up_bps": sum(up),
        "rtt_s": statistics.fmean(rtts) if rtts else float("nan"),
        "ap_queue_packets": float(point["queue_packet_ns"].sum()) / 1e9 / span,
        "retry_ratio": float(stations["failures"].sum()) / attempts if attempts else 0.0,
    }


def _jain(rates: list[float]) -> float:
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else float("nan")


def theirs(row: dict[str, str]) -> dict[str, float]:
    """The same of a row of the folder."""
    if "throughput_mbps" in row:
        return {
            "throughput_bps": float(row["throughput_mbps"]) * 1e6,
            "station_min_bps": float(row["station_min_mbps"]) * 1e6,
            "station_max_bps": float(row["station_max_mbps"]) * 1e6,
            "retry_ratio": float(row["retry_ratio"]),
        }
    down, up = float(row["down_total_mbps"]) * 1e6, float(row["up_total_mbps"]) * 1e6
    return {
        "throughput_bps": down + up,
        "down_share": down / (down + up),
        "jain": float(row["jain_down"]),
        "rtt_s": float(row["rtt_down_ms"]) / 1e3,
        "ap_queue_packets": float(row["ap_queue_mean_pkts"]),
    }
