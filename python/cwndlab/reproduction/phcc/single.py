"""Figures 6 to 11 of the PHCC paper: one flow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import (
    Claim,
    Greater,
    Kind,
    Landmark,
    Less,
    Overall,
    Shape,
    Term,
    Underspecified,
    ValueIn,
)
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.phcc.path import (
    ALPHA,
    ASSUMPTIONS,
    BDP_PACKETS,
    HIGH_SPEED,
    LOSS_BASED,
    READINGS,
    VARIANTS,
    alone,
    headline,
    kind,
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
    "The window grows additively and multiplicatively below D_min and by Eq. 7 between D_min and D_max; any loss "
    "halves it. Of the critical phase above § 3.5 gives no rule.",
    [*ASSUMPTIONS, "The figure is a sketch: the path of the tables with 2000 packets of buffer is run."],
    Size(60.0, 3),
    Size(300.0, 5),
    _fig7_cases,
    _fig7_claims,
    _fig7_charts,
    why=_fig7_why,
)

# Figure 8: random loss, throughput over time.

#: "A normal TCP flow and a fast TCP flow", beside PHCC.
_RIVALS = ("Reno", "HSTCP")
OTHERS_ASSUMED = (
    'The paper compares with "a normal TCP flow and a fast TCP flow": Reno is taken for the one and HSTCP for the '
    "other, as Figure 12's caption has high-speed TCP. FAST, whose name may be meant, is a reading."
)
_SIDES = (*_RIVALS, "FAST", "PHCC")
_CONTRADICTION = (
    'The paper contradicts itself: with random loss PHCC "has a Better performance than other algorithms" (Fig. 8) and '
    '"has not the best performance compared to other algorithms" (Fig. 10), where FAST is better.'
)


def _fig8_cases(size: Size, loss: float) -> list[Case]:
    return [
        alone(variant, buffer=2000, duration_s=size.duration_s, labels={"loss": loss}, loss=loss) for variant in _SIDES
    ]


def _fig8_claims(size: Size, loss: float) -> list[Claim]:
    del size
    mine = _labels(variant="PHCC", loss=loss)
    sides, fast = [mine, *(_labels(variant=other, loss=loss) for other in _RIVALS)], _labels(variant="FAST", loss=loss)
    title, metric = "throughput, PHCC / each of Reno and HSTCP", "goodput_bps"
    claims = [
        Claim(title, "better performance", metric, sides, Greater(), headline="phcc:loss"),
        Claim("throughput, PHCC / FAST", "better performance", metric, [mine, fast], Greater(), kind="reading"),
    ]
    title, words = "variation of throughput over 1 s, PHCC / each of Reno and HSTCP", "others fluctuate severely"
    # "Even when packets are lost is rarely": the sentence is of the rarer of the two losses.
    what: Kind = "claim" if loss < 1e-3 else "reading"
    key = headline("PHCC", "fluctuations") if what == "claim" else ""
    claims.append(Claim(title, words, "cov_1s", sides, Less(), kind=what, headline=key))
    return claims


def _fig8_charts(measured: Measured, name: str) -> list[Chart]:
    shown = [(variant, "", {"variant": variant}) for variant in _SIDES]
    return [_over_time(measured, name, "Throughput with random loss, each flow alone", shown)]


def _by_variant(measured: Measured) -> list[str]:
    return [f"{variant}: {troubles(measured, variant=variant)}." for variant in measured.points("variant")]


def _fig8(letter: str, loss: float) -> Experiment:
    return Experiment(
        f"phcc/fig8{letter}",
        f"throughput over time with a random loss of {loss:g}",
        f"§ 4, Fig. 8({letter})",
        f"With a random loss of {loss:g} PHCC performs better than a normal and a fast TCP, whose throughput "
        "fluctuates severely even where losses are rare.",
        [
            *ASSUMPTIONS,
            OTHERS_ASSUMED,
            _CONTRADICTION,
            'Each flow is alone on the path; "to compete" may also mean on one link. The figure names no buffer: 2000 '
            "packets. Fluctuations are the coefficient of variation of throughput over spans of 1 s.",
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

_PANELS = {
    "losses decide": ("Reno", *LOSS_BASED),
    "delay decides, or both": ("Vegas", "FAST", "HCC", "Illinois", "PHCC", *READINGS),
}
#: Where § 4 says that PHCC adapts to the buffer, and where not.
_FEW, _ENOUGH = "less than 300", "300 and more"
_BUFFERS = Size(60.0, 3, {"buffer_packets": (100, 400, 1000, 4000)})
_BUFFERS_FULL = Size(300.0, 5, {"buffer_packets": (100, 200, 300, 400, 600, 1000, 2000, 3000, 4000)})


def _buffer(packets: int) -> Labels:
    """Labels of a buffer."""
    return {"buffer_packets": packets, "buffers": _FEW if packets < 300 else _ENOUGH}


def _buffer_cases(size: Size) -> list[Case]:
    return [
        alone(
            variant,
            buffer=buffer,
            duration_s=size.duration_s,
            labels=_buffer(buffer),
        )
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


#: Every variant of § 4 but PHCC.
_EXISTING = ("Vegas", "Reno", *HIGH_SPEED)


def _fig9_claims(size: Size) -> list[Claim]:
    buffers, metric, each = size["buffer_packets"], "goodput_bps", "buffer_packets"
    small = [buffer for buffer in buffers if buffer < 300]
    words, fast = "uniformly better than Vegas and Reno", [{"variant": one} for one in (*HIGH_SPEED, "PHCC")]
    claims = [
        Claim(
            f"throughput at each buffer, {slow} / each high-speed variant",
            words,
            metric,
            [{"variant": slow}, *fast],
            Less(),
            each=each,
        )
        for slow in ("Vegas", "Reno")
    ]
    least, most = min(buffers), max(buffers)
    sides = [_buffer(buffer) for buffer in (most, least)]
    title, words = f"throughput of each variant, {most} / {least} packets", "increases with the buffer"
    variants = [one for one in VARIANTS if one not in READINGS]
    claims.append(Claim(title, words, metric, sides, Greater(), each="variant", at=variants))
    under = [buffer for buffer in buffers if buffer < 400]
    if under:
        of_fast = [_labels(variant="FAST", **_buffer(one)) for one in (1000, *under)]
        title = f"FAST: throughput, 1000 / each of {', '.join(map(str, under))} packets"
        claims.append(Claim(title, "falls rapidly under 400", metric, of_fast, Greater()))
    for name in ("PHCC", *READINGS):
        what, mine = kind(name), _labels(variant=name)
        words, title = "adapts to it except under 300", f"{name}: utilisation with 300 packets and more"
        good, enough = ValueIn(0.9, inf), {**mine, "buffers": _ENOUGH}
        key = headline(name, "adapts")
        claims.append(Claim(title, words, "utilisation", [enough], good, kind=what, headline=key))
        if small:
            title, poor = f"{name}: utilisation under 300 packets", ValueIn(-inf, 0.9)
            few: list[Labels] = [{**mine, "buffers": _FEW}]
            claims.append(Claim(title, words, "utilisation", few, poor, kind=what, headline=key))
        near: list[Labels] = [enough, *({"variant": other, "buffers": _ENOUGH} for other in HIGH_SPEED)]
        title = f"throughput with 300 packets and more, {name} / the mean of the high-speed variants"
        well, key = Overall([Term(metric, True, {})], 0.02, at_least=0.99), headline(name, "throughput")
        claims.append(Claim(title, "acts well nearly in all cases", "", near, well, kind=what, headline=key))
        title, key = f"throughput over all buffers, {name} / each other", headline(name, "throughput-best")
        every: list[Labels] = [mine, *(_labels(variant=other) for other in _EXISTING)]
        claims.append(Claim(title, "better in throughput", metric, every, Greater(), kind=what, headline=key))
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
    "Buffers of 100 to 4000 packets: throughput increases with them, the high-speed variants are uniformly better than "
    "Vegas and Reno, FAST falls under 400 packets, and PHCC acts well in nearly all cases, except under 300. By the "
    "abstract and § 5 it is better than existing algorithms.",
    [
        *ASSUMPTIONS,
        "To adapt to the buffer is to use at least 90 % of the line. To act well in nearly all cases is, over all "
        "buffers from 300 packets on, at most 1 % less than the geometric mean of the high-speed variants. To be "
        "better is more than each other variant, over all buffers.",
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
    metric = "queue_packets"
    words, sides = "loss-based queues grow with the buffer", [_buffer(4000), _buffer(400)]
    # The text prints STCP twice and HSTCP not at all.
    growing = ("Reno", "STCP", "BIC", "H-TCP")
    title = f"queue of each of {', '.join(growing)}, 4000 / 400 packets"
    claims = [Claim(title, words, metric, sides, Greater(), each="variant", at=growing)]
    for name in ("Vegas", "FAST"):
        low = [_labels(variant=one, buffer_packets=4000) for one in (name, *growing)]
        title, words = f"queue at 4000 packets, {name} / each loss-based", "delay-based ones load routers less"
        claims.append(Claim(title, words, metric, low, Less()))
    optimal = Underspecified('"optimal" names no direction')
    for name in ("PHCC", *READINGS):
        what = kind(name)
        if what == "claim":
            sides = [_labels(variant=one) for one in (name, *_EXISTING)]
            title, key = f"queue over all buffers, {name} / each other", headline(name, "queue")
            claims.append(Claim(title, "optimal", metric, sides, optimal, headline=key))
        low = [_labels(variant=one) for one in (name, *growing, "HSTCP")]
        title, words = f"queue at each buffer, {name} / each loss-based", "optimal, read as shorter"
        claims.append(Claim(title, words, metric, low, Less(), kind="reading", each="buffer_packets"))
    return claims


def _fig11_tables(measured: Measured) -> list[Table]:
    mine = measured.estimate("queue_packets", variant="PHCC").mean
    rows: list[Sequence[str | float | None]] = []
    for variant in VARIANTS:
        queue = measured.estimate("queue_packets", variant=variant).mean
        rows.append([variant, queue, mine / queue if queue > 0 else None])
    return [Table("Average queue over all buffers", ("variant", "packets", "PHCC's / it"), rows)]


FIG11 = Experiment(
    "phcc/fig11",
    "average queue over the buffer",
    "§ 4, Fig. 11",
    "Loss-based variants keep a queue that grows with the buffer; delay-based ones load routers less, particularly at "
    "large buffers; compared with other algorithms PHCC is optimal.",
    [
        *ASSUMPTIONS,
        "The runs are those of Figure 9.",
        "The text does not say in which direction a queue is optimal: the ratios are shown, and shorter than each "
        "loss-based variant's at each buffer is a reading.",
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
    tables=_fig11_tables,
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
    metric, others = "goodput_bps", [{"variant": one} for one in VARIANTS if one not in ("FAST", *READINGS)]
    claims = [
        Claim(
            "throughput over all losses: FAST / each other",
            "FAST better",
            metric,
            [{"variant": "FAST"}, *others],
            Greater(),
            headline="phcc:loss-acceptable",
        )
    ]
    for name in ("PHCC", *READINGS):
        sides, what = [{"variant": name}, {"variant": "Reno"}], kind(name)
        title, key = f"throughput over all losses, {name} / Reno", headline(name, "loss-acceptable")
        claims.append(Claim(title, "in total acceptable", metric, sides, Greater(), kind=what, headline=key))
    title = "throughput at each loss, PHCC / Reno"
    sides = [{"variant": "PHCC"}, {"variant": "Reno"}]
    claims.append(Claim(title, "acceptable", metric, sides, Greater(), kind="reading", each="loss"))
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
    "§ 4, Fig. 10",
    "With 2000 packets of buffer and random loss FAST is better, PHCC not the best and in total in an acceptable "
    "condition.",
    [
        *ASSUMPTIONS,
        _CONTRADICTION,
        "Losses are independent, at the far end of the bottleneck's wire.",
        "Acceptable in total is taken for more than Reno has over all losses, since the paper gives no bound.",
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
