"""What the Windows study claims and does not measure: Figure 1's overload, and the fairness of unequal RTTs."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from cwndlab import metrics
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import Claim, Greater, ValueIn
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.windows_lte.path import ALGORITHMS, CELL_MBPS, PROFILE, RTT_MS

if TYPE_CHECKING:
    from cwndlab.records import Records

# Figure 1: two sources into a T1.

#: Sources, their line, the T1.
_SOURCES, _LINE_MBPS, _T1_BPS = 2, 100, 1_544_000
#: By hand: what the T1 cannot carry of 200 Mbit/s.
_EXCESS = 1 - _T1_BPS / (_SOURCES * _LINE_MBPS * 1e6)


def measure_overload(records: Records) -> dict[str, float | None]:
    """The share of packets that the router drops, and its mean queue over its capacity."""
    loss = metrics.loss(records, start_s=0.0).row(0, named=True)
    return {
        "loss_ratio": loss["loss_ratio"],
        "queue_packets": float(metrics.queue(records, start_s=0.0)["queue_packets"][0]),
    }


def _overload_cases(size: Size) -> list[Case]:
    document = {
        "schema_version": 1,
        "title": "windows-lte fig1, two sources into a T1",
        "duration": f"{size.duration_s} s",
        "start_jitter": "100 ms",
        "dumbbell": {
            "bottleneck": {"rate": f"{_T1_BPS} bps", "delay": "10 ms", "queue": {"capacity": "50 packets"}},
            "access": {"rate": f"{_LINE_MBPS} Mbps"},
        },
        "flow": [
            {
                "name": f"source{number}",
                "transport": "udp",
                "rtt": "40 ms",
                "workload": {"kind": "cbr", "rate": f"{_LINE_MBPS} Mbps", "packet": "1500 B"},
            }
            for number in range(_SOURCES)
        ],
    }
    return [Case({"sources": _SOURCES}, document, measure_overload)]


def _overload_claims(size: Size) -> list[Claim]:
    del size
    side: list[Labels] = [{"sources": _SOURCES}]
    dropped, full = ValueIn(_EXCESS - 0.02, _EXCESS + 0.02), ValueIn(45, inf)
    return [
        Claim("share of frames dropped", "frames are dropped", "loss_ratio", side, dropped, kind="check"),
        Claim("mean queue, of 50 packets", "the buffer overflows", "queue_packets", side, full, kind="check"),
    ]


def _overload_charts(measured: Measured) -> list[Chart]:
    found = [measured.estimate("loss_ratio")]
    curves = [Curve.of("dropped", ["two sources"], found, factor=100.0)]
    return [Chart("fig1", "Frames that the router drops", "", "% of frames", curves, kind="bars")]


FIG1 = Experiment(
    "windows-lte/fig1",
    "two sources of 100 Mbit/s into a T1",
    "Introduction, Fig. 1",
    "Two sources that send frames at 100 Mbit/s each into a router with a line of 1.5 Mbit/s overflow its buffer.",
    [
        f"The T1 has {_T1_BPS / 1e6:g} Mbit/s, its standard's rate where the study rounds to 1.5, and the router 50 "
        "packets of buffer; frames have 1500 bytes, and nothing "
        "holds the sources back, as in the figure.",
        f"By hand, {_EXCESS:.1%} of the frames do not fit into the line: this is arithmetic, and a check of the "
        "set-up.",
    ],
    Size(2.0, 3),
    Size(10.0, 5),
    _overload_cases,
    _overload_claims,
    _overload_charts,
)

# The conclusion's fairness.

_SHORT_MS = 60.0


def measure_fairness(records: Records) -> dict[str, float | None]:
    """Jain's index of both flows, the long flow's share, the line's use, the mean RTT of both."""
    rates = metrics.goodput(records)["goodput_bps"].to_list()
    return {
        "jain": metrics.jain(rates),
        "share": rates[0] / sum(rates),
        "utilisation": float(metrics.utilisation(records)["utilisation"][0]),
    }


def fairness_document(
    algorithm: str,
    *,
    rate: str = f"{CELL_MBPS:g} Mbps",
    rtts_ms: Sequence[float] = (RTT_MS, _SHORT_MS),
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


def _fairness_cases(size: Size) -> list[Case]:
    return [
        Case({"algorithm": name}, fairness_document(text, duration_s=size.duration_s), measure_fairness)
        for name, text in ALGORITHMS.items()
    ]


def _fairness_claims(size: Size) -> list[Claim]:
    del size
    sides: list[Labels] = [{"algorithm": name} for name in ("CUBIC", "CTCP", "NewReno")]
    title, words, key = "Jain's index of two RTTs, CUBIC / each competitor", "much fairer", "windows-lte:rtt"
    fairer = Claim(title, words, "jain", sides, Greater(), headline=key)
    title, words, key = (
        "Jain's index of two RTTs, CTCP / NewReno",
        "improved by the delay window",
        "windows-lte:ctcp-rtt",
    )
    return [fairer, Claim(title, words, "jain", sides[1:], Greater(), headline=key)]


def _fairness_charts(measured: Measured) -> list[Chart]:
    names = list(ALGORITHMS)
    found = [measured.estimate("jain", algorithm=name) for name in names]
    curves = [Curve.of("measured", names, found)]
    return [Chart("rtt-fairness", "Jain's index of two RTTs", "", "Jain's index", curves, kind="bars")]


def _fairness_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for name in ALGORITHMS:
        cells = [measured.estimate(metric, algorithm=name).mean for metric in ("jain", "share", "utilisation")]
        rows.append([name, *cells])
    header = ("algorithm", "Jain's index", f"share of the flow of {RTT_MS:g} ms", "utilisation")
    return [Table("Two flows of unequal RTTs", header, rows)]


RTT_FAIRNESS = Experiment(
    "windows-lte/rtt-fairness",
    "two flows of one algorithm with unequal RTTs",
    "Conclusion",
    "CUBIC's growth does not depend on the RTT, which shares bandwidth more fairly than NewReno and CTCP do; the study "
    "measures no shares.",
    [
        f"Two flows of one algorithm, {RTT_MS:g} and {_SHORT_MS:g} ms, share {CELL_MBPS:g} Mbit/s, Table I's rate, "
        "with a "
        "buffer of one BDP of the longer path, with the stack of Windows 20H1: the study gives no such set-up.",
        "The longer RTT is the study's mean; the shorter one is that of a server on the same continent. The conclusion "
        'says "much fairer" and gives no size: any gain beyond the margin counts.',
    ],
    Size(120.0, 6),
    Size(600.0, 6),
    _fairness_cases,
    _fairness_claims,
    _fairness_charts,
    _fairness_tables,
)
