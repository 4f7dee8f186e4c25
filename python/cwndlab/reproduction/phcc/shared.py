"""Figures 12 to 14 and both tables of the PHCC paper: several flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

from cwndlab.metrics import jain
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import (
    Claim,
    Greater,
    Kind,
    Less,
    Order,
    Underspecified,
    Value,
    ValueIn,
)
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.phcc.path import (
    ASSUMPTIONS,
    FAIR,
    HALF,
    HIGH_SPEED,
    RATE_BPS,
    READINGS,
    STEP_S,
    VARIANTS,
    headline,
    kind,
    measure,
    scenario,
    trace,
    troubles,
)
from cwndlab.reproduction.phcc.single import HELD_BACK, OTHERS_ASSUMED
from cwndlab.statistics import Estimate, estimate

#: Table 1: average throughput of three flows together, kbit/s, and the printed utilisation.
TABLE1_PUBLISHED = {
    "STCP": (195_000, 0.98),
    "BIC": (195_000, 0.98),
    "HSTCP": (188_000, 0.94),
    "PHCC": (187_000, 0.94),
    "HCC": (186_000, 0.93),
    "Illinois": (177_000, 0.89),
    "FAST": (166_000, 0.83),
    "H-TCP": (152_000, 0.76),
}
#: Table 2: throughput of each of three flows, kbit/s, and the printed index, by buffer.
TABLE2_PUBLISHED: dict[int, dict[str, tuple[tuple[int, int, int], float]]] = {
    600: {
        "HSTCP": ((60_000, 72_000, 56_000), 0.99),
        "STCP": ((62_000, 48_000, 85_000), 0.99),
        "H-TCP": ((50_000, 50_000, 52_000), 1.0),
        "BIC": ((65_000, 68_000, 62_000), 1.0),
        "Illinois": ((50_000, 45_000, 82_000), 0.93),
        "FAST": ((47_000, 68_000, 51_000), 0.97),
        "HCC": ((65_000, 65_000, 56_000), 1.0),
        "PHCC": ((62_000, 60_000, 65_000), 1.0),
    },
    2000: {
        "HSTCP": ((58_000, 72_000, 68_000), 0.99),
        "STCP": ((62_000, 88_000, 46_000), 0.93),
        "H-TCP": ((65_000, 60_000, 63_000), 1.0),
        "BIC": ((65_000, 67_000, 67_000), 1.0),
        "Illinois": ((77_000, 60_000, 61_000), 0.99),
        "FAST": ((68_000, 66_000, 64_000), 1.0),
        "HCC": ((68_000, 67_000, 63_000), 1.0),
        "PHCC": ((65_000, 62_000, 66_000), 1.0),
    },
}
#: The variants of both tables, in the order of the first.
THREE = tuple(TABLE1_PUBLISHED)
#: PHCC as it is read here and otherwise; and all that are run.
PHCC = ("PHCC", *READINGS)
RUN = (*THREE, *READINGS)
#: Starts of three flows, which the paper states for Figure 12(a).
_STAGGERED = (0.0, STEP_S, 2 * STEP_S)
_STARTS = (
    "All three flows start at 0 s and runs last 300 s, as § 4 states for Figure 13 and Table 2. Table 1 is of the same "
    "runs: its throughputs are the sums of Table 2's at 600 packets. A flow's throughput is over the time that it "
    "lives."
)


def _beside(mine: str, **where: str | int) -> list[Labels]:
    """PHCC and every high-speed variant beside it."""
    return [{"variant": one, **where} for one in (mine, *HIGH_SPEED)]


#: Three flows of a kind. Quick: a third of the duration.
_QUICK, _FULL = Size(100.0, 5), Size(300.0, 5)


def _three(size: Size, *buffers: int) -> list[Case]:
    return [
        Case(
            {"variant": variant, "buffer_packets": buffer},
            scenario([VARIANTS[variant]] * 3, buffer=buffer, duration_s=size.duration_s),
            measure,
            trace,
        )
        for buffer in buffers
        for variant in RUN
    ]


#: Eq. 7 with Eq. 5: the target of loss is the window of the last loss, as long as no other comes.
_ANCHORED = (
    "PHCC: half of the window is anchored to the window of the flow's last loss. Where no further loss comes, "
    "shares stay "
    "where the last ones left them, a flat line in the figure; a late flow that loses at a small window stays small."
)


def _why(measured: Measured) -> list[str]:
    variants = measured.points("variant")
    return [_ANCHORED, *(f"{variant}: {_flows(measured, variant=variant)}" for variant in variants)]


def _queued_why(measured: Measured) -> list[str]:
    held = (
        "The host of the first flow holds what the line does not carry in its unlimited queue, so that the later flows "
        "get nothing, whatever the algorithm."
    )
    return [held, *(f"{variant}: {_flows(measured, variant=variant)}" for variant in measured.points("variant"))]


def _flows(measured: Measured, **where: str) -> str:
    error = measured.estimate("base_error_ms", **where).mean
    each = [measured.estimate(f"goodput_{flow}_bps", **where) for flow in (1, 2, 3, 4)]
    shown = "/".join(f"{one.mean / 1e6:.0f}" for one in each if one.n)
    return (
        f"flows have {shown} Mbit/s in the order of their starts; {troubles(measured, **where)}; the base RTT "
        "that a flow "
        f"believes in is up to {error:.1f} ms too long."
    )


# Table 1.

#: Tolerance of a published utilisation.
_POINTS = 0.02
_CRITICAL = "no condition is named as critical or acute"


def _table1_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for variant in RUN:
        kbps, share = TABLE1_PUBLISHED[variant if variant in TABLE1_PUBLISHED else "PHCC"]
        side: Labels = {"variant": variant}
        met, words = Value(share, points=_POINTS), f"{kbps} kbit/s, {share:.0%}"
        title, key = f"{variant}: utilisation", headline(variant, "utilisation")
        claims.append(Claim(title, words, "utilisation", [side], met, kind=kind(variant), headline=key))
    falling: list[Labels] = [{"variant": one} for one in ("STCP", "HSTCP", "Illinois", "FAST", "H-TCP")]
    words = "STCP 195000, HSTCP 188000, Illinois 177000, FAST 166000, H-TCP 152000 kbit/s"
    claims.append(Claim("order of throughputs", words, "goodput_bps", falling, Order()))
    title, words, critical = "PHCC: utilisation", "better in critical condition", Underspecified(_CRITICAL)
    claims.append(Claim(title, words, "utilisation", _beside("PHCC")[:1], critical, headline="phcc:critical"))
    for mine in PHCC:
        sides = _beside(mine)
        what, key = kind(mine), headline(mine, "stability")
        title, words = f"variation of throughput over 1 s, {mine} / each other", "better in stability"
        claims.append(Claim(title, words, "cov_1s", sides, Less(), kind=what, headline=key))
        title, words = f"utilisation, {mine} / each other", "better in bottleneck utilization"
        key = headline(mine, "utilisation-best")
        claims.append(Claim(title, words, "utilisation", sides, Greater(), kind=what, headline=key))
    return claims


def _table1_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for variant, (kbps, share) in TABLE1_PUBLISHED.items():
        mean, used = (measured.estimate(metric, variant=variant).mean for metric in ("goodput_bps", "utilisation"))
        rows.append([variant, kbps, 100 * share, mean / 1e3, 100 * used])
    header = ("variant", "published, kbit/s", "published, %", "measured, kbit/s", "measured, %")
    return [Table("Throughput of three flows together and utilisation", header, rows)]


def _table1_charts(measured: Measured) -> list[Chart]:
    names = list(TABLE1_PUBLISHED)
    found = [measured.estimate("goodput_bps", variant=variant) for variant in names]
    curves = [Curve.of("measured", names, found, factor=1e-6)]
    published = Curve("published", names, [kbps / 1e3 for kbps, _ in TABLE1_PUBLISHED.values()], published=True)
    title = "Throughput of three flows"
    return [Chart("table1", title, "variant", "throughput, Mbit/s", [*curves, published], kind="bars")]


TABLE1 = Experiment(
    "phcc/table1",
    "three flows at 600 packets: throughput and utilisation",
    "§ 4, Table 1",
    "Three flows of a kind, RTT 120 ms, 600 packets of buffer: average throughput together and utilisation.",
    [
        *ASSUMPTIONS,
        _STARTS,
        f"A published utilisation counts as met within {100 * _POINTS:.0f} points, which tell the table's 94 % from "
        "its 89 and 98 %.",
        "The paper contradicts itself: by the abstract PHCC is better than existing algorithms in utilisation, by § 4 "
        '"not above all", and in Table 1 STCP and BIC have more and HSTCP has as much.',
        "The abstract's stability has no definition: it is read as the coefficient of variation of a flow's throughput "
        "over spans of 1 s.",
    ],
    _QUICK,
    _FULL,
    lambda size: _three(size, 600),
    _table1_claims,
    _table1_charts,
    _table1_tables,
    _why,
)

# Table 2 and Figure 13.


def _printed(buffer: int, variant: str) -> tuple[float, str]:
    """The index to be met, and the paper's words: the one that follows from its own throughputs."""
    flows, index = TABLE2_PUBLISHED[buffer][variant]
    follows = jain(flows)
    assert follows is not None
    words = "/".join(str(one) for one in flows) + f" kbit/s, {index:g}"
    return follows, words if abs(follows - index) < 0.01 else f"{words} (its own throughputs give {follows:.3f})"


def _table2_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for buffer, published in TABLE2_PUBLISHED.items():
        for variant in RUN:
            index, words = _printed(buffer, variant if variant in published else "PHCC")
            side: Labels = {"variant": variant, "buffer_packets": buffer}
            title, key = f"{variant}, {buffer} packets: Jain's index", headline(variant, "fairness")
            # § 4 claims a good fairness of PHCC: less is no other size of it. Of the others the table has values.
            met = ValueIn(FAIR, inf) if variant in PHCC else Value(index, points=1 - FAIR)
            claims.append(Claim(title, words, "jain", [side], met, kind=kind(variant), headline=key))
    for mine in PHCC:
        what, key, each = kind(mine), headline(mine, "fairness-best"), "buffer_packets"
        title = f"Jain's index, {mine} / each other, both buffers"
        claims.append(Claim(title, "best", "jain", _beside(mine), Greater(), kind=what, headline=key, each=each))
        title, key = f"{mine}: utilisation, both buffers", headline(mine, "good-utilisation")
        good, mine_only = ValueIn(0.9, inf), _beside(mine)[:1]
        claims.append(Claim(title, "good", "utilisation", mine_only, good, kind=what, headline=key, each=each))
    return claims


def _table2_tables(measured: Measured) -> list[Table]:
    tables = []
    for buffer, published in TABLE2_PUBLISHED.items():
        rows: list[Sequence[str | float | None]] = []
        for variant, (flows, index) in published.items():
            side = {"variant": variant, "buffer_packets": buffer}
            means = [measured.estimate(f"goodput_{one}_bps", **side).mean / 1e3 for one in (1, 2, 3)]
            rows.append([variant, *flows, index, *means, measured.estimate("jain", **side).mean])
        header = ("variant", *(f"published {one}" for one in ("1", "2", "3", "index")), "1", "2", "3", "index")
        tables.append(Table(f"Throughput of each flow, kbit/s, {buffer} packets", header, rows))
    return tables


def _index_charts(measured: Measured) -> list[Chart]:
    curves = []
    for buffer, published in TABLE2_PUBLISHED.items():
        names, panel = list(published), f"{buffer} packets"
        found = [measured.estimate("jain", variant=variant, buffer_packets=buffer) for variant in names]
        curves.append(Curve.of("measured", names, found, panel=panel))
        indices = [_printed(buffer, name)[0] for name in names]
        curves.append(Curve("published", names, indices, panel=panel, published=True))
    return [Chart("table2", "Jain's index of three flows", "variant", "index", curves, kind="bars")]


TABLE2 = Experiment(
    "phcc/table2",
    "three flows at 600 and 2000 packets: throughput of each and Jain's index",
    "§ 4, Table 2",
    "Three flows of a kind, RTT 120 ms, buffers of 600 and 2000 packets: throughput of each and the index.",
    [
        *ASSUMPTIONS,
        _STARTS,
        f"PHCC shares fairly with an index of {FAIR} or more. Of the others the index that follows from the printed "
        "throughputs is to be met, within 0.02: the 0.99 printed for "
        "STCP at 600 packets does not follow from its own throughputs, which give 0.948.",
        "The paper contradicts itself: § 4 has PHCC as the fairest in both scenarios, and the table has an index of 1 "
        "for H-TCP, BIC and HCC too. Where another's index leaves no room above it, the set-up cannot discriminate.",
        "Good utilisation is 90 % or more; the paper gives no bound.",
        "Throughputs of single flows are shown and not judged: the table's columns name no flow by its start.",
    ],
    _QUICK,
    _FULL,
    lambda size: _three(size, 600, 2000),
    _table2_claims,
    _index_charts,
    _table2_tables,
    _why,
)

#: Whose fairness Figure 13's text calls reduced, by buffer.
_UNFAIR = {600: ("FAST", "STCP", "Illinois"), 2000: ("H-TCP", "STCP", "FAST", "Illinois")}
_CONTRADICTED = Underspecified("the figure's text and the paper's own Table 2 exclude each other")


def _fig13_claims(size: Size, buffer: int) -> list[Claim]:
    """Judged where Table 2's throughputs have a reduced fairness too; shown where they contradict the text."""
    del size
    reduced = [name for name in _UNFAIR[buffer] if _printed(buffer, name)[0] < FAIR]
    others = [name for name in _UNFAIR[buffer] if name not in reduced]
    claims = []
    for named, relation in ((reduced, ValueIn(-inf, FAIR)), (others, _CONTRADICTED)):
        if named:
            quantity = f"Jain's index of {', '.join(named)}"
            claims.append(Claim(quantity, "fairness reduced", "jain", [{}], relation, each="variant", at=named))
    return claims


def _three_lines(measured: Measured, name: str) -> list[Chart]:
    curves = []
    for variant in measured.points("variant"):
        for flow in (1, 2, 3):
            line = measured.line(f"goodput_{flow}", variant=variant)
            curves.append(Curve(f"flow {flow}", line.x, line.y, panel=variant))
    title = "Throughput of three flows, first repetition"
    return [Chart(name, title, "time, s", "throughput, Mbit/s", curves, note=HELD_BACK)]


def _fig13(letter: str, buffer: int) -> Experiment:
    named = ", ".join(_UNFAIR[buffer])
    return Experiment(
        f"phcc/fig13{letter}",
        f"three flows over time, {buffer} packets",
        f"§ 4, Fig. 13({letter})",
        f"Three flows of a kind, RTT 120 ms, {buffer} packets of buffer: the fairness of {named} is reduced.",
        [
            *ASSUMPTIONS,
            _STARTS,
            f"A reduced fairness is an index below {FAIR}. At 600 packets the throughputs of the paper's own Table 2 "
            "give such indices to FAST, STCP and Illinois, at 2000 packets to STCP alone: the table's 0.99 to 1 for "
            "H-TCP, FAST and Illinois excludes the figure's text, and their indices are shown without an outcome.",
        ],
        _QUICK,
        _FULL,
        lambda size: _three(size, buffer),
        partial(_fig13_claims, buffer=buffer),
        lambda measured: _three_lines(measured, f"fig13{letter}"),
        why=_why,
    )


FIG13A, FIG13B = _fig13("a", 600), _fig13("b", 2000)

# Figure 12: PHCC beside itself, and beside others.


def _fig12a_cases(size: Size) -> list[Case]:
    return [
        Case(
            {"variant": variant},
            scenario([VARIANTS[variant]] * 3, buffer=200, duration_s=size.duration_s, starts_s=_STAGGERED),
            measure,
            trace,
        )
        for variant in PHCC
    ]


def _fig12a_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for variant in PHCC:
        side: list[Labels] = [{"variant": variant}]
        title, words, key = f"{variant}: Jain's index once all have started", "fair competition", "fairness"
        fair, what = ValueIn(FAIR, inf), kind(variant)
        claims.append(Claim(title, words, "jain_together", side, fair, kind=what, headline=headline(variant, key)))
        title, words = f"{variant}: utilisation by the first flow alone", "all the available bandwidth"
        claims.append(Claim(title, words, "early_utilisation", side, ValueIn(0.9, inf), kind=what))
    return claims


FIG12A = Experiment(
    "phcc/fig12a",
    "three PHCC flows from 0, 10 and 20 s, 200 packets",
    "§ 4, Fig. 12(a)",
    "Three PHCC flows that begin at 0, 10 and 20 s share the line fairly; 200 packets of buffer.",
    [
        *ASSUMPTIONS,
        f"Fair is an index of {FAIR} or more from the last start on, as for Table 2; all bandwidth is 90 % of the "
        "line.",
    ],
    _QUICK,
    _FULL,
    _fig12a_cases,
    _fig12a_claims,
    lambda measured: _three_lines(measured, "fig12a"),
    why=_queued_why,
)

#: The caption speaks of high-speed TCP; FAST is a reading.
_FAST_KINDS: Mapping[str, Kind] = {"HSTCP": "claim", "FAST": "reading"}
_MIXES = {"HSTCP": ("PHCC", "Reno", "HSTCP"), "FAST": ("PHCC", "Reno", "FAST")}


def _fig12b_cases(size: Size) -> list[Case]:
    return [
        Case(
            {"fast": fast},
            scenario([VARIANTS[one] for one in mix], buffer=200, duration_s=size.duration_s, starts_s=_STAGGERED),
            measure,
            trace,
        )
        for fast, mix in _MIXES.items()
    ]


def _fig12b_claims(size: Size) -> list[Claim]:
    del size
    title = "PHCC, Reno and a fast one: Jain's index once all have started"
    shown = Underspecified("the text says that the fairness is shown, and not what it is")
    return [
        Claim(f"{title}, with {fast}", "is shown", "jain_together", [{"fast": fast}], shown, kind=what)
        for fast, what in _FAST_KINDS.items()
    ]


def _fig12b_charts(measured: Measured) -> list[Chart]:
    curves = []
    for fast, mix in _MIXES.items():
        for flow, name in enumerate(mix, start=1):
            line = measured.line(f"goodput_{flow}", fast=fast)
            curves.append(Curve(name, line.x, line.y, panel=f"with {fast}"))
    return [
        Chart("fig12b", "PHCC beside others, first repetition", "time, s", "throughput, Mbit/s", curves, note=HELD_BACK)
    ]


def _fig12b_why(measured: Measured) -> list[str]:
    sentences = []
    for fast, mix in _MIXES.items():
        means = [measured.estimate(f"goodput_{flow}_bps", fast=fast).mean / 1e6 for flow in (1, 2, 3)]
        shown = ", ".join(f"{name} {mean:.1f}" for name, mean in zip(mix, means, strict=True))
        sentences.append(f"With {fast}: {shown} Mbit/s; {troubles(measured, fast=fast)}.")
    return sentences


FIG12B = Experiment(
    "phcc/fig12b",
    "PHCC beside a normal and a fast TCP, 200 packets",
    "§ 4, Fig. 12(b)",
    "A PHCC flow, one of a normal and one of a high-speed TCP over time, for the fairness of PHCC compared to them; "
    "200 packets of buffer.",
    [
        *ASSUMPTIONS,
        OTHERS_ASSUMED,
        "They start at 0, 10 and 20 s, PHCC first, as in Figure 12(a): the text gives no starts for 12(b).",
    ],
    _QUICK,
    _FULL,
    _fig12b_cases,
    _fig12b_claims,
    _fig12b_charts,
    why=_fig12b_why,
)

# Figure 14: beside Reno.

#: Those that the paper says squeeze Reno, and those that take less than it at large buffers.
_SQUEEZE, _YIELD = ("STCP", "HSTCP", "BIC", "H-TCP"), ("Illinois", "HCC", "FAST")


def _fig14_cases(size: Size, buffer: int) -> list[Case]:
    return [
        Case(
            {"variant": variant},
            scenario([VARIANTS["Reno"]] * 2 + [VARIANTS[variant]] * 2, buffer=buffer, duration_s=size.duration_s),
            measure,
            trace,
        )
        for variant in RUN
    ]


def _fig14_claims(size: Size, buffer: int) -> list[Claim]:
    del size
    title, metric = "share of two Reno flows beside two of", "first_share"
    low, high = HALF
    squeezed, each = ValueIn(-inf, low), "variant"
    claims = [Claim(f"{title} {', '.join(_SQUEEZE)}", "squeezes Reno", metric, [{}], squeezed, each=each, at=_SQUEEZE)]
    sides: list[Labels] = [{"variant": one} for one in ("Illinois", *_SQUEEZE)]
    words = "acts well compared to the loss-based ones"
    claims.append(Claim(f"{title} Illinois / each of {', '.join(_SQUEEZE)}", words, metric, sides, Greater()))
    if buffer > 1000:
        large, words = ValueIn(high, inf), "takes less than Reno at large buffers"
        claims.append(Claim(f"{title} {', '.join(_YIELD)}", words, metric, [{}], large, each=each, at=_YIELD))
    for mine in PHCC:
        what, key = kind(mine), headline(mine, "friendliness")
        title_of = f"Jain's index of both kinds' throughputs, {mine} / each other"
        words = "superior TCP-friendliness"
        claims.append(Claim(title_of, words, "jain_of_kinds", _beside(mine), Greater(), kind=what, headline=key))
        words, mine_only = "does not always overwhelm Reno", _beside(mine)[:1]
        claims.append(Claim(f"{title} {mine}", words, metric, mine_only, ValueIn(low, inf), kind=what, headline=key))
    return claims


def _fig14_charts(measured: Measured, name: str) -> list[Chart]:
    curves = [
        Curve.of(label, list(THREE), [_mean_of(measured, variant, flows) for variant in THREE], factor=1e-6)
        for label, flows in (("Reno", (1, 2)), ("the other", (3, 4)))
    ]
    half = Curve("equal shares", list(THREE), [RATE_BPS / 4e6] * len(THREE), published=True)
    title = "Throughput of a flow, two of Reno and two of another"
    return [Chart(name, title, "the other", "throughput, Mbit/s", [*curves, half], kind="bars")]


def _mean_of(measured: Measured, variant: str, flows: tuple[int, int]) -> Estimate:
    """The mean of two flows over the repetitions."""
    both = [measured.values(f"goodput_{flow}_bps", variant=variant) for flow in flows]
    return estimate([(a + b) / 2 for a, b in zip(*both, strict=True)])


_FIG14 = [
    *ASSUMPTIONS,
    f"All four begin together; the text gives no starts. Squeezed is a share of Reno below {HALF[0]}, taking less one "
    f'above {HALF[1]}; a half is fair, and Reno is not overwhelmed from {HALF[0]} on. "Does not always overwhelm" is '
    "judged at each buffer.",
    "§ 4 shows throughputs and has no index of friendliness: judged is Jain's index of both kinds' throughputs, which "
    "counts yielding as much as squeezing, as the text does of Illinois.",
]


def _fig14(letter: str, buffer: int) -> Experiment:
    return Experiment(
        f"phcc/fig14{letter}",
        f"two Reno flows beside two of another, {buffer} packets",
        f"§ 4, Fig. 14({letter})",
        f"Two flows of Reno and two of another, {buffer} packets of buffer: STCP, HSTCP, BIC and H-TCP squeeze Reno, "
        "Illinois acts better; Illinois, HCC and FAST take less than Reno at large buffers; PHCC does not always "
        "overwhelm Reno and is the friendliest.",
        _FIG14,
        _QUICK,
        _FULL,
        partial(_fig14_cases, buffer=buffer),
        partial(_fig14_claims, buffer=buffer),
        lambda measured: _fig14_charts(measured, f"fig14{letter}"),
        why=lambda measured: [f"{one}: {_flows(measured, variant=one)}" for one in RUN],
    )


FIG14A, FIG14B = _fig14("a", 600), _fig14("b", 2000)


def _both_cases(size: Size) -> list[Case]:
    return [
        Case(
            {"variant": variant, "buffer_packets": buffer},
            scenario([VARIANTS["Reno"]] * 2 + [VARIANTS[variant]] * 2, buffer=buffer, duration_s=size.duration_s),
            measure,
        )
        for buffer in TABLE2_PUBLISHED
        for variant in PHCC
    ]


def _both_claims(size: Size) -> list[Claim]:
    del size
    small, large = TABLE2_PUBLISHED
    claims = []
    for mine in PHCC:
        sides: list[Labels] = [{"variant": mine, "buffer_packets": buffer} for buffer in (large, small)]
        title, words = f"{mine}: Jain's index of both kinds' throughputs, {large} / {small} packets", "more friendly"
        key = headline(mine, "friendlier-with-buffer")
        claims.append(Claim(title, words, "jain_of_kinds", sides, Greater(), kind=kind(mine), headline=key))
    return claims


def _both_charts(measured: Measured) -> list[Chart]:
    buffers = list(TABLE2_PUBLISHED)
    curves = [
        Curve.of(mine, buffers, [measured.estimate("first_share", variant=mine, buffer_packets=one) for one in buffers])
        for mine in PHCC
    ]
    return [Chart("fig14", "Share of two Reno flows beside two of PHCC", "buffer, packets", "share", curves)]


FIG14 = Experiment(
    "phcc/fig14",
    "two Reno flows beside two of PHCC, both buffers",
    "§ 4, Fig. 14(a), (b)",
    "With the growth of the buffer from 600 to 2000 packets PHCC behaves more friendly towards Reno.",
    _FIG14,
    _QUICK,
    _FULL,
    _both_cases,
    _both_claims,
    _both_charts,
)
