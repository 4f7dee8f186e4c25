"""Figures 12 to 14 and Table 4 of the CCM-SS paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from statistics import fmean
from typing import Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Size, Table
from cwndlab.reproduction.ccm_ss.grid import (
    ASSUMPTIONS,
    BANDWIDTH,
    FULL,
    LATE_RTTS_MS,
    LATER,
    PRIMARY,
    QUICK,
    READINGS,
    SET_LABELS,
    SETS,
    Reading,
    cases,
    controls,
    why,
)
from cwndlab.reproduction.claims import Claim, Greater, Less, RatioIn, Relation, ValueIn, Welch
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured


def _claim(reading: Reading, title: str, words: str, metric: str, relation: Relation, **more: Any) -> Claim:
    """A claim under a reading; of the base assumptions' only it is one of the paper's claims."""
    beside = "goodput_bps" if metric == "sent_goodput_bps" else None
    headline = more.pop("headline", "") if reading is PRIMARY else ""
    kind = more.pop("kind", reading.kind)
    metrics = more.pop("metrics", metric)
    where = more.pop("where", {})
    prefix = "" if reading is PRIMARY else f"{reading.name}: "
    quantity = f"{prefix}{title}, CCM-SS / {reading.base_name}"
    return Claim(
        quantity,
        words,
        metrics,
        [{**side, **where} for side in reading.sides],
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


#: § VII i: half of the reported 10 % is the margin of every claim on the loss rate.
_LESS = Less(effect=0.10)
#: A difference of up to the reported 10 % either way is minor.
_MINOR = RatioIn(0.9, 1 / 0.9)


def _fig12a_claims(size: Size) -> list[Claim]:
    del size
    title, said = "drops per second in each later third of the run", "lower from 200 s on"
    claims = [
        _claim(reading, title, said, LATER[0], _LESS, metrics=LATER, headline="ccm-ss:throughout")
        for reading in READINGS
    ]
    # "Throughout all the simulations" may also mean in each of them.
    said = "throughout all the simulations"
    for label, title in (("buffer_bdp", "each buffer"), ("rtt2_ms", "each RTT")):
        claims.append(
            _claim(PRIMARY, f"drops per second, {title}", said, "drops_per_s", _LESS, kind="reading", each=label)
        )
    return claims


def _fig12b_claims(size: Size) -> list[Claim]:
    del size
    words, key = "a minor difference", "ccm-ss:short-minor"
    return [_claim(PRIMARY, "drops per second", words, "drops_per_s", _MINOR, headline=key)]


def _fig12(letter: str, length: str, published: str, claims: Callable[[Size], list[Claim]]) -> Experiment:
    return Experiment(
        f"ccm-ss/fig12{letter}",
        f"packet loss rate, {length} RTTs, CCM-SS against HyStart",
        f"§ VII, Fig. 12({letter})",
        f"Packet loss rate over time, {length} RTTs ({SETS[f'{length}, different'][0]} ms against several), CUBIC "
        f"with HyStart and with CCM-SS: {published}.",
        [
            *ASSUMPTIONS,
            f"Of the paper's five bandwidths the figure's is taken, {BANDWIDTH} Mbit/s, and the mean over all buffers: "
            "the figure names neither.",
            f"Flow 1 has {SETS[f'{length}, different'][0]} ms, as § V-B states.",
            "The figure's axis runs to 800 s though runs last 600 s: the later two thirds of a run stand for 200 s to "
            "its end.",
            "The second flow starts at 2 s; § V-B has that for fairness and names no start for loss.",
        ],
        QUICK,
        FULL,
        lambda size: cases(size, [f"{length}, different"]),
        claims,
        lambda measured: _losses(measured, f"fig12{letter}"),
        why=why,
    )


FIG12A = _fig12("a", "long", "CCM-SS is lower from 200 to 800 s, with a big gap", _fig12a_claims)
FIG12B = _fig12("b", "short", "the lines are very close and the difference is minor", _fig12b_claims)


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
    metric, claims = "sent_goodput_bps", []
    for reading in READINGS:
        claims.append(_claim(reading, "goodput", "higher", metric, Greater(), headline="ccm-ss:goodput"))
        title, words, key = "utilisation", "HyStart's limits use the line less", "ccm-ss:utilisation"
        claims.append(_claim(reading, title, words, "utilisation", Greater(), headline=key))
    return claims


FIG13A = Experiment(
    "ccm-ss/fig13a",
    "goodput over the bandwidth, CCM-SS against HyStart",
    "§ VI-B, § VII, Fig. 13(a)",
    "Goodput of both flows against the bandwidth between source and destination: CCM-SS is higher. § VI-B ii adds that "
    "HyStart uses the line less.",
    [
        *ASSUMPTIONS,
        "The figure's bandwidth is that of the links to the nodes, of which the bottleneck has half; drawn is the "
        "bottleneck's.",
        "The long, different RTTs are taken and the mean over all buffers; the figure names neither.",
        "The text does not say that goodput is higher at every bandwidth: judged is the mean over all of them.",
        f"Readings other than the base assumptions are run at {BANDWIDTH} Mbit/s only.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, ["long, different"], size["bandwidth_mbps"]),
    _fig13a_claims,
    lambda measured: [_over(measured, "bandwidth_mbps", "bottleneck, Mbit/s", "fig13a")],
    why=why,
)


_NETWORKS = ("long", "short")


def _fig13b_claims(size: Size) -> list[Claim]:
    del size
    words, key = "higher", "ccm-ss:goodput"
    return [_claim(PRIMARY, "goodput", words, "sent_goodput_bps", Greater(), each="network", headline=key)]


FIG13B = Experiment(
    "ccm-ss/fig13b",
    "goodput over the RTT, CCM-SS against HyStart",
    "§ VII, Fig. 13(b)",
    "Goodput of both flows against the RTT: CCM-SS is higher.",
    [
        *ASSUMPTIONS,
        f"Long and short RTTs of § V-B at {BANDWIDTH} Mbit/s, and the mean over all buffers; the figure names none.",
        "The text does not say that goodput is higher at every RTT: judged are long and short RTTs.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, [f"{network}, different" for network in _NETWORKS]),
    _fig13b_claims,
    lambda measured: [
        _over(measured, "rtt2_ms", "RTT of the second flow, ms", f"fig13b-{network}", network=network)
        for network in _NETWORKS
    ],
    why=why,
)


def _fig14_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for reading in READINGS:
        words, headline = "converges faster", "ccm-ss:convergence"
        claims.append(_claim(reading, "convergence time", words, "convergence_or_end_s", Less(), headline=headline))
        title = "Jain's index from the second flow's start on"
        claims.append(_claim(reading, title, "fairer", "jain_together", Greater(), kind="reading"))
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
            near, fair = (measured.estimate(metric, **side) for metric in ("convergence_or_end_s", "jain_together"))
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
    header = ("module", "converged", "after, or until the end, s", "low", "high", "Jain index", "low", "high")
    return [Table("Convergence and fairness", header, rows)]


CONVERGENCE = Experiment(
    "ccm-ss/fig14",
    "convergence time of two flows, CCM-SS against HyStart",
    "§ VII, Fig. 14",
    "The second flow starts at 150 s: with CCM-SS the two windows converge faster, which improves fairness too.",
    [
        *ASSUMPTIONS,
        f"RTTs of {LATE_RTTS_MS[0]} and {LATE_RTTS_MS[1]} ms at {BANDWIDTH} Mbit/s, and the mean over all buffers: the "
        "figure names none of them.",
        "Convergence time is T3 − T2: T2 the second flow's start, T3 the first sample at which its window is 80 % "
        "of the first flow's. A run in which the windows never come near counts with the time from T2 to its end, on "
        "either side; the table has their number.",
        "Fairness is judged in the runs that start at 2 s, as § V-B states (Table 4); of these it is a reading, from "
        "the second start on.",
    ],
    QUICK,
    FULL,
    lambda size: cases(size, ["long, different"], late=True),
    _fig14_claims,
    _windows,
    _converged,
    why,
)


_DIFFERENT = {"rtts": "different"}


def _table4_claims(size: Size) -> list[Claim]:
    del size
    drops, goodput, shared = "drops_per_s", "sent_goodput_bps", {"where": _DIFFERENT}

    def claim(title: str, words: str, metric: str, relation: Relation, key: str, **more: Any) -> Claim:
        return _claim(PRIMARY, title, words, metric, relation, headline=f"ccm-ss:{key}", **shared, **more)

    per, index = "drops per second", "Jain's index"
    unfair = "a second of unfair shares makes it 0"
    return [
        claim(f"{per}, long and short RTTs", "less in both", drops, _LESS, "loss", each="network"),
        claim(f"{per}, long and short together", "10 % less", drops, Less(0.90), "loss-size"),
        claim(index, "fairer", "jain", Greater(), "fairness"),
        claim(f"{index}, {unfair}", "fairer", "fair_throughout", Greater(), "", kind="reading"),
        claim(f"{index}, 0 where no second is fair", "fairer", "fair_ever", Greater(), "", kind="reading"),
        claim(f"{per}, Welch's test", "p < 0.05", drops, Welch(up=False, effect=0.10), "significance"),
        claim("goodput, Welch's test", "p < 0.05", goodput, Welch(up=True), "significance"),
        claim("drops in slow starts", "not too many", "start_drops", Less(), "in-time"),
        claim("window at the exit from slow start over B·D", "updated", "exit_share", Greater(), "exit"),
        Claim(
            f"{PRIMARY.base_name}: {index}",
            "shares are not fair",
            "jain",
            [{**PRIMARY.sides[1], **_DIFFERENT}],
            ValueIn(-inf, 0.98),
            headline="ccm-ss:cubic-unfair",
        ),
        Claim(
            f"{PRIMARY.base_name}: drops in slow starts",
            "burst losses",
            "start_drops",
            [{**PRIMARY.sides[1], **_DIFFERENT}],
            ValueIn(2.0, inf),
            headline="ccm-ss:burst",
        ),
    ]


def _table4_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for reading in _run(measured):
        for side in reading.sides:
            for name in SETS:
                at = {**side, **SET_LABELS[name]}
                if not any(True for _ in measured.rows_of(at)):
                    continue
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
            found = [measured.estimate(metric, **side, **SET_LABELS[name]) for name in SETS]
            curves.append(Curve.of(side["module"], list(SETS), found, factor=factor, panel=_panel(PRIMARY)))
        charts.append(Chart(f"table4-{metric.split('_')[0]}", title, "RTTs", unit, curves, kind="bars"))
    return charts


TABLE4 = Experiment(
    "ccm-ss/table4",
    "loss rate, goodput and fairness over all RTTs, with Welch's t-test",
    "abstract, § V-B, § VI, § VII, Table 4",
    "Table 4 has four sets: CUBIC with HyStart and with CCM-SS, each for packet loss and for goodput, on long and "
    "short RTTs. Loss is less on both, 10 % less; shares are fairer; the improvements pass a t-test with p < 0.05.",
    [
        *ASSUMPTIONS,
        f"At {BANDWIDTH} Mbit/s; a repetition's value is the mean over all buffers and RTT pairs of § V-B, which Table "
        "3 calls different. Its similar ones, 190 and 16 ms for flow 1, are shown and not judged.",
        "§ VII i gives its 10 % for long and short RTTs together.",
        "Losses in slow start are drops of the bottleneck until a round trip after the end of each flow's first slow "
        "start. A burst is two packets or more a run.",
        "Shares are not fair where Jain's index is below 0.98; the paper has no bound.",
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
