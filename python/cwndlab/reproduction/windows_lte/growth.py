"""Figures 2 and 4 of the Windows study: CUBIC's window around W_max."""

from __future__ import annotations

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Size
from cwndlab.reproduction.claims import Claim, Landmark, Shape
from cwndlab.reproduction.cubic_study.growth import measure_cubic, trace
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.windows_lte.path import ALGORITHMS, PROFILE, RTT_MS

#: The packet that is lost, on a line that no window here fills.
_LOST, _RATE = 3000, "2 Gbps"

_ASSUMPTIONS = (
    f"One flow on {_RATE} and {RTT_MS:g} ms, the study's mean RTT, with an unlimited buffer and the stack of "
    "Windows 20H1, "
    "so that nothing but the window's law shows; one packet is lost, the 3000th, in slow start.",
    "Both figures are sketches of the same law without numbers: Figure 2 has the concave and the convex part, Figure 4 "
    "the concave one. K = ∛(W_max (1 − β) / C) after the end of the recovery, with C = 0.4.",
)


def _cases(size: Size) -> list[Case]:
    lost = {"kind": "list", "indices": [_LOST], "counts": "payload"}
    bottleneck = {"rate": _RATE, "delay": "20 ms", "queue": {"capacity": "unlimited"}, "loss": lost}
    document = {
        "schema_version": 1,
        "title": "windows-lte, CUBIC's growth",
        "duration": f"{size.duration_s} s",
        "sample_interval": "50 ms",
        "dumbbell": {"bottleneck": bottleneck},
        "flow": [
            {
                "algorithm": ALGORITHMS["CUBIC"],
                "rtt": f"{RTT_MS} ms",
                "profile": PROFILE,
                "stack": {"receive_window": "1 GB"},
            }
        ],
    }
    return [Case({"algorithm": "CUBIC"}, document, measure_cubic, trace)]


def _chart(measured: Measured, name: str, end_s: float) -> list[Chart]:
    line = measured.line("cwnd", algorithm="CUBIC")
    points = [(x, y) for x, y in zip(line.x, line.y, strict=True) if x <= end_s]
    curve = Curve("CUBIC", [x for x, _ in points], [y for _, y in points])
    return [Chart(name, "Window of one CUBIC flow, one loss", "time, s", "cwnd, segments", [curve])]


def _claim(words: str, marks: list[Landmark]) -> list[Claim]:
    common = [Landmark("one loss", "losses", 1, 1), Landmark("0.7 of the window kept", "kept", 0.68, 0.72)]
    return [Claim("window after one loss", words, "", [{"algorithm": "CUBIC"}], Shape([*common, *marks]), kind="check")]


_CONCAVE = [
    Landmark("concave before K", "concave", 0, 0.5),
    Landmark("hardly growing at K", "plateau_slope_ratio", 0, 0.1),
    Landmark("the plateau is at W_max", "plateau_share", 0.97, 1.03),
]
_CONVEX = [Landmark("convex after K", "convex", 1.5), Landmark("as steep after as before", "symmetry", 0.7, 1.4)]
_SIZE = Size(40.0, 1)

FIG2 = Experiment(
    "windows-lte/fig2",
    "CUBIC's window: concave up to W_max, convex beyond",
    "Background C, Fig. 2",
    "A sketch: after a loss the window rises steeply at first, flattens towards W_max, and beyond it rises ever more "
    "steeply.",
    _ASSUMPTIONS,
    _SIZE,
    _SIZE,
    _cases,
    lambda size: _claim("concave up to W_max, convex beyond", [*_CONCAVE, *_CONVEX]),
    lambda measured: _chart(measured, "fig2", 36.0),
)
FIG4 = Experiment(
    "windows-lte/fig4",
    "CUBIC's concave growth up to W_max",
    "Background C, Fig. 4",
    "A sketch of W_max, time and the concave curve: after a loss the window rises steeply at first and flattens "
    "towards "
    "W_max.",
    _ASSUMPTIONS,
    _SIZE,
    _SIZE,
    _cases,
    lambda size: _claim("concave up to W_max", _CONCAVE),
    lambda measured: _chart(measured, "fig4", 20.0),
)
