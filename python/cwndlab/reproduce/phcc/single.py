"""Figures 6 to 11 of the PHCC paper: one flow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

from cwndlab.plots.charts import Chart, Curve
from cwndlab.reproduce.claims import Claim, Greater, Landmark, Less, Shape, ValueIn
from cwndlab.reproduce.experiment import Case, Experiment, Size, Table
from cwndlab.reproduce.measured import Measured
from cwndlab.reproduce.phcc.path import (
    ALPHA,
    ASSUMPTIONS,
    BDP_PACKETS,
    LOSS_BASED,
    VARIANTS,
    alone,
    measure_phases,
    scenario,
    trace_window,
    troubles,
)

#: Why a line of throughput may stand above the line rate.
HELD_BACK = "Payload delivered in order: what a loss had held back arrives at once when it is repaired."
_NO_BUFFER = "The figure names no buffer: 1000 packets."


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
        Claim("time until the line is in full use, s", "full use at once", "fill_s", [side], ValueIn(-inf, 0.5)),
        Claim("utilisation", "full use", "utilisation", [side], ValueIn(0.95, inf)),
    ]


def _fig6b_claims(size: Size) -> list[Claim]:
    del size
    sides = [{"rtt_ms": 20}, {"rtt_ms": 2}]
    return [
        Claim("time until the line is in full use, 20 / 2 ms", "slower growth at 20 ms", "fill_s", sides, Greater())
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
    claims = [
        Claim(
            f"throughput, PHCC / {other}",
            "the others collapse, PHCC does not",
            "goodput_bps",
            [{"variant": "PHCC", "loss": loss}, {"variant": other, "loss": loss}],
            Greater(),
        )
        for other in _OTHERS
    ]
    for other in _OTHERS:
        claims.append(
            Claim(
                f"utilisation of {other}",
                "collapses" + (" even at rare loss" if loss < 0.001 else ""),
                "utilisation",
                [{"variant": other, "loss": loss}],
                ValueIn(-inf, 0.5),
            )
        )
    return claims


def _fig8_charts(measured: Measured, name: str) -> list[Chart]:
    shown = [(variant, "", {"variant": variant}) for variant in (*_OTHERS, "PHCC")]
    return [_over_time(measured, name, "Throughput with random loss, each flow alone", shown)]


def _by_variant(measured: Measured) -> list[str]:
    return [f"{variant}: {troubles(measured, variant=variant)}." for variant in measured.points("variant")]


def _fig8(letter: str, loss: float) -> Experiment:
    return Experiment(
        f"phcc/fig8{letter}",
        f"throughput over time with a random loss of {loss:g}",
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

_PANELS = {"losses decide": ("Reno", *LOSS_BASED), "delay decides, or both": ("Vegas", "FAST", "HCC", "PHCC")}
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
    words = "high-speed variants over Vegas and Reno"
    claims = [
        Claim(
            f"throughput over all buffers, {fast} / {slow}",
            words,
            "goodput_bps",
            [{"variant": fast}, {"variant": slow}],
            Greater(),
        )
        for fast in LOSS_BASED
        for slow in ("Vegas", "Reno")
    ]
    buffers = size["buffer_packets"]
    for buffer in buffers:
        if buffer < 400:
            sides = [{"variant": "FAST", "buffer_packets": one} for one in (buffer, 1000)]
            claims.append(
                Claim(f"FAST: throughput, {buffer} / 1000 packets", "falls under 400", "goodput_bps", sides, Less())
            )
    for buffer in buffers:
        good = buffer >= 300
        claims.append(
            Claim(
                f"PHCC: utilisation, {buffer} packets",
                "good except under 300 packets",
                "utilisation",
                [{"variant": "PHCC", "buffer_packets": buffer}],
                ValueIn(0.9, inf) if good else ValueIn(-inf, 0.9),
            )
        )
    return claims


def _fig9_why(measured: Measured) -> list[str]:
    told = []
    for variant in ("Reno", "FAST", "PHCC"):
        for buffer in measured.points("buffer_packets"):
            told.append(f"{variant}, {buffer} packets: {troubles(measured, variant=variant, buffer_packets=buffer)}.")
    return told


FIG9 = Experiment(
    "phcc/fig9",
    "average throughput over the buffer",
    "300 s, buffers of 100 to 4000 packets: the high-speed variants stand over Vegas and Reno, FAST falls under 400 "
    "packets, PHCC is good except under 300.",
    [*ASSUMPTIONS, "Good is at least 90 % of the line.", "One flow; its RTT is 120 ms, a BDP of 3000 packets."],
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
    claims = []
    for variant in ("Reno", *LOSS_BASED):
        sides = [{"variant": variant, "buffer_packets": buffer} for buffer in (4000, 400)]
        words = "loss-based queues grow with the buffer"
        claims.append(Claim(f"{variant}: queue, 4000 / 400 packets", words, "queue_packets", sides, Greater()))
    for variant in ("Vegas", "FAST", "PHCC"):
        for other in ("STCP", "BIC"):
            low: list[dict[str, str | int]] = [{"variant": one, "buffer_packets": 4000} for one in (variant, other)]
            words = "delay-based and PHCC stay low"
            claims.append(Claim(f"queue at 4000 packets, {variant} / {other}", words, "queue_packets", low, Less()))
    return claims


FIG11 = Experiment(
    "phcc/fig11",
    "average queue over the buffer",
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
    claims = [
        Claim(
            f"throughput over all losses, FAST / {other}",
            "FAST best",
            "goodput_bps",
            [{"variant": "FAST"}, {"variant": other}],
            Greater(),
        )
        for other in VARIANTS
        if other != "FAST"
    ]
    for loss in size["loss"]:
        sides = [{"variant": one, "loss": loss} for one in ("PHCC", "Reno")]
        quantity = f"throughput at a loss of {loss:g}, PHCC / Reno"
        claims.append(Claim(quantity, "PHCC acceptable", "goodput_bps", sides, Greater()))
    return claims


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
