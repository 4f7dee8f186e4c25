"""Figure 11 of the CUBIC study: n downloads over an 802.11g cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.plots.charts import Chart, Curve
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
    return [
        Case(
            {"uploads": uploads, "nodes": count, "variant": name},
            {
                "schema_version": 1,
                "title": f"cubic-study fig11, {name}, {count} downloads and {uploads} uploads",
                "duration": f"{size.duration_s} s",
                "sample_interval": "1 s",
                "start_jitter": "1 s",
                "wlan": {
                    "standard": "802.11g",
                    "rate": f"{_RATE_MBPS} Mbps",
                    "queue": {"capacity": "100 packets"},
                    "wire": {"rate": "1 Gbps"},
                },
                "flow": [
                    {"name": f"{kind}{n}", "direction": f"{kind}load", "algorithm": algorithm, "rtt": "50 ms", **STACK}
                    for kind, many in (("down", count), ("up", uploads))
                    for n in range(many)
                ],
            },
            measure,
        )
        for uploads in (REVERSE, 0)
        for count in size["nodes"]
        for name, algorithm in VARIANTS.items()
    ]


def _side(nodes: int, variant: str) -> Labels:
    """As in the paper: with the uploads."""
    return {"uploads": REVERSE, "nodes": nodes, "variant": variant}


def _pair(nodes: int, first: str, second: str) -> list[Labels]:
    return [_side(nodes, name) for name in (first, second)]


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
        ends = [_side(count, name) for count in (nodes[-1], nodes[0])]
        add(f"{name}: goodput, {nodes[-1]} / {nodes[0]} nodes", "falls with n", ends, Less())
        title = f"{name}: goodput over {_RATE_MBPS} Mbit/s"
        add(title, f"far under {_RATE_MBPS} Mbit/s", [{"uploads": REVERSE, "variant": name}], ValueIn(0, 0.5))
    return claims


def _fig11b_claims(size: Size) -> list[Claim]:
    claims = []
    for count in size["nodes"]:
        for cubic in CUBICS:
            sides = [_side(count, name) for name in (NEWRENO, COMPOUND, cubic)]
            title = f"{count} nodes: Jain's index, NewReno over {cubic}, Compound between"
            claims.append(Claim(title, "NewReno best, CUBIC worst", "jain", sides, Order()))
    shown = NotTestable("the figure's values are not given")
    claims += [
        Claim(f"{name}: Jain's index, mean of all n", "–", "jain", [{"uploads": REVERSE, "variant": name}], shown)
        for name in VARIANTS
    ]
    return claims


def _chart(measured: Measured, name: str, metric: str, title: str, axis: str, factor: float) -> list[Chart]:
    nodes = measured.points("nodes")
    curves = []
    for uploads in measured.points("uploads"):
        for variant in VARIANTS:
            found = [measured.estimate(metric, uploads=uploads, nodes=n, variant=variant) for n in nodes]
            panel = f"with {uploads} uploads (the paper's)" if uploads else "downloads alone"
            curves.append(Curve.of(variant, nodes, found, factor=factor, panel=panel))
    return [Chart(name, title, "mobile nodes", axis, curves, shared_y=False)]


def _why(measured: Measured) -> list[str]:
    told = []
    for name in VARIANTS:
        with_uploads, alone = {"uploads": REVERSE, "variant": name}, {"uploads": 0, "variant": name}
        down, up, late, again = (
            measured.estimate(metric, **with_uploads).mean
            for metric in ("delivered_share", "upload_share", "timeouts", "retransmitted_ratio")
        )
        told.append(
            f"{name}, mean of all n: downloads have {down:.1%} of {_RATE_MBPS} Mbit/s and the {REVERSE} uploads "
            f"{up:.1%}; a "
            f"download has {late:.3g} timeouts and repeats {again:.1%} of its packets. Without the uploads, "
            "downloads have "
            f"{measured.estimate('delivered_share', **alone).mean:.1%}."
        )
    told.append(
        "DCF gives every station the same turns: the base station has one for all downloads and all ACKs of the "
        "uploads, "
        "each upload has its own. The uploads' windows have no limit but loss, and lost ACKs hardly slow them: "
        "their ACKs "
        "fill the base station's queue, and downloads lose most of what they send (S. Pilosof et al., INFOCOM 2003)."
    )
    return told


_QUICK = Size(60.0, 5, {"nodes": (5, 20, 50)})
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
