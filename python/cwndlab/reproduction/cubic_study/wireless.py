"""Figure 11 of the CUBIC study: n downloads over an 802.11g cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cwndlab import metrics
from cwndlab.plot.charts import Chart, Curve
from cwndlab.reproduction.cases import Case, Labels, Size
from cwndlab.reproduction.claims import Claim, Greater, Less, Order, RatioIn, Underspecified, ValueIn
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
    "Goodput is that of all downloads together, (sent − retransmitted) / time; its fall with the number of users is "
    "judged so, and per user beside it.",
    f"{READINGS_ASSUMED} They are run with the middle n only.",
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
        "goodput_per_user": float(flows["sent_goodput_bps"].sum()) / (_RATE_MBPS * 1e6) / len(names),
        "jain": metrics.jain(flows["goodput_bps"].drop_nulls().to_list()),
        "timeouts": float(chosen["timeouts"].sum()) / len(names),
        "retransmitted_ratio": float(chosen["retransmitted_packets"].sum()) / max(1, int(chosen["sent_packets"].sum())),
    }


def _cases(size: Size) -> list[Case]:
    nodes = size["nodes"]
    cells = [(BASE, uploads, count) for uploads in (REVERSE, 0) for count in nodes]
    cells += [(reading, REVERSE, nodes[len(nodes) // 2]) for reading in READINGS if reading != BASE]
    return [
        Case(
            {"reading": reading, "uploads": uploads, "nodes": count, "variant": name},
            {
                "schema_version": 1,
                "title": f"cubic-study fig11, {name}, {count} downloads and {uploads} uploads, {reading}",
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
                    {"name": f"{way}{n}", "direction": f"{way}load", "algorithm": algorithm, "rtt": "50 ms"}
                    | stack(reading)
                    for way, many in (("down", count), ("up", uploads))
                    for n in range(many)
                ],
            },
            measure,
        )
        for reading, uploads, count in cells
        for name, algorithm in VARIANTS.items()
    ]


def _side(variant: str, reading: str = BASE) -> Labels:
    """As in the paper: with the uploads."""
    return {"reading": reading, "uploads": REVERSE, "variant": variant}


def _fig11a_claims(size: Size) -> list[Claim]:
    metric, first, last = "goodput_share", size["nodes"][0], size["nodes"][-1]
    claims = []
    for cubic in CUBICS:
        what = kind(cubic)
        best: list[Labels] = [_side(name) for name in (COMPOUND, cubic, NEWRENO)]
        title, key = f"goodput at each n, {COMPOUND} against {cubic} and {NEWRENO}", "cubic-study:wireless"
        claims.append(
            Claim(
                title,
                "Compound best",
                metric,
                best,
                Greater(),
                kind=what,
                headline=key if what == "claim" else "",
                each="nodes",
            )
        )
        alike: list[Labels] = [_side(name) for name in (cubic, NEWRENO)]
        title, words, near = f"goodput at each n, {cubic} / {NEWRENO}", "CUBIC about as NewReno", RatioIn(0.9, 1 / 0.9)
        claims.append(Claim(title, words, metric, alike, near, kind=what, each="nodes"))
    for name in VARIANTS:
        what = kind(name) if name in CUBICS else "claim"
        ends = [{**_side(name), "nodes": count} for count in (last, first)]
        for title, one, of in (("goodput", metric, what), ("goodput per user", "goodput_per_user", "reading")):
            key = "cubic-study:users" if of == "claim" else ""
            quantity = f"{name}: {title}, {last} / {first} nodes"
            claims.append(Claim(quantity, "falls with n", one, ends, Less(), kind=of, headline=key))
    title = f"goodput of each variant over {_RATE_MBPS} Mbit/s"
    far = ValueIn(0, 0.5)
    claims.append(
        Claim(
            title,
            f"far under {_RATE_MBPS} Mbit/s",
            metric,
            [{"reading": BASE, "uploads": REVERSE}],
            far,
            each="variant",
        )
    )
    for reading in READINGS:
        if reading != BASE:
            best = [_side(name, reading) for name in (COMPOUND, CUBIC, NEWRENO)]
            title = f"{reading}: goodput, {COMPOUND} against {CUBIC} and {NEWRENO}"
            claims.append(Claim(title, "Compound best", metric, best, Greater(), kind="reading"))
    return claims


def _fig11b_claims(size: Size) -> list[Claim]:
    del size
    claims = []
    for cubic in CUBICS:
        what = kind(cubic)
        sides = [_side(name) for name in (NEWRENO, COMPOUND, cubic)]
        title = f"Jain's index at each n: NewReno over Compound over {cubic}"
        key = "cubic-study:wireless-fairness" if what == "claim" else ""
        words = "NewReno best, CUBIC worst"
        claims.append(Claim(title, words, "jain", sides, Order(), kind=what, headline=key, each="nodes"))
    for reading in READINGS:
        if reading != BASE:
            sides = [_side(name, reading) for name in (NEWRENO, COMPOUND, CUBIC)]
            title = f"{reading}: Jain's index, NewReno over Compound over {CUBIC}"
            claims.append(Claim(title, "NewReno best, CUBIC worst", "jain", sides, Order(), kind="reading"))
    shown = Underspecified("the figure's values are not given")
    claims += [Claim(f"{name}: Jain's index, mean of all n", "–", "jain", [_side(name)], shown) for name in VARIANTS]
    return claims


def _chart(measured: Measured, name: str, metric: str, title: str, axis: str, factor: float) -> list[Chart]:
    nodes = measured.points("nodes")
    curves = []
    for uploads in measured.points("uploads"):
        for variant in VARIANTS:
            found = [measured.estimate(metric, reading=BASE, uploads=uploads, nodes=n, variant=variant) for n in nodes]
            panel = f"with {uploads} uploads (the paper's)" if uploads else "downloads alone"
            curves.append(Curve.of(variant, nodes, found, factor=factor, panel=panel))
    return [Chart(name, title, "mobile nodes", axis, curves, shared_y=False)]


def _why(measured: Measured) -> list[str]:
    sentences = []
    for name in VARIANTS:
        with_uploads, alone = ({"reading": BASE, "uploads": uploads, "variant": name} for uploads in (REVERSE, 0))
        down, up, late, again = (
            measured.estimate(metric, **with_uploads).mean
            for metric in ("delivered_share", "upload_share", "timeouts", "retransmitted_ratio")
        )
        sentences.append(
            f"{name}, mean of all n: downloads have {down:.1%} of {_RATE_MBPS} Mbit/s and the {REVERSE} uploads "
            f"{up:.1%}; a "
            f"download has {late:.3g} timeouts and repeats {again:.1%} of its packets. Without the uploads, "
            "downloads have "
            f"{measured.estimate('delivered_share', **alone).mean:.1%}."
        )
    sentences.append(
        "DCF gives every station the same turns: the base station has one for all downloads and all ACKs of the "
        "uploads, "
        "each upload has its own. The uploads' windows have no limit but loss, and lost ACKs hardly slow them: "
        "their ACKs "
        "fill the base station's queue, and downloads lose most of what they send (S. Pilosof et al., INFOCOM 2003)."
    )
    return sentences


_QUICK = Size(60.0, 5, {"nodes": (5, 20, 50)})
_FULL = Size(1000.0, 5, {"nodes": (5, 10, 20, 30, 40, 50)})
_SET_UP = (
    "n wired sources, a router, a base station and n mobile nodes on 802.11g at 54 Mbit/s, wires of 1 Gbit/s, ten "
    "TCP sources "
    "on the wireless side"
)

FIG11A = Experiment(
    "cubic-study/fig11a",
    "goodput of n downloads over 802.11g",
    "§ 6.2, Figs. 10, 11(a)",
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
    "§ 6.2, Figs. 10, 11(b)",
    f"{_SET_UP}: NewReno is the fairest, CUBIC the least fair.",
    _ASSUMPTIONS,
    _QUICK,
    _FULL,
    _cases,
    _fig11b_claims,
    lambda measured: _chart(measured, "fig11b", "jain", "Jain's index of n downloads", "Jain's index", 1.0),
    why=_why,
)
