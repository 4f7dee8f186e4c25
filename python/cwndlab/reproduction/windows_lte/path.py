"""What the Windows study's experiments share: its algorithms, its stack, its path.

Source: its section on the set-up and its tables: a download over 2.4 GHz 802.11n (20 MHz, channel 1, -57 dBm) and LTE
from a server that is 17 hops and 177 to 468 ms away, 252 ms on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cwndlab import metrics

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The profile that the study's own `Get-NetTCPSetting` shows.
PROFILE = "windows-10-20h1"
#: Mean RTT to the server.
RTT_MS = 252.0
#: Windows' CUBIC has HyStart, its Compound TCP and NewReno start as RFC 5681 says.
ALGORITHMS = {"NewReno": "reno", "CTCP": "ctcp", "CUBIC": "cubic"}

#: The LTE hop's own delay one way, and what its queue for one user holds.
_LTE_MS, _LTE_QUEUE = 15.0, "1000 packets"
#: The link from the LTE core to the access point. The way up, for ACKs only, has the same.
_LTE: Mapping[str, Any] = {
    "trace": "lte-stationary",
    "harq": {},
    "delay": f"{_LTE_MS} ms",
    "queue": {"capacity": _LTE_QUEUE},
}

ASSUMPTIONS = (
    "The study changed the setting of the client, but a download's congestion control is the sender's: here the "
    "server's "
    "is changed.",
    "The server stands behind the delay that 252 ms leave; the LTE hop has 15 ms of it one way.",
    "The LTE hop is the bundled synthetic trace of a user who stands still, with HARQ's retransmissions and "
    f"{_LTE_QUEUE} of "
    "queue for the one user: the study tells neither the cell's capacity nor its queue, so that throughputs are "
    "shown and "
    "their ratios judged.",
    "802.11n has 20 MHz, one stream and MCS 7, which -57 dBm allows, and no neighbours.",
    "The study does not say what 17 hops lose at random: nothing at the base assumptions; random losses of 0.0001 and "
    "0.001 are other readings.",
    "Six runs differ in their start by up to 30 s, not in the time of day. Downloads last "
    "as long as the run; the study's 4 to 5 GB are those of a full run.",
    "CTCP and CUBIC are their sources' (CUBIC that of RFC 9438, with HyStart++): Windows' own modules are not public.",
)


def scenario(
    algorithm: str, *, loss: float, duration_s: float, rtt_ms: float = RTT_MS, profile: str = PROFILE
) -> dict[str, Any]:
    """One download: server, LTE core, access point, client."""
    one_way_ms = rtt_ms / 2 - _LTE_MS
    server: dict[str, Any] = {"name": "internet", "from": "server", "to": "core", "rate": "1 Gbps"}
    server |= {"delay": f"{one_way_ms} ms", "queue": {"capacity": "unlimited"}}
    if loss:
        server["loss"] = {"kind": "bernoulli", "p": loss}
    return {
        "schema_version": 1,
        "title": f"windows-lte, {algorithm}, loss {loss:g}",
        "duration": f"{duration_s} s",
        "sample_interval": "500 ms",
        "start_jitter": "30 s",
        "node": [{"name": name} for name in ("server", "core", "ap", "client")],
        "medium": [{"name": "cell", "standard": "802.11n", "mcs": 7}],
        "link": [
            server,
            {"name": "lte", "from": "core", "to": "ap", **_LTE},
            {"name": "air", "from": "ap", "to": "client", "medium": "cell", "queue": {"capacity": "300 packets"}},
        ],
        "flow": [{"algorithm": algorithm, "from": "server", "to": "client", "profile": profile}],
    }


def measure(records: Records) -> dict[str, float | None]:
    """Throughput from the start on, what the LTE hop's queue held and dropped, timeouts, the mean RTT."""
    lte = records.links.filter(records.links["name"] == "lte").row(0, named=True)
    flow = records.flows.row(0, named=True)
    return {
        "goodput_bps": metrics.goodput(records)["goodput_bps"][0],
        "lte_queue_packets": float(lte["mean_queue_packets"]),
        "lte_drops": float(lte["dropped_packets"]),
        "lte_utilisation": float(lte["utilisation"]),
        "losses": float(flow["wire_losses"]),
        "timeouts": float(flow["timeouts"]),
        "recoveries": float(flow["recoveries"]),
        "mean_rtt_ms": flow["mean_rtt_ns"] / 1e6 if flow["mean_rtt_ns"] else None,
    }


def trace(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Throughput over time, in Mbit/s."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    flows = metrics.flows_over_time(records, window_s=duration / 120, start_s=0.0)
    return {"goodput": (flows["time_s"].to_list(), (flows["goodput_bps"] / 1e6).to_list())}
