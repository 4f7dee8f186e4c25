"""Paths of the Windows study.

Source: its sections Methodology and Results: a download over 2.4 GHz 802.11n (20 MHz, channel 1, -57 dBm) and LTE from
a server 252 ms away, the mean of four pings (177, 181, 183, 468 ms); the list at the head of Methodology has 200 ms.
Its route has 17 hops there and in Figure 13, 16 in Table I, whose margin has "11 (Mbps)", the only rate of the access.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

#: The profile that the study's own `Get-NetTCPSetting` shows.
PROFILE = "windows-10-20h1"
#: Mean RTT to the server, ms: Table I and Figure 14.
RTT_MS = 252.0
#: The LTE hop's own delay one way.
_LTE_MS = 15.0
#: The bundled trace of a user who stands still, its opportunities scaled from 19.91 to Table I's "11 (Mbps)", and what
#: the queue for one user holds: the deepest of the choices that does not keep the line full.
_LINE, _QUEUE = {"trace": {"file": "lte-stationary", "bytes": 829}}, "0.5 bdp(252 ms)"


def download(
    algorithm: str,
    *,
    loss: float,
    duration_s: float,
    rtt_ms: float = RTT_MS,
    profile: str = PROFILE,
    line: Mapping[str, Any] | None = None,
    queue: str = _QUEUE,
    harq: bool = True,
    packets: bool = False,
) -> dict[str, Any]:
    """One download: server, LTE core, access point, client. ``line`` is that of the LTE hop, a trace or a rate; the way
    up, for ACKs only, has the same."""
    one_way_ms = rtt_ms / 2 - _LTE_MS
    server: dict[str, Any] = {"name": "internet", "from": "server", "to": "core", "rate": "1 Gbps"}
    server |= {"delay": f"{one_way_ms} ms", "queue": {"capacity": "unlimited"}}
    if loss:
        server["loss"] = {"kind": "bernoulli", "p": loss}
    lte = {**(_LINE if line is None else line), "delay": f"{_LTE_MS} ms", "queue": {"capacity": queue}}
    if harq:
        lte["harq"] = {}
    document = {
        "schema_version": 1,
        "title": f"windows-lte, {algorithm}, loss {loss:g}",
        "duration": f"{duration_s} s",
        "sample_interval": "500 ms",
        "start_jitter": "30 s",
        "node": [{"name": name} for name in ("server", "core", "ap", "client")],
        "medium": [{"name": "cell", "standard": "802.11n", "mcs": 7}],
        "link": [
            server,
            {"name": "lte", "from": "core", "to": "ap", **lte},
            {"name": "air", "from": "ap", "to": "client", "medium": "cell", "queue": {"capacity": "300 packets"}},
        ],
        "flow": [{"algorithm": algorithm, "from": "server", "to": "client", "profile": profile}],
    }
    return document | {"packets": True} if packets else document


#: Figure 7: power of the other access points at the client, dBm, and the channel on which each is taken to be. The four
#: strong ones disturb channel 8 (Figure 9), two weak ones are left at channel 1 (Figure 10); -100 dBm disturbs nobody.
NEIGHBOURS = ((-68, 8), (-65, 8), (-68, 8), (-84, 8), (-87, 1), (-93, 1))
#: Mbit/s of frames of 1500 bytes at MCS 7 that are sent alone: 382.5 µs each.
_SINGLE_MBPS = 31.4


def neighbours(channel: int, *, busy: float, line: str, duration_s: float) -> dict[str, Any]:
    """Figures 6 to 10: the download beside the access points that the study received, each of which sends datagrams to
    a station 3 m away for the share ``busy`` of the time. ``line`` is ``"LTE"``, or ``"wired"`` without a limit."""
    lte = {"rate": "11 Mbps", "delay": f"{_LTE_MS} ms", "queue": {"capacity": _QUEUE}}
    wired = {"rate": "1 Gbps", "delay": f"{_LTE_MS} ms"}
    cell = {"standard": "802.11n", "rate_adaptation": "minstrel"}
    media = [{"name": "cell", "channel": channel, **cell}]
    nodes: list[dict[str, Any]] = [{"name": "server"}, {"name": "client", "position": [0, 0]}]
    nodes.append({"name": "ap", "position": [_metres(-57), 0], "transmit_power": _AP_DBM})
    links: list[dict[str, Any]] = [
        {"name": "line", "from": "server", "to": "ap", **(lte if line == "LTE" else wired)},
        {"name": "air", "from": "ap", "to": "client", "medium": "cell", "queue": {"capacity": "300 packets"}},
    ]
    flows: list[dict[str, Any]] = [{"algorithm": "cubic", "from": "server", "to": "client", "profile": PROFILE}]
    for number, (dbm, theirs) in enumerate(NEIGHBOURS, 1):
        at, angle = _metres(dbm), number * math.tau / len(NEIGHBOURS)
        x, y = at * math.cos(angle), at * math.sin(angle)
        media.append({"name": f"cell{number}", "channel": theirs, **cell})
        nodes.append({"name": f"ap{number}", "position": [round(x, 1), round(y, 1)], "transmit_power": _AP_DBM})
        nodes.append({"name": f"sta{number}", "position": [round(x + 3, 1), round(y, 1)]})
        links.append({"from": f"ap{number}", "to": f"sta{number}", "medium": f"cell{number}"})
        workload = {"kind": "cbr", "rate": f"{busy * _SINGLE_MBPS:.3f} Mbps", "packet": "1500 B"}
        flows.append({"transport": "udp", "from": f"ap{number}", "to": f"sta{number}", "workload": workload})
    return {
        "schema_version": 1,
        "title": f"windows-lte fig9, channel {channel}, {line}",
        "duration": f"{duration_s} s",
        "sample_interval": "500 ms",
        "start_jitter": "1 s",
        "node": nodes,
        "medium": media,
        "link": links,
        "flow": flows,
    }


#: EIRP that access points may have at 2.4 GHz in Europe, dBm.
_AP_DBM = 20


def _metres(dbm: float) -> float:
    """Distance of an access point by log-distance loss: 40.05 dB at 1 m, exponent 3."""
    return round(10 ** ((_AP_DBM - dbm - 40.05) / 30), 1)


def two_rtts(
    algorithm: str,
    *,
    rate: str = "11 Mbps",
    rtts_ms: Sequence[float] = (RTT_MS, 60.0),
    buffer_bdp: float = 1.0,
    profile: str = PROFILE,
    duration_s: float,
) -> dict[str, Any]:
    """Two flows of an algorithm; the buffer in BDP of the longer path."""
    buffer = f"{buffer_bdp:g} bdp({max(rtts_ms):g} ms)"
    return {
        "schema_version": 1,
        "title": f"windows-lte, {algorithm}, two RTTs",
        "duration": f"{duration_s} s",
        "start_jitter": "1 s",
        "dumbbell": {"bottleneck": {"rate": rate, "delay": "15 ms", "queue": {"capacity": buffer}}},
        "flow": [{"algorithm": algorithm, "rtt": f"{rtt:g} ms", "profile": profile} for rtt in rtts_ms],
    }


def overload(duration_s: float) -> dict[str, Any]:
    """Figure 1: two sources of 100 Mbit/s into a T1."""
    return {
        "schema_version": 1,
        "title": "windows-lte fig1, two sources into a T1",
        "duration": f"{duration_s} s",
        "start_jitter": "100 ms",
        "dumbbell": {
            "bottleneck": {"rate": "1544000 bps", "delay": "10 ms", "queue": {"capacity": "50 packets"}},
            "access": {"rate": "100 Mbps"},
        },
        "flow": [
            {
                "name": f"source{number}",
                "transport": "udp",
                "rtt": "40 ms",
                "workload": {"kind": "cbr", "rate": "100 Mbps", "packet": "1500 B"},
            }
            for number in range(2)
        ],
    }


def cubic_growth(duration_s: float) -> dict[str, Any]:
    """Figures 2 and 4: one flow of CUBIC on a line that no window here fills, and one packet that is lost."""
    lost = {"kind": "list", "indices": [3000], "counts": "payload"}
    bottleneck = {"rate": "2 Gbps", "delay": "20 ms", "queue": {"capacity": "unlimited"}, "loss": lost}
    return {
        "schema_version": 1,
        "title": "windows-lte, CUBIC's growth",
        "duration": f"{duration_s} s",
        "sample_interval": "50 ms",
        "dumbbell": {"bottleneck": bottleneck},
        "flow": [
            {
                "algorithm": "cubic",
                "rtt": f"{RTT_MS} ms",
                "profile": PROFILE,
                "stack": {"receive_window": "1 GB"},
            }
        ],
    }
