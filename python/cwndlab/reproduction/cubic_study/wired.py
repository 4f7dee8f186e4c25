"""Figures 7 and 9 of the CUBIC study: reverse traffic on a slow link, fairness of many flows on a fast one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.claims import Claim, Greater, Indiscriminate, Less, RatioIn, Relation, ValueIn
from cwndlab.reproduction.cubic_study.measures import measure_fairness, measure_goodput, trace_fairness
from cwndlab.reproduction.cubic_study.variants import (
    ASSUMPTIONS,
    BASE,
    COMPOUND,
    CUBIC,
    CUBICS,
    NEWRENO,
    PAPERS,
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


def _flows(variant: str, rtts_ms: Sequence[float], reverse_rtts_ms: Sequence[float]) -> list[dict[str, Any]]:
    made = [(f"forward{n}", "forward", rtt) for n, rtt in enumerate(rtts_ms)]
    made += [(f"reverse{n}", "reverse", rtt) for n, rtt in enumerate(reverse_rtts_ms)]
    return [
        {"name": name, "direction": way, "algorithm": VARIANTS[variant], "rtt": f"{rtt:.6g} ms", **stack(variant)}
        for name, way, rtt in made
    ]


def slow_link(
    forward: Mapping[str, Any],
    backward: Mapping[str, Any],
    *,
    reverse: int,
    duration_s: float,
    rtt_ms: float = 100.0,
    buffer: str = "1 bdp(100 ms)",
    title: str = "",
) -> dict[str, Any]:
    """Figure 6: one flow over 2 Mbit/s and ``reverse`` ones in the other direction; ``forward`` and ``backward`` are
    their algorithms and stacks."""
    flows = [{"name": "forward0", "direction": "forward", **forward}]
    flows += [{"name": f"reverse{n}", "direction": "reverse", **backward} for n in range(reverse)]
    return {
        "schema_version": 1,
        "title": title,
        "duration": f"{duration_s} s",
        "start_jitter": "1 s",
        "dumbbell": {
            "bottleneck": {"rate": "2 Mbps", "delay": f"{rtt_ms / 4:g} ms", "queue": {"capacity": buffer}},
            "access": {"rate": "1 Gbps"},
        },
        "flow": [{"rtt": f"{rtt_ms:g} ms", **one} for one in flows],
    }


_TRAFFIC = {"forward only": 0, f"with {REVERSE} reverse flows": REVERSE}
_ALONE, _WITH = _TRAFFIC


def _fig7_cases(size: Size) -> list[Case]:
    cases = []
    for reading in READINGS:
        for traffic, reverse in _TRAFFIC.items():
            for name, algorithm in VARIANTS.items():
                sender = {"algorithm": algorithm, **stack(name, reading)}
                title = f"cubic-study fig7, {name}, {traffic}, {reading}"
                document = slow_link(sender, sender, reverse=reverse, duration_s=size.duration_s, title=title)
                cases.append(Case({"reading": reading, "traffic": traffic, "variant": name}, document, measure_goodput))
    return cases


def _fig7_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    metric = "goodput_share"
    for reading in READINGS:
        for cubic in CUBICS:
            what = kind(cubic, reading)
            prefix = "" if reading == BASE else f"{reading}, "
            alone, both = ({"reading": reading, "traffic": one, "variant": cubic} for one in _TRAFFIC)
            sides: list[Labels] = [{**both, "variant": name} for name in (cubic, COMPOUND, NEWRENO)]
            pair: list[Labels] = [both, alone]
            title, words = f"{prefix}{cubic}: goodput, with / without reverse flows", "not affected"
            key, unmoved = "cubic-study:reverse" if what == "claim" else "", RatioIn(0.99, 1 / 0.99)
            claims.append(Claim(title, words, metric, pair, unmoved, kind=what, headline=key))
            title = f"{prefix}{cubic}: goodput {_WITH}, against {COMPOUND} and {NEWRENO}"
            key = "cubic-study:goodput" if what == "claim" else ""
            claims.append(Claim(title, "CUBIC best", metric, sides, Greater(), kind=what, headline=key))
    base: Labels = {"reading": BASE, "traffic": _WITH}
    both_ways: list[Labels] = [{"reading": BASE, "traffic": traffic} for traffic in (_WITH, _ALONE)]
    last: list[Labels] = [{**base, "variant": name} for name in (NEWRENO, CUBIC, COMPOUND)]
    title, key = f"goodput {_WITH}, {NEWRENO} against {CUBIC} and {COMPOUND}", "cubic-study:newreno"
    claims.append(Claim(title, "NewReno worst", metric, last, Less(), headline=key))
    pair = [{**base, "variant": name} for name in (COMPOUND, NEWRENO)]
    title, key = f"goodput {_WITH}, {COMPOUND} / {NEWRENO}", "cubic-study:compound"
    claims.append(Claim(title, "Compound better", metric, pair, Greater(), "delivered_share", headline=key))
    title, key = "goodput, with / without reverse flows, each variant", "cubic-study:changed"
    claims.append(Claim(title, "totally changed", metric, both_ways, Less(), headline=key, each="variant", at=PAPERS))
    key, alone = "cubic-study:forward", {"reading": BASE, "traffic": _ALONE}
    title, full = f"goodput over the capacity, {_ALONE}, each variant", ValueIn(0.9, 1.0)
    claims.append(Claim(title, "about the capacity", metric, [alone], full, headline=key, each="variant", at=PAPERS))
    alike = [{**alone, "variant": name} for name in PAPERS]
    title, near = f"goodput, {_ALONE}, {CUBIC} / {COMPOUND} and {NEWRENO}", RatioIn(0.98, 1 / 0.98)
    claims.append(Claim(title, "almost the same", metric, alike, near, headline=key))
    slow: list[Labels] = [{"variant": name, "reading": BASE} for name in PAPERS]
    title, words = f"goodput over 2 Mbit/s, {CUBIC} / {COMPOUND} and {NEWRENO}", "degrades in low-speed networks"
    claims.append(
        Claim(title, words, metric, slow, Less(), headline="cubic-study:low-speed", each="traffic", at=tuple(_TRAFFIC))
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
    "TCP flows their behaviour changes totally: CUBIC is best, Compound next, NewReno worst.",
    [
        *ASSUMPTIONS,
        "Base RTT 100 ms and a buffer of 1 BDP (17 packets) each way: the paper gives neither.",
        _REVERSE_ASSUMPTION,
        '"About the capacity" is within 10 % of it, of which headers take 2.7 %; "almost the same" is within 2 %.',
        "Starts are spread over 1 s; runs last 1000 s as those of its other figures.",
        READINGS_ASSUMED,
        "Goodput is not affected where it changes by at most 1 %, and changed where it falls by more. To degrade in "
        "low-speed networks is to have less goodput than the other two; the paper does not say than what.",
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
        for name in VARIANTS:
            document = {
                "schema_version": 1,
                "title": f"cubic-study fig9, {name}, {count} flows",
                "duration": f"{size.duration_s} s",
                "sample_interval": "1 s",
                "start_jitter": "rtt",
                "dumbbell": {
                    "bottleneck": {"rate": "10 Gbps", "delay": "5 ms", "queue": {"capacity": "0.2 bdp"}},
                },
                "flow": _flows(name, _spread(count), _spread(REVERSE)),
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
        against = f"{cubic} against {COMPOUND} and {NEWRENO}"
        for metric, quantity, words, headline in (
            ("jain", "Jain's index", "CUBIC fairest overall", "fairness"),
            ("utilisation", "the line's use", "CUBIC has the best goodput", "high-speed-goodput"),
        ):
            key = f"cubic-study:{headline}" if what == "claim" else ""
            title, relation = f"{against}: {quantity}, mean of all n", judged(Greater())
            claims.append(Claim(title, words, metric, sides, relation, kind=what, headline=key))
        title, words, relation = f"{against}: Jain's index at each n", "CUBIC fairest at each n", judged(Greater())
        claims.append(Claim(title, words, "jain", sides, relation, kind="reading", each="flows"))
    sides = [{"variant": name} for name in (COMPOUND, NEWRENO)]
    few, many = ([count for count in size["flows"] if (count < _ALIKE) is small] for small in (True, False))
    key, title = "cubic-study:compound-fairness", f"Jain's index at each n, {COMPOUND} / {NEWRENO}"
    words = f"almost the same where n < {_ALIKE}"
    near = judged(_NEAR)
    claims.append(Claim(f"{title}: n < {_ALIKE}", words, "jain", sides, near, headline=key, each="flows", at=few))
    words, better = "Compound better as n grows", judged(Greater())
    claims.append(Claim(f"{title}: n > {_ALIKE}", words, "jain", sides, better, headline=key, each="flows", at=many))
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
    "fairest overall; NewReno and Compound are alike where n < 70, then Compound is better.",
    [
        *ASSUMPTIONS,
        f'RTTs spread evenly over {_RTTS_MS[0]:.0f} to {_RTTS_MS[1]:.0f} ms (the figure is "with respect to RTT") '
        "and a buffer of 0.2 BDP "
        "of the longest; access links delay only. The text gives n the range 20 to 200; the steps of 20 are ours.",
        "The conclusion's goodput on a high-speed path is judged by the use of this line, which is the forward flows' "
        "with headers and repeated packets: no figure of the paper shows it.",
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
