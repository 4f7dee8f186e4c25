"""What the IoT paper's experiments share: its path, its variants, three readings of its algorithm, what is measured.

Source: its section on simulation and its Table of parameters: access 1 Mbit/s, bottleneck 1.5 Mbit/s, DropTail with 50
packets, alpha 4, rho 0.50, sigma 0.80, tau 0.90.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import metrics
from cwndlab.reproduce.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: Timers of ns-2's own agents; those of TCP/Linux are the profile's.
_NATIVE = {"rto_arithmetic": "ticks", "rto_granularity": "10 ms", "rto_restart": "retransmission"}

#: Readings of the paper's algorithm, as options of ours.
READINGS: Mapping[str, Mapping[str, str]] = {
    "proposed": {},
    "proposed, β over the range": {"beta": "range"},
    "proposed, literal": {"mode": "literal", "increase": "literal"},
}
#: What it is held against: the algorithm and its stack.
VARIANTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "New Reno": ("reno/newreno", _NATIVE),
    "H-TCP": ("htcp", {}),
    "CUBIC": ("cubic-ns2", {}),
    "Fast-FIT": ("fast-fit", {}),
}
#: The proposed algorithm where H-TCP, CUBIC and Fast-FIT are: what their agent is worth by itself.
ON_LINUX = "proposed, on TCP/Linux"
ALL = (*VARIANTS, *READINGS, ON_LINUX)

ASSUMPTIONS = (
    "The RTT without queues is twice the bottleneck's delay: the paper gives no delay of its access links.",
    "Packets have 1000 bytes of payload and 40 of headers, ns-2's default. Every link's queue has 50 packets, "
    "hosts' too "
    "(ns-2's default), and does not count the packet in service: with a host that queues without bound, a flow "
    "that its "
    "access link holds builds up an RTT of tens of seconds.",
    "New Reno and the proposed algorithm, which is built on it, have the timers of ns-2's own agents (ticks of 10 ms); "
    "H-TCP, CUBIC and Fast-FIT are ns-2.35's TCP/Linux, with its selective acknowledgements and timers.",
    "The proposed algorithm contradicts its own units: the default divides the stamped bandwidth's share of the BDP by "
    'alpha and grows by (1 − β) per round trip; "β over the range" divides by RTT_max − RTT_min; "literal" takes '
    "bit/s for "
    "segments and Algorithm 3's step per ACK. Medium confidence; `cwndlab explain iotcc` lists each choice.",
    "Every router stamps the SYN-ACK with the least available bandwidth.",
    "Fast-FIT is our reconstruction from short descriptions, of low confidence.",
    "Throughput is payload delivered per time. Repetitions differ in a start jitter of up to a second per flow, "
    "since the "
    "paper does not say what varied.",
)


def proposed(reading: str, **parameters: float) -> tuple[str, Mapping[str, str]]:
    """The proposed algorithm in a reading, with parameters of its own."""
    options = {**READINGS[reading], **{name: f"{value:g}" for name, value in parameters.items()}}
    inside = ", ".join(f"{name}={value}" for name, value in options.items())
    return (f"iotcc({inside})/newreno" if inside else "iotcc/newreno"), _NATIVE


def variant(name: str) -> tuple[str, Mapping[str, str]]:
    """A variant or a reading by name."""
    if name == ON_LINUX:
        return "iotcc/fack", {}
    return proposed(name) if name in READINGS else VARIANTS[name]


def flow(chosen: tuple[str, Mapping[str, str]], rtt_ms: float, count: int = 1) -> dict[str, Any]:
    """FTP flows."""
    algorithm, stack = chosen
    return {
        "algorithm": algorithm,
        "rtt": f"{rtt_ms} ms",
        "count": count,
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
    tcp = ~pl.col("name").str.starts_with("background")
    each = metrics.goodput(records).filter(tcp)["goodput_bps"].to_list()
    found: dict[str, float | None] = {
        "goodput_bps": sum(each),
        "first_bps": each[0],
        "share": each[0] / sum(each),
        "off_share": abs(each[0] / sum(each) - 1 / len(each)),
        "timeouts": float(records.flows.filter(tcp)["timeouts"].sum()),
        "drops": float(records.flows.filter(tcp)["queue_drops"].sum()),
        "background_drops": float(records.flows.filter(~tcp)["queue_drops"].sum()),
        "queue_packets": metrics.queue(records)["queue_packets"][0],
        "utilisation": metrics.utilisation(records)["utilisation"][0],
        "unstamped": float((records.events["kind"] == "fallback").sum()),
    }
    spans: list[float] = []
    for end in SPANS_S:
        if end > duration:
            found[f"goodput_{end}_bps"] = None
            continue
        value = metrics.goodput(records, start_s=0, end_s=end).filter(tcp)["goodput_bps"][0]
        found[f"goodput_{end}_bps"] = value
        spans.append(value)
    found["spans_bps"] = sum(spans) / len(spans) if spans else None
    return found | _bands(records)


def _bands(records: Records) -> dict[str, float | None]:
    """β of the first flow as the paper prints it, at the sampling instants: its largest value and shares of the "
    "time."""
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
