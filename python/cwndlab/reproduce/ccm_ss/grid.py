"""What the CCM-SS paper's experiments share: its grid, its path, three baselines, what is measured.

Source: its Table 3 and section V.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cwndlab import metrics
from cwndlab.reproduce.experiment import Case, Size
from cwndlab.reproduce.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: The band of B·D in which μ can change where slow start ends: between 0.2 (μ = 1) and 0.3 (μ = 1.5).
BAND = (0.2, 0.3)
#: Parts of a run whose losses are counted apart, for "all along".
PARTS = 3

#: The stack of ns-2's senders: initial window 2 and one ACK per segment.
NS2: Mapping[str, Any] = {"profile": "ns2", "stack": {"initial_window": 2, "ack_every": 1}}
_LINUX: Mapping[str, Any] = {"profile": "linux", "stack": {"mss": "1460 B", "header": "40 B", "ack": "40 B"}}

#: What the paper contradicts or leaves out in all its experiments.
ASSUMPTIONS = (
    'Buffers of 0.01 to 2 "percent" of the BDP are fractions of it, as in the Hamilton suite that the paper cites.',
    "The delay of the bottleneck is a quarter of the shorter RTT, since the paper gives none; the rest is on the "
    "access links.",
    "Repetitions differ in a start jitter of up to one RTT per flow, since the paper does not say what varied.",
    "The loss rate is drops of the bottleneck's queue per second, the paper's definition.",
    "Eq. 17 is read as B = cwnd / minD, what its dimensions allow; slow start's +1 per ACK, which the paper calls "
    "congestion "
    "avoidance, is slow start.",
    "ns-2.35's CUBIC has no HyStart: the paper's baseline is CUBIC of that time with HyStart added.",
)


@dataclass(frozen=True)
class Baseline:
    """What CCM-SS is held against."""

    name: str
    base: str
    base_name: str
    module: str
    stack: Mapping[str, Any]

    @property
    def sides(self) -> tuple[dict[str, str], dict[str, str]]:
        """Labels of CCM-SS, and of what it is held against."""
        return {"baseline": self.name, "module": "CCM-SS"}, {"baseline": self.name, "module": self.base_name}


BASELINES = (
    Baseline("paper", "cubic-ns2+hystart/sack", "HyStart", "cubic-ns2+ccm-ss/sack", NS2),
    Baseline("today", "cubic+hystart/rack", "HyStart", "cubic+ccm-ss/rack", _LINUX),
    Baseline("mu alone", "cubic-ns2+ccm-ss(mu=1)/sack", "μ = 1", "cubic-ns2+ccm-ss/sack", NS2),
)

#: RTT of the first flow, and of the second one, in ms, by set.
SETS: dict[str, tuple[int, range]] = {
    "long, different": (100, range(50, 191, 20)),
    "long, similar": (190, range(50, 191, 20)),
    "short, different": (50, range(2, 17, 2)),
    "short, similar": (16, range(2, 17, 2)),
}

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
    stack: Mapping[str, Any],
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
        for rtt, start in zip(rtts_ms, (1.0, second_start_s), strict=True)
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
    """The summary; losses in parts of the run; slow-start exits that CCM-SS held against B·D, and how many of them fell
    where μ can matter."""
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
    found["converged"] = float(found["convergence_s"] is not None)
    return found


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
    """Both modules of all baselines in every cell of the sets."""
    return [
        case(
            {"baseline": baseline.name, "module": module, "set": name},
            algorithm,
            baseline.stack,
            size,
            bandwidth,
            buffer,
            rtts,
            late=late,
        )
        for baseline in BASELINES
        for module, algorithm in (("CCM-SS", baseline.module), (baseline.base_name, baseline.base))
        for name in names
        for bandwidth in bandwidths
        for buffer in size["buffer_bdp"]
        for rtts in (pairs(name, size) if not late else [(100, 190)])
    ]


def case(
    labels: Mapping[str, str],
    algorithm: str,
    stack: Mapping[str, Any],
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
        stack,
        bandwidth_mbps=bandwidth,
        buffer_bdp=buffer,
        rtts_ms=rtts,
        duration_s=size.duration_s,
        second_start_s=late_start_s if late else 2.0,
    )
    cell = {"bandwidth_mbps": bandwidth, "buffer_bdp": buffer, "rtt1_ms": rtts[0], "rtt2_ms": rtts[1]}
    return Case({**labels, **cell}, document, measure, trace)


def why(measured: Measured) -> list[str]:
    """How often μ could matter, and where nothing converged."""
    told = []
    for baseline in BASELINES:
        module, _ = baseline.sides
        exits, inside = (int(measured.total(metric, **module)) for metric in ("exits", "exits_in_band"))
        told.append(
            f"{baseline.name}: {inside} of {exits} slow-start exits of {baseline.module} lay between {BAND[0]} and "
            f"{BAND[1]} of "
            "B·D, the only place where μ = 1.5 decides otherwise than μ = 1; the paper counts none."
        )
    return told
