"""Figures 6 to 11 of the PHCC paper: one flow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import Claim, Greater, Kind, Landmark, Less, RatioIn, Shape, ValueIn
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.phcc.path import (
    ALPHA,
    ASSUMPTIONS,
    BDP_PACKETS,
    LOSS_BASED,
    PHCC_20,
    VARIANTS,
    alone,
    measure_phases,
    scenario,
    trace_window,
    troubles,
)

#: Why a line of throughput may stand above the line rate.
HELD_BACK = "Payload delivered in order: data behind a loss arrives at once when the loss is repaired."
_NO_BUFFER = "The figure names no buffer: 1000 packets."


def _labels(**labels: str | float) -> Labels:
    return labels


def _kind(variant: str) -> Kind:
    return "reading" if variant == PHCC_20 else "claim"


def _over_time(measured: Measured, name: str, title: str, shown: Sequence[tuple[str, str, dict[str, Any]]]) -> Chart:
    """Goodput over time of the first repetitions: label, panel, where."""
    curves = []
    for label, panel, where in shown:
        line = measured.line("goodput_1", **where)
        curves.append(Curve(label, line.x, line.y, panel=panel))
    return Chart(name, title, "time, s", "throughput, Mbit/s", curves, note=HELD_BACK)


# Figure 6: growth on short paths.


def _fig6_cases(size: Size) -> list[Case]:
    return [
        alone(
            "PHCC",
            buffer=1000,
            duration_s=size.duration_s,
            labels={"rtt_ms": rtt},
            rtt_ms=float(rtt),
            sample_ms=10.0,
        )
        for rtt in (2, 20)
    ]


def _fig6a_claims(size: Size) -> list[Claim]:
    del size
    side = {"rtt_ms": 2}
    return [
        Claim(
            "time until the line is in full use, s",
            "full use at once",
            "time_to_full_utilisation_s",
            [side],
            ValueIn(-inf, 0.5),
        ),
        Claim("utilisation", "full use", "utilisation", [side], ValueIn(0.95, inf)),
    ]


def _fig6b_claims(size: Size) -> list[Claim]:
    del size
    sides = [{"rtt_ms": 20}, {"rtt_ms": 2}]
    return [
        Claim(
            "time until the line is in full use, 20 / 2 ms",
            "slower growth at 20 ms",
            "time_to_full_utilisation_s",
            sides,
            Greater(),
        )
    ]


def _fig6_charts(measured: Measured, name: str, rtts: Sequence[int]) -> list[Chart]:
    shown = [("PHCC", f"RTT {rtt} ms", {"rtt_ms": rtt}) for rtt in rtts]
    return [_over_time(measured, name, "Throughput of one PHCC flow", shown)]


def _fig6_why(measured: Measured) -> list[str]:
    return [f"RTT {rtt} ms: {troubles(measured, rtt_ms=rtt)}." for rtt in (2, 20)]


_FIG6 = [
    *ASSUMPTIONS,
    _NO_BUFFER,
    "The line is in full use from the first 10 ms in which it is busy for 95 %; at once means within half a second.",
]
_FIG6_QUICK, _FIG6_FULL = Size(20.0, 3), Size(100.0, 5)

FIG6A = Experiment(
    "phcc/fig6a",
    "one PHCC flow at an RTT of 2 ms, throughput over time",
    "§ 4, Fig. 6(a)",
    "At an RTT of 2 ms one PHCC flow has the whole line at once.",
    _FIG6,
    _FIG6_QUICK,
    _FIG6_FULL,
    _fig6_cases,
    _fig6a_claims,
    lambda measured: _fig6_charts(measured, "fig6a", (2,)),
    why=_fig6_why,
)
FIG6B = Experiment(
    "phcc/fig6b",
    "one PHCC flow at an RTT of 20 ms, throughput over time",
    "§ 4, Fig. 6(b)",
    "At an RTT of 20 ms throughput grows more slowly than at 2 ms.",
    _FIG6,
    _FIG6_QUICK,
    _FIG6_FULL,
    _fig6_cases,
    _fig6b_claims,
    lambda measured: _fig6_charts(measured, "fig6b", (2, 20)),
    why=_fig6_why,
)

# Figure 7: the phases of growth.


def _fig7_cases(size: Size) -> list[Case]:
    document = scenario([VARIANTS["PHCC"]], buffer=2000, duration_s=size.duration_s, sample_ms=20.0)
    return [Case({"variant": "PHCC"}, document, measure_phases, trace_window)]


def _fig7_claims(size: Size) -> list[Claim]:
    del size
    marks = (
        Landmark("the window about doubles per RTT while the delay is below D_min", "first_growth", 1.7, 2.1),
        Landmark("a loss halves it", "cut", 0.45, 0.55),
        Landmark("in the congestion phase it grows by less than doubling", "second_growth", 1.0, 1.5),
        Landmark("and comes to rest: its coefficient of variation in the second half", "rest_cv", 0.0, 0.1),
    )
    return [Claim("phases of the window", "shape", "", [{"variant": "PHCC"}], Shape(marks))]


def _fig7_charts(measured: Measured) -> list[Chart]:
    line = measured.line("cwnd")
    return [
        Chart("fig7", "Window of one PHCC flow", "time, s", "cwnd, packets", [Curve("PHCC", line.x, line.y)]),
    ]


def _fig7_why(measured: Measured) -> list[str]:
    cuts, queue = measured.estimate("cuts").mean, measured.estimate("rest_queue_packets").mean
    swings = (ALPHA * BDP_PACKETS / 2) ** 0.5
    return [
        f"{cuts:.1f} losses or timeouts a run, and in its second half {queue:.0f} packets wait on average. The "
        "delay target "
        f"D·alpha/q falls with the queue faster than a step of a round trip follows where fewer than √(alpha·BDP/2) = "
        f"{swings:.0f} packets wait: there the window swings from half to double instead of coming to rest."
    ]


FIG7 = Experiment(
    "phcc/fig7",
    "the three phases of PHCC's growth",
    "§ 3.5, § 4, Fig. 7",
    "The window grows additively and multiplicatively below D_min, by Eq. 7 between D_min and D_max, and not in the "
    "critical phase above; any loss halves it.",
    [*ASSUMPTIONS, "The figure is a sketch: the path of the tables with 2000 packets of buffer is run."],
    Size(60.0, 3),
    Size(300.0, 5),
    _fig7_cases,
    _fig7_claims,
    _fig7_charts,
    why=_fig7_why,
)

# Figure 8: random loss, throughput over time.

#: What "a normal" and "a fast TCP" may mean.
_OTHERS = ("Reno", "HSTCP", "FAST")
OTHERS_ASSUMED = (
    'The paper compares with "a normal" and "a fast" TCP: Reno is taken for the one, HSTCP for the other, and '
    "FAST stands "
    "beside for the case that its name is meant."
)


def _fig8_cases(size: Size, loss: float) -> list[Case]:
    return [
        alone(variant, buffer=2000, duration_s=size.duration_s, labels={"loss": loss}, loss=loss)
        for variant in (*_OTHERS, "PHCC")
    ]


def _fig8_claims(size: Size, loss: float) -> list[Claim]:
    del size
    key, mine = "phcc:loss", _labels(variant="PHCC", loss=loss)
    rare = " even at rare loss" if loss < 0.001 else ""
    sides = [mine, *(_labels(variant=other, loss=loss) for other in _OTHERS)]
    return [
        Claim("throughput, PHCC / each competitor", "PHCC better", "goodput_bps", sides, Greater(), headline=key),
        Claim("utilisation of PHCC", "does not collapse", "utilisation", [mine], ValueIn(0.5, inf), headline=key),
        Claim(
            "utilisation of each competitor",
            f"collapses{rare}",
            "utilisation",
            [{"loss": loss}],
            ValueIn(-inf, 0.5),
            headline=key,
            each="variant",
            at=_OTHERS,
        ),
    ]


def _fig8_charts(measured: Measured, name: str) -> list[Chart]:
    shown = [(variant, "", {"variant": variant}) for variant in (*_OTHERS, "PHCC")]
    return [_over_time(measured, name, "Throughput with random loss, each flow alone", shown)]


def _by_variant(measured: Measured) -> list[str]:
    return [f"{variant}: {troubles(measured, variant=variant)}." for variant in measured.points("variant")]


def _fig8(letter: str, loss: float) -> Experiment:
    return Experiment(
        f"phcc/fig8{letter}",
        f"throughput over time with a random loss of {loss:g}",
        f"§ 4, Fig. 8({letter})",
        f"With a random loss of {loss:g} a normal and a fast TCP collapse, PHCC keeps a part of the line.",
        [
            *ASSUMPTIONS,
            OTHERS_ASSUMED,
            "Each flow is alone on the path, with 2000 packets of buffer; a collapse is less than half of the line.",
        ],
        Size(60.0, 5),
        Size(300.0, 5),
        partial(_fig8_cases, loss=loss),
        partial(_fig8_claims, loss=loss),
        lambda measured: _fig8_charts(measured, f"fig8{letter}"),
        why=_by_variant,
    )


FIG8A, FIG8B = _fig8("a", 0.01), _fig8("b", 0.00001)

# Figures 9 and 11: the buffer.

_PANELS = {"losses decide": ("Reno", *LOSS_BASED), "delay decides, or both": ("Vegas", "FAST", "HCC", "PHCC", PHCC_20)}
_BUFFERS = Size(60.0, 3, {"buffer_packets": (100, 400, 1000, 4000)})
_BUFFERS_FULL = Size(300.0, 5, {"buffer_packets": (100, 200, 300, 400, 600, 1000, 2000, 3000, 4000)})


def _buffer_cases(size: Size) -> list[Case]:
    return [
        alone(variant, buffer=buffer, duration_s=size.duration_s, labels={"buffer_packets": buffer})
        for variant in VARIANTS
        for buffer in size["buffer_packets"]
    ]


def _over(measured: Measured, label: str, x_title: str, name: str, metric: str, **drawn: Any) -> Chart:
    curves = []
    for panel, variants in _PANELS.items():
        for variant in variants:
            points = measured.points(label, variant=variant)
            found = [measured.estimate(metric, variant=variant, **{label: point}) for point in points]
            curves.append(Curve.of(variant, points, found, factor=drawn.get("factor", 1.0), panel=panel))
    return Chart(name, drawn["title"], x_title, drawn["unit"], curves, log_x=drawn.get("log_x", False))


def _fig9_claims(size: Size) -> list[Claim]:
    buffers, key = size["buffer_packets"], "phcc:throughput"
    small, good = ([buffer for buffer in buffers if (buffer < 300) == side] for side in (True, False))
    words, metric = "high-speed variants over Vegas and Reno", "goodput_bps"
    slow = [{"variant": one} for one in ("Vegas", "Reno")]
    claims = [
        Claim(
            f"throughput over all buffers, {fast} / Vegas and Reno",
            words,
            metric,
            [{"variant": fast}, *slow],
            Greater(),
        )
        for fast in LOSS_BASED
    ]
    for buffer in buffers:
        if buffer < 400:
            sides = [_labels(variant="FAST", buffer_packets=one) for one in (buffer, 1000)]
            claims.append(Claim(f"FAST: throughput, {buffer} / 1000 packets", "falls under 400", metric, sides, Less()))
    for name in ("PHCC", PHCC_20):
        what, mine = _kind(name), _labels(variant=name)
        words, title = "good except under 300 packets", f"{name}: utilisation with 300 packets and more"
        full = ValueIn(0.9, inf)
        claims.append(
            Claim(
                title,
                words,
                "utilisation",
                [mine],
                full,
                kind=what,
                headline=key if what == "claim" else "",
                each="buffer_packets",
                at=good,
            )
        )
        if small:
            title, poor = f"{name}: utilisation under 300 packets", ValueIn(-inf, 0.9)
            claims.append(Claim(title, words, "utilisation", [mine], poor, kind=what, each="buffer_packets", at=small))
        sides = [mine, *(_labels(variant=other) for other in (*LOSS_BASED, "FAST", "HCC"))]
        title, words = (
            f"throughput, {name} / each high-speed variant, each buffer",
            "well beside them at nearly all buffers",
        )
        claims.append(
            Claim(
                title,
                words,
                metric,
                sides,
                RatioIn(0.99, inf),
                kind=what,
                headline=key if what == "claim" else "",
                each="buffer_packets",
                at=good,
            )
        )
    return claims


def _fig9_why(measured: Measured) -> list[str]:
    sentences = []
    for variant in ("Reno", "FAST", "PHCC"):
        for buffer in measured.points("buffer_packets"):
            sentences.append(
                f"{variant}, {buffer} packets: {troubles(measured, variant=variant, buffer_packets=buffer)}."
            )
    return sentences


FIG9 = Experiment(
    "phcc/fig9",
    "average throughput over the buffer",
    "§ 4, Fig. 9",
    "Buffers of 100 to 4000 packets: the high-speed variants stand over Vegas and Reno, FAST falls under 400 "
    "packets, PHCC is good except under 300.",
    [
        *ASSUMPTIONS,
        "Good is at least 90 % of the line; well beside others is at most 1 % less than each of "
        "them; nearly all buffers are all from 300 packets on.",
        "One flow; its RTT is 120 ms, a BDP of 3000 packets.",
    ],
    _BUFFERS,
    _BUFFERS_FULL,
    _buffer_cases,
    _fig9_claims,
    lambda measured: [
        _over(
            measured,
            "buffer_packets",
            "buffer, packets",
            "fig9",
            "goodput_bps",
            title="Average throughput",
            unit="throughput, Mbit/s",
            factor=1e-6,
            log_x=True,
        )
    ],
    why=_fig9_why,
)


def _fig11_claims(size: Size) -> list[Claim]:
    del size
    metric, large = "queue_packets", _labels(buffer_packets=4000)
    words, sides = "loss-based queues grow with the buffer", [large, _labels(buffer_packets=400)]
    title, grow = "queue of each loss-based variant, 4000 / 400 packets", ("Reno", *LOSS_BASED)
    claims = [Claim(title, words, metric, sides, Greater(), each="variant", at=grow)]
    for name in ("Vegas", "FAST", "PHCC", PHCC_20):
        low = [_labels(variant=one, buffer_packets=4000) for one in (name, "STCP", "BIC")]
        title, words = f"queue at 4000 packets, {name} / STCP and BIC", "delay-based and PHCC stay low"
        what, key = _kind(name), "phcc:queue" if name == "PHCC" else ""
        claims.append(Claim(title, words, metric, low, Less(), kind=what, headline=key))
    return claims


FIG11 = Experiment(
    "phcc/fig11",
    "average queue over the buffer",
    "§ 4, Fig. 11",
    "Loss-based variants keep a queue that grows with the buffer; that of delay-based ones and of PHCC stays low.",
    [
        *ASSUMPTIONS,
        "The runs are those of Figure 9.",
        "Low is judged beside STCP and BIC at 4000 packets; the paper's figure has no scale in its text.",
    ],
    _BUFFERS,
    _BUFFERS_FULL,
    _buffer_cases,
    _fig11_claims,
    lambda measured: [
        _over(
            measured,
            "buffer_packets",
            "buffer, packets",
            "fig11",
            "queue_packets",
            title="Average queue",
            unit="queue, packets",
            log_x=True,
        )
    ],
    why=_by_variant,
)

# Figure 10: random loss.


def _fig10_cases(size: Size) -> list[Case]:
    return [
        alone(variant, buffer=2000, duration_s=size.duration_s, labels={"loss": loss}, loss=loss)
        for variant in VARIANTS
        for loss in size["loss"]
    ]


def _fig10_claims(size: Size) -> list[Claim]:
    del size
    metric, others = "goodput_bps", [{"variant": one} for one in VARIANTS if one not in ("FAST", PHCC_20)]
    sides, reno = [{"variant": "FAST"}, *others], [{"variant": "PHCC"}, {"variant": "Reno"}]
    title = "throughput at each loss, PHCC / Reno"
    return [
        Claim("throughput over all losses, FAST / each competitor", "FAST best", metric, sides, Greater()),
        Claim(title, "PHCC acceptable", metric, reno, Greater(), headline="phcc:loss", each="loss"),
    ]


def _fig10_tables(measured: Measured) -> list[Table]:
    losses = measured.points("loss")
    rows: list[Sequence[str | float | None]] = [
        [variant, *(measured.estimate("goodput_bps", variant=variant, loss=loss).mean / 1e6 for loss in losses)]
        for variant in VARIANTS
    ]
    return [Table("Throughput by loss probability, Mbit/s", ("variant", *(f"{loss:g}" for loss in losses)), rows)]


FIG10 = Experiment(
    "phcc/fig10",
    "throughput over the loss probability",
    "§ 4, Fig. 10",
    "With 2000 packets of buffer and random loss FAST is best and PHCC acceptable.",
    [
        *ASSUMPTIONS,
        "Losses are independent, at the far end of the bottleneck's wire.",
        "Acceptable is taken for more than Reno has, since the paper gives no bound.",
    ],
    Size(60.0, 5, {"loss": (1e-5, 1e-4, 1e-3, 1e-2)}),
    Size(300.0, 5, {"loss": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)}),
    _fig10_cases,
    _fig10_claims,
    lambda measured: [
        _over(
            measured,
            "loss",
            "loss probability",
            "fig10",
            "goodput_bps",
            title="Throughput with random loss",
            unit="throughput, Mbit/s",
            factor=1e-6,
            log_x=True,
        )
    ],
    _fig10_tables,
    _by_variant,
)
