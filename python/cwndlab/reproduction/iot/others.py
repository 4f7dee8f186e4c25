"""Figures 5 to 10 of the IoT paper: beside datagrams, and beside CUBIC."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import Claim, Greater, Less, RatioIn, ValueIn
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.iot.path import (
    ALL,
    ASSUMPTIONS,
    FIRST_S,
    JITTER_S,
    PROPOSED,
    READINGS,
    SPANS_S,
    START_S,
    VARIANTS,
    background,
    bands,
    flow,
    kind,
    measure,
    measure_over_time,
    scenario,
    troubles,
    variant,
)
from cwndlab.reproduction.measured import Measured

_DELAY_MS, _RTT_MS = 50.0, 100.0
_BACKGROUND = (
    "One FTP flow of the variant: the paper names no number (n may vary). Beside 500 kbit/s the access link of 1 "
    "Mbit/s holds it, not the bottleneck, so that variants can hardly differ there. Background is "
    "datagrams both ways, half of them at a constant and half at a varying rate (25 frames/s, log-normal with a "
    "coefficient of variation of 0.5): the paper has both kinds and tells neither their shares nor what varies.",
    "The paper contradicts itself: Figure 5 at 100 s and Figure 7 at 1000 kbit/s have the same set-up, and Fast-FIT is "
    "second best in Figure 6 and last in Figure 8.",
)


def _alone(size: Size) -> list[Case]:
    return [
        Case(
            {"variant": name, "background_kbps": rate},
            scenario(
                [flow(variant(name), _RTT_MS, start_s=FIRST_S), *background(rate, _RTT_MS)],
                delay_ms=_DELAY_MS,
                duration_s=FIRST_S + JITTER_S + size.duration_s,
            ),
            measure,
            measure_over_time,
        )
        for name in ALL
        for rate in size["background_kbps"]
    ]


#: By hand: 50 packets of 1040 bytes at 1.5 Mbit/s.
_QUEUE_MS = 50 * 1040 * 8 / 1500


def _why(measured: Measured) -> list[str]:
    reach = _QUEUE_MS / (_RTT_MS + _QUEUE_MS)
    sentences = [
        f"A full queue of the bottleneck adds {_QUEUE_MS:.0f} ms, which brings β to {reach:.2f} at {_RTT_MS:.0f} ms, "
        "short of sigma: what is above are samples of ACKs that a recovery delayed."
    ]
    for name in measured.points("variant"):
        lost = measured.estimate("background_drops", variant=name).mean
        sentences.append(
            f"{name}: {troubles(measured, variant=name)}; of the background {lost:.0f} packets are dropped. "
            + (f"{bands(measured, variant=name)}." if name not in VARIANTS else "")
        )
    return sentences


# Figures 5 and 6: throughput after 25 … 150 s.

_FIG5_QUICK, _FIG5_FULL = (Size(150.0, count, {"background_kbps": (1000,)}) for count in (5, 10))


def _against(reading: str) -> list[Labels]:
    return [{"variant": reading}, *({"variant": other} for other in VARIANTS)]


def _key(reading: str, name: str) -> str:
    """The headline of a claim at the base assumptions."""
    return f"iot:{name}" if kind(reading) == "claim" else ""


def _fig5_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    spans = tuple(f"goodput_{end}_bps" for end in SPANS_S)
    for reading in READINGS:
        what, sides = kind(reading), _against(reading)
        title = f"throughput, mean of the six times, {reading} / each competitor"
        key, words = _key(reading, "throughput"), "higher than the others"
        claims.append(Claim(title, words, "spans_bps", sides, Greater(), kind=what, headline=key))
        title = f"throughput in the first {START_S:g} s, {reading} / each competitor"
        key, words = _key(reading, "start"), "a good start"
        claims.append(Claim(title, words, "goodput_2_bps", sides, Greater(), kind=what, headline=key))
        title = f"share of the time with a constant window (sigma ≤ β < tau), {reading}"
        key, words, some = _key(reading, "steady"), "a steady state is maintained", ValueIn(0.05, 1.0)
        claims.append(Claim(title, words, "beta_constant", sides[:1], some, kind=what, headline=key))
    title = f"throughput after {SPANS_S[0]} … {SPANS_S[-1]} s, at each time, {PROPOSED} / each competitor"
    claims.append(Claim(title, "highest throughout", spans, _against(PROPOSED), Greater(), kind="reading"))
    title = f"throughput after {SPANS_S[-1]} / {SPANS_S[0]} s"
    falling, steady = ValueIn(0.0, 0.99), ValueIn(0.99, inf)
    names = ("H-TCP", "CUBIC", "New Reno")
    claims.append(
        Claim(title, "falls", "late_ratio", [{}], falling, headline="iot:over-time", each="variant", at=names)
    )
    mine: list[Labels] = [{"variant": PROPOSED}]
    claims.append(Claim(f"{PROPOSED}: {title}", "maintained", "late_ratio", mine, steady, headline="iot:maintains"))
    key, side = "iot:fast-fit", {"variant": "Fast-FIT"}
    title = f"Fast-FIT: throughput after {SPANS_S[-1]} / {SPANS_S[2]} s"
    claims.append(Claim(title, "gets stable", "last_half_ratio", [side], ValueIn(0.99, 1.01), headline=key))
    others = [{"variant": other} for other in (*VARIANTS, PROPOSED) if other != "Fast-FIT"]
    title = f"throughput after {SPANS_S[0]} s, Fast-FIT / each competitor"
    claims.append(Claim(title, "Fast-FIT least", spans[0], [side, *others], Less(), headline=key))
    return claims


def _drops(reading: str) -> Claim:
    """The abstract's "reduce packet drop"."""
    title, words = f"TCP packets dropped, {reading} / each competitor", "fewer drops (abstract)"
    key = _key(reading, "drops")
    return Claim(title, words, "drops", _against(reading), Less(), kind=kind(reading), headline=key)


def _fig5_charts(measured: Measured) -> list[Chart]:
    curves = []
    for panel, names in (("against", (*VARIANTS, PROPOSED)), ("readings", tuple(READINGS))):
        for name in names:
            found = [measured.estimate(f"goodput_{end}_bps", variant=name) for end in SPANS_S]
            curves.append(Curve.of(name, SPANS_S, found, factor=1e-3, panel=panel))
    lines = {name: measured.line("goodput", variant=name) for name in (*VARIANTS, PROPOSED)}
    over = [Curve(name, line.x, line.y) for name, line in lines.items()]
    return [
        Chart("fig5", "Throughput from the start on", "time, s", "throughput, kbit/s", curves, from_zero=False),
        Chart("fig5-time", "Throughput in spans of 2 s, first repetition", "time, s", "throughput, kbit/s", over),
    ]


def _gains(metric: str, published: dict[str, float], least: str) -> list[Claim]:
    claims = []
    for reading in READINGS:
        for other, gain in published.items():
            pair: list[Labels] = [{"variant": reading}, {"variant": other}]
            words, title = f"+{100 * gain:.3g} %", f"throughput, {reading} / {other}"
            key, gained = _key(reading, "gains"), Greater(1 + gain)
            claims.append(Claim(title, words, metric, pair, gained, kind=kind(reading), headline=key))
        claims.append(_drops(reading))
    sides = [{"variant": least}, *({"variant": other} for other in (*VARIANTS, PROPOSED) if other != least)]
    title, words = f"throughput, {least} / each competitor", f"{least} least"
    claims.append(Claim(title, words, metric, sides, Less(), headline="iot:least"))
    return claims


def _means_table(measured: Measured, metric: str, title: str) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for name in ALL:
        one = measured.estimate(metric, variant=name)
        low, high = (None if end is None else end / 1e3 for end in (one.low, one.high))
        rows.append([name, one.mean / 1e3, low, high, measured.estimate("timeouts", variant=name).mean])
    return [Table(title, ("variant", "kbit/s", "low", "high", "timeouts"), rows)]


def _means_chart(measured: Measured, name: str, metric: str) -> list[Chart]:
    found = [measured.estimate(metric, variant=one) for one in ALL]
    curves = [Curve.of("throughput", ALL, found, factor=1e-3)]
    return [Chart(name, "Mean throughput", "variant", "throughput, kbit/s", curves, kind="bars")]


_FIG5 = [*ASSUMPTIONS, *_BACKGROUND]
FIG5 = Experiment(
    "iot/fig5",
    "throughput after 25 to 150 s",
    "§ 4, Fig. 5",
    "Beside 1000 kbit/s of background both ways, 50 ms and 50 packets, the proposed algorithm starts well, keeps its "
    "throughput and has the highest one; that of H-TCP, CUBIC and New Reno falls with time; Fast-FIT has the least at "
    "25 s and gets stable.",
    [
        *_FIG5,
        "Times are 25, 50, …, 150 s: the text gives the range. The sentence on the highest throughput is judged by the "
        "mean of the six, each time beside it.",
        f"A start is the first {START_S:g} s, 20 round trips; a steady state is a constant window for 5 % of the time "
        "or more; stable and maintained are within 1 %.",
    ],
    _FIG5_QUICK,
    _FIG5_FULL,
    _alone,
    _fig5_claims,
    _fig5_charts,
    lambda measured: _means_table(measured, "goodput_150_bps", "Throughput over 150 s"),
    _why,
)
_TOLERANCE = "A gain counts as met within 20 % of itself, not of the ratio."
FIG6 = Experiment(
    "iot/fig6",
    "mean throughput of Figure 5",
    "§ 4, Fig. 6",
    "On average over Figure 5 the proposed algorithm has 4 % more than CUBIC, 1.9 % more than Fast-FIT, 3.8 % "
    "more than "
    "H-TCP and 4.3 % more than New Reno.",
    [*_FIG5, "The average is over 25, 50, …, 150 s: the text gives the range, not the steps.", _TOLERANCE],
    _FIG5_QUICK,
    _FIG5_FULL,
    _alone,
    lambda size: _gains("spans_bps", {"CUBIC": 0.04, "Fast-FIT": 0.019, "H-TCP": 0.038, "New Reno": 0.043}, "New Reno"),
    lambda measured: _means_chart(measured, "fig6", "spans_bps"),
    lambda measured: _means_table(measured, "spans_bps", "Mean over the six times"),
    _why,
)

# Figures 7 and 8: throughput over the background.

_FIG7_QUICK = Size(100.0, 5, {"background_kbps": (500, 700, 800, 900, 1000)})
_FIG7_FULL = Size(100.0, 10, {"background_kbps": (500, 600, 700, 800, 900, 1000)})


def _fig7_claims(size: Size) -> list[Claim]:
    metric, claims = "delivered_share", []
    low, *higher = size["background_kbps"]
    ends: list[Labels] = [{"background_kbps": higher[-1]}, {"background_kbps": low}]
    for reading in READINGS:
        what, key = kind(reading), _key(reading, "every-background")
        title = f"throughput from {higher[0]} kbit/s on, {reading} / each competitor"
        words, sides, each = "highest as the background grows", _against(reading), "background_kbps"
        claims.append(Claim(title, words, metric, sides, Greater(), kind=what, headline=key, each=each, at=higher))
        title = f"share of the time with β ≥ rho, {reading}, {higher[-1]} / {low} kbit/s"
        words, sides = "proactive mode as congestion grows", [{"variant": reading, **end} for end in ends]
        key = _key(reading, "modes")
        claims.append(Claim(title, words, "beta_less", sides, Greater(), kind=what, headline=key))
    alike: list[Labels] = [{**side, "background_kbps": low} for side in _against(PROPOSED)]
    title, near = f"throughput at {low} kbit/s, {PROPOSED} / each competitor", RatioIn(0.98, 1.02)
    claims.append(Claim(title, "all alike", metric, alike, near, headline="iot:alike"))
    title, names = f"packets dropped, {higher[-1]} / {low} kbit/s", (*VARIANTS, PROPOSED)
    words, key = "drops increase with the background", "iot:more-drops"
    claims.append(Claim(title, words, "all_drops", ends, Greater(), headline=key, each="variant", at=names))
    names = ("Fast-FIT", *(name for name in names if name != "Fast-FIT"))
    sides = [{"variant": name, "background_kbps": higher[-1]} for name in names]
    title, words = f"throughput at {higher[-1]} kbit/s, Fast-FIT / each competitor", "Fast-FIT drops most"
    claims.append(Claim(title, words, metric, sides, Less(), headline="iot:fast-fit"))
    return claims


def _fig7_charts(measured: Measured) -> list[Chart]:
    rates, curves = measured.points("background_kbps"), []
    for panel, names in (("against", (*VARIANTS, PROPOSED)), ("readings", tuple(READINGS))):
        for name in names:
            found = [measured.estimate("goodput_bps", variant=name, background_kbps=rate) for rate in rates]
            curves.append(Curve.of(name, rates, found, factor=1e-3, panel=panel))
    return [Chart("fig7", "Throughput over the background", "background, kbit/s", "throughput, kbit/s", curves)]


FIG7 = Experiment(
    "iot/fig7",
    "throughput over the background",
    "§ 4, Fig. 7",
    "100 s: all variants are alike beside 500 kbit/s of background; as it grows to 1000 the proposed one is the "
    "highest, and "
    "Fast-FIT drops most; packet drops grow with the background.",
    [
        *_FIG5,
        "Alike is within 2 %. Fast-FIT's larger fall is judged by the least throughput at 1000 kbit/s. The steps of "
        "100 kbit/s are not in the text, only the range.",
        "Throughput is judged as a share of what the flow's access link carries: where that link holds a competitor, "
        "nothing can be faster. Packets dropped are those of TCP and of the background.",
    ],
    _FIG7_QUICK,
    _FIG7_FULL,
    _alone,
    _fig7_claims,
    _fig7_charts,
    lambda measured: _means_table(measured, "goodput_bps", "Mean over all backgrounds"),
    _why,
)
FIG8 = Experiment(
    "iot/fig8",
    "mean throughput of Figure 7",
    "§ 4, Fig. 8",
    "On average over Figure 7 the proposed algorithm has 6.6 % more than Fast-FIT, 1.5 % more than CUBIC, 1.3 % "
    "more than "
    "H-TCP and 1.6 % more than New Reno.",
    [*_FIG5, "The average is over 500, 600, …, 1000 kbit/s: the text gives the range, not the steps.", _TOLERANCE],
    _FIG7_QUICK,
    _FIG7_FULL,
    _alone,
    lambda size: _gains(
        "goodput_bps", {"Fast-FIT": 0.066, "CUBIC": 0.015, "H-TCP": 0.013, "New Reno": 0.016}, "Fast-FIT"
    ),
    lambda measured: _means_chart(measured, "fig8", "goodput_bps"),
    lambda measured: _means_table(measured, "goodput_bps", "Mean over all backgrounds"),
    _why,
)

# Figures 9 and 10: beside CUBIC.


def _beside(size: Size, cubics: int) -> list[Case]:
    (rate,) = size["background_kbps"]
    return [
        Case(
            {"variant": name},
            scenario(
                [
                    flow(variant(name), _RTT_MS, start_s=FIRST_S),
                    flow(variant("CUBIC"), _RTT_MS, cubics, start_s=FIRST_S),
                    *background(rate, _RTT_MS),
                ],
                delay_ms=_DELAY_MS,
                duration_s=FIRST_S + JITTER_S + size.duration_s,
            ),
            measure,
            measure_over_time,
        )
        for name in ALL
    ]


#: An equal share is met within this part of it, and the others' shares are beyond it.
_EQUAL = 0.2


def _beside_claims(size: Size, cubics: int) -> list[Claim]:
    del size
    fair = 1 / (cubics + 1)
    claims = []
    equal = ValueIn((1 - _EQUAL) * fair, (1 + _EQUAL) * fair)
    others = tuple(other for other in VARIANTS if other != "CUBIC")
    for reading in READINGS:
        what, key, side = kind(reading), _key(reading, "fairness"), {"variant": reading}
        title, words = f"share of the flow, {reading}", "about an equal share"
        claims.append(Claim(title, words, "share", [side], equal, kind=what, headline=key))
    sides: list[Labels] = [{"variant": name} for name in (PROPOSED, *others)]
    title = f"distance from an equal share, {PROPOSED} / each competitor"
    words, key = "better inter-protocol fairness", "iot:fairer"
    claims.append(Claim(title, words, "off_share", sides, Less(), headline=key))
    title, words, key = "distance from an equal share, each competitor", "not the same amount", "iot:others-unequal"
    far = ValueIn(_EQUAL * fair, 1.0)
    claims.append(Claim(title, words, "off_share", [{}], far, headline=key, each="variant", at=others))
    return claims


def _beside_charts(measured: Measured, name: str, cubics: int) -> list[Chart]:
    found = [measured.estimate("share", variant=one) for one in ALL]
    equal = Curve("equal share", ALL, [100 / (cubics + 1)] * len(ALL), published=True)
    curves = [Curve.of("share", ALL, found, factor=100.0), equal]
    title = f"Share of one flow beside {cubics} of CUBIC"
    return [Chart(name, title, "variant", "share of the TCP flows' throughput, %", curves, kind="bars")]


def _beside_experiment(figure: str, cubics: int) -> Experiment:
    flows = "three CUBIC flows" if cubics == 3 else "one CUBIC flow"
    return Experiment(
        f"iot/{figure}",
        f"share of one flow of each variant beside {flows}",
        f"§ 4, Fig. {figure.removeprefix('fig')}",
        f"1.5 Mbit/s, 50 ms, 50 packets, 100 s, background on: beside {flows} a flow of the proposed algorithm "
        "has about an "
        "equal share.",
        [
            *ASSUMPTIONS,
            "The background is 1000 kbit/s each way, which Figure 10 names and Figure 9 does not, of both kinds "
            "as in Figure 5.",
            "An equal share counts as met within 20 % of it. CUBIC beside CUBIC is shown and is not a competitor here.",
        ],
        Size(100.0, 10, {"background_kbps": (1000,)}),
        Size(100.0, 30, {"background_kbps": (1000,)}),
        partial(_beside, cubics=cubics),
        partial(_beside_claims, cubics=cubics),
        partial(_beside_charts, name=figure, cubics=cubics),
        why=_why,
    )


FIG9, FIG10 = _beside_experiment("fig9", 3), _beside_experiment("fig10", 1)
