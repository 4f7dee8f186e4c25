"""What the CCM-SS paper says of other slow starts (its Tables 1 and 2) and of other congestion controls ("18 %")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import inf
from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.catalogue import algorithms
from cwndlab.metrics.fill import FULL as BUSY
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size, Table
from cwndlab.reproduction.ccm_ss.grid import (
    ASSUMPTIONS,
    BANDWIDTH,
    FULL,
    LATE,
    LATE_RTTS_MS,
    NS2,
    PRIMARY,
    QUICK,
    SOON,
    case,
    pairs,
    scenario,
)
from cwndlab.reproduction.claims import (
    Claim,
    Greater,
    Kind,
    Less,
    Overall,
    RatioIn,
    Relation,
    Term,
    Underspecified,
    ValueIn,
)
from cwndlab.reproduction.experiment import Experiment
from cwndlab.reproduction.measured import Measured
from cwndlab.reproduction.verdicts import ratio

if TYPE_CHECKING:
    from cwndlab.records import Records

#: What every slow start is compared with, and the growth and recovery around them.
BASE, GROWTH, RECOVERY = "standard", "cubic-ns2", "sack"
#: End of what counts as the beginning, ten seconds after the first start; end of the run.
_EARLY_S, _LATE_S = 11.0, 40.0

_LOSS, _USE = ("packets lost in the first 10 s", "loss_ratio"), ("utilisation in the first 10 s", "early_utilisation")
_FILL = ("time to fill the pipe", "time_to_full_utilisation_s")
_ALIKE = RatioIn(0.99, inf)
_OPEN = Underspecified("the words name a technique and nothing that can be measured")
#: The paper's Table 2, strength and weakness in its own words: what is compared, with which module, and the relation.
_WORDS: Mapping[str, Sequence[tuple[str, tuple[str, str], str, Relation]]] = {
    "vegas-ss": (
        ("estimates the bandwidth without loss", _LOSS, BASE, Less()),
        ("ends slow start prematurely", _USE, BASE, Less()),
    ),
    "hoe": (("avoids premature termination", _USE, BASE, _ALIKE),),
    "astart": (("slower than standard slow start (§ III)", _FILL, BASE, Greater()),),
    "paced-start": (("avoids premature termination", _USE, BASE, _ALIKE),),
    "limited": (("avoids premature termination", _USE, BASE, _ALIKE),),
    "esse": (("estimates the pipe's size", _LOSS, BASE, _OPEN),),
    "gallop": (
        ("takes the bandwidth quickly, unlike Vegas", _USE, "vegas-ss", Greater()),
        ("fewer losses by its stable growth (§ III)", _LOSS, BASE, Less()),
    ),
    "quick-start": (("reaches its rate quickly", _FILL, BASE, Less()),),
    "alss-sirens": (("supports multicast", _LOSS, BASE, _OPEN),),
    "capstart": (("a new estimate of the path", _LOSS, BASE, _OPEN),),
    "abe-tcp": (("low performance on fast paths", ("goodput after 10 s", "sent_goodput_bps"), BASE, Less()),),
    "hystart": (
        ("a safe exit point", _LOSS, BASE, Less()),
        ("a high packet loss rate, which CCM-SS lowers", _LOSS, "ccm-ss", Greater()),
    ),
    "afstart": (("sets the bandwidth at run time", _LOSS, BASE, _OPEN),),
    "altss": (("changes cwnd rapidly", _LOSS, BASE, _OPEN),),
}


@cache
def modules() -> dict[str, Sequence[str]]:
    """Every slow start, and what routers must do for it."""
    return {entry.name: entry.agents for entry in algorithms("slow-start")}


def measure_start(records: Records) -> dict[str, float | None]:
    """Drops per packet and utilisation in the first 10 s, seconds until the pipe was full, goodput after 10 s."""
    early = metrics.loss(records, start_s=0, end_s=_EARLY_S).row(0, named=True)
    late = metrics.total_goodput(records, start_s=_EARLY_S, end_s=_LATE_S)
    return {
        "loss_ratio": early["loss_ratio"],
        "time_to_full_utilisation_s": metrics.fill(records)["time_to_full_utilisation_s"][0],
        "sent_goodput_bps": late["sent_goodput_bps"][0],
        "goodput_bps": late["goodput_bps"][0],
        "early_utilisation": metrics.utilisation(records, start_s=0, end_s=_EARLY_S)["utilisation"][0],
    }


def _table1_cases(size: Size) -> list[Case]:
    cases = []
    for name, agents in modules().items():
        for buffer in size["buffer_bdp"]:
            for rtts in pairs("long, different", size):
                document = scenario(
                    f"{GROWTH}+{name}/{RECOVERY}",
                    [NS2, NS2],
                    bandwidth_mbps=BANDWIDTH,
                    buffer_bdp=buffer,
                    rtts_ms=rtts,
                    duration_s=size.duration_s,
                    second_start_s=2.0,
                )
                document["dumbbell"]["bottleneck"]["agents"] = agents
                labels = {"module": name, "buffer_bdp": buffer, "rtt2_ms": rtts[1]}
                cases.append(Case(labels, document, measure_start))
    return cases


def _table1_claims(size: Size) -> list[Claim]:
    del size
    first, metric = _LOSS
    standard: list[Labels] = [{"module": BASE}]
    lossy = "cannot estimate the bandwidth before a loss"
    claims = [Claim(f"{BASE}: {first}", lossy, metric, standard, ValueIn(1e-6, inf))]
    for name, sentences in _WORDS.items():
        for words, (title, metric), other, relation in sentences:
            sides: list[Labels] = [{"module": name}, {"module": other}]
            claims.append(Claim(f"{name} / {other}: {title}", words, metric, sides, relation))
    for name in modules():
        if name in (BASE, *_WORDS):
            continue
        kind: Kind = "beyond"
        sides = [{"module": name}, {"module": BASE}]
        claims.append(Claim(f"{name} / {BASE}: {first}", "not in the table", "loss_ratio", sides, Less(), kind=kind))
    return claims


def _table1_charts(measured: Measured) -> list[Chart]:
    names = list(modules())
    charts = []
    for metric, title, unit, factor in (
        ("loss_ratio", "Packets lost in the first 10 s", "% of packets", 100.0),
        ("time_to_full_utilisation_s", "Time to fill the pipe", "s", 1.0),
        ("sent_goodput_bps", "Goodput after 10 s", "Mbit/s", 1e-6),
    ):
        found = [measured.estimate(metric, module=name) for name in names]
        curve = Curve.of(title, names, found, factor=factor)
        charts.append(Chart(f"table1-{metric.split('_')[0]}", title, "slow start", unit, [curve], kind="bars"))
    return charts


def _table1_why(measured: Measured) -> list[str]:
    sentences = []
    for name in modules():
        rows = list(measured.rows_of({"module": name}))
        never = sum(row.values["time_to_full_utilisation_s"] is None for row in rows)
        if never:
            sentences.append(
                f"{name} does not keep the line {BUSY:.0%} busy for a sampling interval in {never} of {len(rows)} runs."
            )
    return sentences


TABLE1 = Experiment(
    "ccm-ss/table1",
    "every slow start under CUBIC: early losses, time to fill the pipe, goodput",
    "§ III, Tables 1 and 2",
    "Its Table 1 lists slow starts and its Table 2 their strengths and weaknesses in words: each module is judged by "
    "its own words, where they name something that can be measured.",
    [
        *ASSUMPTIONS,
        f"The paper runs none of them: all are put under {GROWTH} with {RECOVERY} on its own path, {BANDWIDTH} "
        "Mbit/s, long and "
        "different RTTs.",
        f"Runs last {_LATE_S:.0f} s in either size, since the beginning is what is asked for.",
        f"The pipe is full when the line was busy for {BUSY:.0%} of a sampling interval of 100 ms.",
        "Where a slow start needs its routers, they support it.",
        "Premature termination leaves the line unused: it is judged by the utilisation of the first 10 s, which is "
        "alike where it is at most 1 % lower.",
        "Modules that Table 2 does not list are beyond the paper.",
    ],
    replace(QUICK, duration_s=_LATE_S, repetitions=3),
    replace(FULL, duration_s=_LATE_S),
    _table1_cases,
    _table1_claims,
    _table1_charts,
    why=_table1_why,
)

#: The paper's five others, § V-B 3. Its CUBIC has HyStart: the baseline of all other experiments.
OTHERS = {
    "Reno": "reno+standard/sack",
    "HighSpeed": "highspeed+standard/sack",
    "BIC": "bic+standard/sack",
    "CUBIC": PRIMARY.base,
    "Compound": "ctcp+standard/sack",
}
_MINE = "CUBIC with CCM-SS"
#: "18 %" of the abstract.
EFFECT = 0.18
#: The abstract's quantities, each from the runs that § V-B has for it, and goodput, which § VII adds.
Q_DROPS = Term("drops_per_s", False, {"second flow": SOON})
Q_JAIN = Term("jain", True, {"second flow": SOON})
Q_CONVERGENCE = Term("convergence_or_end_s", False, {"second flow": LATE})
Q_GOODPUT = Term("sent_goodput_bps", True, {"second flow": SOON})
_TERMS = (Q_DROPS, Q_JAIN, Q_CONVERGENCE)
_TITLES = {
    "drops_per_s": "drops per second",
    "jain": "Jain's index",
    "convergence_or_end_s": "convergence time",
    "sent_goodput_bps": "goodput",
}


def _claim18_cases(size: Size) -> list[Case]:
    return [
        case({"variant": name, "second flow": start}, text, size, BANDWIDTH, buffer, LATE_RTTS_MS, late=start == LATE)
        for start in (SOON, LATE)
        for name, text in {_MINE: PRIMARY.module, **OTHERS}.items()
        for buffer in size["buffer_bdp"]
    ]


def _claim18_claims(size: Size) -> list[Claim]:
    del size
    sides: list[Labels] = [{"variant": _MINE}, *({"variant": other} for other in OTHERS)]
    claims = [
        Claim(
            "loss, fairness and convergence time, better by (geometric mean over three quantities and five others)",
            "outperforms by 18 %",
            "",
            sides,
            Overall(_TERMS, EFFECT, 1 + EFFECT),
            headline="ccm-ss:eighteen",
        )
    ]
    for term in (*_TERMS, Q_GOODPUT):
        quantity = f"{_TITLES[term.metric]} alone, better by (geometric mean over five others)"
        relation = Overall([term], EFFECT, 1 + EFFECT)
        claims.append(Claim(quantity, "outperforms by 18 %", "", sides, relation, kind="reading"))
    return claims


def _claim18_charts(measured: Measured) -> list[Chart]:
    curves = []
    for term in (*_TERMS, Q_GOODPUT):
        title = _TITLES[term.metric]
        found = [
            ratio(measured.pairs(term.metric, {"variant": _MINE, **term.where}, {"variant": other, **term.where}))
            for other in OTHERS
        ]
        curves.append(Curve.of("measured", list(OTHERS), found, panel=title))
        claimed = 1 + EFFECT if term.up else 1 / (1 + EFFECT)
        curves.append(Curve("published", list(OTHERS), [claimed] * len(OTHERS), panel=title, published=True))
    title = f"{_MINE} over each of the others"
    return [Chart("claim18", title, "competitor", "ratio", curves, kind="bars", shared_y=False)]


def _claim18_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for name in (_MINE, *OTHERS):
        cells: list[float | None] = []
        for term in (*_TERMS, Q_GOODPUT):
            one = measured.estimate(term.metric, variant=name, **term.where)
            cells.append(None if one.n == 0 else one.mean * (1e-6 if term.metric.endswith("_bps") else 1.0))
        rows.append([name, *cells])
    return [Table("Means", ("variant", "drops, 1/s", "Jain index", "convergence, s", "goodput, Mbit/s"), rows)]


CLAIM18 = Experiment(
    "ccm-ss/claim18",
    "CUBIC with CCM-SS against Reno, HighSpeed, BIC, CUBIC and Compound",
    "abstract, § V-B 3",
    "The abstract says that enhanced TCP CUBIC outperforms the state of the art by 18 %; § V-B 3 names the five.",
    [
        *ASSUMPTIONS,
        "The paper says neither of which quantity it claims 18 % nor how it aggregates. The abstract aims at loss "
        "rate, fairness and convergence time: judged is one number, the geometric mean over these three and the five "
        "others of the ratio by which CUBIC with CCM-SS is better. Each quantity alone, and goodput, are readings.",
        f"Two flows of the same variant, RTTs of {LATE_RTTS_MS[0]} and {LATE_RTTS_MS[1]} ms, {BANDWIDTH} Mbit/s; all "
        "with the ns-2 stack and SACK. The second flow starts at 2 s for loss and fairness and late for convergence "
        "time, as § V-B states.",
        "CUBIC among the five has HyStart, its default by § V-A; the others have standard slow start. Table 3 does not "
        "have Compound.",
        "A run that does not converge counts with the time from the second start to the end.",
        "Jain's index is at most 1: where another's is above 0.85, 18 % more is out of reach for any algorithm.",
    ],
    QUICK,
    FULL,
    _claim18_cases,
    _claim18_claims,
    _claim18_charts,
    _claim18_tables,
)
