"""What the CCM-SS paper's experiments share: its grid, its path, readings with their baselines, measures.

Source: its Table 3 and section V.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import metrics
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.claims import Control, Kind
from cwndlab.reproduction.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The band of B·D in which μ can change where slow start ends: between 0.2 (μ = 1) and 0.3 (μ = 1.5).
BAND = (0.2, 0.3)
#: Below this Jain's index of a second is "unfair", as the example of § V-B's Fig. 7(a) has 0.9 for fair flows.
FAIR_SECOND = 0.9
#: Parts of a run whose losses are counted apart; of 600 s the second one begins at the 200 s of Fig. 12(a).
PARTS = 3
LATER = tuple(f"drops_per_s_{part}" for part in range(2, PARTS + 1))

#: The stack of ns-2's senders: initial window 2 and one ACK per segment.
NS2: Mapping[str, Any] = {"profile": "ns2", "stack": {"initial_window": 2, "ack_every": 1}}
LINUX: Mapping[str, Any] = {"profile": "linux", "stack": {"mss": "1460 B", "header": "40 B", "ack": "40 B"}}
#: Starts of the second flow, § V-B: at 2 s for fairness, at 150 s for convergence.
SOON, LATE = "soon", "late"

#: What the paper contradicts or leaves out in all its experiments.
ASSUMPTIONS = (
    "CUBIC avoids congestion on both sides, since § V-B 3 replaces nothing but the slow start's module. Algorithm 1, "
    "the printed pseudo-code, has Reno's avoidance in its last branch; put into CUBIC, as § VII says, it would replace "
    "CUBIC. It is a reading, on both sides and on the side of CCM-SS alone.",
    "The baseline is HyStart with both bounds and β = 0.2, as § VI-B and Fig. 10 describe it: this is CCM-SS with "
    "μ = 1. HyStart as published, without bounds, is a reading.",
    "§ VI-B vi calls β, which becomes μβ, a multiplicative decrease parameter; elsewhere it only scales the lower "
    "bound. The base leaves CUBIC's decrease alone; 0.3 in place of CUBIC's 0.2 is a reading.",
    "Eq. 17 is read as B = cwnd / minD, what Eqs. 12 and 16 give; slow start's +1 per ACK, which the paper calls "
    "congestion avoidance, is slow start.",
    "The initial window is ns-2's 2. § I starts with one packet; § VI and Fig. 11 set it after B and the RTT are "
    "known; § V-B names none.",
    'Buffers of 0.01 to 2 "percent" of the BDP are fractions of it; Table 3 has the figures without percent.',
    "The BDP of a buffer is that of the longer RTT. Eq. 13 takes half of an RTT, and § V-B says neither that nor whose "
    "RTT.",
    "The delay of the bottleneck is a quarter of the shorter RTT, since the paper gives none; the rest is on the "
    "access links, whose rate is twice the bottleneck's: Table 3 has the two ranges and not how they go together.",
    "Runs last 600 s, as in Table 3; § V-B has 600 and 300 s and does not say which of its experiments have which.",
    "Repetitions differ in a start jitter of up to one RTT per flow, since § V-B does not say what varied.",
    "The loss rate is drops of the bottleneck's queue per second, the paper's definition.",
    'Protocol fairness is Jain\'s index, § IV-A. § V-B has 0 where flows are unfair "even for a single moment", '
    f"which reads as unfair in any second or as never fair; a second is fair from an index of {FAIR_SECOND} on.",
)


@dataclass(frozen=True)
class Reading:
    """A reading of the paper: CCM-SS, and the baseline against which it is compared."""

    name: str
    base: str
    base_name: str
    module: str
    kind: Kind = "reading"
    has_one_difference: bool = True
    """Whether the sides differ in nothing but μ."""

    @property
    def sides(self) -> tuple[dict[str, str], dict[str, str]]:
        """Labels of CCM-SS, and of the baseline."""
        return {"reading": self.name, "module": "CCM-SS"}, {"reading": self.name, "module": self.base_name}


#: The paper's β, and μβ; bytes of a segment.
BETA, MU_BETA, SEGMENT_BYTES = 0.2, 0.3, 1460
_MU_1 = "HyStart with both bounds (μ = 1)"
_PLAIN = "HyStart without bounds"
READINGS = (
    Reading("both bounds", "cubic-ns2+ccm-ss(mu=1)/sack", _MU_1, "cubic-ns2+ccm-ss/sack", "claim"),
    Reading("no bounds", "cubic-ns2+hystart/sack", _PLAIN, "cubic-ns2+ccm-ss/sack", has_one_difference=False),
    Reading("Algorithm 1", "reno+ccm-ss(mu=1)/sack", _MU_1, "reno+ccm-ss/sack"),
    Reading(
        "Algorithm 1 with CCM-SS only",
        "cubic-ns2+ccm-ss(mu=1)/sack",
        _MU_1,
        "reno+ccm-ss/sack",
        has_one_difference=False,
    ),
    # 819 and 717 of 1024: CUBIC's own decrease by 0.2, and by 0.3.
    Reading(
        "μβ as the decrease",
        "cubic-linux(beta=819)+ccm-ss(mu=1)/sack",
        _MU_1,
        "cubic-linux(beta=717)+ccm-ss/sack",
        has_one_difference=False,
    ),
)
#: The base assumptions.
PRIMARY = READINGS[0]

#: RTT of the first flow, and of the second one, in ms, by set.
SETS: dict[str, tuple[int, range]] = {
    "long, different": (100, range(50, 191, 20)),
    "long, similar": (190, range(50, 191, 20)),
    "short, different": (50, range(2, 17, 2)),
    "short, similar": (16, range(2, 17, 2)),
}

#: Labels of the sets: § V-B has the RTTs that Table 3 calls different; the similar ones are in Table 3 only.
SET_LABELS = {name: dict(zip(("network", "rtts"), name.split(", "), strict=True)) for name in SETS}
#: The RTTs of Fig. 14, which names none.
LATE_RTTS_MS = (100, 190)

#: Quick: 5 % of the duration, the band's ends and middle, two buffers, two RTT pairs a set.
QUICK = Size(
    30.0, 4, {"bandwidth_mbps": (50, 150, 250), "buffer_bdp": (0.1, 0.5), "partners": (2,), "late_start_s": (10.0,)}
)
FULL = Size(
    600.0,
    3,
    {
        "bandwidth_mbps": (50, 100, 150, 200, 250),
        "buffer_bdp": (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.5, 1.0, 1.5, 2.0),
        "partners": (8,),
        "late_start_s": (150.0,),
    },
)
#: The bandwidth of the paper's figures, in Mbit/s.
BANDWIDTH = 250


def pairs(name: str, size: Size) -> list[tuple[int, int]]:
    """The RTT pairs of a set, spread evenly where fewer than eight are run."""
    first, others = SETS[name]
    seconds = list(others)
    (partners,) = size["partners"]
    step = max(1, len(seconds) // partners)
    return [(first, second) for second in seconds[step - 1 :: step][:partners]]


def path(bandwidth_mbps: int, buffer_bdp: float, rtts_ms: tuple[int, int]) -> dict[str, Any]:
    """The dumbbell."""
    return {
        "bottleneck": {
            "rate": f"{bandwidth_mbps} Mbps",
            "delay": f"{min(rtts_ms) / 4} ms",
            "queue": {"capacity": f"{buffer_bdp} bdp"},
        },
        "access": {"rate": f"{2 * bandwidth_mbps} Mbps"},
    }


def scenario(
    algorithm: str,
    stacks: Sequence[Mapping[str, Any]],
    *,
    bandwidth_mbps: int,
    buffer_bdp: float,
    rtts_ms: tuple[int, int],
    duration_s: float,
    second_start_s: float,
) -> dict[str, Any]:
    """Two flows of one algorithm, the first from 1 s on."""
    flows = [
        {"algorithm": algorithm, "rtt": f"{rtt} ms", "start": f"{start} s", **stack}
        for rtt, start, stack in zip(rtts_ms, (1.0, second_start_s), stacks, strict=True)
    ]
    return {
        "schema_version": 1,
        "title": f"ccm-ss {bandwidth_mbps} Mbit/s, {buffer_bdp} BDP, {rtts_ms[0]} and {rtts_ms[1]} ms",
        "duration": f"{duration_s} s",
        "start_jitter": "rtt",
        "dumbbell": path(bandwidth_mbps, buffer_bdp, rtts_ms),
        "flow": flows,
    }


def measure(records: Records) -> dict[str, float | None]:
    """The summary; losses in parts of the run; slow-start exits for which B·D is known, where they fell and how many
    where μ can matter; later slow starts; what the first slow starts lose; fairness as § V-B may mean it."""
    found = dict(metrics.summary(records))
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    for part in range(PARTS):
        span = {"start_s": duration * part / PARTS, "end_s": duration * (part + 1) / PARTS}
        found[f"drops_per_s_{part + 1}"] = float(metrics.loss(records, **span)["drops_per_s"][0])
    pipe = pl.col("pipe_segments")
    left = records.events.filter((pl.col("kind") == "slow-start-exit") & pipe.is_not_null() & (pipe > 0))
    share = left["cwnd_after_bytes"] / int(records.flows["mss_bytes"][0]) / left["pipe_segments"]
    found["exits"] = float(len(left))
    found["exits_in_band"] = float(share.is_between(*BAND, closed="left").sum())
    found["exit_share"] = fmean(share.to_list()) if len(left) else None
    by_rule = (pl.col("kind") == "slow-start-exit") & ~pl.col("cause").is_in(["loss", "ecn"])
    again = records.events.filter(by_rule | (pl.col("kind") == "timeout"))
    found["late_slow_starts"] = float((again["time_ns"] >= duration * 1e9 / PARTS).sum())
    found["start_drops"] = _start_drops(records, duration)
    starts = records.flows["start_ns"].to_list()
    together = max(starts) / 1e9
    found["jain_together"] = metrics.fairness(records, start_s=together)["jain"][0]
    seconds = metrics.fairness_over_time(records, start_s=together)["jain"].drop_nulls().to_list()
    found["fair_throughout"] = found["jain_together"] if seconds and min(seconds) >= FAIR_SECOND else 0.0
    found["fair_ever"] = found["jain_together"] if seconds and max(seconds) >= FAIR_SECOND else 0.0
    near = found["convergence_s"]
    found["converged"] = float(near is not None)
    found["convergence_or_end_s"] = duration - together if near is None else near
    return found


def _start_drops(records: Records, duration_s: float) -> float:
    """Packets that the bottleneck drops while a flow is in its first slow start, and in the round trip after it, out to
    the samples around."""
    step = float(records.rows("runs")[0]["sample_interval_ns"]) / 1e9
    ends = records.events.filter(pl.col("kind").is_in(["slow-start-exit", "recovery", "timeout"])).sort("time_ns")
    spans: list[list[float]] = []
    for flow in sorted(records.flows.rows(named=True), key=lambda flow: int(flow["start_ns"])):
        mine = ends.filter(pl.col("flow") == flow["flow"])["time_ns"].to_list()
        begin = floor(flow["start_ns"] / 1e9 / step) * step
        end = ceil((mine[0] + flow["base_rtt_ns"]) / 1e9 / step) * step if mine else duration_s
        end = min(end, duration_s)
        if spans and begin <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([begin, end])
    return float(sum(metrics.loss(records, start_s=begin, end_s=end)["drops"][0] for begin, end in spans))


def trace(records: Records) -> dict[str, tuple[list[float], list[float | None]]]:
    """Drops over time, and the windows of both flows."""
    duration = float(records.rows("runs")[0]["duration_ns"]) / 1e9
    drops = metrics.links_over_time(records, window_s=duration / 40, start_s=0.0)
    drops = drops.filter(pl.col("link") == drops["link"][0])
    windows = metrics.flows_over_time(records, window_s=duration / 300, start_s=0.0)
    lines = {"drops_per_s": (drops["time_s"].to_list(), drops["drops_per_s"].to_list())}
    for flow in (0, 1):
        mine = windows.filter(pl.col("flow") == flow)
        lines[f"cwnd_{flow + 1}"] = (mine["time_s"].to_list(), mine["cwnd_segments"].to_list())
    return lines


def cases(
    size: Size, names: Iterable[str], bandwidths: Sequence[int] = (BANDWIDTH,), *, late: bool = False
) -> list[Case]:
    """Both modules in every cell of the sets; other readings than the base assumptions in those of Fig. 12(a) only."""
    return [
        case(
            {"reading": reading.name, "module": module, **SET_LABELS[name]},
            algorithm,
            size,
            bandwidth,
            buffer,
            rtts,
            late=late,
        )
        for reading in READINGS
        for module, algorithm in (("CCM-SS", reading.module), (reading.base_name, reading.base))
        for name in names
        for bandwidth in bandwidths
        if reading is PRIMARY or (name == "long, different" and bandwidth == BANDWIDTH)
        for buffer in size["buffer_bdp"]
        for rtts in (pairs(name, size) if not late else [LATE_RTTS_MS])
    ]


def case(
    labels: Mapping[str, str],
    algorithm: str,
    size: Size,
    bandwidth: int,
    buffer: float,
    rtts: tuple[int, int],
    *,
    late: bool = False,
) -> Case:
    """One algorithm in one cell."""
    (late_start_s,) = size["late_start_s"]
    document = scenario(
        algorithm,
        [NS2, NS2],
        bandwidth_mbps=bandwidth,
        buffer_bdp=buffer,
        rtts_ms=rtts,
        duration_s=size.duration_s,
        second_start_s=late_start_s if late else 2.0,
    )
    cell = {"bandwidth_mbps": bandwidth, "buffer_bdp": buffer, "rtt1_ms": rtts[0], "rtt2_ms": rtts[1]}
    return Case({**labels, **cell}, document, measure, trace)


def controls(reading: Reading, metric: str) -> list[Control]:
    """The conditions without which CCM-SS cannot differ from the baseline.

    Where the sides differ in nothing but μ, some of the baseline's slow starts must end between 0.2 and 0.3 of B·D:
    elsewhere both bounds decide alike. After the first part of a run there must be slow starts at all. A goodput needs
    room on the line.
    """
    _, base = reading.sides
    found = []
    if reading.has_one_difference:
        words = "no slow start of the μ = 1 side ended between 0.2 and 0.3 of B·D, the only place where μ matters"
        found.append(Control("exits_in_band", base, 1e-9, inf, words))
        if metric in LATER:
            words = "no slow start happens after the first part of a run, so that no module of slow start can act"
            found.append(Control("late_slow_starts", base, 1e-9, inf, words))
    if metric in ("sent_goodput_bps", "utilisation"):
        found.append(Control("utilisation", base, -inf, 0.99, "the line leaves no room for a relevant gain"))
    return found


def why(measured: Measured) -> list[str]:
    """How often μ could matter: counted on the side with μ = 1, since CCM-SS' own lower bound is 0.3."""
    _, base = PRIMARY.sides
    exits, inside = (int(measured.total(metric, **base)) for metric in ("exits", "exits_in_band"))
    return [
        f"{PRIMARY.name}: {inside} of {exits} slow-start exits of {PRIMARY.base} lay between {BAND[0]} and {BAND[1]} "
        "of B·D, the only place where μ = 1.5 decides otherwise than μ = 1; the paper counts none."
    ]
