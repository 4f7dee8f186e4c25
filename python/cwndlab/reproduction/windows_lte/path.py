"""What the Windows study's experiments share: its algorithms, its stack, its path.

Source: its sections Methodology and Results: a download over 2.4 GHz 802.11n (20 MHz, channel 1, -57 dBm) and LTE from
a server 252 ms away, the mean of four pings (177, 181, 183, 468 ms); the list at the head of Methodology has 200 ms.
Its route has 17 hops there and in Figure 13, 16 in Table I, whose margin has "11 (Mbps)", the only rate of the access.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cwndlab import metrics

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The profile that the study's own `Get-NetTCPSetting` shows.
PROFILE = "windows-10-20h1"
#: A packet of a full segment, with its headers.
PACKET_BYTES = 1500
#: Mean RTT to the server, ms: Table I and Figure 14.
RTT_MS = 252.0
#: Windows' CUBIC has HyStart, its Compound TCP and NewReno start as RFC 5681 says.
ALGORITHMS = {"NewReno": "reno", "CTCP": "ctcp", "CUBIC": "cubic"}

#: The LTE hop's own delay one way.
_LTE_MS = 15.0
#: The mean of the bundled trace with opportunities of 1500 bytes, Mbit/s.
_TRACE_MBPS = 19.91
#: What the queue for one user of the LTE hop holds, and the mean rate of the cell: Table I's "11 (Mbps)".
QUEUE, CELL_MBPS = "1000 packets", 11.0


def varying(mbps: float) -> dict[str, Any]:
    """The line of a user who stands still: the bundled trace, its opportunities scaled to a mean rate."""
    return {"trace": {"file": "lte-stationary", "bytes": round(PACKET_BYTES * mbps / _TRACE_MBPS)}}


ASSUMPTIONS = (
    "The study set the client (its registry and scripts), but a download's congestion control is the sender's: here "
    "the server's is changed. Read literally its sender never changed, and no algorithm could differ from another.",
    f"The RTT is {RTT_MS:g} ms, the study's mean of four pings; its text has 200 ms too, and three of the pings took "
    "177 to 183 ms. It says that the mean is of several times of the day. The server stands behind the delay that this "
    "leaves; the LTE hop has 15 ms of it one way.",
    f"The LTE hop is the bundled synthetic trace of a user who stands still, scaled to {CELL_MBPS:g} Mbit/s on "
    "average, "
    'the "11 (Mbps)" in the margin of Table I, which the study does not explain; with HARQ\'s retransmissions and '
    f"{QUEUE} of queue for the one user, which it does not give. Throughputs are shown and their ratios judged.",
    "802.11n has 20 MHz, one stream and MCS 7, which -57 dBm allows, and no neighbours.",
    "The study does not say what its 17 hops (16 in Table I) lose at random: nothing at the base assumptions; random "
    "losses of 0.0001 and 0.001 are other readings.",
    "Six runs differ in their start by up to 30 s, not in the time of day. Downloads last as long as the run: at the "
    "study's rates its 5.1 GB (Table I; 4 to 5 GB in the abstract) take 5,500 to 7,300 s.",
    "CTCP and CUBIC are their sources' (CUBIC that of RFC 9438, with HyStart++): Windows' own modules are not public.",
)


def scenario(
    algorithm: str,
    *,
    loss: float,
    duration_s: float,
    rtt_ms: float = RTT_MS,
    profile: str = PROFILE,
    line: Mapping[str, Any] | None = None,
    queue: str = QUEUE,
    harq: bool = True,
) -> dict[str, Any]:
    """One download: server, LTE core, access point, client. ``line`` is that of the LTE hop, a trace or a rate; the way
    up, for ACKs only, has the same."""
    one_way_ms = rtt_ms / 2 - _LTE_MS
    server: dict[str, Any] = {"name": "internet", "from": "server", "to": "core", "rate": "1 Gbps"}
    server |= {"delay": f"{one_way_ms} ms", "queue": {"capacity": "unlimited"}}
    if loss:
        server["loss"] = {"kind": "bernoulli", "p": loss}
    lte = {**(varying(CELL_MBPS) if line is None else line), "delay": f"{_LTE_MS} ms", "queue": {"capacity": queue}}
    if harq:
        lte["harq"] = {}
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
            {"name": "lte", "from": "core", "to": "ap", **lte},
            {"name": "air", "from": "ap", "to": "client", "medium": "cell", "queue": {"capacity": "300 packets"}},
        ],
        "flow": [{"algorithm": algorithm, "from": "server", "to": "client", "profile": profile}],
    }


def measure(records: Records) -> dict[str, float | None]:
    """Throughput from the flow's start on, also as a share of the payload that the LTE line could have carried since
    then, and that line's use; what its queue held and dropped; timeouts, the mean RTT."""
    lte = records.links.filter(records.links["name"] == "lte").row(0, named=True)
    flow = records.flows.row(0, named=True)
    start_s = flow["start_ns"] / 1e9
    span_s = float(records.rows("runs")[0]["duration_ns"]) / 1e9 - start_s
    used = metrics.utilisation(records, start_s=start_s)
    use = float(used.filter(used["link"] == "lte")["utilisation"][0])
    sent_bps = float(lte["sent_bytes"]) * 8 / span_s
    goodput_bps = float(metrics.goodput(records)["goodput_bps"][0])
    return {
        "goodput_bps": goodput_bps,
        "delivered_share": use * goodput_bps / (sent_bps * flow["mss_bytes"] / PACKET_BYTES),
        "lte_queue_packets": float(lte["mean_queue_packets"]),
        "lte_drops": float(lte["dropped_packets"]),
        "lte_utilisation": use,
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
