"""Figures 7 and 9 of the CUBIC study: reverse traffic on a slow link, fairness of many flows on a fast one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import Claim, Greater, Indiscriminate, Kind, RatioIn, Relation, ValueIn
from cwndlab.reproduction.cubic_study.measures import measure_fairness, measure_goodput, trace_fairness
from cwndlab.reproduction.cubic_study.variants import (
    ASSUMPTIONS,
    BASE,
    COMPOUND,
    CUBIC,
    CUBICS,
    NEWRENO,
    READINGS,
    READINGS_ASSUMED,
    VARIANTS,
    kind,
    stack,
)
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured

#: Flows in the other direction.
REVERSE = 10
_REVERSE_ASSUMPTION = (
    f"The {REVERSE} reverse flows are of the same variant as the forward ones, start with them and last as long; "
    "the paper says "
    "only that they are TCP."
)


def _flows(
    algorithm: str, rtts_ms: Sequence[float], reverse_rtts_ms: Sequence[float], reading: str = BASE
) -> list[dict[str, Any]]:
    made = [(f"forward{n}", "forward", rtt) for n, rtt in enumerate(rtts_ms)]
    made += [(f"reverse{n}", "reverse", rtt) for n, rtt in enumerate(reverse_rtts_ms)]
    return [
        {"name": name, "direction": way, "algorithm": algorithm, "rtt": f"{rtt:.6g} ms", **stack(reading)}
        for name, way, rtt in made
    ]


_TRAFFIC = {"forward only": 0, f"with {REVERSE} reverse flows": REVERSE}
_ALONE, _WITH = _TRAFFIC


def _fig7_cases(size: Size) -> list[Case]:
    cases = []
    for reading in READINGS:
        for traffic, reverse in _TRAFFIC.items():
            for name, algorithm in VARIANTS.items():
                document = {
                    "schema_version": 1,
                    "title": f"cubic-study fig7, {name}, {traffic}, {reading}",
                    "duration": f"{size.duration_s} s",
                    "start_jitter": "1 s",
                    "dumbbell": {
                        "bottleneck": {"rate": "2 Mbps", "delay": "25 ms", "queue": {"capacity": "1 bdp(100 ms)"}},
                        "access": {"rate": "1 Gbps"},
                    },
                    "flow": _flows(algorithm, [100.0], [100.0] * reverse, reading),
                }
                cases.append(Case({"reading": reading, "traffic": traffic, "variant": name}, document, measure_goodput))
    return cases


def _fig7_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    metric = "goodput_share"
    for reading in READINGS:
        for cubic in CUBICS:
            what, prefix = kind(cubic, reading), f"{reading}, {cubic}"
            alone, both = ({"reading": reading, "traffic": one, "variant": cubic} for one in _TRAFFIC)
            sides = [{**both, "variant": name} for name in (cubic, COMPOUND, NEWRENO)]

            def add(
                title: str,
                words: str,
                sides: Sequence[Labels],
                relation: Relation,
                headline: str = "",
                *,
                what: Kind = what,
                prefix: str = prefix,
                each: str = "",
            ) -> None:
                key = headline if what == "claim" else ""
                claims.append(
                    Claim(f"{prefix}: {title}", words, metric, sides, relation, kind=what, headline=key, each=each)
                )

            unmoved = RatioIn(0.99, 1 / 0.99)
            add("goodput, with / without reverse flows", "not affected", [both, alone], unmoved, "cubic-study:reverse")
            words = "CUBIC best, Compound next, NewReno worst"
            title = f"goodput {_WITH}, against {COMPOUND} and {NEWRENO}"
            add(title, words, sides, Greater(), "cubic-study:goodput")
        sides = [{"reading": reading, "traffic": _WITH, "variant": name} for name in (COMPOUND, NEWRENO)]
        words, title = "Compound better than NewReno", f"{reading}: goodput {_WITH}, {COMPOUND} / {NEWRENO}"
        claims.append(Claim(title, words, metric, sides, Greater(), "delivered_share", kind=kind(CUBIC, reading)))
        title = f"{reading}: goodput of each variant over the capacity, {_ALONE}"
        side: Labels = {"reading": reading, "traffic": _ALONE}
        claims.append(
            Claim(
                title,
                "about the capacity",
                metric,
                [side],
                ValueIn(0.8, 1.2),
                kind=kind(CUBIC, reading),
                each="variant",
            )
        )
    return claims


def _fig7_charts(measured: Measured) -> list[Chart]:
    curves = []
    for reading in READINGS:
        for traffic in _TRAFFIC:
            found = [
                measured.estimate("goodput_share", reading=reading, traffic=traffic, variant=name) for name in VARIANTS
            ]
            curves.append(Curve.of(traffic, list(VARIANTS), found, factor=2.0, panel=reading))
    return [Chart("fig7", "Goodput of one flow over 2 Mbit/s", "", "goodput, Mbit/s", curves, kind="bars")]


def _fig7_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for reading, traffic in product(READINGS, _TRAFFIC):
        for name in VARIANTS:
            at = {"reading": reading, "traffic": traffic, "variant": name}
            cells = [
                measured.estimate(metric, **at).mean * factor
                for metric, factor in (
                    ("goodput_share", 2.0),
                    ("delivered_share", 2.0),
                    ("queue_ms", 1.0),
                    ("reverse_queue_ms", 1.0),
                    ("timeouts", 1.0),
                )
            ]
            rows.append([f"{name}, {traffic}, {reading}", *cells])
    header = (
        "variant and traffic",
        "sent − retransmitted, Mbit/s",
        "delivered, Mbit/s",
        "queue, ms",
        "reverse queue, ms",
        "timeouts",
    )
    return [Table("Means", header, rows)]


def _fig7_why(measured: Measured) -> list[str]:
    sentences = []
    for name in VARIANTS:
        at = {"reading": BASE, "traffic": _WITH, "variant": name}
        share, queue, timeouts = (
            measured.estimate(metric, **at).mean for metric in ("goodput_share", "reverse_queue_ms", "timeouts")
        )
        sentences.append(
            f"{name} with reverse traffic: {share:.1%} of the capacity, {timeouts:.3g} timeouts a run; its ACKs "
            f"wait {queue:.3g} ms on "
            "average in the reverse queue, behind data of the reverse flows, or are dropped there."
        )
    return sentences


FIG7 = Experiment(
    "cubic-study/fig7",
    "goodput over 2 Mbit/s, forward only and with 10 reverse flows",
    "§ 6.1, § 7, Figs. 6, 7",
    "Dumbbell, access 1 Gbit/s, bottleneck 2 Mbit/s: alone, all three reach about the capacity; with ten reverse "
    "TCP flows CUBIC is "
    "best, Compound next, NewReno worst.",
    [
        *ASSUMPTIONS,
        "Base RTT 100 ms and a buffer of 1 BDP (17 packets) each way: the paper gives neither.",
        _REVERSE_ASSUMPTION,
        '"About the capacity" is within 20 % of it, headers counted as lost.',
        "Starts are spread over 1 s; runs last 1000 s as those of its other figures.",
        READINGS_ASSUMED,
        "Goodput is not affected where it changes by at most 1 %.",
    ],
    Size(200.0, 8),
    Size(1000.0, 10),
    _fig7_cases,
    _fig7_claims,
    _fig7_charts,
    _fig7_tables,
    _fig7_why,
)

#: RTTs of Figure 9, in ms, and the flows up to which NewReno and Compound are alike.
_RTTS_MS, _ALIKE = (20.0, 200.0), 70
#: What a run must last for its fairness to tell more than of the start: several of CUBIC's epochs, which are 15 s long
#: where 20 flows share 10 Gbit/s.
_SETTLED_S = 100.0
#: Jain's indices are alike within 5 points.
_NEAR = RatioIn(0.95, 1.0 / 0.95)


def _spread(count: int) -> list[float]:
    low, high = _RTTS_MS
    return [low + (high - low) * number / (count - 1) for number in range(count)]


def _fig9_cases(size: Size) -> list[Case]:
    cases = []
    for count in size["flows"]:
        for name, algorithm in VARIANTS.items():
            document = {
                "schema_version": 1,
                "title": f"cubic-study fig9, {name}, {count} flows",
                "duration": f"{size.duration_s} s",
                "sample_interval": "1 s",
                "start_jitter": "rtt",
                "dumbbell": {
                    "bottleneck": {"rate": "10 Gbps", "delay": "5 ms", "queue": {"capacity": "0.2 bdp"}},
                },
                "flow": _flows(algorithm, _spread(count), _spread(REVERSE)),
            }
            cases.append(Case({"flows": count, "variant": name}, document, measure_fairness, trace_fairness))
    return cases


def _fig9_claims(size: Size) -> list[Claim]:
    claims = []
    early = Indiscriminate(
        f"runs of {size.duration_s:.0f} s show how the flows start: windows of this path settle in {_SETTLED_S:.0f} s "
        "and more, and the paper's runs last 1000 s"
    )

    def judged(relation: Relation) -> Relation:
        return early if size.duration_s < _SETTLED_S else relation

    for cubic in CUBICS:
        what = kind(cubic)
        sides: list[Labels] = [{"variant": name} for name in (cubic, COMPOUND, NEWRENO)]
        title, words = f"{cubic} against {COMPOUND} and {NEWRENO}: Jain's index at each n", "CUBIC fairest throughout"
        key = "cubic-study:fairness" if what == "claim" else ""
        relation = judged(Greater())
        claims.append(Claim(title, words, "jain", sides, relation, kind=what, headline=key, each="flows"))
    for count in size["flows"]:
        alike = count <= _ALIKE
        words = f"alike up to n = {_ALIKE}" if alike else f"Compound better beyond n = {_ALIKE}"
        sides = [{"flows": count, "variant": name} for name in (COMPOUND, NEWRENO)]
        title = f"{count} flows: Jain's index, {COMPOUND} / {NEWRENO}"
        claims.append(Claim(title, words, "jain", sides, judged(_NEAR if alike else Greater())))
    return claims


def _fig9_charts(measured: Measured) -> list[Chart]:
    counts = measured.points("flows")
    curves, rates = [], []
    for name in VARIANTS:
        found = [measured.estimate("jain", flows=count, variant=name) for count in counts]
        curves.append(Curve.of(name, counts, found))
        line = measured.line("goodput", flows=counts[-1], variant=name)
        rates.append(Curve(name, list(line.x), list(line.y)))
    return [
        Chart("fig9", "Jain's index of n flows over 10 Gbit/s", "flows", "Jain's index", curves),
        Chart(
            "fig9-rtt",
            f"Goodput over the RTT, {counts[-1]} flows",
            "base RTT, ms",
            "goodput, Mbit/s",
            rates,
            kind="points",
        ),
    ]


def _fig9_why(measured: Measured) -> list[str]:
    sentences = []
    for name in VARIANTS:
        used, lost = (measured.estimate(metric, variant=name).mean for metric in ("utilisation", "loss_ratio"))
        sentences.append(f"{name}: {used:.1%} of the line used and {lost:.2%} of packets dropped, mean of all n.")
    sentences.append(
        "Growth that does not depend on the RTT (CUBIC) shares between flows of 20 to 200 ms more evenly than "
        "growth per round trip "
        "(NewReno), once runs last for several of CUBIC's epochs; K at these windows is seconds to tens of seconds."
    )
    return sentences


FIG9 = Experiment(
    "cubic-study/fig9",
    "Jain's index of 20 to 200 flows over 10 Gbit/s",
    "§ 6.1, Figs. 8, 9",
    "n = 20, 40, …, 200 flows over one bottleneck of 10 Gbit/s with ten reverse TCP flows: CUBIC is the "
    "fairest throughout; "
    "NewReno and Compound are alike up to n = 70, then Compound is better.",
    [
        *ASSUMPTIONS,
        f'RTTs spread evenly over {_RTTS_MS[0]:.0f} to {_RTTS_MS[1]:.0f} ms (the figure is "with respect to RTT") '
        "and a buffer of 0.2 BDP "
        "of the longest; access links delay only.",
        _REVERSE_ASSUMPTION,
        'The index is that of the forward flows\' goodputs over the whole run; "alike" is within 5 %.',
        "Quick runs last 6 s of the paper's 1000: they show how the flows start, not where they settle, so that they "
        "discriminate nothing; only the full size does.",
    ],
    Size(6.0, 4, {"flows": (20, 200)}),
    Size(1000.0, 3, {"flows": tuple(range(20, 201, 20))}),
    _fig9_cases,
    _fig9_claims,
    _fig9_charts,
    why=_fig9_why,
)
