"""What the PHCC paper's experiments share: its variants, its path, what is measured.

Source: its section on simulation: links of 200 Mbit/s with 20 ms each, one shared bottleneck, packets of 1000 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.cases import Case
from cwndlab.reproduction.claims import Kind
from cwndlab.reproduction.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The paper's names and ours. `phcc` and `hcc` are reconstructions.
VARIANTS = {
    "Vegas": "vegas",
    "Reno": "reno",
    "STCP": "scalable",
    "HSTCP": "highspeed",
    "H-TCP": "htcp",
    "Illinois": "illinois",
    "BIC": "bic",
    "FAST": "fast",
    "HCC": "hcc",
    "PHCC": "phcc(eq3=clamp, pacing=off)",
    "PHCC, α = 20": "phcc(alpha=20, eq3=clamp, pacing=off)",
    "PHCC, mean, paced": "phcc",
}
#: PHCC with another α, which the paper leaves open; with the mean of Eq. 3's two probabilities and paced: readings.
PHCC_20, PHCC_PACED = "PHCC, α = 20", "PHCC, mean, paced"
READINGS = (PHCC_20, PHCC_PACED)
#: The high-speed variants that the paper puts PHCC beside; and those whose queues Fig. 11's text calls growing.
HIGH_SPEED = ("STCP", "HSTCP", "H-TCP", "Illinois", "BIC", "FAST", "HCC")
LOSS_BASED = ("STCP", "HSTCP", "H-TCP", "BIC")
#: Line rate, and its round trip of three links with 20 ms each.
RATE_BPS, RTT_MS = 200_000_000, 120.0
#: Packets of 1000 bytes that the path holds without a queue.
BDP_PACKETS = 3000
#: What PHCC's delay target aims at, in packets: our default, since the paper names none.
ALPHA = 100
#: Rates of access links: the paper's, and one at which a single flow queues at the bottleneck and not at its host.
STATED_ACCESS, FAST_ACCESS = "200 Mbps", "1 Gbps"
#: Seconds between the starts of flows that come one after another.
STEP_S = 10.0
#: From this Jain's index on shares are fair: the margin of relevance below 1. The paper gives no bound.
FAIR = 0.98
#: A share of one kind of flows within these counts as a half.
HALF = (0.45, 0.55)


def kind(variant: str) -> Kind:
    """Of a claim on a variant: PHCC as it is read elsewhere is not a claim of the paper."""
    return "reading" if variant in READINGS else "claim"


def headline(variant: str, name: str) -> str:
    """The key of the headline of which a claim on a variant is evidence."""
    return f"phcc:{name}" if variant == "PHCC" else ""


ASSUMPTIONS = (
    "Each of the three links of the path has 20 ms, which gives the 120 ms that the paper names for its tables; "
    "where it "
    "names another RTT, each has a sixth of it.",
    "All links have 200 Mbit/s, as § 4 states, where several flows run. One flow has access links of 1 Gbit/s: at the "
    "bottleneck's own 200 Mbit/s it would queue at its host, and the buffer that the paper varies would stay empty.",
    "A packet has 1000 bytes on the wire and all of them count, as with ns-2's Vegas agent, on which the paper's "
    "code is "
    "based: the tables' 195 Mbit/s of 200 leave no room for headers.",
    "The stack is ns-2's, one ACK per packet. The paper takes the default parameters of ns-2.35's modules; every "
    "variant here is its own source's with our defaults, and ns-2's are a dimension of the multiverse.",
    "PHCC is our reconstruction: its phases follow the paper, its estimators and the weight of alpha (100 packets) are "
    "ours, of medium to low confidence; `cwndlab explain phcc` lists each choice. HCC is reconstructed from an "
    "abstract, of low confidence.",
    "Eq. 3 is the printed sum of two probabilities, at most 1, and PHCC is not paced, since the paper does not mention "
    "pacing. The mean of both with pacing is a reading.",
    "The paper leaves α of Eq. 6 open: the base is 100 packets, and 20 is a reading.",
    "The paper calls the figure of the topology Fig. 6 and Fig. 10 Fig. 9; § 4's order decides which is meant.",
    "Throughput is payload delivered per time, over the whole run from the first start on.",
    "Repetitions differ in a start jitter of up to one RTT per flow, since the paper does not say what varied.",
)

#: Lines of a figure have about so many points.
_POINTS = 200


def scenario(
    algorithms: Sequence[str],
    *,
    buffer: int,
    duration_s: float,
    rtt_ms: float = RTT_MS,
    starts_s: Sequence[float] | None = None,
    loss: float = 0.0,
    sample_ms: float = 100.0,
    access: str | None = None,
) -> dict[str, Any]:
    """One flow per algorithm over the paper's dumbbell; ``access`` is the rate of the access links, by default the
    stated one where several flows run."""
    starts = starts_s if starts_s is not None else [0.0] * len(algorithms)
    bottleneck: dict[str, Any] = {
        "rate": f"{RATE_BPS // 1_000_000} Mbps",
        "delay": f"{rtt_ms / 6} ms",
        "queue": {"capacity": f"{buffer} packets"},
    }
    if loss:
        bottleneck["loss"] = {"kind": "bernoulli", "p": loss}
    return {
        "schema_version": 1,
        "title": f"phcc {', '.join(algorithms)}, {buffer} packets, {rtt_ms:g} ms",
        "duration": f"{duration_s} s",
        "start_jitter": "rtt",
        "sample_interval": f"{sample_ms} ms",
        "dumbbell": {"bottleneck": bottleneck, "access": {"rate": access or _access(len(algorithms))}},
        "flow": [
            {
                "algorithm": algorithm,
                "rtt": f"{rtt_ms} ms",
                "start": f"{start} s",
                "profile": "ns2",
                "stack": {"mss": "1000 B", "header": "0 B"},
            }
            for algorithm, start in zip(algorithms, starts, strict=True)
        ],
    }


def _access(flows: int) -> str:
    """The rate of the access links."""
    return STATED_ACCESS if flows > 1 else FAST_ACCESS


def alone(variant: str, *, buffer: int, duration_s: float, labels: Mapping[str, str | float], **path: Any) -> Case:
    """One flow of a variant."""
    document = scenario([VARIANTS[variant]], buffer=buffer, duration_s=duration_s, **path)
    return Case({"variant": variant, **labels}, document, measure, trace)


def measure(records: Records) -> dict[str, float | None]:
    """The summary; each flow's goodput; fairness once all have started; the share of the first half of the flows; when
    the line was first busy; the error of what flows take for their base RTT."""
    found = dict(metrics.summary(records))
    goodputs = metrics.goodput(records)["goodput_bps"].to_list()
    for index in range(4):
        found[f"goodput_{index + 1}_bps"] = goodputs[index] if index < len(goodputs) else None
    first, rest = goodputs[: len(goodputs) // 2], goodputs[len(goodputs) // 2 :]
    found["first_share"] = sum(first) / (sum(first) + sum(rest)) if first else None
    found["jain_of_kinds"] = metrics.jain([sum(first), sum(rest)]) if first else None
    last = max(records.flows["start_ns"].to_list()) / 1e9
    found["jain_together"] = metrics.fairness(records, start_s=math.ceil(last))["jain"][0]
    lowest = [one for one in (records.flows["min_rtt_ns"] - records.flows["base_rtt_ns"]).to_list() if one is not None]
    found["base_error_ms"] = max(lowest) / 1e6 if lowest else None
    found["time_to_full_utilisation_s"] = _fill(records)
    found["cov_1s_of_first"] = metrics.oscillation(records, scales_s=(1.0,))["cov"][0]
    if len(goodputs) > 1 and last >= STEP_S:
        # Before the second start: of the jitter up to one RTT may be missing.
        alone = metrics.utilisation(records, start_s=1.0, end_s=STEP_S)
        found["early_utilisation"] = alone["utilisation"][0]
    else:
        found["early_utilisation"] = None
    return found


#: The line is in full use when it is busy for so much of a sampling interval.
_FULL = 0.95


def _fill(records: Records) -> float | None:
    line = records.link_samples.filter(pl.col("link") == 0).sort("time_ns")
    busy = line.select(
        pl.col("time_ns"), pl.col("sent_bytes").diff() * 8e9 / (pl.col("time_ns").diff() * RATE_BPS)
    ).filter(pl.col("sent_bytes") >= _FULL)
    start = min(records.flows["start_ns"].to_list())
    return (busy["time_ns"][0] - start) / 1e9 if len(busy) else None


def trace(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Goodput of each flow over time, in Mbit/s."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    flows = metrics.flows_over_time(records, window_s=duration / _POINTS, start_s=0.0)
    lines = {}
    for flow in range(len(records.flows)):
        mine = flows.filter(pl.col("flow") == flow)
        lines[f"goodput_{flow + 1}"] = (mine["time_s"].to_list(), (mine["goodput_bps"] / 1e6).to_list())
    return lines


def measure_phases(records: Records) -> dict[str, float | None]:
    """Growth per round trip up to the first loss and from its repair on, what the loss leaves, how the window rests."""
    mss = int(records.flows["mss_bytes"][0])
    window = records.samples.select("time_ns", (pl.col("cwnd_bytes") / mss).alias("cwnd"))
    cuts = records.events.filter(pl.col("kind").is_in(["recovery", "timeout"]))
    repaired = records.events.filter(pl.col("kind") == "recovered")
    end = int(window["time_ns"].to_list()[-1])
    cut = int(cuts["time_ns"][0]) if len(cuts) else end
    again = int(repaired["time_ns"][0]) if len(repaired) else end
    rest = window.filter(pl.col("time_ns") > end // 2)["cwnd"].to_list()
    before, after = (cuts["cwnd_before_bytes"][0], cuts["cwnd_after_bytes"][0]) if len(cuts) else (None, None)
    return {
        "first_growth": _growth(window.filter((pl.col("cwnd") < BDP_PACKETS / 2) & (pl.col("time_ns") < cut))),
        "cut": None if before is None else after / before,
        "second_growth": _growth(window.filter(pl.col("time_ns").is_between(again, again + 2 * 10**9))),
        "rest_cv": pstdev(rest) / fmean(rest),
        "cuts": float(len(cuts)),
        "rest_queue_packets": _queue(records, end / 2e9),
    }


def _queue(records: Records, start_s: float) -> float:
    return float(metrics.queue(records, start_s=round(start_s))["queue_packets"][0])


def _growth(window: pl.DataFrame) -> float | None:
    """Geometric mean of the factor per base RTT, from samples of a sixth of it."""
    values = [value for value in window["cwnd"].to_list() if value > 0]
    steps = [math.log(b / a) for a, b in pairwise(values)]
    return math.exp(6 * fmean(steps)) if steps else None


def trace_window(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """The window over time, in packets."""
    mss = int(records.flows["mss_bytes"][0])
    samples = records.samples
    return {"cwnd": ((samples["time_ns"] / 1e9).to_list(), (samples["cwnd_bytes"] / mss).to_list())}


def troubles(measured: Measured, **where: Any) -> str:
    """Congestion events, timeouts and mean queue of the runs with these labels, as words."""
    events, late, queue = (
        measured.estimate(metric, **where).mean for metric in ("congestion_events", "timeouts", "queue_packets")
    )
    return f"{events:.1f} congestion events and {late:.1f} timeouts a run, {queue:.0f} packets of mean queue"
