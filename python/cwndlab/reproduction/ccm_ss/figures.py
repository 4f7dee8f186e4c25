"""Figures 12 to 14 and Table 4 of the CCM-SS paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Size, Table
from cwndlab.reproduction.ccm_ss.grid import (
    ASSUMPTIONS,
    BANDWIDTH,
    FULL,
    PARTS,
    PRIMARY,
    QUICK,
    READINGS,
    SETS,
    Reading,
    cases,
    controls,
    why,
)
from cwndlab.reproduction.claims import Claim, Greater, Less, Relation, Welch
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured


def _claim(reading: Reading, title: str, words: str, metric: str, relation: Relation, **more: Any) -> Claim:
    """A claim under a reading; of the base assumptions' only it is one of the paper's claims."""
    beside = "goodput_bps" if metric == "sent_goodput_bps" else None
    headline = more.pop("headline", "") if reading is PRIMARY else ""
    kind = more.pop("kind", reading.kind)
    metrics = more.pop("metrics", metric)
    quantity = f"{reading.name}: {title}, CCM-SS / {reading.base_name}"
    return Claim(
        quantity,
        words,
        metrics,
        reading.sides,
        relation,
        beside,
        kind=kind,
        headline=headline if kind == "claim" else "",
        controls=controls(reading, metric),
        each=more.pop("each", ""),
    )


def _losses(measured: Measured, name: str) -> list[Chart]:
    """Drops over time, the mean of all cells."""
    curves = []
    for reading in _run(measured):
        for side in reading.sides:
            lines = [
                line
                for line in measured.lines
                if line.name == "drops_per_s" and all(line.labels[key] == value for key, value in side.items())
            ]
            means = [
                fmean(value or 0.0 for value in values) for values in zip(*(line.y for line in lines), strict=True)
            ]
            curves.append(Curve(side["module"], list(lines[0].x), means, panel=_panel(reading)))
    note = "".join(
        f"In the panel '{first.panel}' both lines are the same. "
        for first, second in pairwise(curves)
        if first.panel == second.panel and first.y == second.y
    )
    return [Chart(name, "Packet loss rate over time", "time, s", "drops, 1/s", curves, note=note.strip())]


def _run(measured: Measured) -> list[Reading]:
    """The readings that were run."""
    names = measured.points("reading")
    return [reading for reading in READINGS if reading.name in names]


def _panel(reading: Reading) -> str:
    return f"{reading.name}: {reading.module.split('+')[0]}"


def _loss_claims(size: Size, *, words: str, ratio: float | None, long: bool) -> list[Claim]:
    del size
    parts = tuple(f"drops_per_s_{part}" for part in range(1, PARTS + 1))
    claims = []
    for reading in READINGS if long else READINGS[:1]:
        relation = Less(ratio)
        claims.append(_claim(reading, "drops per second", words, "drops_per_s", relation, headline="ccm-ss:loss"))
        if long:
            title, said = f"drops per second in each of {PARTS} parts of the run", "well below all along"
            headline = "ccm-ss:throughout"
            claims.append(_claim(reading, title, said, "drops_per_s", Less(), metrics=parts, headline=headline))
    return claims


def _fig12(letter: str, length: str, words: str, ratio: float | None) -> Experiment:
    def chosen(size: Size) -> list[Case]:
        return cases(size, [f"{length}, different"])

    return Experiment(
        f"ccm-ss/fig12{letter}",
        f"packet loss rate, {length} RTTs, CCM-SS against HyStart",
        f"§ VII, Fig. 12({letter})",
        f"Packet loss rate over time, {length} RTTs ({SETS[f'{length}, different'][0]} ms against several), CUBIC "
        f"with HyStart and with CCM-SS: CCM-SS is {words}.",
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
        partial(_loss_claims, words=words, ratio=ratio, long=length == "long"),
        lambda measured: _losses(measured, f"fig12{letter}"),
        why=why,
    )


FIG12A = _fig12("a", "long", "well below HyStart all along, 10 % lower on average", 0.90)
FIG12B = _fig12("b", "short", "slightly lower", None)


def _over(
    measured: Measured, label: str, x_title: str, name: str, *, metric: str = "sent_goodput_bps", **where: Any
) -> Chart:
    """Goodput over a label, one panel per baseline."""
    curves = []
    for reading in _run(measured):
        for side in reading.sides:
            points = measured.points(label, **side, **where)
            found = [measured.estimate(metric, **side, **where, **{label: point}) for point in points]
            curves.append(Curve.of(side["module"], points, found, factor=1e-6, panel=_panel(reading)))
    title = "Goodput" + "".join(f", {value}" for value in where.values())
    return Chart(name, title, x_title, "goodput (sent − retransmitted), Mbit/s", curves, from_zero=False)


def _fig13a_claims(size: Size) -> list[Claim]:
    del size
    metric, words = "sent_goodput_bps", "higher at every bandwidth"
    return [
        _claim(reading, "goodput", words, metric, Greater(), each="bandwidth_mbps", headline="ccm-ss:goodput")
        for reading in READINGS
    ]


FIG13A = Experiment(
    "ccm-ss/fig13a",
    "goodput over the bottleneck's bandwidth, CCM-SS against HyStart",
    "§ VII, Fig. 13(a)",
    "Goodput of both flows against the link's bandwidth: CCM-SS is higher at every one.",
    [
        *ASSUMPTIONS,
        "The long, different RTTs are taken and the mean over all buffers; the figure names neither.",
        f"Readings other than the base assumptions are run at {BANDWIDTH} Mbit/s only.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, ["long, different"], size["bandwidth_mbps"]),
    _fig13a_claims,
    lambda measured: [_over(measured, "bandwidth_mbps", "bottleneck, Mbit/s", "fig13a")],
    why=why,
)


_SIMILAR = ("long, similar", "short, similar")


def _fig13b_claims(size: Size) -> list[Claim]:
    del size
    metric = "sent_goodput_bps"
    return [_claim(PRIMARY, "goodput", "higher", metric, Greater(), each="rtt2_ms", headline="ccm-ss:goodput")]


FIG13B = Experiment(
    "ccm-ss/fig13b",
    "goodput over the RTT, CCM-SS against HyStart",
    "§ VII, Fig. 13(b)",
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
    for reading in READINGS:
        words, headline = "converges faster", "ccm-ss:convergence"
        claims.append(_claim(reading, "convergence time", words, "convergence_s", Less(), headline=headline))
        title, headline = "Jain's index of goodputs", "ccm-ss:fairness"
        claims.append(_claim(reading, title, "fairer", "jain", Greater(), headline=headline))
        title = "Jain's index, 0 where the flows are unfair for a second"
        claims.append(_claim(reading, title, "fairer", "fair_throughout", Greater(), kind="reading"))
    return claims


def _windows(measured: Measured) -> list[Chart]:
    """The windows of both flows, as in the figure: (a) CCM-SS, (b) HyStart."""
    reading, buffers = PRIMARY, measured.points("buffer_bdp")
    buffer = buffers[len(buffers) // 2]
    curves = []
    for letter, side in zip("ab", reading.sides, strict=True):
        for flow in (1, 2):
            line = measured.line(f"cwnd_{flow}", **side, buffer_bdp=buffer)
            panel = f"({letter}) {side['module']}"
            curves.append(Curve(f"flow {flow}", list(line.x), list(line.y), panel=panel))
    title = f"Windows of two flows, {buffer} BDP of buffer, first repetition"
    return [Chart("fig14", title, "time, s", "cwnd, segments", curves)]


def _converged(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for reading in _run(measured):
        for side in reading.sides:
            near, fair = (measured.estimate(metric, **side) for metric in ("convergence_s", "jain"))
            count = sum(1 for _ in measured.rows_of(side))
            reached = int(measured.total("converged", **side))
            rows.append(
                [
                    f"{reading.name}: {side['module']}",
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
    "§ VII, Fig. 14",
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
    words, headline = "p < 0.05", "ccm-ss:significance"
    return [
        _claim(PRIMARY, f"{title} in all four sets", words, metric, Welch(up=up), each="set", headline=headline)
        for title, metric, up in (("drops per second", "drops_per_s", False), ("goodput", "sent_goodput_bps", True))
    ]


def _table4_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for reading in _run(measured):
        for side in reading.sides:
            for name in measured.points("set", **side):
                at = {**side, "set": name}
                means = [
                    measured.estimate(metric, **at).mean
                    for metric in ("drops_per_s", "sent_goodput_bps", "goodput_bps")
                ]
                rows.append([f"{reading.name}, {name}: {side['module']}", means[0], means[1] / 1e6, means[2] / 1e6])
    header = ("set and module", "drops, 1/s", "sent − retransmitted, Mbit/s", "delivered, Mbit/s")
    return [Table("Means of the sets", header, rows)]


def _table4_charts(measured: Measured) -> list[Chart]:
    charts = []
    for metric, title, unit, factor in (
        ("drops_per_s", "Packet loss rate", "drops, 1/s", 1.0),
        ("sent_goodput_bps", "Goodput", "goodput (sent − retransmitted), Mbit/s", 1e-6),
    ):
        curves = []
        for side in PRIMARY.sides:
            found = [measured.estimate(metric, **side, set=name) for name in SETS]
            curves.append(Curve.of(side["module"], list(SETS), found, factor=factor, panel=_panel(PRIMARY)))
        charts.append(Chart(f"table4-{metric.split('_')[0]}", title, "RTTs", unit, curves, kind="bars"))
    return charts


TABLE4 = Experiment(
    "ccm-ss/table4",
    "the four sets of experiments with Welch's t-test",
    "§ V-B, Table 4",
    "Loss rate and goodput of the four sets of RTTs, CCM-SS against HyStart, with a t-test: p < 0.05.",
    [
        *ASSUMPTIONS,
        f"At {BANDWIDTH} Mbit/s; a repetition's value is the mean over all buffers and RTT pairs of the set.",
        "The test is Welch's, two-sided, over the repetitions; the paper names neither sides nor what a sample is. A "
        "significant difference in the other direction is opposite.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, SETS),
    _table4_claims,
    _table4_charts,
    _table4_tables,
    why,
)
