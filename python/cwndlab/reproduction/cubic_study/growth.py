"""Figures 1 and 2 of the CUBIC study: how the windows of BIC and of CUBIC grow after one loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.claims import Claim, Landmark, Shape
from cwndlab.reproduction.cubic_study.variants import CUBIC, CUBIC_2_1, CUBIC_TODAY, CUBICS, STACK
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.papers.window_growth import measure_bic, measure_cubic
from cwndlab.reproduction.papers.window_growth import window_over_time as trace

if TYPE_CHECKING:
    pass

#: Base RTT in seconds, packet that is lost, rate that no window here fills.
_RTT_S, _LOST, _RATE = 0.1, 3000, "2 Gbps"

#: Smax of each BIC, in segments per round trip, and the share of the window that a loss leaves.
BICS = {
    "BIC (Linux)": ("bic+standard/sack", 16, 0.8),
    "BIC (INFOCOM 2004)": ("bic(smax=32, b=2, beta=0.875)+standard/sack", 32, 0.875),
    "BIC (Algorithm 1 halves)": ("bic(smax=32, b=2, beta=0.5)+standard/sack", 32, 0.5),
}

#: Of them, the one whose decrease is the paper's.
BIC = "BIC (Algorithm 1 halves)"
#: The window's law alone, then the modules; with the share of the window that a loss leaves.
EQUATION = "CUBIC (Eqs. 2, 3)"
LAWS = {
    EQUATION: ("cubic-ns2(rate_clamp=off, tcp_friendliness=off)+standard/sack", 0.8),
    CUBIC: (CUBICS[CUBIC], 0.8),
    CUBIC_2_1: (CUBICS[CUBIC_2_1], 0.8),
    CUBIC_TODAY: (CUBICS[CUBIC_TODAY], 0.7),
}

_SET_UP = (
    f"One flow on {_RATE} and {_RTT_S * 1000:.0f} ms with an unlimited buffer, so that nothing but the window's law "
    "shows; one packet is "
    "lost, the 3000th, in slow start.",
    "The figure is a sketch without numbers: its named phases are the landmarks.",
)


def _scenario(algorithm: str, duration_s: float) -> dict[str, Any]:
    lost = {"kind": "list", "indices": [_LOST], "counts": "payload"}
    bottleneck = {"rate": _RATE, "delay": "10 ms", "queue": {"capacity": "unlimited"}, "loss": lost}
    return {
        "schema_version": 1,
        "title": f"growth of {algorithm}",
        "duration": f"{duration_s} s",
        # ACKs come in one clump per round trip: samples between would see stairs, not slopes.
        "sample_interval": f"{_RTT_S} s",
        "dumbbell": {"bottleneck": bottleneck},
        "flow": [{"algorithm": algorithm, "rtt": f"{_RTT_S} s", **STACK}],
    }


def _chart(measured: Measured, name: str, title: str) -> list[Chart]:
    curves = []
    for variant in measured.points("variant"):
        line = measured.line("cwnd", variant=variant)
        curves.append(Curve(variant, list(line.x), list(line.y)))
    return [Chart(name, title, "time, s", "cwnd, segments", curves)]


def _bic_cases(size: Size) -> list[Case]:
    return [
        Case({"variant": name}, _scenario(text, size.duration_s), measure_bic, trace)
        for name, (text, _, _) in BICS.items()
    ]


def _bic_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for name, (_, steepest, kept) in BICS.items():
        marks = [
            Landmark("one loss", "losses", 1, 1),
            Landmark(f"{kept:g} of the window kept", "kept", kept - 0.02, kept + 0.02),
            Landmark(
                f"additive increase by {steepest} segments per RTT", "linear_slope", 0.9 * steepest, 1.1 * steepest
            ),
            Landmark("at a constant slope", "linear_change", 0.9, 1.1),
            Landmark("binary search: slower towards W_max", "search_slope_ratio", 0, 0.6),
            Landmark("hardly growing at W_max", "plateau_slope_ratio", 0, 0.1),
            Landmark("max probing: faster again beyond", "probing_slope_ratio", 2),
            Landmark("then additive again", "final_slope", 0.9 * steepest, 1.1 * steepest),
        ]
        claims.append(
            Claim(
                f"{name}: window after one loss",
                "additive increase, binary search, max probing",
                "",
                [{"variant": name}],
                Shape(marks),
                kind="check" if name == BIC else "reading",
                headline="cubic-study:growth" if name == BIC else "",
            )
        )
    return claims


FIG1 = Experiment(
    "cubic-study/fig1",
    "BIC's window growth: additive increase, binary search, max probing",
    "§ 3, Fig. 1, Algorithm 1",
    "A sketch of BIC's window after one loss: it grows linearly while far below the old maximum, searches in ever "
    "smaller steps "
    "near it, and probes ever faster beyond.",
    [
        *_SET_UP,
        "The paper gives BIC no constants: shown are Linux' BIC (Smax 16, B 4, 819/1024 of the window kept), that of "
        "L. Xu "
        "et al., INFOCOM 2004 (Smax 32, B 2, 0.875 kept), and the latter with half of the window kept, as the paper's "
        "Algorithm 1 has it.",
        "The curves are those of our own BIC: a check of the set-up.",
    ],
    Size(16.0, 1),
    Size(16.0, 1),
    _bic_cases,
    _bic_claims,
    lambda measured: _chart(measured, "fig1", "Window of one BIC flow, one loss"),
)


def _cubic_cases(size: Size) -> list[Case]:
    return [
        Case({"variant": name}, _scenario(text, size.duration_s), measure_cubic, trace)
        for name, (text, _) in LAWS.items()
    ]


def _cubic_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for name, (_, kept) in LAWS.items():
        marks = [
            Landmark("one loss", "losses", 1, 1),
            Landmark(f"{kept} of the window kept", "kept", kept - 0.02, kept + 0.02),
            Landmark("concave before K", "concave", 0, 0.5),
            Landmark("hardly growing at K", "plateau_slope_ratio", 0, 0.1),
            Landmark("the plateau is at W_max", "plateau_share", 0.97, 1.03),
            Landmark("convex after K", "convex", 1.5),
            Landmark("as steep after as before", "symmetry", 0.7, 1.4),
        ]
        claims.append(
            Claim(
                f"{name}: window after one loss",
                "concave, plateau at W_max, convex",
                "",
                [{"variant": name}],
                Shape(marks),
                kind="check" if name in (EQUATION, CUBIC) else "reading",
                headline="cubic-study:growth" if name == EQUATION else "",
            )
        )
    return claims


FIG2 = Experiment(
    "cubic-study/fig2",
    "CUBIC's window growth: concave, plateau at W_max, convex",
    "§ 3, Fig. 2, Algorithm 2",
    "A sketch of CUBIC's window after one loss: steep at first, flat around the old maximum, then ever steeper.",
    [
        *_SET_UP,
        "The law is that of Eqs. 2 and 3 with 0.8 of the window left, C = 0.4 and Eq. 3's root over its whole "
        "quotient. "
        "Algorithm 2 as printed is beside it: its limit of 2.5 segments/s hides the law, which the figure does not "
        "have. No run has its sst, so that the loss meets a window of thousands of segments.",
        "K = ∛(W_max (1 − β) / C) after the end of the recovery, where β is the share that a loss leaves.",
        "The curves are those of our own CUBIC: a check of the set-up.",
    ],
    Size(40.0, 1),
    Size(40.0, 1),
    _cubic_cases,
    _cubic_claims,
    lambda measured: _chart(measured, "fig2", "Window of one CUBIC flow, one loss"),
)
