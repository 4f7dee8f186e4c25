"""Figures 12 to 14 and Table 4 of the CCM-SS paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any

from cwndlab.plots.charts import Chart, Curve
from cwndlab.reproduce.ccm_ss.grid import (
    ASSUMPTIONS,
    BANDWIDTH,
    BASELINES,
    FULL,
    PARTS,
    QUICK,
    SETS,
    Baseline,
    cases,
    pairs,
    why,
)
from cwndlab.reproduce.claims import Claim, Greater, Less, Relation, Welch
from cwndlab.reproduce.experiment import Case, Experiment, Size, Table
from cwndlab.reproduce.measured import Measured

_LONG, _SHORT = ("long, different", "long, similar"), ("short, different", "short, similar")


def _claim(baseline: Baseline, title: str, words: str, metric: str, relation: Relation, **where: Any) -> Claim:
    sides = [{**side, **where} for side in baseline.sides]
    beside = "goodput_bps" if metric == "sent_goodput_bps" else None
    return Claim(f"{baseline.name}: {title}, CCM-SS / {baseline.base_name}", words, metric, sides, relation, beside)


def _losses(measured: Measured, name: str) -> list[Chart]:
    """Drops over time, the mean of all cells."""
    curves = []
    for baseline in BASELINES:
        for side in baseline.sides:
            lines = [
                line
                for line in measured.lines
                if line.name == "drops_per_s" and all(line.labels[key] == value for key, value in side.items())
            ]
            means = [
                fmean(value or 0.0 for value in values) for values in zip(*(line.y for line in lines), strict=True)
            ]
            curves.append(Curve(_shown(side["module"]), list(lines[0].x), means, panel=_panel(baseline)))
    note = "".join(
        f"In the panel '{first.panel}' both lines are the same. "
        for first, second in pairwise(curves)
        if first.panel == second.panel and first.y == second.y
    )
    return [Chart(name, "Packet loss rate over time", "time, s", "drops, 1/s", curves, note=note.strip())]


def _shown(module: str) -> str:
    return "CCM-SS" if module == "CCM-SS" else module


def _panel(baseline: Baseline) -> str:
    return f"{baseline.name}: {baseline.module.split('+')[0]}" + (
        ", μ = 1.5 against 1" if "mu=1" in baseline.base else ""
    )


def _loss_claims(size: Size, *, words: str, ratio: float | None, all_along: bool) -> list[Claim]:
    del size
    claims = []
    for baseline in BASELINES:
        claims.append(_claim(baseline, "drops per second", words, "drops_per_s", Less(ratio)))
        for part in range(1, PARTS + 1) if all_along else ():
            title = f"drops per second in part {part} of {PARTS} of the run"
            claims.append(_claim(baseline, title, "well below all along", f"drops_per_s_{part}", Less()))
    return claims


def _fig12(letter: str, length: str, words: str, ratio: float | None, *, all_along: bool) -> Experiment:
    def chosen(size: Size) -> list[Case]:
        return cases(size, [f"{length}, different"])

    return Experiment(
        f"ccm-ss/fig12{letter}",
        f"packet loss rate, {length} RTTs, CCM-SS against HyStart",
        f"Packet loss rate over time, {length} RTTs ({SETS[f'{length}, different'][0]} ms against several), CUBIC "
        "with HyStart "
        f"and with CCM-SS: CCM-SS is {words}.",
        [
            *ASSUMPTIONS,
            f"Of the paper's five bandwidths the figure's is taken, {BANDWIDTH} Mbit/s, and the mean over all buffers.",
            f'"Different" RTTs are meant: flow 1 {SETS[f"{length}, different"][0]} ms; the paper does not say which '
            "of its two sets.",
            "The figure's axis runs to 800 s though runs last 600 s: runs last 600 s.",
        ],
        QUICK,
        FULL,
        chosen,
        partial(_loss_claims, words=words, ratio=ratio, all_along=all_along),
        lambda measured: _losses(measured, f"fig12{letter}"),
        why=why,
    )


FIG12A = _fig12("a", "long", "well below HyStart all along, 10 % lower on average", 0.90, all_along=True)
FIG12B = _fig12("b", "short", "slightly lower", None, all_along=False)


def _over(
    measured: Measured, label: str, x_title: str, name: str, *, metric: str = "sent_goodput_bps", **where: Any
) -> Chart:
    """Goodput over a label, one panel per baseline."""
    curves = []
    for baseline in BASELINES:
        for side in baseline.sides:
            points = measured.points(label, **side, **where)
            found = [measured.estimate(metric, **side, **where, **{label: point}) for point in points]
            curves.append(Curve.of(_shown(side["module"]), points, found, factor=1e-6, panel=_panel(baseline)))
    title = "Goodput" + "".join(f", {value}" for value in where.values())
    return Chart(name, title, x_title, "goodput (sent − retransmitted), Mbit/s", curves, from_zero=False)


def _fig13a_claims(size: Size) -> list[Claim]:
    return [
        _claim(
            baseline,
            f"goodput at {bandwidth} Mbit/s",
            "higher at every bandwidth",
            "sent_goodput_bps",
            Greater(),
            bandwidth_mbps=bandwidth,
        )
        for baseline in BASELINES
        for bandwidth in size["bandwidth_mbps"]
    ]


FIG13A = Experiment(
    "ccm-ss/fig13a",
    "goodput over the bottleneck's bandwidth, CCM-SS against HyStart",
    "Goodput of both flows against the link's bandwidth: CCM-SS is higher at every one.",
    [*ASSUMPTIONS, "The long, different RTTs are taken and the mean over all buffers; the figure names neither."],
    QUICK,
    FULL,
    lambda size: cases(size, ["long, different"], size["bandwidth_mbps"]),
    _fig13a_claims,
    lambda measured: [_over(measured, "bandwidth_mbps", "bottleneck, Mbit/s", "fig13a")],
    why=why,
)


_SIMILAR = ("long, similar", "short, similar")


def _fig13b_claims(size: Size) -> list[Claim]:
    claims = []
    for baseline in BASELINES:
        for name in _SIMILAR:
            for first, second in pairs(name, size):
                at = {"set": name, "rtt2_ms": second}
                title = f"goodput at {first} and {second} ms"
                claims.append(_claim(baseline, title, "higher", "sent_goodput_bps", Greater(), **at))
    return claims


FIG13B = Experiment(
    "ccm-ss/fig13b",
    "goodput over the RTT, CCM-SS against HyStart",
    "Goodput of both flows against the RTT: CCM-SS is higher.",
    [
        *ASSUMPTIONS,
        f"The similar RTTs are taken, at {BANDWIDTH} Mbit/s, and the mean over all buffers; the figure names none.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, _SIMILAR),
    _fig13b_claims,
    lambda measured: [
        _over(measured, "rtt2_ms", "RTT of the second flow, ms", f"fig13b-{name.split(',')[0]}", set=name)
        for name in _SIMILAR
    ],
    why=why,
)


def _fig14_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for baseline in BASELINES:
        claims.append(_claim(baseline, "convergence time", "converges faster", "convergence_s", Less()))
        claims.append(_claim(baseline, "Jain's index of goodputs", "fairer", "jain", Greater()))
    return claims


def _windows(measured: Measured) -> list[Chart]:
    """The windows of both flows, as in the figure: (a) CCM-SS, (b) HyStart."""
    baseline, buffers = BASELINES[0], measured.points("buffer_bdp")
    buffer = buffers[len(buffers) // 2]
    curves = []
    for letter, side in zip("ab", baseline.sides, strict=True):
        for flow in (1, 2):
            line = measured.line(f"cwnd_{flow}", **side, buffer_bdp=buffer)
            panel = f"({letter}) {side['module']}"
            curves.append(Curve(f"flow {flow}", list(line.x), list(line.y), panel=panel))
    title = f"Windows of two flows, {buffer} BDP of buffer, first repetition"
    return [Chart("fig14", title, "time, s", "cwnd, segments", curves)]


def _converged(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for baseline in BASELINES:
        for side in baseline.sides:
            near, fair = (measured.estimate(metric, **side) for metric in ("convergence_s", "jain"))
            count = sum(1 for _ in measured.found(side))
            reached = int(measured.total("converged", **side))
            rows.append(
                [
                    f"{baseline.name}: {side['module']}",
                    f"{reached} of {count}",
                    near.mean if near.n else None,
                    near.low,
                    near.high,
                    fair.mean,
                    fair.low,
                    fair.high,
                ]
            )
    header = ("module", "converged", "after, s", "low", "high", "Jain index", "low", "high")
    return [Table("Convergence and fairness", header, rows)]


CONVERGENCE = Experiment(
    "ccm-ss/fig14",
    "convergence time and fairness of two flows, CCM-SS against HyStart",
    "The second flow starts at 150 s: with CCM-SS the two windows converge faster and protocol fairness is better.",
    [
        *ASSUMPTIONS,
        f"RTTs of 100 and 190 ms at {BANDWIDTH} Mbit/s, and the mean over all buffers: the figure names none of them.",
        "Convergence time is T3 − T2: T2 the second flow's start, T3 the first sample at which its window is 80 % "
        "of the first "
        "flow's; fairness is Jain's index of the goodputs over the whole run.",
        "A run in which the windows never come near has no convergence time; pairs with such a run are left out "
        "and counted.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, ["long, different"], late=True),
    _fig14_claims,
    _windows,
    _converged,
    why,
)


def _table4_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for baseline in BASELINES:
        for name in SETS:
            claims.append(
                _claim(baseline, f"{name} RTTs: drops per second", "p < 0.05", "drops_per_s", Welch(), set=name)
            )
            claims.append(_claim(baseline, f"{name} RTTs: goodput", "p < 0.05", "sent_goodput_bps", Welch(), set=name))
    return claims


def _table4_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for baseline in BASELINES:
        for name in SETS:
            for side in baseline.sides:
                at = {**side, "set": name}
                means = [
                    measured.estimate(metric, **at).mean
                    for metric in ("drops_per_s", "sent_goodput_bps", "goodput_bps")
                ]
                rows.append([f"{baseline.name}, {name}: {side['module']}", means[0], means[1] / 1e6, means[2] / 1e6])
    header = ("set and module", "drops, 1/s", "sent − retransmitted, Mbit/s", "delivered, Mbit/s")
    return [Table("Means of the four sets", header, rows)]


def _table4_charts(measured: Measured) -> list[Chart]:
    charts = []
    for metric, title, unit, factor in (
        ("drops_per_s", "Packet loss rate", "drops, 1/s", 1.0),
        ("sent_goodput_bps", "Goodput", "goodput (sent − retransmitted), Mbit/s", 1e-6),
    ):
        curves = []
        for baseline in BASELINES:
            for side in baseline.sides:
                found = [measured.estimate(metric, **side, set=name) for name in SETS]
                curves.append(
                    Curve.of(_shown(side["module"]), list(SETS), found, factor=factor, panel=_panel(baseline))
                )
        charts.append(Chart(f"table4-{metric.split('_')[0]}", title, "RTTs", unit, curves, kind="bars"))
    return charts


TABLE4 = Experiment(
    "ccm-ss/table4",
    "the four sets of experiments with Welch's t-test",
    "Loss rate and goodput of the four sets of RTTs, CCM-SS against HyStart, with a t-test: p < 0.05.",
    [
        *ASSUMPTIONS,
        f"At {BANDWIDTH} Mbit/s; a repetition's value is the mean over all buffers and RTT pairs of the set.",
        "The test is Welch's, two-sided, over the repetitions; the paper names neither sides nor what a sample is.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, SETS),
    _table4_claims,
    _table4_charts,
    _table4_tables,
    why,
)
