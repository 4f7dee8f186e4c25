"""What the CCM-SS paper says of other slow starts (its Tables 1 and 2) and of other congestion controls ("18 %")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from cwndlab import metrics
from cwndlab.metrics.fill import FULL as BUSY
from cwndlab.plots.charts import Chart, Curve
from cwndlab.reproduce.ccm_ss.grid import ASSUMPTIONS, BANDWIDTH, BASELINES, FULL, NS2, QUICK, case, pairs, scenario
from cwndlab.reproduce.claims import Claim, Greater, Less, NotTestable
from cwndlab.reproduce.experiment import Case, Experiment, Labels, Size, Table
from cwndlab.reproduce.measured import Measured
from cwndlab.reproduce.verdicts import ratio

if TYPE_CHECKING:
    from cwndlab.records import Records

#: What all slow starts are held against, and the growth and recovery around them.
BASE, GROWTH, RECOVERY = "standard", "cubic-ns2", "sack"
#: End of what counts as the beginning, ten seconds after the first start; end of the run.
_EARLY_S, _LATE_S = 11.0, 40.0


@cache
def modules() -> dict[str, Sequence[str]]:
    """Every slow start, and what routers must do for it."""
    from cwndlab.algorithms import algorithms

    return {entry.name: entry.agents for entry in algorithms("slow-start")}


def measure_start(records: Records) -> dict[str, float | None]:
    """Drops per packet in the first 10 s, seconds until the pipe was full, goodput after 10 s."""
    early = metrics.loss(records, start_s=0, end_s=_EARLY_S).row(0, named=True)
    late = metrics.total_goodput(records, start_s=_EARLY_S, end_s=_LATE_S)
    return {
        "loss_ratio": early["loss_ratio"],
        "fill_s": metrics.fill(records)["fill_s"][0],
        "sent_goodput_bps": late["sent_goodput_bps"][0],
        "goodput_bps": late["goodput_bps"][0],
    }


def _table1_cases(size: Size) -> list[Case]:
    cases = []
    for name, agents in modules().items():
        for buffer in size["buffer_bdp"]:
            for rtts in pairs("long, different", size):
                document = scenario(
                    f"{GROWTH}+{name}/{RECOVERY}",
                    NS2,
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
    claims = []
    silent = NotTestable("the paper's Table 2 has words and no size")
    for name in modules():
        if name == BASE:
            continue
        sides = [{"module": name}, {"module": BASE}]
        words = "fewer losses than slow start"
        claims.append(Claim(f"{name} / {BASE}: packets lost in the first 10 s", words, "loss_ratio", sides, Less()))
        claims.append(Claim(f"{name} / {BASE}: time to fill the pipe", "–", "fill_s", sides, silent))
        goodput = f"{name} / {BASE}: goodput after 10 s"
        claims.append(Claim(goodput, "–", "sent_goodput_bps", sides, silent, "goodput_bps"))
    return claims


def _table1_charts(measured: Measured) -> list[Chart]:
    names = list(modules())
    charts = []
    for metric, title, unit, factor in (
        ("loss_ratio", "Packets lost in the first 10 s", "% of packets", 100.0),
        ("fill_s", "Time to fill the pipe", "s", 1.0),
        ("sent_goodput_bps", "Goodput after 10 s", "Mbit/s", 1e-6),
    ):
        found = [measured.estimate(metric, module=name) for name in names]
        curve = Curve.of(title, names, found, factor=factor)
        charts.append(Chart(f"table1-{metric.split('_')[0]}", title, "slow start", unit, [curve], kind="bars"))
    return charts


def _table1_why(measured: Measured) -> list[str]:
    told = []
    for name in modules():
        rows = list(measured.found({"module": name}))
        never = sum(row.values["fill_s"] is None for row in rows)
        if never:
            told.append(
                f"{name} does not keep the line {BUSY:.0%} busy for a sampling interval in {never} of {len(rows)} runs."
            )
    return told


TABLE1 = Experiment(
    "ccm-ss/table1",
    "every slow start under CUBIC: early losses, time to fill the pipe, goodput",
    "Its Table 1 lists slow starts and its Table 2 their strengths and weaknesses in words; the one that they "
    "share, to lose "
    "less than standard slow start at the beginning, is judged, and time and goodput stand beside it.",
    [
        *ASSUMPTIONS,
        f"The paper runs none of them: all are put under {GROWTH} with {RECOVERY} on its own path, {BANDWIDTH} "
        "Mbit/s, long and "
        "different RTTs.",
        f"Runs last {_LATE_S:.0f} s in either size, since the beginning is what is asked for.",
        f"The pipe is full when the line was busy for {BUSY:.0%} of a sampling interval of 100 ms.",
        "Where a slow start asks its routers, they answer.",
    ],
    replace(QUICK, duration_s=_LATE_S, repetitions=3),
    replace(FULL, duration_s=_LATE_S),
    _table1_cases,
    _table1_claims,
    _table1_charts,
    why=_table1_why,
)

#: The paper's five others.
OTHERS = {
    "Reno": "reno+standard/sack",
    "HighSpeed": "highspeed+standard/sack",
    "BIC": "bic+standard/sack",
    "CUBIC": "cubic-ns2+standard/sack",
    "Compound": "ctcp+standard/sack",
}
_MINE = "CUBIC with CCM-SS"
#: Metric, title, whether more is better.
_JUDGED = (
    ("drops_per_s", "drops per second", False),
    ("sent_goodput_bps", "goodput", True),
    ("jain", "Jain's index", True),
    ("convergence_s", "convergence time", False),
)


def _claim18_cases(size: Size) -> list[Case]:
    paper = BASELINES[0]
    return [
        case({"variant": name}, text, paper.stack, size, BANDWIDTH, buffer, (100, 190), late=True)
        for name, text in {_MINE: paper.module, **OTHERS}.items()
        for buffer in size["buffer_bdp"]
    ]


def _claim18_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for other in OTHERS:
        sides: list[Labels] = [{"variant": _MINE}, {"variant": other}]
        for metric, title, more in _JUDGED:
            relation: Any = Greater(1.18) if more else Less(0.82)
            beside = "goodput_bps" if metric == "sent_goodput_bps" else None
            claims.append(Claim(f"{title}, {_MINE} / {other}", "18 % better", metric, sides, relation, beside))
    return claims


def _claim18_charts(measured: Measured) -> list[Chart]:
    curves = []
    for metric, title, more in _JUDGED:
        found = [ratio(measured.pairs(metric, {"variant": _MINE}, {"variant": other})) for other in OTHERS]
        curves.append(Curve.of("measured", list(OTHERS), found, panel=title))
        claimed = 1.18 if more else 0.82
        curves.append(Curve("published", list(OTHERS), [claimed] * len(OTHERS), panel=title, published=True))
    title = f"{_MINE} over each of the others"
    return [Chart("claim18", title, "held against", "ratio", curves, kind="bars", shared_y=False)]


def _claim18_tables(measured: Measured) -> list[Table]:
    rows: list[Sequence[str | float | None]] = []
    for name in (_MINE, *OTHERS):
        cells: list[float | None] = []
        for metric, _, _ in _JUDGED:
            one = measured.estimate(metric, variant=name)
            cells.append(None if one.n == 0 else one.mean * (1e-6 if metric.endswith("_bps") else 1.0))
        rows.append([name, *cells])
    return [Table("Means", ("variant", "drops, 1/s", "goodput, Mbit/s", "Jain index", "convergence, s"), rows)]


CLAIM18 = Experiment(
    "ccm-ss/claim18",
    "CUBIC with CCM-SS against Reno, HighSpeed, BIC, CUBIC and Compound",
    "In loss, goodput, fairness and convergence CUBIC with CCM-SS is 18 % better than Reno, HighSpeed, BIC, CUBIC "
    "and Compound.",
    [
        *ASSUMPTIONS,
        "18 % is claimed of all four quantities at once: each is judged by itself, 1.18 where more is better and "
        "0.82 where less is.",
        f"Two flows of the same variant, RTTs of 100 and 190 ms, {BANDWIDTH} Mbit/s, the second flow late, as for "
        "Figure 14; all with the "
        "ns-2 stack and SACK.",
        "Jain's index is at most 1: where another's is above 0.85, 18 % more is out of reach whatever the algorithm.",
    ],
    QUICK,
    FULL,
    _claim18_cases,
    _claim18_claims,
    _claim18_charts,
    _claim18_tables,
)
