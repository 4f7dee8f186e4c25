"""Figure 11 of the CUBIC study: n downloads over an 802.11g cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.plots.curves import Chart, Curve
from cwndlab.reproduce.claims import Claim, Greater, Less, NotTestable, Order, RatioIn, Relation, ValueIn
from cwndlab.reproduce.cubic_study.variants import ASSUMPTIONS, COMPOUND, CUBICS, NEWRENO, STACK, VARIANTS
from cwndlab.reproduce.experiment import Case, Experiment, Labels, Size
from cwndlab.reproduce.measured import Measured

if TYPE_CHECKING:
    from cwndlab.records import Records

#: TCP sources on the wireless side.
REVERSE = 10
#: Of the air, in Mbit/s.
_RATE_MBPS = 54

_ASSUMPTIONS = (
    *ASSUMPTIONS,
    "Base RTT 50 ms and 100 packets in the base station's queue, which all mobile nodes share, and as many in each "
    "node's: "
    "the paper gives neither.",
    f"Each mobile node has one flow: n of them download, {REVERSE} more send; all are of the same variant.",
    "The cell has the constants of ERP-OFDM with a short slot; no noise, no hidden nodes, no RTS, all at 54 Mbit/s.",
    "n is 5, 10, 20, 30, 40, 50: the paper's steps are not given.",
    "Goodput is that of all downloads together, (sent − retransmitted) / time.",
)


def measure(records: Records) -> dict[str, float | None]:
    """Goodput of the downloads together over the rate of the air, as the papers define it and as delivered, and Jain's
    index of theirs."""
    names = [name for name in records.flows["name"].to_list() if name.startswith("down")]
    flows = metrics.goodput(records).filter(records.flows["name"].is_in(names))
    uploads = metrics.goodput(records).filter(~records.flows["name"].is_in(names))
    chosen = records.flows.filter(records.flows["name"].is_in(names))
    return {
        "goodput_share": float(flows["sent_goodput_bps"].sum()) / (_RATE_MBPS * 1e6),
        "delivered_share": float(flows["goodput_bps"].sum()) / (_RATE_MBPS * 1e6),
        "upload_share": float(uploads["goodput_bps"].sum()) / (_RATE_MBPS * 1e6),
        "jain": metrics.jain(flows["goodput_bps"].drop_nulls().to_list()),
        "timeouts": float(chosen["timeouts"].sum()) / len(names),
        "retransmitted_ratio": float(chosen["retransmitted_packets"].sum()) / max(1, int(chosen["sent_packets"].sum())),
    }


def _cases(size: Size) -> list[Case]:
    cases = []
    for count in size["nodes"]:
        for name, algorithm in VARIANTS.items():
            flows = [
                {"name": f"{kind}{n}", "direction": f"{kind}load", "algorithm": algorithm, "rtt": "50 ms", **STACK}
                for kind, many in (("down", count), ("up", REVERSE))
                for n in range(many)
            ]
            document = {
                "schema_version": 1,
                "title": f"cubic-study fig11, {name}, {count} nodes",
                "duration": f"{size.duration_s} s",
                "sample_interval": "1 s",
                "start_jitter": "1 s",
                "wlan": {
                    "standard": "802.11g",
                    "rate": f"{_RATE_MBPS} Mbps",
                    "queue": {"capacity": "100 packets"},
                    "wire": {"rate": "1 Gbps"},
                },
                "flow": flows,
            }
            cases.append(Case({"nodes": count, "variant": name}, document, measure))
    return cases


def _pair(nodes: int, first: str, second: str) -> list[Labels]:
    return [{"nodes": nodes, "variant": name} for name in (first, second)]


def _fig11a_claims(size: Size) -> list[Claim]:
    claims = []

    def add(title: str, words: str, sides: list[Labels], relation: Relation) -> None:
        claims.append(Claim(title, words, "goodput_share", sides, relation, "delivered_share"))

    nodes = size["nodes"]
    for count in nodes:
        for other in (*CUBICS, NEWRENO):
            title = f"{count} nodes: goodput, {COMPOUND} / {other}"
            add(title, "Compound best", _pair(count, COMPOUND, other), Greater())
        for cubic in CUBICS:
            title = f"{count} nodes: goodput, {cubic} / {NEWRENO}"
            add(title, "CUBIC about as NewReno", _pair(count, cubic, NEWRENO), RatioIn(0.9, 1 / 0.9))
    for name in VARIANTS:
        ends: list[Labels] = [{"nodes": count, "variant": name} for count in (nodes[-1], nodes[0])]
        add(f"{name}: goodput, {nodes[-1]} / {nodes[0]} nodes", "falls with n", ends, Less())
        title = f"{name}: goodput over {_RATE_MBPS} Mbit/s"
        add(title, f"far under {_RATE_MBPS} Mbit/s", [{"variant": name}], ValueIn(0, 0.5))
    return claims


def _fig11b_claims(size: Size) -> list[Claim]:
    claims = []
    for count in size["nodes"]:
        for cubic in CUBICS:
            sides = [{"nodes": count, "variant": name} for name in (NEWRENO, COMPOUND, cubic)]
            title = f"{count} nodes: Jain's index, NewReno over {cubic}, Compound between"
            claims.append(Claim(title, "NewReno best, CUBIC worst", "jain", sides, Order()))
    shown = NotTestable("the figure's values are not given")
    claims += [
        Claim(f"{name}: Jain's index, mean of all n", "–", "jain", [{"variant": name}], shown) for name in VARIANTS
    ]
    return claims


def _chart(measured: Measured, name: str, metric: str, title: str, axis: str, factor: float) -> list[Chart]:
    nodes = measured.points("nodes")
    curves = [
        Curve.of(variant, nodes, [measured.estimate(metric, nodes=n, variant=variant) for n in nodes], factor=factor)
        for variant in VARIANTS
    ]
    return [Chart(name, title, "mobile nodes", axis, curves)]


def _why(measured: Measured) -> list[str]:
    told = []
    for name in VARIANTS:
        down, up, late, again = (
            measured.estimate(metric, variant=name).mean
            for metric in ("delivered_share", "upload_share", "timeouts", "retransmitted_ratio")
        )
        told.append(
            f"{name}, mean of all n: downloads have {down:.1%} of {_RATE_MBPS} Mbit/s and the {REVERSE} uploads "
            f"{up:.1%}; a "
            f"download has {late:.3g} timeouts and repeats {again:.1%} of its packets."
        )
    told.append(
        "DCF gives every station the same turns: the base station with all downloads has one, each upload has its "
        "own, so "
        "downloads share what the uploads leave and their losses are those of the base station's queue."
    )
    return told


_QUICK = Size(15.0, 3, {"nodes": (5, 20)})
_FULL = Size(1000.0, 5, {"nodes": (5, 10, 20, 30, 40, 50)})
_SET_UP = (
    "n wired sources, a router, a base station and n mobile nodes on 802.11g at 54 Mbit/s, wires of 1 Gbit/s, ten "
    "TCP sources "
    "on the wireless side, 1000 s"
)

FIG11A = Experiment(
    "cubic-study/fig11a",
    "goodput of n downloads over 802.11g",
    f"{_SET_UP}: Compound has the highest goodput, CUBIC about that of NewReno; it falls with n, and all are far "
    "under 54 Mbit/s.",
    [*_ASSUMPTIONS, '"About as" is within 10 %; "far under" is under half.'],
    _QUICK,
    _FULL,
    _cases,
    _fig11a_claims,
    lambda measured: _chart(
        measured, "fig11a", "goodput_share", "Goodput of n downloads", "goodput, Mbit/s", float(_RATE_MBPS)
    ),
    why=_why,
)

FIG11B = Experiment(
    "cubic-study/fig11b",
    "Jain's index of n downloads over 802.11g",
    f"{_SET_UP}: NewReno is the fairest, CUBIC the least fair.",
    _ASSUMPTIONS,
    _QUICK,
    _FULL,
    _cases,
    _fig11b_claims,
    lambda measured: _chart(measured, "fig11b", "jain", "Jain's index of n downloads", "Jain's index", 1.0),
    why=_why,
)
