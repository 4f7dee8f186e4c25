"""What the IoT paper's experiments share: its path, its variants, readings of its algorithm, measures.

Source: its sections 3.3 and 4: access 1 Mbit/s, bottleneck 1.5 Mbit/s, DropTail with 50
packets, alpha 4, rho 0.50, sigma 0.80, tau 0.90.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.claims import Kind
from cwndlab.reproduction.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Timers of ns-2's own agents; those of TCP/Linux are the profile's.
NATIVE = {"rto_arithmetic": "ticks", "rto_granularity": "10 ms", "rto_restart": "retransmission"}

#: The paper's algorithm at the base assumptions: the printed increase, on the agent of its competitors.
PROPOSED = "proposed"
#: Its readings: options of ours, and whether on ns-2's own agent.
READINGS: Mapping[str, tuple[Mapping[str, str], bool]] = {
    PROPOSED: ({"increase": "literal"}, False),
    "increase (1 − β)/cwnd": ({}, False),
    "increase (2 − β)/cwnd": ({"increase": "sum"}, False),
    "native agent": ({"increase": "literal"}, True),
    "β over the range": ({"increase": "literal", "beta": "range"}, False),
    "bit/s as segments": ({"increase": "literal", "mode": "literal"}, False),
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
    "The RTT without queues is twice the bottleneck's delay: the paper gives no delay of its access links.",
    "Packets have 1000 bytes of payload and 40 of headers, ns-2's default. Every link's queue has 50 packets, hosts' "
    "too (ns-2's default), and does not count the packet in service: with a host that queues without bound, a flow "
    "that its access link holds builds up an RTT of tens of seconds.",
    "H-TCP, CUBIC and Fast-FIT are ns-2.35's TCP/Linux, with its selective acknowledgements and timers, and so is the "
    "proposed algorithm at the base assumptions: its increase is the printed one, 1/cwnd + (1 − β) per ACK. New Reno "
    "has the timers of ns-2's own agents (ticks of 10 ms).",
    "The paper contradicts its own units: the first window is the stamped bandwidth's share of the BDP divided by "
    "alpha. Other readings, each shown and not counted: an increase of (1 − β)/cwnd, the text's linear growth; "
    "(2 − β)/cwnd, Algorithm 3 with both terms over cwnd; the printed increase on ns-2's own agent; β over "
    "RTT_max − RTT_min; bit/s taken for segments. Medium confidence; `cwndlab explain iotcc` lists each choice.",
    "Every router stamps the SYN-ACK with the least available bandwidth. TCP flows start 3 s after the background, so "
    "that the handshake meets it.",
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


def background(rate_kbps: int, rtt_ms: float) -> list[dict[str, Any]]:
    """Datagrams both ways, half of them at a constant rate and half at that of video."""
    return [
        {
            "name": f"background-{kind}-{direction}",
            "transport": "udp",
            "direction": direction,
            "rtt": f"{rtt_ms} ms",
            "workload": {"kind": kind, "rate": f"{rate_kbps / 2} kbps", "packet": "1000 B"},
        }
        for direction in ("forward", "reverse")
        for kind in ("cbr", "vbr")
    ]


def scenario(flows: Sequence[Mapping[str, Any]], *, delay_ms: float, duration_s: float) -> dict[str, Any]:
    """Flows over the paper's dumbbell."""
    return {
        "schema_version": 1,
        "title": f"iot, {delay_ms:g} ms at the bottleneck",
        "duration": f"{duration_s} s",
        "start_jitter": "1 s",
        "dumbbell": {
            "bottleneck": {
                "rate": "1.5 Mbps",
                "delay": f"{delay_ms} ms",
                "queue": {"capacity": "50 packets"},
                "agents": ["bandwidth-stamp"],
            },
            "access": {"rate": "1 Mbps", "queue": {"capacity": "50 packets"}},
        },
        "flow": list(flows),
    }


#: Ends of the spans from the start on over which throughput is taken.
SPANS_S = (25, 50, 75, 100, 125, 150)
#: Where the bands of β begin: less congested, steady, decrease.
_BANDS = {"less": 0.5, "steady": 0.8, "decrease": 0.9}


def measure(records: Records) -> dict[str, float | None]:
    """Throughput of the TCP flows together and of the first one, up to each of `SPANS_S` too; the first one's share;
    timeouts, losses, queue; how often β stood in each band of the algorithm."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    begin = FIRST_S if records.flows["name"].str.starts_with("background").any() else 0.0
    tcp = ~pl.col("name").str.starts_with("background")
    each = metrics.goodput(records, start_s=begin).filter(tcp)["goodput_bps"].to_list()
    found: dict[str, float | None] = {
        "goodput_bps": sum(each),
        "first_bps": each[0],
        "share": each[0] / sum(each),
        "off_share": abs(each[0] / sum(each) - 1 / len(each)),
        "timeouts": float(records.flows.filter(tcp)["timeouts"].sum()),
        "drops": float(records.flows.filter(tcp)["queue_drops"].sum()),
        "background_drops": float(records.flows.filter(~tcp)["queue_drops"].sum()),
        "queue_packets": metrics.queue(records)["queue_packets"][0],
        "utilisation": metrics.utilisation(records, start_s=begin)["utilisation"][0],
        "unstamped": float((records.events["kind"] == "fallback").sum()),
    }
    spans: list[float] = []
    for end in SPANS_S:
        if begin + end > duration:
            found[f"goodput_{end}_bps"] = None
            continue
        value = metrics.goodput(records, start_s=begin, end_s=begin + end).filter(tcp)["goodput_bps"][0]
        found[f"goodput_{end}_bps"] = value
        spans.append(value)
    first, last = (found[f"goodput_{end}_bps"] for end in (SPANS_S[0], SPANS_S[-1]))
    found["late_ratio"] = None if not first or last is None else last / first
    found["spans_bps"] = sum(spans) / len(spans) if spans else None
    return found | _bands(records)


def _bands(records: Records) -> dict[str, float | None]:
    """β of the first flow as the paper prints it, at the sampling instants: its largest value and shares of the
    time."""
    rtt = records.samples.filter((pl.col("flow") == 0) & pl.col("rtt_ns").is_not_null())["rtt_ns"]
    if not len(rtt):
        return dict.fromkeys(["beta_largest", *(f"beta_{name}" for name in _BANDS)])
    beta = (rtt - rtt.cum_min()) / rtt.cum_max()
    largest: dict[str, float | None] = {"beta_largest": float(beta.to_numpy().max())}
    return largest | {f"beta_{name}": float((beta >= bound).sum()) / len(beta) for name, bound in _BANDS.items()}


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
