"""Cells of 802.11 whose stations do not all receive each other, which ns-3 ran, as scenarios of ours.

``known-answers/ns3-radio/cells.json`` has their descriptions and the throughput of each flow by seed;
``tools/ns3_radio`` made them. Its stations are peers without an access point, all flows are over UDP, and a power that
is not named is too low to matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import gcd
from statistics import fmean
from typing import Any

from cwndlab.simulate import run_many

#: Largest deviations: of the sum, relative, and of the share of each flow.
THROUGHPUT, SHARE = 0.05, 0.05
#: The power between nodes that do not receive each other.
_NONE_DBM = -150
#: IP and UDP headers, bytes.
_UDP_HEADERS = 28
#: The lifetime of a frame that no cell reaches, ms.
_UNLIMITED_MS = 1_000_000
#: Channels by width, MHz, of cells at 5 GHz.
_CHANNELS = {20: 36, 40: 38, 80: 42, 160: 50}
#: The TXOP limits of the standard, which ns-3 has (IEEE 802.11-2016, table 9-137).
_TXOPS = {"voice": "2.08 ms", "video": "4.096 ms"}
#: A codepoint of each access category (RFC 8325, section 4.3).
_DSCPS = {"background": "CS1", "best_effort": "CS0", "video": "AF41", "voice": "EF"}
#: Seconds before the measurement, and our seeds.
_FROM_S = 2
_SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Deviation:
    """A cell and what we give for it."""

    name: str
    family: str
    ns3_mbps: tuple[float, ...]
    """By flow, the mean over seeds."""
    our_mbps: tuple[float, ...]

    @property
    def throughput(self) -> float:
        """Relative deviation of the sum; the difference in Mbit/s where ns-3 delivers nothing."""
        theirs = sum(self.ns3_mbps)
        return (sum(self.our_mbps) - theirs) / (theirs or 1.0)

    @property
    def share(self) -> float:
        """The largest deviation of a flow's share."""
        ours, theirs = ([rate / (sum(rates) or 1.0) for rate in rates] for rates in (self.our_mbps, self.ns3_mbps))
        return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))

    @property
    def agrees(self) -> bool:
        """Whether both are within the limits."""
        return abs(self.throughput) <= THROUGHPUT and self.share <= SHARE


def document(cell: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The scenario of a cell. Starts are those of ns-3's run: at low loads they decide which frames meet."""
    medium: dict[str, Any] = {"name": "air", "standard": cell["standard"], "channel": 1}
    # What its MAC does otherwise than 802.11, and the interframe space after errors.
    medium |= {"keeps_turn": True, "eifs": True, "energy_detection": -82}
    medium["block_ack_request"] = cell.get("requests", True)
    medium["lifetime"] = f"{cell.get('lifetime_ms', _UNLIMITED_MS)} ms"
    medium["rate_adaptation"] = cell["adaptation"]
    if cell["adaptation"] == "fixed":
        medium |= {"rate": f"{cell['rate_mbps']} Mbps"} if cell["standard"] == "802.11g" else {"mcs": cell["mcs"]}
    if cell["standard"] == "802.11ax":
        width = cell["width"]
        medium |= {"channel": _CHANNELS[width], "width": width, "guard_interval": cell["guard_interval"]}
    if "categories" in cell:
        limits = _TXOPS if cell.get("txops", True) else dict.fromkeys(_TXOPS, "0 s")
        medium["edca"] = {"dscp_mapping": "rfc8325", "protection": "multiple"} | {
            one: {"txop_limit": limit} for one, limit in limits.items()
        }
    if cell["rts"]:
        medium["rts_above"] = "0 B"
    if not cell.get("aggregation", True):
        medium["aggregation"] = False
    dscps = [_DSCPS[one] for one in cell.get("categories", ["best_effort"] * len(cell["flows"]))]
    # The rate of ns-3's sources counts IP packets.
    workload = {"kind": "cbr", "rate": f"{cell['mbps']} Mbps", "packet": f"{cell['bytes']} B"}
    queue = {"kind": "droptail", "capacity": f"{cell.get('queue', 100)} packets", "counts_in_service": True}
    return {
        "schema_version": 1,
        "title": cell["name"],
        "duration": f"{_FROM_S + cell['seconds']} s",
        "sample_interval": f"{gcd(_FROM_S, cell['seconds'])} s",
        "medium": [medium],
        "received": _received(cell["powers"]),
        "link": [
            {"from": f"n{a}", "to": f"n{b}", "medium": "air", "queue": queue, "duplex": [b, a] not in cell["flows"]}
            for a, b in dict.fromkeys((a, b) for a, b in cell["flows"])
        ],
        "flow": [
            {
                "from": f"n{a}",
                "to": f"n{b}",
                "transport": "udp",
                "dscp": dscp,
                "start": f"{100_000 + 1_100 * index + 13 * seed} us",
                "workload": workload,
            }
            for index, ((a, b), dscp) in enumerate(zip(cell["flows"], dscps, strict=True))
        ],
    }


def _received(powers: Iterable[tuple[int, int, float]]) -> list[dict[str, Any]]:
    """The power between every two nodes."""
    known = {frozenset((a, b)): dbm for a, b, dbm in powers}
    nodes = sorted({node for pair in known for node in pair})
    return [
        {"from": f"n{a}", "to": f"n{b}", "dbm": known.get(frozenset((a, b)), _NONE_DBM)}
        for a, b in combinations(nodes, 2)
    ]


def deviations(cells: Iterable[Mapping[str, Any]], *, workers: int | None = None) -> list[Deviation]:
    """Runs cells, and compares them with ns-3."""
    cells = list(cells)
    jobs = [(document(cell, seed), seed) for cell in cells for seed in _SEEDS]
    found: list[list[float]] = [[] for _ in jobs]
    for index, records in run_many(jobs, workers=workers):
        cell = cells[index // len(_SEEDS)]
        samples = records.samples.filter(records.samples["time_ns"] >= _FROM_S * 10**9)
        for flow in range(len(cell["flows"])):
            bytes_ = samples.filter(samples["flow"] == flow)["delivered_bytes"]
            packets = (bytes_[-1] - bytes_[0]) / (cell["bytes"] - _UDP_HEADERS)
            found[index].append(packets * cell["bytes"] * 8 / cell["seconds"] / 1e6)
    result = []
    for index, cell in enumerate(cells):
        runs = found[index * len(_SEEDS) : (index + 1) * len(_SEEDS)]
        ours, theirs = (tuple(map(fmean, zip(*rates, strict=True))) for rates in (runs, cell["ns3_mbps"]))
        result.append(Deviation(cell["name"], cell["family"], theirs, ours))
    return result
