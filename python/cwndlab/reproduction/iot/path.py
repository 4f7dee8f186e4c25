"""What the IoT paper's experiments share: its path, its variants, readings of its algorithm, measures.

Source: section 4: DropTail with 50 packets, alpha 4, rho 0.50, sigma 0.80, tau 0.90. The bottleneck of 1.5 Mbit/s is
that of Figures 3 and 9, the access links of 1 Mbit/s are those of Figure 3 (section 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.claims import Kind
from cwndlab.reproduction.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Timers of ns-2's own agents; those of TCP/Linux are the profile's.
NATIVE = {"rto_arithmetic": "ticks", "rto_granularity": "10 ms", "rto_restart": "retransmission"}

#: The paper's algorithm at the base assumptions: Eq. 1 and Algorithm 3 as printed, on the agent of its competitors.
PROPOSED = "proposed"
#: As printed: a bandwidth in segments/s is a window in segments, and the increase is 1/cwnd + (1 − β) per ACK.
_PRINTED = {"increase": "literal", "mode": "literal"}
#: Its readings: options of ours, and whether on ns-2's own agent.
READINGS: Mapping[str, tuple[Mapping[str, str], bool]] = {
    PROPOSED: (_PRINTED, False),
    "first window a share of the BDP": ({"increase": "literal"}, False),
    "increase (1 − β)/cwnd": ({"mode": "literal"}, False),
    "increase (2 − β)/cwnd": ({"increase": "sum", "mode": "literal"}, False),
    "native agent": (_PRINTED, True),
    "β over the range": ({**_PRINTED, "beta": "range"}, False),
}
#: What it is compared with: the algorithm and its stack.
VARIANTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "New Reno": ("reno/newreno", NATIVE),
    "H-TCP": ("htcp", {}),
    "CUBIC": ("cubic-ns2", {}),
    "Fast-FIT": ("fast-fit", {}),
}
ALL = (*VARIANTS, *READINGS)

ASSUMPTIONS = (
    "The bottleneck has 1.5 Mbit/s and access links have 1 Mbit/s, which the paper states for Figure 3 (§ 3.3), and of "
    "the bottleneck for Figure 9; § 4 has links of different rates and delays and tells neither.",
    "The RTT without queues is twice the stated delay: 50 ms are those of the path (§ 4), 20 ms those of the "
    "bottleneck "
    "(§ 3.3), and access links add none.",
    "Packets have 1000 bytes of payload and 40 of headers, ns-2's default. Every link's queue has 50 packets, hosts' "
    "too (ns-2's default), and does not count the packet in service: with a host that queues without bound, a flow "
    "that its access link holds builds up an RTT of tens of seconds.",
    "H-TCP, CUBIC and Fast-FIT are ns-2.35's TCP/Linux, with its selective acknowledgements and timers, and so is the "
    "proposed algorithm at the base assumptions. New Reno has the timers of ns-2's own agents (ticks of 10 ms).",
    "The proposed algorithm is as printed: Eqs. 1 to 3 divide and multiply a bandwidth in segments/s as if it were a "
    "window in segments, and Algorithm 3 adds 1/cwnd + (1 − β) per ACK. Other readings, each shown and not counted: a "
    "first window that is a share of the BDP, with which it is 1 or 2 segments here; an increase of (1 − β)/cwnd, the "
    "text's linear growth; (2 − β)/cwnd, Algorithm 3 with both terms over cwnd; ns-2's own agent; β over "
    "RTT_max − RTT_min. Medium confidence; `cwndlab explain iotcc` lists each choice.",
    "Every router stamps the SYN, where the text has the SYN-ACK, with the least available bandwidth, at least a "
    "hundredth of its capacity; Algorithm 1 prints a comparison that keeps the largest. The load is that of the 100 ms "
    "before the SYN. TCP flows start 3 s after the background, so that the handshake meets it.",
    "Fast-FIT is our reconstruction from short descriptions, of low confidence.",
    "Throughput is payload delivered per time since the TCP flows start. Repetitions differ in a start jitter of up to "
    "a second per flow, since the paper does not say what varied.",
)


def proposed(reading: str, **parameters: float) -> tuple[str, Mapping[str, str]]:
    """The proposed algorithm in a reading, with parameters of its own."""
    given, native = READINGS[reading]
    options = {**given, **{name: f"{value:g}" for name, value in parameters.items()}}
    inside = ", ".join(f"{name}={value}" for name, value in options.items())
    text = f"iotcc({inside})" if inside else "iotcc"
    return (f"{text}/newreno", NATIVE) if native else (f"{text}/fack", {})


def variant(name: str) -> tuple[str, Mapping[str, str]]:
    """A variant or a reading by name."""
    return proposed(name) if name in READINGS else VARIANTS[name]


def kind(reading: str) -> Kind:
    """A claim at the base assumptions, or a reading."""
    return "claim" if reading == PROPOSED else "reading"


#: The start of TCP flows beside background, which starts within the first second.
FIRST_S = 3.0
#: Every flow starts up to so much later.
JITTER_S = 1.0
#: What background consists of: at a constant rate, at that of video, or half of each.
Mix: TypeAlias = Literal["half", "cbr", "vbr"]


def flow(
    chosen: tuple[str, Mapping[str, str]], rtt_ms: float, count: int = 1, *, start_s: float = 0.0
) -> dict[str, Any]:
    """FTP flows."""
    algorithm, stack = chosen
    return {
        "algorithm": algorithm,
        "rtt": f"{rtt_ms} ms",
        "count": count,
        "start": f"{start_s} s",
        "profile": "ns2",
        "stack": {"mss": "1000 B", **stack},
    }


def background(rate_kbps: int, rtt_ms: float, mix: Mix = "half") -> list[dict[str, Any]]:
    """Datagrams both ways at ``rate_kbps`` each way."""
    kinds = ("cbr", "vbr") if mix == "half" else (mix,)
    return [
        {
            "name": f"background-{kind}-{direction}",
            "transport": "udp",
            "direction": direction,
            "rtt": f"{rtt_ms} ms",
            "workload": {"kind": kind, "rate": f"{rate_kbps / len(kinds)} kbps", "packet": "1000 B"},
        }
        for direction in ("forward", "reverse")
        for kind in kinds
    ]


def scenario(
    flows: Sequence[Mapping[str, Any]],
    *,
    delay_ms: float,
    duration_s: float,
    rate: str = "1.5 Mbps",
    access: str = "1 Mbps",
    counts_in_service: bool = False,
    schedule: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Flows over the paper's dumbbell; ``schedule`` has steps of the bottleneck."""
    queue = {"capacity": "50 packets", "counts_in_service": counts_in_service}
    bottleneck: dict[str, Any] = {"rate": rate, "delay": f"{delay_ms} ms", "queue": queue}
    bottleneck |= {"schedule": list(schedule)} if schedule else {}
    return {
        "schema_version": 1,
        "title": f"iot, {delay_ms:g} ms at the bottleneck",
        "duration": f"{duration_s} s",
        "start_jitter": f"{JITTER_S:g} s",
        "dumbbell": {
            "bottleneck": {**bottleneck, "agents": ["bandwidth-stamp"]},
            "access": {"rate": access, "queue": {"capacity": "50 packets"}},
        },
        "flow": list(flows),
    }


#: Ends of the spans from the start on over which throughput is taken.
SPANS_S = (25, 50, 75, 100, 125, 150)
#: What a start is: 20 round trips at 100 ms.
START_S = 2.0
#: Where the bands of β begin: less congested, steady, decrease.
_BANDS = {"less": 0.5, "steady": 0.8, "decrease": 0.9}
_HEADER_BYTES = 40


def measure(records: Records) -> dict[str, float | None]:
    """Throughput of the TCP flows together, also as a share of what their access links and the bottleneck carry; that
    of the first one, at its start and up to each of `SPANS_S`; the first one's share; timeouts, losses, queue; how
    often β stood in each band of the algorithm."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    tcp = ~pl.col("name").str.starts_with("background")
    ours = records.flows.filter(tcp)
    begin = float(ours["start_ns"].to_numpy().min()) / 1e9
    each = metrics.goodput(records, start_s=begin).filter(tcp)["goodput_bps"].to_list()
    fair = 1 / len(each)
    found: dict[str, float | None] = {
        "goodput_bps": sum(each),
        "delivered_share": sum(each) / _carried_bps(records, len(each), int(ours["mss_bytes"][0])),
        "first_bps": each[0],
        "share": each[0] / sum(each),
        "off_share": abs(each[0] / sum(each) - fair),
        "timeouts": float(ours["timeouts"].sum()),
        "drops": float(ours["queue_drops"].sum()),
        "background_drops": float(records.flows.filter(~tcp)["queue_drops"].sum()),
        "all_drops": float(records.flows["queue_drops"].sum()),
        "queue_packets": metrics.queue(records)["queue_packets"][0],
        "utilisation": metrics.utilisation(records, start_s=begin)["utilisation"][0],
        "unstamped": float((records.events["kind"] == "fallback").sum()),
        "goodput_2_bps": _first_bps(records, begin, begin + START_S),
    }
    for end in SPANS_S:
        within = begin + end <= duration
        found[f"goodput_{end}_bps"] = _first_bps(records, begin, begin + end) if within else None
    spans = [value for end in SPANS_S if (value := found[f"goodput_{end}_bps"]) is not None]
    first, third, last = (found[f"goodput_{end}_bps"] for end in (SPANS_S[0], SPANS_S[2], SPANS_S[-1]))
    found["late_ratio"] = None if not first or last is None else last / first
    found["last_half_ratio"] = None if not third or last is None else last / third
    found["spans_bps"] = sum(spans) / len(spans) if spans else None
    return found | _bands(records)


def _first_bps(records: Records, start_s: float, end_s: float) -> float | None:
    """Throughput of the first TCP flow in a span."""
    tcp = ~pl.col("name").str.starts_with("background")
    value: float | None = metrics.goodput(records, start_s=start_s, end_s=end_s).filter(tcp)["goodput_bps"][0]
    return value


def _carried_bps(records: Records, flows: int, mss: int) -> float:
    """The payload that so many flows can carry: their access links' or, where it is less, the bottleneck's."""
    rates = dict(records.links.select("name", "rate_bps").iter_rows())
    return float(min(rates["bottleneck"], flows * rates["s0-r1"])) * mss / (mss + _HEADER_BYTES)


def _bands(records: Records) -> dict[str, float | None]:
    """β of the first flow as the paper prints it, at the sampling instants: its largest value and shares of the
    time."""
    rtt = records.samples.filter((pl.col("flow") == 0) & pl.col("rtt_ns").is_not_null())["rtt_ns"]
    if not len(rtt):
        return dict.fromkeys(["beta_largest", *(f"beta_{name}" for name in (*_BANDS, "constant"))])
    beta = (rtt - rtt.cum_min()) / rtt.cum_max()
    largest: dict[str, float | None] = {"beta_largest": float(beta.to_numpy().max())}
    shares = {f"beta_{name}": float((beta >= bound).sum()) / len(beta) for name, bound in _BANDS.items()}
    return largest | shares | {"beta_constant": shares["beta_steady"] - shares["beta_decrease"]}


def measure_over_time(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Throughput of the first flow over time, in kbit/s."""
    flows = metrics.flows_over_time(records, window_s=2.0, start_s=0.0).filter(pl.col("flow") == 0)
    return {"goodput": (flows["time_s"].to_list(), (flows["goodput_bps"] / 1e3).to_list())}


def bands(measured: Measured, **where: Any) -> str:
    """How high β came and how often each band was reached, as words."""
    least, less, steady, down = (
        measured.estimate(f"beta_{name}", **where).mean for name in ("largest", "less", "steady", "decrease")
    )
    return (
        f"β reaches {least:.2f}; of the samples {less:.1%} are at or above rho, {steady:.1%} sigma and {down:.1%} tau"
    )


def troubles(measured: Measured, **where: Any) -> str:
    """Timeouts, drops and queue, as words."""
    late, drops, queue = (measured.estimate(metric, **where).mean for metric in ("timeouts", "drops", "queue_packets"))
    return f"{late:.1f} timeouts and {drops:.0f} packets dropped a run, {queue:.1f} packets of mean queue"
